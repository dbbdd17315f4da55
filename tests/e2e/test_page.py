# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server, used in a browser: its frame, recordings, overview and flame graph.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_PICTURES=docs makes those of the README (with
MEMOIR_WALKS=looks and -k looks nothing else).
"""
import json
import os
import re
import shutil
import subprocess
import urllib.parse
import threading

import pytest

import harness
import serving

pytestmark = pytest.mark.xdist_group("browser")
HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
PROGRAM = os.path.join(harness.BUILD, "examples", "leaky")
FUNCTION = "load_report"


def run_walk(script, given, out):
    """Starts a walk and gives what it saw."""
    if harness.CHROMIUM is None or not os.path.exists(f"{TESTS}/node_modules/playwright-core"):
        pytest.skip("no chromium, or tests/node_modules is not there: scripts/install-npm tests")
    given = {"chromium": harness.CHROMIUM, "axe": f"{TESTS}/node_modules/axe-core/axe.min.js",
             "out": str(out), "shots": True, **given}
    # It looks for packages from where it is.
    done = subprocess.run(["node", os.path.join(HERE, script), json.dumps(given)], cwd=HERE,
                          capture_output=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    for name in ("demo", "again", "third"):
        assert harness.record([PROGRAM], str(folder / f"{name}.dat")).status == 0
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return harness.ask("report", "--json", folder / "demo.dat")


@pytest.fixture(scope="module")
def part(folder):
    """A question and a range, in seconds."""
    runtime = harness.ask("info", "--json", folder / "demo.dat")["runtime_ns"]
    return {"filter": "size >= 40", "from": round(runtime * 0.2) / 1e9,
            "to": round(runtime * 0.7) / 1e9}


def record_redis(folder):
    """For the README: redis-server while clients fill it, empty it and fill it again."""
    program, socket = str(folder / "redis-server"), str(folder / "redis")
    shutil.copy(shutil.which("redis-server"), program)
    recording = folder / "redis-server.dat"
    recorded = subprocess.Popen(
        [harness.MEMOIR, "run", "-q", "-o", str(recording), program, "--port",
         "0", "--unixsocket", socket, "--save", ""], cwd=folder)

    def clients(*options):
        subprocess.run(["redis-benchmark", "-s", socket, "-q", "-P", "16", "-c", "8", *options],
                       check=True, stdout=subprocess.DEVNULL)

    harness.wait_for(lambda: os.path.exists(socket))
    clients("-r", "60000", "-n", "60000", "-d", "200", "-t", "set")
    clients("-n", "60000", "-d", "200", "-t", "lpush")
    clients("-r", "40000", "-n", "60000", "-t", "hset,zadd,sadd")
    subprocess.run(["redis-cli", "-s", socket, "del", "mylist"], check=True)
    clients("-r", "60000", "-n", "8000", "-d", "2000", "-t", "set")
    subprocess.run(["redis-cli", "-s", socket, "flushall", "sync"], check=True)
    clients("-r", "60000", "-n", "60000", "-d", "100", "-t", "set")
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], check=False)
    assert recorded.wait(60) == 0
    return recording


@pytest.fixture(scope="module")
def seen(folder, part):
    out = os.environ.get("MEMOIR_SHOTS") or folder
    os.makedirs(out, exist_ok=True)
    pictures = os.environ.get("MEMOIR_PICTURES")
    extra = []
    if pictures:
        extra.append(record_redis(folder))
    with serving.Server(folder / "demo.dat", folder / "again.dat", *extra) as server:
        recordings = {r["name"]: r for r in server.ready()}
        first = recordings["demo.dat"]
        facts = server.get(f"/data/{first['id']}/overview")
        large = recordings.get("redis-server.dat")
        shown = (large and {"picture": large["id"], "picture_end": large["runtime"]["secs"] +
                            large["runtime"]["fract_nsecs"] / 1e9})
        return run_walk("page_walk.mjs", {
            "address": server.address, "id": first["id"], "second": recordings["again.dat"]["id"],
            "program": "leaky", "function": FUNCTION, "upload": str(folder / "third.dat"),
            "upload_name": "third.dat", "moment": facts["peak"]["at_ns"] / 1e9,
            "pictures": pictures and os.path.abspath(pictures), **(shown or {}),
            "part": part, "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)


def walked(seen, name):
    """What a walk saw; with what stopped it, if something did."""
    assert "failed" not in seen[name], seen[name]["failed"]
    return seen[name]


def binary(text):
    """A size as the page writes it, in bytes."""
    number, unit = re.search(r"([\d.]+) ([KMG]i)?B", text).groups()
    return float(number) * {None: 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}[unit]


def test_recordings(seen):
    is_ = walked(seen, "recordings")
    files = 3 if os.environ.get("MEMOIR_PICTURES") else 2
    assert is_["rows"] == files and is_["heading"] == f"{files} files"
    assert "leaky" in is_["first"] or files == 3
    assert "no such thing" in is_["none"] and is_["searched"] == "no such thing"
    assert re.match(r"#/compare/[0-9a-f]{32}\?against=[0-9a-f]{32}$", is_["compare"])
    assert is_["sorted"].startswith("peak")
    assert "wrong.dat could not be opened" in is_["refused"]
    assert "leaky" in is_["uploaded"] and is_["forgotten"]


def check_sentences(shown, said):
    """The page's are those of the command line, in that order, each with a link."""
    assert [kind for kind, _, _ in shown] == [s["kind"] for s in said]
    for (_, text, link), sentence in zip(shown, said):
        for part in sentence["parts"]:
            assert "ns" in part or part["text"].strip() in text, (text, sentence["text"])
        assert link.startswith(f"#/{sentence['evidence']['view']}/"), link
        query = urllib.parse.parse_qs(link.split("?", 1)[1]) if "?" in link else {}
        assert sentence["evidence"]["term"] in query.get("filter", [""])[0], link


