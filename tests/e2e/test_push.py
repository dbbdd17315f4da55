# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc push: heap profiles to a server that takes Pyroscope's requests."""
import base64
import http.server
import json
import os
import pathlib
import subprocess
import threading
import time
import urllib.parse

import pytest

import harness
from agent import JEMALLOC, LIBRARY, Target, memoir
from pprof import Profile

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
TOTALS = {"alloc_objects": 8192.37, "alloc_space": 41629943.11, "inuse_objects": 4883.85,
          "inuse_space": 40342092.36}
needs_jemalloc = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                    reason="no jemalloc, or no agent")


class Stub(http.server.ThreadingHTTPServer):
    """Takes what is posted; answers with what it is told to."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests, self.answers = [], []
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.requestline, dict(self.headers), body))
        status, text = self.server.answers.pop(0) if self.server.answers else (200, b"")
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *unused):
        pass


@pytest.fixture(scope="module")
def server():
    server = Stub()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def stub(server):
    server.requests, server.answers = [], []
    return server


def push(tmp_path, *words):
    return memoir(tmp_path, "push", *map(str, words))


def ingested(request):
    """The query of a POST to /ingest."""
    line, headers, body = request
    method, target, version = line.split(" ")
    path, query = target.split("?")
    assert (method, path, version) == ("POST", "/ingest", "HTTP/1.1")
    return dict(urllib.parse.parse_qsl(query, strict_parsing=True)), headers, body


def as_d1(profile):
    assert [t[0] for t in profile.types] == list(TOTALS)
    for name, expected in TOTALS.items():
        assert abs(profile.total(profile.column(name)) - expected) <= len(profile.samples)


@pytest.fixture
def dump(tmp_path):
    (tmp_path / "out.heap").write_bytes((DATA / "out.heap").read_bytes())
    os.utime(tmp_path / "out.heap", (1700000000, 1700000000))
    return tmp_path / "out.heap"


def test_ingest_pprof(stub, dump, tmp_path):
    done = push(tmp_path, "--to", stub.url, "--name", "my app", "-l", "zone=eu west", "--label",
                "pod=a-1", "-d",
                DATA / "prof", dump)
    assert (done.status, done.stdout, done.stderr) == (0, b"", b"")
    assert len(stub.requests) == 1
    query, headers, body = ingested(stub.requests[0])
    assert query == {"name": "my app{zone=eu west,pod=a-1}", "from": "1699999990",
                     "until": "1700000000",
                     "format": "pprof"}
    assert (headers["Content-Type"] == "application/octet-stream"
            and headers["User-Agent"].startswith("memoir/"))
    profile = Profile(body)
    as_d1(profile)
    assert profile.period == 4096 and profile.default == "inuse_space"
    assert abs(profile.total(function="worker") - 40255913) <= len(profile.samples)


def test_ingest_folded(stub, dump, tmp_path):
    done = push(tmp_path, "--to", stub.url + "/", "--format", "folded", "-d", DATA / "prof", dump)
    assert (done.status, done.stderr) == (0, b"")
    query, headers, body = ingested(stub.requests[0])
    assert (query["name"] == "prof.inuse_space" and query["format"] == "folded"
            and query["units"] == "bytes")
    assert (headers["Content-Type"] == "text/plain"
            and headers["Host"] == stub.url.removeprefix("http://"))
    lines = body.decode().splitlines()
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in lines) - 40342092) <= len(lines)
    assert all(line.split(";")[0] in ("_start", "clone3", "_dl_start_user") for line in lines)


def test_push_api(stub, dump, tmp_path):
    done = push(tmp_path, "--to", stub.url + "/tenant/", "--push-api", "--name", 'a\\b', "-l",
                "zone=ä", dump)
    assert (done.status, done.stderr) == (0, b"")
    line, headers, body = stub.requests[0]
    assert line == "POST /tenant/push.v1.PusherService/Push HTTP/1.1"
    assert headers["Content-Type"] == "application/json"
    series, = json.loads(body)["series"]
    assert series["labels"] == [{"name": "__name__", "value": "memory"},
                                {"name": "service_name", "value": "a\\b"},
                                {"name": "zone", "value": "ä"}]
    sample, = series["samples"]
    as_d1(Profile(base64.b64decode(sample["rawProfile"], validate=True)))


@needs_jemalloc
def test_a_running_process(stub, compile_program, tmp_path):
    """By its number and its address; what the agent's own profile says."""
    conf = "prof:true,lg_prof_sample:12"
    with Target([compile_program("agent_target")], tmp_path, conf) as target:
        target.do("keep 5000")
        own = Profile(target.get("/debug/pprof/heap").body)
        before = int(time.time())
        assert push(tmp_path, "--to", stub.url, target.pid).status == 0
        assert push(tmp_path, "--to", stub.url, "--format=folded", "--name=x",
                    target.address).status == 0
        after = int(time.time())
        query, _, body = ingested(stub.requests[0])
        assert query["name"] == "agent_target" and query["format"] == "pprof"
        assert (before <= int(query["until"]) <= after
                and int(query["until"]) - int(query["from"]) == 10)
        profile = Profile(body)
        assert (profile.types == own.types
                and sorted(profile.samples, key=repr) == sorted(own.samples, key=repr))
        _, _, folded = ingested(stub.requests[1])
        lines = [line.rsplit(" ", 1) for line in folded.decode().splitlines()]
        small = sum(int(n) for stack, n in lines if stack.endswith(";keep_small"))
        assert abs(small - own.total(function="keep_small")) <= len(lines)
        # Again and again: one that is refused is counted, and the next one is sent.
        stub.requests.clear()
        stub.answers[:] = [(200, b""), (503, b"full\n"), (429, b"full"), (200, b"")]
        done = push(tmp_path, "--to", stub.url, "--every", "0.1s", "-n", "5", target.pid)
    assert done.status == 1 and done.stdout == b"3 profiles sent, 2 failed\n"
    assert done.stderr.decode().splitlines() == [
        f"memoir jemalloc push: {stub.url}: the answer is 503: full",
        "memoir jemalloc push: it works again; 2 were lost"]
    assert len(stub.requests) == 5
    times = [ingested(request)[0] for request in stub.requests]
    # What was lost is part of the time that the next one is of.
    assert times[1]["from"] == times[0]["until"] and times[3]["from"] == times[0]["until"]
    assert times[4]["from"] == times[3]["until"]


