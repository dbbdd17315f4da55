# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who may read and change what: docs/security.md.  The loopback address is not a person."""
import os
import pathlib
import socket
import stat
import subprocess

import pytest

import another_user
import harness
from agent import Target
from another_user import needs_root, nobodys_folder  # noqa: F401
from test_gather import Streaming
from web import Server

TOKEN = "a-token-of-the-test"


@pytest.fixture(scope="module")
def recording(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("access") / "choosing.dat")
    done = harness.record(
        [compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], path)
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
        questions = [("GET", path) for path in ("/", "/list", "/api", "/agents", "/data/last/flame",
                                                "/data/last/sources",
                                                "/data/last/source?file=/etc/passwd", "/nothing")]
        questions += [("POST", "/upload?name=x", {}, data), ("DELETE", "/data/last")]
        for status, headers, text in another_user.ask(server.port, *questions):
            assert (status == 401 and "token" in text
                    and headers["WWW-Authenticate"].startswith("Bearer"))
        for wrong in (token[:-1], token + "0", "", "x" * len(token)):
            assert another_user.statuses(server.port, ("GET", "/list", bearer(wrong))) == [401]
        assert another_user.statuses(server.port, ("GET", "/list", bearer(token))) == [200]
        # The page: the token is kept in a cookie of this port's name.
        status, headers, _ = another_user.ask(server.port, ("GET", f"/?token={token}"))[0]
        cookie = headers["Set-Cookie"]
        assert (status == 303 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
                and f"_{server.port}=" in cookie)
        assert another_user.statuses(server.port,
                                     ("GET", "/list", {"Cookie": cookie.split(";")[0]})) == [200]
        # Its own user needs nothing.
        assert server.ask("/list").status == 200
        assert len(server.json("/list")) == 1


