# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc: statistics of jemalloc, and the tools whose place it takes."""
import csv
import fcntl
import gzip
import io
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios

import pytest

import harness

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
LOG = DATA / "synthetic_36.log"
SHARED = pathlib.Path(os.environ.get("MEMOIR_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
GOLDEN = {
    "abs": (["1024", "3", "6"], "golden_jemabs_1024_3_6.txt"),
    "del": ([], "golden_jemdel.txt"),
    "eff": (["200", "0", "2"], "golden_jemeff_200_0_2.txt"),
}


def jemalloc(*words, **keywords):
    return subprocess.run([harness.MEMOIR, "jemalloc", *map(str, words)], capture_output=True,
                          text=True,
                          **keywords)


def made(log):
    """What extract-jem-stats makes of a log."""
    lines = ["def load(arenas,total,active,mapped):"]
    for line in log.read_text().splitlines():
        if "Begin" in line:
            lines.append("  arenas('sum')")
        elif line.startswith("arenas["):
            lines.append(f"  arenas({line[7:line.index(']')]})")
        elif line.split(":")[0] in ("total", "active", "mapped"):
            lines.append(f"  {line.split(':')[0]}({line.split()[1]})")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("word", GOLDEN)
def test_as_the_tools_they_replace(word, tmp_path):
    numbers, name = GOLDEN[word]
    expected = (DATA / name).read_text()
    done = jemalloc(word, LOG, *numbers)
    assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0)
    # By the old name, and with what the old extractor wrote, in the working directory.
    link = tmp_path / f"jem{word}"
    link.symlink_to(os.path.abspath(harness.MEMOIR))
    (tmp_path / "jemdata.py").write_text(made(LOG))
    for words in (numbers, ["jemdata", *numbers], [str(LOG), *numbers]):
        done = subprocess.run([link, *words], capture_output=True, text=True, cwd=tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (expected, "", 0), words
    with open(LOG, encoding="utf-8") as log:
        assert jemalloc(word, "-", *numbers, stdin=log).stdout == expected


def sums(path):
    """Bytes allocated in all arenas, by iteration."""
    units = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}
    found = []
    for line in jemalloc("abs", path, 0).stdout.splitlines():
        words = line.split()
        if words[0] == "Absolutes":
            found.append(0)
        elif words[2] == "total:":
            found[-1] += float(words[3]) * units[words[4]]
    return found


def test_text_and_json_of_a_series_agree():
    # Two runs of one program: its threads got other arenas, but the sums are the same.
    assert sums(DATA / "series_53.txt") == sums(DATA / "series_53.json") == [
        137822208, 275447808, 413073408, 275427968]


def test_numbers():
    assert jemalloc("abs", LOG, 1500, 0, 1).stdout == "Absolutes from iteration # 0 above 1 GB:\n"
    assert jemalloc("abs", LOG, 0, 0, 1).stdout.startswith(
        "Absolutes from iteration # 0 above 0 B:\n")


@pytest.mark.parametrize("words, says, status", [
    (["abs", LOG, 0, 5, 9], "there is no iteration 7: they are 0 to 6", 1),
    (["del", LOG, 0, 7], "there is no iteration 7", 1),
    (["abs", LOG, "many"], "'many': invalid number", 2),
    (["eff", LOG, 1, 2, 3, 4], "what is '4' for", 2),
    (["eff", DATA / "leak_final.heap"], "heap profile", 1),
    (["eff", "nowhere"], "No such file", 1),
    (["stats", "nowhere"], "No such file", 1),
    (["stats", DATA / "leak_final.heap"], "heap profile", 1),
    (["stats", "--arena", "7", DATA / "json_full.json"], "there is no arena '7'", 1),
    (["stats", "--sort", "colour", DATA / "json_full.json"], "there is no field 'colour'", 2),
    (["stats"], "of which file", 2),
    (["ab"], "did you mean 'abs'", 2),
    ([], "what shall it do", 2),
])
def test_errors_are_one_line(words, says, status):
    done = jemalloc(*words)
    assert says in done.stderr and done.stderr.count("\n") == 1
    assert (done.stdout, done.returncode) == ("", status)


def test_an_arena_that_is_gone_is_named(tmp_path):
    path = tmp_path / "gone.log"
    parts = LOG.read_text().split("___ Begin")
    cut = parts[2].index("arenas[1]:")
    path.write_text("___ Begin".join(
        [*parts[:2], parts[2][:cut] + "--- End jemalloc statistics ---\n"]))
    done = jemalloc("del", path)
    assert done.stderr.splitlines() == ["memoir jemalloc del: arena 1 of iteration 0 is not in 1"]
    assert "arena:  0  delta total:  300.0 MB" in done.stdout


def test_a_cut_end_keeps_what_is_before(tmp_path):
    path = tmp_path / "cut.json"
    path.write_bytes((DATA / "series_53.json").read_bytes()[:-100])
    done = jemalloc("abs", path, 100)
    assert done.stdout.count("Absolutes") == 3 and done.returncode == 1
    assert "cut.json: at byte" in done.stderr and "cut off" in done.stderr


def table(text, name):
    """The rows of a table, by their first cell."""
    lines = text.split(f"\n{name}\n")[1].split("\n\n")[0].splitlines()
    columns = lines[0].split()
    return {cells[0]: dict(zip(columns, cells))
            for cells in (line.replace(",", "").split() for line in lines[1:])}


def test_tables_of_json_are_those_of_text():
    by_json = jemalloc("stats", DATA / "json_full.json").stdout
    by_text = jemalloc("stats", DATA / "text_full.txt").stdout
    for name, columns in (
            ("BINS", ("size", "allocated", "nmalloc", "curregs", "nregs", "curslabs")),
                          ("LARGE CLASSES", ("size", "allocated", "curlextents"))):
        one, two = table(by_json, name), table(by_text, name)
        assert set(one) <= set(two) and len(one) >= 10
        for key, row in one.items():
            assert [row[c] for c in columns] == [two[key][c] for c in columns]
    # 26 bins are alive in the sum of the arenas.
    assert sum(row["curregs"] != "0" for row in table(by_json, "BINS").values()) == 26
    assert table(by_json, "ARENAS")["merged"]["small_allocated"] == "13182080"
    assert ("nmalloc" in by_text.split("LARGE CLASSES")[1] and "put right" in by_json
            and "unavailable" in by_json)
    assert "put right" not in by_text


def test_bins_of_text_from_json():
    """size, allocated, nmalloc, curregs and util of each row of the text's merged table, from the
    JSON."""
    text = (DATA / "text_full.txt").read_text().split("Merged arenas stats:")[1].split(
        "\nbins:")[1].split("\nlarge:")[0]
    ours = table(jemalloc("stats", DATA / "json_full.json").stdout, "BINS")
    by_text = table(jemalloc("stats", DATA / "text_full.txt").stdout, "BINS")
    header, *lines = text.splitlines()
    columns = [name for name in header.replace("(#/sec)", "rate").split()]
    rows = [dict(zip(columns, line.split())) for line in lines if line.split()[0].isdigit()]
    assert len(rows) >= 26
    for row in rows:
        for mine in (ours, by_text):
            found = mine[row["size"]]
            assert [found[c] for c in ("allocated", "nmalloc", "curregs")] == [
                row[c] for c in ("allocated", "nmalloc", "curregs")]
            assert found["util"] == (row["util"] if found["curslabs"] != "0" else "-")
    extents = {row["size"]: row
               for row in csv_rows("stats", "--csv", "extents", DATA / "json_full.json")}
    expected = {row["size"]: row
                for row in csv_rows("stats", "--csv", "extents", DATA / "text_full.txt")}
    assert extents.keys() == expected.keys() and all(
        extents[k][c] == expected[k][c] for k in extents
        for c in ("ind", "ndirty", "dirty_bytes", "nretained", "retained_bytes"))
    assert "num_owner_switch" in jemalloc("stats", "--only", "mutexes",
                                          DATA / "text_full.txt").stdout
    assert "1.50 KiB" in jemalloc("stats", "--human", "--only", "bins",
                                  DATA / "json_full.json").stdout


def changed(tmp_path, change):
    """A snapshot of which `change` makes another one."""
    document = json.loads((DATA / "json_full.json").read_text())
    change(document["jemalloc"])
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(document))
    return {a["id"]: a for a in snapshots(path)[0]["advice"]}


