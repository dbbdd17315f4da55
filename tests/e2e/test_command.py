# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line: usage, errors in one line, exit statuses."""
import os
import subprocess

import pytest

import harness


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *arguments], **keywords)


@pytest.mark.parametrize("arguments",
                         [(), ("nonsense",), ("run",), ("run", "--nonsense", "x"), ("info",),
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


@pytest.mark.parametrize("content",
                         [b"", b"hello\n", b"MEMOIR\x1a\n", b"MEMOIR\x1a\n" + b"\xff" * 200,
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
    run = memoir("info", "/proc/nonexistent/file")
    assert run.status == 1
    assert len(run.stderr.splitlines()) == 1
    assert b"/proc/nonexistent/file" in run.stderr


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


@pytest.mark.parametrize("arguments,meant", [
    (["report", "--tpo", "3"], "--top"), (["groups", "--by", "fuction"], "'function'"),
    (["groups", "--sort", "sizee"], "'size'"),
    (["allocations", "--sort", "adress"], "'address'"),
    (["allocations", "--order", "acs"], "'asc'"),
    (["maps", "--sort", "peak_rs"], "'peak_rss'"), (["tree", "--by", "modul"], "'module'"),
    (["tree", "--measure", "leakd"], "'leaked'"), (["leaks", "--class", "growin"], "'growing'"),
    (["report", "--color", "alwys"], "'always'"),
    (["report", "--lifetime", "only_leakd"], "'only_leaked'"),
    (["histogram", "siez"], "'size'"), (["postprocess", "--anonymize", "ful"], "'full'"),
    (["repack", "--compression", "lz5"], None),
    (["repack", "--compression", "zsdt"], "'zstd'"), (["run", "--log", "wran"], "'warn'"),
    (["run", "--when-full", "drp"], "'drop'"),
    (["replay", "--touch", "al"], "'all'"), (["fragmentation", "--region", "64"], "'64k'"),
    (["export", "json", "--stacks", "hole"], "'whole'"),
    (["jemalloc", "stats", "--only", "wterfall"], "'waterfall'"),
    (["jemalloc", "watch", "--sort", "siez"], "'size'"),
    (["report", "--color", "17"], None),
])
def test_a_mistyped_word_is_told_what_was_meant(arguments, meant, tmp_path):
    path = tmp_path / "x.dat"
    path.write_bytes(b"")
    done = memoir(*arguments, path)
    assert done.status == 2
    line = done.stderr.decode().splitlines()
    assert len(line) == 1
    assert f"did you mean {meant}?" in line[0] if meant else True
    assert line[0].count("did you mean") == bool(meant)


def test_statuses_of_a_check(tmp_path):
    """Grown, not grown and cannot be told are three statuses; without a check an error is the work
    that failed."""
    for name, command in (("a", ["true"]), ("b", ["ls", "-l", "/"])):
        done = memoir("run", "-q", "-o", tmp_path / f"{name}.dat", *command)
        assert done.status == 0, done
    whole = (tmp_path / "b.dat").read_bytes()
    (tmp_path / "cut.dat").write_bytes(whole[:len(whole) // 2])

    def diff(*arguments):
        return memoir("diff", *arguments, cwd=tmp_path).status
    assert diff("--fail-if-grown", "100%", "a.dat", "a.dat") == 0
    assert diff("-m", "allocated", "--fail-if-grown", "0", "a.dat", "b.dat") == 1
    for files in (("a.dat", "none.dat"), ("none.dat", "a.dat"), ("a.dat", "cut.dat")):
        assert diff("--fail-if-grown", "1T", *files) == 2
        assert diff(*files) == (0 if "cut.dat" in files else 1)
    assert diff("--fail-if-grown", "much", "a.dat", "a.dat") == 2


def test_folder_columns_are_as_wide_as_their_numbers(tmp_path):
    """Ten million events have more digits than most."""
    for name, events in (("a", 10), ("b", 10_000_000)):
        subprocess.run([os.path.join(harness.BUILD, "tests", "unit", "gen_recording"),
                        tmp_path / f"{name}.dat",
                        str(events), "1", "1", "2", "lz4"], check=True, stdout=subprocess.DEVNULL)
    lines = memoir("info", tmp_path).stdout.decode().splitlines()
    assert "2" in lines[0] and lines[-3].startswith("process")
    lines = lines[-3:]
    # Each number ends where its title does.
    for title in ("process", "ran", "peak", "leaked", "events"):
        end = lines[0].index(title) + len(title)
        assert all(line[end:end + 1] == " " and line[end - 1] != " " for line in lines)
