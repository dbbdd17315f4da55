# SPDX-License-Identifier: MIT OR Apache-2.0
"""What other commands make of a live jemalloc: its statistics and its dumps, of Debian's version
and of 5.2.1.

The agent's own answers are tested with both elsewhere; here is what is read from them."""
import json
import os
import re
import shutil
import subprocess

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target, memoir

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")
PROF = "prof:true,prof_accum:true,lg_prof_sample:12"


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


def snapshot(target, tmp_path, query):
    path = tmp_path / "stats"
    path.write_bytes(target.get(f"/stats?{query}").body)
    done = memoir(tmp_path, "stats", "--json", str(path))
    assert done.status == 0, done
    return json.loads(done.stdout)["snapshots"][0]


def whole(s):
    return next(a for a in s["arenas"] if a["arena"] == s["whole"])


@pytest.mark.usefixtures("each_jemalloc")
@pytest.mark.parametrize("query", ["J", ""], ids=["json", "text"])
def test_what_is_not_the_programs(program, tmp_path, query):
    """From resident to the program's own bytes, with nothing unexplained."""
    with Target([program], tmp_path) as target:
        target.do("keep 5000")
        target.do("grow")
        s = snapshot(target, tmp_path, query)
        assert s["stats"]["allocated"] > 80 << 20
        steps = {step["name"]: step["bytes"] for step in s["waterfall"]["steps"]}
        assert steps["unexplained"] == 0
        one = whole(s)
        assert sum(b["curregs"] * b["size"] for b in one["bins"]) == one["small_allocated"]
        assert next(b["curregs"] for b in one["bins"] if b["size"] == 1024) >= 5000
        assert one["small_allocated"] + one["large_allocated"] == s["stats"]["allocated"]


@pytest.mark.usefixtures("each_jemalloc")
def test_mutexes(program, tmp_path):
    """Its JSON has them in wrong places: what can be had of them is what mallctl says, the rest is
    not made up."""
    with Target([program], tmp_path) as target:
        target.do("grow")
        target.get("/stats?J")
        real = {}
        for counter in ("num_ops", "num_wait", "num_spin_acq", "num_owner_switch",
                        "total_wait_time"):
            name = f"stats.mutexes.prof.{counter}"
            real[counter] = target.get(f"/mallctl?name={name}").json[name]
        # The text prints it right; nothing takes this lock in between.
        read = {}
        for query in ("J", ""):
            s = snapshot(target, tmp_path, query)
            assert s["mutex_counters_lost"] == (query == "J")
            read[query] = next(m for m in s["mutexes"] if m["name"] == "prof")
        assert not {"num_owner_switch", "total_wait_time", "max_wait_time"} & set(read["J"])
        assert (read["J"]["num_wait"], read["J"]["num_spin_acq"]) == (
            real["num_wait"], real["num_spin_acq"])
        for counter in ("num_ops", "num_wait", "num_spin_acq", "num_owner_switch",
                        "total_wait_time"):
            assert read[""][counter] == real[counter], counter
        # One that is taken all the time: never less than mallctl said before.
        ctl = next(m for m in s["mutexes"] if m["name"] == "ctl")
        assert ctl["num_ops"] > 10


@pytest.mark.usefixtures("each_jemalloc")
def test_advice_comes_and_goes(program, tmp_path):
    """80 MB are freed and kept: it says so, and no longer when they are given back."""
    with Target([program], tmp_path,
                "dirty_decay_ms:-1,muzzy_decay_ms:-1,oversize_threshold:0") as target:
        target.do("grow")
        target.do("shrink")

        def advice():
            path = tmp_path / "stats.json"
            path.write_bytes(target.get("/stats.json").body)
            return memoir(tmp_path, "stats", str(path)).stdout.decode()
        assert "dirty" in advice() and "arena.4096.purge" in advice()
        target.post("/control/purge")
        assert "arena.4096.purge" not in advice()


def table(words, tmp_path, command):
    """{function: (flat, cumulative)}, and the total, of jeprof or of ours."""
    done = subprocess.run([*command, *words], capture_output=True, text=True, timeout=LONG,
                          env=dict(harness.ENVIRONMENT, HOME=str(tmp_path),
                                   JEPROF_TMPDIR=str(tmp_path)))
    found, total = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("Total: "):
            total = line.split()[1]
        elif row := re.match(r" *(-?[\d.]+) +-?[\d.]+% +-?[\d.]+% +(-?[\d.]+) +-?[\d.]+% (.+)$",
                             line):
            found[row[3]] = row.group(1, 2)
    assert total, done
    return found, total


