# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nothing is lost, however the program ends."""
import os
import random
import signal
import struct
import subprocess
import time

import pytest

import harness

ENDS = ["return", "exit", "_exit", "_Exit", "quick_exit", "abort", "segfault", "kill", "term",
        "exec",
        "thread", "pthread_exit", "trap"]


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("how", ENDS)
def test_every_end(compile_program, compare, how, mode):
    recording = compare([compile_program("exits"), how], mode=mode)
    made = recording.total("make")
    assert made == {"allocations": 1000, "allocated_bytes": 123000, "leaked_count": 500,
                    "leaked_bytes": 61500}
    assert recording.info["lost_events"] == 0


def counts(path):
    with open(path, "rb") as file:
        data = file.read(512)
    return [struct.unpack_from("2Q", data, 64 * i) for i in range(8)]


KILLS_PER_TEST = 10
KILL_TESTS = 20
KILL_TESTS_AT_ONCE = 5  # the others are among the long ones


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("part", [
    pytest.param(part, marks=[pytest.mark.long] if part >= KILL_TESTS_AT_ONCE else [])
    for part in range(KILL_TESTS)])
def test_kill_at_any_instant(compile_program, tmp_path, part):
    """200 times in all: SIGKILL in a storm of eight threads; every event that a thread had
    counted, but its last, is in the recording."""
    seed = int(os.environ.get("MEMOIR_SEED", "0")) * 1000 + part
    chance = random.Random(seed)
    program = compile_program("storm")
    for attempt in range(KILLS_PER_TEST):
        mode = ("run", "preload")[attempt % 2]
        path, counted = str(tmp_path / "out.dat"), str(tmp_path / "counts")
        for name in (path, counted):
            if os.path.exists(name):
                os.remove(name)
        env = dict(harness.ENVIRONMENT)
        if mode == "run":
            command = [harness.MEMOIR, "run", "-o", path, "--", program, counted]
        else:
            command = [program, counted]
            env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        harness.wait_for(lambda: os.path.exists(counted) and os.path.getsize(counted) >= 512,
                         what="the storm")
        time.sleep(chance.random() ** 3 * 0.4)
        if mode == "run":
            storm = harness.wait_for(lambda: child_named(process.pid, program), what="the program")
        else:
            storm = process.pid
        os.kill(storm, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
        finished = counts(counted)
        assert process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL), err
        harness.wait_finished(path)
        recording = harness.Recording(path, harness.Run(process.returncode, out, err, 0))
        for number, (allocations, frees) in enumerate(finished):
            seen = recording.total(f"storm_{number}")
            where = f"seed {seed}, attempt {attempt}, {mode}, thread {number}"
            assert seen["allocations"] >= allocations, where
            # One more of each may have been made and not counted yet.
            assert seen["allocations"] <= allocations + 1, where
            freed = seen["allocations"] - seen["leaked_count"]
            assert frees <= freed <= frees + 1, where
        assert recording.info["lost_events"] == 0


def child_named(pid, program):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(x) for x in file.read().split()]
        for child in children:
            if os.readlink(f"/proc/{child}/exe") == os.path.realpath(program):
                return child
    except OSError:
        pass
    return None


def test_killed_with_its_launcher(compile_program, tmp_path):
    """Both killed at once: what was on disk opens, and at most a moment is missing."""
    path = str(tmp_path / "out.dat")
    process = subprocess.Popen([harness.MEMOIR, "run", "-o", path, "--", compile_program("flood"),
                                "100000000", "1", "1000"], env=harness.ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)
    recording = harness.Recording(path, harness.Run(0, b"", b"", 0))
    assert recording.info["truncated"]
    assert recording.info["allocations"] > 100000
    assert recording.total("run")["allocations"] > 100000


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_cut_file(compile_program, record, share):
    """A recording that was cut anywhere opens up to its last whole chunk."""
    recording = record([compile_program("oracle"), "2", "100000"])
    size = os.path.getsize(recording.path)
    os.truncate(recording.path, int(size * share))
    cut = harness.Recording(recording.path, recording.run)
    assert cut.info["truncated"]


def test_readable_while_written(compile_program, tmp_path):
    """A recording can be looked at while the program runs."""
    path = str(tmp_path / "out.dat")
    process = subprocess.Popen([harness.MEMOIR, "run", "-o", path, "--", compile_program("flood"),
                                "3000000", "1", "1000"], env=harness.ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1.5)
        assert process.poll() is None
        info = harness.flatten(harness.ask("info", "--live", "--json", path))
        assert info["allocations"] > 100000
    finally:
        process.terminate()
        harness.kill(child_named(process.pid, compile_program("flood")) or process.pid)
        process.wait(30)
