# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc join: who keeps unused memory, beside a full recording of the same program."""
import collections
import csv
import json
import os
import pathlib

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target, memoir

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
CONF = "prof:true,lg_prof_sample:10"
LARGE = 16384  # the smallest large class
PAGE = 4096
needs_jemalloc = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                    reason="no jemalloc, or no agent")


class Recorded:
    """What a recording knows: who had how much, and whose blocks were in slabs with how many
    holes."""

    def __init__(self, path, bins):
        done = harness.execute([harness.MEMOIR, "allocations", "--csv", path, "--lifetime",
                                "only_leaked"], timeout=LONG)
        assert done.status == 0, done
        self.live = collections.Counter()  # (function, class): bytes
        slabs = {size: collections.defaultdict(list) for size in bins}
        # A slab begins at a page, and its size is the least multiple of a page's and a block's: so
        # where an address is in its page says which of the slab's regions it is.
        index = {size: {i * size % PAGE: i for i in range(regions)}
                 for size, regions in bins.items()}
        for row in csv.DictReader(done.stdout.decode().splitlines()):
            size, address = int(row["usable_size"]), int(row["address"], 0)
            function = row["function"]
            self.live[function, size] += size
            if size in slabs:
                slabs[size][address - index[size][address % PAGE] * size].append(
                    (function, address))
        # (function, class): bytes of holes in the slabs that it shares
        self.unused = collections.Counter()
        for size, found in slabs.items():
            for base, blocks in found.items():
                # A sampled block has pages of its own: one block, where a slab would begin.
                if len(blocks) == 1 and blocks[0][1] == base:
                    continue
                for function, _ in blocks:
                    self.unused[function, size] += (bins[size] - len(blocks)) * size / len(blocks)


def near(found, expected, least):
    """Both within 10 %, for each that is at least so much."""
    major = {key: value for key, value in expected.items() if value >= least}
    assert major
    for key, value in major.items():
        assert (abs(found.get(key, 0) - value) <=
                0.1 * value), f"{key}: {found.get(key, 0)}, not {value}"
    return major


def parts(answer, field):
    return {(stack["frames"][0], part["size"]): part[field] for stack in answer["stacks"]
            for part in stack["classes"]}


