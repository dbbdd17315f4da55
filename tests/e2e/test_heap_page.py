# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server, used in a browser: heap profiles.  MEMOIR_SHOTS=DIR keeps the
screenshots."""
import base64
import gzip
import os
import pathlib
import re
import subprocess

import pytest

import harness
import serving
from test_page import binary, run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    out = os.environ.get("MEMOIR_SHOTS") or tmp_path_factory.mktemp("heap")
    os.makedirs(out, exist_ok=True)
    with serving.Server(DATA / "json_small.json", options=("-d", str(DATA / "prof"))) as server:
        server.ready()
        return run_walk("page_heap_walk.mjs", {
            "address": server.address, "first": str(DATA / "out.heap"),
            "second": str(DATA / "second_run.heap")}, out)


def heap(*words):
    return subprocess.run([harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof",
                           *map(str, words)], capture_output=True,
                          check=True, timeout=120).stdout


def test_files(seen):
    """Chosen, dropped, broken, unknown."""
    is_ = walked(seen, "files")
    assert is_["nothing"] == "Drop a heap profile here, or choose one"
    title, facts, said, address = is_["first"]
    assert (title == "out.heap" and facts.startswith("prof · 8 stacks · 3 threads")
            and re.fullmatch(r"#/heap/[0-9a-f]{32}", address))
    assert (binary(said) == pytest.approx(40342092, rel=0.002)
            and "in 4,883 blocks · a sample every 4.00 KiB" in said)
    assert (is_["second"][0] == "second_run.heap"
            and binary(is_["second"][1]) == pytest.approx(40141950, rel=0.002))
    assert is_["files"] == ["out.heap", "second_run.heap"]
    assert set(is_["column"]) == {"Recordings", "Statistics", "Heap profile",
                                  "This view as a script"}
    assert ("bad.heap cannot be shown" in is_["broken"]
            and "the sampling rate is not a number" in is_["broken"])
    assert is_["unknown"] == "The server does not have this file"


def test_graph(seen):
    is_ = walked(seen, "graph")
    assert ({"all", "clone3", "thr", "worker", "inl", "main"} <= set(is_["names"])
            and is_["title"].startswith("Heap profile"))
    assert is_["up"][:2] == ["worker", "inl"] and set(is_["threads"]) == {"t0", "wrk-0", "wrk-1"}
    assert is_["back"][0] == is_["names"] and "shape" not in is_["back"][1]
    assert ("4,883 blocks" in is_["blocks"][0] and is_["blocks"][1].startswith("worker")
            and "3,390" in is_["blocks"][1])
    assert (binary(is_["ever"]) == pytest.approx(41629943, rel=0.002)
            and "allocated in 8,192 blocks" in is_["ever"])
    assert (re.match(r"start_thread: 25\.6 MiB, 66\.4 % of all", is_["spoken"])
            and "start_thread" in is_["zoomed"])
    assert is_["as_table"] >= 10


def test_table_and_links(seen):
    """Each number of the table leads to exactly what it counts."""
    is_ = walked(seen, "links")
    assert (is_["rows"][0].split("\n")[0] == "worker" and "34.0 MiB" in is_["rows"][0]
            and "38.4 MiB" in is_["rows"][0])
    focus, said, names = is_["through"]
    assert (focus == "^inl$" and binary(said) == pytest.approx(4592829, rel=0.002)
            and "1,478 blocks" in said and "inl" in names)
    assert (is_["own"][0].startswith("all › worker") and "34.0 MiB" in is_["own"][0]
            and is_["own"][1] == "worker" and "34.0 MiB in 3,390 blocks" in is_["own_foot"])
    assert is_["lit"][0] == "^thr$" and re.match(r"66\.4 % in 1 box", is_["lit"][1])
    assert {"Only stacks through it", "No stacks through it", "Leave its frames out",
            "Find it in the table"} <= {
        item.split("\n")[0] for item in is_["menu"]}
    assert (is_["found"][0] == "thr" and any(row.startswith("thr") for row in is_["found"][1])
            and len(is_["found"][1]) < len(is_["rows"]))
    assert (is_["without"][0] == "^thr$"
            and binary(is_["without"][1]) == pytest.approx(40342092 - 26804609, rel=0.002))
    assert is_["by_total"][0] == "-cum" and is_["by_total"][1].startswith("worker")
    assert (is_["by_name"] == sorted(is_["by_name"]) and "26.8" not in is_["peek"]
            and "called by thr" in is_["peek"])


def test_asking(seen):
    is_ = walked(seen, "asking")
    assert is_["focused"] == "focus" and binary(is_["focus"]) == pytest.approx(26804609, rel=0.002)
    wrong, invalid, failures, names = is_["wrong"]
    assert ("missing closing parenthesis" in wrong and invalid == "true" and failures == 0
            and "thr" in names)
    assert is_["empty"][0] == "Nothing in use that matches"
    assert binary(is_["thread"][0]) == pytest.approx(13407008, rel=0.002) and is_["thread"][1] == [
        "all 3", "t0: 12.9 MiB", "wrk-0: 12.8 MiB", "wrk-1: 12.8 MiB"]
    assert (is_["lines"][1] == "Lines"
            and any(re.match(r"worker \S*prof\.c:\d+", row) for row in is_["lines"][0]))
    assert (any("jemalloc" in row for row in is_["allocator"])
            and not any("jemalloc" in row for row in is_["lines"][0]))


def test_compare(seen):
    """The difference, in words, in colours and in the table; from the view and from the list of
    files."""
    is_ = walked(seen, "compare")
    assert is_["title"] == "Difference" and "−195 KiB (−0.5 %) against out.heap" in is_["said"]
    assert (is_["rows"][0].startswith("worker") and "−191 KiB" in is_["rows"][0]
            and is_["permalink"] == is_["rows"])
    assert "more than before" in is_["legend"] and "less" in is_["legend"]
    assert ("+195 KiB (+0.5 %) against second_run.heap" in is_["swapped"]
            and is_["back"] == is_["said"] == is_["ticked"])
    row = next(row for row in is_["listed"] if "out.heap" in row)
    assert ("prof" in row and "heap profile" in row and "38.5 MiB in use in 4,883 blocks · a "
            "sample every 4.00 KiB" in row and "3 threads" in row)


def test_downloads(seen):
    is_ = walked(seen, "downloads")
    reports = re.findall(r"^  --(text|tree|peek|collapsed|dot|callgrind|pprof)\b",
                         heap("--help").decode(), flags=re.M)
    assert (set(reports) | {"the dump"} <= set(is_["offered"])
            and "of what is asked for above" in is_["said"])
    assert is_["collapsed"]["name"] == "prof.collapsed.txt"
    assert base64.b64decode(is_["collapsed"]["bytes"]) == heap(
        "--collapsed", "--focus=inl", DATA / "out.heap")
    assert (gzip.decompress(base64.b64decode(is_["pprof"]["bytes"]))
            and is_["pprof"]["name"] == "prof.pb.gz")
    assert (base64.b64decode(is_["raw"]["bytes"]) == (DATA / "out.heap").read_bytes()
            and is_["raw"]["name"] == "out.heap")


def test_looks(seen):
    """Serious findings of axe, and what is wider than the window: none, light and dark, narrow and
    wide."""
    walked(seen, "looks")
    assert ({place: found for place, found in seen["violations"].items() if found} == {}
            and len(seen["violations"]) >= 7)
    assert seen["overflow"] == []


def test_no_problems(seen):
    """The console is silent but for the expression that cannot be read."""
    assert [text for text in seen["problems"] if "status of 400" not in text] == []