@needs_root
def test_users_without_a_number_are_not_taken_for_one(tmp_path):
    """In a user namespace that maps nobody, every user has the number of nobody."""
    if subprocess.run(another_user.command("unshare", "-U", "true"),
                      capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    server = Server()
    server.arguments = another_user.command("unshare", "-U", *server.arguments)
    with server:
        assert server.ask("/list").status == 401
        assert another_user.statuses(server.port, ("GET", "/list")) == [401]
        assert another_user.statuses(server.port, ("GET", "/list", bearer(token_of(server)))) == [
            200]


@needs_root
def test_a_server_that_is_open_to_all(recording):
    """Everybody may read; what was uploaded is removed by who sent it, or by the server's user."""
    with Server("--open-to-all", recording) as server:
        server.loaded()
        assert another_user.statuses(server.port, ("GET", "/list"),
                                     ("GET", "/data/last/flame")) == [200, 200]
        assert another_user.statuses(server.port, ("POST", "/agents/1/control/purge"),
                                     ("POST", "/data/last/find_names")) == [404, 403]
        with open(recording, "rb") as file:
            ours = server.ask("/upload?name=ours", method="POST", body=file.read())
        assert ours.status == 201
        text = '{"jemalloc":{"version":"5.3.0-0-g0"}}'
        status, _, theirs = another_user.ask(server.port,
                                             ("POST", "/upload?name=theirs.json", {}, text))[0]
        assert status == 201, theirs
        theirs = theirs.split('"id":"')[1].split('"')[0]
        assert another_user.statuses(server.port, ("DELETE", f"/data/{ours.json['id']}"),
                                     ("DELETE", f"/data/{theirs}")) == [403, 204]
        status, _, theirs = another_user.ask(server.port,
                                             ("POST", "/upload?name=theirs.json", {}, text))[0]
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
    done = harness.execute([harness.MEMOIR, "server", "--token", TOKEN, recording])
    assert done.status == 2 and b"did you mean --token-file?" in done.stderr, done


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
    with Server(recording, env={"MEMOIR_TOKEN": TOKEN}) as server:
        answer = server.ask(f"/?token={TOKEN}",
                            headers={"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
        assert (answer.status == 200 and "Set-Cookie" in answer.headers
                and 'content="0;url=/"' in answer.text)
        assert server.ask(f"/?token={TOKEN}", headers={"Sec-Fetch-Site": "none"}).status == 303


def test_open_keeps_the_token_off_the_command_line(recording, tmp_path):
    seen = tmp_path / "seen"
    browser = tmp_path / "xdg-open"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new\ncat "$1" >> {seen}.new\nmv {seen}.new '
                       f'{seen}\n')
    browser.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{harness.ENVIRONMENT['PATH']}", "XDG_RUNTIME_DIR": str(tmp_path),
           "MEMOIR_TOKEN": TOKEN}
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


# The agent

READS = ("/", "/status", "/stats", "/stats.json", "/metrics", "/mallctl?name=version",
         "/pprof/heap", "/pprof/cmdline", "/debug/pprof/heap",
         "/debug/pprof/heap/folded", "/debug/pprof/heap/html", "/prof/recent", "/mtev/memory.json",
         "/mtev/heap_profile", "/nothing")


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("agent_target",
                           flags=("-O1", "-fno-optimize-sibling-calls", "-rdynamic"))


@needs_root
def test_another_user_gets_nothing_of_the_agent(program, tmp_path):
    with Target([program], tmp_path, conf="prof:true") as target:
        answers = another_user.ask(target.port, *(("GET", path) for path in READS),
                                   ("POST", "/pprof/symbol", {}, "0x1"),
                                   ("POST", "/control/purge"), ("HEAD", "/status"))
        assert {status for status, _, _ in answers} == {401}, answers
        assert all("0x" not in text and "jemalloc 5" not in text for _, _, text in answers)
        assert another_user.statuses(target.port, ("GET", "/metrics", bearer("wrong")),
                                     ("GET", "/metrics", bearer(target.token)),
                                     ("GET", "/pprof/heap", {"X-Memoir-Token": target.token}),
                                     ("POST", "/control/purge", bearer(target.token))) == [
                                         403, 200, 200, 200]
        # Its own user needs nothing to read; our own commands send what they know.
        assert target.get("/metrics").status == 200
        # Several requests of one connection are one person's.
        connection = target.connection()
        for _ in range(3):
            connection.request("GET", "/status", headers={"Connection": "keep-alive"})
            answer = connection.getresponse()
            assert answer.status == 200 and answer.read()
        connection.close()


@needs_root
def test_our_commands_ask_an_agent_with_a_token(program, tmp_path, nobodys_folder):
    """As another user, with the token from a file or the environment; what is on a command line is
    warned about."""
    secret = pathlib.Path(nobodys_folder) / "token"
    (tmp_path / "runtime").mkdir()
    with Target([program], tmp_path / "runtime", conf="prof:true") as target:
        secret.write_text(target.token + "\n")
        secret.chmod(0o600)
        os.chown(secret, another_user.NOBODY, another_user.NOBODY)

        def nobody(*words, **env):
            return harness.execute(another_user.command(harness.MEMOIR, "jemalloc", *words),
                                   cwd="/tmp",
                                   env={"XDG_RUNTIME_DIR": "/proc/nonexistent", **env})
        for words in (("metrics", target.address), ("watch", "--once", "-n", "1", target.address),
                      ("record", "-n", "1", "-o", "-", target.address),
                      ("ctl", target.address, "status"), ("join", target.address)):
            done = nobody(*words)
            assert done.status == 1 and b"401" in done.stderr, (words, done)
            done = nobody(*words, MEMOIR_AGENT_TOKEN=target.token)
            assert done.status == 0, (words, done)
            done = nobody(words[0], "--token-file", secret, *words[1:])
            assert done.status == 0, (words, done)
        done = nobody("ctl", "--token", target.token, target.address, "status")
        assert done.status == 2 and b"--token-file" in done.stderr


@needs_root
def test_an_agent_that_is_open_to_all(program, tmp_path):
    with Target([program], tmp_path, conf="prof:true",
                env={"MEMOIR_AGENT_OPEN_TO_ALL": "1", "MEMOIR_AGENT_COMPAT": "1"}) as target:
        assert another_user.statuses(target.port, ("GET", "/metrics"), ("GET", "/pprof/heap"),
                                     ("POST", "/control/purge"),
                                     ("GET", "/mtev/heap_profile?active=true")) == [
                                         200, 200, 401, 405]
        assert target.get("/mtev/heap_profile?active=true").status == 200


@needs_root
def test_an_agent_that_others_reach(program, tmp_path):
    with Target([program], tmp_path, listen="0.0.0.0:0") as target:
        assert another_user.statuses(target.port, ("GET", "/metrics"),
                                     ("GET", "/metrics", bearer(target.token))) == [401, 200]
        assert target.get("/metrics").status == 200


def test_pages_from_elsewhere_get_nothing_of_the_agent(program, tmp_path):
    with Target([program], tmp_path) as target:
        ours = f"127.0.0.1:{target.port}"
        for headers, status in (({"Origin": "http://evil.example"}, 403), ({"Origin": "null"}, 403),
                                ({"Origin": f"http://{ours}"}, 200),
                                ({"Origin": f"http://{ours}.evil.example"}, 403),
                                ({"Host": "evil.example"}, 403),
                                ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
                                 403),
                                ({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, 403),
                                ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"},
                                 200),
                                ({"Sec-Fetch-Site": "same-origin"}, 200),
                                ({"Origin": "x" * 300}, 403)):
            for path in ("/status", "/stats", "/"):
                assert target.get(path, headers=headers).status == status, headers


# The stream

