# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc: statistics of jemalloc, and the tools whose place it takes."""
import json
import os
import pathlib
import subprocess

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
    return subprocess.run([harness.MEMOIR, "jemalloc", *map(str, words)], capture_output=True, text=True,
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
    assert jemalloc("abs", LOG, 0, 0, 1).stdout.startswith("Absolutes from iteration # 0 above 0 B:\n")


@pytest.mark.parametrize("words, says, status", [
    (["abs", LOG, 0, 5, 9], "there is no iteration 7: they are 0 to 6", 1),
    (["del", LOG, 0, 7], "there is no iteration 7", 1),
    (["abs", LOG, "many"], "'many' is no number", 2),
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
    path.write_text("___ Begin".join([*parts[:2], parts[2][:cut] + "--- End jemalloc statistics ---\n"]))
    done = jemalloc("del", path)
    assert "arena 1 of iteration 0 is not in 1" in done.stderr
    assert "arena:  0  delta total:  300.0 MB" in done.stdout


def test_a_cut_end_keeps_what_is_before(tmp_path):
    path = tmp_path / "cut.json"
    path.write_bytes((DATA / "series_53.json").read_bytes()[:-100])
    done = jemalloc("abs", path, 100)
    assert done.stdout.count("Absolutes") == 3 and done.returncode == 1
    assert "cut.json, offset" in done.stderr and "cut off" in done.stderr


def table(text, name):
    """The rows of a table, by their first cell."""
    lines = text.split(f"\n{name}\n")[1].split("\n\n")[0].splitlines()
    columns = lines[0].split()
    return {cells[0]: dict(zip(columns, cells)) for cells in (line.replace(",", "").split() for line in lines[1:])}


def test_tables_of_json_are_those_of_text():
    by_json = jemalloc("stats", DATA / "json_full.json").stdout
    by_text = jemalloc("stats", DATA / "text_full.txt").stdout
    for name, columns in (("BINS", ("size", "allocated", "nmalloc", "curregs", "nregs", "curslabs")),
                          ("LARGE CLASSES", ("size", "allocated", "curlextents"))):
        one, two = table(by_json, name), table(by_text, name)
        assert set(one) <= set(two) and len(one) >= 10
        for key, row in one.items():
            assert [row[c] for c in columns] == [two[key][c] for c in columns]
    # 26 bins are alive in the sum of the arenas.
    assert sum(row["curregs"] != "0" for row in table(by_json, "BINS").values()) == 26
    assert table(by_json, "ARENAS")["merged"]["small_allocated"] == "13182080"
    assert "nmalloc" in by_text.split("LARGE CLASSES")[1] and "put right" in by_json and "unavailable" in by_json
    assert "put right" not in by_text


def test_one_arena_sorted():
    out = jemalloc("stats", "--arena", "1", "--sort", "allocated", DATA / "json_full.json").stdout
    found = [int(row["allocated"]) for row in table(out, "BINS").values()]
    assert found == sorted(found, reverse=True) and found[0] > 2_000_000


def test_json_has_all_snapshots_and_settings():
    done = jemalloc("stats", "--json", DATA / "series_53.json", DATA / "text_full.txt")
    snapshots = json.loads(done.stdout)["snapshots"]
    assert [s["stats"]["allocated"] for s in snapshots] == [137822208, 275447808, 413073408, 275427968, 34247808]
    assert [s["notation"] for s in snapshots] == ["json"] * 4 + ["text"]
    assert snapshots[4]["settings"]["opt.percpu_arena"] == "disabled"
    assert [a["arena"] for a in snapshots[4]["arenas"]] == ["merged", "0", "1", "2"]
    assert "opt.narenas: 8" in jemalloc("stats", "--settings", DATA / "json_full.json").stdout


def published(name):
    path = SHARED / "samples/jemalloc" / name
    if not path.exists():
        pytest.skip("the sample is not here")
    return path


def snapshots(*paths):
    done = jemalloc("stats", "--json", *paths)
    return json.loads(done.stdout)["snapshots"]


@pytest.mark.parametrize("name, rows", [
    ("memscout_s1.json", (1, 134371536, 164888576, 3843, 18.51, 524288, 10000)),
    ("memscout_s2.json", (None, 200220552, 239099904, None, 16.26, 524288, 10000))])
def test_b1_published_samples(name, rows):
    s = snapshots(published(name))[0]
    found = (s["shape"]["narenas"], s["stats"]["allocated"], s["stats"]["active"], s["summary"]["dirty_pages"],
             s["summary"]["fragmentation_percent"], s["summary"]["profiling_interval"], s["shape"]["dirty_decay_ms"])
    assert [f for f, r in zip(found, rows) if r is not None] == [r for r in rows if r is not None]


def test_b2_merged_by_default():
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


def test_b3_fragmentation_is_attributed():
    for name in ("json_full.json", "text_full.txt"):
        steps = adds_up(snapshots(DATA / name)[0]["waterfall"])
        assert (steps["slabs"], steps["large_padding"]) == (6994816, 35 * 4096)
        assert steps["slabs"] + steps["large_padding"] == 7138176
    for name in ("json_521.json", "text_521.txt", "json_1arena.json", "text_1arena.txt", "json_profstats.json"):
        adds_up(snapshots(DATA / name)[0]["waterfall"])
    for arena in snapshots(DATA / "json_full.json")[0]["arenas"]:
        adds_up(arena["waterfall"])


def test_b3_published_sample():
    steps = adds_up(snapshots(published("memscout_s1.json"))[0]["waterfall"])
    assert steps["slabs"] + steps["large_padding"] == 30517040 and steps["large_padding"] == 0


@pytest.mark.parametrize("name", ["json_521.json", "json_full.json", "text_521.txt", "text_full.txt"])
def test_b5_mutexes_by_version(name):
    s = snapshots(DATA / name)[0]
    assert s["mutex_counters_lost"] == name.startswith("json")
    assert any("unavailable" in text for text in s["corrections"]) == name.startswith("json")
    raw = json.loads((DATA / name).read_text())["jemalloc"]["stats.arenas"]["merged"]["mutexes"] if (
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
    "a broken value": ('{"jemalloc":{"stats":{"allocated":x}}}', "offset 34", False),
    "cut off": ('{"jemalloc":{"stats":', "cut off", False),
}


@pytest.mark.parametrize("what", BAD)
def test_b7_bad_input_is_one_line(what, tmp_path):
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