@needs_jemalloc
@pytest.mark.parametrize("words", [[], ["--push-api"]], ids=["ingest", "push-api"])
def test_an_interval_has_what_came_in_it(stub, compile_program, tmp_path, words):
    """What was ever allocated is sent as the difference to the profile before, what is alive as it
    is."""
    with Target([compile_program("agent_target")], tmp_path,
                "prof:true,prof_accum:true,lg_prof_sample:10") as target:
        target.do("keep 3000")
        command = [harness.MEMOIR, "jemalloc", "push", "--to", stub.url, *words, "--every", "1s",
                   "-n", "4", str(target.pid)]
        with subprocess.Popen(command, env=dict(harness.ENVIRONMENT, XDG_RUNTIME_DIR=str(tmp_path)),
                              stdout=subprocess.PIPE) as process:
            harness.wait_for(lambda: len(stub.requests) == 1, 60)
            target.do("keep 5000")
            assert process.communicate(timeout=60)[0] == b"4 profiles sent, 0 failed\n"
    bodies = [request[2] for request in stub.requests]
    if words:
        bodies = [base64.b64decode(json.loads(body)["series"][0]["samples"][0]["rawProfile"])
                  for body in bodies]
    profiles = [Profile(body) for body in bodies]
    alive = [p.total(p.column("inuse_space"), function="keep_small") for p in profiles]
    ever = [p.total(p.column("alloc_space"), function="keep_small")
            if "alloc_space" in [t[0] for t in p.types] else 0
            for p in profiles]
    blocks = 5000 * 1024
    assert ever[0] == 0 and abs(sum(ever) - blocks) < 0.1 * blocks and ever[3] == 0
    assert abs(alive[3] - alive[0] - blocks) < 0.1 * blocks and alive[0] > 0.9 * 3000 * 1024


