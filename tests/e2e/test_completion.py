# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shell completes what the tables have: commands, questions, options and their words."""
import os
import re
import subprocess

import pytest

import harness
from test_api import TABLE

SCRIPT = os.path.join(harness.ROOT, "docs", "completion.bash")
HELP = harness.execute([harness.MEMOIR, "help"]).stdout.decode() if TABLE else ""
COMMANDS = re.findall(r"^  (\w[\w-]*) ", HELP.split("\n\n")[2] if HELP else "", flags=re.M)


def complete(*words):
    """What bash offers for the last of the words."""
    text = (f'. {SCRIPT}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _memoir; printf "%s\\n" '
            f'"${{COMPREPLY[@]}}"')
    done = subprocess.run(["bash", "-c", text, "bash", harness.MEMOIR, *words],
                          env=harness.ENVIRONMENT,
                          capture_output=True, text=True, check=True)
    assert not done.stderr, done.stderr
    return [word for word in done.stdout.splitlines() if word]


def test_commands():
    assert set(complete("")) == set(COMMANDS) and len(COMMANDS) > 20
    assert complete("hist") == ["histogram"] and complete("help", "hist") == ["histogram"]
    assert "stats" in complete("jemalloc", "") and complete("jemalloc", "st") == ["stats"]
    assert complete("no_such", "") == [] == complete("no_such", "--")


def test_questions():
    assert set(complete("ask", "")) == {e["question"] for e in TABLE if "question" in e}


@pytest.mark.parametrize("words", [[c] for c in COMMANDS if c not in ("jemalloc", "ask")] +
                         [["jemalloc", "stats"], ["ask", "flame"]], ids=" ".join)
def test_options(words):
    rows = harness.execute([harness.MEMOIR, *words, "--help"]).stdout.decode()
    options = set(re.findall(r"^ +(?:-\w, +)?(--[a-z0-9-]+)", rows, flags=re.M)) - {"--help"}
    assert options <= set(complete(*words, "--")), words
    for option in options:
        assert option in complete(*words, option[:-1])


def test_words():
    measures = complete("ask", "flame", "--measure", "")
    row, = (p for e in TABLE if e.get("question") == "flame" for p in e["parameters"]
            if p["name"] == "measure")
    assert measures == row["values"]
    assert complete("tree", "-m", "le") == ["leaked"] == complete("tree", "--measure", "=", "le")
    assert complete("tree", "--measure", "=") == measures
    assert complete("tree", "--color", "a") == ["auto", "always"]
    assert complete("histogram", "s") == ["size"]
    assert complete("histogram", "size", "app") == []  # files, by the shell itself
    assert complete("tree", "--filter", "-") == []
