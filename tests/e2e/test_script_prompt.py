# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir script without a file, and memoir script-slave: line after line, in Lua and in Rhai; help
and completion."""
import json
import os
import pty
import re
import select
import signal
import time

import pytest

import harness
from scripts import ids, made_recording, script


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_recording(tmp_path_factory, 3)


def test_lines_from_standard_input(made):
    lines = b"x = #allocations()\nx > 0\nfor i = 1, 2 do\n  print(i)\nend\nnonsense(\n)\n{a = 1}\n"
    done = harness.execute([harness.MEMOIR, "script", "-d", made], stdin=lines)
    assert done.status == 1 and done.stdout.decode() == 'true\n1\n2\n{\n  "a": 1\n}\n', done
    assert b"attempt to call a nil value (global 'nonsense')" in done.stderr
    done = harness.execute([harness.MEMOIR, "script", made],
                           stdin=b"data().kind\nexit(4)\nprint(1)\n")
    assert (done.status, done.stdout) == (4, b"recording\n")
    done = harness.execute([harness.MEMOIR, "script"], stdin=b"for i = 1, 2 do\n")
    assert done.status == 1 and b"not complete" in done.stderr


def test_lines_in_rhai(made):
    lines = (b"let x = 5;\nx\nfn f(a) {\n  a * 2\n}\nf(x)\n[1, 'a']\nx +\n1\nlet y = ;\n"
             b"let l = allocations().only_leaked();\nl.len()\n()\n")
    done = harness.execute([harness.MEMOIR, "script", "--rhai", "-d", made], stdin=lines)
    assert done.status == 1 and done.stdout.decode().splitlines() == [
        "5", "10", "[1, 'a']", "6", str(len(ids(made, "-F", "leaked")))], done
    assert done.stderr == b"line:1:9: an expression is missing before ';'\n"
    assert script("println(`${allocations().len()}`)", "--rhai", "-d", made) == (
        f"{len(ids(made))}\n")


def test_a_question_mark_explains(made):
    lines = b"only_leaked?\nl = allocations()\nl?\nl:only_larger()?\nonly_leakd?\nl[1]?\n"
    done = harness.execute([harness.MEMOIR, "script", "-d", made], stdin=lines)
    said = done.stdout.decode()
    assert done.status == 0 and not done.stderr, done
    assert said.startswith("A list of allocations\n  only_leaked() ")
    assert "  group_by_backtrace() " in said and "did you mean 'only_leaked'?" in said
    assert re.search(r"^  only_larger\(SIZE\) ", said, flags=re.M)
    assert re.search(r"^An allocation\n  backtrace\(\) ", said, flags=re.M)
    done = harness.execute([harness.MEMOIR, "script", "--rhai", "-d", made],
                           stdin=b"let g = graph();\ng?\ng.trim?\n")
    assert done.stdout.decode().count("  trim() ") == 2, done


def test_help():
    assert "only_leaked() " in script("help('only_leaked')")
    assert "did you mean 'only_leaked'?" in script("help('only_leakd')")
    whole = script("help()")
    assert "allocations()" in whole and "println(" in whole
    assert "flamegraph " in script("help('export')")
    # Two columns, whatever signs are in the first.
    rows = [line for line in script("help('data')").splitlines()[1:] if len(line) > 43]
    assert rows and {line[43] == " " for line in rows} == {False}
    assert {line[42] for line in rows} == {" "}


def test_slave(made):
    """What one snippet defines is there for the next, and what they do is a JSON object a line."""
    snippets = ["x = #allocations() println('{}', x) print('two\\nlines') io = io", "\nnonsense()",
                "x = = 1", "allocations():save_as_graph('a.svg')", "exit(3)", "print(x)",
                "print(io)"]
    done = harness.execute([harness.MEMOIR, "script-slave", "-d", made],
                           stdin="".join(text + "\0" for text in snippets).encode())
    assert done.status == 0 and not done.stderr, done
    count = str(len(ids(made)))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    picture = said[8]
    assert bytes(picture.pop("data")).startswith(b"<svg ")
    idle = {"kind": "idle"}
    assert said == [
        {"kind": "println", "message": count}, {"kind": "println", "message": "two"},
        {"kind": "println", "message": "lines"}, idle,
        {"kind": "runtime_error", "line": 2, "column": None,
         "message": "attempt to call a nil value (global 'nonsense')"}, idle,
        {"kind": "syntax_error", "line": 1, "column": None,
         "message": "unexpected symbol near '='"}, idle,
        {"kind": "image", "path": "a.svg"}, idle, idle,
        {"kind": "println", "message": count}, idle, {"kind": "println", "message": "nil"}, idle]
    done = harness.execute([harness.MEMOIR, "script-slave", "--rhai", "-d", made],
                           stdin=b"println(allocations().len());\0let x = ;\0")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said[0] == {"kind": "println", "message": count} and said[1] == said[3] == idle
    assert (said[2]["kind"], said[2]["line"], said[2]["column"]) == ("syntax_error", 1, 9), said


def test_slave_in_rhai_remembers(made):
    """Variables, constants and functions of a snippet are there for the next ones; what was refused
    left nothing."""
    snippets = ["let list = allocations(); const TWO = 2;", "fn twice(x) { x * global::TWO }",
                "println(twice(list.len()));", "let list = 5; let wrong = ;", "println(twice(4));",
                "fn twice(x) { x * 3 } let list = 7; println(list);", "println(twice(list));",
                "TWO = 3;", "throw 1;", "let f = |x| x + list; println(f.call(1));", "gone(1)"]
    done = harness.execute([harness.MEMOIR, "script-slave", "--rhai", "-d", made],
                           stdin="".join(text + "\0" for text in snippets).encode())
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [s["message"] for s in said if s["kind"] == "println"] == [
        str(2 * len(ids(made))), "8", "7", "21", "8"]
    assert [s["kind"] for s in said if "error" in s["kind"]] == [
        "syntax_error", "syntax_error", "runtime_error", "runtime_error"]
    assert [s["kind"] for s in said].count("idle") == len(snippets)


def test_prompt(made, tmp_path):
    """On a terminal: a name is completed, a wrong one is said, Ctrl-C ends a loop and not the
    prompt, and lines are there the next time."""
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": "", "TERM": "xterm"}
    child, terminal = pty.fork()
    if not child:
        os.execve(harness.MEMOIR, ["memoir", "script", "-d", made], env)
    shown = ""

    def until(text):
        nonlocal shown
        end = time.monotonic() + 30
        while text not in shown:
            assert select.select([terminal], [], [], max(end - time.monotonic(), 0))[0], shown
            shown += os.read(terminal, 4096).decode(errors="replace")
        shown = shown.partition(text)[2]

    until("> ")
    os.write(terminal, b"print(#alloc\t():only_temp\t())\n")
    until("orary())")
    until(str(len(ids(made, "-F", "not leaked"))))
    os.write(terminal, b"alocations()\n")
    until("did you mean 'allocations'?")
    until("> ")
    os.write(terminal, b"while true do end\n")
    until("end")
    time.sleep(0.5)
    os.write(terminal, b"\x03")
    until("it was stopped")
    until("> ")
    # A key that comes while the prompt is only just being shown counts, too.
    os.write(terminal, b"\x04")
    end, gone = time.monotonic() + 30, 0
    while not gone and time.monotonic() < end:
        time.sleep(0.05)
        gone, status = os.waitpid(child, os.WNOHANG)
    if not gone:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert gone
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert "alocations()" in (tmp_path / ".memoir_script_history").read_text()
