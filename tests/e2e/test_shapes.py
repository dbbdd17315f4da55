# SPDX-License-Identifier: MIT OR Apache-2.0
"""Trees, time series, histograms and fragmentation of a program whose shapes are known."""
import csv
import io

import pytest

import harness

REGION = 65536


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


@pytest.fixture(scope="module")
def path(tmp_path_factory, compile_program):
    program = compile_program("shapes", flags=("-O1",))
    path = str(tmp_path_factory.mktemp("shapes") / "out.dat")
    assert harness.record([program], path).status == 0
    return path


def find(node, name):
    """The first node of a tree with this name."""
    if node["name"] == name:
        return node
    for child in node["children"]:
        found = find(child, name)
        if found:
            return found
    return None


def test_tree_top_down(path):
    tree = harness.ask("tree", "--json", "-m", "leaked", path)["tree"]
    work = find(tree, "work")
    assert (work["bytes"], work["count"]) == (10 * 1000 + 5 * 20000 + 300, 16)
    assert work["self_count"] == 0
    assert [c["name"] for c in work["children"]] == ["keep_large", "keep_small", "recurse"]
    small = find(work, "keep_small")
    assert (small["self_bytes"], small["self_count"], small["children"]) == (10000, 10, [])
    depth, node = 0, find(work, "recurse")
    while node["children"]:
        depth, node = depth + 1, node["children"][0]
        assert node["name"] == "recurse" and node["bytes"] == 300
    assert depth == 7
    assert small["first_ns"] <= small["last_ns"] <= node["first_ns"]


def test_tree_bottom_up(path):
    tree = harness.ask("tree", "--json", "-m", "leaked", "--bottom-up", path)["tree"]
    small = next(c for c in tree["children"] if c["name"] == "keep_small")
    assert small["bytes"] == 10000
    assert [c["name"] for c in small["children"]] == ["work"]
    assert find(small, "main")["bytes"] == 10000


def test_tree_recursion_counts_once(path):
    functions = {f["name"]: f
                 for f in harness.ask("functions", "--json", "-m", "leaked", path)["functions"]}
    assert functions["recurse"]["bytes"] == 300
    assert functions["work"]["bytes"] == 110300
    assert functions["work"]["self_bytes"] == 0


def test_tree_pruned_and_keyed(path):
    tree = harness.ask("tree", "--json", "-m", "leaked", "--filter", 'function ~ "^work$"',
                       "--min-share", "5",
                       "--depth", "20", path)["tree"]
    assert tree["bytes"] == 110300
    assert [c["name"] for c in find(tree, "work")["children"]] == [
        "keep_large", "keep_small", "(others)"]
    lines = harness.ask("tree", "--json", "--by", "line", "-m", "leaked", path)["tree"]
    names = []

    def collect(node):
        names.append(node["name"])
        for child in node["children"]:
            collect(child)
    collect(lines)
    assert sum(n.startswith("work at shapes.c:") for n in names) == 3
    modules = harness.ask("tree", "--json", "--by", "module", path)["tree"]
    assert find(modules, "shapes")
    threads = harness.ask("tree", "--json", "--threads", path)["tree"]
    assert all(c["name"].startswith("thread ") for c in threads["children"])


def test_tree_measures(path):
    peak = harness.ask("tree", "--json", path)["tree"]
    info = harness.flatten(harness.ask("info", "--json", path))
    assert peak["bytes"] == info["peak_bytes"]
    everything = harness.ask("tree", "--json", "-m", "allocated", path)["tree"]
    assert everything["bytes"] == info["allocated_bytes"]
    rise = find(everything, "rise_and_fall")
    assert rise["bytes"] == 3000000
    during = harness.ask("tree", "--json", "--at", f"{rise['first_ns'] + 1000000}ns", path)["tree"]
    assert find(during, "rise_and_fall")["bytes"] == 3000000
    assert not find(harness.ask("tree", "--json", "--at", "100%", path)["tree"], "rise_and_fall")
    short = harness.ask("tree", "--json", "--below", "5s", path)["tree"]
    assert find(short, "rise_and_fall") and not find(short, "keep_small")


@pytest.mark.parametrize("width", [60, 80, 120])
def test_tree_fits(path, width):
    text = memoir("tree", "-m", "allocated", "-s", "0.01", path,
                  env={"COLUMNS": str(width)}).stdout.decode()
    assert "keep_small" in text and "100.0 %" in text
    assert max(map(len, text.splitlines()[6:])) <= width + 1
    colored = memoir("tree", "--color", "always", path).stdout
    assert b"\x1b[" in colored
    assert b"\x1b[" not in memoir("tree", path).stdout