@pytest.fixture
def older(monkeypatch, jemalloc_521_libraries):
    """Targets have 5.2.1."""
    monkeypatch.setattr(Target, "library", jemalloc_521_libraries[""])


@pytest.mark.usefixtures("older")
def test_d_dumps_as_jeprof_reads_them(program, tmp_path):
    """Dumps of 5.2.1: totals and functions are jeprof's, to the digit; differences; no frame of the
    allocator."""
    if not shutil.which("jeprof"):
        pytest.skip("no jeprof")
    with Target([program], tmp_path, PROF) as target:
        for n in range(2):
            target.do("keep 4000")
            (tmp_path / f"{n}.heap").write_bytes(target.get("/pprof/heap").body)
    first, second = str(tmp_path / "0.heap"), str(tmp_path / "1.heap")
    ours = [harness.MEMOIR, "jemalloc", "heap"]
    for words in ([], ["--alloc_objects"], ["--alloc_space", "--ignore=keep_large"],
                  [f"--base={first}"]):
        words = ["--show_bytes", *words, program, second]
        mine, total = table(words, tmp_path, ours)
        theirs, expected = table(["--text", *words], tmp_path, ["jeprof"])
        # jeprof's total is that of all stacks, ours that of the stacks shown.
        assert total == expected or "--ignore=keep_large" in words
        for name in {"keep_small", "keep_large", "main"} & set(theirs):
            assert mine[name] == theirs[name], (words, name)
        assert not [name for name in mine if "jemalloc" in name or name.startswith("0x")]
    grown = table(["--show_bytes", "--base", first, second], tmp_path, ours)[0]
    assert abs(float(grown["keep_small"][0]) - 4000 * 1024) < 4000 * 1024 / 4
    folded = subprocess.run([*ours, "--collapsed", second], capture_output=True, text=True,
                            timeout=LONG).stdout
    assert re.search(r"^_start;.*main;keep_small \d+$", folded, re.M), folded


def test_prefix_of_jemalloc_521(compile_program, tmp_path, jemalloc_521_libraries):
    """A program that calls je_malloc of a library: found, profiled and changed by these names."""
    program = compile_program("agent_target", flags=("-O2", "-Dmalloc=je_malloc", "-Dfree=je_free"),
                              libraries=(jemalloc_521_libraries["je_"],))
    folder = os.path.dirname(jemalloc_521_libraries["je_"])
    env = {"LD_LIBRARY_PATH": folder, "JE_MALLOC_CONF": PROF}
    with Target([program], tmp_path, jemalloc=False, env=env) as target:
        found = target.get("/status").json["jemalloc"]
        assert (found["prefix"], found["version"], found["prof"]) == ("je_", "5.2.1-0-g0", True)
        target.do("keep 5000")
        assert target.get("/stats?J").json["jemalloc"]["stats"]["allocated"] > 5 << 20
        assert target.post("/control/prof/active?value=false").json == {"prof.active": False}
        assert target.read("prof.active") == 0
        (tmp_path / "dump.heap").write_bytes(target.get("/pprof/heap").body)
        assert b"keep_small" in memoir(tmp_path, "heap", str(tmp_path / "dump.heap")).stdout


@pytest.mark.usefixtures("older")
def test_what_jemalloc_521_has_not(program, tmp_path):
    """A control that came later is one line with the version; the others work from the terminal as
    well."""
    with Target([program], tmp_path, PROF) as target:
        def ctl(*words):
            return memoir(tmp_path, "ctl", str(target.pid), *words)
        done = ctl("prefix", f"{tmp_path}/own")
        assert done.status == 1 and done.stderr.count(b"\n") == 1, done
        assert (b"prof.prefix: jemalloc 5.2.1-0-g0 cannot do this, which came with 5.3" in
                done.stderr)
        for words in (["status"], ["stats", "J"], ["metrics"], ["prof", "off"], ["rate", "13"],
                      ["gdump", "off"],
                      ["dirty-decay", "500"], ["muzzy-decay", "50", "0"], ["purge"], ["decay"],
                      ["background", "on"],
                      ["background", "off"], ["mutex-reset"], ["get", "opt.lg_tcache_max"]):
            done = ctl(*words)
            assert done.status == 0 and done.stdout and not done.stderr, (words, done)
        recent = target.get("/prof/recent")
        assert (recent.status == 501 and recent.text.endswith(
            ": jemalloc 5.2.1-0-g0 cannot do this, which came with 5.3\n"))
        assert target.post("/control/prof/log/start").status == 200
        assert target.post("/control/prof/log/stop").json["info"]["version"] == "5.2.1-0-g0"
        assert target.read("prof.lg_sample") == 13 and target.read("arenas.dirty_decay_ms") == 500
