# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc watch, and statistics of a real process under jemalloc."""
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import harness
from terminal import Screen
from test_jemalloc_live import DATA, LONG, Stub, jemalloc, until

LIBRARY = next((p for p in map(pathlib.Path, ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2",
                                              "/usr/lib/aarch64-linux-gnu/libjemalloc.so.2"))
                if p.exists()), None)


@pytest.fixture
def target(compile_program, tmp_path, monkeypatch):
    if LIBRARY is None:
        pytest.skip("no libjemalloc.so.2")
    program = compile_program("jemalloc_target")
    environment = dict(harness.ENVIRONMENT, MALLOC_CONF="dirty_decay_ms:600000",
                       MEMOIR_AGENT_LISTEN="127.0.0.1:0",
                       MEMOIR_AGENT_START="now", MEMOIR_AGENT_FOLDER=str(tmp_path / "agents"))
    (tmp_path / "agents").mkdir(mode=0o700)
    monkeypatch.setenv("MEMOIR_AGENT_FOLDER", environment["MEMOIR_AGENT_FOLDER"])

    def run(*words, agent=False, conf="", **keywords):
        env = dict(environment, LD_PRELOAD=f"{AGENT}:{LIBRARY}" if agent else str(LIBRARY))
        env["MALLOC_CONF"] += conf
        return subprocess.Popen([program, *map(str, words)], env=env, **keywords)
    return run


def finished(process, path):
    assert process.wait(LONG) == 0
    return json.loads(jemalloc("stats", "--json", path).stdout)["snapshots"]


def own_count(text):
    """[(seconds, bytes)]: what the target says about itself."""
    return [(datetime.datetime.fromisoformat(time_).replace(
        tzinfo=datetime.timezone.utc).timestamp(), int(count))
            for time_, count in re.findall(r"^(\S{26})Z leaked (\d+)$", text, flags=re.M)]


def slope(points):
    n = len(points)
    t0 = points[0][0]
    t, y = sum(p[0] - t0 for p in points) / n, sum(p[1] for p in points) / n
    return (sum((p[0] - t0 - t) * (p[1] - y) for p in points) / sum(
        (p[0] - t0 - t) ** 2 for p in points))


def is_named(answer, text):
    growth = answer["growth"]
    assert growth["clock"] == "wall" and growth["samples"] >= 8
    first = growth["classes"][0]
    assert first["size"] == 4096 and first["steady"]
    # Seconds after its start, nobody knows whether it will go on.
    assert (not first["suspect"] and growth["early"].startswith(
        f"too early to tell a leak: {growth['samples']} snapshots in "))
    own = [p for p in own_count(text) if growth["from"] - 1e-4 <= p[0] <= growth["to"] + 1e-4]
    assert len(own) == growth["samples"]
    assert first["bytes_per_second"] == pytest.approx(slope(own), rel=0.1)
    assert first["bytes_per_hour"] == pytest.approx(3600 * slope(own), rel=0.1)
    assert not any(c["steady"] or c["suspect"] for c in growth["classes"][1:])


def test_a_leak_is_named_with_its_slope(target, tmp_path):
    path = tmp_path / "live.log"
    with open(path, "wb") as out:
        process = target("leak", 60, stdout=out)
    try:
        live = jemalloc("watch", "--once", "--json", "--samples", 8, "-i", "0.2", path)
        assert (live.returncode, live.stderr) == (0, "")
        until(lambda: (own := own_count(path.read_text())) and own[-1][0] - own[0][0] > 5)
    finally:
        process.kill()
        process.wait()
    text = path.read_text()
    is_named(json.loads(live.stdout), text)
    # By what it printed in its first ten seconds, it is named too, and by its age alone.
    start = own_count(text)[0][0]
    pieces = re.split(r"(?m)^(?=\S{26}Z leaked)", text)[1:-1]
    early = "".join(p for p in pieces if own_count(p)[0][0] - start <= 10)
    path.write_text(early)
    is_named(json.loads(jemalloc("watch", "--once", "--json", "--samples", 8, path).stdout), early)
    path.write_text(re.sub(r"(?m)^\S{26}Z leaked.*$", "", early))
    answer = json.loads(
        jemalloc("watch", "--once", "--json", "--samples", 8, path).stdout)["growth"]
    assert (answer["clock"] == "uptime" and answer["classes"][0]["size"] == 4096
            and answer["classes"][0]["steady"])
    series = json.loads(jemalloc("stats", "--json", path).stdout)["series"][0]["growth"]
    assert series["classes"][0] == answer["classes"][0]
    shown = jemalloc("stats", "--only", "growth", path).stdout
    assert ("grows steadily" in shown and "too early to tell a leak" in shown
            and "leak?" not in shown)
    # The same over minutes is one: every snapshot comes twenty times as late.
    path.write_text("".join(
        re.sub(r'("uptime_ns":)(\d+)', lambda m: m[1] + str(int(m[2]) * 20), p[p.index("\n") + 1:])
                            for p in pieces))
    later = json.loads(jemalloc("stats", "--json", path).stdout)["series"][0]["growth"]
    assert later["to"] - later["from"] > 60 and later["early"] is None
    assert later["classes"][0]["size"] == 4096 and later["classes"][0]["suspect"]
    shown = jemalloc("stats", "--only", "growth", path).stdout
    assert "a leak?" in shown and "too early" not in shown