def test_overview(seen, report):
    is_ = walked(seen, "overview")
    assert is_["title"] == "Overview · leaky · Memoir" and is_["cut"] == [0, 0, 0, 0]
    figures = {f.split("\n")[0]: f for f in is_["figures"]}
    assert binary(figures["Peak"]) == pytest.approx(report["peak"]["bytes"], rel=0.01)
    assert binary(figures["Never freed"]) == pytest.approx(report["leaked"]["bytes"], rel=0.01)
    assert f"{report['leaked']['count']:,} blocks" in figures["Never freed"]
    assert "Resident" in figures
    check_sentences(is_["sentences"], report["sentences"])
    for sentence in report["sentences"]:
        if sentence["kind"] in ("peak", "left"):
            size = re.escape(f"{sentence['bytes'] / 1024:.3g} KiB" if sentence["bytes"] < 1 << 20
                             else f"{sentence['bytes'] / (1 << 20):.3g} MiB")
            assert re.search(size, is_["evidence"][sentence["kind"]]), sentence["text"]
    assert "peak" in is_["strip"] and "never freed" in is_["strip"]
    assert any("session_open" in row or "calloc" in row or "token" in row
               for row in is_["who"]), is_["who"]
    assert is_["verdicts"] and is_["graphs"] >= 2 and "leaky" in is_["about"]
    assert any("#/allocations/" in link and "list=flat" in link for link in is_["about_links"])
    assert any('filter=module+=+"leaky"' in link for link in is_["about_links"])
    assert len(is_["labels"]) == 6 and all("at most" in label for label in is_["labels"])
    assert re.search(r"never freed\s+[\d.]+ [KM]?i?B", is_["tip"]), is_["tip"]
    begin, end = is_["zoomed"]
    assert 0 < begin < end and "within" in is_["zoomed_said"] and is_["back"] is None
    assert ("Allocations alive here" in is_["menu"]
            and "Allocated within the visible range" in is_["menu"])
    assert is_["menu_closed"] and is_["drilled"][0] == "alive" and is_["drilled"][1] > 0
    assert is_["peak"] == "peak"


def test_working(seen):
    is_ = walked(seen, "working")
    assert re.search(r"Being worked out, \d\.\d s · pass 2 over the recording: 63 %",
                     is_["said"]), is_["said"]
    assert is_["bar"] == 0.63 and is_["boxes"] > 3
    assert (is_["asked"].startswith("/data/") and "/flame?" in is_["asked"]
            and "measure=temporary" in is_["asked"])


