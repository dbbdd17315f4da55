# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server, used in a browser: its lists and pictures of one recording.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="flat tree" walks nothing else.
"""
import glob
import os
import re
import subprocess
import urllib.parse

import pytest

import harness
import serving
from test_page import binary, run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
PROGRAM = os.path.join(harness.BUILD, "examples", "leaky")
FUNCTION = "load_report"
LEAKING = "session_open"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("views")
    for name in ("demo", "again"):
        assert harness.record([PROGRAM], str(folder / f"{name}.dat")).status == 0
    matters = str(folder / "matters")
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-pthread", "-o", matters,
                    os.path.join(harness.HERE, "verdicts", "matters.cpp")], check=True)
    assert harness.record([matters, "small"], str(folder / "small.dat")).status == 0
    return folder


@pytest.fixture(scope="module")
def groups(folder):
    """Stacks by bytes, as the command line tells them."""
    return harness.ask("groups", "--json", folder / "demo.dat", "-n", "1000")["groups"]


@pytest.fixture(scope="module")
def report(folder):
    return harness.ask("report", "--json", folder / "demo.dat")


@pytest.fixture(scope="module")
def seen(folder, report):
    out = os.environ.get("MEMOIR_SHOTS") or folder
    os.makedirs(out, exist_ok=True)
    with serving.Server(folder / "demo.dat", folder / "again.dat",
                        folder / "small.dat") as server:
        recordings = {r["name"]: r for r in server.ready()}
        first = recordings["demo.dat"]["id"]
        facts = server.get(f"/data/{first}/overview")
        sources = server.get(f"/data/{first}/sources?search=leaky.c")["sources"]
        api = server.get("/api")
        seen = run_walk("page_views_walk.mjs", {
            "address": server.address, "id": first, "second": recordings["again.dat"]["id"],
            "function": FUNCTION, "leaking": LEAKING, "small": recordings["small.dat"]["id"],
            "file": sources[0]["file"], "allocations": facts["allocations"],
            "half": facts["runtime_ns"] / 2e9, "moment": facts["peak"]["at_ns"] / 1e9,
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)
        return {**seen, "api": api}


def number(text):
    return int(text.replace(",", ""))


def blocks(said):
    """How many blocks a heading speaks of."""
    return number(re.search(r"([\d,]+) blocks?", said).group(1))


def canonical(question, api):
    """A question without what is usual anyway, as the server knows it again."""
    path, _, query = question.partition("?")
    row, = (e for e in api["endpoints"] if e["path"] == f"/data/{{id}}/{path}")
    usual = {p["name"]: p.get("default") for p in row["parameters"]}
    given = urllib.parse.parse_qsl(query)
    return path, frozenset((k, v) for k, v in given if k == "measure" or usual.get(k) != v)


def test_first_requests_are_prefetched(seen):
    """The server prefetches what the page will ask: each of it, and nothing else but shapes of
    flame graphs."""
    foreseen = set()
    for path in [*glob.glob(os.path.join(harness.ROOT, "src/answer/*.c")),
                 os.path.join(harness.ROOT, "src/server/prefetch.c")]:
        with open(path, encoding="utf-8") as file:
            text = re.sub(r'"\s+"', "", file.read())
        for question, rows in re.findall(r'\.name = "(\w+)".*?\.prefetch =(.*?\{ 0 \})', text,
                                         flags=re.S):
            foreseen |= {f"{question}?{query}"
                         for query in re.findall(r'\{ \d+, "([^"]*)" \}', rows)}
        foreseen |= {f"{name}?{query}"
                     for name, query in re.findall(r'\{ \d+, "(\w+)", "([^"]*)" \}', text)}
    foreseen = {canonical(q, seen["api"]) for q in foreseen}
    asked = {canonical(q, seen["api"]) for q in walked(seen, "opening")["asked"]}
    assert asked - foreseen == set()
    assert {path for path, _ in foreseen - asked} <= {"flame"}


def test_numbers_lead_to_what_they_count(seen):
    """The place that a link leads to has the same sum, to the byte."""
    followed = walked(seen, "numbers")["followed"]
    assert [f for f in followed if not (f[2] and f[3])] == []
    views = {address.split("/")[0] for address, *_ in followed}
    assert views == {"overview", "leaks", "allocations", "functions", "tree", "threads",
                     "histograms",
                     "source", "address_space", "compare"}
    assert len(followed) > 60
    assert any("zoom=" in href and "shape=up" in href and address.startswith("functions")
               for address, href, *_ in followed)


def test_groups(seen, groups, report):
    is_ = walked(seen, "groups")
    assert binary(is_["said"]) == pytest.approx(report["allocated_bytes"], rel=0.01)
    assert blocks(is_["said"]) == report["allocations"]
    assert (f"{len(groups)} stacks" in is_["said"]
            and len(is_["rows"]) == len(groups) == is_["sparks"])
    assert "render_page" in is_["rows"][0] and "leaky.c:" in is_["rows"][0]
    assert "← handle_request ← serve" in is_["rows"][0] and "start_thread" not in is_["rows"][0]
    assert is_["sort"] == "-only_matched.allocated_count" and "render_row" in is_["by_count"][0]
    assert "render_row" in is_["by_count_up"][-1] and is_["back"] == is_["rows"]
    assert is_["frames"].startswith("realloc") or is_["frames"].startswith("malloc")
    assert "start_thread" in is_["frames"] and is_["permalink"] == is_["frames"]
    assert is_["full"] >= 3
    assert is_["bands"] == ["what matches", "the whole stack"] and is_["columns"] == 15
    assert "most at" in is_["whole"]
    assert {"Only this stack", "Without this stack", "Flame graph of this stack"} <= set(
        is_["menu"])
    assert is_["copied"].split("\n")[-1].startswith("clone")
    filter_, rows, said = is_["only"]
    assert re.fullmatch(r"backtrace = \d+", filter_) and rows == 1
    heaviest = groups[0]["only_matched"]
    assert blocks(said) == heaviest["allocated_count"]
    assert (is_["bytes"][:2] == ["flat", filter_]
            and blocks(is_["bytes"][2]) == heaviest["allocated_count"])
    assert is_["csv"]["name"] == "allocations-by-stack.csv"
    lines = is_["csv"]["text"].strip().split("\n")
    assert (len(lines) == len(groups) + 1 == is_["copied_rows"]
            and f",{heaviest['size']}," in lines[1])
    assert 0 < blocks(is_["brushed"]) < report["allocations"]
    assert blocks(is_["moment"]) == report["peak"]["count"] and "alive at" in is_["moment"]


def test_flat(seen, report, folder):
    is_ = walked(seen, "flat")
    assert blocks(is_["said"]) == report["allocations"]
    assert FUNCTION in is_["largest"] and "1.53 MiB" in is_["largest"] and is_["sort"] == "-size"
    assert is_["smallest"] and is_["drawn"] < 40
    assert is_["stacks"] == ["Allocated at", "Reallocated at", "Its realloc chain was freed at"]
    assert {"Only what this stack freed", "Only this size", "Who shares its page"} <= {
        m.split("\n")[0] for m in is_["menu"]}
    assert is_["term"] == f"thread = {is_['thread']}"
    assert {"Show slack", "Show marker", "Show position in chain", "Show chain lifetime"} == {
        m.split("\n")[0] for m in is_["offered"]}
    slack = harness.ask("allocations", "--json", "--no-stacks", folder / "demo.dat", "--sort",
                        "slack", "--order", "dsc", "-n", "3")
    assert [int(re.sub(r"\D", "", text)) for text in is_["slack"][:3]] == [
        a["extra_space"] for a in slack["allocations"]], is_["slack"][:3]


def test_ten_million_rows(seen):
    is_ = walked(seen, "many")
    assert is_["end"] and is_["up"] == "9999998" and abs(int(is_["middle"]) - 5_000_000) < 1000
    assert is_["asked"] < 20 and is_["high"] < 10_000_000


def test_keyboard(seen):
    is_ = walked(seen, "keyboard")
    assert is_["at"] == "1" and is_["spoken"] == "true" and is_["opened"]
    assert is_["menu"] == "Its allocations one by one"
    assert is_["filter"] == f"backtrace = {is_['opened']}"


def test_states(seen):
    is_ = walked(seen, "states")
    assert "No allocation matches" in is_["empty"] and is_["again"] > 3 and is_["skeleton"]
    for view in ("leaks", "functions", "tree", "threads", "histograms", "source",
                 "address_space", "allocations"):
        assert "without the question" in is_[f"empty_{view}"], view
    assert len(is_["failures"]) == 10
    for view, said in is_["failures"].items():
        assert "the disk is full" in said and "Try again" in said, view
        assert int(said.split(" | ")[1]) > 0, view
    assert "sice" in is_["wrong"]
    assert is_["partial"] == "libfoo.so is cut. libfoo.so 1 more warning"


def test_functions(seen, report):
    is_ = walked(seen, "functions")
    assert binary(is_["said"]) == pytest.approx(report["peak"]["bytes"], rel=0.01)
    assert any(row.startswith(FUNCTION) for row in is_["rows"]) and FUNCTION in is_["self"][0]
    assert len(is_["found"]) == 1 and FUNCTION in is_["found"][0] and "no such name" in is_["none"]
    assert (any("leaky.c:" in row for row in is_["lines"])
            and any("leaky" in row for row in is_["modules"]))
    assert binary(is_["leaked"]) == pytest.approx(report["leaked"]["bytes"], rel=0.01)
    assert binary(is_["alive at t"]) == pytest.approx(report["peak"]["bytes"], rel=0.01)
    assert binary(is_["allocated"]) == pytest.approx(report["allocated_bytes"], rel=0.01)
    assert blocks(is_["temporary"]) == report["temporary"]
    assert ("Only what goes through it" in is_["menu"]
            and is_["filter"] == f'function = "{FUNCTION}"')
    assert not any(row.startswith("render_row") for row in is_["only"])
    assert blocks(is_["linked"]) == 1


def test_callers(seen, folder):
    """Callers and callees of a function are the command line's, and lead from one to the other."""
    is_ = walked(seen, "functions")
    found = harness.ask("ask", "callers", "--function", FUNCTION, str(folder / "demo.dat"))
    assert is_["callers"] == [row["name"] for row in found["callers"]]
    assert binary(is_["callers_said"]) == pytest.approx(found["function"]["bytes"], rel=0.01)
    assert any(row.startswith(FUNCTION) for row in is_["callees"])


