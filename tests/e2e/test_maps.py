# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory maps: who made them, what became of their parts, how much of them was resident."""
import contextlib
import os
import subprocess

import pytest

import harness

PAGE = 4096
MODES = ["run", "preload"]
NAMED = {"MEMORY_PROFILER_DISABLE_PR_SET_VMA_ANON_NAME": "0"}


class Steps:
    """A program that says after each step that it is done, and waits for a line."""

    def __init__(self, process, path):
        self.process, self.path = process, path

    def reached(self, letter):
        assert self.process.stdout.read(1) == letter

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def running(program, path, mode, env=None, arguments=()):
    env = dict(harness.ENVIRONMENT, **(env or {}))
    command = [program, *arguments]
    if mode == "run":
        command = [harness.MEMOIR, "run", "-o", path, "--", *command]
    else:
        env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        yield Steps(process, path)
        process.stdin.close()
        assert process.wait(timeout=harness.TIMEOUT) == 0
        harness.wait_finished(path, timeout=harness.TIMEOUT)
    finally:
        for pid in [*harness.descendants(process.pid), process.pid]:
            harness.kill(pid)
        process.wait()
        process.stdout.close()


def maps_of(path, *options):
    return harness.ask("maps", "--json", "--no-cache", "--regions", "--history", *options, path)["maps"]


def of_source(maps, source):
    """The maps that a source file has made, in order of time."""
    return [m for m in maps if any(f.get("source", "").endswith(source)
                                   for f in m.get("source", {}).get("backtrace", []))]


def stamp(thing, key="timestamp"):
    return thing[key]["secs"] * 10**9 + thing[key]["fract_nsecs"]


