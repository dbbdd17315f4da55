# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running programs on the server: every endpoint of agents, every parameter, every error."""
import http.server
import os
import pathlib
import subprocess
import sys
import threading
import time
import urllib.parse

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target
from web import Server

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")
DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
MIB = 1 << 20
CURVES = ("allocated", "active", "metadata", "resident", "mapped", "retained", "dirty", "muzzy")


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("agent_target", flags=("-O1", "-g"))


class Asked:
    """One agent of a server."""

    def __init__(self, server, name):
        self.server, self.path = server, f"/agents/{name}"

    def get(self, what, /, **parameters):
        return self.ask("GET", what, parameters)

    def post(self, what, /, **parameters):
        return self.ask("POST", what, parameters)

    def ask(self, method, what, parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        return self.server.ask(f"{self.path}/{what}{query}", method=method)

    def until(self, holds, what="the statistics"):
        """The first statistics of which this holds."""
        found = []

        def look():
            found[:] = [self.get("stats").json]
            return holds(found[0])
        harness.wait_for(look, LONG, what)
        return found[0]


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="module")
def target(program, runtime):
    with Target([program], runtime,
                "prof:true,prof_active:false,lg_prof_sample:12,dirty_decay_ms:-1,muzzy_decay_ms:-1") as running:
        yield running


@pytest.fixture(scope="module")
def server(target, runtime):
    with Server(env={"XDG_RUNTIME_DIR": str(runtime)}) as running:
        yield running


@pytest.fixture(scope="module")
def asked(server, target):
    return Asked(server, target.pid)


def listed(server):
    return {row["id"]: row for row in server.json("/agents")["agents"]}


def test_list(server, target, asked):
    """What memoir jemalloc ps has is there at once; what only the agent knows, when it has
    answered."""
    row = listed(server)[str(target.pid)]
    assert (row["pid"], row["program"], row["address"], row["given"]) == (
        target.pid, target.program, target.address, False)
    harness.wait_for(lambda: listed(server)[str(target.pid)]["state"] == "ready", LONG,
                     "its answer")
    row = listed(server)[str(target.pid)]
    assert (row["version"].startswith("5.") and row["prof"] is True and row["prof_active"] is False
            and row["error"] is None)
    controls = {c["name"]: c for c in server.json("/agents")["controls"]}
    paths = [line.split()[1] for line in target.get("/").text.splitlines() if "/control/" in line]
    assert set(controls) == {path.removeprefix("/control/")
                             for path in paths}, "as many as the agent has"
    assert controls["dirty_decay_ms"]["parameters"] == [
        {"name": "value", "type": "number", "required": True},
                                                        {"name": "arena", "type": "number",
                                                         "required": False}]


def test_table(server):
    """Everything of agents that /api lists is asked somewhere below."""
    rows = [e for e in server.json("/api")["endpoints"] if e["path"].startswith("/agents")]
    assert {(e["path"], *e["methods"]) for e in rows} == {
        ("/agents", "GET"), ("/agents/{agent}/stats", "GET"), ("/agents/{agent}/series", "GET"),
        ("/agents/{agent}/control/{name*}", "POST"), ("/agents/{agent}/dump", "POST"),
        ("/agents/{agent}/snapshot", "POST")}
    parameters = {p["name"] for e in rows for p in e["parameters"]}
    assert parameters == {"since", "value", "arena", "lg_sample", "path", "name"}


def test_stats_are_the_programs(server, target, asked):
    target.do("grow")
    try:
        # The agent itself changes a little with each question.
        asked.until(lambda s: s["stats"]["allocated"] > 80 * MIB)
        for name in ("allocated", "active", "resident", "mapped", "retained"):
            asked.until(lambda s: abs(s["stats"][name] - target.read(f"stats.{name}")) <=
                        target.read(f"stats.{name}") / 100, name)
        said = asked.get("stats").json
        assert (said["pid"] == target.pid and said["program"] == target.program
                and said["shape"]["page"] == 4096)
        assert said["shape"]["narenas"] == target.read("arenas.narenas")
        arena = next(a for a in said["arenas"] if a["arena"] == "0")
        assert arena["pactive"] * 4096 == arena["active"] and arena["dirty_decay_ms"] == -1
        assert said["prof"] == {"enabled": True, "active": False, "thread_active_init": True,
                                "gdump": False, "lg_sample": 12, "accum": False}
    finally:
        target.do("shrink")


