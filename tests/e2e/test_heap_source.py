# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap --list and --disasm: sources and code with what each line holds."""
import csv
import json
import os
import re
import shutil
import subprocess

import pytest

import harness
from agent import JEMALLOC

SOURCE = os.path.join(harness.PROGRAMS, "heap_lines.c")
pytestmark = pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc.so.2")


def line_of(mark):
    with open(SOURCE, encoding="ascii") as file:
        return next(n for n, line in enumerate(file, 1) if f"/* {mark} */" in line)


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("heap_lines", flags=("-O1",))


@pytest.fixture(scope="module")
def dump(program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("heap_lines")
    harness.execute([program], env={
        "LD_PRELOAD": JEMALLOC,
        "MALLOC_CONF": f"prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:{folder}/dump"})
    path, = folder.glob("dump.*.heap")
    return path


def heap(*words):
    return subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--show_bytes", *map(str, words)],
                          capture_output=True,
                          text=True)


def routines(text):
    """{name: (flat, cumulative, {line: (flat, cumulative, source)})} of a listing."""
    found = {}
    for part in re.split(r"^ROUTINE =+ ", text, flags=re.MULTILINE)[1:]:
        head, total, *lines = part.splitlines()
        rows = {}
        for line in lines:
            row = re.match(r" *(\S+) +(\S+) +(\d+): ?(.*)$", line)
            if row:
                rows[int(row[3])] = (number(row[1]), number(row[2]), row[4])
        flat, cum = total.split()[:2]
        found[head.split(" in ")[0]] = (number(flat), number(cum), rows)
    return found


def number(text):
    return 0 if text == "." else int(text)


EXPECTED = {"plain": (28800, 28800, {"plain": (28800, 28800)}),
            "inlined": (9216, 9216, {"inlined": (9216, 9216)}),
            "caller": (0, 38016, {"calls plain": (0, 28800), "calls inlined": (0, 9216),
                                  "calls itself": (0, 25344)})}


def test_list_report(dump):
    found = routines(heap("--list=^(plain|caller|inlined)$", dump).stdout)
    assert list(found) == ["caller", "plain", "inlined"]  # the largest first
    with open(SOURCE, encoding="ascii") as file:
        source = file.read().splitlines()
    for name, (flat, cum, lines) in EXPECTED.items():
        assert found[name][:2] == (flat, cum)
        rows = found[name][2]
        assert {line: row[:2] for line, row in rows.items() if any(row[:2])} == {
            line_of(mark): amounts for mark, amounts in lines.items()}
        assert all(row[2] == source[line - 1] for line, row in rows.items())
    # The whole function, and five lines around it.
    first = source.index("__attribute__((noinline)) void caller(int n)") + 1
    last = source.index("int main(void)") - 1
    assert sorted(found["caller"][2]) == list(range(first - 4, last + 6))


def test_list_equals_jeprof(program, dump):
    """Where jeprof is right: of a line with a discriminator it takes the one before, and recursion
    counts twice."""
    if not shutil.which("jeprof"):
        pytest.skip("no jeprof")
    theirs = subprocess.run(["jeprof", "--show_bytes", "--list=plain", program, dump],
                            capture_output=True, text=True)
    ours = heap("--list=^plain$", dump)
    assert ours.stdout == theirs.stdout


def test_list_by_source_and_address(dump):
    found = routines(heap(f"--list=heap_lines.c:{line_of('plain')}$", dump).stdout)
    assert list(found) == ["plain"]
    done = heap("--list=no_such_function", dump)
    assert done.returncode == 1
    assert (done.stderr == "memoir jemalloc heap: no function of the dump matches "
            "'no_such_function'\n")


def test_list_of_some_stacks(dump):
    assert routines(heap("--list=caller", "--focus=inlined", dump).stdout)["caller"][:2] == (
        0, 9216)
    assert routines(heap("--list=caller", "--inuse_objects", dump).stdout)["caller"][:2] == (0, 303)
    assert routines(heap("--list=caller", "--base", dump, dump).stdout)["caller"][:2] == (0, 0)


def test_list_where_the_source_is_elsewhere(compile_program, tmp_path):
    """Built from a source that is gone: it is looked for where the user says."""
    old, new = tmp_path / "old/src", tmp_path / "new/deep/src"
    old.mkdir(parents=True)
    shutil.copy(SOURCE, old)
    program = tmp_path / "program"
    subprocess.run(["gcc", "-g", "-O1", "-o", program, old / "heap_lines.c"], check=True)
    new.parent.mkdir(parents=True)
    old.rename(new)
    harness.execute([str(program)], env={
        "LD_PRELOAD": JEMALLOC,
        "MALLOC_CONF": f"prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:{tmp_path}/dump"})
    moved, = tmp_path.glob("dump.*.heap")
    absent = heap("--list=^plain$", moved)
    assert (absent.returncode == 0 and "(the source is not there; --source says where it is)" in
            absent.stdout)
    assert routines(absent.stdout)["plain"] == (28800, 28800,
                                                {line_of("plain"): (28800, 28800, "")})
    for where in (new, new.parent, f"{tmp_path}/old={tmp_path}/new/deep"):
        rows = routines(heap("--list=^plain$", "--source", where, moved).stdout)["plain"][2]
        assert rows[line_of("plain")][2].endswith("/* plain */"), where
    assert "not there" in heap("--list=^plain$", "--source", f"{tmp_path}/o={new}", moved).stdout


