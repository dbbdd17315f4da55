# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the kernel and libc know of a process is the same with the recorder in it: the program, its
children, its threads, and what it becomes."""
import ctypes
import os
import re
import resource
import signal

import pytest

import harness

PR_SET_PDEATHSIG, PR_SET_TIMERSLACK, PR_SET_CHILD_SUBREAPER = 1, 29, 36


def usual():
    pass


def odd():
    """Signals ignored, blocked and pending ones to come; limits, mask, priority, timers, a parent
    to die with."""
    libc = ctypes.CDLL(None)
    for number in (signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGHUP})
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 21))
    os.umask(0o077)
    os.nice(5)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    signal.setitimer(signal.ITIMER_REAL, 1000)
    signal.setitimer(signal.ITIMER_PROF, 2000)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    libc.prctl(PR_SET_TIMERSLACK, 77777)
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")


def reaper():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def closed():
    """Without standard input and error."""
    os.close(0)
    os.close(2)


def leader():
    os.setsid()


def comparable(text):
    # The recorder's own handlers, where the library is preloaded by hand: SIGUSR1 and SIGUSR2. The
    # room in its table of descriptors follows from how many the tests had open when they forked.
    text = re.sub(r"(?<=FDSize:\t)\d+", "", text)
    text = re.sub(r"(?<=SigCgt:\t)\w+", lambda m: f"{int(m[0], 16) & ~0xa00:016x}", text)
    # A timer that runs: a second may pass.
    text = re.sub(r"timer (\d) (\d+)", lambda m: f"timer {m[1]} {(int(m[2]) + 50) // 100}", text)
    # Under `memoir run` a leader is the launcher.
    return re.sub(r"leader \d \d", "leader", text)


@pytest.mark.parametrize("mode", ["run", "children", "preload", "preload tree"])
@pytest.mark.parametrize("prepare", [usual, odd, closed, leader])
def test_state_is_the_same(compile_program, tmp_path, prepare, mode):
    program = compile_program("process_state", libraries=("-lm",))
    plain = harness.execute([program, "again"], preexec_fn=prepare)
    command, env = [program, "again"], {}
    if mode in ("run", "children"):
        command = [harness.MEMOIR, "run", "-q", "-o", str(tmp_path / "out_%n.dat"),
                   *(["--children"] if mode == "children" else []), *command]
    else:
        env = {"LD_PRELOAD": harness.LIBRARY,
               "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out_%n.dat")}
        if mode == "preload tree":
            env["MEMORY_PROFILER_TRACK_CHILD_PROCESSES"] = "1"
    recorded = harness.execute(command, env=env, preexec_fn=prepare)
    assert list(tmp_path.glob("*.dat")), recorded
    assert comparable(recorded.stdout.decode()) == comparable(plain.stdout.decode())
    assert recorded.status == plain.status == 0
    assert plain.stdout.count(b"main status Name") == 3


def test_adopting_orphans_is_the_programs(compile_program, tmp_path):
    """A program that was started to adopt orphans still does."""
    program = compile_program("process_state", libraries=("-lm",))
    run = harness.execute([harness.MEMOIR, "run", "-q", "-o", str(tmp_path / "out.dat"), program],
                          preexec_fn=reaper)
    assert b"main pdeathsig 0 subreaper 1" in run.stdout


def test_alarm_is_the_programs(tmp_path):
    """perl -e 'alarm N; exec …': the program is ended by it, not its launcher."""
    run = harness.execute([harness.MEMOIR, "run", "-q", "-o", str(tmp_path / "out.dat"), "sleep",
                           "20"],
                          preexec_fn=lambda: signal.setitimer(signal.ITIMER_REAL, 0.5))
    assert run.status == -signal.SIGALRM and run.seconds < 10, run
    harness.wait_finished(str(tmp_path / "out.dat"))
    recording = harness.Recording(str(tmp_path / "out.dat"), run)
    assert recording.info["end_reason"] == "signal", recording.info