def test_each_advice_cites_its_numbers(tmp_path):
    assert changed(tmp_path, lambda d: None) == {}

    def contended(d):  # this version's num_spin_acq is the number of waits
        d["stats.arenas"]["merged"]["mutexes"]["extents_dirty"].update(
            num_ops=100000, num_spin_acq=5000)
    found = changed(tmp_path, contended)["contention"]
    assert ("extents_dirty" in found["evidence"] and "5,000" in found["evidence"]
            and "5.0 %" in found["evidence"])
    assert found["malloc_conf"] == "percpu_arena:percpu"
    # which its JSON does not say
    assert found["weight"] == "maybe" and "measure for how long" in found["control"]

    def retained(d):
        d["stats.arenas"]["merged"]["retained"] = 10 << 30
    found = changed(tmp_path, retained)["retained"]
    assert (found["weight"] == "info" and "harmless" in found["what"]
            and "10.0 GiB" in found["evidence"])

    def many(d):
        for i in range(3, 40):
            d["stats.arenas"][str(i)] = dict(d["stats.arenas"]["2"])
        d["stats.arenas"]["merged"]["pactive"] *= 10
    found = changed(tmp_path, many)["arenas"]
    assert "40 arenas" in found["evidence"] and found["malloc_conf"] == "narenas:10"

    def tcache(d):
        d["stats.arenas"]["merged"]["tcache_bytes"] = 12 << 20
    found = changed(tmp_path, tcache)["tcache"]
    assert found["bytes"] == 12 << 20 and "tcache_max" in found["malloc_conf"]

    def never(d):
        d["arenas"]["dirty_decay_ms"] = -1
    assert changed(tmp_path, never)["never-purged"]["evidence"].startswith("dirty_decay_ms is -1, ")


