# SPDX-License-Identifier: MIT OR Apache-2.0
"""Profiles for Go's pprof and Parca: what they ask for holds, and go tool pprof's numbers are ours
to the byte."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target, memoir
from pprof import Profile

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
FOUR = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
needs_jemalloc = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                    reason="no jemalloc, or no agent")
needs_go = pytest.mark.skipif(not shutil.which("go"), reason="no go")


# The agent's own thread is allocated by the loader, whose functions are known to debug files only.
AGENT = "agent_trigger|pthread_create"


def go_top(tmp_path, source, index):
    """{function: (flat, cumulative)} of go tool pprof."""
    done = subprocess.run(
        ["go", "tool", "pprof", "-top", f"-sample_index={index}", "-nodefraction=0",
         "-edgefraction=0", "-nodecount=100000", f"-ignore={AGENT}",
         "-unit=" + ("B" if index.endswith("space") else "count"), str(source)],
                          capture_output=True, text=True, timeout=LONG,
                          env=dict(harness.ENVIRONMENT, HOME=str(tmp_path),
                                   PPROF_TMPDIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"^ *(-?\d+)B? +\S+% +\S+% +(-?\d+)B? +\S+%  (.*)$", done.stdout, re.M)
    assert rows, done.stdout
    return {name.replace(" (inline)", ""): (int(flat), int(cum)) for flat, cum, name in rows
            if int(cum)}


def our_top(tmp_path, dump, index, *words):
    done = memoir(tmp_path, "heap", "--whole", "--show_bytes", f"--{index}", f"--ignore={AGENT}",
                  *words, str(dump))
    assert (done.status, done.stderr) == (0, b"")
    cells = [line.split(None, 5) for line in done.stdout.decode().splitlines()[1:]]
    return {c[5]: (int(c[0]), int(c[3])) for c in cells if int(c[3])}


@needs_jemalloc
@needs_go
def test_go_tool_pprof_equals_ours(compile_program, tmp_path):
    """Of an address, and of the dump of the same moment: each function, flat and cumulative, in all
    four amounts."""
    with Target([compile_program("agent_target")], tmp_path,
                "prof:true,prof_accum:true,lg_prof_sample:10") as target:
        for n in (3000, 1, 77):
            target.do(f"keep {n}")
        target.do("grow")
        target.do("shrink")
        (tmp_path / "now.heap").write_bytes(target.get("/pprof/heap").body)
        (tmp_path / "named.heap").write_bytes(target.get("/pprof/heap?symbols=1").body)
        for index in FOUR:
            theirs = go_top(tmp_path, f"{target.address}/debug/pprof/heap", index)
            assert {"_start", "main", "keep_small", "keep_large"} <= set(theirs)
            # By the process's own names: every function that it has one for.  Go puts the others
            # together by file.
            named = our_top(tmp_path, tmp_path / "named.heap", index)
            functions = {name: row for name, row in theirs.items() if not name.startswith("[")}
            assert functions == {name: named.get(name) for name in functions}, index
            # Debug files call functions of libc otherwise; the program's own have one name.
            ours = our_top(tmp_path, tmp_path / "now.heap", index)
            both = set(ours) & set(theirs)
            assert {"_start", "main", "keep_small", "keep_large"} <= both
            assert {name: theirs[name] for name in both} == {
                name: ours[name] for name in both}, index
            assert sum(flat for flat, _ in theirs.values()) == sum(
                flat for flat, _ in ours.values())
        assert our_top(tmp_path, tmp_path / "now.heap", "inuse_space")["keep_large"][0] > 0


@needs_go
@pytest.mark.parametrize("index", FOUR)
def test_a_converted_dump_equals_it(index, tmp_path):
    """With threads, whose parts add up to their stack; and the sums are jeprof's but for the
    rounding of each stack."""
    words = ["-d", str(DATA / "prof")]
    path = tmp_path / "out.pb.gz"
    assert memoir(tmp_path, "heap", "--pprof", "-o", str(path), *words,
                  str(DATA / "out.heap")).status == 0
    ours = our_top(tmp_path, DATA / "out.heap", index, *words)
    assert go_top(tmp_path, path, index) == ours
    exact = memoir(tmp_path, "heap", "--show_bytes", f"--{index}", f"--ignore={AGENT}", *words,
                   str(DATA / "out.heap")).stdout.decode()
    for line in exact.splitlines()[1:]:
        cells = line.split(None, 5)
        assert abs(int(cells[3]) - ours.get(cells[5], (0, 0))[1]) <= 10


@needs_jemalloc
def test_parca_of_the_agent(compile_program, tmp_path):
    """Rules that Parca refuses a profile by: see pprof.py, where each is an assertion."""
    with Target([compile_program("agent_target")], tmp_path,
                "prof:true,prof_accum:true,lg_prof_sample:10") as target:
        target.do("keep 500")
        for path in "heap", "allocs":
            profile = Profile(target.get(f"/debug/pprof/{path}").body)
            assert [t[0] for t in profile.types] == FOUR and profile.samples
            assert all(labels["bytes"] for _, _, labels in profile.samples)


@pytest.mark.parametrize("name,types", [("out", FOUR), ("second_run", FOUR), ("lg0", FOUR[2:]),
                                        ("nounb", FOUR[2:]),
                                        ("ivl_i0", FOUR[2:])])
def test_parca_of_a_dump(name, types, tmp_path):
    path = tmp_path / "out.pb.gz"
    assert memoir(tmp_path, "heap", "--pprof", "-o", str(path),
                  str(DATA / f"{name}.heap")).status == 0
    profile = Profile(path.read_bytes())
    assert [t[0] for t in profile.types] == types and profile.samples and profile.mappings
    total = re.match(r"Total: (\d+)", memoir(tmp_path, "heap", "--show_bytes",
                                             str(DATA / f"{name}.heap")).stdout.decode())
    assert abs(profile.total() - int(total[1])) <= len(profile.samples)


def test_parca_of_a_difference(tmp_path):
    """Negative values, and functions of two runs."""
    path = tmp_path / "out.pb.gz"
    assert memoir(tmp_path, "heap", "--pprof", "-o", str(path), "-d", str(DATA / "prof"), "--base",
                  str(DATA / "out.heap"), str(DATA / "second_run.heap")).status == 0
    profile = Profile(path.read_bytes())
    assert abs(profile.total() + 200142) <= len(profile.samples)
    assert min(v[-1] for _, v, _ in profile.samples) < 0


def build_ids(profile):
    """{file name: build id} of a profile's mappings."""
    return {os.path.basename(profile.text(m[5])): profile.text(m[6]) for m in profile.mappings
            if m.get(5) and m.get(6)}


def build_id_of(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True,
                           check=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


@needs_jemalloc
def test_build_ids(compile_program, tmp_path):
    """Each mapping has that of its file: from the agent, of a dump that it gave, and of one that
    only says where files were."""
    program = compile_program("agent_target")
    with Target([program], tmp_path, "prof:true,lg_prof_sample:10") as target:
        target.do("keep 500")
        found = [build_ids(Profile(target.get("/debug/pprof/heap").body))]
        whole = target.get("/pprof/heap").body
    plain = re.sub(rb"^# build-id.*\n", b"", whole, flags=re.MULTILINE)
    assert plain != whole
    for number, dump in enumerate((whole, plain)):
        (tmp_path / f"{number}.heap").write_bytes(dump)
        path = tmp_path / f"{number}.pb.gz"
        assert memoir(tmp_path, "heap", "--pprof", "-o", str(path),
                      str(tmp_path / f"{number}.heap")).status == 0
        found.append(build_ids(Profile(path.read_bytes())))
    libc = re.search(rb"(/\S+/libc\.so\.6)$", whole, re.MULTILINE)[1].decode()
    for ids in found:
        assert (ids[os.path.basename(program)] == build_id_of(program)
                and ids["libc.so.6"] == build_id_of(libc))