def test_timeline(path):
    info = harness.flatten(harness.ask("info", "--json", path))
    series = harness.ask("timeline", "--json", "-n", "50", path)
    assert {len(v) for v in series.values() if isinstance(v, list)} == {51}
    assert max(series["allocated_size"]) == series["peak"]["bytes"] == info["peak_bytes"]
    assert sum(series["allocated_bytes"]) == info["allocated_bytes"]
    assert series["end_size"][-1] == series["leaked_size"][-1]
    assert sum(series["size_delta"]) == series["end_size"][-1] - series["before"]["bytes"]
    assert (series["xs_ns"][0], series["xs_ns"][-1]) == (series["from_ns"], series["to_ns"])
    rows = (list(csv.DictReader(
        io.StringIO(memoir("timeline", "--csv", "-n", "50", path).stdout.decode()))))
    assert [int(r["most_bytes"]) for r in rows] == series["allocated_size"][:-1]
    assert [int(r["bytes"]) for r in rows] == series["end_size"][:-1]
    assert all(a["to_ns"] == b["from_ns"] for a, b in zip(rows, rows[1:]))
    only = harness.ask("timeline", "--json", "-n", "4", "--filter", "size = 3000000", path)
    assert max(only["allocated_size"]) == 3000000 and only["end_size"][-1] == 0
    half = harness.ask("timeline", "--json", "--from", "50%", "-n", "3", path)
    assert half["before"]["bytes"] > 0 and len(half["xs"]) == 4
    text = memoir("timeline", path).stdout.decode()
    assert "█" in text and "leaked" in text
    assert max(map(len, text.splitlines()[6:])) <= 80
    assert memoir("timeline", "--from", "60%", "--to", "40%", path).status == 2


def test_threads(path):
    info = harness.flatten(harness.ask("info", "--json", path))
    answer = harness.ask("threads", "--json", path)
    assert answer["total_count"] == len(answer["threads"])
    assert sum(t["allocated_bytes"] for t in answer["threads"]) == info["allocated_bytes"]
    assert sum(t["peak_bytes"] for t in answer["threads"]) == info["peak_bytes"]
    text = memoir("threads", path, env={"COLUMNS": "150"}).stdout.decode()
    assert "FREED BY OTHERS" in text and str(answer["threads"][0]["thread"]) in text
    assert memoir("threads", "--sort", "size", path).status == 2


def test_histogram(path):
    sizes = harness.ask("histogram", "size", "--json", "--filter", 'function ~ "^work$"', path)
    assert [(b["from"], b["count"]) for b in sizes["bins"] if b["count"]] == [
        (256, 1), (512, 10), (16384, 5)]
    assert [s["size"] for s in sizes["sizes"]] == [20000, 1000, 300]
    lives = harness.ask("histogram", "lifetime", "--json", "--filter", "size = 3000000",
                        path)["bins"]
    assert [(b["from"], b["to"], b["count"]) for b in lives if b["count"]] == [(10**7, 10**8, 1)]
    leaked = harness.ask("histogram", "lifetime", "--json", "-m", "leaked", path)["bins"]
    assert [b["never_freed"] for b in leaked] == [True]
    assert memoir("histogram", "lifetime", path).stdout.count("█".encode()) > 5
    assert memoir("histogram", "weight", path).status == 2
    assert memoir("histogram").status == 2


def test_fragmentation(path):
    """One block of 1,000 bytes (1,000 usable) keeps each region of 64 KiB."""
    at_end = harness.ask("fragmentation", "--at", "100%", "--json", "-n", "1", "-r", "64k",
                         "--over-time", "10", path)
    holder = at_end["holders"][0]
    assert "hole" in [f["function"] for f in holder["backtrace"]]
    held = next(h for h in holder["held"] if h["size"] == REGION)
    assert holder["count"] >= 60
    # Those at the ends of the range may lie beside something else.
    assert holder["count"] - 2 <= held["regions"] <= holder["count"]
    usable = 1000 + holder["slack_bytes"] // holder["count"]
    assert held["pinned_bytes"] == held["regions"] * (REGION - usable)
    level = next(r for r in at_end["regions"] if r["size"] == REGION)
    assert level["nearly_empty"] >= holder["count"] - 2
    assert level["empty_bytes"] >= held["pinned_bytes"]
    last = at_end["over_time"][-1]
    assert [r["regions"] for r in at_end["regions"]] == last["regions"]
    text = memoir("fragmentation", "--at", "100%", path).stdout.decode()
    assert "hole" in text and "64 KiB" in text
    assert memoir("fragmentation", "--region", "5k", path).status == 2