AGENT = pathlib.Path(harness.BUILD) / "libmemoir-jemalloc.so"


def test_a_leak_is_named_by_pid(target, tmp_path):
    """The same through the agent, which is asked while the target runs."""
    if not AGENT.exists():
        pytest.skip("no agent in this build")
    for attempt in range(3):
        path = tmp_path / f"{attempt}.log"
        with open(path, "wb") as out, open(tmp_path / "err", "wb") as err:
            process = target("leak", 80, stdout=out, stderr=err, agent=True)
        try:
            until(lambda: jemalloc("metrics", "--pid", process.pid).returncode == 0)
            done = jemalloc("watch", "--once", "--json", "-n", 8, "-i", "0.5", "--pid", process.pid)
            recorded = jemalloc("record", "-n", 2, "-i", "50ms", "-o", tmp_path / "record.log",
                                "--pid", process.pid)
        finally:
            process.kill()
            process.wait()
        assert (done.returncode, done.stderr) == (0, "") and recorded.returncode == 0
        growth = json.loads(done.stdout)["growth"]
        assert growth["clock"] == "uptime" and growth["samples"] == 8
        own = own_count(path.read_text())
        if max(b[0] - a[0] for a, b in zip(own, own[1:])) < 0.5:
            first = growth["classes"][0]
            assert first["size"] == 4096 and first["steady"] and not first["suspect"]
            assert first["bytes_per_second"] == pytest.approx(slope(own), rel=0.1)
            return
    # It never ran without interruption: then what it leaks is no line.
    assert growth["classes"][0]["size"] == 4096


def test_dirty_advice_comes_and_goes(target, tmp_path):
    path = tmp_path / "freed.log"
    with open(path, "wb") as out:
        before, after = finished(target("freed", stdout=out), path)
    advice = next(a for a in before["advice"] if a["id"] == "dirty")
    assert advice["weight"] == "do" and advice["bytes"] > 75e6
    assert str(before["summary"]["dirty_pages"]) in advice["evidence"].replace(",", "")
    assert "dirty_decay_ms:" in advice["malloc_conf"] and "arena.4096.purge" in advice["control"]
    assert not any(a["id"] == "dirty" for a in after["advice"])
    assert before["stats"]["resident"] - after["stats"]["resident"] > 75e6


