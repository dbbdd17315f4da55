# SPDX-License-Identifier: MIT OR Apache-2.0
"""On and off, markers, what a program asks for through memoir.h, and what the signals do."""
import json
import os
import signal
import subprocess
import threading
import time

import pytest

import harness

MODES = ["run", "preload"]
DISABLED = {"MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1"}


def sizes(recording):
    """{size: leaked} of the blocks that have a size of their own."""
    return {s["allocated_bytes"]: s["leaked_count"] for s in recording.stacks
            if s["allocations"] == 1 and s["allocated_bytes"] > 10000}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["api", "sigusr1", "usr2"])
def test_start_stop(compile_program, record, how, mode):
    recording = record([compile_program("start_stop"), how], mode=mode,
                       env={**harness.SIGNALS, **DISABLED})
    assert recording.status == 0
    assert sizes(recording) == {
        10002: 0,  # freed while off, and known to be
        20002: 0,
        10003: 0,  # reallocated while off: it ended then
        10006: 1,  # a realloc that failed while off changed nothing
        10007: 0,  # realloc of a block that was not known
        10004: 1,
        20003: 1,
    }
    info = recording.info
    assert info["lost_events"] == info["implicit_frees"] == 0
    assert (info["switched_on"], info["switched_off"]) == (2, 1)
    # 10001, 20001, 10101 and what 10003 became.
    assert info["unknown_frees"] == 4


@pytest.mark.parametrize("mode", MODES)
def test_never_switched_on(compile_program, record, mode):
    recording = record([compile_program("exits"), "return"], mode=mode, env=DISABLED,
                       finished=False)
    assert recording.status == 20
    harness.wait_for(lambda: not os.path.exists(recording.path), what="the file to go")
    assert (b"never switched on" in recording.stderr) == (mode == "run")


@pytest.mark.parametrize("mode", MODES)
def test_storm(compile_program, record, mode):
    """Switched thousands of times by signals and calls at once: what is recorded is true."""
    recording = record([compile_program("switch_storm"), "1500"], mode=mode, env=harness.SIGNALS)
    assert recording.status == 0, recording.run
    made = json.loads(recording.stdout)["made"]
    info = recording.info
    assert info["switched_on"] > 100 and info["switched_off"] > 100
    assert abs(info["switched_on"] - info["switched_off"]) <= 1
    assert info["lost_events"] == 0
    # Every end of a recorded block was seen, however often recording was off.  Of two events on one
    # address at the same instant it cannot always be told which was first: one in a million.
    assert info["implicit_frees"] <= 5
    recorded = {name: recording.total(name) for name in ("storm_malloc", "storm_realloc")}
    assert 0 < sum(t["allocations"] for t in recorded.values()) < made
    assert all(t["leaked_count"] <= 5 for t in recorded.values())
    assert info["markers"]


