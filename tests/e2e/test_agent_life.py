# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent in somebody else's process: it starts late, is off in children, uses nothing while
nobody asks, and whatever is sent to it, the program goes on."""
import json
import os
import random
import re
import subprocess
import threading
import time

import pytest

import harness
from agent import (JEMALLOC, LIBRARY, LONG, REDIS_LOAD, Agent, Redis, Target, hammer, hammered,
                   memoir)
from test_static import PIE, REST, archive, renamed  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


def agent_thread(pid):
    """The agent's thread in /proc, or None."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/comm", encoding="ascii") as file:
            if file.read() == "memoir-agent\n":
                return f"/proc/{pid}/task/{task}"
    return None


@pytest.mark.parametrize("pie", PIE)
def test_jemalloc_inside_the_program(compile_program, tmp_path, pie):
    """jemalloc is linked into the executable, which exports nothing."""
    program = compile_program("agent_target", flags=("-O2", *PIE[pie]),
                              libraries=(archive("libjemalloc.a"), *REST))
    with Target([program], tmp_path, jemalloc=False) as target:
        found = target.get("/status").json["jemalloc"]
        assert found["version"].startswith("5.") and os.path.samefile(found["file"], program)
        target.do("grow")
        assert target.get("/stats?J").json["jemalloc"]["stats"]["allocated"] > 80 << 20


@pytest.mark.parametrize("prefix", ["je_", "_rjem_"])
def test_jemalloc_under_other_names(compile_program, tmp_path, renamed, prefix):  # noqa: F811
    program = compile_program("agent_target",
                              flags=("-O2", f"-Dmalloc={prefix}malloc", f"-Dfree={prefix}free"),
                              libraries=(renamed(prefix), "-lm"))
    with Target([program], tmp_path, jemalloc=False) as target:
        assert target.get("/status").json["jemalloc"]["prefix"] == prefix
        target.do("grow")
        assert target.get("/stats?J").json["jemalloc"]["stats"]["allocated"] > 80 << 20


def test_starts_at_the_first_wait(tmp_path):
    """A program that never waits has no thread of ours; one that is asked to has it at once."""
    source = tmp_path / "busy.c"
    source.write_text("""#include <stdio.h>
#include <unistd.h>
int main(void) { char c; read(0, &c, 1); return 3; }""")
    subprocess.run(["gcc", source, "-o", tmp_path / "busy"], check=True)
    for start in ("", "now"):
        target = Target([str(tmp_path / "busy")], tmp_path, env={"MEMOIR_AGENT_START": start})
        if start:
            target.wait()
            assert agent_thread(target.pid)
        else:
            harness.wait_for(lambda: "anon_pipe_read" in open(f"/proc/{target.pid}/wchan").read() or
                             open(f"/proc/{target.pid}/syscall").read().startswith("0 0x0 "), LONG)
            assert (os.listdir(f"/proc/{target.pid}/task") == [str(target.pid)]
                    and not os.path.exists(target.file))
        assert target.end()[0] == 3


@pytest.mark.usefixtures("each_jemalloc")
def test_idle_it_does_nothing(program, tmp_path):
    with Target([program], tmp_path) as target:
        ask = b"GET /stats?J HTTP/1.1\r\nHost: localhost\r\n\r\n"
        assert hammered(hammer(target, tmp_path, [ask], count=200))["ok"] == 200
        thread = agent_thread(target.pid)

        def used():
            with open(f"{thread}/status", encoding="ascii") as file:
                switches = re.findall(r"ctxt_switches:\s*(\d+)", file.read())
            with open(f"{thread}/stat", encoding="ascii") as file:
                return switches, file.read().split()[13:15]

        def nothing():
            before = used()
            time.sleep(1)  # a second in which nothing is to happen
            return used() == before
        nothing()  # the last answer may have been kept for a moment
        assert nothing() or nothing(), "it woke up although nobody asked"
        mask = re.search(r"SigBlk:\s*(\w+)", open(f"{thread}/status").read())[1]
        assert int(mask,
                   16) & 0x7ffbfeff == 0x7ffbfeff, "its thread takes no signal that can be kept off"


@pytest.mark.usefixtures("each_jemalloc")
def test_arena_of_the_agent_is_the_next_threads(program, tmp_path):
    """Until somebody asks, jemalloc does not know of the agent's thread; the arena that it gets
    then is the next thread's."""
    with Target([program], tmp_path, "narenas:4") as target:
        def arenas():
            return [target.read(f"arena.{n}.initialized") for n in range(3)]
        assert arenas() == [1, 0, 0]
        assert target.get("/stats?J").status == 200 and arenas() == [1, 1, 0]
        assert (target.read("stats.arenas.0.nthreads") == 2
                and target.read("stats.arenas.1.nthreads") == 0)
        assert target.do("threads") == "done" and arenas() == [1, 1, 0]


