# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: usage, errors in one line, exit statuses."""
import os

import pytest

import harness


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *arguments], **keywords)


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("run",), ("run", "--nonsense", "x"), ("info",),
                                       ("info", "--nonsense", "x"), ("report",),
                                       ("run", "--stack-depth", "many", "true")],
                         ids=lambda a: " ".join(a) or "nothing")
def test_wrong_usage(arguments, tmp_path):
    run = memoir(*arguments, cwd=tmp_path)
    assert run.status == 2, run
    assert run.stderr
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("command", ["", "run", "info", "report", "allocations", "groups"])
def test_help(command):
    run = memoir(*([command] if command else []), "--help")
    assert run.status == 0
    assert b"memoir" in run.stdout


def test_version():
    run = memoir("--version")
    assert run.status == 0
    assert run.stdout.startswith(b"memoir ")


@pytest.mark.parametrize("content", [b"", b"hello\n", b"MEMOIR\x1a\n", b"MEMOIR\x1a\n" + b"\xff" * 200,
                                     b"\x7fELF" + b"\0" * 5000],
                         ids=["empty", "text", "magic", "bad version", "elf"])
@pytest.mark.parametrize("command", ["info", "report", "allocations", "groups"])
def test_not_a_recording(tmp_path, command, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    run = memoir(command, str(path))
    assert run.status == 1, run
    assert len(run.stderr.splitlines()) == 1
    assert b"file" in run.stderr
    assert not run.stdout


def test_missing_file():
    run = memoir("info", "/nonexistent/file")
    assert run.status == 1
    assert len(run.stderr.splitlines()) == 1
    assert b"/nonexistent/file" in run.stderr


def test_program_not_found(tmp_path):
    run = memoir("run", "-o", str(tmp_path / "out.dat"), "--", "no-such-program")
    assert run.status in (1, 127)
    assert b"no-such-program" in run.stderr


def test_status_of_the_program(tmp_path):
    for status in (0, 1, 7, 255):
        run = memoir("run", "-o", str(tmp_path / "out.dat"), "--", "sh", "-c", f"exit {status}")
        assert run.status == status


def test_says_where_the_recording_is(tmp_path, compile_program):
    path = str(tmp_path / "out.dat")
    run = memoir("run", "-o", path, "--", compile_program("exits"), "return")
    assert path.encode() in run.stderr
    assert run.stdout == b""


def test_report_names_the_leak(compile_program, record):
    recording = record([compile_program("exits"), "return"])
    run = memoir("report", recording.path)
    assert run.status == 0
    assert b"make" in run.stdout
    assert b"exits.c:" in run.stdout


def test_arguments_after_the_program_are_its_own(tmp_path):
    run = memoir("run", "-o", str(tmp_path / "out.dat"), "echo", "--help", "-o", "x")
    assert run.stdout == b"--help -o x\n"
