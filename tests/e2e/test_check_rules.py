# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir check RECORDING rules.lua: what a script requires beside what options say; and
memoir run --check RULES, which records and checks."""
import json
import re
import xml.etree.ElementTree as tree

import pytest

import harness

PEAK = 100 * 1000 + 1  # of programs/requirements.c without options


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("requirements", flags=("-O1",))


@pytest.fixture(scope="module")
def run_once(program, tmp_path_factory):
    """run_once(hold, leaks): a recording, made once."""
    folder = tmp_path_factory.mktemp("rules")

    def make(hold=0, leaks=0):
        path = folder / f"{hold}-{leaks}.dat"
        if not path.exists():
            assert harness.record([program, str(hold), str(leaks)], path).status == 0
        return str(path)
    return make


@pytest.fixture
def rules(tmp_path):
    def write(text, name="rules.lua"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)
    return write


def check(*words, status=0, **keywords):
    done = harness.execute([harness.MEMOIR, "check", *map(str, words)], **keywords)
    assert done.status == status, done
    return done.stdout.decode() if status != 2 else done.stderr.decode()


def answer(*words, status=0):
    return json.loads(check("--json", *words, status=status))


def test_what_options_say_as_rules(run_once, rules, tmp_path):
    """The answer is the same, byte for byte."""
    known = tmp_path / "known.supp"
    known.write_text("leak:nothing_of_that\n")
    text = rules(f"""
        limit("peak", {PEAK})  limit("leaked", "3k")  limit("temporary", "34%")
        growth("+1% peak")  growth("+0 leaks per function")
        baseline("{run_once()}")  ignore("size = 12345")  suppressions("{known}")""")
    for leaks, status in ((0, 0), (2, 1)):
        by_options = check("--json", "--max-peak", PEAK, "--max-leaked", "3k", "--max-temporary",
                           "34%", "--fail-on", "+1% peak", "--fail-on", "+0 leaks per function",
                           "--baseline", run_once(), "--ignore", "size = 12345", "--suppressions",
                           known, run_once(leaks=leaks), status=status)
        assert check("--json", run_once(leaks=leaks), text, status=status) == by_options
        assert json.loads(by_options)["requirements"][-1]["holds"] == (not status)


def test_both_together(run_once, rules):
    """What a script says comes beside what options say, once."""
    text = rules('limit("leaks", 3) limit("peak", "1M")')
    found = answer("--max-leaks", 3, "--max-allocations", 151, run_once(), text)
    assert [r["required"] for r in found["requirements"]] == [
        "leaks at most 3", "allocations at most 151", "peak at most 1M"]


def test_an_expectation_names_the_stacks(run_once, rules):
    text = rules("""
        local large = allocations():only_larger(4000)
        expect("no block of more than 4000 bytes", #large == 0, large)
        expect("at most three are left", #allocations():only_leaked() <= 3,
               allocations():only_leaked():group_by_backtrace())
        expect("it allocates at all", #allocations() > 0)""")
    assert answer(run_once(), text)["holds"]
    found = answer(run_once(hold=5000, leaks=2), text, status=1)["requirements"]
    assert [r["holds"] for r in found] == [False, False, True]
    assert found[0]["now"] == {"low": 5001, "high": 5001} and "now" not in found[2]
    assert [(s["functions"], s["now"]) for s in found[0]["stacks"]] == [
        (["open_session", "main"], 5001)]
    assert {tuple(s["functions"]): s["now"] for s in found[1]["stacks"]} == {
        ("open_session", "serve_here", "main"): 3000, ("forget_session", "main"): 48}
    said = check(run_once(hold=5000), text, status=1)
    assert re.search(r"✗ +no block of more than 4000 bytes +4.88 KiB", said), said
    assert re.search(r"4.88 KiB  open_session  requirements.c:\d+\n +main\n", said), said


def test_reports_of_expectations(run_once, rules, tmp_path):
    text = rules("""expect("a <b> & c", false, allocations():only_larger(4000))
                    expect("nothing", false)""")
    report, table = tmp_path / "a.xml", tmp_path / "a.md"
    said = check("--junit", report, "--markdown", table, "--github", run_once(hold=5000), text,
                 status=1)
    cases = tree.parse(report).getroot().find("testsuite")
    assert [(case.get("name"), case.find("failure").get("message")) for case in cases] == [
        ("a <b> & c", "not as expected; 4.88 KiB"), ("nothing", "not as expected")]
    assert "open_session < main" in cases[0].find("failure").text
    assert "| ❌ | <code>nothing</code> | not as expected |" in table.read_text()
    lines = [line for line in said.splitlines() if line.startswith("::")]
    assert len(lines) == 3 and lines[2] == "::error title=memory%3A nothing::not as expected"


def test_each_recording_has_to_hold(run_once, rules):
    """The script is run for each; what it says of one is not undone by another."""
    text = rules('print(data().name, data(2)) '
                 'expect("no leak more", #allocations():only_leaked() == 3)')
    done = harness.execute([harness.MEMOIR, "check", run_once(), run_once(leaks=1), run_once(),
                            text])
    assert done.status == 2 and b"rules.lua:1: " in done.stderr  # there is no second
    text = rules('print(data().name) '
                 'expect("no leak more", #allocations():only_leaked() == 3)')
    said = check(run_once(), run_once(leaks=1), run_once(), text, status=1)
    assert said.startswith("0-0.dat\n0-1.dat\n0-0.dat\n")
    check(run_once(), run_once(hold=5), text)


@pytest.mark.parametrize("text, reason", [
    ("limit('beak', 1)", "rules.lua:1: limit: there is no measure 'beak'"),
    ("limit('peak')", "rules.lua:1: limit: the amount is missing"),
    ("limit('peak', 'much')", "rules.lua:1: limit: "),
    ("\ngrowth('5% peak')", "rules.lua:2: growth: "),
    ("ignore('sice > 1')", "rules.lua:1: ignore: there is no 'sice'"),
    ("expect()", "rules.lua:1: expect: what is expected is missing"),
    ("expect('a', true, 5)", "a list of allocations is needed here"),
    ("suppressions('/nowhere')", "/nowhere: "), ("baseline('/nowhere') growth('+1 peak')",
                                                 "/nowhere: "),
    ("growth('+1% peak')", "--baseline"), ("limt('peak', 1)", "did you mean 'limit'?"),
    ("x = = 1", "rules.lua:1: "), ("error('broken')", "rules.lua:1: broken"),
    ("exit(3)", "it ended with exit(3)"), ("", "what is required?"),
])
def test_wrong_rules_are_no_regression(run_once, rules, text, reason):
    said = check(run_once(), rules(text), status=2)
    assert reason in said and len(said.splitlines()) == 1, said


def test_rules_that_are_not_there(run_once, tmp_path):
    assert "nowhere.lua: No such file" in check(run_once(), tmp_path / "nowhere.lua", status=2)
    assert "which recording?" in check(tmp_path / "nowhere.lua", status=2)


def test_rules_in_rhai_and_by_another_name(run_once, rules):
    text = rules("""
        let leaked = allocations().only_leaked();
        limit("leaks", 3);
        expect(`${leaked.len()} are left`, leaked.len() == 3, leaked);""", "rules.rhai")
    assert [r["required"] for r in answer(run_once(), text)["requirements"]] == [
        "leaks at most 3", "3 are left"]
    check(run_once(leaks=1), text, status=1)
    check("--rules", rules("limit('leaks', 3)", "memory.rules"), run_once())


def test_scripts_outside_have_no_rules(run_once):
    done = harness.execute([harness.MEMOIR, "script", "-e", "limit('peak', 1)", "-d", run_once()])
    assert done.status == 1 and b"global 'limit'" in done.stderr


def test_files_are_beside_the_rules(run_once, tmp_path):
    """Wherever the command is started: tests run in folders of their own."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "known.supp").write_text("leak:forget_session\n")
    check("--update-baseline", "-b", folder / "memory.txt", run_once())
    (folder / "rules.lua").write_text('baseline("memory.txt") suppressions("known.supp") '
                                      'growth("+0 leaks per function")')
    check(run_once(leaks=2), "memory/rules.lua", cwd=tmp_path)
    check(run_once(leaks=2), "rules.lua", cwd=folder)


def test_the_baseline_of_rules_is_written(run_once, rules, tmp_path):
    memory = tmp_path / "memory.txt"
    text = rules(f'baseline("{memory}") growth("+0 leaks per function")')
    assert "baseline of 2 runs" in check("--update-baseline", run_once(), run_once(hold=5), text)
    check(run_once(), text)
    check(run_once(leaks=1), text, status=1)
    assert "3 runs" in check("--widen-baseline", run_once(leaks=1), text)
    check(run_once(leaks=1), text)


def run(program, *words, status=0, check=None, **keywords):
    done = harness.execute([harness.MEMOIR, "run", "--check", check, *words, "--", *program],
                           **keywords)
    assert done.status == status, done
    return done.stdout.decode()


def test_run_and_check(program, rules, tmp_path):
    """The program's own failure is the command's; else what does not hold is."""
    text, path = rules('limit("leaks", 3)'), tmp_path / "a.dat"
    said = run([program], "-o", path, check=text)
    assert "a.dat  holds what is required" in said and path.exists()
    said = run([program, "0", "2"], "-o", path, check=text, status=1)
    assert "forget_session" in said
    run(["sh", "-c", "exit 7"], "-o", path, check=text, status=7)
    run(["sh", "-c", "kill -9 $$"], "-o", path, check=rules("limit('peak', 0)"), status=-9)
    run([program], "-o", path, check=rules("limt()"), status=2)
    # Before anything is run.
    marker = tmp_path / "ran"
    run(["touch", marker], "-o", path, check=tmp_path / "nowhere.lua", status=2)
    run(["touch", marker], "--children", "-o", path, check=text, status=2)
    assert not marker.exists()


def test_run_and_check_a_tree(program, rules, tmp_path):
    """One run: the script is asked about each process, and limits are of them together."""
    text = rules("""
        print(data():info("executable") or data().name)
        limit("leaks", 7)
        ignore('module !~ "requirements"')
        expect("a process leaks three at most",
               #allocations():only_leaked():where('module ~ requirements') <= 3)""")
    command = ["sh", "-c", f"{program} 0 0; {program} 0 1; true"]
    said = run(command, "--children", "-o", f"{tmp_path}/all/", check=text, status=1)
    assert re.search(r"✓ +leaks at most 7 +7 ", said), said
    assert re.search(r"✗ +a process leaks three at most", said), said
    assert "libmemoir" not in said and len(list((tmp_path / "all").glob("*.dat"))) == 3


def test_every_word_of_rules_is_tested():
    said = harness.execute([harness.MEMOIR, "script", "-e", "help('rules')"]).stdout.decode()
    words = re.findall(r"^  (\w+)\(", said, flags=re.M)
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    assert len(words) == 6 and all(f"{word}(" in text for word in words)