@needs_root
@pytest.mark.parametrize("mode", ["run", "preload"])
def test_another_user_gets_nothing_of_a_stream(compile_program, tmp_path, nobodys_folder, mode):
    """The hello has the command line, so not even that; with the token all of it."""
    secret = tmp_path / "token"
    secret.write_text(TOKEN + "\n")
    secret.chmod(0o600)
    program = compile_program("stepwise")
    home = pathlib.Path(nobodys_folder)
    for options, allowed in (({}, False), ({"MEMOIR_STREAM_TOKEN_FILE": "token"}, False),
                             ({"MEMOIR_STREAM_OPEN_TO_ALL": "1"}, True)):
        sending = Streaming(program, tmp_path, mode, options, name=f"{len(options)}{allowed}.dat")
        try:
            sending.do("m 100")

            def gather(name, who=another_user.command, **env):
                """Starts receiving; the program is told to end when it has begun."""
                return subprocess.Popen([*who(harness.MEMOIR), "gather", "--json", "-o",
                                         str(home / name), sending.where], cwd="/tmp",
                                        env=dict(harness.ENVIRONMENT, **env),
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            if not allowed:
                done = gather("nothing")
                out, err = done.communicate(timeout=60)
                assert (done.returncode == 1 and b"--token-file" in err
                        and b"arguments" not in out), (out, err)
                assert not (home / "nothing").exists()
                done = gather("nothing", MEMOIR_STREAM_TOKEN="wrong")
                assert b"--token-file" in done.communicate(timeout=60)[1]
            readers = [gather("ours.dat", who=lambda *words: words)]
            if options:
                readers.append(gather("theirs.dat", MEMOIR_STREAM_TOKEN=TOKEN))
            # A sender that nobody receives from ends with its program.
            harness.wait_for(lambda: len(list(home.glob("*.part"))) == len(readers)
                             or any(r.poll() is not None for r in readers), 60,
                             "the readers")
            sending.do("q")
            for reader in readers:
                out, err = reader.communicate(timeout=60)
                assert reader.returncode == 0, (out, err)
            sending.end()
            with open(sending.path, "rb") as one:
                expected = one.read()
            for name in ("ours.dat", "theirs.dat")[:len(readers)]:
                assert (home / name).read_bytes() == expected
                (home / name).unlink()
        finally:
            sending.process.kill()


def test_gather_keeps_no_more_than_it_may(compile_program, tmp_path):
    sending = Streaming(compile_program("stepwise"), tmp_path, "run")
    try:
        sending.do("m 100000")
        received = tmp_path / "received.dat"
        done = harness.execute([harness.MEMOIR, "gather", "--max-size", "5000", "-o", str(received),
                                sending.where])
        assert (done.status == 1 and b"--max-size" in done.stderr
                and done.stderr.count(b"\n") == 1), done
        assert received.stat().st_size == 5000
        assert harness.execute([harness.MEMOIR, "info", str(received)]).status == 0
        sending.do("q")
        sending.end()
    finally:
        sending.process.kill()
    for wrong in ("much", "0", "-1", "5X"):
        done = harness.execute([harness.MEMOIR, "gather", "--max-size", wrong, "localhost:1"])
        assert done.status == 2 and b"--max-size" in done.stderr


@needs_root
def test_gather_leaves_room_on_the_disk(compile_program, tmp_path):
    """A full file system of its own: without --max-size a twentieth of it stays free."""
    if not harness.may_mount():
        pytest.skip("no mount namespaces here")
    sending = Streaming(compile_program("stepwise"), tmp_path, "run")
    try:
        sending.do("m 100000")
        (tmp_path / "small").mkdir()
        script = (f"mount -t tmpfs -o size=1m small {tmp_path}/small && head -c 1020000 /dev/zero "
                  f"> {tmp_path}/small/full; "
                  f"exec {harness.MEMOIR} gather -o {tmp_path}/small/ {sending.where}")
        done = harness.execute(["unshare", "-m", "sh", "-c", script])
        assert done.status == 1 and b"are left on the disk" in done.stderr, done
        sending.do("q")
        sending.end()
    finally:
        sending.process.kill()


# Source files

def named_program(folder, names):
    """A program whose debug information says that each of these files has a function that
    allocates."""
    text = ["#include <stdlib.h>", "void *volatile kept;"]
    for i, name in enumerate(names):
        text += [f'#line 1 "{name}"', f"__attribute__((noinline)) void f{i}(void) {{ kept = "
                 f"malloc({1000 + i}); kept = kept; }}"]
    text += [f'#line 1000 "{folder}/src/main.c"', "int main(void) {",
             *(f"f{i}();" for i in range(len(names))), "kept = malloc(99); return 0; }"]
    (folder / "src").mkdir(exist_ok=True)
    (folder / "build").mkdir(exist_ok=True)
    (folder / "src" / "main.c").write_text("\n".join(text) + "\n")
    program = folder / "build" / "program"
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "../src/main.c", "-o", "program"],
                   cwd=folder / "build", check=True)
    return program


