# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap: dumps of jemalloc's profiler.  Amounts are those of jeprof, to the
digit."""
import csv
import gzip
import json
import pathlib
import re
import shutil
import subprocess

import pytest

import harness

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
OUT = DATA / "out.heap"


def heap(*words, **keywords):
    return subprocess.run(
        [harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", *map(str, words)],
                          capture_output=True, text=True, **keywords)


def rows(*words):
    """{name: (flat, cumulative)} and the total."""
    done = heap(*words)
    assert (done.returncode, done.stderr) == (0, "")
    total, *lines = done.stdout.splitlines()
    found = {}
    for line in lines:
        flat, _, _, cum, _, name = line.split(None, 5)
        found[name] = (float(flat), float(cum))
    # Of all that is in the dump, or of what is shown of it.
    return found, float(re.fullmatch(r"Total(?: \(t\d+\))?: (?:.*, of which )?([-\d.]+) \w+",
                                     total)[1])


@pytest.mark.parametrize("words,expected", [
    ([], 40342092), (["--inuse_objects"], 4883), (["--alloc_space"], 41629943),
    (["--alloc_objects"], 8192),
    (["--thread", "0"], 13537483), (["--thread", "1"], 13407008), (["--thread=2"], 13401750)])
def test_totals_of_the_dump(words, expected):
    assert rows("--show_bytes", *words, OUT)[1] == expected


def test_an_empty_dump():
    done = heap(DATA / "leak_error_empty.heap")
    assert done.returncode == 1
    assert ("leak_error_empty.heap: the dump is empty" in done.stderr
            and done.stderr.count("\n") == 1)


def test_everything_was_counted():
    assert rows("--show_bytes", DATA / "lg0.heap")[1] == 5201920
    assert rows("--inuse_objects", DATA / "lg0.heap")[1] == 1001


def test_flat_and_cumulative():
    found, _ = rows("--show_bytes", OUT)
    assert found["worker"] == (35663084, 40255913)
    assert found["inl"][0] == 4592829


def test_collapsed_report():
    lines = heap("--collapsed", OUT).stdout.splitlines()
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in lines) - 40342092) <= len(lines)
    assert all(line.rsplit(" ", 1)[0].split(";")[0] in ("_start", "clone3", "_dl_start_user")
               for line in lines)


def test_callgrind_report(tmp_path):
    path = tmp_path / "callgrind.out"
    assert heap("--callgrind", "-o", path, OUT).returncode == 0
    text = path.read_text()
    assert not re.search(r"^c?fn=$", text, re.MULTILINE)
    done = subprocess.run(["callgrind_annotate", path], capture_output=True, text=True)
    assert done.returncode == 0 and "malformed" not in done.stderr
    assert re.search(r"^35,663,084 .*:worker$", done.stdout, re.MULTILINE)


def test_dot_and_tree():
    graph = heap("--dot", "--nodecount=5", OUT).stdout
    assert graph.startswith("digraph") and len(re.findall(r"^N\d+ \[", graph, re.MULTILINE)) == 5
    assert 'label="worker\\n34.0' in graph
    callers = heap("--peek=^worker$", "--show_bytes", OUT).stdout
    assert callers.splitlines()[2:] == ["    26804609    called by thr",
                                        "    13451304    called by main",
                                        "    40255913  worker", "    35663084    of it itself",
                                        "     4592829    calls inl"]


def test_pprof(tmp_path):
    path = tmp_path / "out.pb.gz"
    assert heap("--pprof", "-o", path, OUT).returncode == 0
    raw = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True,
                         text=True).stdout
    assert "Period: 4096" in raw
    assert ("alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes[dflt]" in
            raw)
    samples = re.findall(r"^ +(\d+) +(\d+) +(\d+) +(\d+): [\d ]+$", raw, re.MULTILINE)
    sums = [sum(int(s[i]) for s in samples) for i in range(4)]
    for found, expected in zip(sums, (8192.37, 41629943.11, 4883.85, 40342092.36)):
        assert abs(found - expected) <= len(samples)
    assert {"t0", "wrk-0", "wrk-1"} == set(re.findall(r"thread:\[(.*)\]", raw))
    top = subprocess.run(["go", "tool", "pprof", "-top", "-unit=b", path], capture_output=True,
                         text=True).stdout
    assert "File: prof\n" in top
    worker = re.search(r"^ *(\d+)B .* worker$", top, re.MULTILINE)
    assert abs(int(worker.group(1)) - 35663084) <= len(samples)


def test_which_stacks_and_frames():
    megabytes = rows("--exclude=worker", OUT)[0]
    assert (megabytes["thr"][0], megabytes["main"][0]) == (25.6, 12.8)
    assert "worker" not in megabytes
    focus, total = rows("--focus=^thr$", OUT)
    assert total == 25.6 and "main" not in focus
    rest, other = rows("--ignore=^thr$", OUT)
    assert "thr" not in rest and abs(total + other - rows(OUT)[1]) < 0.11
    assert set(rows("--retain=^(thr|main)$", OUT)[0]) == {"thr", "main"}
    done = heap("--focus=(", OUT)
    assert done.returncode == 2 and done.stderr.startswith("memoir jemalloc heap: --focus: ")


def test_difference_by_name():
    found, total = rows("--show_bytes", "--base", OUT, DATA / "second_run.heap")
    assert abs(total + 200142) <= 2
    assert abs(found["worker"][1] + 195883) <= 2
    assert not [name for name in found if name.startswith("0x")]


def test_no_frame_of_the_allocator():
    assert not [name for name in rows(OUT)[0] if "jemalloc" in name]
    assert [name for name in rows("--allocator", OUT)[0] if "jemalloc" in name]


def test_dumps_of_the_older_shape(tmp_path):
    """The same stacks as jemalloc 3 and gperftools wrote them."""
    stacks = re.findall(r"^@(.*)\n  t\*: (.*)$", OUT.read_text(), re.MULTILINE)
    older = tmp_path / "older.heap"
    older.write_text("heap profile: 1: 2 [3: 4] @ heap_v2/4096\n" +
                     "".join(f"{counts} @{pcs}\n" for pcs, counts in stacks) +
                     OUT.read_text()[OUT.read_text().index("\nMAPPED"):])
    assert rows("--show_bytes", older) == rows("--show_bytes", OUT)


@pytest.mark.parametrize("text,reason", [
    ("nothing of the kind\n", "at byte 0: this is not a heap profile"),
    ("heap_v2/4096\n  t*: 1: x [0: 0]\n", "at byte 22: a line of a thread is not"),
    ("heap_v2/4096\n  t*: 1: 2 [0: 0]\n@ 0x1 zz\n", "at byte 37: an address is expected"),
    ("heap_v2/many\n", "at byte 7: the sampling rate is not a number")])
def test_bad_dumps(text, reason, tmp_path):
    bad = tmp_path / "bad.heap"
    bad.write_text(text)
    done = heap(bad)
    assert done.returncode == 1
    assert f"bad.heap: {reason}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_usage():
    assert heap().returncode == 2
    assert heap("--thread", "x", OUT).returncode == 2


SYMBOLIZED = """--- symbol
binary=/usr/bin/program
0x0000000000001000 malloc
0x0000000000001fff outer--Counter::operator--(int)--inner
0x0000000000002fff main
---
--- heap
heap_v2/1
  t*: 3: 300 [0: 0]
  t0: 3: 300 [0: 0]
