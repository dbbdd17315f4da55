# SPDX-License-Identifier: MIT OR Apache-2.0
"""The console of the page, used in a browser: editor, output, keys, examples, views as scripts.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="looks runs" walks nothing else.
"""
import os
import re

import pytest

import harness
import page_addresses
import serving
from test_page import binary, run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
PROGRAM = os.path.join(harness.BUILD, "examples", "leaky")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("console")
    for name in ("demo", "again"):
        assert harness.record([PROGRAM], str(folder / f"{name}.dat")).status == 0
    assert harness.execute([harness.MEMOIR, "run", "--children", "-o", f"{folder}/tree/", "--",
                            "sh", "-c", f"{PROGRAM}; true"]).status == 0
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return harness.ask("report", "--json", folder / "demo.dat")


def asked_views(first, second):
    """Addresses of all views, some with what can be asked in them."""
    views = page_addresses.of_views(first)
    del views["script"]
    views["compare"] = f"compare/{first}?against={second}"
    more = {"leaked": f"functions/{first}?measure=leaked&filter=size+%3E+64",
            "module": f"functions/{first}?by=module&measure=allocated&weight=count",
            "up": f"tree/{first}?direction=up&measure=leaked",
            "threads_tree": f"tree/{first}?by=thread", "lines": f"source/{first}?file=leaky.c",
            "moment": f"allocations/{first}?at=0.05&sort=only_matched.allocated_count",
            "range": f"flame/{first}?from=0.01&to=0.1&weight=count",
            "callers": f"functions/{first}?function=load_report",
            "moments": f"compare/{first}?against={first}&at=0.1&at_other=0.02"}
    return views | more


@pytest.fixture(scope="module")
def seen(folder):
    out = os.environ.get("MEMOIR_SHOTS") or folder
    os.makedirs(out, exist_ok=True)
    jemalloc = [os.path.join(harness.ROOT, "tests/data/jemalloc", name)
                for name in ("out.heap", "out2.heap", "json_full.json")]
    with serving.Server(folder / "demo.dat", folder / "again.dat", *jemalloc,
                        folder / "tree") as server:
        found = server.ready()
        recordings = {r["name"]: r["id"] for r in found}
        first, second = recordings["demo.dat"], recordings["again.dat"]
        heap, before = recordings["out2.heap"], recordings["out.heap"]
        return run_walk("page_console_walk.mjs", {
            "address": server.address, "id": first, "second": second, "pid": server.process.pid,
            "others": {"heap": "heap", "statistics": "statistics", "processes": "processes",
                       "grown": f"heap/{heap}?base={before}&weight=count&by=line&focus=main"},
            "views": asked_views(first, second),
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)


def number(text):
    return int(text.replace(",", ""))


def test_nothing_goes_wrong(seen):
    """No message of the browser's, nothing asked of elsewhere, nothing too wide, nothing that
    cannot be reached or read."""
    assert seen["problems"] == [] and seen["overflow"] == []
    assert {name: found for name, found in seen["violations"].items() if found} == {}


def test_looks(seen):
    assert walked(seen, "looks")["first"] == ["-- Who leaks most?  Ctrl-Enter runs it."] * 6


def test_runs(seen, report):
    is_ = walked(seen, "runs")
    leaked = report["leaked"]
    assert is_["said"].startswith("ran for ")
    assert is_["line"].strip() == (f"{leaked['count']} allocations of {report['allocations']} "
                                   f"allocations were never freed: {leaked['bytes']} bytes")
    assert [name.strip(" ↑↓") for name in is_["head"]] == ["group", "allocations", "size",
                                                          "leaked size"]
    sizes = [binary(row.split("\n")[2]) for row in is_["rows"]]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) > 2
    assert "session_open" in "".join(is_["rows"])
    assert [binary(row.split("\n")[2]) for row in is_["sorted"]] == sorted(sizes)
    (width, name), = is_["images"]
    assert width > 100 and name == "memory.svg"
    # The link leads to what it counts, and the script is there again.
    assert is_["filter"] == "leaked" and f"{leaked['count']:,} blocks" in is_["followed"]
    assert is_["back"] == is_["text"]
    first = number(is_["groups"][0].split("\n")[1].split()[0])
    assert len(is_["groups"]) == 3 and re.search(rf"\b{first:,} blocks?\b", is_["group"])