def test_list_for_programs(dump):
    listing = json.loads(heap("--list=^caller$", "--json", dump).stdout)
    caller, = listing["routines"]
    assert (caller["name"], caller["file"]) == ("caller", SOURCE)
    assert {row["line"]: row["cum"]["inuse_space"] for row in caller["lines"]} == {
        line_of("calls plain"): 28800, line_of("calls inlined"): 9216,
        line_of("calls itself"): 25344}
    lines = list(csv.DictReader(heap("--list=^caller$", "--csv", dump).stdout.splitlines()))
    assert {int(row["line"]): float(row["cum_inuse_space"]) for row in lines} == {
        row["line"]: row["cum"]["inuse_space"] for row in caller["lines"]}


def instructions(text):
    return {int(row[3], 16): (number(row[1]), number(row[2]), row[4])
            for row in re.finditer(r"^ *(\S+) +(\S+) {2,}([0-9a-f]+): (.*)$", text, re.MULTILINE)
            if len(row[0]) - len(row[4]) == 27}


def sums(text):
    """The line numbers between instructions, in their order, with their amounts."""
    return [(int(row[3]), number(row[1]), number(row[2]))
            for row in re.finditer(r"^ *(\S+) +(\S+) +(\d+): .*$", text, re.MULTILINE)
            if row.start(3) + len(row[3]) - row.start() == 19]


def test_disasm_report(program, dump):
    text = heap("--disasm=^caller$", dump).stdout
    head, total, source = text.splitlines()[:3]
    assert head == "ROUTINE ====================== caller"
    assert total == "  9216  38016 B (flat, cumulative) 31.7% of total"
    assert source == f"-------------------- {SOURCE}"
    found = instructions(text)
    calls = {row[2].split("<")[1]: row[:2] for row in found.values() if row[2].startswith("call")}
    assert calls == {"plain>": (0, 28800), "calloc@plt>": (9216, 9216), "caller>": (0, 25344)}
    assert {row for row in sums(text) if row[2]} == {
        (line_of("calls plain"), 0, 28800), (line_of("inlined"), 9216, 9216),
        (line_of("calls itself"), 0, 25344)}
    # Where instructions begin is what binutils say.
    objdump = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--disassemble=caller", program],
                             capture_output=True, text=True, check=True).stdout
    assert [int(a, 16) for a in re.findall(r"^ +([0-9a-f]+):\t", objdump, re.MULTILINE)] == list(
        found)


def test_disasm_equals_jeprof(program, dump):
    if not shutil.which("jeprof"):
        pytest.skip("no jeprof")
    theirs = subprocess.run(["jeprof", "--show_bytes", "--disasm=plain", program, dump],
                            capture_output=True,
                            text=True).stdout
    ours = heap("--disasm=^plain$", dump).stdout
    assert ours.splitlines()[:3] == theirs.splitlines()[:3]
    assert {a: row[:2] for a, row in instructions(ours).items()} == {
        a: row[:2] for a, row in instructions(theirs).items()}
    assert sums(ours) == sums(theirs)


def test_disasm_for_programs(dump):
    routine, = json.loads(heap("--disasm=^plain$", "--json", dump).stdout)["routines"]
    held = [row for row in routine["instructions"] if row["flat"]["inuse_space"]]
    assert [(row["line"], row["flat"]["inuse_space"]) for row in held] == [
        (line_of("plain"), 28800)]
    lines = list(csv.DictReader(heap("--disasm=^plain$", "--csv", dump).stdout.splitlines()))
    assert [int(row["address"]) for row in lines] == [row["address"]
                                                      for row in routine["instructions"]]


def test_disasm_without_the_file(dump, tmp_path):
    away = tmp_path / "away.heap"
    away.write_text(re.sub(r"/\S*/heap_lines$", "/proc/nonexistent/heap_lines", dump.read_text(),
                           flags=re.MULTILINE))
    done = heap("--disasm=heap_lines", away)
    assert done.returncode == 1
    assert done.stderr == ("memoir jemalloc heap: the code of what matches 'heap_lines' is "
                           "not there: "
                           "/proc/nonexistent/heap_lines\n")
