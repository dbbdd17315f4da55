# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that give up system calls by filters: they end as without us, and the recording says
what it lacks."""
import os
import shutil

import pytest

import harness

MODES = ["run", "preload"]
# What lists of allowed calls may lack, that the recorder would like to make.
LEFT_OUT = ["nothing", "sigmask", "futex", "mmap", "tid", "clock", "sigmask,futex,mmap,tid,clock"]
EVENTS = 2 * ((1 << 13) + 50000)  # of each thread after the filter


def events_of(recording):
    return recording.info["events"] + recording.info["dropped_sandbox"]


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("confined")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("left_out, action", [*((left_out, "kill") for left_out in LEFT_OUT),
                                              (LEFT_OUT[-1], "errno"), (LEFT_OUT[-1], "trap")])
def test_filter(program, compare, left_out, action, mode):
    """Whatever is left out: a thread that was there goes on being recorded."""
    recording = compare([program, left_out, action, "prctl"], mode=mode)
    assert recording.status == 4
    assert recording.info["sandboxed"] > 0
    assert recording.info["lost_events"] == 0
    assert recording.info["events"] >= EVENTS
    assert recording.total("branch")["allocations"] >= (1 << 13) * 0.99


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("by", ["syscall", "libseccomp"])
@pytest.mark.parametrize("action", ["kill", "errno"])
def test_other_ways_to_install_it(compile_program, compare, by, action, mode):
    flags = ("-O2",)
    libraries = ()
    if by == "libseccomp":
        if not os.path.exists("/usr/include/seccomp.h"):
            pytest.skip("no libseccomp-dev")
        flags, libraries = ("-O2", "-DLIBSECCOMP"), ("-lseccomp",)
    command = [compile_program("confined", flags=flags, libraries=libraries), LEFT_OUT[-1], action,
               by]
    recording = compare(command, mode=mode)
    assert recording.status == 4
    assert recording.info["events"] >= EVENTS


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("left_out", ["sigmask", "mmap", "tid", "clock", "sigmask,mmap,tid,clock"])
def test_for_all_threads(program, compare, left_out, mode):
    """A second thread installs it for four others.  One of them had no event before: where it
    cannot get a ring, its events are counted."""
    recording = compare([program, left_out, "kill", "tsync"], mode=mode)
    assert recording.status == 4
    assert events_of(recording) >= 4 * EVENTS
    new_thread_is_lost = "tid" in left_out or "mmap" in left_out
    assert recording.info["dropped_sandbox"] >= (EVENTS if new_thread_is_lost else 0)
    assert recording.info["lost_events"] == recording.info["dropped_sandbox"]
    if new_thread_is_lost:
        text = harness.execute([harness.MEMOIR, "info", recording.path]).stdout
        assert b"events for which a seccomp filter of the program's forbade a system call" in text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("left_out", ["nothing", "sigmask", "sigmask,futex"])
def test_handlers_interrupt(program, compare, left_out, mode):
    """Signals cannot be blocked: a handler meets the recorder's own lock, and nobody waits for
    himself."""
    for _ in range(3):
        recording = compare([program, left_out, "kill", "prctl", "signals"], mode=mode)
        assert recording.status == 4
        assert recording.info["events"] >= EVENTS


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [(), ("--children",)])
def test_forked_child(program, compare, options, mode):
    if mode == "preload" and options:
        env = {"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
        recording = compare([program, LEFT_OUT[-1], "kill", "syscall", "fork"], mode=mode, env=env)
    else:
        recording = compare([program, LEFT_OUT[-1], "kill", "syscall", "fork"], mode=mode,
                            **({"options": options} if options else {}))
    assert recording.stdout == b"child\nchild ended with 768\ndone\n"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", [(), ("--children",)])
def test_exec_under_the_filter(program, compare, options, mode):
    """The next program inherits it: nothing of ours is started there."""
    command = [program, "sigmask", "kill", "syscall", "exec", "/bin/echo", "after"]
    if mode == "run":
        recording = compare(command, options=options)
    elif options:
        recording = compare(command, mode=mode, env={"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"})
    else:
        recording = compare(command, mode=mode)
    assert recording.stdout == b"after\n"
    assert recording.info["events"] >= EVENTS


def test_filter_that_was_there_before(program, compile_program, record, tmp_path):
    """A container's: what it refuses keeps the recorder from starting, and one line says so."""
    command = [program, "sigmask", "errno", "syscall", "exec", compile_program("basic")]
    plain = harness.execute(command)
    run = harness.execute(command, env={"MEMORY_PROFILER_OUTPUT": str(tmp_path / "o.dat")})
    assert (run.status, run.stdout) == (plain.status, plain.stdout)
    inside = harness.execute([program, "sigmask", "errno", "syscall", "exec", "/usr/bin/env",
                              f"LD_PRELOAD={harness.LIBRARY}", compile_program("basic")])
    assert (inside.status, inside.stdout) == (plain.status, plain.stdout), inside
    assert len([line for line in inside.stderr.splitlines()
                if line.startswith(b"memoir: not recorded: ")]) == 1, inside


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", [["file", "/bin/ls", "/etc/passwd"],
                                     ["file", "-z", "/usr/share/doc/file/copyright"]])
def test_file(compare, command, mode):
    """Debian's confines itself with libseccomp."""
    if not shutil.which("file"):
        pytest.skip("no file")
    compare(command, mode=mode)