def test_an_expression_is_shown(seen, report):
    shown = {text: rest for text, *rest in walked(seen, "expressions")["shown"]}
    leaked = report["leaked"]
    said, links, _, _ = shown["allocations():only_leaked()"]
    assert said.strip() == f"{leaked['count']} allocations, {leaked['bytes']} bytes" and links == 1
    assert shown["1 + 1"][0].strip() == "2" and shown["{1, 2}"][0].split() == ["[", "1,", "2", "]"]
    assert shown["{{a = 1}, {a = 2}}"][2] == 2
    assert shown['allocations():group_by("thread")'][2] == 3
    assert shown["graph():add(allocations())"][3] == 1


def test_stops(seen):
    is_ = walked(seen, "stops")
    for way, running, stopped, output in is_["ways"]:
        assert running.startswith("running") and stopped == "stopped", way
        assert output.strip() == "at once", way
    assert len(is_["ways"]) == 3 and is_["again"].strip() == "free 3"
    # Another program may have the processor once; a tenth of a second is the promise.
    assert [threads for threads, _ in is_["took"]] == [1] * 5
    assert sorted(ms for _, ms in is_["took"])[1] < 100, is_["took"]


def test_errors(seen):
    is_ = walked(seen, "errors")
    assert is_["said"].startswith("failed after ") and is_["output"].strip() == "before"
    assert is_["alert"].startswith("Line 3: attempt to call a nil value")
    assert is_["marked"] == ["nothing()"] and is_["mended"] == "-- nothing()"
    assert is_["unmarked"] == 0 and is_["after"] == 0
    assert "too large" in is_["large"] and is_["lines"] == 2000 and "more lines" in is_["more"]


def test_completes(seen):
    is_ = walked(seen, "completes")
    assert "only_leaked" in is_["method"]
    assert is_["accepted"].startswith("allocations():only_leaked")
    assert set(is_["variable"]) == {"sort_by", "sort_by_size", "sort_by_count"}
    assert is_["loop"] == ["backtrace_id"] and "leakiest" in is_["global"]
    assert is_["key"] == ["responsible"] and "size" in is_["filter"]
    assert is_["closed"] == 0 and is_["inside"] == "The script"


def test_keyboard_only(seen):
    is_ = walked(seen, "keyboard")
    assert is_["typed"].endswith("-- /?dts") and is_["theme"] == "light"
    assert is_["indented"] == "  " + is_["typed"] and is_["held"] == "The script"
    assert is_["left"] == "Run" and is_["to_picture"] < 12
    numbers = [int(text.split()[0]) for text in is_["zoom"]]
    assert numbers[1] == 100 and numbers[2] == 150 and numbers[3] == 200 and numbers[4] == 150
    assert numbers[5] == numbers[0] and is_["after"] == "d.svg: larger"
    assert len(is_["examples"]) == 12 and is_["example"].startswith("-- Budget of threads")
    assert is_["ran"].startswith("ran for ") and is_["to_history"] < 6
    assert [text.split("\n")[0] for text in is_["past"]][0].startswith("Budget of threads")
    assert is_["again"] == is_["typed"]


def test_shares(seen, report):
    is_ = walked(seen, "shares")
    assert "code=" in is_["address"] and len(is_["address"]) < 400
    assert is_["same"] and is_["nothing"] == [0, 0] and is_["ran"].strip() == "shared"
    assert is_["colours"] == ["let"]
    said, links = is_["rhai"]
    assert said.strip() == f"{report['leaked']['count']} allocations in `" and links == 1
    assert "cut off" in is_["cut"]