def test_series(server, target, asked):
    first = asked.get("series").json
    assert first["next"] > first["first"] >= 1
    said = asked.until(lambda s: s["number"] >= first["next"] + 1, "two more")
    series = asked.get("series", since=first["next"]).json
    assert series["first"] == first["next"] and series["next"] > said["number"] >= first["next"] + 1
    count = series["next"] - series["first"]
    assert (set(series) == {"first", "next", "time_ms", *CURVES, "arenas"}
            and "0" in series["arenas"])
    assert {len(series[name]) for name in ("time_ms", *CURVES)} == {count}
    assert all(len(curve) == count for arena in series["arenas"].values()
               for curve in arena.values())
    at = said["number"] - series["first"]
    for name in CURVES:
        assert series[name][at] == said["stats"][name]
    assert (series["time_ms"][at] == said["time_ms"]
            and series["time_ms"] == sorted(series["time_ms"]))
    assert series["dirty"][at] == sum(a["dirty"][at] or 0 for a in series["arenas"].values())
    later = asked.get("series", since=series["next"] + 1000).json
    assert later["time_ms"] == [] and later["arenas"] == {} and later["first"] == later["next"]
    for wrong in ("x", "-1"):
        answer = asked.get("series", since=wrong)
        assert answer.status == 400 and answer.json["parameter"] == "since"


def test_controls(server, target, asked):
    """Each does what it says, as the program itself sees it."""
    def done(path, key, wanted, **parameters):
        answer = asked.post(f"control/{path}", **parameters)
        assert answer.status == 200, answer
        assert target.read(key) == wanted
        return answer.json
    assert done("prof/active", "prof.active", 1, value="true") == {"prof.active": True}
    asked.until(lambda s: s["prof"]["active"])
    assert listed(server)[str(target.pid)]["prof_active"] is True
    done("prof/active", "prof.active", 0, value="false")
    done("prof/gdump", "prof.gdump", 1, value="true")
    done("prof/gdump", "prof.gdump", 0, value="false")
    done("prof/thread_active_init", "prof.thread_active_init", 0, value="false")
    done("prof/thread_active_init", "prof.thread_active_init", 1, value="true")
    assert done("prof/reset", "prof.lg_sample", 10, lg_sample=10) == {"prof.lg_sample": 10}
    assert done("prof/reset", "prof.lg_sample", 10) == {"prof.lg_sample": 10}
    assert done("prof/rate", "prof.lg_sample", 12, lg_sample=12) == {"prof.lg_sample": 12}
    assert asked.post("control/prof/prefix", value=f"{target.runtime}/own").status == 200
    assert asked.post("control/prof/recent", value=10).status == 200
    assert asked.post("control/prof/recent", value=0).status == 200
    assert asked.post("control/prof/log/start").status == 200
    assert "allocations" in asked.post("control/prof/log/stop").json
    path = os.path.join(target.runtime, "there.heap")
    assert (asked.post("control/prof/dump", path=path).json["path"] == path
            and os.path.getsize(path) > 100)
    done("dirty_decay_ms", "arenas.dirty_decay_ms", 5000, value=5000)
    assert done("dirty_decay_ms", "arena.0.dirty_decay_ms", -1, value=-1, arena=0)["arenas"] == 1
    done("muzzy_decay_ms", "arenas.muzzy_decay_ms", -1, value=-1)
    done("dirty_decay_ms", "arenas.dirty_decay_ms", -1, value=-1)
    assert asked.post("control/decay").status == asked.post("control/decay", arena=0).status == 200
    assert asked.post("control/mutexes/reset").json == {"stats.mutexes.reset": None}
    done("mallctl", "arena.0.dirty_decay_ms", 3000, name="arena.0.dirty_decay_ms", value=3000)
    done("mallctl", "arena.0.dirty_decay_ms", -1, name="arena.0.dirty_decay_ms", value=-1)
    done("max_background_threads", "max_background_threads", 2, value=2)
    done("background_thread", "background_thread", 1, value="true")
    asked.until(lambda s: s["stats"]["num_threads"] > 0)
    done("background_thread", "background_thread", 0, value="false")


def test_purge(target, asked):
    target.do("grow")
    target.do("shrink")
    before = asked.until(lambda s: s["stats"]["dirty"] > 60 * MIB)
    answer = asked.post("control/purge").json
    assert answer["resident_before"] - answer["resident"] > 60 * MIB
    after = asked.until(lambda s: s["stats"]["dirty"] < 5 * MIB)
    assert before["stats"]["resident"] - after["stats"]["resident"] > 60 * MIB
    assert after["stats"]["resident"] < target.read("stats.resident") * 1.01


