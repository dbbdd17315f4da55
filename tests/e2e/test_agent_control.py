# SPDX-License-Identifier: MIT OR Apache-2.0
"""Changes through the agent: what they do, and who may make them."""
import os
import re

import pytest

import prometheus
from agent import JEMALLOC, LIBRARY, LONG, Target

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")
MIB = 1 << 20


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


def test_profiling_is_switched(program, tmp_path, each_jemalloc):
    """Each change is there when the program itself looks."""
    with Target([program], tmp_path, "prof:true,prof_active:false,lg_prof_sample:12") as target:
        assert target.read("prof.active") == 0
        assert target.post("/control/prof/active?value=true").json == {"prof.active": True}
        assert target.read("prof.active") == 1
        assert target.post("/control/prof/active", b"value=false").json == {"prof.active": False}
        assert target.read("prof.active") == 0
        assert target.post("/control/prof/gdump?value=1").json == {"prof.gdump": True}
        assert target.read("prof.gdump") == 1
        target.post("/control/prof/gdump?value=0")
        assert target.post("/control/prof/thread_active_init?value=false").status == 200
        assert target.read("prof.thread_active_init") == 0
        assert target.post("/control/prof/reset?lg_sample=16").json == {"prof.lg_sample": 16}
        assert target.read("prof.lg_sample") == 16
        assert target.post("/control/prof/rate?bytes=8192").json == {"prof.lg_sample": 13}
        assert target.post("/control/prof/rate?bytes=8193").status == 400
        assert target.post("/control/prof/rate").status == 400
        assert target.post("/control/prof/reset").json == {"prof.lg_sample": 13}
        answer = target.post(f"/control/prof/prefix?value={tmp_path}/own")
        if each_jemalloc == JEMALLOC:
            assert answer.json == {"prof.prefix": None}
        else:
            assert answer.status == 501
            assert (answer.text == "prof.prefix: jemalloc 5.2.1-0-g0 cannot do this, which came "
                    "with 5.3\n")
        assert target.post("/control/prof/dump").body.startswith(b"heap_v2/8192\n")
        path = tmp_path / "dump.heap"
        answer = target.post(f"/control/prof/dump?path={path}")
        assert answer.json == {"path": str(path), "size": path.stat().st_size}
        assert (path.stat().st_mode & 0o777 == 0o600
                and path.read_bytes().startswith(b"heap_v2/8192\n"))
        assert target.post(f"/control/prof/dump?path={path}").status == 400, "it is there already"
        assert target.post("/control/prof/dump?path=relative").status == 400


@pytest.mark.usefixtures("each_jemalloc")
def test_profiling_was_not_enabled(program, tmp_path):
    with Target([program], tmp_path) as target:
        for path in ("active?value=true", "reset", "gdump?value=true", "dump", "rate?lg_sample=12",
                     "prefix?value=x"):
            answer = target.post(f"/control/prof/{path}")
            assert answer.status == 409 and "start with MALLOC_CONF=prof:true" in answer.text


@pytest.mark.usefixtures("each_jemalloc")
def test_purge(program, tmp_path):
    # 5.2.1 gives back at once what has become one piece of 8 MiB.
    with Target([program], tmp_path,
                "dirty_decay_ms:-1,muzzy_decay_ms:-1,oversize_threshold:0") as target:
        target.do("grow")
        target.do("shrink")
        before = target.read("stats.resident")
        answer = target.post("/control/purge").json
        after = target.read("stats.resident")
        assert (before - after > 75 * MIB and answer["resident_before"] - answer["resident"] >
                75 * MIB)
        assert target.post("/control/purge?arena=0").status == 200
        assert target.post("/control/decay").status == 200
        assert target.post("/control/purge?arena=x").status == 400
        assert target.post("/control/purge?arean=0").status == 400, "mistyped, it must not mean all"
        assert target.post("/control/purge", b"x" * 5000).status == 400
        assert target.post("/control/purge?arena=4000").status in (400, 404)


