# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap as pictures: flame graphs, graphs of calls and pages, and what a reader gets
who opens them in a browser."""
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import harness

pytestmark = pytest.mark.xdist_group("browser")

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
OUT = DATA / "out.heap"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ["<script>alert(1)</script>", "]]></style><b>&amp;", "\"onload=\"alert(2)",
           "a\x01b\x7f\u2028c", "--&lt;!--'"]


def heap(*words):
    return subprocess.run(
        [harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", *map(str, words)],
                          capture_output=True, text=True, timeout=300)


def symbolized(path, stacks, names):
    """A dump that brings its names along; stacks are ([number of name, the innermost first],
    bytes)."""
    lines = ["--- symbol", "binary=/no/such/program"]
    # The place of a call, and where it returns to.
    lines += [f"0x{0x1000 + 16 * i + back:016x} {name}" for i, name in enumerate(names)
              for back in (0, 1)]
    lines += ["---", "--- heap", "heap_v2/1",
              f"  t*: {len(stacks)}: {sum(b for _, b in stacks)} [0: 0]"]
    for frames, size in stacks:
        lines += ["@ " + " ".join(f"0x{0x1000 + 16 * f + (k > 0):x}" for k, f in enumerate(frames)),
                  f"  t*: 1: {size} [0: 0]"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def many(path):
    """20,000 different stacks of 600 functions, up to 40 deep, whose functions call each other
    anyhow."""
    chance = random.Random(7)
    stacks = {}
    while len(stacks) < 20000:
        depth = 3 + int(chance.random() ** 2 * 37)
        frames = tuple(int(chance.random() ** 2 * 600) for _ in range(depth)) + (0,)
        stacks[frames] = int(chance.paretovariate(1.1) * 64)
    return symbolized(path, list(stacks.items()),
                      [f"function_{i}" if i else "main" for i in range(600)]), sum(stacks.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    symbolized(folder / "hostile.heap", [([i, (i + 1) % len(HOSTILE), 0], 1000 * (i + 1))
                                         for i in range(len(HOSTILE))], HOSTILE)
    for option, ending in (("flamegraph", "flame.svg"), ("svg", "graph.svg"), ("html", "html")):
        for name, words in (("out", [OUT]), ("objects", ["--inuse_objects", OUT]),
                            ("ever", ["--alloc_space", OUT]),
                            ("thread", ["--thread", "1", OUT]),
                            ("difference", ["--base", OUT, DATA / "second_run.heap"]),
                            ("hostile", [folder / "hostile.heap"]),
                            ("nothing", ["--focus=no such function", OUT])):
            done = heap(f"--{option}", "-o", folder / f"{name}.{ending}", *words)
            assert (done.returncode, done.stderr, done.stdout) == (0, "", ""), done
    # About as large as that of a real program, within the usual limits.
    assert heap("--svg", "-o", folder / "middling.graph.svg",
                many(folder / "many.heap")[0]).returncode == 0
    return folder


def text_of(path, which):
    return ElementTree.parse(path).getroot().find(f".//{SVG}text[@id='{which}']").text


def flame_boxes(path):
    """[(name, figures)] of a picture, as a viewer without scripts shows them."""
    titles = [g.find(SVG + "title").text
              for g in ElementTree.parse(path).getroot().find(f"{SVG}g[@id='boxes']")]
    return [(re.sub(r" \([^()]*\)(  .*)?$", "", title.split("\n")[0]), title.split("\n")[1])
            for title in titles]


@pytest.mark.parametrize("name,expected", [("out", "40,342,092 bytes) in 4,883 "),
                                           ("ever", "41,629,943 bytes) in 8,192 "),
                                           ("thread", "13,407,008 bytes) in ")])
def test_flamegraph_report(name, expected, folder):
    """The whole is the dump's total, in the heading and in the box; the rest are the table's
    amounts."""
    path = folder / f"{name}.flame.svg"
    boxes = dict(flame_boxes(path))
    assert expected in text_of(path, "total") and expected in boxes["all"]
    if name == "out":
        assert ("26,804,6" in boxes["thr"] and text_of(path, "heading") == "out.heap: alive, "
                "by bytes")
        assert "inl" in boxes and text_of(path, "note") == "Every call path is drawn."


def test_flamegraph_by_objects(folder):
    assert dict(flame_boxes(folder / "objects.flame.svg"))["all"].endswith(
        "in 4,883 blocks, 100.0 %")
    assert text_of(folder / "objects.flame.svg", "heading") == "out.heap: alive, by blocks"


def test_flamegraph_of_a_difference(folder):
    path = folder / "difference.flame.svg"
    assert re.search(r"\(-200,14[123] bytes\)", text_of(path, "total"))
    assert text_of(path, "heading") == "second_run.heap, compared with out.heap: alive, by bytes"
    boxes = flame_boxes(path)
    assert boxes[0][1].endswith("100.0 % of what changed")
    assert {figures[0] for _, figures in boxes} == {"-", "+"}


def test_flamegraph_of_nothing(folder):
    assert text_of(folder / "nothing.flame.svg", "total") == "nothing to show: no stack counts here"
    assert [name for name, _ in flame_boxes(folder / "nothing.flame.svg")] == ["all"]


def test_hostile_names_are_text(folder):
    """What a symbol table may hold is shown, never obeyed: the files are well-formed, and there is
    no script but ours."""
    root = ElementTree.parse(folder / "hostile.flame.svg").getroot()
    assert len(root.findall(f".//{SVG}script")) == 2
    titles = [t.text for t in root.iter(SVG + "title")]
    assert any(title.startswith("<script>alert(1)</script>") for title in titles)
    assert any(title.startswith("]]></style><b>&amp;") for title in titles)
    root = ElementTree.parse(folder / "hostile.graph.svg").getroot()
    assert len(root.findall(f".//{SVG}script")) == 1
    text = (folder / "hostile.html").read_text(encoding="utf-8")
    assert (text.count("<script") == 2 and "<script>alert" not in text
            and text.count("</style>") == 1)
    assert {"<script>alert(1)</script>", "]]></style><b>&amp;", "\"onload=\"alert(2)"} < set(
        graph(folder / "hostile.graph.svg")[0])


def graph(path):
    """({name: figures}, {(caller, callee): figures}) of a graph of calls, as a viewer without
    scripts shows them."""
    root = ElementTree.parse(path).getroot()
    boxes = [g.find(SVG + "title").text.split("\n") for g in root.find(f".//{SVG}g[@id='boxes']")]
    lines = [g.find(SVG + "title").text.split("\n") for g in root.find(f".//{SVG}g[@id='lines']")]
    return dict(boxes), {tuple(line[0].split(" → ")): line[1] for line in lines}


def test_svg_report(folder):
    """The amounts of --text, the arrows of --dot."""
    boxes, lines = graph(folder / "out.graph.svg")
    assert (boxes["worker"] == "34.0 (88.4%) of 38.4 (99.8%)" and boxes["inl"] == "4.4 (11.4%)"
            and boxes["thr"] == "of 25.6 (66.4%)")
    assert (lines["worker", "inl"] == "4.4 MB (11.38%)"
            and lines["thr", "worker"].startswith("25.6 MB "))
    assert re.match(rf"Total 38.5 MB · {len(boxes)} of \d+ functions, {len(lines)} of \d+ calls",
                    text_of(folder / "out.graph.svg", "legend"))
    dot = heap("--dot", OUT).stdout
    assert (len(boxes) == len(re.findall(r"^N\d+ \[", dot, re.MULTILINE))
            and len(lines) == dot.count(" -> "))


@pytest.mark.parametrize("words,total", [([], "40342092 B"), (["--inuse_objects"], "4883 objects"),
                                         (["--alloc_space"], "41629943 B"),
                                         (["--thread", "1"], "13407008 B")])
def test_svg_totals(words, total, tmp_path):
    assert heap("--svg", "--show_bytes", "-o", tmp_path / "x.svg", *words, OUT).returncode == 0
    assert f"Total {total} ·" in text_of(tmp_path / "x.svg", "legend")


def test_svg_limits(tmp_path):
    for words, functions in ((["--nodecount=5"], 5), (["--nodefraction=0.5"], 4),
                             (["--focus=^thr$"], 5), (["--nodecount=0"], 0)):
        assert heap("--svg", "-o", tmp_path / "x.svg", *words, OUT).returncode == 0
        assert len(graph(tmp_path / "x.svg")[0]) == functions, words
    assert heap("--svg", "--edgefraction=0.5", "-o", tmp_path / "x.svg", OUT).returncode == 0
    assert all(float(figures.split()[0]) > 19 for figures in graph(tmp_path / "x.svg")[1].values())


def test_svg_of_a_difference(folder):
    boxes, _ = graph(folder / "difference.graph.svg")
    assert boxes["worker"].split()[-2] == "-0.2"
    assert text_of(folder / "difference.graph.svg",
                   "heading") == "second_run.heap, compared with out.heap: bytes alive"
    assert text_of(folder / "nothing.graph.svg",
                   "legend") == "nothing to show: no function holds enough"


def page_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S)[1])


def test_html_report(folder):
    """Each tree of the page adds up to the dump's total."""
    data = page_data(folder / "out.html")
    sums = {w["name"]: (sum(w["bytes"]), sum(w["count"])) for w in data["tree"]["weights"]}
    assert sums == {"alive": (40342092, 4883), "allocated": (41629943, 8192)}
    assert (data["dump"]["bytes"] == 40342092 and data["dump"]["rate"] == 4096
            and data["tree"]["kept"] == data["tree"]["all"])
    top = data["tables"]["alive"]["rows"][0]
    assert [data["functions"][f][0] for f in top["frames"][::2]][:2] == ["worker", "thr"]
    assert page_data(folder / "objects.html")["defaults"]["unit"] == "count"
    assert page_data(folder / "ever.html")["defaults"]["measure"] == "allocated"
    assert sum(page_data(folder / "thread.html")["tree"]["weights"][0]["bytes"]) == 13407008
    assert page_data(folder / "nothing.html")["tables"]["alive"] == {"stacks": 0, "rows": []}


