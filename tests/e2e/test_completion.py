# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shell completes what the tables have: commands, questions, options, their words, names of
files by kind, filters.  What memoir says is asked for everything; bash, zsh and fish themselves
compute a selection of it."""
import os
import re
import shutil
import subprocess

import pytest

import harness
import shells
from test_api import TABLE

HELP = harness.execute([harness.MEMOIR, "help"]).stdout.decode() if TABLE else ""
COMMANDS = re.findall(r"^  (\w[\w-]*) ", HELP.split("\n\n")[2] if HELP else "", flags=re.M)
GROUPS = ("jemalloc", "fleet")
MEMBERS = [[group, name] for group in GROUPS
           for name in re.findall(rf"^  {group} ([\w-]+)",
                                  harness.execute([harness.MEMOIR, group,
                                                   "--help"]).stdout.decode(),
                                  flags=re.M)] if TABLE else []
ALIASES = ["export-heaptrack", "export-replay"]


def lines(*words, **keywords):
    """What memoir offers for the last of the words, each with what it says about it."""
    done = subprocess.run([harness.MEMOIR, "--complete", *words], capture_output=True, text=True,
                          check=True, env=dict(harness.ENVIRONMENT, **keywords))
    assert not done.stderr, done.stderr
    return [line.partition("\t")[::2] for line in done.stdout.splitlines()]


def complete(*words):
    return [word for word, _ in lines(*words)]


def test_commands():
    assert set(complete("")) == {*COMMANDS, *ALIASES, "help"} and len(COMMANDS) > 20
    assert complete("hist") == ["histogram"] and complete("help", "hist") == ["histogram"]
    assert "stats" in complete("jemalloc", "") and complete("jemalloc", "st") == ["stats"]
    assert complete("no_such", "") == [] == complete("no_such", "--")
    assert "filters" in complete("help", "") and complete("help", "tree", "") == []
    assert complete("--v") == ["--version"]
    assert lines("hist") == [("histogram", re.search(r"^  histogram .*?\s{2,}(.*)$", HELP,
                                                     flags=re.M)[1])]


def test_questions():
    assert set(complete("ask", "")) == {e["question"] for e in TABLE if "question" in e}


@pytest.mark.parametrize("words", [[c] for c in COMMANDS if c not in (*GROUPS, "ask")] +
                         MEMBERS + [["ask", "flame"]], ids=" ".join)
def test_options(words):
    rows = harness.execute([harness.MEMOIR, *words, "--help"]).stdout.decode()
    options = set(re.findall(r"^ +(?:-\w, +)?(--[\w-]+)", rows, flags=re.M))
    offered = lines(*words, "--")
    assert "--help" in options and options <= {name for name, _ in offered}, words
    assert all(meaning for _, meaning in offered), words


@pytest.mark.parametrize("words", [[c] for c in COMMANDS if c not in (*GROUPS, "ask")] +
                         MEMBERS, ids=" ".join)
def test_values(words):
    rows = harness.execute([harness.MEMOIR, *words, "--help"]).stdout.decode()
    for option, value in re.findall(r"^ +(?:-\w, +)?--([\w-]+) (\S+)", rows, flags=re.M):
        offered = complete(*words, f"--{option}", "")
        if value in ("WORD", "WHEN", "HOW", "WHAT", "LEVEL") or "|" in value:
            assert len(offered) > 1 and not any(":" in word for word in offered), (option, value)
        elif value in ("FILE", "PATH", "OUT"):
            assert offered == [":files"], (option, offered)
        elif value in ("DIR", "FOLDER"):
            assert offered == [":folders"], (option, offered)
        elif value == "N":
            assert offered == [], (option, offered)


def test_words():
    measures = complete("ask", "flame", "--measure", "")
    row, = (p for e in TABLE if e.get("question") == "flame" for p in e["parameters"]
            if p["name"] == "measure")
    assert measures == row["values"]
    assert complete("tree", "-m", "le") == ["leaked"] == complete("tree", "--measure", "=", "le")
    assert complete("tree", "--measure=le") == ["--measure=leaked"]
    assert complete("tree", "--measure", "=") == measures
    assert complete("tree", "--color", "a") == ["auto", "always"]
    assert complete("run", "--log", "") == ["off", "error", "warn", "info", "debug", "trace"]
    assert complete("run", "--when-full", "") == ["wait", "drop"]
    assert complete("tree", "--lifetime", "only_l") == ["only_leaked"]
    formats = harness.execute([harness.MEMOIR, "export", "--list"]).stdout.decode()
    assert len(complete("export", "")) > 10
    assert all(re.search(rf"^\s*{word}\b", formats, flags=re.M) for word in complete("export", ""))
    assert "prof" in complete("jemalloc", "ctl", "1", "") and complete("jemalloc", "ctl", "") == []


@pytest.mark.parametrize("words, expected", [
    (["tree", ""], [":files *.dat"]),
    (["tree", "--depth", "3", "-F", "size > 1", ""], [":files *.dat"]),
    (["histogram", ""], ["size", "lifetime"]),
    (["histogram", "size", ""], [":files *.dat"]),
    (["histogram", "size", "app.dat", ""], []),
    (["diff", "a.dat", ""], [":files *.dat"]),
    (["export", "html", ""], [":files *.dat"]),
    (["export-heaptrack", ""], [":files *.dat"]),
    (["info", ""], [":files *.dat", ":folders"]),
    (["server", "one.dat", ""], [":files *.dat"]),
    (["jemalloc", "stats", "one.log", ""], [":files"]),
    (["jemalloc", "growth", "a.heap", "b.heap", ""], [":files *.heap"]),
    (["jemalloc", "heap", ""], [":files", ":files *.heap"]),
    (["run", ""], [":programs"]),
    (["run", "-o", "x.dat", ""], [":programs"]),
    (["run", "-o", "x.dat", "--", "ls", "--a"], [":command 5"]),
    (["run", "--children", "ls", "--a"], [":command 3"]),
    (["tree", "--debug-symbols=no"], [":files"]),
    (["extract", "-o", ""], [":folders"]),
    (["tree", "--depth", ""], []),
], ids=lambda value: " ".join(value))
def test_arguments(words, expected):
    assert complete(*words) == expected


def test_filters():
    assert complete("tree", "-F", "size > 1k and lifet")[0] == "size > 1k and lifetime"
    assert "size >=" in complete("tree", "-F", "size ")
    assert complete("tree", "--filter=leaked an") == ["--filter=leaked and"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files of several kinds; app.dat is a recording."""
    folder = tmp_path_factory.mktemp("completing")
    run = harness.execute([harness.MEMOIR, "run", "-q", "-o", folder / "app.dat", "--",
                           os.path.join(harness.BUILD, "examples", "leaky")])
    assert run.status == 0, run
    for name in ("notes.txt", "app.heap", "two words.dat", "twins.txt"):
        (folder / name).touch()
    (folder / "apart").mkdir()
    return folder


