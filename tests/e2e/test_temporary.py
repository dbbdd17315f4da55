# SPDX-License-Identifier: MIT OR Apache-2.0
"""Temporary allocations, counted in two ways: freed by the thread's next call, and as heaptrack counts."""
import re
import shutil

import pytest

import harness

N = 1000
# A reallocated block, and one whose like is freed, count with heaptrack; the first hundred replace none.
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
    assert harness.execute([harness.MEMOIR, "strip", "-t", "1h", "-o", path, recording.path]).status == 0
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["removed_allocations"] > N
    assert (info["temporary"], info["heaptrack_temporary"]) == (N, AS_HEAPTRACK)


def test_heaptrack_counts_the_same(program, record, tmp_path):
    if not shutil.which("heaptrack", path=harness.ENVIRONMENT["PATH"]):
        pytest.skip("no heaptrack")
    done = harness.execute(["heaptrack", "-o", tmp_path / "theirs", program, str(N)], cwd=tmp_path)
    assert done.status == 0, done
    file = next(tmp_path.glob("theirs*"))
    text = harness.execute(["heaptrack_print", "-f", file]).stdout.decode(errors="replace")
    theirs = int(re.search(r"^temporary memory allocations: (\d+)", text, re.M)[1])
    # It sees a block of its own.
    assert 0 <= theirs - record([program, N]).info["heaptrack_temporary"] <= 2