@needs_jemalloc
def test_a_program_is_named_as_it_was_started(stub, compile_program, tmp_path):
    """Not by what its link leads to."""
    link = tmp_path / "my-server"
    link.symlink_to(compile_program("agent_target"))
    with Target([str(link)], tmp_path, "prof:true") as target:
        assert push(tmp_path, "--to", stub.url, target.pid).status == 0
        assert push(tmp_path, "--to", stub.url, "--format=folded", target.pid).status == 0
        assert target.get("/status").json["program"] == str(link)
        listed = memoir(tmp_path, "ps").stdout.decode()
    assert [ingested(request)[0]["name"] for request in stub.requests] == [
        "my-server", "my-server.inuse_space"]
    assert "my-server" in listed


@pytest.mark.parametrize("words,reason", [
    (["out.heap"], "--to says where"),
    (["--to", "URL"], "of what?"),
    (["--to", "URL", "a.heap", "b.heap"], "of what?"),
    (["--to", "ftp://host", "out.heap"], "'ftp://host' is not an address"),
    (["--to", "URL/?a=b", "out.heap"], "the server's address has no query"),
    (["--to", "URL", "--name", "a{b", "out.heap"], "a name has up to"),
    (["--to", "URL", "--label", "a", "out.heap"], "a label is NAME=VALUE"),
    (["--to", "URL", "--label", "1a=b", "out.heap"], "a label is NAME=VALUE"),
    (["--to", "URL", "--label", "a-b=c", "out.heap"], "letters, digits and underlines"),
    (["--to", "URL", "--label", "a=b,c", "out.heap"], "a label's value has up to"),
    (["--to", "URL", "--label", "a=", "out.heap"], "a label's value has up to"),
    (["--to", "URL", "--format", "json", "out.heap"], "--format is pprof or folded"),
    (["--to", "URL", "--format", "folded", "--push-api", "out.heap"],
     "--push-api takes pprof only"),
    (["--to", "URL", "--every", "soon", "out.heap"], "--every takes a time"),
    (["--to", "URL", "-n", "3", "out.heap"], "--count is for --every")])
def test_wrong_usage(words, reason, stub, tmp_path):
    done = push(tmp_path, *[w.replace("URL", stub.url) for w in words])
    assert done.status == 2 and reason in done.stderr.decode() and done.stderr.count(b"\n") == 1
    assert not stub.requests


def test_errors(stub, dump, tmp_path):
    """One line, exit 1."""
    stub.answers = [(422, b"the profile is no profile\nmore")]
    free = Stub()
    free.shutdown()
    free.server_close()
    for words, reason in [
            ((stub.url, dump), f"{stub.url}: the answer is 422: the profile is no profile"),
                          ((free.url, dump), "Connection refused"),
                          ((stub.url, DATA / "leak_error_empty.heap"),
                           "leak_error_empty.heap: the dump is empty"),
                          ((stub.url, tmp_path / "none"), "none: No such file"),
                          ((stub.url, "999999999"), "there is no process 999999999"),
                          ((stub.url, free.url), "Connection refused")]:
        done = push(tmp_path, "--to", *words)
        assert (done.status == 1 and reason in done.stderr.decode()
                and done.stderr.count(b"\n") == 1), done
        assert done.stderr.startswith(b"memoir jemalloc push: ")
    assert len(stub.requests) == 1


def test_no_dump_is_lost_that_is_large(stub, tmp_path):
    """A profile that is more than one packet arrives whole; one of no program has a name too."""
    big = tmp_path / "big.heap"
    stacks = "".join(f"@ 0x{i:x} 0x7\n  t*: 1: {i} [0: 0]\n" for i in range(1000, 21000))
    big.write_text(f"heap_v2/1\n  t*: 20000: {sum(range(1000, 21000))} [0: 0]\n{stacks}")
    assert push(tmp_path, "--to", stub.url, "--push-api", big).status == 0
    body = json.loads(stub.requests[0][2])["series"][0]
    assert body["labels"][1]["value"] == "unknown"
    profile = Profile(base64.b64decode(body["samples"][0]["rawProfile"]))
    assert [t[0] for t in profile.types] == ["inuse_objects", "inuse_space"]
    assert [profile.total(0), profile.total(1)] == [20000, sum(range(1000, 21000))]
