# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir server: its life, who may ask, files that come and go, and clients that mean no good."""
import base64
import concurrent.futures
import json
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest

import harness
import web
from web import Server

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


@pytest.fixture(scope="module")
def recording(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("server") / "choosing.dat")
    done = harness.record(
        [compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], path)
    assert done.status == 0, done.run
    return path


@pytest.fixture(scope="module")
def server(recording):
    with Server(recording) as running:
        running.loaded()
        yield running


def refused(*arguments):
    return harness.execute([harness.MEMOIR, "server", *arguments])


# Starting and ending

@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ends_when_told(recording, number):
    running = Server(recording)
    running.__enter__()
    assert running.address == f"http://127.0.0.1:{running.port}/"
    status, error = running.stop(number)
    assert status == 0 and b"Ctrl-C" in error


def test_ends_while_it_loads_and_answers(tmp_path):
    path = str(tmp_path / "big.dat")
    subprocess.run([GENERATE, path, "1500000"], check=True, stdout=subprocess.DEVNULL)
    running = Server(path, env={"MEMOIR_CACHE_LIMIT": "0"})
    running.__enter__()
    clients = [running.connect() for _ in range(8)]
    for client in clients:
        client.sendall(b"GET /data/last/allocations HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert running.stop()[0] == 0
    running = Server(path, env={"MEMOIR_CACHE_LIMIT": "0"})
    running.__enter__()
    running.loaded()
    for client in clients:
        client.close()
    clients = [running.connect() for _ in range(40)]
    # streams that nobody reads, and questions that take a while
    for i, client in enumerate(clients):
        path = "raw_allocations" if i % 2 else f"groups?filter=size+%3E%3D+{i}"
        client.sendall(f"GET /data/last/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert clients[1].recv(100).startswith(b"HTTP/1.1 200")
    assert running.stop()[0] == 0
    for client in clients:
        client.close()


def test_takes_the_next_port(recording):
    """8080 may be taken by whoever else runs here; two servers never get the same one."""
    with Server(recording, port=()) as first, Server(recording, port=()) as second:
        assert first.port != second.port
        assert min(first.port, second.port) >= 8080
        done = refused("--port", str(first.port), recording)
        assert done.status == 1 and b"in use" in done.stderr, done


@pytest.mark.parametrize("arguments, status, words", [
    (["--token-file", "/proc/nonexistent"], 1, b"No such file"),
    (["--token-file", "/dev/null"], 1, b"empty"),
    (["--token-file", "/dev/null", "--password-file", "/dev/null"], 2, b"not both"),
    (["--password-file", "/proc/nonexistent"], 1, b"No such file"),
    (["--password-file", "/dev/null"], 1, b"empty"),
    (["-p", "70000"], 2, b"65535"),
    (["-i", "no.such.address.invalid"], 1, b"is not an address"),
    (["--upload-limit", "much"], 2, b"size"),
    (["/proc/nonexistent.dat"], 1, b"No such file"),
    ([__file__], 1, b"neither a recording"),
    (["--prot", "1"], 2, b"--port"),
])
def test_refuses(arguments, status, words):
    done = refused(*arguments)
    assert done.status == status and words in done.stderr and done.stdout == b"", done
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("token, words",
                         [("short", b"at least 8"), ("with blanks inside", b"letters")])
def test_refuses_a_token(token, words, recording):
    done = harness.execute([harness.MEMOIR, "server", recording], env={"MEMOIR_TOKEN": token})
    assert done.status == 2 and words in done.stderr and done.stderr.count(b"\n") == 1, done


# Who may ask

@pytest.mark.parametrize("host, status", [
    ("localhost", 200), ("localhost:1234", 200), ("127.0.0.1:{port}", 200), ("[::1]:99", 200),
    ("192.168.1.7", 200),
    ("app.localhost", 200), ("LocalHost", 200),
    ("evil.example", 403), ("evil.example:{port}", 403), ("localhost.evil.example", 403),
    ("127.0.0.1.evil.example", 403),
    ("", 403), ("localhost:80x", 403), ("[::1", 403), ("x" * 300, 403),
])
def test_host(server, host, status):
    answer = server.ask("/list", headers={"Host": host.format(port=server.port)})
    assert answer.status == status, answer


def test_other_names_can_be_allowed(recording):
    with Server(recording, "--allow-host", "app.example.org", "--allow-host", "App") as server:
        for host, status in (("app.example.org", 200), ("APP:80", 200), ("localhost", 200),
                             ("app.example.org.evil.example", 403),
                             ("pp", 403), ("evil.example", 403)):
            assert server.ask("/list", headers={"Host": host}).status == status, host
    assert refused("--allow-host", "http://x").status == 2


@pytest.mark.parametrize("origin, status", [
    ("http://127.0.0.1:{port}", 200), ("http://evil.example", 403), ("null", 403),
    ("http://127.0.0.1:1", 403),
    ("http://127.0.0.1:{port}.evil.example", 403),
])
def test_origin(server, origin, status):
    answer = server.ask("/list", headers={"Origin": origin.format(port=server.port)})
    assert answer.status == status, answer


def test_pages_from_elsewhere(server):
    site = {"Sec-Fetch-Site": "cross-site"}
    assert server.ask("/list", headers={**site, "Sec-Fetch-Mode": "no-cors"}).status == 403
    assert server.ask("/", headers={**site, "Sec-Fetch-Mode": "navigate"}).status == 200
    assert server.ask("/list", headers={"Sec-Fetch-Site": "same-origin"}).status == 200


def test_token(recording):
    with Server(recording, env={"MEMOIR_TOKEN": "abc-DEF.123"}) as server:
        assert server.address.endswith("/?token=abc-DEF.123")
        answer = server.ask("/list")
        assert answer.status == 401 and answer.headers["WWW-Authenticate"].startswith("Bearer")
        assert "token" in answer.json["error"]
        for wrong in ("abc-DEF.12", "abc-DEF.1234", "", "xbc-DEF.123"):
            assert server.ask("/list", headers={"Authorization": f"Bearer {wrong}"}).status == 401
            assert server.ask("/?token=" + wrong).status in (400, 401)
        assert server.ask("/list", headers={"Authorization": "Bearer abc-DEF.123"}).status == 200
        answer = server.ask("/?token=abc-DEF.123")
        assert answer.status == 303 and answer.headers["Location"] == "/"
        cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        for jar in (cookie.split(";")[0], "a=b; " + cookie.split(";")[0] + "; c=d"):
            assert server.ask("/list", headers={"Cookie": jar}).status == 200
        assert server.ask("/list",
                          headers={"Cookie": f"memoir_token_{server.port}=wrong-one"}).status == 401
        assert server.ask("/?token=abc-DEF.123", headers={"Host": "evil.example"}).status in (
            401, 403)


def test_password(recording, tmp_path):
    secret = tmp_path / "password"
    secret.write_text("open sesame\nsecond line\n")
    secret.chmod(0o600)
    with Server("--password-file", secret, recording) as server:
        def given(text):
            return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}
        answer = server.ask("/list")
        assert answer.status == 401 and answer.headers["WWW-Authenticate"].startswith("Basic")
        assert server.ask("/list", headers=given("anybody:open sesame")).status == 200
        assert server.ask("/list", headers=given(":open sesame")).status == 200
        for wrong in ("anybody:open", "open sesame", "a:b", "a:open sesame\nsecond line",
                      "x" * 3000):
            assert server.ask("/list", headers=given(wrong)).status == 401
        assert server.ask("/list", headers={"Authorization": "Basic !!!"}).status == 401
        assert server.ask("/list", headers={"Authorization": "Bearer open sesame"}).status == 401


def test_other_address_with_token(recording):
    with Server("-i", "0.0.0.0", recording, env={"MEMOIR_TOKEN": "12345678"}) as server:
        name = socket.gethostname()
        key = {"Authorization": "Bearer 12345678"}
        assert server.ask("/list", headers={**key, "Host": name}).status == 200
        assert server.ask("/list", headers={**key, "Host": "evil.example"}).status == 403
        assert server.ask("/list", headers={"Host": name}).status == 401


# Answers

def test_headers(server):
    for path in ("/", "/api", "/list", "/data/last/overview", "/nope", "/data/last/export/csv"):
        headers = server.ask(path).headers
        assert "default-src 'self'" in headers["Content-Security-Policy"], path
        assert "unsafe" not in headers["Content-Security-Policy"], path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    policy = server.ask("/data/last/export/flamegraph").headers["Content-Security-Policy"]
    assert ("sandbox" in policy and "default-src 'none'" in policy
            and "allow-same-origin" not in policy)


def test_the_same_is_made_once(server):
    """However it is written, and whether or not the client is in a hurry."""
    made = server.ask("/data/last/flame?limit=777&measure=leaked", headers={"Priority": "u=6"})
    assert made.status == 200 and made.headers["Server-Timing"].startswith("made;dur=")
    for same in ("measure=leaked&limit=777",
                 "direction=down&weight=bytes&measure=leaked&limit=777&threads="):
        again = server.ask(f"/data/last/flame?{same}")
        assert again.headers["Server-Timing"] == "kept" and again.body == made.body
    # That a measure is given is not the same as that it is not.
    assert server.ask("/data/last/flame?at=1ms").status == 200
    assert server.ask("/data/last/flame?at=1ms&measure=peak").status == 400


@pytest.mark.parametrize(
    "path", ["/api", "/list", "/data/last/flame", "/data/last/timeline", "/data/last/allocations",
             "/data/last/tree"])
def test_etag_and_gzip(server, path):
    plain = server.ask(path)
    packed = server.ask(path, headers={"Accept-Encoding": "gzip, deflate"})
    assert plain.status == packed.status == 200
    assert plain.headers.get("Content-Encoding") is None
    assert packed.json == plain.json
    if len(plain.body) > 4096:
        assert packed.headers["Content-Encoding"] == "gzip" and len(packed.body) < len(plain.body)
    assert server.ask(path, headers={"Accept-Encoding": "gzip;q=0"}).headers.get(
        "Content-Encoding") is None
    for answer, accept in ((plain, "identity"), (packed, "gzip, deflate")):
        etag = answer.headers["ETag"]
        again = server.ask(path,
                           headers={"If-None-Match": f'"other", {etag}', "Accept-Encoding": accept})
        assert again.status == 304 and again.body == b"" and again.headers["ETag"] == etag
    assert server.ask(path, headers={"If-None-Match": '"other"'}).status == 200
    head = server.ask(path, method="HEAD")
    assert head.status == 200 and head.body == b""


@pytest.mark.parametrize("method, path, status, allow", [
    ("POST", "/list", 405, "GET, HEAD"), ("PUT", "/list", 405, "GET, HEAD"),
    ("GET", "/upload", 405, "POST"),
    ("DELETE", "/data/last/flame", 405, "GET, HEAD"), ("GET", "/data/last", 405, "DELETE"),
    ("PATCH", "/", 405, "GET, HEAD"),
    ("GET", "/nope", 404, None), ("GET", "/data", 404, None), ("GET", "/data/", 404, None),
    ("GET", "/data/last/", 404, None),
    ("GET", "/data/last/nope", 404, None), ("GET", "//list", 404, None),
    ("GET", "/list/", 404, None),
    ("GET", "/data//flame", 404, None), ("GET", "/../etc/passwd", 404, None),
    ("GET", "/data/last/../../list", 404, None),
    ("GET", "/data/" + "0" * 32 + "/flame", 404, None), ("GET", "/data/xyz/flame", 404, None),
    ("DELETE", "/data/" + "0" * 32, 404, None), ("DELETE", "/data/last", 409, None),
    ("GET", "/list?a=%zz", 400, None), ("GET", "/list?a=%00", 400, None),
    ("GET", "/li%73t", 200, None),
    ("GET", "/list?" + "&".join(f"a{i}=1" for i in range(200)), 400, None),
])
def test_paths_and_methods(server, method, path, status, allow):
    answer = server.ask(path, method=method)
    assert answer.status == status, answer
    assert answer.headers.get("Allow") == allow
    if status >= 400:
        assert answer.json["error"]


def test_nothing_of_this_computer_is_told(recording, server):
    """Where the recording is, is nobody's business; what it says of its own program is."""
    folder = os.path.dirname(recording)
    for endpoint in server.json("/api")["endpoints"]:
        if "GET" not in endpoint["methods"]:
            continue
        path = endpoint["path"].format(id="last", agent="1", backtrace_id="5", format="json",
                                       name="x", number="0", hash="0")
        path += {"/data/{id}/source": "?file=x", "/data/{id}/diff": "?b=last"}.get(
            endpoint["path"], "")
        text = server.ask(path).text
        assert folder not in text, path


# Files

def test_folders_and_patterns(recording, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("no recording")
    (folder / "early.dat").symlink_to(recording)
    with Server(folder, tmp_path / "*.rec") as server:
        assert [r["name"] for r in server.loaded(1)] == ["early.dat"]
        shutil.copy(recording, folder / "copy.dat")
        found = server.wait(lambda all: len(all) == 2 and web.all_done(all), "the second recording")
        assert {r["name"] for r in found} == {"early.dat", "copy.dat"}
        assert len({r["id"] for r in found}) == 2
        os.rename(folder / "copy.dat", tmp_path / "one.rec")
        server.wait(lambda all: {r["name"] for r in all} in
                    ({"early.dat", "copy.dat"}, {"early.dat", "one.rec"}), "the pattern")
        (folder / "early.dat").unlink()
        server.wait(lambda all: len(all) == 1, "one that is gone")
        broken = folder / "broken.dat"
        with open(recording, "rb") as file:
            broken.write_bytes(file.read(32) + b"rubbish" * 100)
        found = server.wait(lambda all: any(r["name"] == "broken.dat" and r["state"] != "loading"
                                            for r in all), "a broken one")
        [bad] = [r for r in found if r["name"] == "broken.dat"]
        assert bad["state"] == "error" and bad["error"]
        answer = server.ask(f"/data/{bad['id']}/flame")
        assert answer.status == 404 and "cannot be read" in answer.json["error"]


def test_a_file_that_is_replaced(recording, compile_program, tmp_path):
    path = tmp_path / "x.dat"
    shutil.copy(recording, path)
    with Server(path) as server:
        before = server.loaded()[0]
        harness.record([compile_program("basic")], str(tmp_path / "other.dat"))
        os.rename(tmp_path / "other.dat", path)
        after = server.wait(lambda all: all[0]["version"] > 1 and all[0]["state"] == "ready",
                            "the new file")[0]
        assert after["executable"] != before["executable"]


def test_warnings(recording, tmp_path):
    with open(recording, "rb") as file:
        whole = file.read()
    (tmp_path / "cut.dat").write_bytes(whole[:len(whole) * 9 // 10])
    with Server(tmp_path / "cut.dat", recording) as server:
        cut, good = server.loaded(2)
        assert ([w["kind"] for w in cut["warnings"]].count("truncated") == 1
                and cut["state"] == "ready")
        assert "truncated" not in [w["kind"] for w in good["warnings"]]
        told = server.json(f"/data/{cut['id']}/overview")["warnings"]
        assert told == cut["warnings"]


def test_upload(recording, tmp_path):
    with open(recording, "rb") as file:
        bytes_ = file.read()
    with Server("--upload-limit", str(len(bytes_)), env={"TMPDIR": str(tmp_path)}) as server:
        assert server.json("/list") == []
        answer = server.ask("/data/last/flame")
        assert answer.status == 404
        answer = server.ask("/upload?name=../dropped.dat", method="POST", body=bytes_)
        assert answer.status == 201, answer
        [r] = server.loaded()
        assert (r["id"], r["name"], r["uploaded"]) == (answer.json["id"], "dropped.dat", True)
        mode = [oct(os.stat(os.path.join(tmp_path, d)).st_mode & 0o777)
                for d in os.listdir(tmp_path)]
        assert mode == ["0o700"]
        assert server.data("overview")["name"] == "dropped.dat"
        # The sender of a recording must not choose which files of this computer are shown.
        sources = server.data("sources", measure="allocated")["sources"]
        assert sources and not any(s["on_disk"] for s in sources)
        for body in (b"rubbish", b""):
            answer = server.ask("/upload", method="POST", body=body)
            assert answer.status == 400 and answer.json["error"], answer
        with server.connect() as client:  # too large: said before it is sent
            client.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                           b"%d\r\n\r\n" % (len(bytes_) + 1))
            assert client.recv(100).startswith(b"HTTP/1.1 413")
        with server.connect() as client:  # without a length
            client.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                           b"chunked\r\n\r\n0\r\n\r\n")
            assert client.recv(100).startswith(b"HTTP/1.1 411")
        with server.connect() as client:  # broken off
            client.sendall(b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                           b"1000\r\n\r\nMEMOIR")
        again = server.ask("/upload", method="POST", body=bytes_)
        assert again.status == 201 and again.json["id"] != r["id"]
        server.loaded(2)
        assert server.ask(f"/data/{r['id']}", method="DELETE").status == 204
        assert len(server.json("/list")) == 1
        assert server.ask(f"/data/{r['id']}/flame").status == 404
    assert os.listdir(tmp_path) == []


def test_no_uploads(recording):
    with Server("--upload-limit", "0", recording) as server:
        assert server.ask("/upload", method="POST", body=b"x").status == 413


def test_live(compile_program, tmp_path):
    """What a program does shows up while it runs."""
    program = subprocess.Popen(
        [harness.MEMOIR, "run", "-o", str(tmp_path / "live.dat"), "--", compile_program("growing")],
                               env=harness.ENVIRONMENT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)

    def grow(count):
        program.stdin.write(b"%d\n" % count)
        program.stdin.flush()
        return int(program.stdout.readline())

    try:
        assert grow(1000) == 1000
        harness.wait_for(lambda: os.path.exists(tmp_path / "live.dat"), timeout=web.LONG,
                         what="the recording")
        with Server(tmp_path / "live.dat") as server:
            def has(count):
                return lambda all: all and all[0].get("final_allocated_count", 0) >= count
            first = server.wait(has(1000), "1000 blocks")[0]
            assert first["state"] == "live" and first["live"]
            assert "live" in [w["kind"] for w in first["warnings"]]
            etag = server.ask("/data/last/timeline").headers["ETag"]
            assert grow(5000) == 6000
            second = server.wait(has(6000), "6000 blocks")[0]
            assert second["version"] > first["version"] and second["id"] == first["id"]
            series = server.ask("/data/last/timeline", headers={"If-None-Match": etag})
            assert series.status == 200
            assert series.json["end_count"][-1] >= 6000 and series.json["end_size"][-1] >= 600000
            assert server.data("allocations", count=0,
                               filter='function = "grow"')["total_count"] == 6000
            program.stdin.close()
            assert program.wait(web.LONG) == 0
            last = server.wait(lambda all: all[0]["state"] == "ready", "the end")[0]
            assert not last["live"] and "live" not in [w["kind"] for w in last["warnings"]]
    finally:
        program.kill()
        program.wait()


def test_loading_is_said(tmp_path):
    path = str(tmp_path / "big.dat")
    subprocess.run([GENERATE, path, "1000000"], check=True, stdout=subprocess.DEVNULL)
    with Server(path, env={"MEMOIR_CACHE_LIMIT": "0"}) as server:
        states = set()
        for _ in range(web.LONG * 100):
            answer = server.ask("/data/last/overview")
            states.add(answer.status)
            if answer.status == 200:
                break
            assert answer.status == 503 and answer.json["state"] == "loading"
            assert 0 <= answer.json["progress"] <= 1 and answer.headers["Retry-After"]
            time.sleep(0.01)
        assert 200 in states
        assert server.loaded()[0]["progress"] == 1


# Clients that mean no good, or know no better

def test_slow_clients_cost_only_themselves(server):
    """More connections than there may be, which send a byte now and then; others are still
    answered."""
    slow = []
    try:
        for i in range(1100):
            try:
                client = socket.create_connection((server.host, server.port), timeout=5)
                client.sendall(b"GET /list HTTP/1.1\r\nHost: local")
                slow.append(client)
            except OSError:
                break
        assert len(slow) > 300
        end = time.monotonic() + web.LONG
        while True:  # those that have said nothing useful make room
            try:
                assert server.ask("/list").status == 200
                break
            except (OSError, http_error()):
                assert time.monotonic() < end, "nobody is answered any more"
                for client in slow[::50]:
                    try:
                        client.sendall(b"h")
                    except OSError:
                        pass
                time.sleep(0.1)
    finally:
        for client in slow:
            client.close()
    assert server.ask("/data/last/flame").status == 200


def http_error():
    import http.client
    return http.client.HTTPException


@pytest.mark.parametrize("start", [b"GET /list HTTP/1.1\r\nHost: localhost\r\nX: ", b"GET /", b"",
                                   b"GET /list HTTP/1.1\r\n",
                                   b"\x16\x03\x01\x02\x00\x01\x00"],
                         ids=["header", "address", "nothing", "headers", "tls"])
def test_endless_heads(server, start):
    """10 MB of a head: refused, and not kept."""
    before = server.memory
    with server.connect() as client:
        said = b""
        try:
            client.sendall(start)
            for _ in range(160):
                client.sendall((b"a" if start[-1:] != b"\n" else b"A: b\r\n") * 65536)
        except OSError:
            pass
        try:
            said = client.recv(1000)
        except OSError:
            pass
    if said:
        assert said.split()[1] in (b"400", b"413", b"414", b"431"), said
    assert server.memory < before + (32 << 20)
    assert server.ask("/list").status == 200


@pytest.mark.parametrize("address, headers, status, words", [
    ("/list?x=" + "a" * 40_000, {}, 414, "address"),
    ("/data/last/matches?filter=" + "+" * 100_000, {}, 414, "address"),
    ("/list", {"X-Long": "b" * 40_000}, 431, "head"),
    ("/list", {f"X-{i}": "c" * 5000 for i in range(16)}, 431, "head"),
])
def test_too_long(server, address, headers, status, words):
    answer = server.ask(address, headers=headers)
    assert answer.status == status and words in answer.json["error"]


def test_long_enough(server):
    allocations = server.json("/data/last/matches")["count"]
    answer = server.json(f"/data/last/matches?filter=not+function+%3D+%22{'f' * 30_000}%22")
    assert answer["ok"] and answer["count"] == allocations
    assert server.ask("/list", headers={"X-Long": "b" * 30_000}).status == 200


@pytest.mark.parametrize("request_", [
    b"\0\0\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
    b"GET /list HTTP/1.1\r\n\r\n",
    b"GET /list HTTP/1.0\r\n\r\n", b"FOO /list HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /list HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n",
    b"GET http://localhost/list HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"GET /list HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n",
    b"GET /data/last/flame?filter=" + b"(" * 60000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /data/last/flame?filter=" + b"%28" * 900 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /data/last/flame?function_regex=(a%2B)%2B%24 HTTP/1.1\r\nHost: localhost\r\n\r\n",
], ids=lambda text: repr(text[:40]))
def test_odd_requests(server, request_):
    with server.connect() as client:
        client.sendall(request_)
        client.shutdown(socket.SHUT_WR)
        try:
            while client.recv(65536):
                pass
        except OSError:
            pass
    assert server.ask("/list").status == 200


def test_clients_that_go_away(server):
    """Questions whose client is gone, and answers that nobody reads, hold nothing for ever."""
    for path in ("allocations", "raw_allocations", "flame?limit=3", "export/json", "tree",
                 "groups?by=stack"):
        for _ in range(20):
            client = server.connect()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            client.sendall(f"GET /data/last/{path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            client.close()
    harness.wait_for(lambda: server.threads < 16, timeout=web.LONG,
                     what="the threads of streams to end")
    assert server.ask("/list").status == 200


def test_several_requests_on_one_connection(server):
    with server.connect() as client:
        client.sendall(b"GET /list HTTP/1.1\r\nHost: localhost\r\n\r\nGET /data/last/flame "
                       b"HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       b"GET /nope HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        said = b""
        while piece := client.recv(65536):
            said += piece
    assert said.count(b"HTTP/1.1 200 OK") == 2 and said.count(b"HTTP/1.1 404") == 1


def test_many_clients(tmp_path):
    """200 at once on a recording of a few hundred thousand rows: all are answered, and memory is
    bounded.

    `bench.py --only api` does the same on 10 million."""
    path = str(tmp_path / "some.dat")
    subprocess.run([GENERATE, path, "300000"], check=True, stdout=subprocess.DEVNULL)
    paths = ["matches", "timeline?points=200", "flame?limit=500", "functions?count=50",
             "allocation_groups?count=20&spark=20",
             "allocations?count=50&sort_by=size&order=dsc", "histogram", "threads", "leaks?count=5",
             "address_space?rows=64&columns=50"]
    with Server(path, env={"MEMOIR_CACHE_LIMIT": "0"}) as server:
        server.loaded()
        for p in paths:
            server.data(p)
        before = server.memory

        def client(number):
            for i in range(2):
                p = paths[(number + i) % len(paths)]
                p += ("&" if "?" in p else "?") + f"size_min={number // 10}"
                answer = server.ask("/data/last/" + p, headers={"Accept-Encoding": "gzip"})
                assert answer.status == 200, answer
                json.loads(answer.text)
            return True

        with concurrent.futures.ThreadPoolExecutor(200) as pool:
            assert all(pool.map(client, range(200)))
        assert server.memory < before + (256 << 20)
        assert server.ask("/list").status == 200