class Controlled:
    """controlled.c, told what to do line by line."""

    def __init__(self, program, path, mode="preload", env=None):
        env = dict(harness.ENVIRONMENT, MEMORY_PROFILER_OUTPUT=path, **(env or {}))
        command = [program]
        if mode == "run":
            command = [harness.MEMOIR, "run", "--sigusr1", "--", program]
        elif mode == "preload":
            env["LD_PRELOAD"] = harness.LIBRARY
        self.path = path
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def release(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()

    def ask(self, line, timeout=40):
        watchdog = threading.Timer(timeout, self.process.kill)
        watchdog.start()
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().decode()
        watchdog.cancel()
        return answer.strip()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0
        harness.wait_finished(self.path)

    def switch(self):
        """Sends SIGUSR1 to the program itself: `memoir run` hands it on, but in its own time."""
        below = harness.descendants(self.process.pid)
        os.kill(below[0] if below else self.process.pid, signal.SIGUSR1)

    def collector(self):
        return next(pid for pid in harness.holders(self.path) if pid != os.getpid())


@pytest.fixture
def controlled(compile_program, tmp_path):
    """controlled(mode=…, env=…): starts the program; it is ended with the test."""
    started = []

    def start(**keywords):
        started.append(Controlled(compile_program("controlled"), str(tmp_path / "out.dat"),
                                  **keywords))
        return started[-1]
    yield start
    for program in started:
        program.release()


@pytest.mark.parametrize("mode", MODES)
def test_sync_is_on_disk(controlled, tmp_path, mode):
    """After memoir_sync() everything is in the file, seen from outside and at once."""
    program = controlled(mode=mode)
    copy = tmp_path / "copy.dat"
    for round in range(1, 4):
        program.ask("make 1000")
        status, seconds = program.ask("sync").split()
        copy.write_bytes(open(program.path, "rb").read())
        assert status == "0" and float(seconds) < 5
        made = harness.Recording(str(copy), harness.Run(0, b"", b"", 0)).total("make")
        assert made["allocations"] == 1000 * round
    program.end()


def test_sync_without_recorder(controlled):
    """The header's functions do nothing where Memoir is not."""
    program = controlled(mode="alone")
    assert program.ask("sync").split()[0] == "-1"
    assert program.ask("mark 1") == "marked"
    assert program.ask("at 5") == "over"
    program.process.stdin.close()
    assert program.process.wait(timeout=10) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_sync_does_not_hang(controlled, number):
    program = controlled()
    assert program.ask("sync").split()[0] == "0"
    collector = program.collector()
    os.kill(collector, number)
    try:
        time.sleep(0.05)
        for _ in range(2):
            status, seconds = program.ask("sync").split()
            assert status == "-1"
            assert float(seconds) < 2
        assert program.ask("make 100000") == "made"
    finally:
        harness.kill(collector, signal.SIGCONT)
    program.process.stdin.close()
    assert program.process.wait(timeout=30) == 0


@pytest.mark.parametrize("mode", MODES)
def test_markers(controlled, mode):
    program = controlled(mode=mode, env=DISABLED)
    long_name = "n" * 64
    longest = "ä" * 127 + "x"  # 255 bytes
    too_long = "y" * 254 + "äz"  # cut before the ä
    program.ask("mark 4294967295")
    program.ask("name first")
    program.switch()
    program.ask("make 10")
    program.ask(f"name {long_name}")
    program.ask(f"thread {longest}")
    program.ask("make 10")
    program.ask(f"thread {too_long}")
    program.ask("mark 0")
    program.end()
    info = harness.ask("info", "--json", program.path)
    markers = info["markers"]
    assert [(m["value"], m["name"]) for m in markers] == [
        (4294967295, ""), (5, "first"), (64, long_name), (255, longest), (257, "y" * 254), (0, "")]
    times = [m["at_ns"] for m in markers]
    assert times == sorted(times) and times[0] > 0
    shown = harness.execute([harness.MEMOIR, "info", program.path]).stdout.decode()
    assert long_name in shown and "4294967295" in shown


@pytest.mark.parametrize("mode", MODES)
def test_override_timestamp(controlled, mode):
    """The next event of the thread, a realloc as a whole, gets the time that was asked for."""
    program = controlled(mode=mode)
    program.ask("grow 100000")
    start = time.clock_gettime(time.CLOCK_MONOTONIC)
    program.ask(f"at {start + 100}")
    program.ask("block 1000000")
    program.ask(f"at {start + 200}")
    program.ask("grow 2000000")
    program.end()
    info = harness.ask("info", "--json", program.path)
    assert info["peak_bytes"] >= 3000000
    assert 199 < info["peak_at_ns"] / 1e9 < 203


def test_override_with_times_of_another_run(controlled):
    program = controlled()
    program.ask("at 1.5")
    program.ask("block 1000")
    program.ask("at 61.5")
    program.ask("block 1000000")
    program.end()
    info = harness.ask("info", "--json", program.path)
    assert info["peak_bytes"] > 1000000
    assert 60 < info["peak_at_ns"] / 1e9 < 65


@pytest.mark.parametrize("mode", MODES)
def test_signals_of_children(compile_program, compare, mode):
    """Children are ended by SIGUSR1 as without us; a handler of the program's own wins."""
    recording = compare([compile_program("usr_signals")], mode=mode, env=harness.SIGNALS)
    assert b"fork: signal 10" in recording.stdout
    assert b"own handler: 10" in recording.stdout
    assert recording.status == -signal.SIGUSR1


def test_signal_interrupts_no_read(compile_program, record):
    recording = record([compile_program("usr_signals"), "handled"], env=harness.SIGNALS)
    assert b"read 1\nwriter: status 0\n" in recording.stdout
    assert recording.info["switched_off"] == 1


@pytest.mark.parametrize("mode", MODES)
def test_signals_can_be_left_alone(compile_program, record, mode):
    program = compile_program("usr_signals")
    off = {"MEMORY_PROFILER_REGISTER_SIGUSR1": "0", "MEMORY_PROFILER_REGISTER_SIGUSR2": "0"}
    assert record([program, "raise"], mode=mode, env=harness.SIGNALS).stdout == b"alive\n"
    # Without a word they are taken where the library is preloaded, and only there.
    assert record([program, "raise"], mode=mode).status == (
        0 if mode == "preload" else -signal.SIGUSR1)
    recording = record([program, "raise"], mode=mode, env=off)
    assert recording.status == -signal.SIGUSR1
    off.pop("MEMORY_PROFILER_REGISTER_SIGUSR2")
    off["MEMORY_PROFILER_REGISTER_SIGUSR1"] = "1"
    off["MEMORY_PROFILER_REGISTER_SIGUSR2"] = "0"
    assert record([program, "raise"], mode=mode, env=off).status == -signal.SIGUSR2


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2])
def test_shell_is_ended(tmp_path, number):
    """kill -USR1 $$ under memoir run, in what it becomes, and in children of each kind."""
    script = f"kill -{int(number)} $$; exit 3"
    for options in ([], ["--children"], ["--children", "--sigusr1", "--sigusr2"]):
        for command, status in ((["sh", "-c", script], -number),
                                (["env", "sh", "-c", script], -number),
                                (["sh", "-c", f"sh -c '{script}'; exit $?"], 128 + number),
                                (["bash", "-c", f"(kill -{int(number)} $BASHPID); exit $?"],
                                 128 + number)):
            run = harness.execute(
                [harness.MEMOIR, "run", "-q", *options, "-o", str(tmp_path / "out_%n.dat"),
                 "--", *command])
            if "--sigusr1" in options and status < 0:
                status = 3  # asked for, and this is the program's own process
            assert run.status == status, (options, command, run)
    run = harness.execute(["sh", "-c", f"sh -c '{script}'; exit $?"], env={
        "LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1",
        "MEMORY_PROFILER_OUTPUT": str(tmp_path / "tree_%n.dat")})
    assert run.status == 128 + number, run