@pytest.mark.usefixtures("each_jemalloc")
def test_fork(program, tmp_path):
    """A child has no agent and none of its sockets; the parent's goes on."""
    with Target([program], tmp_path) as target:
        child = int(target.do("fork"))
        harness.wait_for(lambda: not [f for f in harness.open_files(child) if "socket" in f
                                      or "eventfd" in f], LONG)
        assert agent_thread(child) is None
        assert os.listdir(tmp_path / "memoir") == [f"jemalloc.{target.pid}"]
        assert target.get("/status").json["pid"] == target.pid
        target.do("fork")
        harness.kill(child)
        assert os.path.exists(target.file) and target.end()[0] == 7


def test_linked(compile_program, tmp_path):
    """Not preloaded but linked with the program, before jemalloc."""
    program = compile_program("agent_target", libraries=(LIBRARY, JEMALLOC))
    target = Target([program], tmp_path, jemalloc=False,
                    env={"LD_LIBRARY_PATH": os.path.dirname(LIBRARY)}, preload=False)
    with target:
        assert target.get("/status").json["jemalloc"]["version"].startswith("5.")
        assert target.end()[0] == 7


def test_exec(program, tmp_path):
    """A shell that becomes the program: the agent is the program's."""
    with Target(["/bin/sh", "-c", f"exec {program}"], tmp_path) as target:
        assert os.path.samefile(target.get("/status").json["program"], program)


def test_all_descriptors_closed(program, tmp_path):
    """It listens again, and uses none that is the program's by then."""
    with Target([program], tmp_path) as target:
        first = target.address
        target.do("close")
        harness.wait_for(lambda: target.wait().address and works(target), LONG)
        assert target.get("/stats").status == 200 and first
        assert target.end()[0] == 7


def works(target):
    try:
        return target.get("/status").status == 200
    except OSError:
        return False


def test_the_first_thread_leaves(program, tmp_path):
    """The process ends with the program's last thread, as it would without us."""
    with Target([program], tmp_path) as target:
        out, err = target.process.communicate(b"leave\n", timeout=LONG)
        assert (target.process.returncode, out) == (0, b"left\n"), err
        assert not os.path.exists(target.file)


HOSTILE = [
    b"", b"\n", b"\0" * 1000, b"GET", b"GET /\n\n", b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
    b"GET http://evil/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /" + b"a" * 40000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 10000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n",
    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: "
    b"6\r\n\r\n0x1+0x",
    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
    b"chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"POST /pprof/symbol HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n" +
    b"0x1+" * 250000,
    b"GET /stats?" + b"J" * 1500 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /mallctl?name=" + b"arena." * 200 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"PROPFINDER / HTTP/1.1\r\nHost: localhost\r\n\r\n",
]


def test_hostile_requests(program, tmp_path):
    """10,000: nothing but refusals, and the program is as it was."""
    rng = random.Random(1)
    with Target([program], tmp_path, "prof:true") as target:
        for request in HOSTILE:
            got = target.raw(request)
            assert (not got or re.match(rb"HTTP/1.1 (200|4\d\d|50[135]) ", got)), (
                request[:60], got[:100])
            assert not got.startswith(b"HTTP/1.1 200") or b"symbol" in request[:20]
        good = b"GET /stats?J HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\n\r\n"
        several = [request for request in HOSTILE if len(request) < 100000]
        for _ in range(1000):
            request = bytearray(good)
            for _ in range(rng.randrange(1, 6)):
                request[rng.randrange(len(request))] = rng.randrange(256)
            several.append(bytes(request[:rng.randrange(1, len(request) + 1)]))
        result = hammered(hammer(target, tmp_path, several, count=10000))
        assert result["requests"] == 10000 and result["lost"] == 0
        assert result["refused"] > 2000
        status = target.get("/status").json
        assert status["refused"] >= result["refused"]
        assert target.get("/status").status == 200 and target.do("threads") == "done"
        assert target.end()[0] == 7