def test_tree(seen, report):
    is_ = walked(seen, "tree")
    assert binary(is_["said"]) == pytest.approx(report["peak"]["bytes"], rel=0.01)
    assert is_["rows"][0].startswith("▾") and any(FUNCTION in row for row in is_["rows"])
    assert (is_["closed"] == 1 and len(is_["all"]) > len(is_["rows"])
            and is_["permalink"] == is_["all"])
    assert FUNCTION in is_["up"][1] and "thread " in is_["threads"][1]
    assert f"{FUNCTION}:" in is_["linked"] and blocks(is_["linked"]) == 1


def test_source(seen, report):
    is_ = walked(seen, "source")
    assert any("leaky.c" in row for row in is_["files"]) and is_["file"].endswith("leaky.c")
    assert len(is_["weighed"]) >= 1 and is_["at"].split() and is_["line"] in is_["at"].split()
    assert re.search(r'source = ".*leaky\.c:' + is_["line"] + '"', is_["filter"])
    weight = re.search(r"^([\d.]+ [KM]?i?B)", is_["at"]).group(1)
    assert 0 < binary(weight) <= binary(is_["linked"]) * 1.01
    banner, lines = is_["gone"]
    assert "not on this computer" in banner and "main" in lines[0]


def test_leaks(seen, folder, report):
    is_ = walked(seen, "leaks")
    answer = harness.ask("leaks", "--json", folder / "demo.dat")
    counts = answer["verdict_counts"]
    assert len(is_["rows"]) == is_["curves"] == len(answer["verdicts"]) - counts["pool"]
    assert any(row.startswith(LEAKING) and "serve" in row for row in is_["rows"])
    for row, verdict in zip(is_["rows"], answer["verdicts"]):
        assert row.startswith(verdict["function"]) and verdict["evidence"] in row
    # Red is what grows, and matters.
    assert (is_["bad"] > 0) == (counts["growing"] > 0)
    assert ("grow" in is_["said"]) and (counts["growing"] > 0
                                        or "Nothing that matters grows" in is_["said"])
    folded = " ".join(is_["folded"])
    assert f"in {counts['pool']} pool" in folded and "Held: " in folded
    assert binary(folded.split("Held: ")[1]) == pytest.approx(answer["held"]["bytes"], rel=0.01)
    assert len(is_["pools"]) == len(answer["verdicts"])
    assert "kept on purpose" in is_["pools"][-1] and is_["again"] == is_["rows"]
    assert len(is_["held"]) > len(is_["rows"]) and "held=1" in is_["permalink"]
    said, button, card, bad = is_["small"]
    assert "No single function that matters grows · small ones grow together" in said and bad == 0
    assert re.match(r"Small: .* MiB in 20\d functions", button[0]) and "leak_little" not in card
    counted, pressed, bad = is_["all"]
    assert number(counted.split()[0]) >= 201 and pressed == "true" and bad == 0
    assert any("Its allocations" in item for item in is_["menu"])
    assert len(is_["asked"]) == 1 and is_["asked"][0].startswith(LEAKING)
    assert is_["flame"] == is_["filter"]
    assert is_["filter"].startswith(f"function ~ {LEAKING} and leaked and ")
    assert blocks(is_["linked"]) == 4000