def test_names_in_a_file_do_not_reach_the_terminal(tmp_path):
    document = json.loads((DATA / "json_full.json").read_text())["jemalloc"]
    document["version"] = "5.3.1-\033[31m"
    mutexes = document["stats.arenas"]["merged"]["mutexes"]
    mutexes["\033[2J"] = dict(mutexes["base"], num_ops=100000, num_wait=50000,
                              total_wait_time=10**15)
    document["opt"]["\033]0;x\007"] = "\033[2J"
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"jemalloc": document}, ensure_ascii=False))
    for words in (["stats", "--settings"], ["watch", "--once", "-n", "1"]):
        out = jemalloc(*words, path).stdout
        assert "5.3.1" in out and "\033" not in out and "\007" not in out
    assert "waited for 50,000 times" in jemalloc("stats", path).stdout


def test_one_arena_sorted():
    out = jemalloc("stats", "--arena", "1", "--sort", "allocated", DATA / "json_full.json").stdout
    found = [int(row["allocated"]) for row in table(out, "BINS").values()]
    assert found == sorted(found, reverse=True) and found[0] > 2_000_000


def test_json_has_all_snapshots_and_settings():
    done = jemalloc("stats", "--json", DATA / "series_53.json", DATA / "text_full.txt")
    snapshots = json.loads(done.stdout)["snapshots"]
    assert [s["stats"]["allocated"] for s in snapshots] == [137822208, 275447808, 413073408,
                                                            275427968, 34247808]
    assert [s["notation"] for s in snapshots] == ["json"] * 4 + ["text"]
    assert snapshots[4]["settings"]["opt.percpu_arena"] == "disabled"
    assert [a["arena"] for a in snapshots[4]["arenas"]] == ["merged", "0", "1", "2"]
    assert "opt.narenas: 8" in jemalloc("stats", "--settings", DATA / "json_full.json").stdout