def test_control_errors(server, asked):
    for path, parameters, status, sentence in (
            ("nothing", {}, 404, "there is no control 'nothing'"),
            ("prof/nothing", {}, 404, "there is no control 'prof/nothing'"),
            ("prof/active", {}, 400, "'value' is needed"),
            ("prof/active", {"value": "maybe"}, 400, "'maybe' is not a bool"),
            ("purge", {"value": 1}, 400, "purge takes no 'value'"),
            ("purge", {"arena": "x"}, 400, "arena is a number"),
            ("purge", {"arena": 4000}, 404, "no such thing"),
            ("dirty_decay_ms", {"value": -2}, 400, "milliseconds"),
            ("dirty_decay_ms", {"value": 1, "arena": 3999}, 404, "there is no arena 3999"),
            ("prof/reset", {"lg_sample": 99}, 400, "0 to 63"),
            ("prof/dump", {"path": "relative"}, 400, "begin with /"),
            ("mallctl", {"name": "arena.0.reset"}, 403, "may not be changed"),
            ("purge", {"x": 1}, 400, "no parameter 'x'"),
            ("prof/prefix", {"value": "x" * 5000}, 400, "too long")):
        answer = asked.post(f"control/{path}", **parameters)
        assert answer.status == status and sentence in answer.json["error"], (path, answer)
    for path in ("control/purge", "control/prof/active", "dump", "snapshot"):
        assert asked.get(path).status == 405
    assert asked.post("stats").status == 405
    for path in ("stats", "series"):
        assert server.ask(
            f"/agents/1/{path}").json["error"] == "there is no agent '1'; /agents has them all"
        assert asked.get(path, nothing=1).json["parameter"] == "nothing"
    for path in ("control/purge", "dump", "snapshot"):
        assert server.ask(f"/agents/nobody/{path}", method="POST").status == 404
    assert server.ask("/agents", x=1).status == 400 and server.ask("/agents/").status == 404


def test_guard(server, target, asked):
    """Who may not ask may not change anything: pages from elsewhere, other hosts, bodies."""
    path = f"{asked.path}/control/prof/active?value=true"
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"},
                    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
                    {"Origin": "null"}):
        assert server.ask(path, method="POST", headers=headers).status == 403, headers
    assert server.ask(path, method="POST", body=b"value=true").status == 413
    assert target.read("prof.active") == 0
    assert server.ask(path, method="POST",
                      headers={"Origin": f"http://127.0.0.1:{server.port}"}).status == 200
    assert asked.post("control/prof/active", value="false").status == 200


ANOTHER = """
import http.client, os, sys
os.setgid(65534); os.setuid(65534)
for method, path in (("GET", "stats"), ("POST", "control/purge"), ("POST", "dump")):
    c = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    c.request(method, f"/agents/{sys.argv[2]}/{path}")
    print(c.getresponse().status)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user(server, target):
    """The server does not lend its user's rights to others on this computer."""
    done = subprocess.run([sys.executable, "-c", ANOTHER, str(server.port), str(target.pid)],
                          capture_output=True, text=True, timeout=LONG)
    assert done.stdout.split() == ["401", "401", "401"], done
    with Server(env={"XDG_RUNTIME_DIR": target.runtime, "MEMOIR_TOKEN": "secret-enough"}) as other:
        path = f"/agents/{target.pid}/control/decay"
        assert other.ask(path, method="POST").status == 401
        assert other.ask(path, method="POST",
                         headers={"Authorization": "Bearer secret-enough"}).status == 200


def test_snapshot_is_opened(server, target, asked):
    answer = asked.post("snapshot").json
    assert (answer["name"].startswith(f"agent_target.{target.pid}.")
            and answer["name"].endswith(".json"))
    server.wait(lambda all: any(r["id"] == answer["id"] and r["state"] == "ready" for r in all),
                "the snapshot")
    said = server.json(f"/data/{answer['id']}/statistics/0")
    assert said["stats"]["allocated"] > 0 and said["arenas"] and said["mutexes"]
    again = asked.post("snapshot").json
    assert again["id"] != answer["id"] and again["name"] != answer["name"]
    assert server.ask(f"/data/{answer['id']}", method="DELETE").status == 204