def test_html_of_a_difference(folder):
    data = page_data(folder / "difference.html")
    added, gone = (sum(w["bytes"]) for w in data["tree"]["weights"])
    assert abs(added - gone + 200142) <= 2 and added > 0 and data["defaults"]["measure"] == "gone"
    assert data["dump"]["base"] == "out.heap" and abs(data["dump"]["bytes"] + 200142) <= 2


@pytest.mark.parametrize("option", ["flamegraph", "svg", "html"])
def test_many_stacks(option, tmp_path):
    """20,000 stacks are drawn in seconds of processor time, into a file that a browser can open."""
    dump, total = many(tmp_path / "many.heap")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = heap(f"--{option}", "--show_bytes", "-o", tmp_path / "picture", dump)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    assert after.ru_utime - before.ru_utime < 20
    text = (tmp_path / "picture").read_text(encoding="utf-8")
    assert len(text) < 20 << 20
    if option == "html":
        data = page_data(tmp_path / "picture")
        assert (sum(data["tree"]["weights"][0]["bytes"]) == total
                and data["tree"]["kept"] <= 30000 < data["tree"]["all"])
    else:
        assert (f"{total:,} bytes" if option == "flamegraph" else f"Total {total} B") in text


@pytest.fixture(scope="module")
def seen(folder):
    """What heap_browser.mjs saw in Chromium."""
    modules = os.path.join(harness.ROOT, "tests", "node_modules")
    if not harness.CHROMIUM or not shutil.which("node"):
        pytest.skip("no Chromium here")
    assert os.path.isdir(
        os.path.join(modules, "playwright-core")), "scripts/install-npm was not run"
    given = {"chromium": harness.CHROMIUM, "flames": {name: str(folder / f"{name}.flame.svg")
                                                      for name in ("out", "difference", "hostile")},
             "graphs": {name: str(folder / f"{name}.graph.svg")
                        for name in ("out", "hostile", "middling")},
             "pages": {name: str(folder / f"{name}.html")
                       for name in ("out", "difference", "hostile")}}
    done = subprocess.run(
        ["node", os.path.join(harness.HERE, "heap_browser.mjs"), json.dumps(given)],
                          capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_browser_is_left_alone(seen):
    """No word on the console, no dialog, and nothing asked for but the files themselves."""
    assert seen["problems"] == []
    assert all(url.startswith("file:///") for url in seen["requests"]), seen["requests"]


def test_browser_flamegraph(seen):
    out, difference = seen["flames"]["out"], seen["flames"]["difference"]
    assert ("40,342,092 bytes" in out["all"] and "of what is shown" in out["zoomed"]
            and out["width"] > 1240)
    assert re.match(r"all  ·  -195 KiB \(-200,14\d bytes\), -283 blocks; 100.0 % of what changed",
                    difference["all"])
    assert seen["flames"]["hostile"]["boxes"] > len(HOSTILE)


def overlaps(boxes):
    return [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if a[0] < b[2] and b[0] < a[2]
            and a[1] < b[3] and b[1] < a[3]]


def test_browser_graph(seen):
    """No box overlaps another or is too small for its text, letters can be read, and it moves and
    zooms."""
    for name, found in seen["graphs"].items():
        assert overlaps(found["boxes"]) == [] and found["outside"] == 0, name
        assert found["letters"] > 6, name
        assert found["light"][0] == "rgb(255, 255, 255)" != found["light"][1]
        width = [b[2] - b[0] for b in found["boxes"]]
        assert [b[2] - b[0] for b in found["zoomed"]][0] > 1.2 * width[0]
        assert all(b[0] >= 0 and b[2] <= 1280 and b[3] <= 800 for b in found["whole"]), name
        assert [a[0] - b[0] for a, b in zip(found["moved"], found["whole"])] == pytest.approx(
            [50] * len(width), abs=0.01)
        assert (found["left"] == [found["legend"], 0]
                and found["let_go"] == found["legend"] != found["kept"])
        assert found["pointed"][1] == found["pointed"][2] + 1 or name in ("hostile", "middling")
    assert all(light != dark for light, dark in zip(seen["graphs"]["out"]["light"],
                                                    seen["graphs"]["out"]["dark"]))
    assert seen["graphs"]["out"]["pointed"] == ["worker  ·  34.0 (88.4%) of 38.4 (99.8%)", 4, 3]
    assert len(seen["graphs"]["middling"]["boxes"]) == 80


def test_browser_page(seen):
    out, difference = seen["pages"]["out"], seen["pages"]["difference"]
    assert out["title"] == "out.heap: Memoir report" and out["live"] == 0
    assert (out["figures"][0] == ["Alive", "38.5 MiB", "in 4,883 blocks"]
            and out["figures"][1][:2] == ["Allocated", "39.7 MiB"])
    assert out["figures"][3][:2] == ["Sampled every", "4.00 KiB"]
    assert out["flames"] == {"alive": "alive when the dump was written: 38.5 MiB in 4,883 blocks",
                             "allocated": "allocated in the whole run: 39.7 MiB in 8,192 blocks"}
    assert list(out["tables"]) == ["alive", "allocated", "functions"]
    functions = {row[0].split("prof.c")[0]: row[1:] for row in out["tables"]["functions"]}
    assert functions["worker"][0] == "38.4 MiB" and functions["worker"][3] == "34.0 MiB"
    assert out["stack"][0].startswith("worker prof.c") and out["stack"][1].startswith("thr ")
    assert (difference["figures"][0] == ["Alive, compared", "−195 KiB", "and −282 blocks"]
            and list(difference["flames"]) == ["added", "gone"])
    assert any(row[0].startswith("<script>alert(1)</script>")
               for row in seen["pages"]["hostile"]["tables"]["functions"])
