# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc log: what jemalloc's profiler writes about single blocks."""
import csv
import gzip
import io
import json
import math
import os
import pathlib
import re
import subprocess

import pytest

import harness
from agent import JEMALLOC, LIBRARY, Target, memoir

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
LOG, RECENT = DATA / "prof_log.json", DATA / "prof_recent.json"


def log(*words, **keywords):
    return subprocess.run([harness.MEMOIR, "jemalloc", "log", *map(str, words)],
                          capture_output=True, text=True,
                          env=dict(harness.ENVIRONMENT), timeout=120, **keywords)


def answer(*words):
    done = log("--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_freed_blocks():
    """One thread, two traces, and as many objects as the file has."""
    content = json.loads(LOG.read_text())
    count = len(content["allocations"])
    found = answer(LOG)
    assert [(a["kind"], a["threads"], a["traces"], a["objects"]) for a in found["logs"]] == [
        ("log", 1, 2, count)]
    assert len(content["threads"]) == 1 and len(content["stack_traces"]) == 2
    assert found["total"]["freed"] == count == sum(bin["objects"] for bin in found["lifetimes"])
    assert found["total"]["bytes"] == sum(a["usize"] for a in content["allocations"])
    scaled = sum(1 / -math.expm1(-a["usize"] / 1024) for a in content["allocations"])
    assert found["total"]["estimated_objects"] == pytest.approx(scaled, abs=0.01)
    text = log(LOG).stdout
    assert f"\n{count} objects, 1 thread, 2 stack traces\n" in text
    assert "prof_time_resolution:high" in text and "give --maps" in text


def test_recent_blocks():
    content = json.loads(RECENT.read_text())["recent_alloc"]
    found = answer(RECENT)
    assert found["logs"][0]["kind"] == "recent" and found["logs"][0]["objects"] == len(content)
    assert found["total"]["freed"] == sum(a["released"] for a in content)
    assert found["total"]["bytes"] == sum(a["usize"] for a in content)
    traces = {tuple(a[k]) for a in content for k in ("alloc_trace", "dalloc_trace") if k in a}
    assert found["logs"][0]["traces"] == len(traces)
    assert len(found["stacks"]) == len({tuple(a["alloc_trace"]) for a in content})


@pytest.fixture
def made(tmp_path):
    """A log with stacks of out.heap, three threads, and lives of 1 to 1000 us."""
    dump = (DATA / "out.heap").read_text()
    stacks = [s.split() for s in re.findall(r"^@(.*)$", dump, re.M)]
    stacks = [stacks[0], next(s for s in stacks if "0x7f30f83eecb3" in s),
              stacks[1]]  # one is the loader's
    blocks = []
    for n in range(1, 1001):
        blocks.append({"alloc_thread": n % 2, "free_thread": 2 if n % 10 == 0 else n % 2,
                       "alloc_trace": n % 2,
                       "free_trace": 2, "alloc_timestamp": 5000 * n,
                       "free_timestamp": 5000 * n + 1000 * n,
                       "usize": 4096 if n % 2 else 64})
    content = {"info": {"duration": 10 ** 9, "version": "5.3.0-0-g0", "lg_sample_rate": 12,
                        "prof_time_resolution": "high", "pid": 5},
               "threads": [{"thr_uid": 1, "thr_name": "one"}, {"thr_uid": 2, "thr_name": ""},
                           {"thr_uid": 9, "thr_name": "sw\u00e9\"eper"}],
               "stack_traces": stacks, "allocations": blocks}
    (tmp_path / "log.json").write_text(json.dumps(content))
    return tmp_path / "log.json", content


def test_lives_and_threads(made):
    path, content = made
    found = answer(path)
    lives = list(range(1000, 1001000, 1000))
    assert found["total"]["lifetime_ns"] == {"mean": sum(lives) / 1000, "min": 1000, "p50": 500000,
                                             "p90": 900000,
                                             "p99": 990000, "max": 1000000}
    assert {(b["from_ns"], b["objects"]) for b in found["lifetimes"] if b["objects"]} == {
        (1000, 9), (10000, 90), (100000, 900), (1000000, 1)}
    # Every tenth block was freed by the third thread.
    assert found["total"]["freed_by_another_thread"] == 100
    assert [(t["uid"], t["name"], t["objects"], t["freed"],
             t["freed_of_others"]) for t in found["threads"]] == [
        (1, "one", 500, 400, 0), (2, "", 500, 500, 0), (9, "sw\u00e9\"eper", 0, 100, 100)]
    assert [(s["objects"], s["bytes"], s["freed_by_another_thread"]) for s in found["stacks"]] == [
        (500, 500 * 4096, 0), (500, 500 * 64, 100)]
    assert found["stacks"][0]["lifetime_ns"]["p50"] == 499000
    text = log(path, "--color", "never").stdout
    assert "100 blocks were freed by another thread than allocated them" in text
    assert "half within 500 \u00b5s" in text


def test_names_by_maps(made, tmp_path):
    """Of a dump of the same process, or of its maps alone."""
    path, content = made
    maps = tmp_path / "maps"
    dump = (DATA / "out.heap").read_text()
    maps.write_text(dump[dump.index("MAPPED_LIBRARIES:\n") + 18:])
    for given in (DATA / "out.heap", maps):
        found = answer("--maps", given, "-d", DATA / "prof", path)
        names = [[f["name"] for f in s["frames"]] for s in found["stacks"]]
        assert (any("worker" in stack for stack in names)
                and not any("jemalloc" in n for s in names for n in s))
    found = answer("--maps", maps, DATA / "prof", path)
    assert any(f["name"] == "worker" and f["file"].endswith("prof.c") for s in found["stacks"]
               for f in s["frames"])
    only = answer("--maps", maps, "--focus=^worker$", DATA / "prof", path)
    rest = answer("--maps", maps, "--ignore=^worker$", DATA / "prof", path)
    assert (only["total"]["objects"] + rest["total"]["objects"] == 1000
            and only["total"]["objects"] < 1000)
    lines = log("--maps", maps, "--full", DATA / "prof", path).stdout
    assert re.search(r"^.* worker$", lines, re.M)
    # The log's own, as our agent writes them.
    content["mapped_libraries"] = maps.read_text().splitlines()
    path.write_text(json.dumps(content))
    assert any(f["name"] == "worker" for s in answer("-d", DATA / "prof", path)["stacks"]
               for f in s["frames"])


def test_a_program_that_is_not_moved(tmp_path):
    (tmp_path / "p.c").write_text("int here(int x) { return x + 1; }\nint main(void) { return "
                                  "here(1); }\n")
    subprocess.run(["gcc", "-g", "-no-pie", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    nm = subprocess.run(["nm", "p"], cwd=tmp_path, check=True, capture_output=True,
                        text=True).stdout
    address = int(re.search(r"(\w+) T here", nm)[1], 16)
    (tmp_path / "l.json").write_text(json.dumps({"recent_alloc": [
        {"size": 1, "usize": 8, "released": False, "alloc_thread_uid": 3, "alloc_time": 1,
         "alloc_trace": [hex(address + 4)]}]}))
    found = answer(tmp_path / "p", tmp_path / "l.json")
    assert [f["name"] for f in found["stacks"][0]["frames"]] == ["here"]
    assert found["total"]["freed"] == 0 and found["total"]["lifetime_ns"] is None


def test_csv_packed_and_several(made, tmp_path):
    path, content = made
    rows = list(csv.DictReader(io.StringIO(log("--csv", path).stdout)))
    assert [int(row["objects"]) for row in rows] == [500, 500] and rows[0]["stack"].startswith("0x")
    assert len(list(csv.DictReader(io.StringIO(log("--csv", "-n", "1", path).stdout)))) == 1
    packed = tmp_path / "log.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert answer(packed)["total"] == answer(path)["total"]
    both = answer(path, LOG)
    assert (len(both["logs"]) == 2
            and both["total"]["objects"] == 1000 + len(json.loads(LOG.read_text())["allocations"]))
    assert [t["log"] for t in both["threads"]] == [0, 0, 0, 1]
    assert json.loads(log("--json", "-", input=path.read_text()).stdout)["total"] == answer(
        path)["total"]


@pytest.mark.parametrize("text,reason", [
    ("", "at byte 0: it ends where an object should be"),
    ("[]", "at byte 0: an object is expected here"),
    ("{}", "at byte 0: it has neither allocations nor recent_alloc"),
    ('{"allocations":[{"alloc_thread":0', "at byte 33: there is no such thread before this"),
    ('{"allocations":[{}]}', "at byte 18: a block has no thread, trace or size"),
    ('{"stack_traces":[["0x1","7"]]}', "at byte 27: an address is a text like"),
    ('{"stack_traces":[["0x1"', "at byte 23: it ends where a comma should be"),
    ('{"info":{"lg_sample_rate":64}}', "at byte 28: the sampling rate is too large"),
    ('{"info":{"duration":1.5}}', "at byte 21: a whole number is expected here"),
    ('{"info":{"duration":99999999999999999999}}', "at byte 39: this number is too large"),
    ('{"info":{"version":"a\tb"}}', "at byte 21: a text with a control character in it"),
    ('{"x":' + "[" * 100, "at byte 69: nested too deeply"),
    ('{"allocations":[]} more', "at byte 19: the end is expected here")])
def test_bad_logs(text, reason, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text(text)
    done = log(bad)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert f"bad.json: {reason}" in done.stderr


def test_cut_log(tmp_path):
    """What is whole of it still counts."""
    cut = tmp_path / "cut.json"
    cut.write_bytes(LOG.read_bytes()[:10000])
    done = log("--json", cut)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert 10 < json.loads(done.stdout)["total"]["objects"] < len(
        json.loads(LOG.read_text())["allocations"])


def test_usage(tmp_path):
    assert log().returncode == 2
    assert log("--json", "--csv", LOG).returncode == 2
    assert log("--focus=(", LOG).returncode == 2
    missing = log(tmp_path / "missing.json")
    assert missing.returncode == 1 and missing.stderr.count("\n") == 1
    (tmp_path / "maps").write_text("nothing\n")
    assert "there are no maps in it" in log("--maps", tmp_path / "maps", LOG).stderr


@pytest.fixture
def target(compile_program, tmp_path):
    if not JEMALLOC or not os.path.exists(LIBRARY):
        pytest.skip("no jemalloc, or no agent")
    with Target([compile_program("agent_target")], tmp_path,
                "prof:true,lg_prof_sample:12") as target:
        yield target


def test_a_live_log(target, tmp_path):
    """Started and ended by the agent; 1280 blocks of 64 KiB are freed meanwhile, and all are
    named."""
    assert target.get("/control/prof/log/start").status == 405
    assert target.post("/control/prof/log/start", token=None).status == 401
    assert target.post("/control/prof/log/stop").status == 409
    assert target.post("/control/prof/log/start").json == {"prof.log_start": None}
    assert target.post("/control/prof/log/start").status == 409
    assert (target.do("grow"), target.do("shrink")) == ("done", "done")
    written = tmp_path / "live.json"
    done = memoir(tmp_path, "ctl", "-o", str(written), str(target.pid), "log-stop")
    assert done.status == 0, done
    found = answer(written)
    assert found["logs"][0]["pid"] == target.pid
    # A block of 64 KiB is missed once in nine million times.
    assert found["total"]["freed"] >= 1280 and found["total"]["bytes"] >= 80 << 20
    assert [f["name"] for f in found["stacks"][0]["frames"]][0] == "main"
    assert os.listdir(tmp_path / "memoir") == [f"jemalloc.{target.pid}"]
    # Once more; the program ends while it is written, as if nothing were.
    assert memoir(tmp_path, "ctl", str(target.pid), "log-start").status == 0
    assert target.end()[0] == 7
    assert os.listdir(tmp_path / "memoir") == []


def test_live_recent_blocks(target, tmp_path):
    answered = target.get("/prof/recent")
    assert answered.status == 409 and "/control/prof/recent?value=N" in answered.text
    assert memoir(tmp_path, "ctl", str(target.pid), "recent-max", "25").status == 0
    assert target.read("experimental.prof_recent.alloc_max") == 25
    assert target.do("keep 500") == "done"
    written = tmp_path / "recent.json"
    assert memoir(tmp_path, "ctl", "-o", str(written), str(target.pid), "recent").status == 0
    found = answer(written)
    assert found["logs"][0]["kind"] == "recent" and found["total"]["objects"] == 25
    assert found["total"]["freed"] == 0
    assert {"keep_small", "keep_large"} >= {s["frames"][0]["name"] for s in found["stacks"]}


def test_logs_need_the_profiler(compile_program, tmp_path):
    if not JEMALLOC or not os.path.exists(LIBRARY):
        pytest.skip("no jemalloc, or no agent")
    with Target([compile_program("agent_target")], tmp_path) as target:
        for answered in (target.get("/prof/recent"), target.post("/control/prof/log/start"),
                         target.post("/control/prof/log/stop"),
                         target.post("/control/prof/recent?value=1")):
            assert answered.status == 409 and "start with MALLOC_CONF=prof:true" in answered.text