def published(name):
    path = SHARED / "samples/jemalloc" / name
    if not path.exists():
        pytest.skip("the sample is not here")
    return path


def inputs(path, folder):
    """The same bytes in every way that they may come: (words, keywords)."""
    text = path.read_bytes()
    noise = b"2026-11-15 20:25:01 INFO a line of jemalloc {\n"
    made = {"gz": gzip.compress(text),
            "zst": subprocess.run(["zstd", "-qc"], input=text, stdout=subprocess.PIPE,
                                  check=True).stdout,
            "noise": noise + text + b"\n" + noise,
            "members": gzip.compress(text[:1000]) + gzip.compress(text[1000:])}
    yield [path], {}
    for name, content in made.items():
        (folder / name).write_bytes(content)
        yield [folder / name], {}
    yield ["-"], {"stdin": open(path, encoding="utf-8")}
    yield ["-"], {"stdin": open(folder / "zst", "rb")}


@pytest.mark.parametrize("name, allocated", [
    ("series_53.txt", [137822208, 275447808, 413073408, 275427968]),
    ("series_53.json", [137822208, 275447808, 413073408, 275427968]),
    ("stats_interval.txt", 5), ("synthetic_36.log", 7), ("json_521.json", 1), ("text_521.txt", 1)])
def test_statistics_in_every_input(name, allocated, tmp_path):
    first = None
    for words, keywords in inputs(DATA / name, tmp_path):
        done = jemalloc("stats", "--json", *words, **keywords)
        assert (done.returncode, done.stderr) == (0, "")
        found = [s["stats"] for s in json.loads(done.stdout)["snapshots"]]
        first = first or found
        assert found == first
        if isinstance(allocated, int):
            assert len(found) == allocated
        else:
            assert [s["allocated"] for s in found] == allocated


def test_compact_and_tabbed_are_the_same(tmp_path):
    document = json.loads((DATA / "json_521.json").read_text())
    expected = snapshots(DATA / "json_521.json")[0]["arenas"]
    for number, text in enumerate(
            (json.dumps(document, separators=(",", ":")), json.dumps(document, indent="\t"))):
        path = tmp_path / str(number)
        path.write_text(text)
        assert snapshots(path)[0]["arenas"] == expected


def test_what_is_before_the_damage_is_kept(tmp_path):
    packed = gzip.compress((DATA / "series_53.json").read_bytes())
    for name, content in (("cut.gz", packed[:-3000]), ("damaged.gz", packed[:-3000] + b"x" * 3000)):
        path = tmp_path / name
        path.write_bytes(content)
        done = jemalloc("stats", "--json", path)
        assert (done.returncode == 1 and "the compressed data is" in done.stderr
                and name in done.stderr)
        assert done.stderr.count("\n") == 1 or name == "damaged.gz"
        assert 1 <= len(json.loads(done.stdout)["snapshots"]) < 4


def csv_rows(*words):
    done = jemalloc(*words)
    assert (done.returncode, done.stderr) == (0, "")
    return list(csv.DictReader(io.StringIO(done.stdout)))


def peak(pid):
    """Bytes that a process had resident at most."""
    return (int(re.search(r"VmHWM:\s+(\d+) kB",
                          pathlib.Path(f"/proc/{pid}/status").read_text())[1]) << 10)


