# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap next to jeprof itself: every number of every function, to the last digit.

Where the two differ on purpose:
- jeprof marks an inlined function with " (inline)";
- it gives what has no symbol the next exported one before it (name@@VERSION), we say file and offset;
- of functions inlined in a library without a symbol table, it knows the innermost alone;
- a line with discriminators is several lines to it.
"""
import pathlib
import re
import shutil
import subprocess

import pytest

import harness

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
pytestmark = pytest.mark.skipif(not shutil.which("jeprof"), reason="no jeprof (libjemalloc-dev)")
OWN = {"worker", "inl", "thr", "main"}  # functions of the program


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The dumps, with the program where their maps say that it is: jeprof insists on that."""
    folder = tmp_path_factory.mktemp("jeprof")
    shutil.copy(DATA / "prof", folder)
    for name in ("out", "out2"):
        text = (DATA / f"{name}.heap").read_text()
        (folder / f"{name}.heap").write_text(text.replace("/opt/jem-study/prof", f"{folder}/prof"))
    return folder


def run(command, place, words):
    done = subprocess.run([*command, *words], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def both(place, words):
    """What jeprof and Memoir print."""
    return run(["jeprof"], place, words), run([harness.MEMOIR, "jemalloc", "heap"], place, words)


ROW = re.compile(r" *(-?[\d.]+) +(-?[\d.]+)% +-?[\d.]+% +(-?[\d.]+) +(-?[\d.]+)% (.*)")


def table(text):
    """The total, and {name: (flat, its share, cumulative, its share)}; -0.0 % is 0."""
    total, *lines = text.splitlines()
    found = {}
    for line in lines:
        row = ROW.fullmatch(line)
        found[row[5].replace(" (inline)", "")] = (row[1], float(row[2]), row[3], float(row[4]))
    return total.split(", of which")[0], found


def unnamed(name):
    """Is it what has no symbol, by jeprof's word or by ours?"""
    return "@@" in name or name.startswith("[")


COMBINATIONS = {
    "text": ["prof", "out.heap"],
    "cum": ["--cum", "--show_bytes", "prof", "out.heap"],
    "inuse_objects": ["--inuse_objects", "prof", "out.heap"],
    "alloc_space": ["--alloc_space", "--show_bytes", "prof", "out.heap"],
    "alloc_objects": ["--alloc_objects", "prof", "out.heap"],
    "focus": ["--focus=prof.c:13", "--show_bytes", "prof", "out.heap"],
    "ignore": ["--ignore=prof.c:13", "--show_bytes", "prof", "out.heap"],
    "retain": ["--retain=main|worker", "--show_bytes", "prof", "out.heap"],
    "exclude": ["--exclude=worker", "prof", "out.heap"],
    "thread": ["--thread=1", "--show_bytes", "prof", "out.heap"],
    "base": ["--base=out.heap", "--show_bytes", "prof", "out2.heap"],
    "drop_negative": ["--base=out2.heap", "--drop_negative", "--inuse_objects", "prof", "out.heap"],
    "sum": ["--show_bytes", "prof", "out.heap", "out2.heap"],
}


@pytest.mark.parametrize("words", COMBINATIONS.values(), ids=COMBINATIONS)
def test_d4_every_number(place, words):
    theirs, ours = (table(text) for text in both(place, ["--text", *words]))
    assert ours[0] == theirs[0]
    names = {name for name in theirs[1] if not unnamed(name)}
    assert names <= set(ours[1])
    assert {name: ours[1][name] for name in names} == {name: theirs[1][name] for name in names}
    # What has no symbol holds the same, whatever it is called.
    assert sorted(row for name, row in ours[1].items() if unnamed(name)) == sorted(
        row for name, row in theirs[1].items() if unnamed(name))
    # Nothing of ours is missing there but functions that others were inlined into.
    assert not OWN & (set(ours[1]) - names)
    assert len(names & OWN) >= 2


def test_d4_lines(place):
    """With discriminators put together: a line of jeprof's is the sum of its parts, none of which is in two stacks."""
    theirs, ours = (table(text) for text in both(place, ["--text", "--lines", "--show_bytes", "prof", "out.heap"]))
    sums = {}
    for name, (flat, _, cum, _) in theirs[1].items():
        match = re.fullmatch(r"(\w+) (/\S+/prof\.c:\d+)(?: \(discriminator \d+\))?", name)
        if match:
            before = sums.get(match[0].split(" (disc")[0], (0, 0))
            sums[match[0].split(" (disc")[0]] = (before[0] + int(flat), before[1] + int(cum))
    assert {name.split()[0] for name in sums} == OWN
    for name, (flat, cum) in sums.items():
        assert abs(int(ours[1][name][0]) - flat) <= 1 and abs(int(ours[1][name][2]) - cum) <= 2, name  # each part is cut


def nodes(graph):
    """{name: (flat, cumulative)} of a graph's boxes, and {(from, to): amount} of its arrows."""
    boxes, names = {}, {}
    for number, name, flat, cum in re.findall(
            r'^N(\d+) \[label="(.*?)\\n(?:\(inline\)\\n)?(\S+) \(\S+%\)\\r(?:of (\S+) \(\S+%\)\\r)?"', graph, re.MULTILINE):
        names[number] = name
        boxes[name] = (flat, cum or flat)
    arrows = {(names[a], names[b]): amount
              for a, b, amount in re.findall(r'^N(\d+) -> N(\d+) \[label="?([\d.]+)', graph, re.MULTILINE)}
    return boxes, arrows


@pytest.mark.parametrize("words", [[], ["--nodecount=5"], ["--nodefraction=.5", "--edgefraction=.5"]],
                         ids=["all", "nodecount", "fractions"])
def test_d4_graph(place, words):
    """Where a function is left out, we draw an arrow from who called it to whom it called; jeprof draws none."""
    theirs, ours = (nodes(text) for text in both(place, ["--dot", *words, "prof", "out.heap"]))
    assert ours[0] == theirs[0] and len(ours[0]) >= 4
    assert {pair: ours[1].get(pair) for pair in theirs[1]} == theirs[1] and theirs[1]
    assert ours[1] == theirs[1] or len(ours[0]) < 9


def test_d4_collapsed(place):
    """Equal stacks of ours are one; jeprof has a line for each address, each cut to a whole number."""
    def stacks(text):
        found = {}
        for line in text.splitlines():
            names, weight = re.sub(r"<[0-9a-f]+>|\[inline\]| \(inline\)", "", line).rsplit(" ", 1)
            tail = ";".join(name for name in names.split(";") if name in OWN)
            found[tail] = found.get(tail, 0) + int(weight)
        return found
    theirs, ours = (stacks(text) for text in both(place, ["--collapsed", "prof", "out.heap"]))
    assert set(ours) == set(theirs) and {"thr;worker;inl", "main;worker"} <= set(ours)
    for names, weight in theirs.items():
        assert abs(ours[names] - weight) <= 8, names


def test_d3_raw(place):
    """A symbolized dump: jeprof reads it without the program, and so do we."""
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    words = ["--text", "--show_bytes"]
    before = table(run([harness.MEMOIR, "jemalloc", "heap"], place, [*words, "prof", "out.heap"]))
    raw = run([harness.MEMOIR, "jemalloc", "heap"], place, ["--raw", "prof", "out.heap"])
    # Paths of another machine.
    (elsewhere / "raw.heap").write_text(raw.replace(f"{place}/", "/nonexistent/").replace("/usr/lib/", "/nonexistent/"))
    assert raw.startswith(f"--- symbol\nbinary={place}/prof\n0x")
    assert re.search(r"^0x[0-9a-f]{16} worker--inl$", raw, re.MULTILINE)
    assert raw.endswith("---\n--- heap\n" + (place / "out.heap").read_text())
    theirs, ours = (table(text) for text in both(elsewhere, [*words, "raw.heap"]))
    names = {name for name in before[1] if not unnamed(name)}
    for name in names:
        assert ours[1][name] == before[1][name]
        if name in OWN:
            assert theirs[1][name] == before[1][name]
    assert ours[0] == theirs[0] == before[0]
    # Again, nothing changes.
    again = run([harness.MEMOIR, "jemalloc", "heap"], elsewhere, ["--raw", "raw.heap"])
    assert again == (elsewhere / "raw.heap").read_text()


@pytest.mark.parametrize("words", [["out.heap", "out2.heap"], ["--base=out2.heap", "out.heap"],
                                   ["--focus=worker", "out.heap"], ["--thread=0", "out.heap"]])
def test_raw_is_of_one_whole_dump(place, words):
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--raw", *words], cwd=place, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("memoir jemalloc heap: --raw is ")


def test_symbols(place):
    """Maps and addresses on standard input, a name for each: those of the program and one that is nowhere."""
    text = (place / "out.heap").read_text()
    program = re.search(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/prof$", text, re.MULTILINE)
    low, high = (int(end, 16) for end in program.groups())
    addresses = [a for a in sorted(set(re.findall(r"0x[0-9a-f]+", text))) if low <= int(a, 16) < high] + ["0xdeadbeef"]
    question = text[text.index("MAPPED_LIBRARIES:\n"):].split("\n", 1)[1] + "\n".join(addresses) + "\n"
    theirs, ours = (subprocess.run([*command, "--symbols", "prof"], cwd=place, input=question, capture_output=True,
                                   text=True).stdout
                    for command in (["jeprof"], [harness.MEMOIR, "jemalloc", "heap"]))
    assert ours == theirs and ours.endswith("\n0x00000000deadbeef\n") and {"worker", "main"} <= set(ours.splitlines())
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--symbols", "out.heap"], cwd=place, input="",
                          capture_output=True, text=True)
    assert done.returncode == 2