def test_ignored_signal_stays_ignored(compile_program, record):
    """A signal that the program was started to ignore is not ours."""
    def ignore():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    recording = record([compile_program("usr_signals"), "raise"], mode="preload", preexec_fn=ignore)
    assert recording.stdout == b"alive\n"
    assert (recording.info["switched_on"], recording.info["switched_off"]) == (0, 1)  # SIGUSR2


@pytest.mark.parametrize(
    "flags", [(), ("-no-pie", "-fno-pic"), ("-fno-plt",), ("-O0",), ("-flto",)], ids=" ".join)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_header_builds(compile_program, tmp_path, compiler, flags):
    """However it is built, a program finds the functions, and runs without them."""
    program = compile_program("controlled", compiler=compiler, flags=("-O2", *flags))
    path = str(tmp_path / "out.dat")
    alone = harness.execute([program], stdin=b"sync\nmark 7\n")
    assert alone.stdout.startswith(b"-1 ") and alone.status == 0
    recording = harness.record([program], path, stdin=b"sync\nmark 7\n")
    assert recording.stdout.startswith(b"0 ")
    assert [m["value"] for m in recording.info["markers"]] == [7]


@pytest.mark.parametrize("command", [
    ["gcc", "-x", "c", "-std=c99", "-pedantic-errors"], ["clang", "-x", "c", "-pedantic-errors"],
    ["g++", "-x", "c++", "-std=c++11", "-pedantic"],
    ["clang++", "-x", "c++", "-std=c++20", "-pedantic"],
    ["gcc", "-x", "c", "-fno-pic", "-std=c99", "-pedantic"]], ids=" ".join)
