# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir top: a recording on the screen while it is written, and the question behind it."""
import collections
import fcntl
import json
import os
import re
import signal
import subprocess
import time

import pytest

import harness
from terminal import Screen
from test_api import GENERATE

SORTS = {"h": "HELD", "c": "CHANGE", "r": "BYTES/S", "a": "ALLOCS/S", "b": "BLOCKS",
         "t": "TEMPORARY", "n": "FUNCTION"}
UP, DOWN, PAGE_UP, PAGE_DOWN, HOME, END, LEFT = (
    "\033[A", "\033[B", "\033[5~", "\033[6~", "\033[H", "\033[F", "\033[D")
ENTER, ESCAPE, BACKSPACE, SUSPEND = "\r", "\033", "\x7f", "\x1a"


class Target:
    """stepwise.c, recorded: it allocates when it is told to."""

    def __init__(self, program, path, *options):
        self.path = str(path)
        self.run = subprocess.Popen([harness.MEMOIR, "run", "-o", self.path, *options, program],
                                    env=harness.ENVIRONMENT, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.run.stdout.readline() == b"ready\n"
        self.pid = int(re.search(r"\d+", subprocess.run(
            ["pgrep", "-P", str(self.run.pid)], capture_output=True,
            check=True).stdout.decode())[0])

    def do(self, line):
        self.run.stdin.write(line.encode() + b"\n")
        self.run.stdin.flush()
        assert self.run.stdout.readline() == b"done\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run.stdin.close()
        self.run.stdout.close()
        self.run.wait(harness.TIMEOUT)


@pytest.fixture
def target(compile_program, tmp_path):
    with Target(compile_program("stepwise", flags=("-O1", "-g")), tmp_path / "app.dat") as running:
        yield running


def top(*words, **keywords):
    return harness.execute([harness.MEMOIR, "top", *map(str, words)], **keywords)


def table(frame):
    """{function: columns before it} of the rows below the table's head, in order."""
    head = next((i for i, line in enumerate(frame) if "FUNCTION" in line), len(frame) - 1)
    at = frame[head].find("FUNCTION")
    rows = [line for line in frame[head + 1:-1] if line[at:].strip()]
    return {line[at:].split()[0]: line[:at] for line in rows}


def chosen(frame):
    return next((name for name, line in table(frame).items() if line[0] == ">"), None)


def order(frame):
    return next(line for line in frame if "FUNCTION" in line).split("▼")[0].split()[-1]


def test_screen_of_a_process(target):
    """Figures move as the program allocates; 80x24 and 160x50 are used to their edges."""
    screen = Screen("top", target.pid, "-i", "0.2", rows=24, columns=80)
    frame = screen.wait(lambda f: "first" in "".join(f[-14:]))
    assert f"stepwise  pid {target.pid}" in frame[0] and "live" in frame[0]
    assert len(frame) == 24 and max(map(len, frame)) <= 80 and "q quit" in frame[-1]
    assert re.search(r"heap \S+ \S+ +peak .* +rss .* +mapped .* +threads 1", frame[1])
    assert re.search(r"blocks \S+ +allocs/s \S+ +bytes/s .* +change .* in ", frame[2])
    assert any("│" in line for line in frame) and any("└0 s─" in line for line in frame)
    assert "many" not in table(frame)
    target.do("m 20000")
    frame = screen.wait(lambda f: "many" in table(f) and "+977 KiB" in table(f)["many"])
    assert list(table(frame))[0] == "many" and order(frame) == "HELD"
    screen.wait(lambda f: any("⣿" in line for line in f), "the curve rises")
    screen.wait(lambda f: table(f)["many"].split() == [">", "977", "KiB"],
                "idle: no change, no rate")
    screen.resize(50, 160)
    frame = screen.wait(lambda f: len(f) == 50)
    assert 140 <= max(map(len, frame)) <= 160
    head = next(line for line in frame if "FUNCTION" in line)
    assert all(word in head for word in ("BLOCKS", "ALLOCATED", "TEMPORARY"))
    assert re.search(r"977 KiB +10,000 +1\.91 MiB +\S+ % +many +stepwise\.c:\d+",
                     next(line for line in frame if "many" in line))
    for rows, columns in ((10, 40), (5, 20), (1, 3), (2, 1), (60, 300), (24, 80)):
        screen.resize(rows, columns)
        screen.wait(lambda f, r=rows, c=columns: len(f) == r and max(map(len, f)) <= c,
                    f"{rows} rows of {columns}")
    screen.key("q")
    assert screen.end() == (0, "")


def test_keys(target):
    target.do("m 1000")
    for _ in range(3):
        target.do("a")
    screen = Screen("top", target.path, "-i", "0.1", rows=30, columns=130)
    frame = screen.wait(lambda f: {"first", "step", "many"} <= set(table(f)))
    for name in [*list(SORTS.values())[1:], "HELD"]:
        screen.key("s")
        frame = screen.wait(lambda f, name=name: order(f) == name, f"order by {name}")
    for key, name in reversed(SORTS.items()):
        screen.key(key)
        frame = screen.wait(lambda f, name=name: order(f) == name, f"order by {name}")
        if key == "n":
            assert list(table(frame)) == sorted(table(frame))
    names = list(table(frame))
    assert chosen(frame) == names[0]
    for key, name in ((DOWN, names[1]), ("j", names[2]), (UP, names[1]), ("k", names[0]),
                      (UP, names[0]), (END, names[-1]), (DOWN, names[-1]), (HOME, names[0]),
                      ("G", names[-1]), ("g", names[0]), (PAGE_DOWN, names[-1]),
                      (PAGE_UP, names[0])):
        screen.key(key)
        screen.wait(lambda f, name=name: chosen(f) == name, f"{key!r} chooses {name}")
    screen.key(f"{DOWN}{ENTER}")
    frame = screen.wait(lambda f: any("of 1 stack" in line for line in f))
    opened = next(i for i, line in enumerate(frame) if "of 1 stack" in line)
    assert frame[opened].startswith(names[1]) and "100.0 %" in frame[opened + 1]
    assert (frame[opened + 2].strip() == "malloc"
            and frame[opened + 3].split()[0] == names[1]
            and frame[opened + 4].split()[0] == "main")
    screen.resize(14, 100)
    frame = screen.wait(lambda f: len(f) == 14 and "_start  (" not in "".join(f))
    screen.key(PAGE_DOWN)
    screen.wait(lambda f: "_start  (" in f[-2], "scrolled to the end")
    screen.resize(30, 130)
    for close in (ESCAPE, ENTER, LEFT, BACKSPACE):
        screen.wait(lambda f: "Esc back" in f[-1])
        screen.key(close)
        assert chosen(screen.wait(lambda f: "FUNCTION" in "".join(f))) == names[1]
        screen.key(ENTER)
    screen.key("/STEX" + BACKSPACE)
    screen.wait(lambda f: f[-1] == "/STE_" and list(table(f)) == ["step"])
    screen.key(ENTER)
    frame = screen.wait(lambda f: "q quit" in f[-1] and list(table(f)) == ["step"])
    assert any("with STE" in line for line in frame)
    screen.key("/zz")
    screen.wait(lambda f: "no function has this in its name" in "".join(f))
    screen.key(ESCAPE)
    screen.wait(lambda f: list(table(f)) == names)
    screen.key("+")
    screen.wait(lambda f: "every 200 ms" in f[0])
    screen.key("--")
    screen.wait(lambda f: "every 100 ms" in f[0])
    screen.key("?")
    screen.wait(lambda f: "t temporary" in f[-1])
    screen.key("?p")
    screen.wait(lambda f: "PAUSED" in f[0] and "q quit" in f[-1])
    target.do("m 5000")
    time.sleep(0.6)
    assert table(screen.frame())["many"].split()[1:3] == ["48.8", "KiB"]
    screen.key("p")
    screen.wait(lambda f: "PAUSED" not in f[0] and "293 KiB" in table(f)["many"])
    screen.key("\033[15~\033[Zx")  # keys that mean nothing
    screen.key("\x03")
    assert screen.end() == (0, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT,
                                    signal.SIGSEGV, signal.SIGABRT])
