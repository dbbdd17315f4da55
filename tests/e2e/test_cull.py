# SPDX-License-Identifier: MIT OR Apache-2.0
"""Culling: what is freed soon is not in the file, and still counts."""
import json
import os

import pytest

import harness

TOTALS = ["events", "allocations", "deallocations", "reallocations", "allocated_bytes",
          "leaked_count",
          "leaked_bytes", "temporary", "unknown_frees", "implicit_frees", "realloc_failures",
          "stacks", "without_stack"]


def culled(record, command, milliseconds, *options, name="cull.dat", **keywords):
    return plain(record, command, "--cull", "--cull-lifetime", str(milliseconds), *options,
                 name=name, **keywords)


def plain(record, command, *options, name="plain.dat", **keywords):
    """Without memory maps, whose events are never left out."""
    return record(command, name=name, options=["--no-maps", "--no-write-binaries", *options],
                  **keywords)


def written(recording):
    """Events that are in the file."""
    return harness.ask("info", "--json", recording.path)["counters"]["events"]


def removed(recording):
    return recording.info["removed_allocations"]


def by_stack(recording):
    """What each stack of the program's own functions did."""
    sums = {}
    for s in recording.stacks:
        key = tuple(s["functions"])
        old = sums.get(key, (0, 0, 0, 0))
        new = (s["allocations"], s["allocated_bytes"], s["leaked_count"], s["leaked_bytes"])
        sums[key] = tuple(a + b for a, b in zip(old, new))
    return sums


def same_totals(a, b, but=()):
    for key in TOTALS:
        if key not in but:
            assert a.info[key] == b.info[key], key


def test_lifetimes(compile_program, record):
    recording = culled(record, [compile_program("cull"), "lifetimes"], 100)
    assert removed(recording) == 1
    assert written(recording) == recording.info["events"] - 2
    assert recording.total("brief") == {"allocations": 1, "allocated_bytes": 1000,
                                        "leaked_count": 0,
                                        "leaked_bytes": 0}
    # 1001 is freed, 1002 leaks, 2000 becomes 3000, which leaks.
    assert recording.total("lasting")["allocated_bytes"] == 1001 + 1002 + 2000
    assert recording.total("lasting")["leaked_bytes"] == 1002
    assert recording.total("grown")["leaked_bytes"] == 3000


@pytest.mark.parametrize("milliseconds,gone", [(1000, 3), (1, 0)], ids=["culled", "non_culled"])
def test_other_thread(compile_program, record, milliseconds, gone):
    """Freed by another thread, one after its owner is dead."""
    recording = culled(record, [compile_program("cull"), "other-thread"], milliseconds)
    assert recording.total("lasting")["allocated_bytes"] == 1234 + 1235 + 1236
    assert recording.total("lasting")["leaked_count"] == 0
    # pthread_create has blocks of its own.
    assert removed(recording) >= gone
    assert (removed(recording) == 0) == (gone == 0)


def test_chains(compile_program, record):
    program = compile_program("cull")
    whole = plain(record, [program, "chains", "2000"])
    recording = culled(record, [program, "chains", "2000"], 10000)
    same_totals(whole, recording)
    assert by_stack(whole) == by_stack(recording)
    assert removed(recording) == 1980 * 6
    # Twenty chains are kept whole: 1 + 6 allocations, 6 beginnings of a realloc, and a THREAD.
    assert written(recording) == 20 * 13 + 1
    assert recording.info["reallocations"] == 2000 * 5 + 20


def test_temporary_is_what_it_was(compile_program, record):
    """A block is temporary if its thread's next event frees it, whatever is left out between."""
    program = compile_program("cull")
    whole = plain(record, [program, "temporary", "1000"])
    recording = culled(record, [program, "temporary", "1000"], 100)
    same_totals(whole, recording)
    assert removed(recording) == 1200
    assert recording.info["temporary"] == 1000


