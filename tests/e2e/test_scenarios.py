# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small programs of which every single allocation is known."""
import os

import pytest

import harness

MODES = ["run", "preload"]


def allocations(path, source):
    """The allocations whose stack leads through a source file, in order of time."""
    found = harness.ask("allocations", "--json", "--no-cache", path)["allocations"]
    return [a for a in found if any(f.get("source", "").endswith(source) for f in a["backtrace"])]


def line_of(allocation, source):
    return next(f["line"] for f in allocation["backtrace"] if f.get("source", "").endswith(source))


@pytest.mark.parametrize("mode", MODES)
def test_basic(compile_program, record, mode):
    recording = record([compile_program("basic", flags=("-O0",))], mode=mode)
    assert recording.status == 0
    rows = allocations(recording.path, "basic.c")
    assert [a["size"] for a in rows] == [10, 100, 1000, 10000, 100000, 1000000]
    assert [a["call"] for a in rows] == ["malloc", "malloc", "malloc", "realloc", "calloc",
                                         "posix_memalign"]
    assert ["deallocation" in a for a in rows] == [False, True, True, False, False, False]
    assert [a["chain_length"] for a in rows] == [1, 1, 2, 2, 1, 1]
    assert [a["position_in_chain"] for a in rows] == [0, 0, 0, 1, 0, 0]
    assert [a["is_reallocated"] for a in rows] == [False, False, True, False, False, False]
    assert rows[5]["address"] % 65536 == 0
    assert len({a["thread"] for a in rows}) == 1
    assert line_of(rows[1], "basic.c") == line_of(rows[0], "basic.c") + 1
    assert rows[4]["is_zeroed"] and not rows[3]["is_zeroed"]


@pytest.mark.parametrize("mode", MODES)
def test_threads_of_start_stop(compile_program, record, mode):
    """Which thread made what, when recording is switched from outside."""
    recording = record([compile_program("start_stop", flags=("-O0",)), "sigusr1"], mode=mode,
                       env={**harness.SIGNALS, "MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1"})
    by_size = {a["size"]: a for a in allocations(recording.path, "start_stop.c")}
    assert set(by_size) == {10002, 10003, 10004, 10006, 10007, 20002, 20003}
    main = {by_size[n]["thread"] for n in by_size if n < 20000}
    other = {by_size[n]["thread"] for n in by_size if n > 20000}
    assert len(main) == len(other) == 1 and main != other
    # Freed while recording was off, by the thread that made it.
    assert by_size[20002]["deallocation"]["thread"] == by_size[20002]["thread"]
    assert by_size[10003]["deallocation"]["call"] == "realloc"
    assert not by_size[10003]["is_reallocated"], "what it became was not recorded"


@pytest.mark.parametrize("mode", MODES)
def test_markers_of_allocations(compile_program, record, mode):
    """An allocation carries the marker that was set last, whichever thread set it."""
    recording = record([compile_program("controlled", flags=("-O0",))], mode=mode,
                       stdin=b"make 1\nmark 7\nmake 2\nthread nine long\nmake 3\nmark 0\nmake 1\n")
    assert recording.status == 0
    found = [a["marker"] for a in allocations(recording.path, "controlled.c") if a["size"] == 77]
    assert found == [0, 7, 7, 9, 9, 9, 0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_returned_values(compile_program, compare, compiler, level, mode):
    """Doubles, 128-bit numbers and structs come out of functions that allocate as they went in."""
    recording = compare([compile_program("returns", compiler=compiler, flags=(level,))], mode=mode)
    assert recording.total("allocate")["allocations"] == 3 * 7


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("place", ["no folder", "a file", "no permission"])
def test_output_that_cannot_be_made(compile_program, tmp_path, place, mode):
    """One line says so; a program that is only preloaded runs on."""
    (tmp_path / "file").write_bytes(b"")
    output = {"no folder": "/proc/nonexistent/out.dat",
              "a file": str(tmp_path / "file" / "out.dat"),
              "no permission": "/proc/1/out.dat"}[place]
    recording = harness.record([compile_program("exits"), "exit"], output, mode=mode,
                               finished=False)
    lines = [line for line in recording.stderr.split(b"\n") if b"memoir: " in line]
    assert len(lines) == 1 and output.encode() in lines[0], recording.run
    assert recording.status == (1 if mode == "run" else 21)


@pytest.mark.parametrize("mode", MODES)
def test_output_that_is_full(compile_program, tmp_path, mode):
    """/dev/full takes nothing: said at the start, not at the end."""
    recording = harness.record([compile_program("exits"), "exit"], "/dev/full", mode=mode,
                               finished=False)
    assert b"No space left" in recording.stderr
    assert recording.status == (1 if mode == "run" else 21)
    assert os.path.exists("/dev/full")