def test_several_requests_over_one_connection(program, tmp_path):
    """Where the client says so; also when the next comes before the answer, and behind a body."""
    def one(file, head=False):
        """(status, what becomes of the connection, body) of the next answer."""
        status, headers = file.readline().split()[1], {}
        while (line := file.readline()) != b"\r\n":
            name, value = line.split(b": ", 1)
            headers[name] = value.strip()
        return status, headers[b"Connection"], b"" if head else file.read(
            int(headers[b"Content-Length"]))

    def ask(what, more=b""):
        return b"%s HTTP/1.1\r\nHost: localhost\r\nConnection: Keep-Alive\r\n%s\r\n" % (what, more)
    page = ask(b"GET /mallctl?name=arenas.page")
    answer = (b"200", b"keep-alive", b'{"arenas.page":4096}\n')
    with Target([program], tmp_path) as target:
        with target.connection_socket() as s, s.makefile("rb") as file:
            s.sendall(page)
            assert one(file) == answer
            s.sendall(ask(b"HEAD /mallctl?name=arenas.page"))
            assert one(file, head=True) == (b"200", b"keep-alive", b"")
            s.sendall(ask(b"POST /pprof/symbol", b"Content-Length: 4\r\n") + b"0x10" + ask(
                b"GET /nothing") + page[:20])
            assert [one(file)[:2] for _ in range(2)] == [(b"200", b"keep-alive"),
                                                         (b"404", b"keep-alive")]
            s.sendall(page[20:] + page)
            assert one(file) == one(file) == answer
            # Whoever does not say so waits for the end.
            s.sendall(b"GET /mallctl?name=arenas.page HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert one(file) == (b"200", b"close", answer[2]) and file.read() == b""
        assert target.get("/status").json["requests"] == 8
        # Connections that are kept give way to new ones.
        idle = []
        for _ in range(20):
            idle.append(target.connection_socket())
            idle[-1].sendall(page)
            with idle[-1].makefile("rb") as file:
                assert one(file) == answer
        for s in idle:
            s.close()


@pytest.mark.usefixtures("each_jemalloc")
def test_asked_too_often(program, tmp_path):
    """Whoever asks all the time gets an answer twice, with its age; nobody else does, and not
    behind a change."""
    with Target([program], tmp_path) as target:
        assert "X-Memoir-Age-Ms" not in target.get("/stats?J").headers
        ask = b"GET /stats?J HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ages = []

        def exhausted():
            others = [hammer(target, tmp_path, [ask], count=200) for _ in range(3)]
            while any(process.poll() is None for process in others):
                answer = target.get("/stats?J")
                assert answer.json["jemalloc"]["stats"]["allocated"]
                if "X-Memoir-Age-Ms" in answer.headers:
                    ages.append(int(answer.headers["X-Memoir-Age-Ms"]))
            assert [hammered(process)["ok"] for process in others] == [200] * 3
            return ages
        harness.wait_for(exhausted, LONG, "an answer that is given twice")
        assert all(0 <= age <= 500 for age in ages)
        # What is cheap is always new, and so is everything behind a change.
        assert "X-Memoir-Age-Ms" not in target.get("/status").headers
        assert target.post("/control/dirty_decay_ms?value=77").status == 200
        answer = target.get("/stats?J")
        assert "X-Memoir-Age-Ms" not in answer.headers
        assert answer.json["jemalloc"]["stats.arenas"]["0"]["dirty_decay_ms"] == 77


def test_too_many_clients(program, tmp_path):
    """Some say nothing: others are told to come back, and then are served."""
    with Target([program], tmp_path) as target:
        silent = [target.connection_socket() for _ in range(16)]
        try:
            harness.wait_for(
                lambda: len([f for f in harness.open_files(target.pid) if "socket" in f]) >= 17,
                LONG)
            got = target.raw(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", half_close=False)
            assert not got or got.startswith((b"HTTP/1.1 503", b"HTTP/1.1 200")), got
            harness.wait_for(lambda: target.raw(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                                half_close=False).startswith(b"HTTP/1.1 200"), LONG)
        finally:
            for s in silent:
                s.close()
        assert target.get("/status").json["refused"] >= 0


def test_redis_under_load(tmp_path):
    """Debian's redis-server with redis-benchmark, asked by many at once: its results are what they
    are."""
    with Redis(tmp_path) as redis:
        load = subprocess.Popen(
            ["redis-benchmark", "-s", redis.socket, "-n", "20000", "-r", "1000", "-t",
             "set,get,incr,lpush", "-c", "10", "-q"], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        asked, wrong = [0], []

        def hammer(paths):
            while load.poll() is None:
                for path in paths:
                    answer = redis.get(path)
                    asked[0] += 1
                    if answer.status not in (200, 503):
                        wrong.append((path, answer))
        threads = [threading.Thread(target=hammer, args=(paths,)) for paths in (
            ["/stats?J", "/metrics"], ["/pprof/heap", "/status"], ["/debug/pprof/heap"])]
        for thread in threads:
            thread.start()
        out, err = load.communicate(timeout=LONG * 2)
        for thread in threads:
            thread.join(LONG)
        assert load.returncode == 0 and out.count(b"requests per second") >= 4, err
        assert not wrong and asked[0] >= 3
        assert redis.cli("llen", "mylist") == "20000"
        assert int(redis.cli("dbsize")) >= 2
        stats = redis.get("/stats?J").json["jemalloc"]["stats"]
        said = int(re.search(r"allocator_allocated:(\d+)", redis.cli("info", "memory"))[1])
        assert abs(stats["allocated"] - said) < said / 4
        assert redis.post("/control/purge").status == 200
        # A child that saves has no agent; the server's is not touched by it.
        redis.cli("set", "key", "value")
        assert "Background saving" in redis.cli("bgsave")
        harness.wait_for(lambda: "rdb_bgsave_in_progress:0" in redis.cli("info", "persistence"),
                         LONG)
        assert "rdb_last_bgsave_status:ok" in redis.cli("info", "persistence")
        assert os.listdir(tmp_path / "memoir") == [f"jemalloc.{redis.pid}"]
        assert redis.get("/status").json["pid"] == redis.pid and redis.cli("get", "key") == "value"


def test_redis_hammered(tmp_path):
    """A hundred requests a second: every answer of redis is right meanwhile, and its data
    afterwards."""
    paths = "/stats", "/metrics", "/mtev/memory.json", "/pprof/heap"
    requests = [f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() for path in paths]

    def load(mode, connections, rate, seconds):
        done = subprocess.run(
            [REDIS_LOAD, redis.socket, mode, *map(str, (connections, rate, seconds, 10000))],
                              capture_output=True, text=True, timeout=LONG * 2)
        assert done.returncode == 0, done
        return json.loads(done.stdout)
    with Redis(tmp_path) as redis:
        assert load("fill", 8, 0, 0)["wrong"] == 0
        process = hammer(redis, tmp_path, requests, rate=100, seconds=5)
        worked = load("run", 8, 2000, 5)
        result = hammered(process)
        assert worked["wrong"] == 0 and worked["requests"] > 100
        assert (result["ok"] > 10 and result["ok"] + result["failed"] == result["requests"]
                and not result["lost"])
        checked = load("check", 8, 0, 0)
        assert (checked["requests"], checked["wrong"]) == (10000, 0)
        counters = [int(redis.cli("get", f"counter:{n}") or 0) for n in range(16)]
        assert sum(counters) == worked["counted"] > 0
        assert redis.get("/status").json["pid"] == redis.pid and redis.get("/stats?J").status == 200


def test_redis_as_a_daemon(tmp_path):
    """It forks into the background and leaves its session: the agent is the daemon's."""
    with Redis(tmp_path, "--daemonize", "yes", "--logfile", f"{tmp_path}/log") as redis:
        assert redis.pid != redis.process.pid
        assert redis.get("/status").json["pid"] == redis.pid
        assert os.listdir(tmp_path / "memoir") == [f"jemalloc.{redis.pid}"]


def test_a_child_that_becomes_a_daemon(tmp_path):
    """The agent was on already; daemon() makes a process that has its own."""
    source = tmp_path / "daemon.c"
    source.write_text("""#include <poll.h>
#include <stdio.h>
#include <unistd.h>
int main(void) {
	poll(0, 0, 200); puts("ready"); fflush(stdout);
	daemon(1, 1);
	printf("%d\\n", (int)getpid()); fflush(stdout);
	struct pollfd p = { .fd = 0, .events = POLLIN };
	poll(&p, 1, -1);
	return 0;
}""")
    subprocess.run(["gcc", "-w", "-D_DEFAULT_SOURCE", source, "-o", tmp_path / "daemon"],
                   check=True)
    target = Target([str(tmp_path / "daemon")], tmp_path)
    assert target.line() == "ready"
    child = int(target.line())
    daemon = Agent(target.runtime, child).wait()
    assert daemon.get("/status").json["pid"] == child
    target.process.stdin.close()
    harness.wait_for(lambda: not os.path.exists(f"/proc/{child}"), LONG)
    target.process.wait(LONG)
    # The first process ended by _exit(), in daemon(): its file is removed by who looks next.
    assert memoir(tmp_path, "ps", "--json").stdout == b"[]\n"
    assert os.listdir(tmp_path / "memoir") == []


@pytest.mark.parametrize("name,start", [
    ("forks", "later"), ("vforks", "later"),
    *[(name, "now") for name in ("cancel", "backtraces", "forks", "sigprof", "vforks", "longjmp",
                                 "many_threads", "storm")]])
def test_same_output(compile_program, tmp_path, name, start):
    """Programs with hazards do the same with the agent as without."""
    program = compile_program(name)
    plain = harness.execute([program], env={"LD_PRELOAD": JEMALLOC}, timeout=LONG)
    watched = harness.execute([program], env={
        "LD_PRELOAD": f"{LIBRARY}:{JEMALLOC}", "MEMOIR_AGENT_START": start,
        "MEMOIR_AGENT_LISTEN": "127.0.0.1:0",
        "XDG_RUNTIME_DIR": str(tmp_path)}, timeout=LONG)
    assert (watched.status, watched.stdout, watched.own_stderr) == (
        plain.status, plain.stdout, plain.stderr)
