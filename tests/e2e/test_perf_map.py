# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of code that is in no file: from /tmp/perf-PID.map, or at least its kind."""
import glob
import os
import re
import shutil

import pytest

import harness

SCRIPT = """
function hold(n) { const b = Buffer.allocUnsafeSlow(n); b[0] = 1; return b; }
function outer(i) { return hold(100000 + i); }
let keep = [];
for (let i = 0; i < 30000; i++) { keep.push(outer(i % 7)); if (keep.length > 100) keep = []; }
console.log(keep.length);
"""


@pytest.fixture(autouse=True)
def maps_removed(tmp_path):
    """What a test leaves in /tmp; others that run beside it leave theirs."""
    yield
    for path in tmp_path.glob("*.dat"):
        pid = harness.ask("info", "--json", str(path))["pid"]
        for left in glob.glob(f"/tmp/perf-{pid}.map*"):
            os.unlink(left)


def jitted(recording, size):
    """The frame between allocate() and main() of the stack that allocated this size."""
    stacks = harness.stacks_by_size(recording.path, size, size)[size]
    assert len(stacks) == 1, stacks
    stack = list(stacks.pop())
    assert stack[:2] == ["malloc", "allocate"] and stack[3] == "main", stack
    return stack[2]


@pytest.mark.parametrize("kind", ["plain", "folder"])
@pytest.mark.parametrize("mode", ["run", "preload"])
def test_names(compile_program, record, kind, mode):
    recording = record([compile_program("perf_map"), kind], mode=mode)
    if recording.status == 77:
        pytest.skip("may not have a /tmp of its own")
    assert jitted(recording, 1001) == "first"
    assert jitted(recording, 1002) == "second with spaces"
    frames = [f for a in harness.ask("allocations", "--json", "-F", "size = 1001",
                                     recording.path)["allocations"]
              for f in a["backtrace"] if f.get("function") == "first"]
    assert frames and all((f["source"], f["line"]) == ("/srv/shop.js", 12) for f in frames), frames


@pytest.mark.parametrize("kind", ["foreign", "link"])
def test_not_the_programs(compile_program, record, kind):
    """Somebody else may have put it there."""
    recording = record([compile_program("perf_map"), kind])
    if recording.status == 77:
        pytest.skip("may not give files away")
    assert re.fullmatch(r"\[anon exec\]\+0x[0-9a-f]+", jitted(recording, 1001))


@pytest.mark.parametrize("kind", ["none", "unmapped"])
def test_kind(compile_program, record, kind):
    recording = record([compile_program("perf_map"), kind])
    first, second = (int(re.fullmatch(r"\[anon exec\]\+0x([0-9a-f]+)",
                                      jitted(recording, size))[1], 16) for size in (1001, 1002))
    assert second == first + 256


def test_forked(compile_program, record, tmp_path):
    recording = record([compile_program("perf_map"), "fork"], name="%p.dat",
                       options=["--children"], finished=False)
    files = sorted(tmp_path.glob("*.dat"), key=lambda p: int(p.stem))
    assert len(files) == 2, files
    assert recording.status == 0
    child = harness.Recording(str(files[1]), recording.run)
    assert jitted(child, 1001) == "first" and jitted(child, 1002) == "second with spaces"


def test_kept(compile_program, record, tmp_path):
    """The names are in the recording: they outlive the file, and being written anew."""
    recording = record([compile_program("perf_map"), "plain"])
    for command in (["postprocess"], ["repack"], ["strip", "--threshold", "1ms"]):
        path = str(tmp_path / f"{command[0]}.dat")
        done = harness.execute([harness.MEMOIR, *command, "-o", path, recording.path])
        assert done.status == 0, done
        assert jitted(harness.Recording(path, done), 1001) == "first"


@pytest.mark.parametrize("option", ["--perf-basic-prof", "--perf-basic-prof-only-functions"])
def test_node(record, tmp_path, option):
    script = tmp_path / "shop.js"
    script.write_text(SCRIPT)
    # Compiled at once, and never so well that a function is inlined.
    recording = record([shutil.which("node"), option, "--always-sparkplug", "--no-opt", script],
                       cwd=tmp_path)
    stacks = [s for made in harness.stacks_by_size(recording.path, 100000, 100006).values()
              for s in made if "hold" in s]
    assert any(stack[stack.index("hold") + 1] == "outer" for stack in stacks), stacks
    for stack in stacks:
        order = [f for f in stack if f in ("allocUnsafeSlow", "hold", "outer")]
        assert order == sorted(order, key=["allocUnsafeSlow", "hold", "outer"].index), stack


def test_node_without_a_map(record, tmp_path):
    script = tmp_path / "shop.js"
    script.write_text(SCRIPT)
    recording = record([shutil.which("node"), script], cwd=tmp_path)
    names = {f for made in harness.stacks_by_size(recording.path, 100000, 100006).values()
             for s in made for f in s}
    assert any(re.fullmatch(r"\[JIT node\]\+0x[0-9a-f]+", name) for name in names)
    # Where it has left no trace of what was mapped, an address is all there is.
    bare = sum(1 for name in names if re.fullmatch("0x[0-9a-f]+", name))
    assert bare * 10 <= sum(1 for name in names if name.startswith("[")), names