def test_threads(seen, report):
    is_ = walked(seen, "threads")
    assert "3 threads" in is_["said"] and len(is_["rows"]) == 3
    # Whatever it is called: a name that is set late may not be seen.
    assert "4,000 blocks" in is_["by_leaked"][0]
    assert any("Only this thread" in item for item in is_["menu"])
    assert re.fullmatch(r"thread = \d+ and leaked", is_["filter"])
    assert 0 < blocks(is_["linked"]) <= report["leaked"]["count"]


def test_histograms(seen, report):
    is_ = walked(seen, "histograms")
    assert blocks(is_["total"]) == report["allocations"]
    assert "1.00 KiB to under 2.00 KiB" in is_["said"][0] and "%" in is_["said"][1]
    assert "sizes" in is_["said"][2] and min(is_["bars"]) > 8
    assert "128 B to 255 B" in is_["tip"] and "64 B to 127 B" in is_["focused"]
    assert is_["weight"] == "count" and "64 B to 127 B" in is_["table"][1]
    assert is_["filter"] == "leaked" and blocks(is_["linked"]) == report["leaked"]["count"]


def test_address_space(seen):
    is_ = walked(seen, "address")
    assert is_["areas"] >= 2 and max(is_["colours"]) > 3 and "in use" in is_["said"]
    assert (is_["holders"] and re.fullmatch("[0-9a-f]+-[0-9a-f]+", is_["region"])
            and float(is_["at"]) > 0)
    assert "between 0x" in is_["region_said"] or "Nothing" in is_["region_said"]
    low, high = (int(part, 16) for part in is_["zoom"].split("-"))
    assert low < high and "in use at" in is_["keyed"] and len(is_["table"]) == is_["areas"]