@pytest.mark.usefixtures("each_jemalloc")
def test_decay_and_threads(program, tmp_path):
    with Target([program], tmp_path) as target:
        target.do("threads")
        answer = target.post("/control/dirty_decay_ms?value=1000").json
        assert answer["dirty_decay_ms"] == 1000 and answer["default"] is True
        arenas = target.get("/stats?Jbl").json["jemalloc"]["stats.arenas"]
        live = [a for name, a in arenas.items() if name.isdigit()]
        assert len(live) == answer["arenas"] and all(a["dirty_decay_ms"] == 1000 for a in live)
        assert target.read("arenas.dirty_decay_ms") == 1000
        target.post("/control/muzzy_decay_ms?value=-1&arena=0")
        assert (target.read("arena.0.muzzy_decay_ms") == -1
                and target.read("arenas.muzzy_decay_ms") != -1)
        for value in ("-2", "x", ""):
            assert target.post(f"/control/dirty_decay_ms?value={value}").status == 400
        assert target.post("/control/max_background_threads?value=1").json == {
            "max_background_threads": 1}
        assert target.post("/control/background_thread?value=true").json == {
            "background_thread": True}
        assert target.read("background_thread") == 1
        assert target.read("stats.background_thread.num_threads") >= 1
        assert target.post("/control/background_thread?value=false").json == {
            "background_thread": False}
        assert target.get(
            "/mallctl?name=stats.mutexes.ctl.num_ops").json["stats.mutexes.ctl.num_ops"] > 10
        assert target.post("/control/mutexes/reset").status == 200
        assert target.get(
            "/mallctl?name=stats.mutexes.ctl.num_ops").json["stats.mutexes.ctl.num_ops"] <= 10


@pytest.mark.usefixtures("each_jemalloc")
def test_who_may_change(program, tmp_path):
    controls = ["purge", "prof/active?value=true", "mallctl?name=arenas.dirty_decay_ms&value=1"]
    with Target([program], tmp_path) as target:
        for control in controls:
            for method in ("GET", "HEAD", "DELETE"):
                answer = target.ask(f"/control/{control}", method, token=True)
                assert answer.status == 405 and "POST" in answer.headers["Allow"]
            assert target.post(f"/control/{control}", token=None).status == 401
            assert target.post(f"/control/{control}", token="wrong").status == 403
            assert target.post(f"/control/{control}", token=target.token + "x").status == 403
            assert target.post(f"/control/{control}",
                               headers={"Origin": "http://localhost"}).status == 403
            assert target.post(f"/control/{control}",
                               headers={"Host": "evil.example"}).status == 403
        for name in ("arena.0.reset", "arena.0.destroy", "arena.0.extent_hooks", "arenas.create",
                     "thread.arena",
                     "prof.dump", "tcache.flush", "opt.narenas", "version", "../x",
                     "experimental.hooks.install"):
            assert target.post(f"/control/mallctl?name={name}&value=1").status == 403
        assert target.read("arenas.dirty_decay_ms") == 10000
        assert target.post("/control/mallctl?name=arenas.dirty_decay_ms&value=7").status == 200
        assert target.read("arenas.dirty_decay_ms") == 7
        assert target.get("/status", headers={"Host": "evil.example"}).status == 403
        for host in ("localhost", "127.0.0.1:80", f"localhost:{target.port}", "[::1]:9"):
            assert target.get("/status", headers={"Host": host}).status == 200
        err = target.end()[2].decode()
        assert err.splitlines()[1:] == [
            "memoir: agent: 127.0.0.1: arenas.dirty_decay_ms = 7"], "the log of changes"


def test_names_of_the_machine_can_be_allowed(program, tmp_path):
    """A scrape goes by a host name; without being asked for, only addresses and localhost are
    answered."""
    def status(target, host):
        return target.get("/metrics", headers={"Host": host}).status
    with Target([program], tmp_path,
                env={"MEMOIR_AGENT_ALLOW_HOST": "app1.example.org, App1"}) as target:
        for host in ("app1.example.org", "app1.example.org:7790", "APP1:80", "app1", "localhost",
                     "127.0.0.1"):
            assert status(target, host) == 200, host
        for host in ("app1.example.org.evil.example", "app1.example", "pp1", "app", "evil.example",
                     "app1.example.org, app1"):
            assert status(target, host) == 403, host
    with Target([program], tmp_path) as target:
        assert status(target, "app1") == 403
        assert "MEMOIR_AGENT_ALLOW_HOST" in target.get("/metrics", headers={"Host": "app1"}).text
    with Target([program], tmp_path, env={"MEMOIR_AGENT_ALLOW_HOST": "a" * 600}) as target:
        assert status(target, "a" * 600) >= 400 and status(target, "localhost") == 200


