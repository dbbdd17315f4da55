# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap as pictures: flame graphs, and what a reader gets who opens them in a browser."""
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
HOSTILE = ["<script>alert(1)</script>", "]]></style><b>&amp;", "\"onload=\"alert(2)", "a\x01b\x7f\u2028c", "--&lt;!--'"]


def heap(*words):
    return subprocess.run([harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", *map(str, words)],
                          capture_output=True, text=True, timeout=300)


def symbolized(path, stacks, names):
    """A dump that brings its names along; stacks are ([number of name, the innermost first], bytes)."""
    lines = ["--- symbol", "binary=/no/such/program"]
    # The place of a call, and where it returns to.
    lines += [f"0x{0x1000 + 16 * i + back:016x} {name}" for i, name in enumerate(names) for back in (0, 1)]
    lines += ["---", "--- heap", "heap_v2/1", f"  t*: {len(stacks)}: {sum(b for _, b in stacks)} [0: 0]"]
    for frames, size in stacks:
        lines += ["@ " + " ".join(f"0x{0x1000 + 16 * f + (k > 0):x}" for k, f in enumerate(frames)), f"  t*: 1: {size} [0: 0]"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def many(path):
    """20,000 different stacks of 600 functions, up to 40 deep, whose functions call each other anyhow."""
    chance = random.Random(7)
    stacks = {}
    while len(stacks) < 20000:
        depth = 3 + int(chance.random() ** 2 * 37)
        frames = tuple(int(chance.random() ** 2 * 600) for _ in range(depth)) + (0,)
        stacks[frames] = int(chance.paretovariate(1.1) * 64)
    return symbolized(path, list(stacks.items()), [f"function_{i}" if i else "main" for i in range(600)]), sum(stacks.values())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    symbolized(folder / "hostile.heap", [([i, (i + 1) % len(HOSTILE), 0], 1000 * (i + 1)) for i in range(len(HOSTILE))], HOSTILE)
    for option, ending in (("flamegraph", "flame.svg"),):
        for name, words in (("out", [OUT]), ("objects", ["--inuse_objects", OUT]), ("ever", ["--alloc_space", OUT]),
                            ("thread", ["--thread", "1", OUT]), ("difference", ["--base", OUT, DATA / "second_run.heap"]),
                            ("hostile", [folder / "hostile.heap"]), ("nothing", ["--focus=no such function", OUT])):
            done = heap(f"--{option}", "-o", folder / f"{name}.{ending}", *words)
            assert (done.returncode, done.stderr, done.stdout) == (0, "", ""), done
    return folder


def text_of(path, which):
    return ElementTree.parse(path).getroot().find(f".//{SVG}text[@id='{which}']").text


def flame_boxes(path):
    """[(name, figures)] of a picture, as a viewer without scripts shows them."""
    titles = [g.find(SVG + "title").text for g in ElementTree.parse(path).getroot().find(f"{SVG}g[@id='boxes']")]
    return [(re.sub(r" \([^()]*\)(  .*)?$", "", title.split("\n")[0]), title.split("\n")[1]) for title in titles]


@pytest.mark.parametrize("name,expected", [("out", "40,342,092 bytes) in 4,883 "), ("ever", "41,629,943 bytes) in 8,192 "),
                                           ("thread", "13,407,008 bytes) in ")])
def test_d3_flamegraph(name, expected, folder):
    """The whole is D1's total, in the heading and in the box; the rest are the table's amounts."""
    path = folder / f"{name}.flame.svg"
    boxes = dict(flame_boxes(path))
    assert expected in text_of(path, "total") and expected in boxes["all"]
    if name == "out":
        assert "26,804,6" in boxes["thr"] and text_of(path, "heading") == "out.heap: alive, by bytes"
        assert "inl" in boxes and text_of(path, "note") == "Every call path is drawn."


def test_d3_flamegraph_by_objects(folder):
    assert dict(flame_boxes(folder / "objects.flame.svg"))["all"].endswith("in 4,883 blocks, 100.0 %")
    assert text_of(folder / "objects.flame.svg", "heading") == "out.heap: alive, by blocks"


def test_d5_flamegraph_of_a_difference(folder):
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
    """What a symbol table may hold is shown, never obeyed: the files are well-formed, and there is no script but ours."""
    root = ElementTree.parse(folder / "hostile.flame.svg").getroot()
    assert len(root.findall(f".//{SVG}script")) == 2
    titles = [t.text for t in root.iter(SVG + "title")]
    assert any(title.startswith("<script>alert(1)</script>") for title in titles)
    assert any(title.startswith("]]></style><b>&amp;") for title in titles)


@pytest.mark.parametrize("option", ["flamegraph"])
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
    assert f"{total:,} bytes" in text or f"{total}" in text


@pytest.fixture(scope="module")
def seen(folder):
    """What heap_browser.mjs saw in Chromium."""
    chromium = shutil.which("chromium")
    modules = os.path.join(harness.ROOT, "tests", "node_modules")
    if not chromium or not shutil.which("node"):
        pytest.skip("no Chromium here")
    assert os.path.isdir(os.path.join(modules, "playwright-core")), "scripts/install-npm was not run"
    given = {"chromium": chromium, "flames": {name: str(folder / f"{name}.flame.svg") for name in ("out", "difference", "hostile")}}
    done = subprocess.run(["node", os.path.join(harness.HERE, "heap_browser.mjs"), json.dumps(given)],
                          capture_output=True, text=True, timeout=300, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_browser_is_left_alone(seen):
    """No word on the console, no dialog, and nothing asked for but the files themselves."""
    assert seen["problems"] == []
    assert all(url.startswith("file:///") for url in seen["requests"]), seen["requests"]


def test_browser_flamegraph(seen):
    out, difference = seen["flames"]["out"], seen["flames"]["difference"]
    assert "40,342,092 bytes" in out["all"] and "of what is shown" in out["zoomed"] and out["width"] > 1240
    assert re.match(r"all  ·  -195 KiB \(-200,14\d bytes\), -283 blocks; 100.0 % of what changed", difference["all"])
    assert seen["flames"]["hostile"]["boxes"] > len(HOSTILE)
