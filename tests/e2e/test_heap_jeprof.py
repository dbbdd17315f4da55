# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc heap next to jeprof itself: every number of every function, to the last digit.

Where the two differ on purpose:
- jeprof marks an inlined function with " (inline)";
- it gives what has no symbol the next exported one before it (name@@VERSION), we say file and
  offset;
- of functions inlined in a library without a symbol table, it knows the innermost alone, so that a
  calloc that glibc inlines into allocate_dtv hides this function from it;
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

# Functions inlined two deep, into two functions of which one calls the other, and two whose names
# begin as the allocator's do.
INLINED = r"""
#include <stdlib.h>
#include <jemalloc/jemalloc.h>
#define INLINED static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline))
void *kept[100000];
int count;
INLINED void deepest(size_t size) { kept[count++] = malloc(size); }
INLINED void middle(size_t size) { for (int i = 0; i < 40; i++) deepest(size + i); }
CALLED void callee(size_t size) { middle(size); deepest(size * 3); }
CALLED void caller(size_t size) { deepest(size * 2); callee(size + 7); deepest(size + 90); }
INLINED void prof_inlined(size_t size) { deepest(size); }
CALLED void with_prof(size_t size) { prof_inlined(size); prof_inlined(size + 1); }
CALLED void prof_load(size_t size) { with_prof(size); deepest(size); }
int main(void)
{
	const char *path = "inlined.heap";
	for (size_t i = 1; i < 60; i++) {
		callee(i * 10);
		caller(100 + i * 9);
		middle(i * 5);
		prof_load(2000 + i);
	}
	return mallctl("prof.dump", NULL, NULL, &path, sizeof(path));
}
"""
INLINED_FUNCTIONS = {"deepest", "middle", "callee", "caller", "prof_inlined", "with_prof",
                     "prof_load", "main"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The dumps, with the program where their maps say that it is: jeprof insists on that."""
    folder = tmp_path_factory.mktemp("jeprof")
    shutil.copy(DATA / "prof", folder)
    for name in ("out", "out2"):
        text = (DATA / f"{name}.heap").read_text()
        (folder / f"{name}.heap").write_text(text.replace("/opt/jem-study/prof", f"{folder}/prof"))
    return folder


@pytest.fixture(scope="module")
def inlined(tmp_path_factory):
    """A dump of INLINED, a sample for about every two blocks."""
    folder = tmp_path_factory.mktemp("inlined")
    (folder / "inlined.c").write_text(INLINED)
    subprocess.run(["gcc", "-O2", "-g", "inlined.c", "-o", "inlined", "-ljemalloc"], cwd=folder,
                   check=True)
    subprocess.run(["./inlined"], cwd=folder, check=True,
                   env={"MALLOC_CONF": "prof:true,prof_accum:true,lg_prof_sample:9"})
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
def test_every_number_equals_jeprof(place, words):
    theirs, ours = (table(text) for text in both(place, ["--text", *words]))
    assert ours[0] == theirs[0]
    names = {name for name in theirs[1] if not unnamed(name)}
    assert names <= set(ours[1])
    if "allocate_dtv" in ours[1]:
        ours[1]["__GI__dl_allocate_tls"] = ours[1].pop("allocate_dtv")
    assert {name: ours[1][name] for name in names} == {name: theirs[1][name] for name in names}
    # What has no symbol holds the same, whatever it is called.
    assert sorted(row for name, row in ours[1].items() if unnamed(name)) == sorted(
        row for name, row in theirs[1].items() if unnamed(name))
    # Nothing of ours is missing there but functions that others were inlined into.
    assert not OWN & (set(ours[1]) - names)
    assert len(names & OWN) >= 2


INLINED_COMBINATIONS = [
    [],
    ["--exclude=deepest"], ["--exclude=middle"], ["--exclude=callee"], ["--exclude=caller|middle"],
    ["--exclude=inlined.c"], ["--exclude=inlined.c:10"], ["--exclude=prof_inlined"],
    ["--exclude=with_prof"],
    ["--retain=deepest"], ["--retain=middle"], ["--retain=callee|main"], ["--retain=call"],
    ["--retain=inlined.c"],
    ["--focus=deepest"], ["--focus=middle"], ["--focus=inlined.c:9"], ["--focus=^callee$"],
    ["--focus=prof_inlined"],
    ["--ignore=middle"], ["--ignore=deepest"], ["--ignore=inlined.c:9"], ["--ignore=caller"],
    # --focus and --ignore see what the other two have left.
    ["--exclude=callee", "--focus=callee"], ["--exclude=callee", "--focus=middle"],
    ["--exclude=callee", "--ignore=callee"], ["--retain=caller|main", "--focus=callee"],
    ["--retain=callee", "--ignore=middle"], ["--exclude=middle", "--focus=middle"],
    ["--focus=middle", "--ignore=caller"], ["--retain=call", "--exclude=callee"],
]


def own(table_, functions):
    return {name: row for name, row in table_[1].items() if name in functions}


@pytest.mark.parametrize("words", INLINED_COMBINATIONS, ids=lambda words: " ".join(words) or "all")
def test_patterns_and_inlined_functions(inlined, words):
    """Which functions of an address a pattern is tried on, and in which order."""
    theirs, ours = (table(text) for text in
                    both(inlined, ["--text", "--show_bytes", *words, "inlined", "inlined.heap"]))
    assert ours[0] == theirs[0]
    assert own(ours, INLINED_FUNCTIONS) == own(theirs, INLINED_FUNCTIONS)
    if not words:
        assert set(own(ours, INLINED_FUNCTIONS)) == INLINED_FUNCTIONS


CPP = r"""
#include <stdlib.h>
#include <jemalloc/jemalloc.h>
void *kept[100000];
int count;
namespace work {
template <class T> struct Box {
	__attribute__((noinline)) void fill(int size) const { kept[count++] = malloc(size * sizeof(T)); }
};
__attribute__((noinline)) void other(int size) { kept[count++] = malloc(size); }
}
int main()
{
	const char *path = "box.heap";
	for (int i = 1; i < 900; i++) {
		work::Box<double>().fill(i);
		work::Box<char>().fill(i);
		work::other(i);
	}
	return mallctl("prof.dump", NULL, NULL, &path, sizeof(path));
}
"""


@pytest.mark.parametrize(
    "words", [["--focus=Box::fill"], ["--ignore=^work::Box::fill$"], ["--exclude=Box::fill"],
              ["--retain=^work::other$|main"]], ids=" ".join)
def test_patterns_know_jeprofs_short_names(tmp_path, words):
    """jeprof leaves arguments out of names, of templates as well; a pattern knows our whole names,
    and its short ones."""
    (tmp_path / "box.cpp").write_text(CPP)
    subprocess.run(["g++", "-O2", "-g", "box.cpp", "-o", "box", "-ljemalloc"], cwd=tmp_path,
                   check=True)
    subprocess.run(["./box"], cwd=tmp_path, check=True,
                   env={"MALLOC_CONF": "prof:true,lg_prof_sample:9"})

    def flat(text):
        found = {}
        for name, row in table(text)[1].items():
            short = re.sub(r"<[^<>]*>|\([^()]*\)( const)?", "", name)
            found[short] = found.get(short, 0) + int(row[0])
        return {name: found[name] for name in ("work::Box::fill", "work::other", "main")
                if found.get(name)}
    theirs, ours = (flat(text) for text in both(
        tmp_path, ["--text", "--show_bytes", *words, "box", "box.heap"]))
    assert set(ours) == set(theirs) and ours
    assert all(abs(ours[name] - theirs[name]) <= 2
               for name in ours)  # two rows of ours may be one of jeprof's


def test_lines_equal_jeprof(place):
    """With discriminators put together: a line of jeprof's is the sum of its parts, none of which
    is in two stacks."""
    theirs, ours = (table(text) for text in both(
        place, ["--text", "--lines", "--show_bytes", "prof", "out.heap"]))
    sums = {}
    for name, (flat, _, cum, _) in theirs[1].items():
        match = re.fullmatch(r"(\w+) (/\S+/prof\.c:\d+)(?: \(discriminator \d+\))?", name)
        if match:
            before = sums.get(match[0].split(" (disc")[0], (0, 0))
            sums[match[0].split(" (disc")[0]] = (before[0] + int(flat), before[1] + int(cum))
    assert {name.split()[0] for name in sums} == OWN
    for name, (flat, cum) in sums.items():
        # each part is cut
        assert (abs(int(ours[1][name][0]) - flat) <= 1
                and abs(int(ours[1][name][2]) - cum) <= 2), name


def nodes(graph):
    """{name: (flat, cumulative)} of a graph's boxes, and {(from, to): amount} of its arrows."""
    boxes, names = {}, {}
    for number, name, flat, cum in re.findall(
            r'^N(\d+) \[label="(.*?)\\n(?:\(inline\)\\n)?(\S+) \(\S+%\)\\r(?:of (\S+) '
            r'\(\S+%\)\\r)?"', graph, re.MULTILINE):
        names[number] = name
        boxes[name] = (flat, cum or flat)
    arrows = {(names[a], names[b]): amount
              for a, b, amount in re.findall(r'^N(\d+) -> N(\d+) \[label="?([\d.]+)', graph,
                                             re.MULTILINE)}
    return boxes, arrows


@pytest.mark.parametrize("words",
                         [[], ["--nodecount=5"], ["--nodefraction=.5", "--edgefraction=.5"]],
                         ids=["all", "nodecount", "fractions"])
def test_graph_equals_jeprof(place, words):
    """Where a function is left out, we draw an arrow from who called it to whom it called; jeprof
    draws none."""
    theirs, ours = (nodes(text) for text in both(place, ["--dot", *words, "prof", "out.heap"]))
    assert ours[0] == theirs[0] and len(ours[0]) >= 4
    assert {pair: ours[1].get(pair) for pair in theirs[1]} == theirs[1] and theirs[1]
    assert ours[1] == theirs[1] or len(ours[0]) < 9


def collapsed(text, functions):
    """{the program's own functions of a stack: weight}."""
    found = {}
    for line in text.splitlines():
        names, weight = re.sub(r"<[0-9a-f]+>|\[inline\]| \(inline\)", "", line).rsplit(" ", 1)
        tail = ";".join(name for name in names.split(";") if name in functions)
        found[tail] = found.get(tail, 0) + int(weight)
    return {names: weight for names, weight in found.items() if weight}


@pytest.mark.parametrize("measure",
                         ["--inuse_space", "--inuse_objects", "--alloc_space", "--alloc_objects"])
def test_collapsed_equals_jeprof(place, inlined, measure):
    """Equal stacks of ours are one; jeprof has a line for each stack of addresses, each cut to a
    whole number."""
    for folder, words, functions in ((place, ["prof", "out.heap"], OWN),
                                     (place, ["prof", "out.heap", "out2.heap"], OWN),
                                     (inlined, ["inlined", "inlined.heap"], INLINED_FUNCTIONS)):
        theirs, ours = (collapsed(text, functions)
                        for text in both(folder, ["--collapsed", measure, *words]))
        assert ours == theirs and len(ours) >= 3


REPORTS = ["--text", "--tree", "--peek=.", "--list=.", "--disasm=.", "--collapsed", "--dot",
           "--callgrind", "--pprof",
           "--raw", "--json", "--csv", "--flamegraph", "--svg", "--html"]


@pytest.mark.parametrize("words", REPORTS)
def test_an_unreadable_dump_has_no_report(place, tmp_path, words):
    """One line, status 1, nothing on standard output, no file; alone, among others, and as a
    base."""
    (tmp_path / "no.heap").write_text("not a dump\n")
    (tmp_path / "empty.heap").write_text("")
    shutil.copy(place / "out.heap", tmp_path)
    several = [] if words == "--raw" else [["out.heap", "no.heap"], ["no.heap", "out.heap"],
                                           ["out.heap", "missing.heap"],
                                           ["--base=no.heap", "out.heap"],
                                           ["--base=missing.heap", "out.heap"]]
    for dumps in [["no.heap"], ["missing.heap"], ["empty.heap"], *several]:
        for to in ([], ["-o", "written"]):
            done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", words, *to, *dumps],
                                  cwd=tmp_path,
                                  capture_output=True, text=True)
            assert (done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1), (
                dumps, done)
            bad = next(name for name in ("no.heap", "missing.heap", "empty.heap")
                       if name in " ".join(dumps))
            assert f": {bad}: " in done.stderr
            assert not (tmp_path / "written").exists()


