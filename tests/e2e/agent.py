# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs with the agent in them, and questions to it."""
import glob
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

import harness

LIBRARY = os.path.join(harness.BUILD, "libmemoir-jemalloc.so")
JEMALLOC = next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), None)
LONG = 120  # seconds that anything may take on a busy machine
HAMMER = os.path.join(harness.BUILD, "bench/bench_hammer")
REDIS_LOAD = os.path.join(harness.BUILD, "bench/bench_redis_load")


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        return self.body.decode()

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=LONG)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LONG)
        self.sock.connect(self.path)


class Agent:
    """The agent of a process, by the file that it left."""

    def __init__(self, runtime, pid):
        self.runtime, self.pid = runtime, pid
        self.file = os.path.join(runtime, "memoir", f"jemalloc.{pid}")

    def wait(self):
        harness.wait_for(lambda: os.path.exists(self.file), LONG, f"the agent of {self.pid}")
        with open(self.file, encoding="utf-8") as file:
            self.address, self.token, self.program = file.read().splitlines()
        return self

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])

    def connection(self):
        if self.address.startswith("unix:"):
            return UnixConnection(self.address[5:])
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)

    def ask(self, target, method="GET", body=None, headers=None, token=None):
        connection = self.connection()
        headers = dict(headers or {})
        if token is True:
            headers["Authorization"] = f"Bearer {self.token}"
        elif token:
            headers["Authorization"] = f"Bearer {token}"
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, target, **keywords):
        return self.ask(target, **keywords)

    def post(self, target, body=b"", token=True, **keywords):
        return self.ask(target, "POST", body, token=token, **keywords)

    def raw(self, data, half_close=True):
        """What comes back for any bytes."""
        with self.connection_socket() as s:
            try:
                s.sendall(data)
                if half_close:
                    s.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            got = b""
            try:
                while piece := s.recv(65536):
                    got += piece
            except ConnectionError:
                pass
            return got

    def connection_socket(self):
        if self.address.startswith("unix:"):
            s = socket.socket(socket.AF_UNIX)
            s.settimeout(LONG)
            s.connect(self.address[5:])
            return s
        return socket.create_connection(("127.0.0.1", self.port), timeout=LONG)


class Target(Agent):
    """agent_target.c, or another program that reads stdin, with the agent in it."""

    library = JEMALLOC  # that is preloaded: the fixture each_jemalloc changes it

    def __init__(self, command, runtime, conf="", jemalloc=True, listen="127.0.0.1:0", env=None,
                 run=False,
                 preload=True):
        env = dict(harness.ENVIRONMENT, XDG_RUNTIME_DIR=str(runtime), MALLOC_CONF=conf,
                   **(env or {}))
        libraries = [self.library] if jemalloc else []
        if run:
            command = [harness.MEMOIR, "run", "--agent", "--listen", listen, "--", *command]
        else:
            env["MEMOIR_AGENT_LISTEN"] = listen
            libraries[:0] = [LIBRARY] if preload else []
        env["LD_PRELOAD"] = ":".join(libraries)
        self.process = subprocess.Popen(command, env=env, cwd=runtime, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        super().__init__(str(runtime), self.process.pid)

    def __enter__(self):
        assert self.line() == "ready"
        return self.wait()

    def __exit__(self, *unused):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate(timeout=LONG)

    def line(self):
        return self.process.stdout.readline().decode().rstrip("\n")

    def do(self, command):
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        return self.line()

    def read(self, name):
        """A number, as the program itself reads it."""
        error, value = map(int, self.do(f"read {name}").split())
        assert error == 0, f"{name}: {os.strerror(error)}"
        return value

    def end(self):
        """What it did until its end, which is its own."""
        out, err = self.process.communicate(b"quit\n", timeout=LONG)
        return self.process.returncode, out, err


class Redis(Agent):
    """Debian's redis-server with the agent in it; more words are its options."""

    def __init__(self, folder, *words, conf="prof:true"):
        if not shutil.which("redis-server"):
            pytest.skip("no redis-server")
        self.socket, self.folder = f"{folder}/redis", folder
        env = dict(harness.ENVIRONMENT, XDG_RUNTIME_DIR=str(folder), MALLOC_CONF=conf,
                   LD_PRELOAD=LIBRARY,
                   MEMOIR_AGENT_LISTEN="127.0.0.1:0")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", "",
             "--dir", str(folder), *words], env=env, cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        super().__init__(str(folder), self.process.pid)

    def cli(self, *words):
        done = subprocess.run(["redis-cli", "-s", self.socket, *map(str, words)],
                              capture_output=True, text=True,
                              timeout=LONG)
        return done.stdout.strip()

    def __enter__(self):
        harness.wait_for(lambda: self.cli("ping") == "PONG", LONG, "redis")
        self.pid = int(re.search(r"process_id:(\d+)", self.cli("info", "server"))[1])
        self.__dict__.update(Agent(self.runtime, self.pid).wait().__dict__)
        return self

    def __exit__(self, *unused):
        self.cli("shutdown", "nosave")
        try:
            self.process.communicate(timeout=LONG)
        finally:
            harness.kill(self.process.pid)


def hammer(agent, folder, requests, rate=0, seconds=0, count=0):
    """Starts asking an agent, with these bytes in turn; what that gave is a line of JSON on its
    stdout."""
    files, folder = [], tempfile.mkdtemp(prefix="hammer", dir=folder)
    for number, request in enumerate(requests):
        files.append(os.path.join(folder, f"request.{number}"))
        with open(files[-1], "wb") as file:
            file.write(request)
    return subprocess.Popen([HAMMER, str(agent.port), *map(str, (rate, seconds, count)), *files],
                            stdout=subprocess.PIPE)


def hammered(process):
    out = process.communicate(timeout=LONG * 2)[0]
    assert process.returncode == 0
    return json.loads(out)


def memoir(runtime, *words, stdin=b""):
    return harness.execute([harness.MEMOIR, "jemalloc", *words],
                           env=harness.own_agents({"XDG_RUNTIME_DIR": str(runtime)}),
                           stdin=stdin, timeout=LONG)
