# SPDX-License-Identifier: MIT OR Apache-2.0
"""A program that makes events faster than one core takes them: all cores do, nothing is lost or
mixed up, and what it had to wait for is told."""
import json
import os
import signal
import subprocess
import threading
import time

import pytest

import harness

THREADS = 8
# Eight rings that are soon nearly full, and together enough for several cores.
SMALL_RINGS = ["--ring-events", "8192"]


def waits(recording):
    cost = harness.ask("info", "--json", recording.path)["cost"]
    return cost, [cost[f"waited_for_{reason}_ns"] for reason in ("disk", "encoding", "processors")]


def record_with_pauses(path, command, cores):
    """The collector stands still again and again, until rings are full: somebody else has its
    core."""
    with subprocess.Popen([harness.MEMOIR, "run", "-q", "--no-write-binaries", *SMALL_RINGS, "-o",
                           path, "--", *command], stdout=subprocess.PIPE,
                          env=dict(harness.ENVIRONMENT, MEMOIR_THREADS=str(cores))) as running:
        while running.poll() is None:
            running.send_signal(signal.SIGSTOP)
            time.sleep(0.02)
            running.send_signal(signal.SIGCONT)
            time.sleep(0.02)
        run = harness.Run(running.returncode, running.stdout.read(), b"", 0)
    assert run.status == 0
    return harness.Recording(path, run)


@pytest.mark.parametrize("cores", [1, 4])
def test_many_threads(compile_program, tmp_path, cores):
    """With one core and with several the recording is the same, to the event and the byte."""
    recording = record_with_pauses(str(tmp_path / "out.dat"),
                                   [compile_program("oracle"), str(THREADS), "100000"], cores)
    counted = json.loads(recording.stdout)
    info = recording.info
    assert info["lost_events"] == 0 and info["unknown_frees"] == 0 and not info["truncated"]
    # Processors that read their clocks early are the cause of a few, chunks in a wrong order would
    # be that of thousands.
    assert info["mended"] < counted["deallocations"] / 1000
    made, again = recording.total("oracle_alloc"), recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert made["leaked_bytes"] + again["leaked_bytes"] == counted["leaked_bytes"]
    cost, reasons = waits(recording)
    assert sum(reasons) <= cost["waiting_ns"]
    assert min(cores, 2) <= cost["collector_cores"] <= cores


def drain_slowly(source, target):
    """What a disk does that takes a tenth of what comes."""
    with open(source, "rb", buffering=0) as pipe, open(target, "wb") as file:
        while piece := pipe.read(1 << 16):
            file.write(piece)
            time.sleep(0.02)


def test_waiting_for_the_disk(compile_program, tmp_path):
    """The output cannot be written faster: that is what the program waits for, and what is
    said."""
    pipe, path = str(tmp_path / "pipe"), str(tmp_path / "out.dat")
    os.mkfifo(pipe)
    reader = threading.Thread(target=drain_slowly, args=(pipe, path))
    reader.start()
    done = harness.execute([harness.MEMOIR, "run", "-q", "--no-write-binaries", *SMALL_RINGS, "-o",
                            pipe, "--", compile_program("oracle"), str(THREADS), "25000"])
    reader.join()
    assert done.status == 0, done
    cost = harness.ask("info", "--json", path)["cost"]
    assert cost["waiting_ns"] > 0
    assert cost["waited_for_disk_ns"] > 0.6 * cost["waiting_ns"]
    text = harness.execute([harness.MEMOIR, "info", path]).stdout.decode()
    assert "waited for the disk " in text


def test_nothing_to_wait_for(compile_program, record):
    recording = record([compile_program("oracle"), "1", "1000"])
    assert waits(recording)[0]["waits"] == 0
    assert "waited for" not in harness.execute([harness.MEMOIR, "info",
                                                     recording.path]).stdout.decode()