def check_regions(maps):
    """What the seven maps and the one that replaced a page of the last consist of."""
    assert [m["name"] for m in maps] == ["[anon:mmap]"] * 8
    assert [m["size"] // PAGE for m in maps] == [123, 5, 6, 7, 7, 7, 7, 1]
    assert [len(m["regions"]) for m in maps] == [1, 1, 1, 2, 2, 3, 2, 1]
    for m in maps:
        first = m["regions"][0]
        assert (first["address"], first["size"]) == (m["address"], m["size"])
        assert first["timestamp"] == m["timestamp"] == m["source"]["timestamp"]
        assert m["is_readable"] and m["is_writable"] and not m["is_executable"] and not m["is_shared"]
        assert {r["name"] for r in m["regions"]} == {"[anon:mmap]"}
    assert ["deallocation" in m for m in maps] == [False, False, True] + [False] * 5
    times = [stamp(m) for m in maps]
    assert times == sorted(times) and len(set(times)) == 8

    untouched, touched, whole, at_start, at_end, in_middle, replaced, new = maps
    for m in untouched, touched, new:
        assert "deallocation" not in m["regions"][0]
    ended = whole["regions"][0]["deallocation"]
    assert ended["timestamp"] == whole["deallocation"]["timestamp"]
    assert ended["sources"][0]["source"] == whole["deallocation"]["source"]
    assert whole["deallocation"]["source"]["call"] == "munmap"

    def parts(m):
        return [((r["address"] - m["address"]) // PAGE, r["size"] // PAGE) for r in m["regions"]]

    def end_of(m):
        (source,) = m["regions"][0]["deallocation"]["sources"]
        return (source["address"] - m["address"]) // PAGE, source["length"] // PAGE, source["source"]

    assert parts(at_start) == [(0, 7), (1, 6)]
    assert parts(at_end) == [(0, 7), (0, 6)]
    assert parts(in_middle) == [(0, 7), (0, 3), (4, 3)]
    assert parts(replaced) == [(0, 7), (0, 6)]
    assert new["address"] == replaced["address"] + 6 * PAGE
    assert [end_of(m)[:2] for m in (whole, at_start, at_end, in_middle, replaced)] == [
        (0, 6), (0, 1), (6, 1), (3, 1), (6, 1)]
    assert [end_of(m)[2]["call"] for m in (at_start, at_end, in_middle, replaced)] == ["munmap"] * 3 + ["mmap"]
    assert end_of(replaced)[2] == new["source"]
    for m in at_start, at_end, in_middle, replaced:
        first, *rest = m["regions"]
        assert stamp(first) < stamp(first["deallocation"])
        for region in rest:
            assert region["timestamp"] == first["deallocation"]["timestamp"]
            assert "deallocation" not in region


def check_usage(maps):
    """What of them was resident when."""
    untouched, touched, whole, at_start, at_end, in_middle, replaced, new = [m["usage_history"] for m in maps]
    for history in [m["usage_history"] for m in maps]:
        times = [stamp(u) for u in history]
        assert times == sorted(times) and len(set(times)) == len(times)
        assert history[0]["rss"] == 0
    assert [(u["address_space"], u["rss"]) for u in untouched] == [(123 * PAGE, 0)]
    assert [(u["address_space"], u["rss"]) for u in touched][::len(touched) - 1] == [(5 * PAGE, 0), (5 * PAGE, 8192)]
    last = touched[-1]
    assert last["anonymous"] == last["private_dirty"] == 8192
    assert last["shared_clean"] == last["shared_dirty"] == last["private_clean"] == last["swap"] == 0
    assert [(u["address_space"], u["rss"]) for u in whole] == [(6 * PAGE, 0), (0, 0)]
    for history in at_start, at_end, in_middle, replaced:
        assert [u["rss"] for u in history] == [0, 0]
    assert [[u["address_space"] // PAGE for u in h] for h in (at_start, at_end, in_middle, replaced)] == [
        [7, 6], [7, 6], [7, 6], [7, 6]]
    assert [(u["address_space"], u["rss"]) for u in new] == [(PAGE, 0)]
    assert [m["peak_rss"] for m in maps] == [0, 8192, 0, 0, 0, 0, 0, 0]


def wait_for_maps(path, condition, what):
    """Until what has been written of a recording so far fulfils a condition."""
    def fulfilled():
        try:
            return condition(maps_of(path))
        except AssertionError:  # it is not there yet
            return False
    harness.wait_for(fulfilled, timeout=2 * harness.TIMEOUT, what=what)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_mmap(compile_program, tmp_path, mode, named):
    """Whole maps, untouched and touched ones, and maps that lose their start, end, middle, last page."""
    path = str(tmp_path / "out.dat")
    program = compile_program("maps", flags=("-O0",))
    with running(program, path, mode, env=NAMED if named else None) as steps:
        steps.reached(b"1")
        wait_for_maps(path, lambda maps: any(m["name"] == "[stack]" for m in maps), "a first look")
        steps.go_on()
        steps.reached(b"2")
        wait_for_maps(path, lambda maps: sum(m["peak_rss"] for m in of_source(maps, "maps.c")) == 8192,
                      "a look at what was touched")
        steps.go_on()
    maps = maps_of(path)
    check_regions(of_source(maps, "maps.c"))
    check_usage(of_source(maps, "maps.c"))
    # Those that nobody was seen to make.
    names = [m["name"] for m in maps if "source" not in m]
    assert "[stack]" in names and program in names and any("/libc.so" in name for name in names)
    (stack,) = [m for m in maps if m["name"] == "[stack]"]
    assert stack["peak_rss"] > 0 and stack["is_writable"] and not stack["is_shared"]
    # The recorder's own are told from the program's.
    own = [m for m in maps if m["is_own"]]
    assert own and not any("source" in m for m in own)
    assert {m["name"].split(" ")[0] for m in own} == {"[anon:memoir]", "/memfd:memoir"}


def test_not_gathered(compile_program, tmp_path):
    """Two names for the same switch."""
    for name in "MEMORY_PROFILER_GATHER_MAPS", "MEMORY_PROFILER_GATHER_MMAP_CALLS":
        path = str(tmp_path / f"{name}.dat")
        recording = harness.record([compile_program("maps", flags=("-O0",))], path, env={name: "0"},
                                   stdin=b"\n\n")
        assert recording.status == 0
        assert maps_of(path) == []
        assert os.path.getsize(path)