def test_names_of_the_recording(folder, tmp_path):
    """Names that nobody has looked up yet are found while they are counted."""
    found = lines("tree", str(folder / "app.dat"), "-F", 'size > 1 and function = "ma',
                  XDG_CACHE_HOME=str(tmp_path))
    assert ('size > 1 and function = "main"', "") in found, found


@pytest.fixture(scope="module", params=shells.ALL, ids=lambda shell: shell.name)
def shell(request, folder, tmp_path_factory):
    assert shutil.which(request.param.name), request.param.name
    scripts = tmp_path_factory.mktemp("scripts")
    # As they are installed.
    for source, place in (("memoir.bash", "bash-completion/completions/memoir"),
                          ("_memoir", "zsh/site-functions/_memoir"),
                          ("memoir.fish", "fish/vendor_completions.d/memoir.fish")):
        (scripts / place).parent.mkdir(parents=True)
        shutil.copy(os.path.join(shells.SCRIPTS, source), scripts / place)
    shell = request.param(str(folder), str(scripts), harness.BUILD)
    yield shell
    shell.close()


@pytest.mark.parametrize("line, expected", [
    ("memoir rep", {"repack", "replay", "report"}),
    ("memoir jemalloc gro", {"growth"}),
    ("memoir tree --measu", {"--measure"}),
    ("memoir tree -m l", {"leaked"}),
    ("memoir export pp", {"pprof"}),
    ("memoir tree --depth ", set()),
    ("memoir tree ", {"app.dat", "two words.dat", "apart"}),
    ("memoir tree no", {"notes.txt"}),  # no recording fits: any file
    ("memoir jemalloc growth ap", {"app.heap", "apart"}),
    ("memoir extract -o ", {"apart"}),
    ("memoir run /bin/unam", {"uname"}),
    ("memoir tree -F 'size > 1k and leaked_", {"size > 1k and leaked_or_deallocated_after"}),
    ("memoir tree app.dat -F 'function = \"mai", {'function = "main"'}),
])
def test_shell_offers(shell, line, expected):
    offered = {re.sub(r"^/bin/|/$", "", word.removeprefix("--measure="))
               for word in shell.offers(line)}
    assert offered == expected


@pytest.mark.parametrize("line, expected", [
    ("memoir repo", "memoir report "),
    ("memoir tree --measure=le", "memoir tree --measure=leaked "),
    ("memoir tree tw", "memoir tree two\\ words.dat "),
    ("memoir tree --debug-symbols=no", "memoir tree --debug-symbols=notes.txt "),
    ("memoir extract -o ap", "memoir extract -o apart/"),
    ("memoir run /bin/unam", "memoir run /bin/uname "),
    ("memoir run -o x.dat cat no", "memoir run -o x.dat cat notes.txt "),
    ("memoir run --children ls --almost", "memoir run --children ls --almost-all "),
])
def test_shell_completes(shell, line, expected):
    assert shell.completed(line) == expected