@ 0x1000 0x2000 0x3000
  t*: 3: 300 [0: 0]
  t0: 3: 300 [0: 0]

MAPPED_LIBRARIES:
"""


def test_symbolized(tmp_path):
    """Names are those of the call's address, the outermost first."""
    path = tmp_path / "symbolized.heap"
    path.write_text(SYMBOLIZED)
    found, _ = rows("--show_bytes", path)
    assert found == {"inner": (300, 300), "Counter::operator--(int)": (0, 300), "outer": (0, 300),
                     "main": (0, 300)}


def test_compressed(tmp_path):
    expected = heap("--show_bytes", OUT).stdout
    packed = {"gz": gzip.compress(OUT.read_bytes()),
              "zst": subprocess.run(["zstd", "-qc", OUT], stdout=subprocess.PIPE,
                                    check=True).stdout}
    for name, content in packed.items():
        path = tmp_path / f"out.heap.{name}"
        path.write_bytes(content)
        assert heap("--show_bytes", path).stdout == expected
        assert heap("--show_bytes", "-", stdin=open(path, "rb")).stdout == expected
    cut = tmp_path / "cut.heap.gz"
    cut.write_bytes(packed["gz"][:-200])
    done = heap(cut)
    assert (done.returncode == 1 and "cut.heap.gz: at byte " in done.stderr
            and done.stderr.count("\n") == 1)


def test_the_program_first(tmp_path):
    """As with jeprof; a program alone is no dump."""
    moved = tmp_path / "prof"
    shutil.copy(DATA / "prof", moved)
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--show_bytes", moved, OUT, OUT],
                          capture_output=True,
                          text=True)
    assert "71326168  88.4%  88.4% 80511827  99.8% worker" in done.stdout
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", moved], capture_output=True,
                          text=True)
    assert done.returncode == 2 and "no dump is named" in done.stderr


def test_json_and_csv():
    table = json.loads(heap("--json", "--alloc_space", "--cum", OUT).stdout)
    assert (table["measure"], table["total"]["inuse_space"], table["total"]["alloc_objects"]) == \
        ("alloc_space", 40342092.36, 8192.37)
    amounts = [row["cum"]["alloc_space"] for row in table["rows"]]
    assert amounts == sorted(amounts, reverse=True)
    by_name = {row["name"]: row for row in table["rows"]}
    assert int(by_name["worker"]["flat"]["inuse_space"]) == 35663084
    lines = list(csv.DictReader(heap("--csv", "-n", "3", OUT).stdout.splitlines()))
    assert len(lines) == 3
    for line in lines:
        row = by_name[line["name"]]
        for kind in ("flat", "cum"):
            assert {key: float(line[f"{kind}_{key}"]) for key in row[kind]} == row[kind]


def test_tree_as_json_and_csv():
    tree = json.loads(heap("--peek=^worker$", "--json", OUT).stdout)
    worker, = tree["functions"]
    assert [(r["name"], int(r["amounts"]["inuse_space"])) for r in worker["callers"]] == [
        ("thr", 26804609),
                                                                                       ("main",
                                                                                        13451304)]
    assert [r["name"] for r in worker["callees"]] == ["inl"]
    lines = list(csv.DictReader(heap("--tree", "--csv", OUT).stdout.splitlines()))
    of_worker = [(r["relation"], r["name"]) for r in lines if r["function"] == "worker"]
    assert of_worker == [("caller", "thr"), ("caller", "main"), ("flat", ""), ("cum", ""),
                         ("callee", "inl")]
    assert len({r["function"] for r in lines}) == len(rows(OUT)[0])
    done = heap("--dot", "--json", OUT)
    assert (done.returncode == 2 and done.stderr == "memoir jemalloc heap: --dot cannot be had as "
            "--json\n")