def test_overview_of_a_part(seen, report, folder, part):
    """The same figures as the command line's, under the same filter and range."""
    is_ = walked(seen, "overview_part")
    said = harness.ask("report", "--json", "--top", "5", "-F", part["filter"], "--from",
                       f"{part['from']:.9f}s",
                       "--to", f"{part['to']:.9f}s", folder / "demo.dat")
    assert 0 < said["filter"]["count"] < report["allocations"]
    figures = {f.split("\n")[0]: f for f in is_["figures"]}
    for name, weight, unit in (("Peak", said["peak"], "block"),
                               ("Never freed", said["leaked"], "block"),
                               ("Allocated", said["filter"], "allocation")):
        assert binary(figures[name]) == pytest.approx(weight["bytes"], rel=0.01), name
        assert (f"{weight['count']:,} {unit}{'s' if weight['count'] != 1 else ''}" in
                figures[name]), name
    assert f"{said['temporary']:,}" in figures["Temporary"]
    check_sentences(is_["sentences"], said["sentences"])
    assert [binary(row) for row in is_["who"]] == pytest.approx(
        [s["bytes"] for s in said["top"]["allocated"]], rel=0.01)
    assert "match" in is_["said"]
    # What leads on keeps the question and the range.
    assert len(is_["links"]) >= 4 + 2 * len(is_["who"])
    for link in is_["links"]:
        query = urllib.parse.parse_qs(link.split("?", 1)[1])
        assert (part["filter"] in query["filter"][0]
                and float(query["from"][0]) == part["from"]), link
        assert float(query["to"][0]) == part["to"], link
    assert binary(is_["flame"]) == pytest.approx(said["leaked"]["bytes"], rel=0.01)
    # The last card stays that of the recording.
    assert f"{report['allocations']:,} allocations" in is_["about"]
    assert any("0 B" in f and "0 blocks" in f for f in is_["nothing"]) and is_["empty"]


def test_flame(seen, report):
    is_ = walked(seen, "flame")
    total = binary(is_["said"])
    assert total == pytest.approx(report["allocated_bytes"], rel=0.01)
    names = dict(is_["boxes"])
    assert is_["boxes"][0][0] == "all" and FUNCTION in names and "render_row" in names
    assert FUNCTION in is_["tip"] and "%" in is_["tip"]
    zoomed = dict(is_["zoomed"])
    assert zoomed[FUNCTION] == names["all"] and "render_row" not in zoomed
    assert (is_["trail"].startswith("all") and is_["trail"].endswith(
        f"{FUNCTION}: 1.53 MiB in 1 block") and FUNCTION in is_["foot"])
    assert is_["copied"].split("\n")[0] == FUNCTION and len(is_["copied"].split("\n")) > 2
    assert FUNCTION in is_["pinned"] and is_["back"] == len(is_["boxes"])
    assert re.match(r"[\d.]+ % in \d+ box", is_["found"]) and is_["not_found"] == "no function fits"
    by = is_["said_by"]
    assert "never freed" in by["leaked"][0] and "alive at" in by["alive at t"][0]
    assert binary(by["leaked"][0]) == pytest.approx(report["leaked"]["bytes"], rel=0.01)
    assert binary(by["peak"][0]) == pytest.approx(report["peak"]["bytes"], rel=0.01)
    assert by["bottom-up"][1] != by["top-down"][1] != by["by thread"][1]
    assert 0 < binary(is_["brushed"]) < total
    (a, b), (c, d) = is_["range"], is_["moved"]
    assert d - c == pytest.approx(b - a, rel=0.05) and c > a
    assert re.match(r"[\d.]+ [KM]?i?B in [\d,]+ blocks? at ", is_["moment"])
    assert "Only stacks through this function" in is_["menu"] and "Copy the stack" in is_["menu"]
    assert is_["term"] == [f'function = "{FUNCTION}"'] and FUNCTION in is_["only"]
    assert "render_row" not in is_["only"]
    assert (is_["against_time"][0] == "Flame graph of the difference"
            and is_["against_time"][2] == "alive")
    assert "against again.dat" in is_["against"]
    assert is_["table"] and is_["table_sorted"] == "-value"


