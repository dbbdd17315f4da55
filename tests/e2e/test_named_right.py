# SPDX-License-Identifier: MIT OR Apache-2.0
"""The function that leads a row is the right one: the first five rows of `memoir report` (the
peak), of `memoir leaks`, and of the calls in what the page's Overview asks, of programs of which a
person wrote down whose memory it is (named_programs.py).  What the recordings say in sentences is
compared with their allocations on the way.

  python3 tests/e2e/test_named_right.py build --write

records them all, prints the table, and writes it into docs/named.md."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- made by tests/e2e/test_named_right.py -->\n", "<!-- end -->\n"
ROWS = 5
SHARE = 0.95
# Three of them are one C program, whose copy_text() a single function calls: nothing tells it from
# that function's own helper.
SHARE_OF_FEW = 0.9

if __name__ == "__main__":
    sys.path.insert(0, HERE)
    WORDS = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    WORDS.add_argument("build")
    WORDS.add_argument("--write", action="store_true", help="into docs/named.md")
    WORDS.add_argument("--only", help="names of programs, with commas")
    ARGUMENTS = WORDS.parse_args()
    os.environ["MEMOIR_BUILD"] = os.path.abspath(ARGUMENTS.build)

import pytest

import harness
import named_programs
import test_sentences
from named_programs import PROGRAMS, WRAPPERS, Missing
from serving import Server


# One worker has them all: what they build is kept in one place.
pytestmark = pytest.mark.xdist_group("named")


def rows_of(path):
    """{command: [(function, bytes), …]}, the first five of each."""
    report = harness.ask("report", "--json", path, timeout=300)["top"]["peak"]
    leaks = harness.ask("leaks", "--json", "-n", str(ROWS), path, timeout=300)["verdicts"]
    with Server(path) as server:
        answer = server.get(f"/data/{server.ready()[0]['id']}/overview")
    overview = answer["top"]
    # The page shows what the command prints, and the verdicts that lead it are the same.
    assert [r["function"] for r in overview["peak"]] == [r["function"] for r in report]
    assert [r["function"] for r in answer["verdicts"]] == [r["function"] for r in leaks]
    return {
        "report": [(r["function"], r["bytes"]) for r in report[:ROWS]],
        "leaks": [(r["function"], r["leaked_bytes"]) for r in leaks[:ROWS]],
        "overview": [(r["function"], r["bytes"]) for r in overview["allocated"][:ROWS]],
    }


def judge(name, folder):
    """[(program, command, row, function, is it right), …]"""
    program = PROGRAMS[name]
    path = program.record(str(folder))
    test_sentences.check_real(path)
    names = named_programs.Names(program.symbols()) if program.symbols else None
    found = []
    for command, rows in rows_of(path).items():
        for i, (function, _) in enumerate(rows):
            right, function = program.is_right(function, names)
            found.append((name, command, i + 1, function, right))
    assert found, "the recording has no rows"
    return found


def table(judged):
    """The rows as a table, and the sums below it."""
    lines = ["| program | command | row | function | |", "|---|---|---|---|---|"]
    for name, command, row, function, right in judged:
        shown = (function if len(function) < 90 else function[:87] + "…").replace("|", "\\|")
        lines.append(f"| {PROGRAMS[name].title} | {command} | {row} | `{shown}` | "
                     f"{'right' if right else '**wrong**'} |")
    good = sum(row[-1] for row in judged)
    programs = len({row[0] for row in judged})
    sums = (f"{good} of {len(judged)} rows of {programs} programs name the right function: "
            f"{100 * good / max(1, len(judged)):.1f} of 100.")
    return lines, sums


def sums_by_program(judged):
    lines = ["| program | report | leaks | overview |", "|---|---|---|---|"]
    for name in dict.fromkeys(row[0] for row in judged):
        cells = []
        for command in ("report", "leaks", "overview"):
            rows = [row for row in judged if row[:2] == (name, command)]
            cells.append(f"{sum(row[-1] for row in rows)} of {len(rows)}" if rows else "–")
        lines.append(f"| {PROGRAMS[name].title} | {' | '.join(cells)} |")
    return lines


def check(names, folder):
    judged, missing = [], []
    for name in names:
        place = os.path.join(folder, name)
        os.makedirs(place)
        try:
            judged += judge(name, place)
        except Missing as why:
            missing.append(f"{name}: {why}")
    lines, sums = table(judged)
    print("\n".join([*lines, "", *missing, sums]))
    return judged, missing, sums


def assert_right(judged, least_programs, share):
    good = sum(row[-1] for row in judged)
    assert len({row[0] for row in judged}) >= least_programs
    assert good >= share * len(judged), table(judged)[1]


@pytest.mark.slow
def test_rows_name_the_right_function(tmp_path):
    """A few that are recorded in seconds."""
    judged, _, _ = check([name for name, p in PROGRAMS.items() if p.quick], str(tmp_path))
    assert_right(judged, 5, SHARE_OF_FEW)


@pytest.mark.long
def test_rows_of_all_programs_name_the_right_function(tmp_path):
    judged, missing, _ = check(PROGRAMS, str(tmp_path))
    if len(judged) and len(missing) > len(PROGRAMS) - 20:
        pytest.skip(f"too few programs are here: {missing}")
    assert_right(judged, 20, SHARE)


def patterns():
    """All that the rules name."""
    with open(os.path.join(harness.ROOT, "src/query/frame_kinds.txt"), encoding="utf-8") as file:
        rules = [line.split() for line in file if line.strip() and line[0] != "#"]
    return [word for rule in rules for word in rule[2:]]


def responsible_of(path, names):
    """The functions that rows are called by; those without names by the symbol table."""
    rows = harness.ask("groups", "--by", "responsible", "--json", path, timeout=300)["groups"]
    return {named_programs.called(row["name"], names) for row in rows}


def functions_of(path, names):
    """Those that are in stacks."""
    rows = harness.ask("report", "--by", "stack", "--json", "--backtraces", "-n", "1000", path,
                       timeout=300)["top"]["allocated"]
    frames = [f for row in rows for f in row["backtrace"]]
    return {named_programs.called(f.get("function") or f.get("name", ""), names) for f in frames}


def wrapper_cases():
    for name in WRAPPERS:
        yield pytest.param(name, marks=[] if PROGRAMS[name].quick else [pytest.mark.long])


@pytest.mark.slow
@pytest.mark.parametrize("name", wrapper_cases())
def test_wrappers_are_found_by_their_shape(name, tmp_path):
    """They are in stacks, in no list, and lead no row."""
    for pattern in patterns():
        for wrapper in WRAPPERS[name]:
            assert not (wrapper == pattern or
                        pattern.endswith("*") and wrapper.startswith(pattern[:-1]))
    try:
        path = PROGRAMS[name].record(str(tmp_path))
    except Missing as why:
        pytest.skip(str(why))
    names = named_programs.Names(PROGRAMS[name].symbols()) if PROGRAMS[name].symbols else None
    assert set(WRAPPERS[name]) <= functions_of(path, names)
    assert not set(WRAPPERS[name]) & responsible_of(path, names)


def test_what_a_rule_calls_the_programs_is_no_wrapper(tmp_path):
    """Whatever its shape."""
    path = PROGRAMS["c-O0"].record(str(tmp_path))
    rules = tmp_path / "frames"
    rules.write_text("program function grab\n")

    def first(env):
        done = harness.execute([harness.MEMOIR, "groups", "--by", "responsible", "--json", path],
                               env=env)
        return [row["name"] for row in json.loads(done.stdout)["groups"]]

    assert "grab" not in first({})
    assert first({"MEMOIR_FRAMES": str(rules)}) == ["grab"]


def test_they_are_found_while_the_program_runs(tmp_path):
    """memoir top shows what the report will show."""
    path = tmp_path / "out.dat"
    process = subprocess.Popen([harness.MEMOIR, "run", "-q", "-o", path, "--",
                                named_programs.shop_c(0)],
                               env={**harness.ENVIRONMENT, "SHOP_STAYS": "1"})
    try:
        def screen():
            done = harness.execute(
                [harness.MEMOIR, "top", "--screens", "2", "-i", "0.2", "-n", "20",
                 str(path)])
            words = set(done.stdout.decode().split())
            return "grab" not in words and {"live", "parse_rows", "fill_pages",
                                            "build_index"} <= words
        harness.wait_for(screen, timeout=20, what="the functions without their wrapper")
    finally:
        for pid in harness.descendants(process.pid):
            harness.kill(pid)
        process.wait(60)


def write(judged, sums):
    page = os.path.join(harness.ROOT, "docs/named.md")
    with open(page, encoding="utf-8") as file:
        head, rest = file.read().split(BEGIN)
    tail = rest.split(END)[1]
    wrong = [row for row in judged if not row[-1]]
    text = "\n".join([sums, "", *sums_by_program(judged), "", "Every row that is wrong:", "",
                      *table(wrong)[0], ""])
    with open(page, "w", encoding="utf-8") as file:
        file.write(head + BEGIN + text + END + tail)


def main():
    names = ARGUMENTS.only.split(",") if ARGUMENTS.only else list(PROGRAMS)
    with tempfile.TemporaryDirectory() as folder:
        judged, _, sums = check(names, folder)
    os.makedirs(named_programs.CACHE, exist_ok=True)
    with open(os.path.join(named_programs.CACHE, "judged.json"), "w", encoding="utf-8") as file:
        json.dump(judged, file)
    if ARGUMENTS.write:
        write(judged, sums)


if __name__ == "__main__":
    main()
