# SPDX-License-Identifier: MIT OR Apache-2.0
"""Frames without names look the same everywhere: module+0xoffset, as addr2line wants it."""
import gzip
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import MEMOIR, PROGRAMS, execute
from serving import Server


@pytest.fixture(scope="module")
def stripped(tmp_path_factory):
    """A recording of a program without names, and what its own frames are to be called."""
    folder = tmp_path_factory.mktemp("stripped")
    program, named = folder / "shop", folder / "named"
    subprocess.run(["g++", "-std=c++17", "-O2", "-g", os.path.join(PROGRAMS, "inlined.cpp"), "-o",
                    named], check=True)
    shutil.copy(named, program)
    subprocess.run(["strip", "--strip-all", program], check=True)
    path = folder / "out.dat"
    run = execute([MEMOIR, "run", "-o", str(path), "--", str(program)])
    assert run.status == 0, run
    report = json.loads(
        execute([MEMOIR, "report", "--json", "--by", "stack", "--backtraces", "--top", "1000",
                 str(path)]).stdout)
    frames = [f for s in report["top"]["allocated"] for f in s["backtrace"]
              if f.get("library") == "shop"]
    names = {f["name"] for f in frames}
    assert names and all(re.fullmatch("shop\\+0x[0-9a-f]+", name) for name in names)
    # One distance from the program's place in memory to the file's addresses.
    assert len({f["address"] - int(f["name"].split("+")[1], 16) for f in frames}) == 1
    places = subprocess.run(["addr2line", "-e", named, *(name.split("+")[1] for name in names)],
                            check=True,
                            capture_output=True, text=True).stdout
    assert "inlined.cpp" in places or "basic_string" in places or "alloc" in places
    return path, names


def mentions(text):
    """Whatever looks like a frame of the program, by address or by module."""
    return set(re.findall(r"shop *\+ *0x[0-9a-f]+|0x[0-9a-f]+ (?:in shop|\[shop\]|\(shop\))", text))


COMMANDS = [("report", "--full"), ("tree",), ("allocations", "--full"), ("leaks", "--all")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_commands(stripped, command):
    path, names = stripped
    run = execute([MEMOIR, *command, str(path)])
    assert run.status == 0, run
    found = mentions(run.stdout.decode())
    assert found and found <= names, found


@pytest.mark.parametrize("form", ["collapsed", "speedscope", "callgrind", "flamegraph", "firefox",
                                  "massif", "dhat"])
def test_exports(stripped, tmp_path, form):
    path, names = stripped
    out = tmp_path / "out"
    run = execute([MEMOIR, "export", form, "-o", str(out), str(path)])
    assert run.status == 0, run
    content = out.read_bytes()
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    found = mentions(content.decode())
    # Some have the stacks of deallocations too.
    others = {name for name in found - names if not re.fullmatch(r"shop\+0x1[0-9a-f]{3}", name)}
    assert found & names and not others, others


def test_server(stripped):
    path, names = stripped
    with Server(path) as server:
        identity = server.ready()[0]["id"]
        rows = server.get(f"/data/{identity}/allocations")["allocations"]
        frames = [f for row in rows for f in row["backtrace"] if f.get("library") == "shop"]
        assert frames and {f["name"] for f in frames} == names
        assert not any("function" in f for f in frames)
