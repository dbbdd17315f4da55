# SPDX-License-Identifier: MIT OR Apache-2.0
"""A running `memoir server`, and how to ask it."""
import gzip
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse

import harness

LONG = 120  # seconds: for a machine that does ten other things


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self):
        body = gzip.decompress(self.body) if self.headers.get(
            "Content-Encoding") == "gzip" else self.body
        return body.decode()

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:400]!r}"


class Server:
    """with Server(files…) as server: server.json("/list")"""

    def __init__(self, *arguments, env=None, port=("--any-port",)):
        self.arguments = [harness.MEMOIR, "server", *port, *map(str, arguments)]
        self.env = dict(harness.ENVIRONMENT, **harness.own_agents(env or {}))

    def __enter__(self):
        self.process = subprocess.Popen(self.arguments, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.address = self.process.stdout.readline().decode().strip()
        if not self.address:
            raise AssertionError(f"does not start: {self.process.communicate(timeout=LONG)}")
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.hostname, parts.port
        return self

    def __exit__(self, *_):
        assert self.process.poll() is None, f"it ended by itself: {self.process.communicate()}"
        status, error = self.stop()
        assert status == 0, (status, error)
        assert b"Sanitizer" not in error and b"runtime error" not in error, error.decode()

    def stop(self, number=signal.SIGTERM):
        """Ends it: its status, and what it said."""
        self.process.send_signal(number)
        try:
            _, error = self.process.communicate(timeout=LONG)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it does not end: {self.process.communicate()}") from None
        return self.process.returncode, error

    def connect(self):
        return socket.create_connection((self.host, self.port), timeout=LONG)

    def ask(self, path, method="GET", body=None, headers=None, timeout=LONG, **parameters):
        if parameters:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(parameters, doseq=True)
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def json(self, path, **parameters):
        answer = self.ask(path, **parameters)
        assert answer.status == 200, (path, parameters, answer)
        return answer.json

    def data(self, path, **parameters):
        return self.json("/data/last/" + path, **parameters)

    def wait(self, condition, what):
        """The first /list for which a condition holds."""
        end = time.monotonic() + LONG
        while time.monotonic() < end:
            found = self.json("/list")
            if condition(found):
                return found
            time.sleep(0.05)
        raise AssertionError(f"{what}: {found}")

    def loaded(self, count=1):
        return self.wait(lambda all: len(all) == count and all_done(all), f"{count} recordings")

    @property
    def memory(self):
        """Bytes of its own memory: what is anonymous and resident."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("RssAnon:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no RssAnon")

    @property
    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


def all_done(recordings):
    return all(r["state"] in ("ready", "live", "error") for r in recordings)