@needs_jemalloc
def test_as_a_full_recording(compile_program, record, tmp_path):
    """Live bytes and unused ones, by stack and size class: of a dump and statistics, and of every
    address."""
    program = compile_program("fragments")
    with Target([program], tmp_path, CONF) as target:
        assert memoir(tmp_path, "ctl", "-o", str(tmp_path / "a.heap"), str(target.pid),
                      "dump").status == 0
        (tmp_path / "a.json").write_bytes(target.get("/stats?J").body)
        live = json.loads(memoir(tmp_path, "join", "--json", str(target.pid)).stdout)
    done = memoir(tmp_path, "join", "--json", str(tmp_path / "a.heap"), str(tmp_path / "a.json"))
    assert (done.status, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    stats = json.loads((tmp_path / "a.json").read_bytes())["jemalloc"]
    bins = {b["size"]: b["nregs"] for b in stats["arenas"]["bin"]}
    recording = record([program], env={"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": CONF}, timeout=LONG)
    truth = Recorded(recording.path, bins)

    # Who has how much.
    total = sum(truth.live.values())
    for found in answer, live:
        near(parts(found, "live_bytes"), truth.live, 0.05 * total)
    # Whose blocks keep the holes: each slab's own, though the join knows sums only.
    least = 0.05 * sum(truth.unused.values())
    for found in answer, live:
        major = near(parts(found, "unused_bytes"), truth.unused, least)
    assert {name for name, _ in major} == {"nodes", "names", "rows", "more", "texts"}
    assert ("rows", 192) in major and ("more", 192) in major and ("texts", 896) in major
    # The same with the statistics' classes instead of addresses.
    classes = {c["size"]: c for c in answer["classes"]}
    counts = {key: value / key[1] for key, value in truth.live.items()}
    share = {(name, size): classes[size]["unused_bytes"] * n / sum(
        v for (_, s), v in counts.items() if s == size)
             for (name, size), n in counts.items() if size < LARGE}
    near(parts(answer, "unused_bytes"), share, least)
    # A block that was sampled is no longer in its slab, and that is known.
    assert abs(classes[LARGE]["sampled"] - classes[LARGE]["live"]) <= 0.1 * classes[LARGE]["live"]
    assert [s["frames"][0] for s in answer["stacks"] if s["mixed"]] == ["texts"]


def sums(answer):
    assert answer["unused"] == answer["slabs"] + answer["large_padding"]
    assert answer["unused"] + answer["unexplained"] == answer["active"] - answer["allocated"]
    assert answer["unused"] == sum(c["unused_bytes"] for c in answer["classes"])
    assert abs(answer["in_stacks"] - sum(s["unused_bytes"] for s in answer["stacks"])) < 0.01 * (
        len(answer["stacks"]) + 1)
    assert abs(answer["in_stacks"] + answer["in_no_stack"] - answer["unused"]) < 0.02
    for c in answer["classes"]:
        assert abs(sum(s["unused_bytes"] for s in c["stacks"]) + c["in_no_stack"] -
                   c["unused_bytes"]) < 0.02 * (
            len(c["stacks"]) + 1)
        assert c["in_stacks"] <= max(c["unused_bytes"], 0) + 0.01


@pytest.mark.parametrize("stats,unused", [("json_full.json", 7138176), ("text_full.txt", None),
                                          ("json_521.json", None)])
def test_totals_are_those_of_the_statistics(stats, unused, tmp_path):
    """Whatever is joined: nothing is lost and nothing is made up."""
    done = memoir(tmp_path, "join", "--json", "-d", str(DATA / "prof"), str(DATA / "out.heap"),
                  str(DATA / stats))
    assert (done.status, done.stderr) == (0, b"")
    answer = json.loads(done.stdout)
    sums(answer)
    if unused:
        assert answer["unused"] == unused
    assert abs(answer["live_bytes"] - 40342092.36) < 0.01
    text = memoir(tmp_path, "join", "--csv", "-d", str(DATA / "prof"), str(DATA / "out.heap"),
                  str(DATA / stats))
    rows = list(csv.DictReader(text.stdout.decode().splitlines()))
    assert abs(sum(float(row["unused_bytes"]) for row in rows) - answer["unused"]) <= 0.01 * len(
        rows)
    inside = sum(float(row["live_bytes"]) for row in rows if row["stack"])
    assert abs(inside - sum(p["live_bytes"] for s in answer["stacks"]
                            for p in s["classes"])) <= 0.01 * len(rows)


def test_for_people(tmp_path):
    done = memoir(tmp_path, "join", "-n", "2", "-d", str(DATA / "prof"), str(DATA / "out.heap"),
                  str(DATA / "json_full.json"))
    lines = done.stdout.decode().splitlines()
    assert "6.81 MiB between them" in lines[0]
    assert any(line.strip().endswith("free regions in slabs") for line in lines)
    assert "STACKS  unused memory, by who has the blocks that keep it" in lines
    assert any("worker" in line for line in lines)


@pytest.mark.parametrize("words,status,reason", [
    ([], 2, "a dump and statistics, or a process with an agent"),
    (["out.heap", "json_full.json", "more"], 2, "a dump and statistics"),
    (["--json", "--csv", "out.heap", "json_full.json"], 2, "JSON or CSV"),
    (["out.heap", "out.heap"], 1, "out.heap holds no jemalloc statistics"),
    (["json_full.json", "json_full.json"], 1,
     "json_full.json: at byte 0: this is not a heap profile"),
    (["leak_error_empty.heap", "json_full.json"], 1, "leak_error_empty.heap: the dump is empty"),
    (["out.heap", "json_small.json"], 1, "the statistics have no size classes"),
    (["http://127.0.0.1:1"], 1, "http://127.0.0.1:1: ")])
def test_what_cannot_be(words, status, reason, tmp_path):
    done = memoir(tmp_path, "join",
                  *[str(DATA / w) if "." in w and ":" not in w else w for w in words])
    assert done.status == status and done.stdout == b""
    assert done.stderr.startswith(b"memoir jemalloc join: ") and reason in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1
