# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc: statistics of jemalloc, and the tools whose place it takes."""
import os
import pathlib
import subprocess

import pytest

import harness

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
LOG = DATA / "synthetic_36.log"
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