def test_header_is_clean(command):
    header = os.path.join(harness.ROOT, "include", "memoir.h")
    done = harness.execute([*command, "-Wall", "-Wextra", "-Werror", "-DMEMOIR_FORMER_NAMES",
                            "-fsyntax-only", "-include", header, "/dev/null"])
    assert done.status == 0, done


def cpu_seconds(command, env=None):
    process = subprocess.Popen(command, env=dict(harness.ENVIRONMENT, **(env or {})),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0
    return usage.ru_utime + usage.ru_stime


PAIRS = [os.path.join(harness.BUILD, "bench", "bench_pairs"), "30", "1500000"]
PYTHON = ["/usr/bin/python3", "-c", "print(sum(len(str(i) * 3) for i in range(900000)))"]


@pytest.mark.soak
@pytest.mark.parametrize("command", [PAIRS, PYTHON], ids=["pairs", "python"])
def test_cost_is_true(tmp_path, command):
    """What Memoir says that it cost is what is measured from outside.

    On a quiet machine it is within a fifth of that (docs/benchmarks.md); a busy one gets more room.
    """
    path = str(tmp_path / "out.dat")
    env = {"PYTHONMALLOC": "malloc"}
    recorded = dict(env, LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    true, told = [], []
    for _ in range(5):
        plain = cpu_seconds(command, env)
        true.append(cpu_seconds(command, recorded) - plain)
        harness.wait_finished(path)
        told.append(harness.ask("info", "--json", path)["cost"]["recording_ns"] / 1e9)
        os.unlink(path)
    true, told = sorted(true)[2], sorted(told)[2]
    assert true / 3 < told < true * 3


@pytest.mark.parametrize("mode", MODES)
def test_cost_is_told(compile_program, record, mode):
    recording = record([compile_program("oracle"), "2", "100000"], mode=mode)
    cost = harness.ask("info", "--json", recording.path)["cost"]
    assert 0 < cost["percent"] and 1 < cost["event_ns"] < 100000
    assert cost["ns"] == cost["recording_ns"] + cost["setup_ns"] + cost["waiting_ns"]
    assert 100000 < cost["memory_bytes"] < 64 << 20
    assert cost["setup_ns"] > 0 and cost["shared_memory_bytes"] > 0
    text = harness.execute([harness.MEMOIR, "info", recording.path]).stdout.decode()
    assert "Memoir cost this program about" in text


def test_cost_of_a_program_that_waits(compile_program, record):
    """It is a share of the time that passed, and little."""
    recording = record(["sh", "-c", "sleep 0.5"], options=["--ring-events", "256"])
    cost = harness.ask("info", "--json", recording.path)["cost"]
    assert cost["percent"] is None or cost["percent"] < 20


@pytest.mark.parametrize("mode", MODES)
def test_many_short_threads(compile_program, record, mode):
    """10,000 threads one after the other: the recorder's memory is what it is after a few."""
    program = compile_program("short_threads")
    few = record([program, "200"], mode=mode)
    many = record([program, "10000"], mode=mode)
    for recording in (few, many):
        assert recording.status == 0
        assert recording.info["lost_events"] == 0
    assert many.total("short_work")["allocations"] == 10000 * 10
    assert many.total("short_work")["leaked_count"] == 0
    for name in ("memory_bytes", "shared_memory_bytes"):
        assert many.info[name] <= few.info[name] * 1.5, name
    # As the program itself sees it, kilobytes: its own threads' stacks and arenas are the same.
    few, many = (int(r.stdout) for r in (few, many))
    assert many < few * 1.2 + 4096