def test_terminal_is_given_back_after_a_signal(target, number):
    screen = Screen("top", target.path)
    screen.wait(lambda f: "first" in table(f))
    assert not screen.is_restored()
    screen.process.send_signal(number)
    crashes = number in (signal.SIGSEGV, signal.SIGABRT)
    status, _ = screen.end()
    assert (status in (-number, 1) if crashes else status == 0), status


@pytest.mark.parametrize("how", ["key", "signal", "stop"])
def test_suspend_and_continue(target, how):
    screen = Screen("top", target.path, "-i", "0.1")
    screen.wait(lambda f: "first" in table(f))

    def state():
        with open(f"/proc/{screen.process.pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    if how == "key":
        screen.key(SUSPEND)
    else:
        screen.process.send_signal(signal.SIGTSTP if how == "signal" else signal.SIGSTOP)
    harness.wait_for(lambda: state() == "T", what="stopped")
    assert screen.is_restored() == (how != "stop")
    screen.process.send_signal(signal.SIGCONT)
    target.do("m 5000")
    screen.wait(lambda f: "many" in table(f))
    assert not screen.is_restored() and "\033[?1049h" in screen.text.split("\033[?1049l")[-1]
    screen.key("q")
    assert screen.end() == (0, "")


def test_recording_that_takes_long_to_read(tmp_path):
    """How far it is, is shown; whoever does not want to wait may leave."""
    path = tmp_path / "large.dat"
    subprocess.run([GENERATE, path, "4000000", "3", "1"], check=True, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # as whoever writes it
        screen = Screen("top", path)
        screen.wait(lambda f: f[0].startswith(f"reading {path}: "))
        screen.wait(lambda f: len(table(f)) > 3)
        screen.key("q")
        assert screen.end() == (0, "")
        screen = Screen("top", path)
        screen.wait(lambda f: f[0].startswith("reading"))
        screen.key("q")
        assert screen.end() == (0, "") and "FUNCTION" not in screen.text


def test_program_that_is_killed(target):
    screen = Screen("top", target.pid, "-i", "0.1")
    target.do("m 1000")
    screen.wait(lambda f: "many" in table(f) and "live" in f[0])
    os.kill(target.pid, signal.SIGKILL)
    frame = screen.wait(lambda f: "signal 9" in f[0])
    assert "48.8 KiB" in table(frame)["many"]
    screen.key("q")
    assert screen.end() == (0, "")


def test_program_that_ends(target):
    """What was followed to the end is what the whole recording says."""
    screen = Screen("top", target.path, "-i", "0.1", columns=130)
    for _ in range(5):
        target.do("m 3000")
        target.do("a")
    target.do("m 7")
    target.run.stdin.write(b"q\n")
    target.run.stdin.flush()
    followed = screen.wait(lambda f: "exit status 0" in f[0])
    screen.key("q")
    assert screen.end() == (0, "")
    harness.wait_finished(target.path)
    finished = Screen("top", target.path, columns=130)
    frame = finished.wait(lambda f: "exit status 0" in f[0])
    # Rates are of another stretch of time.
    for held, again in zip(table(followed).items(), table(frame).items(), strict=True):
        assert held[0] == again[0] and held[1].split()[:3] == again[1].split()[:3]
    assert followed[:2] == frame[:2]
    finished.key("q")
    assert finished.end() == (0, "")


def test_without_a_terminal(target):
    target.do("m 2000")
    time.sleep(1)
    done = top(target.path)
    assert (done.status, done.own_stderr) == (0, b"")
    lines = done.stdout.decode().split("\n")
    assert ("live" in lines[0] and "many" in done.stdout.decode()
            and "\033" not in done.stdout.decode())
    assert "quit" not in done.stdout.decode() and max(map(len, lines)) <= 80
    assert top("--once", target.pid).status == 0
    two = top(target.path, "--screens", 2, "-i", "0.1", "-n", 1)
    assert two.status == 0 and two.stdout.decode().count("FUNCTION") == 2
    assert two.stdout.decode().count("many") == 2 and b"first" not in two.stdout
    answer = json.loads(top("--json", target.pid).stdout)
    assert (answer["live"], answer["pid"]) == (True, target.pid)
    assert {f["function"]: f["held_count"] for f in answer["functions"]}["many"] == 1000


def test_ascii_and_no_colours(target):
    target.do("m 2000")
    screen = Screen("top", target.path, env={"LC_ALL": "C", "NO_COLOR": "1"}, columns=100)
    frame = screen.wait(lambda f: "many" in "".join(f) and "#" in "".join(f))
    assert "".join(frame).isascii() and "HELD*" in "".join(frame)
    assert "\033" not in "\n".join(screen.frame(colours=True)).replace("\033[K", "")
    screen.key("q")
    screen.end()
    plain = top("--once", target.path, env={"LC_ALL": "C"}).stdout
    assert plain.isascii() and b"#" in plain
    screen = Screen("top", target.path)
    screen.wait(lambda f: "many" in "".join(f))
    assert "\033[1;36m" in "\n".join(screen.frame(colours=True))
    screen.key("q")
    screen.end()


def test_what_cannot_be_shown(tmp_path):
    sleeping = subprocess.Popen(["sleep", "60"])
    (tmp_path / "text").write_text("no recording")
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        nobody = int(file.read()) + 1
    try:
        for words, says, status in (
                ([sleeping.pid], f"process {sleeping.pid} is not recorded: start it with "
                 "memoir run", 1),
                ([nobody], f"there is no process {nobody}", 1),
                (["99999999999999999999"], "neither a file nor the number of a process", 1),
                ([tmp_path / "none"], "No such file", 1), ([tmp_path / "text"], "text: ", 1),
                ([], "which recording?", 2), ([1, 2], "one recording at a time", 2),
                (["--interval", "x", tmp_path / "text"], "--interval is a time", 2),
                (["--sort", "colour", tmp_path / "text"], "--sort", 2),
                (["--window", "0s", tmp_path / "text"], "--window: a duration", 2)):
            done = top(*words)
            assert (done.status, done.stdout) == (status, b""), words
            assert says in done.stderr.decode() and done.stderr.count(b"\n") == 1, done.stderr
            if status == 1:
                screen = Screen("top", *words)
                screen.process.wait(harness.TIMEOUT)
                assert says in screen.process.stderr.read().decode()
    finally:
        sleeping.kill()
        sleeping.wait()


def test_figures_are_those_of_the_report(record, compile_program):
    recording = record([compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))])
    report = harness.ask("report", "--json", "--no-verdicts", "--top", "100000", recording.path)
    answer = harness.ask("top", "--json", "-n", "1000", "--window", "1h", "--backtraces", "100",
                         recording.path)
    rows = {f["function"]: f for f in answer["functions"]}
    assert len(rows) == answer["total_count"] > 3

    def sums(kind, figure):
        found = collections.Counter()
        for stack in report["top"][kind]:
            found[stack["function"]] += stack[figure]
        return found
    for kind, figure, name in (("leaked", "bytes", "held_bytes"), ("leaked", "count", "held_count"),
                               ("allocated", "count", "allocations"),
                               ("allocated", "bytes", "allocated_bytes"),
                               ("temporary", "count", "temporary")):
        expected = sums(kind, figure)
        assert {n: f[name] for n, f in rows.items() if f[name]} == {
            n: v for n, v in expected.items() if v}, name
        assert answer[name] == sum(expected.values())
        for row in answer["functions"]:
            assert sum(b[name] for b in row["backtraces"]) == row[name]
    seconds = answer["window_ns"] / 1e9
    assert answer["window_ns"] == answer["runtime_ns"]
    assert answer["change_bytes"] == answer["held_bytes"]
    assert answer["allocations_per_second"] == pytest.approx(answer["allocations"] / seconds,
                                                             rel=0.01)
    assert max(answer["curve"]) == answer["peak"]["bytes"] == report["peak"]["bytes"]
    assert len(answer["curve"]) == 100
    for sort in ("held_count", "allocated_bytes", "bytes_per_second", "temporary"):
        values = [f[sort] for f in harness.ask("top", "--json", "--sort", sort,
                                               recording.path)["functions"]]
        assert values == sorted(values, reverse=True)
    name = next(iter(rows))
    some = harness.ask("top", "--json", "--function", name[1:].upper(), recording.path)
    assert name in [f["function"] for f in some["functions"]]
    assert all(name[1:].lower() in f["function"].lower() for f in some["functions"])
    assert harness.ask("top", "--json", "-n", "1", "--skip", "1", recording.path)["functions"] == [
        {k: v for k, v in f.items() if k != "backtraces"} for f in
        harness.ask("top", "--json", recording.path)["functions"][1:2]]


def test_process_with_a_collector_of_its_own(compile_program, tmp_path):
    """Without memoir run: the file is found by what memoir-collector has open."""
    path = tmp_path / "own.dat"
    environment = dict(harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY,
                       MEMORY_PROFILER_OUTPUT=str(path))
    with subprocess.Popen([compile_program("stepwise", flags=("-O1", "-g"))], env=environment,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"ready\n"
        answer = json.loads(harness.wait_for(lambda: top("--json", running.pid).stdout))
        assert (answer["pid"], answer["live"]) == (running.pid, True)
        running.stdin.write(b"q\n")
        running.stdin.flush()
        running.wait(harness.TIMEOUT)
    harness.wait_finished(path)
    gone = top("--json", answer["pid"])
    assert gone.status == 1 and b"there is no process" in gone.stderr
