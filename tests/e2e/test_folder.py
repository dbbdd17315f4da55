# SPDX-License-Identifier: MIT OR Apache-2.0
"""A folder of recordings opened as one: the tree of processes, their titles, sums, what they hold
together."""
import contextlib
import os
import re
import signal
import subprocess

import pytest

import harness

LONG = "x" * 60  # room for titles


@pytest.fixture(scope="module")
def titled(compile_program, tmp_path_factory):
    """The folder of a program whose children take titles."""
    folder = tmp_path_factory.mktemp("titled")
    run = harness.execute([harness.MEMOIR, "run", "--children", "-o", f"{folder}/", "--",
                           compile_program("titles"), LONG])
    assert run.status == 0, run
    return str(folder)


def paths(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".dat")]


def test_titles_are_recorded(titled):
    """As they were at last, whether the process ended by itself or was killed."""
    found = [harness.ask("info", "--json", path) for path in paths(titled)]
    assert sorted(info.get("title", "") for info in found) == [
        "", "titles: endless", "titles: idle", "titles: quick"]
    assert all(info["cmdline"][1] == LONG for info in found if "title" not in info)
    assert all(info["peak_rss"] > 100_000 for info in found)


def processes(folder, *options):
    return harness.ask("processes", "--json", *options, folder)


def test_tree_and_sums(titled):
    """What is said of each recording alone, in one tree."""
    answer = processes(titled)
    rows, total = answer["recordings"], answer["total"]
    alone = {info["id"]: info for info in (
        harness.ask("info", "--json", path) for path in paths(titled))}
    assert len(rows) == len(alone) == total["recordings"] == total["processes"] == 4
    assert [row["depth"] for row in rows] == [0, 1, 1, 1]
    assert all(row["parent_id"] == rows[0]["id"] for row in rows[1:])
    for row in rows:
        info = alone[row["id"]]
        assert [row[key] == info[key] for key in (
            "pid", "events", "allocations", "peak_bytes", "leaked_bytes", "peak_rss", "origin")]
        assert row["title"] == info.get("title", row["command"])
    assert {row["title"]: row["exit_signal"] for row in rows[1:]} == {
        "titles: quick": None, "titles: idle": None, "titles: endless": 9}
    for key in ("events", "allocations", "peak_bytes", "leaked_bytes", "leaked_count"):
        assert total[key] == sum(row[key] for row in rows)
    # All ran at the same time, so that is no less than the peaks.
    assert total["together_bytes"] == total["peak_bytes"] and not total["running"]


def test_tree_as_text(titled):
    done = harness.execute([harness.MEMOIR, "processes", titled])
    assert done.status == 0
    text = done.stdout.decode()
    assert re.search("[├└]─ titles: idle\n", text) and "─ titles: endless (Killed)\n" in text
    assert harness.execute([harness.MEMOIR, "info", titled]).stdout == done.stdout
    most = processes(titled, "--count", "1")["recordings"]
    assert len(most) in (1, 2) and most[0]["depth"] == 0


def test_report(titled):
    """The same functions of different processes are one row, at each one's peak or end."""
    held = processes(titled, "--top", "100", "--measure", "leaked")["held"]
    keep, = [row for row in held["holders"] if row["function"] == "keep"]
    # The first one's block is in each of its children, which inherited it.
    assert (keep["bytes"], keep["count"], keep["processes"]) == (4 * 1000 + 60000, 7, 4)
    assert keep["most_bytes"] == 31000
    assert held["bytes"] == sum(row["bytes"] for row in held["holders"])
    only = processes(titled, "--top", "100", "--measure", "leaked", "-F", "size = 30000")["held"]
    assert [(row["function"], row["bytes"], row["processes"]) for row in only["holders"]] == [
        ("keep", 30000, 1)]
    done = harness.execute([harness.MEMOIR, "report", "-m", "leaked", titled])
    assert done.status == 0 and b"at each process's end" in done.stdout
    text = harness.execute([harness.MEMOIR, "report", titled]).stdout.decode()
    assert "at each process's own peak" in text and "titles: endless" in text
    assert f"memoir report {titled}/" in text


def test_other_commands_say_what_to_do(titled):
    for command in (["leaks"], ["export", "massif"], ["tree"], ["analyze-size"]):
        done = harness.execute([harness.MEMOIR, *command, titled])
        assert done.status == 1 and done.stderr.count(b"\n") == 1, (command, done)
        assert f"memoir report {titled}".encode() in done.stderr, (command, done)
    for command in ("strip", "repack", "postprocess"):
        done = harness.execute([harness.MEMOIR, command, titled, "-o", "/dev/null"])
        assert done.status == 1 and b"name one of the recordings in it" in done.stderr, done


