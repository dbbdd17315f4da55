# SPDX-License-Identifier: MIT OR Apache-2.0
"""Flame graphs and pages: what is in the file, and what a reader gets who opens it in a browser."""
import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

import harness

pytestmark = pytest.mark.xdist_group("browser")

SVG = "{http://www.w3.org/2000/svg}"
PLACEHOLDER = "odd_{}_which_stands_here_for_another_name"
# Names that formats are broken by, of bytes that symbol tables may hold.
ODD = [b'semi;colon #hash  blanks', b'"double" \'single\' `back`',
       b'<script>alert(1)</script>&amp;',
       b'line\nend\ttab\x01\x7f]]>', b'not UTF-8: \xff\xc3(\xed\xa0\x80 \xef\xbf\xbf @JS@']
LONG = "tmpl<" + ", ".join(f"ns::arg<{i}, char const*>" for i in range(400))
LONG = (LONG + ">" * 10000)[:10000]
INSIDE_LONG = r"arg<277, char const\*>, ns"
OWN_LEAKS = 15000 + 6000 + 500 + 250 * 200


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


def shown(name):
    """An odd name as XML can have it."""
    text = name.decode("utf-8", "replace") if isinstance(name, bytes) else name
    text = "".join(chr(0x2400 + ord(c)) if c < " " else c for c in text)
    return text.replace("\x7f", "\u2421").replace("\uffff", "\ufffd")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, compile_program):
    """Recordings of the program, with other names in it, and all exports of them."""
    folder = tmp_path_factory.mktemp("flame")
    letters = "L" * len(LONG)
    with open(compile_program("painted", flags=("-O1", "-DLONG_NAME=" + letters)), "rb") as file:
        image = file.read()
    for i, name in enumerate(ODD):
        place = PLACEHOLDER.format(i).encode()
        assert place in image and len(name) <= len(place)
        image = image.replace(place, name + b"_" * (len(place) - len(name)))
    image = image.replace(letters.encode(), LONG.encode())
    program = folder / "painted"
    program.write_bytes(image)
    program.chmod(0o755)
    for name, words in (("app", ()), ("wide", ("wide",))):
        path = str(folder / f"{name}.dat")
        assert harness.record([str(program), *words], path).status == 0
        for kind, ending in (("flamegraph", "svg"), ("html", "html")):
            done = memoir("export", kind, path, "-m", "leaked", "-o", folder / f"{name}.{ending}")
            assert done.status == 0 and not done.stderr, done
    assert memoir("export", "html", folder / "app.dat", "--function-regex", "no such function",
                  "-o", folder / "empty.html").status == 0
    return folder


def odd_names():
    return [name + b"_" * (len(PLACEHOLDER.format(0)) - len(name)) for name in ODD]


def svg_boxes(path):
    """[(name, title, fill, width, label)] of a picture, as a viewer without scripts sees it."""
    root = ElementTree.parse(path).getroot()
    found = []
    for group in root.find(f"{SVG}g[@id='boxes']"):
        rect, label = group.find(SVG + "rect"), group.find(SVG + "text")
        title = group.find(SVG + "title").text
        found.append((re.sub(r"( \([^()]*\)(  .*)?)?\n.*", "", title, flags=re.S), title,
                      rect.get("fill"),
                      float(rect.get("width")), "" if label is None else label.text))
    return found


def page_data(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S)[1])


def test_svg_figures(folder):
    """Boxes weigh what the report says, and say so without a script."""
    report = harness.ask("report", "--json", folder / "app.dat")
    boxes = {name: (title, width, label)
             for name, title, _, width, label in svg_boxes(folder / "app.svg")}
    assert (f"({report['leaked']['bytes']:,} bytes) in {report['leaked']['count']:,} "
            "blocks, 100.0 %" in boxes["all"][0])
    assert "(50,000 bytes) in 250 blocks" in boxes["grow"][0] and "painted.c:" in boxes["grow"][0]
    assert boxes["all"][1] > 1170 and boxes["all"][2] == "all"
    assert boxes["grow"][1] == pytest.approx(boxes["all"][1] * 50000 / report["leaked"]["bytes"],
                                             abs=1)
    assert len([n for n, *_ in svg_boxes(folder / "app.svg") if n == "deep"]) == 300
    heading = ElementTree.parse(folder / "app.svg").getroot().find(
        f".//{SVG}text[@id='heading']").text
    assert heading == "painted: never freed, by bytes"