@pytest.mark.parametrize("word", ["stats", "abs", "extract"])
@pytest.mark.parametrize("name", ["series_53.json", "series_53.txt"])
def test_memory_is_flat(word, name, tmp_path):
    text = (DATA / name).read_bytes()
    process = subprocess.Popen([harness.MEMOIR, "jemalloc", word, "-"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL,
                               cwd=tmp_path)
    peaks = []
    for _ in range(5):  # of 8 MB each; a pipe holds 64 kB, so it was read when it was written
        for _ in range((8 << 20) // len(text)):
            process.stdin.write(text)
        process.stdin.flush()
        peaks.append(peak(process.pid))
    process.stdin.close()
    assert process.wait(120) == 0
    # The first pieces fill the window, which then stays as it is; what abs keeps of a snapshot is a
    # few numbers.
    assert peaks[-1] - peaks[1] < 4 << 20, peaks


@pytest.mark.parametrize("table", ["summary", "arenas", "bins", "large", "extents", "mutexes",
                                   "hpa", "slabs",
                                   "waterfall", "advice", "settings", "global-mutexes", "growth"])
def test_csv_of_each_table(table):
    rows = csv_rows("stats", "--csv", table, DATA / "json_full.json", DATA / "text_full.txt")
    assert all(None not in row and None not in row.values() for row in rows)
    if table in ("bins", "large", "arenas", "mutexes", "settings", "waterfall"):
        assert {pathlib.Path(row["file"]).name for row in rows} == {
            "json_full.json", "text_full.txt"}
    if table == "bins":
        ours = {int(row["size"]): int(row["allocated"]) for row in rows if "text" in row["file"]}
        assert sum(ours.values()) == 13182080 and ours[3072] == 1188 * 3072


def test_deltas_of_text_and_json_agree():
    fields = "total,active,large_nmalloc,stats.allocated"
    by_text, by_json = (
        [row for row in csv_rows("del", "--consecutive", "--csv", "--totals", "--field", fields,
                                 DATA / name)
         if row["arena"] == "all"] for name in ("series_53.txt", "series_53.json"))
    assert by_text == by_json and len(by_text) == 3
    assert [int(row["total_delta"]) for row in by_text] == [137625600, 137625600, -137645440]
    assert [int(row["stats.allocated_delta"]) for row in by_text] == [
        137625600, 137625600, -137645440]


def test_rates_totals_and_shares():
    plain = csv_rows("del", "-c", "-t", "--csv", DATA / "series_53.txt")
    ages = [s["uptime_ns"] / 1e9 for s in snapshots(DATA / "series_53.txt")]
    for row, rate in zip(plain, csv_rows("del", "-c", "-t", "-r", "--csv", DATA / "series_53.txt")):
        i = int(row["iteration"])
        if row["note"] == "":
            assert float(rate["total_per_second"]) == pytest.approx(
                int(row["total_delta"]) / (ages[i] - ages[i - 1]), rel=1e-6, abs=1e-3)
    for row in csv_rows("eff", "-t", "--csv", DATA / "series_53.txt"):
        assert float(row["total_percent"]) == pytest.approx(
            100 * int(row["total"]) / int(row["mapped"]), abs=0.01)
    rows = csv_rows("abs", "-t", "--csv", DATA / "series_53.txt")
    for i in "0123":
        mine = [row for row in rows if row["iteration"] == i]
        assert (int(mine[0]["total"]) == sum(int(row["total"]) for row in mine[1:])
                and mine[0]["arena"] == "all")
    same = json.loads(jemalloc("abs", "-t", "--json", DATA / "series_53.txt").stdout)["rows"]
    assert [(str(r["iteration"]), r["arena"], str(r["total"])) for r in same] == [
        (r["iteration"], r["arena"], r["total"]) for r in rows]


def test_arenas_that_appear_or_vanish(tmp_path):
    rows = csv_rows("abs", "--csv", DATA / "series_53.json")
    assert [(r["iteration"], r["arena"]) for r in rows if r["note"] == "new"] == [("1", "2")]
    parts = LOG.read_text().split("___ Begin")
    cut = parts[2].index("arenas[1]:")
    path = tmp_path / "gone.log"
    path.write_text("___ Begin".join(
        [*parts[:2], parts[2][:cut] + "--- End jemalloc statistics ---\n", parts[3]]))
    rows = csv_rows("del", "-c", "--csv", path)
    assert [(r["iteration"], r["arena"], r["note"]) for r in rows if r["note"]] == [
        ("1", "1", "gone"), ("2", "1", "new")]


def test_bins_and_large_classes():
    rows = csv_rows("abs", "-t", "--csv", "--field", "bin.3072.curregs,large.16384.curlextents",
                    DATA / "text_full.txt")
    assert rows[0]["bin.3072.curregs"] == "1188"
    assert int(rows[0]["bin.3072.curregs"]) == sum(int(r["bin.3072.curregs"]) for r in rows[1:])
    done = jemalloc("abs", "--field", "bin.3072", LOG)
    assert done.returncode == 2 and "there is no field 'bin.3072'" in done.stderr


@pytest.mark.parametrize(
    "words", [["abs", "--csv", "-t"], ["del", "-c", "--csv"], ["eff", "--json"], ["abs", "--plot"]])
def test_options_work_on_what_the_old_extractor_wrote(words, tmp_path):
    jemalloc("extract", "-o", tmp_path / "log.py", LOG)
    of_log, of_data = jemalloc(*words, LOG), jemalloc(*words, tmp_path / "log")
    assert (of_data.returncode, of_data.stderr) == (0, "")
    # which it does not keep
    untimed = re.sub(r'\n *"time": [0-9.]+,|(?<=,)20\d\d-[^,]*', "", of_log.stdout)
    assert of_data.stdout == untimed and "arena" in untimed


def test_plot():
    out = jemalloc("abs", "--plot", "--field", "total", LOG).stdout
    assert "arena 0  total" in out and "arena 1  total" in out and "█" in out
    assert max(map(len, out.splitlines())) <= 80


def test_extract_is_as_the_tool_it_replaces(tmp_path):
    link = tmp_path / "extract-jem-stats"
    link.symlink_to(os.path.abspath(harness.MEMOIR))
    for name in ("synthetic_36.log", "series_53.txt", "text_full.txt", "text_destroyed.txt"):
        done = subprocess.run([link, DATA / name], capture_output=True, text=True, cwd=tmp_path)
        assert (done.stdout, done.stderr, done.returncode) == (
            f"Extracting data from {DATA / name}....Done.\n", "", 0)
        assert (tmp_path / "jemdata.py").read_text() == made(DATA / name)
    # JSON gives what the text of the same process would give.
    jemalloc("extract", "-o", tmp_path / "json.py", DATA / "series_53.json")
    for word, numbers in (("abs", ["0"]), ("eff", ["0"])):
        assert jemalloc(word, tmp_path / "json.py", *numbers).stdout == jemalloc(
            word, DATA / "series_53.json", *numbers).stdout
    done = subprocess.run([link, "nowhere"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1 and done.stderr.startswith("Error!  File nowhere not found!")
    assert subprocess.run([link, "a", "b"], capture_output=True, text=True,
                          cwd=tmp_path).returncode == 2


def snapshots(*paths):
    done = jemalloc("stats", "--json", *paths)
    return json.loads(done.stdout)["snapshots"]


@pytest.mark.parametrize("name, rows", [
    ("memscout_s1.json", (1, 134371536, 164888576, 3843, 18.51, 524288, 10000)),
    ("memscout_s2.json", (None, 200220552, 239099904, None, 16.26, 524288, 10000))])
def test_published_samples(name, rows):
    s = snapshots(published(name))[0]
    found = (s["shape"]["narenas"], s["stats"]["allocated"], s["stats"]["active"],
             s["summary"]["dirty_pages"],
             s["summary"]["fragmentation_percent"], s["summary"]["profiling_interval"],
             s["shape"]["dirty_decay_ms"])
    assert [f for f, r in zip(found, rows) if r is not None] == [r for r in rows if r is not None]


def test_merged_by_default():
    s = snapshots(DATA / "json_full.json")[0]
    whole = next(a for a in s["arenas"] if a["arena"] == s["whole"])
    assert s["whole"] == "merged" and whole["small_allocated"] == 13182080
    assert sum(b["curregs"] > 0 for b in whole["bins"]) == 26


def adds_up(waterfall):
    """The steps, which lead from resident to the program's own to the byte."""
    steps = {step["name"]: step["bytes"] for step in waterfall["steps"]}
    for upper, lower in (("resident", "active"), ("active", "allocated"), ("allocated", "program")):
        assert waterfall[upper] - waterfall[lower] == sum(
            step["bytes"] for step in waterfall["steps"] if step["from"] == upper)
    assert steps["unexplained"] == 0
    assert steps["slabs"] == sum(b["bytes"] for b in waterfall["bins"])
    ranked = [b["bytes"] for b in waterfall["bins"]]
    assert ranked == sorted(ranked, reverse=True)
    return steps


def test_fragmentation_is_attributed():
    for name in ("json_full.json", "text_full.txt"):
        steps = adds_up(snapshots(DATA / name)[0]["waterfall"])
        assert (steps["slabs"], steps["large_padding"]) == (6994816, 35 * 4096)
        assert steps["slabs"] + steps["large_padding"] == 7138176
    for name in ("json_521.json", "text_521.txt", "json_1arena.json", "text_1arena.txt",
                 "json_profstats.json"):
        adds_up(snapshots(DATA / name)[0]["waterfall"])
    for arena in snapshots(DATA / "json_full.json")[0]["arenas"]:
        adds_up(arena["waterfall"])


def test_published_sample():
    steps = adds_up(snapshots(published("memscout_s1.json"))[0]["waterfall"])
    assert steps["slabs"] + steps["large_padding"] == 30517040 and steps["large_padding"] == 0


@pytest.mark.parametrize("name",
                         ["json_521.json", "json_full.json", "text_521.txt", "text_full.txt"])
def test_mutexes_by_version(name):
    s = snapshots(DATA / name)[0]
    assert s["mutex_counters_lost"] == name.startswith("json")
    assert any("unavailable" in text for text in s["corrections"]) == name.startswith("json")
    raw = json.loads(
        (DATA / name).read_text())["jemalloc"]["stats.arenas"]["merged"]["mutexes"] if (
        name.startswith("json")) else None
    whole = next(a for a in s["arenas"] if a["arena"] == "merged")
    for mutex in whole["mutexes"]:
        if raw:
            assert mutex["num_wait"] == raw[mutex["name"]]["num_spin_acq"]
            assert not {"num_owner_switch", "total_wait_time", "max_wait_time"} & set(mutex)
        else:
            assert {"num_owner_switch", "total_wait_time", "max_wait_time"} <= set(mutex)


def test_missing_merged_is_made(tmp_path):
    document = json.loads((DATA / "json_full.json").read_text())
    expected = snapshots(DATA / "json_full.json")[0]
    del document["jemalloc"]["stats.arenas"]["merged"]
    path = tmp_path / "without.json"
    path.write_text(json.dumps(document))
    s = snapshots(path)[0]
    assert s["merged_made"] and s["waterfall"] == expected["waterfall"]
    assert "merged is made" in jemalloc("stats", path).stdout


BAD = {
    "no JSON at all": ("<html>nothing here</html>", "holds no jemalloc statistics", False),
    "an empty object": ("{}", "holds no jemalloc statistics", False),
    "an empty document": ('{"jemalloc":{}}', '"stats" is missing', False),
    "option g": (None, "the general part is missing", True),
    "without stats.arenas": (None, "no arenas are in it", True),
    "no file": ("", "it is empty", False),
    "a broken value": ('{"jemalloc":{"stats":{"allocated":x}}}', "at byte 34", False),
    "cut off": ('{"jemalloc":{"stats":', "cut off", False),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line(what, tmp_path):
    text, says, shown = BAD[what]
    document = json.loads((DATA / "json_full.json").read_text())["jemalloc"]
    if what == "option g":
        text = (DATA / "json_small.json").read_text()
    elif what == "without stats.arenas":
        del document["stats.arenas"]
        text = json.dumps({"jemalloc": document})
    path = tmp_path / "bad.json"
    path.write_text(text)
    for words in (["stats"], ["stats", "--json"], ["stats", "--csv", "summary"]):
        done = jemalloc(*words, path)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        assert says in done.stderr and "bad.json" in done.stderr, done.stderr
        assert ("34247808" in done.stdout.replace(",", "")) == shown
        assert shown or words[1:] == ["--json"] or done.stdout == ""


def on_terminal(columns, *words, color="never"):
    """The lines that a terminal of this width gets, without escape sequences."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([harness.MEMOIR, "jemalloc", *map(str, words), "--color", color],
                               stdout=theirs)
    os.close(theirs)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # its other side is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).replace("\r", "").splitlines()


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("name", ["text_full.txt", "json_full.json", "json_521.json",
                                  "series_53.txt", "synthetic_36.log",
                                  "text_destroyed.txt"])
def test_no_line_is_wider_than_the_terminal(name, columns, tmp_path, monkeypatch):
    """Rows that wrap cannot be read: what there is no room for is named instead."""
    path = tmp_path / name
    path.write_bytes((DATA / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    for color in ("never", "always"):
        lines = on_terminal(columns, "stats", name, color=color)
        assert not [line for line in lines if len(line) > columns] and len(lines) > 20
    text = " ".join(lines)
    if name == "text_full.txt":
        assert ("no room for" in text) and "--csv and --json have them" in text
        assert (len(on_terminal(300, "stats", name)) < len(lines)
                and "no room" not in " ".join(on_terminal(300, "stats", name)))


@pytest.mark.parametrize("columns", [60, 80])
def test_a_verdict_is_not_cut(columns, tmp_path):
    """In stats and in watch, which has as many columns as there is room for."""
    document = json.loads((DATA / "json_1arena.json").read_text())
    path = tmp_path / "leak.json"
    with open(path, "w", encoding="utf-8") as file:
        for i in range(20):
            arena = document["jemalloc"]["stats.arenas"]["0"]
            arena["uptime_ns"] = (i + 1) * 10**10
            arena["lextents"][8]["curlextents"] = 100000 + 50000 * i
            file.write(json.dumps(document) + "\n")
    rows = [line for line in on_terminal(columns, "stats", path) if line.endswith("leak?")]
    assert len(rows) == 1
    done = subprocess.run([harness.MEMOIR, "jemalloc", "watch", "--once", "-n", "20", path],
                          capture_output=True, text=True,
                          env=dict(os.environ, COLUMNS=str(columns)), check=True)
    lines = done.stdout.splitlines()
    assert not [line for line in lines if len(line) > columns]
    assert [line.split()[0] for line in lines if line.endswith(" leak?")] == [
        str(rows[0].split()[0])]


def test_what_mutexes_do_not_tell(tmp_path):
    """A dash and a note, no 0 and no column that is missing; for waits as well where the version
    says nothing of use."""
    lines = jemalloc("stats", "--only", "mutexes", DATA / "json_full.json").stdout.splitlines()
    cells = (dict(zip(lines[3].split(),
                      next(line for line in lines if line.startswith("base ")).split())))
    assert (cells["num_wait"] == "0" and cells["total_wait_time"] == cells["max_wait_time"] ==
            cells["num_owner_switch"] == "-")
    assert lines[-1].startswith("(- is not known: ")
    document = json.loads((DATA / "json_full.json").read_text())
    # from between two releases: it has the mistake, or it does not
    document["jemalloc"]["version"] = "5.3.0-123-g295e4894"
    (tmp_path / "between.json").write_text(json.dumps(document))
    lines = jemalloc("stats", "--only", "mutexes", tmp_path / "between.json").stdout.splitlines()
    cells = (dict(zip(lines[3].split(),
                      next(line for line in lines if line.startswith("base ")).split())))
    assert cells["num_wait"] == cells["num_spin_acq"] == "-" and cells["num_ops"] != "-"
    assert "(- is not known" not in jemalloc("stats", "--only", "mutexes",
                                             DATA / "text_full.txt").stdout
