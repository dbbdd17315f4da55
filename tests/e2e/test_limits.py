# SPDX-License-Identifier: MIT OR Apache-2.0
"""Limits that a program runs under (setrlimit), small or nothing: it ends as it does without us."""
import os
import shutil

import pytest

import harness

K, M = 1 << 10, 1 << 20
LIMITS = {
    "as": [16 * M, 20 * M, 30 * M, 50 * M, 200 * M], "data": [3 * M, 8 * M, 30 * M],
    "fsize": [0, 4 * K, 1 * M],
    "nofile": [4, 5, 8], "stack": [64 * K, 256 * K], "memlock": [0], "core": [0], "nproc": [0],
    "sigpending": [0],
    "msgqueue": [0], "cpu": [20], "rttime": [1000], "rss": [0], "locks": [0], "nice": [0],
    "rtprio": [0],
}
CASES = [(limit, value) for limit, values in LIMITS.items() for value in values]
PYTHON = ["/usr/bin/python3", "-S", "-c", "print(sum(len(bytes(1000)) for i in range(1000)))"]

pytestmark = pytest.mark.skipif(not shutil.which("prlimit"), reason="no prlimit")


def outcomes(limits, program, path, **keywords):
    """Without us, with LD_PRELOAD, under `memoir run` with the limits inside."""
    preload = ["env", f"LD_PRELOAD={harness.LIBRARY}", f"MEMORY_PROFILER_OUTPUT={path}.preload"]
    run = [harness.MEMOIR, "run", "-o", f"{path}.run", "--"]
    return [harness.execute(command, **keywords)
            for command in ([*limits, *program], [*limits, *preload, *program],
                            [*run, *limits, *program])]


def own(text):
    """Without our lines, and without those of our collector's loader."""
    return [line for line in text.splitlines() if not line.startswith(b"memoir")]


@pytest.mark.parametrize("limit, value", CASES)
def test_limit(compile_program, tmp_path, limit, value):
    for name, program in ("limited", [compile_program("limited"), "allocate"]), ("python", PYTHON):
        plain, *others = outcomes(["prlimit", f"--{limit}={value}"], program, str(tmp_path / name))
        for run in others:
            assert (run.status, run.stdout) == (plain.status, plain.stdout), run
            assert plain.status or own(run.stderr) == plain.stderr.splitlines(), run
            said = [line for line in run.stderr.splitlines() if b"not recorded: " in line]
            assert len(said) <= 1, run


@pytest.mark.parametrize("limit, much", [(14, 8), (24, 16), (30, 22), (50, 38)])
def test_most_of_the_address_space_is_the_programs(compile_program, tmp_path, limit, much):
    """At most an eighth of what is left is ours."""
    plain, *others = outcomes(["prlimit", f"--as={limit * M}"],
                              [compile_program("limited"), "much", str(much)],
                              str(tmp_path / "out"))
    assert plain.stdout == b"%d\n" % (much * M)
    for run in others:
        assert (run.status, run.stdout) == (plain.status, plain.stdout), run


@pytest.mark.parametrize("value", [0, 50])
def test_no_line_where_it_would_be_a_signal(compile_program, tmp_path, value):
    """stderr is a file, and a line of ours would be beyond the limit on its size."""
    errors = tmp_path / "errors"
    with open(errors, "wb") as file:
        script = (f"exec 2>>{errors}; exec prlimit --fsize={value} env "
                  f"LD_PRELOAD={harness.LIBRARY} "
                  f"MEMORY_PROFILER_OUTPUT={tmp_path}/out.dat {compile_program('limited')} "
                  "allocate")
        run = harness.execute(["sh", "-c", script])
    assert (run.status, run.stdout) == (0, b"2000000 2000000\n"), run
    assert os.path.getsize(errors) == 0


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_limits_that_the_program_lowers(compile_program, compare, mode):
    recording = compare([compile_program("limited"), "lower"], mode=mode)
    assert recording.stdout == b"2000000 2000000\n"
    assert recording.total("take")["allocations"] >= 500


def test_little_is_recorded_with_little(compile_program, tmp_path):
    """30 MB of address space are enough for a recording, with smaller tables."""
    path = str(tmp_path / "out.dat")
    run = harness.execute(["prlimit", f"--as={30 * M}", "env", f"LD_PRELOAD={harness.LIBRARY}",
                           f"MEMORY_PROFILER_OUTPUT={path}", compile_program("limited"),
                           "allocate"])
    assert (run.status, run.stderr) == (0, b""), run
    harness.wait_finished(path)
    recording = harness.Recording(path, run)
    assert recording.total("take")["allocations"] >= 500
    assert recording.info["events"] + recording.info["lost_events"] >= 2000


@pytest.mark.parametrize("flags", [1, 2, 3, 7])
@pytest.mark.parametrize("limit", [0, 4 * M, 5 * M, 6 * M, 8 * M])
def test_locked_memory(compile_program, tmp_path, limit, flags):
    """mlockall compares the limit with all that is mapped: ours does not count.  Needs a user who
    is not privileged."""
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    # All that is needed, where nobody may read it.
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    for path in (harness.LIBRARY, harness.COLLECTOR, compile_program("limited")):
        shutil.copy(path, folder)
    for part in [folder, *folder.parents]:
        if str(part).startswith("/tmp/"):
            os.chmod(part, os.stat(part).st_mode | 0o755)
    program = [str(folder / "limited"), "lock", str(flags)]
    limits = ["prlimit", f"--memlock={limit}", "setpriv", "--reuid=65534", "--clear-groups"]
    plain = harness.execute([*limits, *program])
    run = harness.execute([*limits, "env", f"LD_PRELOAD={folder}/libmemoir.so",
                           f"MEMORY_PROFILER_OUTPUT={folder}/out.dat",
                           *program])
    assert (run.status, run.stdout) == (plain.status, plain.stdout), run
    assert not run.stderr, run