def test_svg_odd_names(folder):
    titles = [title for _, title, *_ in svg_boxes(folder / "app.svg")]
    for name in odd_names():
        assert any(title.startswith(shown(name)) for title in titles), name
    long = [title for title in titles if title.startswith("tmpl<")][0]
    assert "…" in long and len(long) < 1000
    labels = [label for *_, width, label in svg_boxes(folder / "app.svg") if width > 20]
    assert all(labels) and any(label.endswith("…") for label in labels)


def test_svg_count_and_filters(folder):
    """By blocks the same function is as wide as it has blocks; filters apply."""
    path = folder / "count.svg"
    assert memoir("export", "flamegraph", folder / "app.dat", "-m", "temporary", "--count", "-o",
                  path).status == 0
    boxes = {name: (title, width) for name, title, _, width, _ in svg_boxes(path)}
    assert boxes["churn"][1] > 1170 and "2,000 blocks, 100.0 %" in boxes["churn"][0]
    assert memoir("export", "flamegraph", folder / "app.dat", "--function-regex", "^deep$", "-o",
                  path).status == 0
    boxes = {name: title for name, title, *_ in svg_boxes(path)}
    assert "(500 bytes) in 1 block, 100.0 %" in boxes["deep"] and "grow" not in boxes
    assert memoir("export", "flamegraph", folder / "app.dat", "--function-regex",
                  "no such function",
                  "-o", path).status == 0
    assert b"nothing to show" in path.read_bytes() and len(svg_boxes(path)) == 1


def test_svg_colours_are_stable(folder):
    """A function has one colour, whatever the measure and the recording."""
    path = folder / "all.svg"
    assert memoir("export", "flamegraph", folder / "app.dat", "-m", "allocated", "-o",
                  path).status == 0
    known = {}
    for file in (folder / "app.svg", path, folder / "wide.svg"):
        for name, _, fill, *_ in svg_boxes(file):
            assert known.setdefault(name, fill) == fill, name
    assert len(set(known.values())) > 8


def test_svg_of_many_nodes(folder):
    """What is narrower than a tenth of a pixel is left out, and counted."""
    boxes = svg_boxes(folder / "wide.svg")
    note = ElementTree.parse(folder / "wide.svg").getroot().find(f".//{SVG}text[@id='note']").text
    left_out = int(re.match(r"Not drawn: ([\d,]+) boxes narrower than 0.1 pixels", note)[1].replace(
        ",", ""))
    assert 4000 < len(boxes) < 8000 and 32000 < left_out < 34000
    assert min(width for *_, width, _ in boxes) >= 0.1


def parts_of(report):
    return {"leaked": report["leaked"], "peak": report["peak"],
            "allocated": {"bytes": report["allocated_bytes"], "count": report["allocations"]},
            "temporary": {"bytes": report["temporary_bytes"], "count": report["temporary"]}}


def test_html_data(folder):
    """Each measure's tree adds up to what the report says."""
    data, report = page_data(folder / "app.html"), harness.ask(
        "report", "--json", folder / "app.dat")
    info = harness.flatten(harness.ask("info", "--json", folder / "app.dat"))
    parts = parts_of(report)
    for weights in data["tree"]["weights"]:
        part = parts[weights["name"]]
        assert (sum(weights["bytes"]), sum(weights["count"])) == (
            part["bytes"], part["count"]), weights["name"]
    assert (data["totals"]["peak_bytes"] == info["peak_bytes"]
            and data["totals"]["events"] == info["events"])
    assert data["tree"]["kept"] == data["tree"]["all"] and data["nameless"] == []
    names = {f[0] for f in data["functions"]}
    assert LONG in names
    for name in odd_names():
        assert name.decode("utf-8", "replace") in names
    assert sum(data["series"]["allocated"]) == info["allocations"]
    assert max(data["series"]["bytes"]) == info["peak_bytes"]


