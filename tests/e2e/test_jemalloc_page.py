# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of jemalloc's statistics: memoir jemalloc report, in a browser without a network; and on
the server."""
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

import pytest

import harness

pytestmark = pytest.mark.xdist_group("browser")

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
# Published with MemScout, not ours to copy.
SHARED = (pathlib.Path(os.environ.get(
    "MEMOIR_SHARED", pathlib.Path(__file__).parents[3] / "shared")) / "samples/jemalloc")
SAMPLES = sorted(p.name for p in DATA.iterdir() if p.suffix in (".json", ".txt", ".log")
                 and not p.name.startswith(("golden", "prof_")))
# What MemScout shows of its two samples.
MEMSCOUT = {
    "memscout_s1.json": {"arenas": "1", "allocated": "134371536", "active": "164888576",
                         "dirty": "3,843",
                         "fragmentation": "18.51 %", "interval": "524288", "decay": "10,000 ms",
                         "tcache": "32768"},
    "memscout_s2.json": {"arenas": "2", "allocated": "200220552", "active": "239099904",
                         "dirty": "3,519",
                         "fragmentation": "16.26 %", "interval": "524288", "decay": "10,000 ms",
                         "tcache": "32768"},
}
CHARTS = {
    "classes": ["chart-share", "chart-breakdown", "chart-utilization", "chart-requests",
                "chart-allocated"],
    "arenas": ["chart-arena-utilization", "chart-arena-size"],
}


def report(*words, **keywords):
    return subprocess.run([harness.MEMOIR, "jemalloc", "report", *map(str, words)],
                          capture_output=True, text=True,
                          timeout=120, **keywords)


def embedded(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S)[1])


def bad_inputs(folder):
    """The five that MemScout fails on, and what is said of each."""
    whole = json.loads((DATA / "json_full.json").read_text())["jemalloc"]
    made = {
        "words.txt": ("these are words\n", "holds no jemalloc statistics"),
        "object.json": ("{}", "holds no jemalloc statistics"),
        "nothing.json": ('{"jemalloc":{}}', '"stats" is missing'),
        "no_general.json": (
            json.dumps({"jemalloc": {k: v for k, v in whole.items() if k.startswith("stats")}}),
                            "the general part is missing"),
        "no_arenas.json": (
            json.dumps({"jemalloc": {k: v for k, v in whole.items() if k != "stats.arenas"}}),
                           "no arenas are in it"),
    }
    for name, (text, _) in made.items():
        (folder / name).write_text(text)
    return {name: sentence for name, (_, sentence) in made.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A report of each sample."""
    folder = tmp_path_factory.mktemp("jemalloc")
    samples = [DATA / name for name in SAMPLES] + [SHARED / name for name in MEMSCOUT
                                                   if (SHARED / name).exists()]
    # From between two releases: its JSON has the counters of mutexes in their places, or it does
    # not.
    document = json.loads((DATA / "json_full.json").read_text())
    document["jemalloc"]["version"] = "5.3.0-123-g295e4894"
    samples.append(tmp_path_factory.mktemp("made") / "between.json")
    samples[-1].write_text(json.dumps(document))
    for path in samples:
        done = report(path, "-o", folder / f"{path.name}.html")
        assert done.stdout == "" and (folder / f"{path.name}.html").exists(), (path, done)
    assert report(DATA / "json_full.json", DATA / "json_521.json", "-o",
                  folder / "two.html").returncode == 0
    return folder


