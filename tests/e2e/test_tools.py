# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings made of recordings: strip, repack and what they have in common, on real programs."""
import os
import stat
import subprocess

import pytest

import harness

# What changes when a recording is written anew.
OWN = {"id", "removed_allocations", "removed_below_ns", "counters", "embedded_files", "modules"}


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


def facts(path, without=()):
    info = harness.ask("info", "--json", str(path))
    return {key: value for key, value in info.items() if key not in OWN | set(without)}


def report(path):
    """The report's numbers, by stack number."""
    found = harness.ask("report", "--json", "--top", "100000", str(path))
    return {part: sorted(({k: v for k, v in s.items() if k != "frames"} for s in found[part]["stacks"]),
                         key=lambda s: s["stack"])
            for part in ("peak", "leaks", "most_allocations", "temporary_allocations")}


@pytest.fixture(params=["python", "oracle"])
def recording(request, tmp_path, compile_program, record):
    if request.param == "python":
        return record(["/usr/bin/python3", "-S", "-c", "import json; json.loads('[1, 2, {}]' )"],
                      name="in.dat")
    return record([compile_program("many_threads")], name="in.dat")


def whole(path):
    return {name: os.stat(os.path.join(path, name)).st_mode for name in os.listdir(path)}


@pytest.mark.parametrize("arguments", [("strip",), ("strip", "-t", "1ms"), ("strip", "-t", "0"), ("repack",),
                                       ("repack", "-c", "none"), ("repack", "-c", "lz4"),
                                       ("repack", "-c", "zstd:3")], ids=" ".join)
def test_same_totals(recording, tmp_path, arguments):
    out, again = tmp_path / "out.dat", tmp_path / "again.dat"
    before = set(os.listdir(tmp_path))
    run = memoir(*arguments, "-o", out, recording.path)
    assert run.status == 0, run
    assert str(out).encode() in run.stdout
    assert set(os.listdir(tmp_path)) == before | {"out.dat"}
    assert stat.S_IMODE(os.stat(out).st_mode) == 0o600
    assert facts(out) == facts(recording.path)
    assert report(out) == report(recording.path)
    # Once more changes nothing.
    run = memoir(*arguments, "-o", again, out)
    assert run.status == 0, run
    assert facts(again) == facts(recording.path)
    assert report(again) == report(recording.path)
    assert abs(os.stat(again).st_size - os.stat(out).st_size) < 400


def test_strip_is_small_and_says_so(recording, tmp_path):
    out = tmp_path / "out.dat"
    assert memoir("strip", "-o", out, recording.path).status == 0
    info = harness.ask("info", "--json", str(out))
    assert info["removed_below_ns"] == "all"
    assert 0 < info["removed_allocations"] < info["allocations"]
    text = memoir("info", out).stdout
    assert b"removed" in text and b"the totals include them" in text
    later = tmp_path / "later.dat"
    assert memoir("strip", "-t", "1h", "-o", later, recording.path).status == 0
    assert harness.ask("info", "--json", str(later))["removed_below_ns"] == 3600 * 10**9


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_usage(command, recording, tmp_path):
    for words in [(), (recording.path,), ("-o", tmp_path / "x"), ("-o", tmp_path / "x", "a", "b"),
                  ("-t", "soon", "-o", "x", recording.path), ("-c", "rar", "-o", "x", recording.path)]:
        run = memoir(command, *words, cwd=tmp_path)
        assert run.status == 2, (words, run)
        assert len(run.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["in.dat"]


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_output_that_cannot_be(command, recording, tmp_path):
    before = open(recording.path, "rb").read()
    os.symlink(recording.path, tmp_path / "link")
    for out in (recording.path, tmp_path / "link", tmp_path, "/dev/full", tmp_path / "none" / "out",
                "/proc/self/out", ""):
        run = memoir(command, "-o", out, recording.path)
        assert run.status == 1, (out, run)
        assert len(run.stderr.splitlines()) == 1
    assert open(recording.path, "rb").read() == before
    assert sorted(os.listdir(tmp_path)) == ["in.dat", "link"]


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_full_disk(command, recording, tmp_path):
    out = tmp_path / "out.dat"
    out.write_bytes(b"what was there before")
    limited = f"ulimit -f 8; exec {harness.MEMOIR} {command} -o {out} {recording.path}"
    run = harness.execute(["bash", "-c", limited])
    assert run.status == 1, run
    assert len(run.stderr.splitlines()) == 1
    assert b"out.dat" in run.stderr
    assert out.read_bytes() == b"what was there before"
    assert sorted(os.listdir(tmp_path)) == ["in.dat", "out.dat"]


@pytest.mark.skipif(not harness.may_mount(), reason="may not mount")
def test_full_file_system(recording, tmp_path):
    script = (f"mount -t tmpfs -o size=64k none {tmp_path}/small; "
              f"{harness.MEMOIR} repack -c none -o {tmp_path}/small/out.dat {recording.path}; "
              f"echo $?; ls -A {tmp_path}/small")
    (tmp_path / "small").mkdir()
    run = harness.execute(["unshare", "-m", "sh", "-c", script])
    assert run.stdout.split() == [b"1"], run
    assert b"No space left" in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["strip", "repack"])