def test_html_is_pruned(folder):
    """A page of many call paths stays small, says so, and still adds up."""
    data = page_data(folder / "wide.html")
    assert data["tree"]["all"] > 37448 and 4000 < data["tree"]["kept"] <= 30000
    assert 0 < data["tree"]["cut"] < 0.001
    report = harness.ask("report", "--json", folder / "wide.dat")
    allocated = [w for w in data["tree"]["weights"] if w["name"] == "allocated"][0]
    assert sum(allocated["count"]) == report["allocations"]
    assert os.path.getsize(folder / "wide.html") < 2 << 20


def test_html_says_what_is_missing(folder):
    """Cut, culled, without symbols, and filtered: each is in the page."""
    (folder / "cut.dat").write_bytes((folder / "wide.dat").read_bytes()[:-100000])
    memoir("export", "html", folder / "cut.dat", "-o", folder / "cut.html")
    data = page_data(folder / "cut.html")
    assert data["unfinished"] and any("the file ends" in text for text in data["losses"])
    shutil.copy(folder / "painted", folder / "stripped")
    subprocess.run(["strip", folder / "stripped"], check=True)
    path = str(folder / "culled.dat")
    assert harness.record([str(folder / "stripped")], path, options=("--cull",)).status == 0
    assert memoir("export", "html", path, "-F", "size < 1000", "-o",
                  folder / "culled.html").status == 0
    data = page_data(folder / "culled.html")
    assert data["removed"] == 2000 and data["removed_below_ns"] > 0
    assert data["nameless"][0][0] == str(folder / "stripped") and data["nameless"][0][1] >= 5
    assert data["filter"]["expression"] == "size < 1000" and data["filter"]["count"] == 251


def test_output_that_cannot_be_written(folder):
    for kind in ("flamegraph", "html"):
        done = memoir("export", kind, folder / "app.dat", "-o", "/dev/full")
        assert done.status == 1 and done.stderr.count(b"\n") == 1 and b"/dev/full" in done.stderr
        done = memoir("export", kind, folder / "app.dat", "-o", folder / "none" / "x")
        assert done.status == 1 and not (folder / "none").exists()