def test_raw_report(place):
    """A symbolized dump: jeprof reads it without the program, and so do we."""
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    words = ["--text", "--show_bytes"]
    before = table(run([harness.MEMOIR, "jemalloc", "heap"], place, [*words, "prof", "out.heap"]))
    raw = run([harness.MEMOIR, "jemalloc", "heap"], place, ["--raw", "prof", "out.heap"])
    # Paths of another machine.
    (elsewhere / "raw.heap").write_text(
        raw.replace(f"{place}/", "/proc/nonexistent/").replace("/usr/lib/", "/proc/nonexistent/"))
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
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--raw", *words], cwd=place,
                          capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith("memoir jemalloc heap: --raw is ")


def test_symbols(place):
    """Maps and addresses on standard input, a name for each: those of the program and one that is
    nowhere."""
    text = (place / "out.heap").read_text()
    program = re.search(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*/prof$", text, re.MULTILINE)
    low, high = (int(end, 16) for end in program.groups())
    addresses = [a for a in sorted(set(re.findall(r"0x[0-9a-f]+", text)))
                 if low <= int(a, 16) < high] + ["0xdeadbeef"]
    question = text[text.index("MAPPED_LIBRARIES:\n"):].split("\n", 1)[1] + "\n".join(
        addresses) + "\n"
    theirs, ours = (subprocess.run([*command, "--symbols", "prof"], cwd=place, input=question,
                                   capture_output=True,
                                   text=True).stdout
                    for command in (["jeprof"], [harness.MEMOIR, "jemalloc", "heap"]))
    assert (ours == theirs and ours.endswith("\n0x00000000deadbeef\n")
            and {"worker", "main"} <= set(ours.splitlines()))
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--symbols", "out.heap"], cwd=place,
                          input="",
                          capture_output=True, text=True)
    assert done.returncode == 2
