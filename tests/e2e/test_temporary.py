# SPDX-License-Identifier: MIT OR Apache-2.0
"""Temporary allocations, counted in two ways: freed by the thread's next call, and as heaptrack
counts."""
import os
import re
import shutil
import subprocess

import pytest

import harness

N = 1000
# A reallocated block, and one whose like is freed, count with heaptrack; the first hundred replace
# none.
AS_HEAPTRACK = N + 2 * N + N - 100


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("temporaries", flags=("-O1",))


@pytest.mark.parametrize("options", [(), ("--cull", "--cull-lifetime", "1000")])
def test_both_counts(program, record, options):
    """Culling leaves most of these out, and still knows both."""
    recording = record([program, N], options=options)
    assert recording.info["temporary"] == N
    assert recording.info["heaptrack_temporary"] == AS_HEAPTRACK
    text = harness.execute([harness.MEMOIR, "report", recording.path]).stdout.decode()
    assert f"{AS_HEAPTRACK:,} as heaptrack counts" in text


def test_stripped(program, record, tmp_path):
    recording = record([program, N])
    path = str(tmp_path / "stripped.dat")
    assert harness.execute(
        [harness.MEMOIR, "strip", "-t", "1h", "-o", path, recording.path]).status == 0
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["removed_allocations"] > N
    assert (info["temporary"], info["heaptrack_temporary"]) == (N, AS_HEAPTRACK)


def count_of_heaptrack(command, folder):
    if not shutil.which("heaptrack", path=harness.ENVIRONMENT["PATH"]):
        pytest.skip("no heaptrack")
    done = harness.execute(["heaptrack", "-o", folder / "theirs", *command], cwd=folder)
    assert done.status == 0, done
    file = next(folder.glob("theirs*"))
    text = harness.execute(["heaptrack_print", "-f", file]).stdout.decode(errors="replace")
    return int(re.search(r"^temporary memory allocations: (\d+)", text, re.M)[1])


def test_heaptrack_counts_the_same(program, record, tmp_path):
    theirs = count_of_heaptrack([program, str(N)], tmp_path)
    # It sees a block of its own.
    assert 0 <= theirs - record([program, N]).info["heaptrack_temporary"] <= 2


def test_a_rust_program(record, tmp_path):
    """Its strings grow by realloc: heaptrack calls each size of one temporary."""
    if not shutil.which("rustc"):
        pytest.skip("no rustc")
    program = tmp_path / "formats"
    subprocess.run(["rustc", "-O", "-o", program, os.path.join(harness.PROGRAMS, "formats.rs")],
                   check=True)
    info = record([program, N, 1]).info
    assert N <= info["temporary"] < 1.1 * N
    assert 0 <= count_of_heaptrack([program, str(N), "1"],
                                   tmp_path) - info["heaptrack_temporary"] <= 2
    assert info["heaptrack_temporary"] > 1.8 * N
