# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who may read and change what: docs/security.md.  The loopback address is not a person."""
import os
import socket
import stat

import pytest

import another_user
import harness
from another_user import needs_root
from web import Server

TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def recording(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("access") / "choosing.dat")
    done = harness.record([compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], path)
    assert done.status == 0, done.run
    return path


def token_of(server):
    """The token that a server made: in what it says to its own terminal."""
    line = server.process.stderr.readline() + server.process.stderr.readline()
    return line.decode().split("?token=")[1].split()[0]


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


# The server

@needs_root
def test_another_user_gets_nothing_of_the_server(recording):
    with Server(recording) as server:
        server.loaded()
        token = token_of(server)
        data = open(recording, "rb").read(100).decode(errors="replace")
        questions = [("GET", path) for path in ("/", "/list", "/api", "/agents", "/data/last/flame", "/data/last/sources",
                                                "/data/last/source?file=/etc/passwd", "/nothing")]
        questions += [("POST", "/upload?name=x", {}, data), ("DELETE", "/data/last")]
        for status, headers, text in another_user.ask(server.port, *questions):
            assert status == 401 and "token" in text and headers["WWW-Authenticate"].startswith("Bearer")
        for wrong in (token[:-1], token + "0", "", "x" * len(token)):
            assert another_user.statuses(server.port, ("GET", "/list", bearer(wrong))) == [401]
        assert another_user.statuses(server.port, ("GET", "/list", bearer(token))) == [200]
        # The page: the token is kept in a cookie of this port's name.
        status, headers, _ = another_user.ask(server.port, ("GET", f"/?token={token}"))[0]
        cookie = headers["Set-Cookie"]
        assert status == 303 and "HttpOnly" in cookie and "SameSite=Strict" in cookie and f"_{server.port}=" in cookie
        assert another_user.statuses(server.port, ("GET", "/list", {"Cookie": cookie.split(";")[0]})) == [200]
        # Its own user needs nothing.
        assert server.ask("/list").status == 200
        assert len(server.json("/list")) == 1


@needs_root
def test_a_server_that_is_open_to_all(recording):
    """Everybody may read; what was uploaded is removed by who sent it, or by the server's user."""
    with Server("--open-to-all", recording) as server:
        server.loaded()
        assert another_user.statuses(server.port, ("GET", "/list"), ("GET", "/data/last/flame")) == [200, 200]
        assert another_user.statuses(server.port, ("POST", "/agents/1/control/purge")) == [404]
        with open(recording, "rb") as file:
            ours = server.ask("/upload?name=ours", method="POST", body=file.read())
        assert ours.status == 201
        text = '{"jemalloc":{"version":"5.3.0-0-g0"}}'
        status, _, theirs = another_user.ask(server.port, ("POST", "/upload?name=theirs.json", {}, text))[0]
        assert status == 201, theirs
        theirs = theirs.split('"id":"')[1].split('"')[0]
        assert another_user.statuses(server.port, ("DELETE", f"/data/{ours.json['id']}"),
                                     ("DELETE", f"/data/{theirs}")) == [403, 204]
        status, _, theirs = another_user.ask(server.port, ("POST", "/upload?name=theirs.json", {}, text))[0]
        theirs = theirs.split('"id":"')[1].split('"')[0]
        assert server.ask(f"/data/{theirs}", method="DELETE").status == 204
        assert server.ask(f"/data/{ours.json['id']}", method="DELETE").status == 204


def test_tokens_of_files_and_the_environment(recording, tmp_path):
    """A token that was given is asked of everybody, and never has to be on a command line."""
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    file.chmod(0o600)
    for arguments, env in ((("--token-file", file), {}), ((), {"MEMOIR_TOKEN": TOKEN})):
        with Server(*arguments, recording, env=env) as server:
            assert server.address.endswith(f"/?token={TOKEN}")
            assert server.ask("/list").status == 401
            assert server.ask("/list", headers=bearer(TOKEN)).status == 200
            with open(f"/proc/{server.process.pid}/cmdline", "rb") as words:
                assert TOKEN.encode() not in words.read()
            assert b"can see" not in server.stop()[1]
            server.__enter__()
    with Server("--token", TOKEN, recording) as server:
        assert b"--token-file" in server.stop()[1]
        server.__enter__()


def test_an_address_that_others_reach_needs_a_token(recording):
    with Server("-i", "0.0.0.0", recording) as server:
        token = server.address.split("?token=")[1]
        assert len(token) >= 32
        assert server.ask("/list").status == 401
        assert server.ask("/list", headers=bearer(token)).status == 200
    with Server("-i", "0.0.0.0", "--open-to-all", recording) as server:
        assert "token" not in server.address and server.ask("/list").status == 200


def test_a_link_from_elsewhere_with_the_token(recording):
    """A redirection would lose the strict cookie there, so a page of ours leads on."""
    with Server("--token", TOKEN, recording) as server:
        answer = server.ask(f"/?token={TOKEN}", headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
        assert answer.status == 200 and "Set-Cookie" in answer.headers and 'content="0;url=/"' in answer.text
        assert server.ask(f"/?token={TOKEN}", headers={"Sec-Fetch-Site": "none"}).status == 303


def test_open_keeps_the_token_off_the_command_line(recording, tmp_path):
    seen = tmp_path / "seen"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new\ncat "$1" >> {seen}.new\nmv {seen}.new {seen}\n')
    browser.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{harness.ENVIRONMENT['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path), "MEMOIR_TOKEN": TOKEN}
    with Server("--open", recording, env=env):
        harness.wait_for(seen.exists, what="the browser")
        path, page = seen.read_text().split("\n", 1)
        assert TOKEN not in path and f"?token={TOKEN}" in page
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert not os.path.exists(path)


def test_a_connection_by_a_mapped_address(recording):
    """A socket of IPv6 that is connected to an address of IPv4 is the same user's too."""
    with Server(recording) as server:
        s = socket.socket(socket.AF_INET6)
        s.settimeout(60)
        s.connect(("::ffff:127.0.0.1", server.port))
        s.sendall(b"GET /list HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert s.recv(100).startswith(b"HTTP/1.1 200")
        s.close()