def test_permalink(seen):
    is_ = walked(seen, "permalink")
    assert is_["zoomed"] == seen["flame"]["zoomed"] == is_["again"]


def test_keyboard(seen):
    is_ = walked(seen, "keyboard")
    assert is_["skip"] == "To the view" and is_["view"] == "view"
    assert "the question box" in is_["dialog"] and is_["slash"] == "question"
    assert is_["steps"][0].startswith("all:") and "depth 3" in is_["steps"][3]
    assert is_["steps"][4] == is_["steps"][2] and is_["steps"][5] == is_["steps"][3]
    assert is_["out"] and is_["pinned"] and is_["spoken"] and is_["opened"]


def test_question(seen):
    is_ = walked(seen, "question")
    assert "size" in is_["completions"] and is_["differs"]
    assert is_["labels"][0].startswith("size >= 1000")
    assert "sice" in is_["error"] and is_["underlined"] == "sice" and is_["invalid"] == "true"
    assert is_["fields"] > 30 and is_["read_back"] == "500" and is_["empty_field"] == ""
    assert "Nothing" in is_["nothing"] and "Ask about everything" in is_["nothing"]


def test_failing(seen):
    is_ = walked(seen, "failing")
    assert "the disk is full" in is_["said"] and is_["again"] > 3
    assert "does not have this recording" in is_["unknown"] and "no such view" in is_["no_view"]
    assert "does not answer" in is_["gone"] and is_["kept"] == 6


def test_frame(seen):
    is_ = walked(seen, "frame")
    assert is_["theme"] == ["light", "dark", "dark"]
    assert "iB" in is_["binary"] and "iB" not in is_["decimal"] and is_["exact"].endswith("bytes")
    assert is_["units_kept"] == "decimal" and is_["folded"] is False and is_["narrow"]


def test_looks(seen):
    """Every view at 1280 and 2560 pixels, light and dark; nothing is wider than the window."""
    assert walked(seen, "looks")["sizes"] == 12
    assert not seen["overflow"]


def test_accessible(seen):
    assert len(seen["violations"]) >= 10
    assert {name: found for name, found in seen["violations"].items() if found} == {}


def test_no_problems(seen):
    """No message on the console (the policy of the page would say so there), no other address."""
    assert seen["problems"] == []


def test_live(compile_program, tmp_path):
    """Figures, timeline and flame graph move while the program runs."""
    path = tmp_path / "live.dat"
    program = subprocess.Popen(
        [harness.MEMOIR, "run", "-o", str(path), "--", compile_program("growing")],
                               env=harness.ENVIRONMENT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    over = threading.Event()

    def grow():
        while not over.wait(0.3):
            program.stdin.write(b"1000\n")
            program.stdin.flush()
            program.stdout.readline()

    growing = threading.Thread(target=grow)
    growing.start()
    try:
        harness.wait_for(path.exists, timeout=120, what="the recording")
        with serving.Server(path) as server:
            harness.wait_for(lambda: server.ready()[0].get("final_allocated_count", 0) > 1000,
                             timeout=120,
                             what="the first blocks")
            seen = run_walk("page_live.mjs",
                            {"address": server.address, "id": server.ready()[0]["id"]}, tmp_path)
    finally:
        over.set()
        growing.join()
        program.stdin.close()
        program.wait(120)
        program.stdout.close()
    is_ = walked(seen, "live")
    assert "still being recorded" in is_["mark"] and "still runs" in is_["banner"]
    first, second = (int(is_[key].split()[0].replace(",", "")) for key in ("first", "second"))
    assert 100_000 <= first < second and "grow" in is_["boxes"]
    assert 0 < is_["resident"][0] < is_["resident"][1]
    assert seen["problems"] == []


def test_weight():
    """All that the page can load, compressed, is less than it may be."""
    for folder, _, names in os.walk(os.path.join(harness.BUILD, "web")):
        if "weight.json" in names:
            with open(os.path.join(folder, "weight.json"), encoding="ascii") as file:
                weight = json.load(file)
            assert 0 < weight["total"] < 500_000
            return
    pytest.fail("the page was not built")