def test_broken_input(command, recording, tmp_path):
    """Whatever is wrong: one line, and what comes out is whole and remembers it."""
    content = open(recording.path, "rb").read()
    bad, out = tmp_path / "bad.dat", tmp_path / "out.dat"
    for size in (0, 5, 31, 40):
        bad.write_bytes(content[:size])
        run = memoir(command, "-o", out, bad)
        assert run.status == 1, run
        assert len(run.stderr.splitlines()) == 1
        assert not out.exists()
    bad.write_bytes(content[:len(content) // 2])
    run = memoir(command, "-o", out, bad)
    assert run.status == 0, run
    assert len(run.stderr.splitlines()) == 1
    assert b"the end is missing at offset" in run.stderr
    assert facts(out)["truncated"] and facts(out) == facts(bad)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    bad.write_bytes(flipped)
    run = memoir(command, "-o", out, bad)
    assert run.status == 1, run
    assert len(run.stderr.splitlines()) == 1
    assert b"damaged at offset" in run.stderr
    asked = memoir("info", "--json", bad)
    assert asked.status == 1
    assert facts(out)["damaged"]


def test_recording_that_grows(tmp_path):
    """One that is being written is left alone."""
    path = tmp_path / "in.dat"
    with subprocess.Popen([harness.MEMOIR, "run", "-o", path, "--", "cat"], stdin=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        harness.wait_for(lambda: path.exists() and path.stat().st_size > 100, what="a recording")
        run = memoir("strip", "-o", tmp_path / "out.dat", path)
        process.stdin.close()
    assert run.status == 1
    assert b"still being written" in run.stderr
    assert not (tmp_path / "out.dat").exists()


def test_extract(recording, tmp_path):
    folder = tmp_path / "files"
    listed = harness.ask("extract", "--list", "--json", recording.path)
    assert any(f["path"] == recording.info["executable"] for f in listed)
    assert not folder.exists()
    run = memoir("extract", "-o", folder, recording.path)
    assert run.status == 0, run
    program = recording.info["executable"]
    with open(program, "rb") as a, open(f"{folder}{program}", "rb") as b:
        assert a.read() == b.read()
    assert len(run.stdout.splitlines()) == len(listed)
    # Once more writes beside, never over.
    before = {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}
    run = memoir("extract", "-o", folder, recording.path)
    assert run.status == 0
    after = {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}
    assert after - before == {name + ".000" for name in before}
    assert memoir("extract", recording.path).status == 2
    assert memoir("extract", "-o", recording.path, recording.path).status == 1
