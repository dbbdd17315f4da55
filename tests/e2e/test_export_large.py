# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports of many allocations: memory that does not grow with them, and a bar while they last."""
import json
import os
import pty
import re
import resource
import subprocess
import time

import pytest

import harness

GENERATOR = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
# Of private memory, used or not, with the program's own data. Twelve bytes for each of so many
# allocations, which the order of their ends takes while it is made, would be 18 MB more.
DATA_MAX = 24 << 20
# Verdicts and whose frames they are about have 700 bytes for each of the 10,000 stacks.
VERDICTS_MAX = 8 << 20
EVENTS = 3000000
FORMATS = [("callgrind",), ("collapsed", "-m", "peak"), ("csv",), ("dhat",), ("firefox",),
           ("flamegraph", "-m", "peak"),
           ("heaptrack",), ("html",), ("json", "--groups"), ("json", "--stacks", "table"),
           ("massif",), ("pprof",),
           ("replay",), ("speedscope",)]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    folder = tmp_path_factory.mktemp("large")
    path = folder / "large.dat"
    subprocess.run([GENERATOR, str(path), str(EVENTS)], check=True, stdout=subprocess.DEVNULL)
    environment = {"XDG_CACHE_HOME": str(folder), "MEMOIR_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    # Opened once without a limit: what loading takes is not the question.
    assert harness.execute([harness.MEMOIR, "info", str(path)], env=environment).status == 0
    return path, environment


def test_all_formats_are_there():
    names = harness.execute([harness.MEMOIR, "export", "--list"]).stdout.decode().splitlines()
    assert {line.split()[0] for line in names if not line.startswith(" ")} == {
        f[0] for f in FORMATS}


@pytest.mark.parametrize("how", FORMATS, ids=" ".join)
def test_memory_is_flat(large, how):
    path, environment = large
    most = DATA_MAX + (VERDICTS_MAX if how[0] == "html" else 0)
    done = subprocess.run([harness.MEMOIR, "export", how[0], str(path), *how[1:]],
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, env={**harness.ENVIRONMENT, **environment},
                          preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_DATA, (most, most)), check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """Some ten thousand allocations of a real program."""
    path = tmp_path_factory.mktemp("busy") / "busy.dat"
    harness.record(["/usr/bin/python3", "-sS", "-c", "import json"], str(path),
                   env={"PYTHONMALLOC": "malloc"})
    return path


def slowly(command, stderr):
    """Runs it with an output that nobody reads for longer than an export may last without a bar."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=stderr,
                               env=harness.ENVIRONMENT)
    first = process.stdout.read(1)
    time.sleep(1)
    written = first + process.stdout.read()
    assert process.wait() == 0
    return written


@pytest.mark.parametrize("how", [("json", "--size-min", "600"), ("csv",)], ids=" ".join)
def test_progress(busy, how):
    command = [harness.MEMOIR, "export", how[0], str(busy), *how[1:]]
    ours, theirs = pty.openpty()
    on_terminal = slowly(command, theirs)
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 65536):
            shown += block
    except OSError:  # the last one has closed the other end
        pass
    os.close(ours)
    bars = re.findall(r"\rwriting [━─]{30} +(\d+) %", shown.decode())
    assert bars and list(map(int, bars)) == sorted(map(int, bars)) and int(bars[-1]) <= 100
    # Gone without a trace, and nothing of it is in the output.
    assert shown.endswith(b"\r\x1b[K")
    silent = subprocess.run(command, capture_output=True, check=True, env=harness.ENVIRONMENT)
    assert silent.stderr == b"" and silent.stdout == on_terminal
    if how[0] == "json":
        assert json.loads(on_terminal)["total_count"] > 500
