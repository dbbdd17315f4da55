# SPDX-License-Identifier: MIT OR Apache-2.0
"""Requests that memoir makes: answers of any kind, https, proxies, redirections."""
import os
import pathlib
import socket
import ssl
import subprocess
import threading
import time

import pytest

import harness

DUMP = pathlib.Path(__file__).parent.parent / "data/jemalloc/out.heap"
PUSHED = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
STATUS = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"pid":1234}'
PROXIES = ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy",
           "NO_PROXY",
           "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")


class Raw:
    """Takes connections, keeps what is asked, and answers with bytes; with a certificate over
    TLS."""

    def __init__(self, answer, certificate=None, tunnels=None):
        self.answer, self.tunnels, self.requests = answer, tunnels, []
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(certificate)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:
                return
            with connection:
                try:
                    self.handle(connection)
                except OSError:  # the other side does not like it
                    pass

    def handle(self, connection):
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        request = b""
        while b"\r\n\r\n" not in request:
            piece = connection.recv(65536)
            if not piece:
                return
            request += piece
        self.requests.append(request)
        if request.startswith(b"CONNECT "):
            self.tunnel(connection)
            return
        for piece in self.answer if isinstance(self.answer, list) else [self.answer]:
            connection.sendall(piece) if isinstance(piece, bytes) else time.sleep(piece)
        # Closing with bytes that nobody has read would take back what was sent.
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass

    def tunnel(self, connection):
        with socket.create_connection(("127.0.0.1", self.tunnels)) as there:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=pump, args=(there, connection))
            back.start()
            pump(connection, there)
            back.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.thread.join(10)


def pump(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def memoir(*words, **environment):
    env = {name: value for name, value in harness.ENVIRONMENT.items() if name not in PROXIES}
    return subprocess.run([harness.MEMOIR, "jemalloc", *map(str, words)],
                          env=dict(env, **environment),
                          capture_output=True, text=True, timeout=120, check=False)


def refused(done, reason):
    assert done.returncode == 1 and reason in done.stderr and done.stderr.count("\n") == 1, done


@pytest.mark.parametrize("answer,expected", [
    (STATUS, "pid: 1234\n"),
    (b'HTTP/1.0 200 OK\r\n\r\n{"pid":1234}', "pid: 1234\n"),
    (b'HTTP/1.1 200 OK\r\nTransfer-Encoding: '
     b'chunked\r\n\r\n4\r\n{"pi\r\n8\r\nd":1234}\r\n0\r\n\r\n', "pid: 1234\n"),
    (b'HTTP/1.1 100 Continue\r\n\r\n' + STATUS, "pid: 1234\n")])
def test_whole_answers(answer, expected):
    """However they come: at once, and byte by byte."""
    for pieces in (answer, [part for byte in answer for part in (bytes([byte]), 0.0005)]):
        with Raw(pieces) as server:
            done = memoir("ctl", f"http://127.0.0.1:{server.port}", "status")
        assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")


@pytest.mark.parametrize("answer,reason", [
    (b"HTTP/1.1 503 No\r\nContent-Length: 12\r\n\r\nno jemalloc\n",
     "the answer is 503: no jemalloc"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
     "the answer is 302"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "the answer is cut off"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "the answer is cut off"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nhello", "the answer is not HTTP"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 300000000\r\n\r\nhello", "the answer is too large"),
    (b"HTTP/1.1 200 OK\r\n" + 3000 * b"X-Header: with a few bytes more\r\n" + b"\r\n",
     "the answer is too large"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "the answer is not HTTP"),
    (b"", "the connection was closed without an answer")])
def test_answers_that_are_none(answer, reason):
    with Raw(answer) as server:
        refused(memoir("ctl", f"http://127.0.0.1:{server.port}", "status"), reason)
        assert len(server.requests) == 1


def test_an_answer_without_an_end_is_refused():
    with Raw([b"HTTP/1.1 200 OK\r\n\r\n"] + 300 * [bytes(1 << 20)]) as server:
        refused(memoir("ctl", f"http://127.0.0.1:{server.port}", "status"),
                "the answer is too large")


def test_the_request(tmp_path):
    """What is sent, to the byte; the port is part of Host, the token is none of the address."""
    token = tmp_path / "token"
    token.write_text("a-token\n")
    token.chmod(0o600)
    with Raw(STATUS) as server:
        host = f"127.0.0.1:{server.port}"
        assert memoir("ctl", "--token-file", token, f"http://{host}", "purge", "0").returncode == 0
        assert memoir("ctl", f"http://{host}/", "get", "a.b c").returncode == 0
    lines = [sorted(request.decode().split("\r\n")) for request in server.requests]
    agent, = {line for line in lines[0] if line.startswith("User-Agent: memoir/")}
    common = ["", "", "Accept: */*", "Connection: close", f"Host: {host}", agent]
    assert lines[0] == sorted(
        ["POST /control/purge?arena=0 HTTP/1.1", "Authorization: Bearer a-token",
         "Content-Length: 0"] + common)
    assert lines[1] == sorted(["GET /mallctl?name=a.b%20c HTTP/1.1"] + common)


def test_who_answers_early_is_heard(tmp_path):
    """A server that does not want a large profile says so before it has read it."""
    big = tmp_path / "big.heap"
    stacks = "".join(f"@ 0x{i * 1237:x} 0x{i * i:x}\n  t*: 1: {i} [0: 0]\n"
                     for i in range(1000, 101000))
    big.write_text(f"heap_v2/1\n  t*: 100000: {sum(range(1000, 101000))} [0: 0]\n{stacks}")
    with Raw(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: "
             b"close\r\n\r\ntoo large") as server:
        refused(memoir("push", "--to", f"http://127.0.0.1:{server.port}", big),
                "the answer is 413: too large")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two certificates that nobody else has signed, for localhost: with their keys, and alone."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in ("one", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", f"/CN={name}",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "key",
                        "-out", folder / f"{name}.crt"],
                       check=True, capture_output=True)
        (folder / f"{name}.pem").write_bytes(
            (folder / f"{name}.crt").read_bytes() + (folder / "key").read_bytes())
    return folder