@pytest.mark.usefixtures("each_jemalloc")
def test_the_socket_is_the_users(program, tmp_path):
    """No token over the unix socket: its mode is what keeps others out.  The token may be the
    user's own."""
    with Target([program], tmp_path, listen=f"unix:{tmp_path}/socket") as target:
        assert target.post("/control/dirty_decay_ms?value=5", token=None).status == 200
        assert target.read("arenas.dirty_decay_ms") == 5
        assert target.get("/control/purge").status == 405
        assert target.get("/status", headers={"Host": "evil.example"}).status == 200
    with Target([program], tmp_path, env={"MEMOIR_AGENT_TOKEN": "mine"}) as target:
        assert target.token == "mine" and target.post("/control/purge", token="mine").status == 200
        assert target.post("/control/purge", token=None,
                           headers={"X-Memoir-Token": "mine"}).status == 200


@pytest.mark.usefixtures("each_jemalloc")
def test_values_by_name(program, tmp_path):
    with Target([program], tmp_path) as target:
        def read(name):
            return target.get(f"/mallctl?name={name}").json[name]
        assert read("version") == target.get("/status").json["jemalloc"]["version"]
        assert read("arenas.page") == 4096 and read("opt.narenas") == target.read("opt.narenas")
        assert isinstance(read("stats.arenas.4096.pdirty"), int) and read("opt.retain") is True
        assert read("arenas.bin.0.size") == 8 and read("opt.dss") == "secondary"
        assert read("opt.lg_prof_interval") == -1
        assert target.get("/mallctl?name=stats.arenas.0.nothing").status == 404
        assert target.get("/mallctl?name=prof.active").status == 409
        assert target.get("/mallctl?name=thread.allocatedp").status == 403
        assert target.get("/mallctl").status == 400
        for value in ("many", "1.5", "-1", "99999999999999999999", "0x10", ""):
            answer = target.post(f"/control/mallctl?name=max_background_threads&value={value}")
            assert answer.status == 400 and "size_t" in answer.text or "missing" in answer.text
        assert target.post("/control/mallctl?name=background_thread&value=2").status == 400
        wrong = target.post("/control/mallctl?name=background_thread&value=1&type=size_t")
        assert wrong.status == 400 and "bool" in wrong.text
        assert target.post("/control/mallctl?name=arena.0.purge&value=1").status == 400
        assert target.post("/control/mallctl?name=arena.0.purge").json == {"arena.0.purge": None}


@pytest.mark.usefixtures("each_jemalloc")
def test_types_are_this_jemallocs(program, tmp_path):
    """Whatever its statistics print of options and constants can be read by name, and is the
    same."""
    with Target([program], tmp_path, "prof:true,prof_active:false") as target:
        stats = target.get("/stats?Jablxe").json["jemalloc"]
        wrong = []
        for section in ("opt", "arenas"):
            for name, value in stats[section].items():
                if isinstance(value, (list, dict)):
                    continue
                if name == "hpa_dirty_mult":
                    value = int(float(value) * 65536)
                answer = target.get(f"/mallctl?name={section}.{name}")
                if answer.status != 200 or answer.json[f"{section}.{name}"] != value:
                    wrong.append((name, value, answer))
        assert not wrong, "\n".join(map(str, wrong))
        assert len(stats["opt"]) > 20


@pytest.mark.usefixtures("each_jemalloc")
def test_metrics(program, tmp_path):
    """The grammar of Prometheus, and the numbers of a snapshot of the same moment."""
    with Target([program], tmp_path) as target:
        target.get("/stats?J")  # jemalloc makes room for its printing once
        text = target.get("/metrics").text
        prometheus.check(text)
        seen, types = {}, {}
        for line in text.splitlines():
            kind = re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line)
            if kind:
                if kind[1] == "TYPE":
                    assert kind[2] not in types and kind[3] in ("gauge", "counter")
                    assert kind[2].endswith("_total") == (kind[3] == "counter")
                    types[kind[2]] = kind[3]
                continue
            value = re.fullmatch(r'([a-z_]+)(\{[a-z]+="[^"]*"\})? (-?\d+(\.\d+)?)', line)
            assert value and value[1] in types and value[1] + (value[2] or "") not in seen, line
            seen[value[1] + (value[2] or "")] = float(value[3])
        stats = target.get("/stats?J").json["jemalloc"]
        assert seen["jemalloc_mapped_bytes"] == stats["stats"]["mapped"]
        assert seen["jemalloc_retained_bytes"] == stats["stats"]["retained"]
        arena = stats["stats.arenas"]["0"]
        assert seen['jemalloc_arena_base_bytes{arena="0"}'] == arena["base"]
        assert (seen['jemalloc_arena_dirty_decay_seconds{arena="0"}'] ==
                arena["dirty_decay_ms"] / 1000)
        assert seen['jemalloc_arena_small_nmalloc_total{arena="0"}'] == arena["small"]["nmalloc"]