def test_compare(seen):
    is_ = walked(seen, "compare")
    assert ("stacks:" in is_["said"] and is_["functions"] and is_["stacks"]
            and is_["weight"] == "count")
    assert "→" in is_["self"] and "at the peak" not in is_["self"]
    assert (binary(is_["moment"].split("→")[1]) > 3e6
            and any(FUNCTION in row for row in is_["changed"]))
    assert is_["sorted"] == "who" and re.fullmatch("[0-9a-f]{32}", is_["swapped"])


def test_downloads(seen):
    is_ = walked(seen, "downloads")
    assert "the question" in is_["said"] and len(is_["links"]) == len(is_["answers"]) >= 15
    # The heading and the table's foot say the same.
    assert is_["said"].split(",")[0] == is_["counted"] == f"{len(is_['links'])} files"
    for file, status, length in is_["answers"]:
        assert status == 200 and length > 0, file
    assert all("filter=size" in address for _, address in is_["links"])
    assert is_["grouped"] == 2 and is_["csv"][0] == "leaky.csv" and "," in is_["csv"][1]


def test_looks(seen):
    """Every view at 1280 and 2560 pixels, light and dark; nothing is wider than the window."""
    assert walked(seen, "looks")["views"] == 24
    assert not seen["overflow"]


def test_accessible(seen):
    assert len(seen["violations"]) == 25
    assert {name: found for name, found in seen["violations"].items() if found} == {}


def test_no_problems(seen):
    """No message on the console (the policy of the page would say so there), no other address."""
    assert seen["problems"] == []