def test_report_holds_what_stats_says(folder):
    """The page's data is that of stats --json, without what is idle."""
    for name in ("json_full.json", "text_521.txt", "series_53.json"):
        told = json.loads(subprocess.run(
            [harness.MEMOIR, "jemalloc", "stats", "--json", DATA / name], capture_output=True,
                                         text=True, check=True, timeout=120).stdout)
        file = embedded(folder / f"{name}.html")["files"][0]
        assert (file["name"] == name
                and file["snapshots"] == len(told["snapshots"]) == len(file["documents"]))
        for one, other in zip(file["documents"], told["snapshots"]):
            assert one["file"] == name
            for key in ("version", "settings", "shape", "stats", "mutexes", "advice", "waterfall"):
                assert one[key] == other[key], (name, key)
            for arena, full in zip(one["arenas"], other["arenas"]):
                assert arena["bins"] == [b for b in full["bins"] if any(
                    v for k, v in b.items()
                    if k not in ("size", "ind", "nregs", "pages", "nshards"))]
                assert arena["large"] == full["large"] and arena["extents"] == full["extents"]
        assert file["series"]["allocated"] == [s["stats"]["allocated"] for s in told["snapshots"]]


def test_report_of_a_long_series(tmp_path):
    """Thousands of snapshots: the curves are thinned, some snapshots are whole, the last one
    always."""
    text = (DATA / "stats_interval.txt").read_text()
    one = text[:json.JSONDecoder().raw_decode(text)[1]].encode()
    path = tmp_path / "long.json"
    with open(path, "wb") as file:
        for i in range(5000):
            file.write(re.sub(rb'"allocated":\s*\d+', b'"allocated":%d' % (1000000 + i), one,
                              count=1))
    assert report(path, "-o", tmp_path / "long.html").returncode == 0
    file = embedded(tmp_path / "long.html")["files"][0]
    assert file["snapshots"] == 5000
    assert (100 <= len(file["kept"]) == len(file["documents"]) <= 301 and file["kept"][0] == 0
            and file["kept"][-1] == 4999)
    assert [d["stats"]["allocated"] for d in file["documents"]] == [
        1000000 + n for n in file["kept"]]
    series = file["series"]
    assert (2000 <= len(series["snapshot"]) <= 4096
            and series["allocated"] == [1000000 + n for n in series["snapshot"]])
    assert os.path.getsize(tmp_path / "long.html") < 30 << 20


def test_report_bad_input(tmp_path):
    """each gives one line and status 1; what can be shown is."""
    for name, sentence in bad_inputs(tmp_path).items():
        page = tmp_path / f"{name}.html"
        done = report(tmp_path / name, "-o", page)
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done
        assert sentence in done.stderr and name in done.stderr
        assert page.exists() == name.startswith("no_")
        if page.exists():
            assert sentence in embedded(page)["files"][0]["problems"][0]
    for words in (["/proc/nonexistent"], [tmp_path], [os.devnull]):
        done = report(*words, "-o", tmp_path / "x.html")
        assert (done.returncode == 1 and done.stderr.count("\n") == 1
                and not (tmp_path / "x.html").exists()), done
    # One bad file of two does not take the other with it.
    done = report(tmp_path / "words.txt", DATA / "json_full.json", "-o", tmp_path / "x.html")
    assert (done.returncode == 1 and [f["name"] for f in embedded(tmp_path / "x.html")["files"]] ==
            ["json_full.json"])
    # What is complete before the end of a cut file is there.
    text = (DATA / "series_53.json").read_bytes()
    (tmp_path / "cut.json").write_bytes(text[:-1000])
    done = report(tmp_path / "cut.json", "-o", tmp_path / "x.html")
    file = embedded(tmp_path / "x.html")["files"][0]
    assert done.returncode == 1 and file["snapshots"] == 3 and "cut off" in file["problems"][0]


def test_report_usage(tmp_path):
    assert report().returncode == 2
    done = report(DATA / "json_full.json", "-o", tmp_path / "none" / "x.html")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    done = report(DATA / "json_full.json", "-o", "/dev/full")
    assert done.returncode == 1 and "/dev/full" in done.stderr
    with open(DATA / "json_full.json", encoding="utf-8") as file:
        done = report("-", stdin=file)
    assert (done.returncode == 0 and done.stdout.startswith("<!doctype html>")
            and "standard input" in done.stdout)
    # A name that would end the element that it stands in.
    odd = tmp_path / "<script>&.json"
    odd.write_bytes((DATA / "json_full.json").read_bytes())
    assert report(odd, "-o", tmp_path / "odd.html").returncode == 0
    assert embedded(tmp_path / "odd.html")["files"][0]["name"] == odd.name


