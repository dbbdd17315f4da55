# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where resident memory goes: what `memoir rss` says against what the kernel says then."""
import os
import shutil
import socket
import subprocess
import time

import pytest

import harness
import test_allocators
from test_maps import running

ALLOCATORS = ("jemalloc", "tcmalloc", "mimalloc")
SCRIPT = """
import os, sys
kept = []
for step in b"123":
    kept.append([str(i) * 3 for i in range(60000)])
    kept.append(bytearray(3 << 20))
    if step == ord("2"):
        kept[0] = None
    os.write(1, bytes([step]))
    sys.stdin.buffer.readline()
"""


def rollup(pid):
    with open(f"/proc/{pid}/smaps_rollup") as text:
        for line in text:
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no Rss")


class Seen:
    """What the kernel said, and when."""

    def __init__(self, pid):
        # Samples are a second apart, once a program is older than that.
        time.sleep(1.5)
        self.rss, self.when = rollup(pid), time.time_ns()


def answers(path, seen):
    started = harness.ask("info", "--json", path)["start"] * 1e9
    return [harness.ask("rss", "--json", "--at", f"{(s.when - started) / 1e9:.3f}s", path)
            for s in seen]


def terms(answer):
    return {t["name"]: t["bytes"] for t in answer["terms"]}


def check(path, seen):
    found = answers(path, seen)
    for answer, s in zip(found, seen):
        parts = terms(answer)
        print(answer["rss"], s.rss, parts)
        assert answer["rss"] == pytest.approx(s.rss, rel=0.005)
        assert sum(parts.values()) == answer["rss"]
        assert parts["unknown"] < 0.02 * s.rss
        for t in answer["terms"]:
            if t["part_total"] <= len(t["parts"]):
                assert sum(p["bytes"] for p in t["parts"]) == t["bytes"]
    return found


def record_steps(command, path, preload=None):
    program, *arguments = command
    seen = []
    # `memoir run` keeps what LD_PRELOAD names.
    with running(program, path, "run" if preload else "preload", arguments=arguments,
                 env={"LD_PRELOAD": preload} if preload else None) as steps:
        for letter in (b"1", b"2", b"3"):
            steps.reached(letter)
            pid, = harness.descendants(steps.process.pid) if preload else [steps.process.pid]
            seen.append(Seen(pid))
            steps.go_on()
    return seen


@pytest.mark.parametrize("act", ["storm", "freed", "files", "threads", "growing", "huge", "forks"])
def test_against_kernel(compile_program, tmp_path, act):
    path = str(tmp_path / "out.dat")
    seen = record_steps([compile_program("resident"), act], path)
    last = check(path, seen)[-1]
    parts = terms(last)
    if act == "freed":
        assert parts["free_parts"] + parts["free_pages"] > 0.5 * last["rss"]
    if act == "files":
        assert parts["files"] > 30 << 20
    if act == "threads":
        assert parts["stacks"] > 120 * 60000
        parts = next(t for t in last["terms"] if t["name"] == "stacks")["parts"]
        assert max(p["maps"] for p in parts) == 120
        assert any(f.get("function") == "threads" for f in parts[0]["backtrace"])
    if act == "growing":
        assert parts["anonymous"] == pytest.approx(6 << 20, rel=0.02)
        assert parts["requested"] == pytest.approx(9 << 20, rel=0.02)


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_other_allocators(compile_program, tmp_path, allocator):
    path = str(tmp_path / "out.dat")
    program = compile_program("resident")
    library = test_allocators.library(allocator)
    seen = record_steps([program, "storm"], path, preload=library)
    assert allocator in harness.ask("info", "--json", path)["allocator"]
    for answer in check(path, seen):
        assert terms(answer)["requested"] > 15 << 20


def test_python(tmp_path):
    path = str(tmp_path / "out.dat")
    seen = record_steps(["/usr/bin/python3", "-c", SCRIPT], path)
    check(path, seen)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@pytest.mark.skipif(not shutil.which("redis-server"), reason="no redis-server")
def test_redis(tmp_path):
    path, port, seen = str(tmp_path / "out.dat"), free_port(), []
    env = dict(harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "",
                               "--enable-debug-command", "yes"], env=env, cwd=tmp_path,
                              stdout=subprocess.DEVNULL)

    def command(*words):
        return subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True,
                              check=False).stdout

    try:
        harness.wait_for(lambda: command("ping").strip() == b"PONG", what="redis")
        for words in (("debug", "populate", "50000", "a", "100"), ("flushall",),
                      ("debug", "populate", "20000", "b", "1000")):
            command(*words)
            seen.append(Seen(server.pid))
        command("shutdown", "nosave")
        server.wait(timeout=harness.TIMEOUT)
        harness.wait_finished(path)
    finally:
        harness.kill(server.pid)
        server.wait()
    assert terms(check(path, seen)[-1])["requested"] > 15 << 20