def test_dump_is_opened(server, target, asked):
    """The functions of the program, without anything else being asked for."""
    assert asked.post("control/prof/active", value="true").status == 200
    try:
        target.do("keep 5000")
        answer = asked.post("dump").json
    finally:
        asked.post("control/prof/active", value="false")
    assert (answer["name"].startswith(f"agent_target.{target.pid}.")
            and answer["name"].endswith(".heap"))
    found = server.wait(
        lambda all: any(r["id"] == answer["id"] and r["state"] == "ready" for r in all), "the dump")
    assert next(r for r in found if r["id"] == answer["id"])["kind"] == "heap"
    rows = server.json(f"/dumps/{answer['id']}/top")["rows"]
    assert {"main", "keep_small", "keep_large"} <= {row["name"] for row in rows}
    small = next(row for row in rows if row["name"] == "keep_small")
    assert abs(small["flat_bytes"] - 5000 * 1000) < 1000 * 1000


def test_without_profiling(program, tmp_path):
    """What needs profiling says how to get it; the rest works."""
    with Target([program], tmp_path) as target, Server(
            env={"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        asked = Asked(server, target.pid)
        assert asked.get("stats").json["prof"]["enabled"] is False
        for path in ("dump", "control/prof/active?value=true", "control/prof/reset",
                     "control/prof/gdump?value=true"):
            answer = asked.post(path)
            assert (answer.status == 409
                    and "start with MALLOC_CONF=prof:true" in answer.json["error"]), (path, answer)
        assert asked.post("control/purge").status == 200
        # It ends: those who look are told, and the list has it no more.
        target.process.kill()
        target.process.wait()
        harness.wait_for(lambda: asked.get("stats").status == 502, LONG, "an error")
        assert asked.get("stats").json["error"] == f"process {target.pid} has ended"
        assert asked.post("control/purge").json["error"] == f"process {target.pid} has ended"
        harness.wait_for(lambda: not listed(server), LONG, "an empty list")


def test_without_jemalloc(program, tmp_path):
    with Target([program], tmp_path, jemalloc=False) as target, Server(
            env={"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        asked = Asked(server, target.pid)
        answer = asked.get("stats")
        assert (answer.status == 502
                and "503: no jemalloc in this process" in answer.json["error"]), answer
        assert asked.post("control/purge").status == 503
        harness.wait_for(lambda: listed(server)[str(target.pid)]["state"] == "error", LONG,
                         "the list")


def test_given_addresses(program, tmp_path):
    """Agents that no file here tells about: over a port with their token, over a socket without."""
    theirs, ours, secret = tmp_path / "theirs", tmp_path / "ours", tmp_path / "token"
    theirs.mkdir()
    ours.mkdir()
    env = {"XDG_RUNTIME_DIR": str(ours)}
    with Target([program], theirs) as target, Target([program], theirs,
                                                     listen=f"unix:{theirs}/socket") as other:
        secret.write_text(f"{target.token}\n")
        secret.chmod(0o600)
        with Server(target.address + "/", "--agent", other.address, "--agent-token-file", secret,
                    env=env) as server:
            harness.wait_for(lambda: all(r["state"] == "ready" for r in listed(server).values()),
                             LONG, "both")
            rows = {row["address"]: row for row in listed(server).values()}
            assert set(rows) == {target.address, other.address}
            for one in (target, other):
                row = rows[one.address]
                assert (row["given"] and row["pid"] == one.pid and row["program"] == one.program
                        and len(row["id"]) == 16)
                asked = Asked(server, row["id"])
                assert asked.get("stats").json["pid"] == one.pid
                assert asked.post("control/purge").status == 200
        with Server("--agent", target.address, env=env) as server:
            asked = Asked(server, next(iter(listed(server))))
            answer = asked.post("control/purge")
            assert answer.status == 502 and "--agent-token-file" in answer.json["error"]
        with Server("--agent", str(target.pid), env={"XDG_RUNTIME_DIR": str(theirs)}) as server:
            rows = listed(server)
            assert {r["pid"] for r in rows.values()} == {target.pid, other.pid} and len(rows) == 2
        address = target.address
    with Server(address, env=env) as server:
        asked = Asked(server, next(iter(listed(server))))
        answer = asked.get("stats")
        assert (answer.status == 502 and "does not answer" in answer.json["error"]
                and address in answer.json["error"])


@pytest.mark.parametrize("words, status, sentence", [
    (["http://"], 1, "is not an address"), (["unix:relative"], 1, "is not an address"),
    (["--agent", "http://127.0.0.1:1/stats"], 1, "has no path"),
    (["--agent", "99999999"], 1, "there is no process"), (["--agent", "x" * 400], 1, "too long"),
    (["--agent-token-file", "/proc/nonexistent"], 1, "No such file"),
])
def test_usage(words, status, sentence):
    done = subprocess.run([harness.MEMOIR, "server", "--any-port", *words], capture_output=True,
                          text=True, timeout=LONG)
    assert (done.returncode == status and sentence in done.stderr
            and done.stderr.count("\n") == 1), done


class Fake(http.server.ThreadingHTTPServer):
    """An agent that counts what it is asked, and is as slow as it is told."""
    daemon_threads = True

    def __init__(self):
        self.times, self.go, self.posts = [], threading.Event(), 0
        self.statistics = (DATA / "json_full.json").read_bytes()
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path.startswith("/stats"):
            self.server.times.append(time.monotonic())
            self.answer(self.server.statistics)
        else:
            self.answer(b'{"pid":1,"program":"/fake"}')

    def do_POST(self):
        self.server.posts += 1
        self.server.go.wait(LONG)
        self.answer(b"{}")

    def log_message(self, *_):
        pass


@pytest.fixture
def fake():
    with Fake() as made:
        yield made
        made.go.set()
        made.shutdown()


def test_one_question_a_second(fake, tmp_path):
    """However many look; and none when nobody does."""
    with Server(fake.address, env={"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        asked = Asked(server, next(iter(listed(server))))
        began = time.monotonic()
        enough = threading.Event()

        def client():
            while not enough.is_set():
                assert asked.get("stats").status == asked.get("series").status == 200
        clients = [threading.Thread(target=client) for _ in range(6)]
        for one in clients:
            one.start()
        harness.wait_for(lambda: len(fake.times) >= 4, LONG, "four questions")
        enough.set()
        for one in clients:
            one.join(LONG)
        assert len(fake.times) <= time.monotonic() - began + 2
        assert all(b - a > 0.5 for a, b in zip(fake.times, fake.times[1:])), fake.times
        # Then it is left alone: nothing comes for three times as long as between two.
        harness.wait_for(lambda: time.monotonic() - fake.times[-1] > 3, LONG, "silence")
        quiet = len(fake.times)
        assert (asked.get("stats").status == 200
                and len(fake.times) == quiet + 1), "it is asked again when somebody looks"


def test_slow_agent(fake, target, runtime):
    """An agent that does not answer costs its own questions only, and the server ends although they
    wait."""
    with Server(fake.address, env={"XDG_RUNTIME_DIR": str(runtime)}) as server:
        slow = next(name for name, row in listed(server).items() if row["given"])
        sockets = []
        for _ in range(80):
            client = server.connect()
            client.sendall(f"POST /agents/{slow}/control/purge HTTP/1.1\r\nHost: "
                           "localhost\r\nContent-Length: 0\r\n\r\n".encode())
            sockets.append(client)
            # The first is asked before the others come: then they fill the queue.
            harness.wait_for(lambda: fake.posts, LONG, "the first of them")
        found = []

        def is_refused():
            """One more that waits, as long as the server has not read them all."""
            try:
                found[:] = [server.ask(f"/agents/{slow}/stats", timeout=5)]
            except TimeoutError:
                return False
            return True
        harness.wait_for(is_refused, LONG, "a refusal")
        answer, = found
        assert (answer.status == 503 and "too much to ask" in answer.json["error"]
                and answer.headers["Retry-After"])
        assert (Asked(server, target.pid).get("stats").status == 200
                and server.ask("/list").status == 200)
        assert len(listed(server)) == 2
        for client in sockets[:40]:
            client.close()
    # The block has ended it, with status 0.
    for client in sockets:
        client.close()


def test_hostile_agent(fake, tmp_path):
    """What an address answers is not believed."""
    with Server(fake.address, env={"XDG_RUNTIME_DIR": str(tmp_path)}) as server:
        asked = Asked(server, next(iter(listed(server))))
        for body in (b"", b"{", b'{"jemalloc":{}}', b"\0" * 1000, b"<html>" * 100,
                     fake.statistics[:2000]):
            good, fake.statistics = fake.statistics, body
            harness.wait_for(lambda: asked.get("stats").status == 502, LONG, "an error")
            answer = asked.get("stats")
            assert (answer.status == 502 and answer.json["error"]
                    and "\n" not in answer.json["error"]), answer
            fake.statistics = good
        harness.wait_for(lambda: asked.get("stats").status == 200, LONG, "statistics")
        fake.statistics = b"no dump"
        answer = asked.post("snapshot")
        assert answer.status == 502 and "cannot be opened" in answer.json["error"]
        assert server.json("/list") == []