@pytest.fixture(scope="module")
def seen(folder):
    """What flame_browser.mjs saw in Chromium."""
    modules = os.path.join(harness.ROOT, "tests", "node_modules")
    if not harness.CHROMIUM or not shutil.which("node"):
        pytest.skip("no Chromium here")
    assert os.path.isdir(
        os.path.join(modules, "playwright-core")), "scripts/install-npm was not run"
    given = {"chromium": harness.CHROMIUM, "axe": os.path.join(modules, "axe-core", "axe.min.js"),
             "out": str(folder),
             "svg": str(folder / "app.svg"), "svg_wide": str(folder / "wide.svg"),
             "html": str(folder / "app.html"),
             "html_wide": str(folder / "wide.html"), "html_empty": str(folder / "empty.html"),
             "inside_long": INSIDE_LONG}
    done = subprocess.run(
        ["node", os.path.join(harness.HERE, "flame_browser.mjs"), json.dumps(given)],
                          capture_output=True, text=True, timeout=170, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_browser_is_left_alone(seen):
    """No word on the console, and nothing asked for but the files themselves."""
    assert seen["problems"] == []
    assert all(url.startswith("file:///") and url.endswith((".svg", ".html"))
               for url in seen["requests"]), seen["requests"]


def widths(boxes, title):
    return [b["width"] for b in boxes if b["title"] == title]


def test_svg_zooms(seen):
    svg = seen["svg"]
    whole = widths(svg["whole"], "all")[0]
    assert whole > 1240 # the window's width, not the file's
    assert widths(svg["whole"], "grow")[0] < whole * 0.75
    assert widths(svg["zoomed"], "grow") == [pytest.approx(whole)] == widths(svg["zoomed"], "main")
    assert widths(svg["zoomed"], "churn") == widths(svg["zoomed"], "deep") == []
    assert svg["reset"] == svg["whole"]
    assert "of what is shown" in svg["zoomed_details"]
    assert ("grow (painted)" in svg["zoomed_details"]
            and "48.8 KiB (50,000 bytes) in 250 blocks" in svg["zoomed_details"])
    assert 100 < svg["wide"] < 3000 and svg["wide_ms"] < 10000
    assert svg["still"] > 10000


def test_svg_searches(seen):
    svg = seen["svg"]
    assert re.fullmatch(r"matched 0\.\d % in 300 boxes", svg["search_deep"]["said"])
    assert svg["search_deep"]["matched"] == 300
    assert svg["search_long"]["matched"] == 1 # found beyond what the title shows
    assert svg["search_none"]["said"] == "no match"
    assert svg["search_bad"] == {"said": "not a regular expression", "invalid": "true",
                                 "matched": 0}
    assert svg["search_cleared"] == 0
    assert "bytes) in " in svg["keyed_details"] and svg["slash"] == "search"


def test_html_flame_graphs(seen, folder):
    report = harness.ask("report", "--json", folder / "app.dat")
    html = seen["html"]
    parts = parts_of(report)
    for key, flame in html["flames"].items():
        measure, _, unit = key.split()
        assert flame["total"] == flame["tops"] == parts[measure][unit], key
    assert html["colours"] > 8
    assert ("grow" in html["tip"] and "48.8 KiB (50,000 bytes) in 250 blocks" in html["tip"]
            and "painted.c:" in html["tip"])
    assert html["zoom"] == html["clicked"] > 0 == html["unzoomed"] == html["escaped"]
    assert html["details"].startswith("grow ")
    assert re.match(r"matched 0\.\d %: 500 B", html["search_deep"]["said"])
    assert re.match(r"matched .*5\.86 KiB", html["search_long"]["said"])
    assert html["search_bad"] == {"said": "not a regular expression", "invalid": "true"}
    assert html["keyed"]["zoom"] > 0 and "in " in html["keyed"]["details"]


def test_html_says_what_was_recorded(seen, folder):
    html, info = seen["html"], harness.flatten(harness.ask("info", "--json", folder / "app.dat"))
    assert html["title"] == "painted: Memoir report"
    labels = {label: (value, below) for label, value, below in html["figures"]}
    assert list(labels) == ["Peak", "Never freed", "Allocated", "Temporary", "Run time",
                            "Cost of recording"]
    assert f"in {info['leaked_count']} blocks" == labels["Never freed"][1]
    assert "exit status 0" in labels["Run time"][1] and str(folder / "painted") in html["overview"]
    assert ("grow to the end of the run" in html["overview"]
            or "grows to the end of the run" in html["overview"])
    assert html["warnings"] == ""
    assert html["decimal"].endswith(" kB") and "base=1000" in html["hash"]
    assert seen["empty"] == "Everything was freed."


def test_html_tables(seen):
    tables = seen["html"]["tables"]
    grow = [row for row in tables["leaks"] if row[0].startswith("grow painted.c:")][0]
    assert grow[1] == "48.8 KiB" and grow[3] == "250" and grow[4].startswith("grows ")
    assert (tables["allocations"][0][0].startswith("churn ")
            and tables["allocations"][0][3] == "2,000")
    assert tables["temporary"][0][0].startswith("churn ") and tables["temporary"][0][2] == "100.0 %"
    deep = [row for row in tables["functions"] if row[0].startswith("deep ")]
    assert all(row[1] == "500 B" for row in deep) # however often it is in its own stack
    assert (seen["html"]["stack"][0] == "malloc"
            and seen["html"]["stack"][1].startswith("grow painted.c:"))
    assert any(frame.startswith("main ") for frame in seen["html"]["stack"])
    assert "% sure" in seen["html"]["evidence"]


def test_html_over_time(seen):
    assert re.search(r"after the start.* alive in [\d,]+ blocks", seen["html"]["moment"])
    assert re.search(r"after the start: .* never freed", seen["html"]["last_moment"])


def test_html_light_and_dark(seen):
    """Nothing is cut off at any width, both themes are themselves, and axe finds nothing."""
    looks = seen["looks"]
    assert {key: look["overflow"] for key, look in looks.items() if look["overflow"] > 0} == {}
    assert [looks[f"{theme} 1280"]["violations"] for theme in ("light", "dark")] == [[], []]
    assert looks["light 1280"]["back"] != looks["dark 1280"]["back"]
    assert seen["html"]["theme"] == [True, looks["dark 1280"]["back"]]


def test_html_of_many_nodes(seen, folder):
    report = harness.ask("report", "--json", folder / "wide.dat")
    assert seen["wide"]["total"] == report["allocated_bytes"]
    assert re.match(r"Of 37,\d\d\d nodes of the call tree the [\d,]+ heaviest are in this file",
                    seen["wide"]["note"])
