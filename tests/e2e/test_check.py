# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir check: limits, baselines, noise, suppressions, reports.  The figures are the program's own
(programs/requirements.c); test_check_real.py has real programs."""
import json
import os
import re
import subprocess
import xml.etree.ElementTree as tree

import pytest

import harness

PEAK, LEAKED = 100 * 1000 + 1, 3 * 1000  # of the program without options


@pytest.fixture(scope="module")
def run_once(compile_program, tmp_path_factory):
    """run_once(hold, leaks, there): a recording, made once."""
    folder = tmp_path_factory.mktemp("check")
    program = compile_program("requirements", flags=("-O1",))

    def make(hold=0, leaks=0, there=0):
        path = folder / f"{hold}-{leaks}-{there}.dat"
        if not path.exists():
            assert harness.record([program, str(hold), str(leaks), str(there)],
                                  path).status == 0
        return str(path)
    return make


def check(*words, status=0, **keywords):
    done = harness.execute([harness.MEMOIR, "check", *map(str, words)], **keywords)
    assert done.status == status, done
    return done.stdout.decode() if status != 2 else done.stderr.decode()


def answer(*words, status=0):
    return json.loads(check("--json", *words, status=status))


def result(*words, status=0):
    one, = answer(*words, status=status)["requirements"]
    return one


@pytest.mark.parametrize("option,value", [
    ("peak", PEAK), ("leaked", LEAKED), ("leaks", 3), ("allocations", 151),
    ("allocated", PEAK + sum(range(10, 60))), ("temporary", 50)])
def test_limits(run_once, option, value):
    """The figure itself is allowed, one less is not."""
    found = result(f"--max-{option}", value, run_once())
    assert found["now"] == {"low": value, "high": value} and found["limit"] == value
    found = result(f"--max-{option}", value - 1, run_once(), status=1)
    assert not found["holds"] and found["stacks"]


def test_a_share_of_all_allocations(run_once):
    """50 of 151 are temporary: 33.1 %."""
    check("--max-temporary", "34%", run_once())
    check("--max-temporary", "33%", run_once(), status=1)
    assert "percentage is for temporary" in check("--max-peak", "5%", run_once(), status=2)


def test_the_table_names_the_stacks(run_once):
    text = check("--baseline", run_once(), run_once(hold=5000, leaks=2), status=1)
    assert re.search(r"✗ +\+1% peak +103 KiB +97.7 KiB +98.6 KiB", text), text
    assert re.search(r"✗ +\+0 leaks per function +5 +3 +in 1 function", text), text
    assert re.search(r"\+4.88 KiB  open_session  requirements.c:\d+  was 1 B\n +main\n", text), text
    assert re.search(r"\+2  forget_session  requirements.c:\d+  new\n +main\n", text), text


@pytest.mark.parametrize("wanted,changed,holds", [
    ("+5% peak", {"hold": 4900}, True), ("+5% peak", {"hold": 5100}, False),
    ("+64KiB peak", {"hold": 65536}, True), ("+64KiB peak", {"hold": 65537}, False),
    ("+48 leaked", {"leaks": 2}, True), ("+47 leaked", {"leaks": 2}, False),
    ("+1 leaks", {"leaks": 1}, True), ("+1 leaks", {"leaks": 2}, False),
    ("+1 leaks per function", {"leaks": 2}, False), ("+0 allocations", {"hold": 9}, True),
    ("+0 allocations", {"leaks": 1}, False), ("+0% temporary", {"leaks": 50}, True),
    ("+0 leaks per function", {"there": 2}, True),
])
def test_growth(run_once, wanted, changed, holds):
    found = result("--baseline", run_once(), "--fail-on", wanted, run_once(**changed),
                   status=0 if holds else 1)
    assert found["holds"] == holds and bool(found["stacks"]) != holds


def test_what_moved_to_another_caller_is_no_growth(run_once):
    """The three blocks that stay come by another function: no leak more, though a stack is new."""
    check("--baseline", run_once(), run_once(there=3))
    found = result("--baseline", run_once(), "--fail-on", "+0 leaks per function",
                   run_once(there=3, leaks=1), status=1)
    assert [s["functions"][0] for s in found["stacks"]] == ["forget_session"]


@pytest.mark.parametrize("wrong", ["5% peak", "+5% beak", "+5%", "+ peak", "+5 % peak", "peak",
                                   "+5% peak per stack", "+x peak", "+-5% peak", "+1e9% peak",
                                   ""])
def test_wrong_growth(run_once, wrong):
    text = check("--baseline", run_once(), "--fail-on", wrong, run_once(), status=2)
    assert len(text.splitlines()) == 1 and "fail-on" in text


def test_nothing_to_compare_with(run_once, tmp_path):
    assert "what is required" in check(run_once(), status=2)
    assert "baseline" in check("--fail-on", "+1% peak", run_once(), status=2)
    assert "nowhere" in check("--baseline", tmp_path / "nowhere", run_once(), status=2)
    assert "which recording" in check("--max-peak", "1M", status=2)
    assert check("--max-peak", "1M", tmp_path / "nowhere", status=2)


# Baselines.

def test_a_written_baseline(run_once, tmp_path):
    """Text with names and ranges, sorted; the same however often it is written."""
    path = tmp_path / "memory.txt"
    said = check("-b", path, "--update-baseline", run_once(), run_once(hold=100), run_once(leaks=1))
    assert "3 runs" in said
    lines = path.read_text().splitlines()
    assert lines[0] == "# memoir baseline 1" and "runs 3" in lines
    assert f"peak {PEAK}..{PEAK + 100}" in lines and "leaks 3..4" in lines
    assert any(re.fullmatch(r"function .*leaked=0\.\.24 leaks=0\.\.1 .*: forget_session", line)
               for line in lines), lines
    stacks = [line.partition(": ")[2] for line in lines if line.startswith("stack ")]
    assert stacks == sorted(stacks) and "forget_session < main" in stacks
    assert "0x" not in path.read_text() and len(path.read_text()) < 2000
    first = path.read_bytes()
    check("-b", path, "--update-baseline", run_once(leaks=1), run_once(), run_once(hold=100))
    assert path.read_bytes() == first


def test_the_range_of_the_baseline_is_noise(run_once, tmp_path):
    """What the same build differs by may be added once more."""
    path = tmp_path / "memory.txt"
    check("-b", path, "--update-baseline", run_once(), run_once(hold=3000))
    growth = "+1% peak"
    found = result("-b", path, "--fail-on", growth, run_once(hold=5999))
    assert found["limit"] == PEAK + 3000 + 3000
    check("-b", path, "--fail-on", growth, run_once(hold=6100), status=1)
    check("-b", path, "--update-baseline", run_once())
    check("-b", path, "--fail-on", growth, run_once(hold=3000), status=1)
    assert "2 runs" in check("-b", path, "--widen-baseline", run_once(hold=3000))
    check("-b", path, "--fail-on", growth, run_once(hold=3000))


def test_of_several_runs_the_lowest_grows_and_the_highest_is_limited(run_once):
    runs = [run_once(leaks=1), run_once(), run_once(hold=9000)]
    check("--baseline", run_once(), *runs)
    check("--baseline", run_once(), run_once(leaks=1), run_once(hold=9000, leaks=1), status=1)
    check("--max-peak", PEAK + 8999, *runs, status=1)
    check("--max-peak", PEAK + 9000, *runs)


def test_several_recordings_are_a_baseline(run_once):
    words = ["-b", run_once(), "-b", run_once(leaks=1)]
    check(*words, run_once(leaks=2))
    check(*words, run_once(leaks=3), status=1)


@pytest.mark.parametrize("text,why", [
    ("", "does not begin"), ("runs 1\n", "does not begin"),
    ("# memoir baseline 1\n", "'runs' is missing"),
    ("# memoir baseline 1\nruns 0\n", "line 2"),
    ("# memoir baseline 1\nruns 1\nbeak 5\n", "line 3"),
    ("# memoir baseline 1\nruns 1\npeak 5..4\n", "line 3"),
    ("# memoir baseline 1\nruns 1\npeak 5 6\n", "line 3"),
    ("# memoir baseline 1\nruns 1\npeak 99999999999999999999\n", "line 3"),
    ("# memoir baseline 1\nruns 1\nstack leaks=1\n", "line 3"),
    ("# memoir baseline 1\nruns 1\nstack leaks=1: f\nstack leaks=1: f\n", "line 4"),
])
def test_wrong_baselines(run_once, tmp_path, text, why):
    path = tmp_path / "wrong.txt"
    path.write_text(text)
    said = check("-b", path, run_once(), status=2)
    if text.startswith("#"):
        assert why in said and str(path) in said and len(said.splitlines()) == 1


def test_a_recording_that_is_not_whole_can_fail_but_not_hold(run_once, tmp_path):
    path = tmp_path / "cut.dat"
    with open(run_once(leaks=2), "rb") as file:
        whole = file.read()
    path.write_bytes(whole[:len(whole) * 9 // 10])
    check("--max-allocations", 10**6, path, status=2)
    baseline = tmp_path / "memory.txt"
    check("-b", baseline, "--update-baseline", path, status=2)
    assert not baseline.exists()


# What is left out.

def test_ignored(run_once):
    check("--max-leaks", 3, "--ignore", 'function = "forget_session"', run_once(leaks=5))
    check("--max-leaks", 0, "--ignore", "size = 24", "--ignore", "size = 1000", run_once(leaks=5))
    found = result("--max-peak", "1M", "--ignore", "size > 2000", run_once(hold=5000))
    assert found["now"]["high"] == 100 * 1000
    assert "--ignore" in check("--max-peak", 1, "--ignore", "sice > 1", run_once(), status=2)


def test_only_what_a_filter_chooses(run_once):
    assert result("--max-leaks", 5, "-F", "size < 100", run_once(leaks=5))["now"]["high"] == 5


@pytest.mark.parametrize("pattern,left", [
    ("forget_session", 3), ("leak:forget", 3), ("get_sess", 3), ("^forget", 3), ("^get_session", 8),
    ("session$", 0), ("^forget_session$", 3), ("^f*n$", 3), ("for*ses", 3), ("ses*for", 8),
    ("requirements.c", 0), ("*", 0), ("f*x", 8), ("libnothing", 8), ("main", 0), ("forget*$", 3),
    ("^*session", 0), ("open_session", 5)])
def test_suppressions(run_once, tmp_path, pattern, left):
    path = tmp_path / "known.supp"
    path.write_text(f"# a comment\n\n  leak:{pattern.removeprefix('leak:')}  \r\n")
    found = result("--max-leaks", 8, "--suppressions", path, run_once(leaks=5))
    assert found["now"]["high"] == left


@pytest.mark.parametrize("text", ["leak:", "race:f", "forget", "leak:f\nwrong\n", "leak:\0"])
def test_wrong_suppressions(run_once, tmp_path, text):
    path = tmp_path / "known.supp"
    path.write_text(text)
    said = check("--max-leaks", 8, "--suppressions", path, run_once(), status=2)
    assert str(path) in said and "line" in said and len(said.splitlines()) == 1


# Reports.

def test_junit(run_once, tmp_path):
    path = tmp_path / "memory.xml"
    check("--baseline", run_once(), "--max-peak", "1M", "--junit", path,
          run_once(leaks=2), status=1)
    suite = tree.parse(path).getroot().find("testsuite")
    assert suite.get("tests") == "3" and suite.get("failures") == "1"
    failed = [case for case in suite if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["+0 leaks per function"]
    assert "forget_session < main" in failed[0].find("failure").text


def test_markdown(run_once, tmp_path):
    path = tmp_path / "memory.md"
    check("--baseline", run_once(), "--markdown", path, run_once(leaks=2), status=1)
    text = path.read_text()
    assert "| ❌ | <code>+0 leaks per function</code> | 5; baseline 3;" in text, text
    assert "<code>forget&#95;session &lt; main</code>" in text, text


def test_github(run_once, tmp_path):
    """The file as it is in the repository, where it is in it."""
    words = ["--baseline", run_once(), "--github", run_once(leaks=2)]
    lines = [line for line in check(*words, status=1, cwd=tmp_path).splitlines()
             if line.startswith("::")]
    assert len(lines) == 1 and re.fullmatch(
        r"::error title=memory%3A \+0 leaks per function::\+2, new: forget_session < main",
        lines[0])
    lines = check(*words, status=1, env={"GITHUB_WORKSPACE": harness.HERE + "/"}).splitlines()
    assert any(re.match(r"::error file=programs/requirements\.c,line=\d+,title=", line)
               for line in lines), lines


def test_a_folder_is_one_run(run_once, compile_program, tmp_path):
    """Leaks and allocations of its processes add up; the peak is that of the largest."""
    program = compile_program("requirements", flags=("-O1",))
    folder = tmp_path / "all"
    done = harness.execute([harness.MEMOIR, "run", "--children", "-o", f"{folder}/", "--", "sh",
                            "-c",
                            f"{program} 50000 2; {program} 0 1; true"])
    assert done.status == 0, done
    found = {r["measure"]: r["now"]["high"] for r in answer(
        "--max-peak", "1G", "--max-leaks", "1M", "-F", 'module ~ "requirements"',
        folder)["requirements"]}
    assert found == {"peak": PEAK + 50000 + 2 * 24, "leaks": 3 + 2 + 3 + 1}


def test_the_same_over_the_question(run_once):
    """memoir ask requirements, a server and a script answer what memoir check --json says."""
    words = ["--fail-on", "+0 leaks per function", "--baseline", run_once()]
    asked = harness.ask("ask", "requirements", *words, "--max-peak", "1k", run_once(leaks=2))
    told = answer("--max-peak", "1k", *words, run_once(leaks=2), status=1)
    assert asked == told and not told["holds"]