def test_many(compile_program, record):
    """Five million brief allocations: a small file with exact figures."""
    program = compile_program("cull")
    count = "1000000" if os.environ.get("MEMOIR_QUICK") else "5000000"
    whole = plain(record, [program, "many", count])
    recording = culled(record, [program, "many", count], 10000)
    same_totals(whole, recording)
    assert by_stack(whole) == by_stack(recording)
    assert recording.info["peak_bytes"] == whole.info["peak_bytes"]
    assert recording.info["peak_count"] == whole.info["peak_count"]
    assert recording.info["free_stacks"] == whole.info["free_stacks"]
    peaks = [{tuple(f.get("function") for f in s["backtrace"]): (s["count"], s["bytes"])
              for s in harness.tops_of(r.path)["peak"]}
             for r in (whole, recording)]
    assert peaks[0] == peaks[1]
    assert os.path.getsize(recording.path) < 65536 < os.path.getsize(whole.path)
    assert removed(recording) > int(count)


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("milliseconds", ["1", "10000"])
def test_oracle(compile_program, record, threads, milliseconds):
    """Random calls of every kind, freed by any thread: the figures are the program's own."""
    program = compile_program("oracle")
    recording = culled(record, [program, threads, "40000"], milliseconds)
    counted = json.loads(recording.stdout)
    info = recording.info
    keys = ("allocations", "deallocations", "reallocations", "allocated_bytes")
    if threads == "1":
        assert {k: info[k] for k in keys} == {k: counted[k] for k in keys}
        assert info["peak_bytes"] == counted["peak_bytes"]
        assert info["leaked_bytes"] == counted["leaked_bytes"]
        whole = plain(record, [program, threads, "40000"])
        same_totals(whole, recording)
        assert by_stack(whole) == by_stack(recording)
    made, again = recording.total("oracle_alloc"), recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert again["allocations"] == counted["reallocations"]
    assert made["leaked_bytes"] + again["leaked_bytes"] == counted["leaked_bytes"]
    assert info["unknown_frees"] == info["implicit_frees"] == info["lost_events"] == 0
    assert removed(recording) > (10000 if milliseconds == "10000" else 0)


def test_pending_limit(compile_program, record):
    """More than so many do not wait: the oldest are kept."""
    program = compile_program("cull")
    recording = culled(record, [program, "many", "1000"], 10000, "--cull-pending", "100")
    # Of the five hundred that were alive at once, a hundred were left out.
    assert 400 <= written(recording) / 2 <= 410
    unlimited = culled(record, [program, "many", "1000"], 10000, name="all.dat")
    same_totals(recording, unlimited)
    assert recording.info["peak_bytes"] == unlimited.info["peak_bytes"]


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_killed(compile_program, tmp_path, mode):
    """kill -9 in the middle: what was alive is there, what was removed is counted."""
    path = str(tmp_path / "out.dat")
    env = {"MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS": "1",
           "MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT": "0"}
    recording = harness.record([compile_program("cull"), "kill", "100000"], path, mode=mode,
                               env=env)
    assert recording.status == -9
    info = recording.info
    assert info["removed_allocations"] == 120000
    assert recording.total("brief")["allocations"] == 100001
    assert recording.total("brief")["leaked_bytes"] == 4001
    assert recording.total("lasting")["leaked_bytes"] == 4000
    assert info["removed_below_ns"] == 10000 * 10**6


def test_forked_child(compile_program, tmp_path):
    """Culling and children: what is inherited is known although it is young."""
    folder = tmp_path / "r"
    folder.mkdir()
    run = harness.execute(
        [harness.MEMOIR, "run", "--children", "--cull", "-o", f"{folder}/x_%p.dat",
         "--", compile_program("family"), "three-deep"])
    assert run.status == 0, run
    leaked = {}
    for path in folder.glob("*.dat"):
        recording = harness.Recording(str(path), run)
        assert recording.info["unknown_frees"] == 0
        leaked[recording.total("in_grandchild")["allocations"],
               recording.total("in_child")["allocations"]] = \
            recording.total("in_parent")["leaked_bytes"]
    assert leaked == {(0, 0): sum(range(1002, 1010)), (0, 1): sum(range(1005, 1009)),
                      (1, 1): sum(range(1007, 1010))}


@pytest.mark.soak
@pytest.mark.long
def test_a_hundred_million(compile_program, record):
    program = compile_program("cull")
    recording = culled(record, [program, "many", "100000000"], 10000, timeout=1200)
    assert recording.total("brief")["allocations"] == 100001000
    assert recording.info["lost_events"] == 0
    assert os.path.getsize(recording.path) < 1 << 20