def fields(value, path=""):
    """{path: number} of everything in a snapshot; rows by their index or name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from fields(item, f"{path}/{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            name = next((item[k] for k in ("ind", "name", "arena") if k in item),
                        number) if isinstance(item, dict) else number
            yield from fields(item, f"{path}[{name}]")
    elif not isinstance(value, str) or path.startswith("/settings"):
        yield path, value


@pytest.mark.parametrize("conf", ["", ",hpa:true", ",prof:true,prof_stats:true,lg_prof_sample:10"])
def test_text_and_json_of_one_process_agree(conf, target, tmp_path):
    path = tmp_path / "both.log"
    with open(path, "wb") as out:
        found = finished(target("both", stdout=out, conf=conf), path)
    if "hpa" in conf:
        hpa = found[1]["arenas"][0]["hpa"]
        assert sum(hpa.get(f"{kind}_npageslabs_nonhuge", 0) for kind in ("full", "empty")) + len(
            hpa["slabs"]) > 0
        assert "PARTLY USED SLABS" in jemalloc("stats", path).stdout
    if "prof" in conf:
        assert all(any("prof_live_count" in b for b in s["arenas"][0]["bins"]) for s in found)
    assert [s["notation"] for s in found] == ["json", "text", "json"]
    parts = ("settings", "shape", "stats", "arenas", "mutexes")
    before, text, after = ({k: v for part in parts for k, v in fields(s[part], f"/{part}")}
                           for s in found)
    shared = [k for k in before if k in text and k in after]
    # Printing takes locks and time: text, which came between, says what both say, or lies between
    # them.
    for key in shared:
        if isinstance(text[key], (int, float)) and not isinstance(text[key], bool):
            low, high = sorted((before[key], after[key]))
            assert low <= text[key] <= high, key
        else:
            assert text[key] == before[key], key
    assert len(shared) > 900 and sum(before[k] == text[k] for k in shared) > len(shared) * 0.9


def watch(*words, **keywords):
    return Screen("jemalloc", "watch", *words, **keywords)


def classes(frame):
    rows = frame[next(i for i, line in enumerate(frame) if line.split()[:1] == ["class"]) + 1:-1]
    return [int(line.split()[0]) for line in rows if line.strip()]


def test_watch_on_a_terminal():
    with Stub((200, (DATA / "json_full.json").read_bytes())) as stub:
        screen = watch("-i", "0.1", stub.address)
        frame = screen.wait(lambda f: any("arena" in line for line in f))
        assert (len(frame) == 24 and max(map(len, frame)) <= 90 and "q quit" in frame[-1]
                and "by size" in frame[-1])
        assert (any("allocated 32.7 MiB" in line for line in frame)
                and classes(frame)[:2] == [2621440, 1310720])
        screen.key("f")
        frame = screen.wait(lambda f: "by free" in f[-1])
        assert classes(frame)[:2] == [3072, 2560]
        screen.key("g")
        screen.wait(lambda f: "by growth" in f[-1])
        screen.key("p")
        screen.wait(lambda f: "PAUSED" in f[0])
        screen.resize(40, 70)
        frame = screen.wait(lambda f: len(f) == 40)
        assert max(map(len, frame)) <= 70
        screen.resize(10, 60)
        screen.wait(lambda f: len(f) == 10)
        screen.key("q")
        assert screen.end() == (0, "")


def test_watch_ends_well_by_a_signal_and_without_its_process():
    with Stub((200, (DATA / "json_1arena.json").read_bytes())) as stub:
        screen = watch("-i", "0.1", stub.address)
        screen.wait(lambda f: any("arena" in line for line in f))
        screen.process.send_signal(signal.SIGTERM)
        assert screen.end() == (0, "")
        screen = watch("-i", "20ms", stub.address)
        screen.wait(lambda f: any("arena" in line for line in f))
    status, err = screen.end()
    assert status == 1 and "Connection refused" in err and err.count("\n") == 1


def test_watch_follows_a_file_that_is_replaced(tmp_path):
    path = tmp_path / "log"
    one = (DATA / "json_full.json").read_bytes()
    path.write_bytes(one[:5000])
    screen = watch("-i", "50ms", path)
    screen.wait(lambda f: "waiting for the first snapshot" in f[1])
    with open(path, "ab") as file:
        file.write(one[5000:])
    screen.wait(lambda f: "1 taken" in f[0])
    (tmp_path / "new").write_bytes((DATA / "series_53.json").read_bytes())
    os.rename(tmp_path / "new", path)
    screen.wait(lambda f: "5 taken" in f[0])
    screen.key("q")
    assert screen.end() == (0, "")


def test_watch_once(tmp_path):
    done = jemalloc("watch", "--once", "-n", 2, "-i", "10ms", "--", "cat", DATA / "json_full.json")
    assert (done.returncode, done.stderr) == (0, "") and "allocated 32.7 MiB" in done.stdout
    done = jemalloc("watch", "--once", "--json", "-n", 4, DATA / "series_53.txt")
    answer = json.loads(done.stdout)
    assert answer["snapshots"] == 4 and answer["snapshot"]["stats"]["allocated"] == 275427968
    assert {c["size"] for c in answer["arena_growth"]["classes"]} == {0, 1, 2}
    for words, says, status in ((["nowhere"], "No such file", 1), ([], "from where?", 2),
                                (["--json", "x"], "--json is for --once", 2),
                                (["x"], "needs a terminal", 2),
                                (["--sort", "colour", "--once", "x"], "--sort is", 2)):
        done = jemalloc("watch", *(["--once"] if words in (["nowhere"], []) else []), *words)
        assert (done.returncode == status and says in done.stderr
                and done.stderr.count("\n") == 1), done.stderr
    with Stub((503, b"no jemalloc\n")) as stub:
        done = jemalloc("watch", "--once", stub.address)
    assert (done.returncode == 1 and "503: no jemalloc" in done.stderr
            and done.stderr.count("\n") == 1)