def test_sources_only_below_what_is_allowed(tmp_path):
    """A recording that names /etc/shadow, ../, links, a pipe, a device."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "src").mkdir()
    (folder / "out.c").symlink_to("/etc/passwd")
    (folder / "in.c").symlink_to("src/main.c")
    (tmp_path / "beside.c").write_text("a secret\n")
    (folder / ".secret.c").write_text("a secret\n")
    (folder / "large.c").write_text("a line\n" * (2 << 20))
    (folder / "etc").symlink_to("/etc")
    os.mkfifo(folder / "pipe.c")
    shown = [f"{folder}/src/main.c", f"{folder}/in.c"]
    names = ["/etc/shadow", "/etc/passwd", "/proc/self/environ", "/dev/zero", f"{folder}/out.c",
             f"{folder}/etc/passwd", f"{folder}/pipe.c",
             f"{folder}/../beside.c", f"{folder}/src/../../../../../../../../etc/passwd",
             f"{folder}/.secret.c", f"{folder}/large.c",
             f"{tmp_path}/beside.c"]
    program = named_program(folder, [*names, f"{folder}/in.c"])
    recording = str(tmp_path / "out.dat")
    assert harness.record([str(program)], recording).status == 0

    def lines(server, name):
        answer = server.json("/data/last/source", file=name, measure="allocated")
        assert (answer["on_disk"] == bool(answer["lines"])
                and (answer["hidden"] is None or not answer["on_disk"]))
        return answer

    def listed(server):
        return {row["file"]: row["on_disk"]
                for row in server.json("/data/last/sources", measure="allocated")["sources"]}
    env = {"HOME": str(tmp_path)}
    with Server(recording, env=env) as server:
        server.loaded()
        rows = listed(server)
        seen = [name for name in rows if name not in shown
                and name.startswith((str(tmp_path), "/etc", "/proc", "/dev"))]
        assert len(seen) >= len(names) - 2, rows  # names that are the same without .. are one
        for name in seen:
            answer = lines(server, name)
            assert not answer["lines"] and answer["hidden"], answer
            assert not rows[name]
        assert "--source-root" in lines(server, "/etc/shadow")["hidden"]
        for name in shown:
            assert lines(server, name)["lines"] and rows[name], name
        assert "large" not in str(server.json("/list"))
    # Who has a shell may read what the system allows, but no pipe, no device.
    for name, hidden in ((f"{tmp_path}/beside.c", None), (f"{folder}/pipe.c", "regular"),
                         ("/dev/zero", "regular"), (f"{folder}/large.c", "8 MiB")):
        answer = harness.ask("source", "--json", "-m", "allocated", "--file", name, recording)
        assert (answer["lines"] == ([] if hidden else ["a secret"])
                and (hidden or "") in (answer["hidden"] or "")), answer
    # What was allowed by name; still no pipe, no device, no link out of it.
    with Server("--source-root", tmp_path, recording, env=env) as server:
        server.loaded()
        assert lines(server, f"{tmp_path}/beside.c")["lines"] == ["a secret"]
        assert "link" in lines(server, f"{folder}/out.c")["hidden"]
        assert "regular" in lines(server, f"{folder}/pipe.c")["hidden"]
        assert "8 MiB" in lines(server, f"{folder}/large.c")["hidden"]
        assert not lines(server, "/etc/shadow")["lines"]
    with Server(recording,
                env={**env, "MEMOIR_SOURCE_ROOT": f"/proc/nonexistent:{tmp_path}"}) as server:
        server.loaded()
        assert lines(server, f"{tmp_path}/beside.c")["lines"] == ["a secret"]
    # Everybody may ask: only what was named.
    with Server("--open-to-all", recording, env=env) as server:
        server.loaded()
        assert not any(listed(server).values())
    # The home of the user is no build folder, though a program was built in it.
    with Server(recording, env={"HOME": str(folder)}) as server:
        server.loaded()
        assert not lines(server, f"{folder}/in.c")["lines"]

    def nothing_shown():
        with Server(recording, env=env) as server:
            server.loaded()
            assert not any(listed(server).values())
    # A program that others could have written, another one, and none but what the recording embeds.
    program.chmod(0o777)
    nothing_shown()
    program.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(program, another_user.NOBODY, another_user.NOBODY)
        nothing_shown()
    program.unlink()
    nothing_shown()


def test_source_root_has_to_be_a_folder(recording):
    done = harness.execute(
        [harness.MEMOIR, "server", "--source-root", "/proc/nonexistent", recording])
    assert done.status == 2 and b"--source-root" in done.stderr