def test_every_view_is_a_script(seen, folder, report):
    """What a view's script puts out is what the view's question answers."""
    is_ = walked(seen, "views")
    views = is_["views"]
    for name, view in views.items():
        assert view["said"].startswith("ran for ") and view["alerts"] == [], (name, view)
        assert view["output"].strip() or view["pictures"], (name, view)
        assert "local chosen = " in view["text"], name
    assert is_["by_key"].startswith("#/script/")

    def ask(question, *options):
        return harness.ask("ask", question, *options, folder / "demo.dat")

    assert f"{report['allocations']} allocations: {report['allocated_bytes']} bytes in all" in \
        views["overview"]["output"] and views["overview"]["pictures"] == 1
    leaked = ask("functions", "--measure", "leaked", "-F", "size > 64")
    assert views["leaked"]["output"].startswith(
        f"{leaked['total']['bytes']} bytes in {leaked['total']['count']} blocks")
    best = max(leaked["functions"], key=lambda f: f["own_bytes"])
    assert views["leaked"]["rows"][0].split("\n")[0] == best["name"]
    tree = ask("tree", "--measure", "leaked", "--direction", "up")["tree"]
    assert views["up"]["output"].startswith(f"{tree['name']}  {tree['bytes']}\n")
    moment = ask("matches", "--filter", "alive_at(0.05s)")
    assert views["moment"]["output"].startswith(f"{moment['count']} allocations in ")
    assert views["compare"]["with"] and not views["moments"]["with"]
    for name in ("flame", "range", "download"):
        assert views[name]["pictures"] == 1, name
    assert {"overview", "leaks", "flame", "allocations", "blocks", "functions", "tree", "source",
            "threads", "histograms", "rss", "address_space", "compare", "download"} <= set(
                views)


def test_views_of_other_files_are_scripts(seen, folder):
    views = walked(seen, "others")["views"]
    for name, view in views.items():
        assert view["said"].startswith("ran for ") and view["alerts"] == [], (name, view)
    data = os.path.join(harness.ROOT, "tests/data/jemalloc")
    top = harness.ask("ask", "dump_top", f"{data}/out2.heap")
    assert views["heap"]["output"].startswith(
        f"{top['total']['bytes']} bytes in {top['total']['objects']} blocks")
    assert views["heap"]["rows"][0].split("\n")[0] == top["rows"][0]["name"]
    top = harness.ask("ask", "dump_top", "--measure", "inuse_objects", "--by", "line", "--focus",
                      "main", "--base", f"{data}/out.heap", f"{data}/out2.heap")
    assert f"{top['total']['bytes']} bytes in" in views["grown"]["output"]
    assert "with=" in views["grown"]["hash"] and "data(2)" in views["grown"]["text"]
    answer = harness.ask("ask", "statistics", f"{data}/json_full.json")
    assert len(views["statistics"]["rows"]) == len(answer["series"]["snapshot"])
    tree = harness.ask("ask", "processes", "--top", "20", folder / "tree")
    assert len(views["processes"]["rows"]) == len(tree["recordings"]) + len(
        tree["held"]["holders"])
    assert {p["title"].split()[0] for p in tree["recordings"]} <= {
        row.split("\n")[0].split()[0] for row in views["processes"]["rows"]}


def test_examples(seen):
    ran = walked(seen, "examples")["ran"]
    assert len(ran) == 12
    for name, (said, length, alerts) in ran.items():
        assert said.startswith("ran for ") and length > 10 and alerts == [], name


def test_what_fails_is_said(seen):
    is_ = walked(seen, "fails")
    assert is_["refused"][0] == "it did not run" and "as many scripts" in is_["refused"][1]
    assert "does not answer" in is_["lost"] and is_["text"] == "print(1)"