def test_https(certificates):
    """A certificate is checked: with those of the system, of a file, of the environment."""
    with Raw(PUSHED, certificates / "one.pem") as server:
        to = ("push", "--to", f"https://localhost:{server.port}", DUMP)
        one, other = (str(certificates / f"{name}.crt") for name in ("one", "other"))
        refused(memoir(*to), "certificate")
        refused(memoir(*to, "--ca-file", other), "certificate")
        refused(memoir(*to, SSL_CERT_FILE=other), "certificate")
        refused(memoir(*to, "--ca-file", other, SSL_CERT_FILE=one), "certificate")
        refused(memoir("push", "--to", f"https://127.0.0.1:{server.port}", "--ca-file", one, DUMP),
                "certificate")
        assert not server.requests
        for words, environment in (((), {"SSL_CERT_FILE": one}), ((), {"CURL_CA_BUNDLE": one}),
                                   (("--ca-file", one), {})):
            done = memoir(*to, *words, **environment)
            assert (done.returncode, done.stderr) == (0, "")
        assert (len(server.requests) == 3
                and all(r.startswith(b"POST /ingest?name=") for r in server.requests))
        done = memoir(*to, "--ca-file", "/nonexistent.crt")
        assert done.returncode == 2 and "/nonexistent.crt: No such file" in done.stderr


def test_https_of_an_agent(certificates):
    """Behind something that adds it."""
    with Raw(STATUS, certificates / "one.pem") as server:
        address = f"https://localhost:{server.port}"
        refused(memoir("ctl", address, "status"), "certificate")
        done = memoir("ctl", "--ca-file", certificates / "one.crt", address, "status")
        assert (done.returncode, done.stdout) == (0, "pid: 1234\n")


def test_a_proxy_of_the_environment(certificates, tmp_path):
    """Is asked for others, and never for this computer, nor for processes of it."""
    with Raw(PUSHED) as proxy, Raw(PUSHED) as server:
        through = f"http://127.0.0.1:{proxy.port}"
        push = ("push", "--to", "http://pyroscope.example:4040", DUMP)
        assert memoir(*push, http_proxy=through).returncode == 0
        assert memoir(*push, all_proxy=through).returncode == 0
        assert len(proxy.requests) == 2
        assert all(r.startswith(b"POST http://pyroscope.example:4040/ingest?name=")
                   for r in proxy.requests)
        refused(memoir(*push, http_proxy=through, no_proxy=".example"),
                "Could not resolve host: pyroscope.example")
        for host in ("127.0.0.1", "localhost", "0.0.0.0"):
            done = memoir("push", "--to", f"http://{host}:{server.port}", DUMP, http_proxy=through,
                          all_proxy=through)
            assert (done.returncode, done.stderr) == (0, "")
        assert len(proxy.requests) == 2 and len(server.requests) == 3
    # An agent that left its file is here, whatever address it has.
    folder = tmp_path / "memoir"
    folder.mkdir()
    (folder / f"jemalloc.{os.getpid()}").write_text("http://agent.example:1\ntoken\nprogram\n")
    with Raw(STATUS) as proxy:
        done = memoir("ctl", os.getpid(), "status", http_proxy=f"http://127.0.0.1:{proxy.port}",
                      XDG_RUNTIME_DIR=str(tmp_path))
        refused(done, "Could not resolve host: agent.example")
        assert not proxy.requests


def test_a_tunnel_sees_no_token(certificates, tmp_path):
    """https through a proxy: what is sent to the server is for the server."""
    token = tmp_path / "token"
    token.write_text("a-token\n")
    token.chmod(0o600)
    with Raw(STATUS, certificates / "one.pem") as server, Raw(b"", tunnels=server.port) as proxy:
        done = memoir("ctl", "--token-file", token, "--ca-file", certificates / "one.crt",
                      "https://agent.example", "status",
                      https_proxy=f"http://127.0.0.1:{proxy.port}")
        # The name is not that of the certificate: it is refused after the tunnel is there.
        refused(done, "agent.example")
        assert (proxy.requests[0].startswith(b"CONNECT agent.example:443 ")
                and b"a-token" not in proxy.requests[0])
        assert not server.requests