def test_report_needs_nothing(folder):
    """One file: no address of anything else in it, and a policy that forbids all but its own
    script."""
    text = (folder / "json_full.json.html").read_text(encoding="utf-8")
    assert re.search(r'http-equiv="Content-Security-Policy" content="default-src \'none\'; '
                     r'script-src \'sha256-', text)
    assert not re.search(r'(src|href)="[^#]', text)


def in_browser(folder, given):
    modules = os.path.join(harness.ROOT, "tests", "node_modules")
    if not harness.CHROMIUM or not shutil.which("node"):
        pytest.skip("no Chromium here")
    assert os.path.isdir(
        os.path.join(modules, "playwright-core")), "scripts/install-npm was not run"
    axe = os.path.join(modules, "axe-core", "axe.min.js")
    given = {"chromium": harness.CHROMIUM, "axe": axe, "out": os.environ.get("MEMOIR_SCREENSHOTS"),
             **given}
    done = subprocess.run(
        ["node", os.path.join(harness.HERE, "jemalloc_browser.mjs"), json.dumps(given)],
                          capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def make_leak(path):
    """A log of an hour and a half, with a snapshot each ten minutes: 600 blocks of 1024 bytes more
    in each."""
    whole = json.loads((DATA / "json_full.json").read_text())
    inside = whole["jemalloc"]
    size = inside["arenas"]["bin"][20]["size"]
    assert size == 1024
    with open(path, "w", encoding="utf-8") as file:
        for i in range(10):
            file.write(f"2026-11-15T{20 + i // 6}:{i % 6}0:00Z server: still here\n")
            json.dump(whole, file)
            for arena in (inside["stats.arenas"]["merged"], inside["stats.arenas"]["1"]):
                arena["bins"][20]["curregs"] += 600
                arena["bins"][20]["curslabs"] += 150
                arena["small"]["allocated"] += 600 * size
                arena["pactive"] += 150
            for key in ("allocated", "active", "resident"):
                inside["stats"][key] += 600 * size


@pytest.fixture(scope="module")
def seen(folder):
    def address(name):
        return f"file://{folder}/{name}.html"

    make_leak(folder / "leak.log")
    assert report(folder / "leak.log", "-o", folder / "leak.html").returncode == 0
    names = SAMPLES + ["between.json"] + [name for name in MEMSCOUT if (SHARED / name).exists()]
    return in_browser(folder, {
        "walk": {name: address(name) for name in names}, "use": {"full": address("json_full.json")},
        "series": address("series_53.json"), "two": f"file://{folder}/two.html",
        "look": address("json_full.json"),
        "leak": f"file://{folder}/leak.html"})


def test_browser_is_left_alone(seen):
    """No word on the console, and nothing asked for but the file itself; the network is off."""
    assert seen["problems"] == []
    assert all(url == "about:blank" or url.startswith("file:///") and ".html" in url
               for url in seen["requests"]), seen["requests"]


@pytest.mark.parametrize("name", MEMSCOUT)
def test_memscouts_rows_and_charts(seen, name):
    """the eight rows, the definitions and the seven charts."""
    if name not in seen["walk"]:
        pytest.skip("shared/ is not here")
    walked = seen["walk"][name]
    assert walked["facts"] == MEMSCOUT[name]
    assert {"Allocated memory", "Active (held) memory", "Fragmentation", "Arena", "Bin",
            "Profiling interval"} <= set(walked["definitions"])
    for part, charts in CHARTS.items():
        for chart in charts:
            assert walked["parts"][part]["charts"][chart] > 0, chart
    if name == "memscout_s2.json":
        table = walked["parts"]["arenas"]["tables"]["table-arenas"]
        used = {row[0]: row[table["head"].index("in use")] for row in table["rows"]}
        assert used["0"].startswith("0.82") and used["1"] == "1.0000"
    if name == "memscout_s1.json": # B3
        steps = {step: int(text) for step, _, text in walked["steps"]}
        assert steps["active"] - steps["allocated"] == steps["slabs"] == 30517040


def test_page_shows_all_arenas(seen):
    """all arenas together unless one is chosen, and fragmentation to the byte."""
    walked = seen["walk"]["json_full.json"]
    bins = walked["parts"]["classes"]["tables"]["table-bins"]
    live = [row for row in bins["rows"] if row[bins["head"].index("live")] != "0"]
    assert len(live) == 26 and sum(int(row[1]) for row in live) == 13182080
    assert "26 live bins" in walked["parts"]["classes"]["said"]["bins"]
    assert sum(int(row[1])
               for row in walked["parts"]["classes"]["tables"]["table-large"]["rows"]) == 21065728
    charts = walked["parts"]["classes"]["charts"]
    assert (charts["chart-share"] == charts["chart-breakdown"] == charts["chart-allocated"] == 26 +
            10)
    assert charts["chart-utilization"] == charts["chart-requests"] == 26
    steps = {step: int(text) for step, _, text in walked["steps"]}
    assert steps["slabs"] == 6994816 and steps["large_padding"] == 35 * 4096
    assert steps["active"] - steps["allocated"] == 7138176
    assert steps["resident"] - steps["active"] == sum(
        steps.get(s, 0) for s in ("dirty", "muzzy", "metadata", "metadata_rounding"))


def test_bins_as_the_text_has_them(seen):
    """the merged bins of the text are those of the page."""
    lines = (DATA / "text_full.txt").read_text().split("Merged arenas stats:")[1].split(
        "\nbins:")[1].split("\nlarge:")[0].splitlines()
    head = lines[0].split()
    table = seen["walk"]["text_full.txt"]["parts"]["classes"]["tables"]["table-bins"]
    shown = {row[0]: row for row in table["rows"]}
    found = 0
    for line in lines[1:]:
        words = line.split()
        if len(words) < 10 or not words[0].isdigit() or words[4] == "0":
            continue
        row = shown[words[0]]
        assert row[table["head"].index("allocated")] == words[head.index("allocated")]
        assert row[table["head"].index("allocations")] == words[head.index("nmalloc")]
        found += 1
    assert found >= 26


def test_mutexes(seen):
    """what JSON of these versions lost is called unavailable; text is as it was printed."""
    for name in ("json_521.json", "json_full.json"):
        walked = seen["walk"][name]
        assert walked["mutex_note"] and "unavailable" in walked["mutex_note"][0]
        table = walked["parts"]["mutexes"]["tables"]["table-mutexes"]
        for label in ("owner changes", "waited", "longest wait"):
            assert {row[table["head"].index(label)] for row in table["rows"]} == {"unavailable"}
    walked = seen["walk"]["between.json"]
    assert walked["mutex_note"][0].endswith("Waits, spins, owner changes and waiting times are "
                                            "unavailable, since they were not printed.")
    assert walked["parts"]["mutexes"]["said"]["mutexes"].startswith("waits are not told in ")
    table = walked["parts"]["mutexes"]["tables"]["table-mutexes"]
    for label in ("waits", "spins", "owner changes", "waited", "longest wait"):
        assert {row[table["head"].index(label)] for row in table["rows"]} == {"unavailable"}
    for name in ("text_521.txt", "text_full.txt"):
        walked = seen["walk"][name]
        assert not walked["mutex_note"]
        table = walked["parts"]["mutexes"]["tables"]["table-mutexes"]
        assert all(cell.isdigit() for row in table["rows"] for cell in row[1:])


def test_all_samples_are_shown(seen):
    """Every part of every sample says something, and says why where there is nothing."""
    for name, walked in seen["walk"].items():
        assert len(walked["facts"]) == 8, name
        for part, found in walked["parts"].items():
            assert found["said"] or found["nothing"], (name, part)
            for text in [*found["said"].values(), *found["nothing"], *walked["facts"].values()]:
                assert ("NaN" not in text and "undefined" not in text and "Infinity" not in text), (
                    name, part, text)
        for table in (t for p in walked["parts"].values() for t in p["tables"].values()):
            assert not any("NaN" in cell or "undefined" in cell for row in table["rows"]
                           for cell in row), name
        assert (walked["parts"]["configuration"]["tables"]
                or walked["parts"]["configuration"]["nothing"])
    assert ("table-configuration" in
            seen["walk"]["json_full.json"]["parts"]["configuration"]["tables"])
    assert "table-hpa" in seen["walk"]["json_full.json"]["parts"]["hpa"]["tables"]
    assert "table-extents" in seen["walk"]["json_full.json"]["parts"]["extents"]["tables"]
    destroyed = ([row[0]
                  for row in
                  seen["walk"]["json_destroyed.json"]["parts"]["arenas"]["tables"]["table-arenas"]["rows"]])
    assert set(destroyed) == {"destroyed", "0"}


def test_page_is_used(seen):
    """Sorting, pointing, choosing an arena, and going back."""
    use = seen["use"]
    assert use["human"]["allocated"] == "32.7 MiB" and use["human"]["decay"] == "10.0 s"
    assert use["tip"] and "2,621,440 bytes, large" in use["tip"][0] and "30.6 %" in use["tip"][0]
    assert use["piece_tip"] and "2,621,440 bytes" in use["piece_tip"][0]
    sizes = [int(size.replace(",", "")) for size in use["by_size"]]
    assert sizes == sorted(sizes) and use["sorted"] == "descending"
    lines = use["csv"][1].splitlines()
    assert (use["csv"][0] == "bins.csv" and lines[0].startswith("size,allocated,live,")
            and len(lines) == len(sizes) + 1)
    assert lines[1].startswith("3072,3649536,1188,")
    assert ("#/statistics?part=classes&sort=table-bins%3A-allocated" in use["sort_address"]
            and {"1 B", "4.00 KiB"} <= set(use["log"]))
    assert use["by_allocated"][0] == "3,072" and use["by_allocated"] != use["by_size"]
    assert "1 live bin ·" in use["arena_0"]["bins"] and "arena=0" in use["arena_address"]
    assert "26 live bins" in use["back"]["bins"]
    assert "arena=1" in use["arena_1"][0] and "26 live bins" in use["arena_1"][1]["bins"]


def test_series_is_walked(seen):
    """The slider, the curve, advice that comes with the snapshot, and a comparison that can be
    linked to."""
    series = seen["series"]
    expected = ["137822208", "275447808", "413073408", "275427968"]
    assert ([series["allocated"][str(i)][0] for i in range(4)] == expected
            and series["last"] == expected[-1])
    assert all(series["allocated"][str(i)][1].startswith(f"snapshot {i + 1} of 4")
               for i in range(4))
    assert "dirty" in series["advice"] and "dirty" not in series["advice_first"] # B6
    assert "snapshot=0" in series["clicked"]
    assert [c.split("curve-")[1] for c in series["curves"][0]] == [
        "allocated", "resident", "retained"]
    assert "curves=allocated+resident+retained" in series["curves"][1]
    rows = {row[0]: row[1:] for row in series["compare"]["rows"]}
    assert rows["allocated"][:3] == ["137822208", "275447808", "+137625600"]
    assert series["again"] == series["compare"] and "against=" in series["link"]


def test_growth_is_shown(seen):
    """The class that leaks is named with its growth, over the times in the log."""
    said, table, slider, axis = seen["leak"]
    rows = [dict(zip(table["head"], row)) for row in table["rows"]]
    assert len(rows) == 1 and rows[0]["size"] == "1,024" and rows[0]["verdict"] == "may be a leak"
    assert rows[0]["each hour"] == "+3.52 MiB" # 6 * 600 * 1024
    assert ("1 class grows steadily and may be a leak · 1,024 bytes: 3.52 MiB an hour" ==
            said["growth"])
    assert (slider == "snapshot 10 of 10 · 15/11/2026, 21:30:00" and "20:00:00" in axis
            and "21:30:00" in axis)


def test_two_files_are_compared(seen):
    two = seen["two"]
    assert two["choices"] == ["json_full.json", "json_521.json"] and two["title"] == "json_521.json"
    rows = {row[0]: row[1:] for row in two["compare"]["rows"]}
    assert rows["allocated"][0] == "32.6 MiB" and rows["allocated"][1] == "32.7 MiB"


def test_page_is_accessible(seen):
    assert len(seen["axe"]) == 18
    assert {part: found for part, found in seen["axe"].items() if found} == {}


class Server:
    """memoir server with these files, and what it answers."""

    def __init__(self, *words):
        self.process = subprocess.Popen([harness.MEMOIR, "server", "--any-port", *map(str, words)],
                                        stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.address

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            assert self.process.wait(60) == 0
        finally:
            self.process.kill()
            self.process.stdout.close()

    def ask(self, path, data=None):
        """(status, JSON)"""
        request = urllib.request.Request(self.address.rstrip("/") + path, data=data)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def until(self, holds):
        """The list, once what is asked of it holds."""
        for _ in range(600):
            rows = {row["name"]: row for row in self.ask("/list")[1]}
            if holds(rows):
                return rows
            time.sleep(0.1)
        raise AssertionError(rows)


def is_done(row):
    return row["state"] in ("ready", "error")


def test_server_answers(folder, tmp_path):
    """Statistics are a kind of file of their own: listed, asked about, sent, found in folders, and
    followed."""
    found = tmp_path / "found"
    found.mkdir()
    (found / "notes.txt").write_text("jemalloc is mentioned here\n")
    (found / "a.txt").write_bytes((DATA / "text_full.txt").read_bytes())
    log = tmp_path / "server.log"
    log.write_text("a line of a log\n" * 100000 + (DATA / "text_521.txt").read_text())
    with Server(DATA / "series_53.json", log, found) as server:
        rows = server.until(lambda rows: {"series_53.json", "server.log", "a.txt"} <= set(rows)
                            and all(map(is_done, rows.values())))
        assert set(rows) == {"series_53.json", "server.log", "a.txt"}
        assert ({row["kind"] for row in rows.values()} == {"statistics"}
                and not any(row["error"] for row in rows.values()))
        series = rows["series_53.json"]
        assert series["jemalloc"] == {"version": series["jemalloc"]["version"], "snapshots": 4,
                                      "allocated": 275427968,
                                      "active": 278736896, "resident": 423247872}
        told = embedded(folder / "series_53.json.html")["files"][0]
        path = f"/data/{series['id']}/statistics"
        assert server.ask(path) == (200, {k: v for k, v in told.items() if k != "documents"})
        for i in range(4):
            assert server.ask(f"{path}/{i}") == (200, told["documents"][i])
        for end in ("/4", "/-1", "/x", "/1x", "/%200", "/99999999999999999999"):
            status, said = server.ask(path + end)
            assert status == 404 and said["error"], end
        assert server.ask(f"{path}/0?number=1")[0] == 400
        # An address of recordings is none of statistics.
        assert server.ask(f"/data/{series['id']}/statistics?x=1")[0] == 400
        for row in server.ask("/api")[1]["endpoints"]:
            if row["path"].startswith(
                    "/data/{id}/") and "statistics" not in row["path"] and "GET" in row["methods"]:
                status, said = server.ask(
                    row["path"].replace("{id}", series["id"]).replace("{", "").replace("}", ""))
                assert status in (400, 404), (row["path"], said)
        # Sent, also packed; what is none is refused with a sentence.
        assert server.ask("/upload?name=packed.json.gz",
                          gzip.compress((DATA / "json_full.json").read_bytes()))[0] == 201
        for name, sentence in bad_inputs(tmp_path).items():
            status, said = server.ask(f"/upload?name={name}", (tmp_path / name).read_bytes())
            assert (status == 201) == name.startswith("no") and (
                status == 201 or sentence in said["error"]), said
        # What comes into the folder, and what grows.
        (found / "b.json").write_bytes((DATA / "json_full.json").read_bytes())
        with open(found / "a.txt", "ab") as file:
            file.write((DATA / "text_full.txt").read_bytes())
        rows = server.until(lambda rows: "b.json" in rows and all(map(is_done, rows.values()))
                            and rows["a.txt"]["jemalloc"]["snapshots"] == 2)
        assert (rows["packed.json.gz"]["jemalloc"]["allocated"] == 34247808
                and rows["packed.json.gz"]["uploaded"])
        assert '"stats" is missing' in rows["nothing.json"]["error"]
        assert "no arenas are in it" in rows["no_arenas.json"]["warnings"][0]["text"]
        assert "notes.txt" not in rows and rows["a.txt"]["version"] > 1
    assert subprocess.run([harness.MEMOIR, "server", tmp_path / "words.txt"], capture_output=True,
                          timeout=60).returncode == 1


@pytest.fixture(scope="module")
def served(folder, tmp_path_factory):
    """What was seen on a server that watches a folder, empty at first."""
    text = (DATA / "series_53.json").read_text()
    end = json.JSONDecoder().raw_decode(text)[1]
    (folder / "two.json").write_text(text[:end] * 2)
    watched = tmp_path_factory.mktemp("watched")
    with Server(watched) as server:
        return in_browser(folder, {
            "server": server.address,
            "bad": {name: str(folder / name) for name in bad_inputs(folder)},
            "chosen": str(DATA / "json_full.json"), "dropped": str(DATA / "series_53.json"),
            "growing": str(folder / "two.json"), "folder": str(watched)})


def test_served_page(served):
    """Files are chosen, dropped, compared, followed while they grow, and saved as a page."""
    server = served["server"]
    assert server["nothing"] == "Drop a file of jemalloc's statistics here, or choose one"
    assert (server["chosen"][0] == "json_full.json"
            and server["chosen"][1]["allocated"] == "32.7 MiB")
    assert re.search(r"#/statistics/[0-9a-f]{32}$", server["chosen"][2])
    assert (server["dropped"][0]["allocated"] == "263 MiB"
            and server["dropped"][1].startswith("snapshot 4 of 4"))
    assert server["compare"][:3] == ["allocated", "32.7 MiB", "263 MiB"]
    assert (server["grown"].startswith("snapshot 4 of 4")
            and server["saved"][0] == "growing.json.html" and server["saved"][1] > 100000)
    assert "Statistics" in server["columns"] and "Flame graph" not in server["columns"]
    assert any("json_full.json" in text and "1 snapshot" in text for text in server["listed"])
    assert server["unknown"] == ["The server does not have this file"]


def test_served_page_explains_bad_input(served, tmp_path):
    """Each of the inputs that MemScout fails on gives one clear sentence."""
    for name, sentence in bad_inputs(tmp_path).items():
        said = served["server"]["bad"][name]
        assert len(said) == 1 and sentence in said[0], (name, said)


def test_served_page_is_quiet(served):
    """Nothing on the console but refused uploads, and everything came from the server itself."""
    assert [text for text in served["problems"] if "status of 400" not in text] == []
    assert all(url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:"))
               for url in served["requests"])
    assert {state: found for state, found in served["server"]["axe"].items() if found} == {}