def test_address_space(path):
    """Every cell of the picture is drawn, and none as empty that is not."""
    found = harness.ask("address-space", "--json", "--columns", "40", "--rows", "30", path)
    lines = memoir("address-space", "--columns", "40", "--rows", "30", path).stdout.decode().split(
        "ADDRESS SPACE", 1)[1].splitlines()
    for area in found["areas"]:
        at = next(i for i, line in enumerate(lines)
                  if line.startswith(f"{area['start']:x}-{area['end']:x} "))
        for row in range(area["rows"]):
            cells = area["cells"][row * 40:row * 40 + 40]
            drawn = lines[at + 1 + row][15:]
            assert lines[at + 1 + row].split()[0] == f"{area['start'] + row * area['cell_bytes']:x}"
            assert [c == " " for c in drawn] == [c == 0 for c in cells]
            assert [c == "\u2588" for c in drawn] == [c > 192 for c in cells]
    assert sum(a["rows"] for a in found["areas"]) == found["rows"] <= 30
    assert b"no blocks" in memoir("address-space", "--size-min", "100G", path).stdout


@pytest.fixture(scope="module")
def more(tmp_path_factory, compile_program):
    """Another build of the same program, that keeps more: ten of keep_small, and keep_new."""
    program = compile_program("shapes", flags=("-O0", "-fno-pie", "-no-pie"))
    path = str(tmp_path_factory.mktemp("shapes") / "more.dat")
    assert harness.record([program, "more"], path).status == 0
    return path


WORK = ("--filter", 'function ~ "^work$"')


def test_diff_of_two_builds(path, more):
    found = harness.ask("diff", "--json", "-m", "leaked", *WORK, path, more)
    assert found["total"]["bytes_delta"] == 10 * 1000 + 7777
    assert found["stack_counts"] == {"new": 1, "gone": 0, "grown": 1, "shrunk": 0, "same": 2}
    grown, new = found["stacks"][:2]
    assert (grown["status"], grown["functions"][-3:]) == ("grown", ["main", "work", "keep_small"])
    assert (grown["before_count"], grown["after_count"], grown["bytes_delta"]) == (10, 20, 10000)
    assert (new["status"], new["functions"][-1], new["after_bytes"]) == ("new", "keep_new", 7777)
    functions = {f["function"]: f for f in found["functions"]}
    assert functions["work"]["bytes_delta"] == 17777
    assert functions["recurse"]["status"] == "same" and functions["recurse"]["after_bytes"] == 300
    gone = harness.ask("diff", "--json", "-m", "leaked", *WORK, more, path)
    assert gone["stack_counts"]["gone"] == 1 and gone["stack_counts"]["shrunk"] == 1
    text = memoir("diff", "-m", "leaked", *WORK, path, more).stdout.decode()
    assert "keep_new" in text and "+7.59 KiB" in text and "keep_large" not in text


def test_diff_as_a_gate(path, more):
    def status(*arguments):
        return memoir("diff", "-m", "leaked", *WORK, *arguments, path, more).status
    assert status() == 0
    assert status("--fail-if-grown", "17777") == 0
    assert status("--fail-if-grown", "17776") == 1
    assert status("--fail-if-grown", "20%") == 0
    assert status("--fail-if-grown", "10%") == 1
    assert status("--count", "--fail-if-grown", "10") == 1
    assert status("--count", "--fail-if-grown", "11") == 0
    assert status("--fail-if-grown", "much") == 2
    assert memoir("diff", path).status == 2
    same = harness.ask("diff", "--json", path, path)
    assert same["total"]["status"] == "same" and set(same["stack_counts"]) - {"same"}


def test_what_was_stripped_still_weighs(path, tmp_path):
    stripped = str(tmp_path / "stripped.dat")
    assert memoir("strip", "-t", "10ms", "-o", stripped, path).status == 0
    for measure in ("allocated", "peak", "temporary", "leaked"):
        before = harness.ask("tree", "--json", "-m", measure, path)["tree"]
        after = harness.ask("tree", "--json", "-m", measure, stripped)["tree"]
        assert (after["bytes"], after["count"]) == (before["bytes"], before["count"]), measure
        for name in ("hole", "keep_small", "rise_and_fall"):
            a, b = find(before, name), find(after, name)
            assert (a and (a["bytes"], a["count"])) == (b and (b["bytes"], b["count"])), (
                measure, name)
    assert b"taken out of the recording" in memoir("timeline", stripped).stdout
    assert b"taken out of the recording" not in memoir("timeline", path).stdout