@pytest.fixture(scope="module")
def growing(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rss") / "out.dat")
    record_steps([compile_program("resident"), "growing"], path)
    return path


def test_text(growing):
    """The table adds up, and says what each term consists of."""
    text = harness.execute([harness.MEMOIR, "rss", "--parts", growing]).stdout.decode()
    assert "RESIDENT MEMORY" in text and "growing" in text and "own maps" in text
    opened = harness.execute([harness.MEMOIR, "rss", "--open", "anonymous", growing]).stdout
    assert b"growing" in opened and b"libc.so" not in opened


def test_opened(growing):
    """Each step opens to stacks, maps or files; one alone, too."""
    whole = harness.ask("rss", "--json", "--top", "100000", growing)["terms"]
    kinds = {t["name"]: {p["kind"] for p in t["parts"]} for t in whole}
    assert kinds["requested"] == {"blocks"} and "file" in kinds["code"]
    assert kinds["anonymous"] == {"stack"}
    for term in whole:
        alone = harness.ask("rss", "--json", "--top", "100000", "--open", term["name"], growing)
        for t in alone["terms"]:
            assert t["parts"] == (term["parts"] if t["name"] == term["name"] else [])
            assert t["part_total"] == next(w["part_total"] for w in whole
                                           if w["name"] == t["name"])
    largest = next(t for t in whole if t["name"] == "requested")["parts"][0]
    assert largest["bytes"] == pytest.approx(9 << 20, rel=0.02)
    assert largest["size"] == 18 << 20 and largest["blocks"] == 1
    assert any(f.get("function") == "growing" for f in largest["backtrace"])


def test_series(growing):
    """The terms at each sample: the same as when it is asked for alone."""
    series = harness.ask("rss", "--json", "--series", growing)["series"]
    times = [s["at_ns"] for s in series]
    assert len(series) >= 5 and times == sorted(set(times))
    assert all(sum(s["terms"]) == s["rss"] for s in series)
    for s in series:
        alone = harness.ask("rss", "--json", "--at", f"{s['at_ns'] + 1}ns", growing)
        assert alone["sampled_ns"] == s["at_ns"]
        assert [t["bytes"] for t in alone["terms"]] == s["terms"]
        for key in "rss", "swap", "live_bytes", "huge_pages":
            assert alone[key] == s[key]
    few = harness.ask("rss", "--json", "--series", "--points", "3", growing)["series"]
    assert len(few) <= 3 and all(s in series for s in few)
    csv = harness.execute([harness.MEMOIR, "rss", "--series", "--csv", growing]).stdout.decode()
    head, *lines = csv.splitlines()
    names = head.split(",")
    assert names[:5] == ["at_ns", "rss", "swap", "live_bytes", "huge_pages"]
    assert [[int(v) for v in line.split(",")] for line in lines] == [
        [s["at_ns"], s["rss"], s["swap"], s["live_bytes"], s["huge_pages"], *s["terms"]]
        for s in series]
    assert names[5:] == [t["name"] for t in alone["terms"]]
    text = harness.execute([harness.MEMOIR, "rss", "--series", growing]).stdout.decode()
    assert "requested" in text


def test_never_sampled(compile_program, tmp_path):
    path = str(tmp_path / "out.dat")
    harness.record([compile_program("basic")], path, env={"MEMORY_PROFILER_GATHER_MAPS": "0"})
    assert harness.ask("rss", "--json", path)["rss"] is None
    done = harness.execute([harness.MEMOIR, "rss", path])
    assert done.status == 0 and b"never looked at" in done.stdout


def test_terabytes_that_are_empty(compile_program, tmp_path):
    """Nobody reads 32 GiB of the kernel's page map for 64 pages: there is more than one sample, and
    they are accounted for."""
    path = str(tmp_path / "a.dat")
    harness.record([compile_program("reserving")], path)
    samples = harness.ask("rss", "--json", "--series", path)["series"]
    assert len(samples) > 1
    assert terms(harness.ask("rss", "--json", path))["anonymous"] == 64 * os.sysconf("SC_PAGESIZE")
