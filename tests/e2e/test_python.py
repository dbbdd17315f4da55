# SPDX-License-Identifier: MIT OR Apache-2.0
"""Python functions in stacks are those that Python itself sees."""
import collections
import json
import os
import re

import pytest

import harness

SCRIPT = os.path.join(harness.PROGRAMS, "python_stacks.py")
MOST = 256  # Python frames of a stack
# Debian's; and, where there are others, those that this variable names, separated by colons.
PYTHONS = ["/usr/bin/python3.11",
           *filter(None, os.environ.get("MEMOIR_TEST_PYTHONS", "").split(":"))]


@pytest.fixture(scope="module", params=PYTHONS, ids=lambda path: path.replace("/", "_"))
def python(request):
    if not os.path.exists(request.param):
        pytest.skip(f"no {request.param}")
    return request.param


def frames_by_size(path):
    """{size: [(function, file, line)]}, innermost first, of the blocks that the script made."""
    answer = harness.ask("allocations", "--json", "-F", "size >= 100000 and size < 110000", path)
    return {a["size"]: [(f.get("function"), f.get("source"), f.get("line"))
                        for f in a["backtrace"][::-1]] for a in answer["allocations"]}


def is_python(frame):
    return frame[1] is not None and (frame[1].endswith(".py") or frame[1].startswith("<"))


def compare(path, said):
    """Every block that Python told about has the functions, files and lines that it saw."""
    recorded = frames_by_size(path)
    kinds = collections.Counter()
    for size, (kind, expected) in said.items():
        frames = recorded[int(size) + 1]
        seen = [tuple(f) for f in frames if is_python(f)]
        assert seen == [tuple(row) for row in expected[:MOST]], (kind, frames)
        # In order: what allocates is inside, what runs the program outside.
        assert not is_python(frames[0])
        kinds[kind] += 1
    return kinds, recorded


def recorded(python, record, tmp_path, *arguments, **keywords):
    output = tmp_path / "said.json"
    recording = record([python, SCRIPT, output, *arguments], cwd=tmp_path, **keywords)
    assert recording.status == 0, recording.run
    return recording, json.loads(output.read_text())


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_stacks(python, record, tmp_path, mode):
    recording, said = recorded(python, record, tmp_path, mode=mode)
    kinds, frames = compare(recording.path, said)
    assert set(kinds) == {"nested", "generator", "exception", "deep", "class", "deleted",
                          "callback", "asyncio", "reused", "signal", "foreign", "ünicode"}
    assert kinds["deep"] == 402 and kinds["reused"] == 300 and kinds["signal"] >= 20
    # None of the interpreter's own loops is left where Python's functions are known.
    whole = [f for size, f in frames.items() if str(size - 1) in said]
    assert not any("_PyEval_EvalFrameDefault" in (f[0] or "") for stack in whole for f in stack)
    # Recursion that is too deep for a stack is cut outside, like C's.
    deepest = max(whole, key=len)
    assert is_python(deepest[-1]) and sum(map(is_python, deepest)) == MOST


def test_mixed_order(python, record, tmp_path):
    """C functions between Python functions stand where they belong."""
    recording, said = recorded(python, record, tmp_path)
    frames = frames_by_size(recording.path)
    found = [frames[int(size) + 1] for size, (kind, rows) in said.items()
             if kind == "callback" and rows[1][0].startswith("callbacks.<locals>.<lambda>")]
    assert found
    for stack in found:
        names = [f[0] for f in stack]
        inner = next(i for i, name in enumerate(names)
                     if name and name.startswith("callbacks.<locals>"))
        outer = names.index("callbacks")
        between = stack[inner + 1:outer]
        assert between and not any(map(is_python, between)), names


def test_filters(python, record, tmp_path):
    recording, _ = recorded(python, record, tmp_path)
    by = harness.ask("groups", "--json", "--by", "function", "-F", 'function ~ "^nested"',
                     recording.path)
    assert by, by
    text = harness.execute([harness.MEMOIR, "report", "--full", recording.path]).stdout.decode()
    assert re.search(r"mark.*python_stacks\.py:\d+", text), text


def test_forked(python, record, tmp_path):
    recording, said = recorded(python, record, tmp_path, "fork", name="%p.dat",
                               options=["--children"], finished=False)
    files = sorted(tmp_path.glob("*.dat"), key=lambda p: int(p.stem))
    assert len(files) == 2, recording.run
    compare(str(files[0]), said)
    child = json.loads((tmp_path / "said.json.child").read_text())
    assert child
    kinds, frames = compare(str(files[1]), child)
    assert kinds["forked"] == 1 and kinds["nested"] == 2
    # What it inherited has its names, too.
    compare(str(files[1]), said)


def test_switched_off(python, record, tmp_path):
    recording, said = recorded(python, record, tmp_path, options=["--no-python"])
    frames = frames_by_size(recording.path)
    assert frames and not any(is_python(f) for stack in frames.values() for f in stack)


def test_verified(python, record, tmp_path):
    """With every remembered stack compared with a full walk."""
    library = harness.LIBRARY.replace("libmemoir.so", "libmemoir-paranoid.so")
    recording, said = recorded(python, record, tmp_path, env={"MEMOIR_LIBRARY": library})
    compare(recording.path, said)


def test_opened_and_closed(compile_program, record):
    """An interpreter that is a plugin of something else."""
    library = "/usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0"
    if not os.path.exists(library):
        pytest.skip("no libpython3.11")
    recording = record([compile_program("python_embedded"), library])
    assert recording.status == 0, recording.run
    made = harness.ask("allocations", "--json", "-F", "size = 100001", recording.path)
    assert len(made["allocations"]) == 3
    # Once it was closed it is left alone, whether it comes again or not.
    for stack, names in zip(made["allocations"], (["<module>", "inside"], [], [])):
        assert [f["function"] for f in stack["backtrace"]
                if f.get("source", "").startswith("<string>")] == names


def test_programs_in_c_know_nothing_of_it(compile_program, record):
    recording = record([compile_program("jit", libraries=("-Wl,--no-as-needed", "-lgcc_s"))])
    assert recording.info["python_unmatched"] == 0


def test_unknown_version(compile_program, record):
    """It is left alone and counted, and nothing is written into the program's output."""
    program = compile_program("python_unknown", libraries=("-Wl,--export-dynamic",))
    recording = record([program])
    assert recording.status == 0
    assert recording.info["python_unknown"] == 1
    assert b"Python" not in recording.run.stderr
