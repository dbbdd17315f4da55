# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading a recording before it is finished: its program has ended or runs on, its collector
writes."""
import os
import signal
import subprocess
import time

import pytest

import harness

# Every command that reads a recording, with what it needs besides.
READING = {
    "info": ["--json"], "report": ["--json"], "allocations": ["--json"], "groups": ["--json"],
    "leaks": ["--json"],
    "maps": ["--json"], "tree": ["--json"], "timeline": ["--json"], "histogram": ["size", "--json"],
    "fragmentation": ["--json"], "address-space": ["--json"], "sources": ["--json"],
    "analyze-size": ["--json"], "export": ["csv"], "extract": ["--list", "--json"],
}
MEASURING = {"replay": ["--json"]}  # its answer is another one each time
WRITING = {"strip": [], "repack": [], "postprocess": []}


@pytest.fixture(scope="module")
def much(tmp_path_factory):
    """A file that takes the collector a while to embed."""
    path = tmp_path_factory.mktemp("much") / "much.bin"
    path.write_bytes(os.urandom(60 << 20))
    yield path
    path.unlink()


@pytest.fixture
def unfinished(compile_program, tmp_path, much):
    """A recording whose program has just ended, and whose collector is still busy."""
    for attempt in range(8):
        path = str(tmp_path / f"in{attempt}.dat")
        run = harness.execute([compile_program("exits"), "exit"],
                              env={"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": path,
                                   "MEMORY_PROFILER_INCLUDE_FILE": str(much)})
        assert run.status == 21
        if not is_finished(path):
            return path
        os.unlink(path)
    raise AssertionError("the collector was too fast for this test")


def is_finished(path):
    with open(path, "rb") as file:
        file.seek(-len(harness.TRAILER), os.SEEK_END)
        return file.read() == harness.TRAILER


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


@pytest.mark.parametrize("command", READING)
def test_program_has_ended(unfinished, command):
    """The answer is whole: the same as later."""
    run = memoir(command, *READING[command], unfinished)
    assert run.status == 0 and b"still being written" not in run.stderr, run
    harness.wait_finished(unfinished)
    assert run.stdout == memoir(command, *READING[command], unfinished).stdout


def test_diff_waits_for_both(unfinished, tmp_path):
    run = memoir("diff", "--json", unfinished, unfinished)
    assert run.status == 0 and not run.stderr, run
    assert is_finished(unfinished)


@pytest.mark.parametrize("command", WRITING)
def test_made_anew(unfinished, tmp_path, command):
    out = str(tmp_path / "out.dat")
    run = memoir(command, "-o", out, unfinished)
    assert run.status == 0, run
    info = harness.flatten(harness.ask("info", "--json", out))
    assert not info["truncated"]
    assert info["allocations"] == harness.flatten(
        harness.ask("info", "--json", unfinished))["allocations"]


def test_folder(unfinished, tmp_path):
    run = memoir("info", "--json", os.path.dirname(unfinished))
    assert run.status == 0, run
    assert is_finished(unfinished)


def test_says_so_after_a_second(unfinished):
    holder = harness.holders(unfinished)[0]
    os.kill(holder, signal.SIGSTOP)
    reading = subprocess.Popen([harness.MEMOIR, "export", "csv", unfinished],
                               env=harness.ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        time.sleep(2)
        assert reading.poll() is None, "it does not wait"
    finally:
        os.kill(holder, signal.SIGCONT)
    out, err = reading.communicate(timeout=60)
    assert reading.returncode == 0 and len(out.splitlines()) > 1000
    assert err.count(b"waiting for its collector") == 1


@pytest.fixture
def living(tmp_path):
    """A program that runs until its standard input is closed."""
    path = tmp_path / "in.dat"
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               env=dict(harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY,
                                        MEMORY_PROFILER_OUTPUT=str(path)))
    harness.wait_for(lambda: path.exists() and path.stat().st_size > 1000, what="a recording")
    yield process, path
    process.kill()
    process.communicate()


@pytest.mark.parametrize("command", [*READING, *MEASURING])
def test_program_runs_on(living, command):
    """What there is, marked as such; that is success only where it was asked for."""
    _, path = living
    options = {**READING, **MEASURING}[command]
    run = memoir(command, *options, path)
    assert run.status == 1 and b"still being written" in run.stderr, run
    asked = memoir(command, "--live", *options, path)
    assert asked.status == 0, asked


def test_diff_of_one_that_runs_on(living):
    _, path = living
    assert memoir("diff", path, path).status == 1
    assert memoir("diff", "--live", path, path).status == 0


@pytest.mark.parametrize("command", [*READING, *MEASURING, *WRITING])
def test_wait(living, tmp_path, command):
    """Every command can wait for the program."""
    process, path = living
    more = ["-o", str(tmp_path / "out.dat")] if command in WRITING else {**READING, **MEASURING}[
        command]
    reading = subprocess.Popen([harness.MEMOIR, command, "--wait", *more, path],
                               env=harness.ENVIRONMENT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.4)
    assert reading.poll() is None, reading.communicate()
    process.stdin.close()
    out, err = reading.communicate(timeout=60)
    assert reading.returncode == 0 and b"still being written" not in err, err


def test_program_that_was_killed(living):
    """Nobody said that it would end."""
    process, path = living
    process.kill()
    process.wait()
    run = memoir("info", "--json", path)
    assert run.status == 0, run