def test_folder_that_is_none(titled, tmp_path):
    empty = harness.execute([harness.MEMOIR, "processes", str(tmp_path)])
    assert empty.status == 1 and b"no recording in this folder" in empty.stderr
    for path in (paths(titled)[0], str(tmp_path / "none")):
        done = harness.execute([harness.MEMOIR, "processes", path])
        assert done.status == 1 and done.stderr.count(b"\n") == 1, done


def test_a_broken_file_is_said_and_left_out(titled, tmp_path):
    for i, path in enumerate(paths(titled)):
        os.link(path, tmp_path / f"{i}.dat")
    with open(paths(titled)[0], "rb") as file:
        (tmp_path / "x.dat").write_bytes(file.read(32) + b"MChk nonsense" * 20)
    done = harness.execute([harness.MEMOIR, "processes", "--json", str(tmp_path)])
    assert done.status == 1 and b"x.dat" in done.stderr and b'"failed":1' in done.stdout, done


def daemon(program, folder, *options, how="daemon"):
    """memoir run of a program that ends and leaves a daemon."""
    stop = str(folder / "stop")
    return stop, subprocess.Popen(
        [harness.MEMOIR, "run", "--children", *options, "-o", f"{folder}/r/", "--", program, LONG,
         how, stop], env=harness.ENVIRONMENT, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL)


def test_a_daemon_is_left_running(compile_program, tmp_path):
    """The command ends with its program, and says what still runs and where that goes."""
    stop, run = daemon(compile_program("titles"), tmp_path)
    with run:
        stderr = run.communicate(timeout=20)[1].decode()
        assert run.returncode == 0
        assert f"memoir: 1 still runs, and is recorded on in {tmp_path}/r\n" in stderr, stderr
        answer = processes(f"{tmp_path}/r")
        assert answer["total"]["running"] == 1
        assert {row["title"]: row["running"] for row in answer["recordings"]}["titles: daemon"]
        with open(stop, "w", encoding="ascii"):
            pass
        answer = processes(f"{tmp_path}/r", "--wait")
    assert answer["total"]["running"] == 0 and not answer["recordings"][1]["truncated"]


def test_a_daemon_without_a_recording_is_counted(compile_program, tmp_path):
    """One that was forked and has not allocated yet has none, and may have one later: nginx."""
    stop, run = daemon(compile_program("titles"), tmp_path, how="silent")
    with run:
        stderr = run.communicate(timeout=20)[1].decode()
    with open(stop, "w", encoding="ascii"):
        pass
    assert f"memoir: 1 still runs, and is recorded on in {tmp_path}/r\n" in stderr, stderr
    assert processes(f"{tmp_path}/r")["total"]["recordings"] == 1


@pytest.mark.parametrize("how, interrupted", [("daemon", False), ("daemon", True),
                                              ("silent", False)])
def test_waiting_for_all(compile_program, tmp_path, how, interrupted):
    stop, run = daemon(compile_program("titles"), tmp_path, "--wait", how=how)
    with run:
        line = run.stderr.readline()  # after a second
        assert line == b"memoir: waiting for 1 process that still runs; ^C ends that\n"
        if interrupted:
            run.send_signal(signal.SIGINT)
        with open(stop, "w", encoding="ascii") if not interrupted else contextlib.nullcontext():
            pass
        stderr = run.communicate(timeout=20)[1]
        assert run.returncode == 0 and (b"still run" in stderr) == interrupted, stderr
        with open(stop, "w", encoding="ascii"):
            pass
    assert processes(f"{tmp_path}/r", "--wait")["total"]["running"] == 0


def test_export(titled, tmp_path):
    """Formats that can hold several processes have them as their first frames."""
    done = harness.execute([harness.MEMOIR, "export", "collapsed", "-m", "leaked", titled])
    assert done.status == 0, done
    lines = [line.rpartition(" ") for line in done.stdout.decode().splitlines()]
    by_process = {}
    for stack, _, weight in lines:
        name = stack.split(";")[0]
        by_process[name] = by_process.get(name, 0) + int(weight)
    leaked = {os.path.basename(row["executable"]) if row["depth"] == 0 else row["title"]:
              row["leaked_bytes"] for row in processes(titled)["recordings"]}
    assert by_process == leaked
    only = harness.execute([harness.MEMOIR, "export", "collapsed", "-F", "size = 30000", titled])
    line, = only.stdout.decode().splitlines()
    assert line.startswith("titles: endless;") and line.endswith(" 30000")
    picture = str(tmp_path / "all.svg")
    done = harness.execute([harness.MEMOIR, "export", "flamegraph", "-m", "peak", titled, "-o",
                            picture])
    assert done.status == 0, done
    with open(picture, encoding="utf-8") as file:
        text = file.read()
    assert "of 4 processes" in text and "titles: endless" in text and "keep" in text
