# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings made of recordings: strip, repack and what they have in common, on real programs."""
import json
import os
import re
import shutil
import signal
import stat
import subprocess

import pytest

import harness

# What changes when a recording is written anew.
OWN = {"id", "removed_allocations", "removed_below_ns", "counters", "embedded_files", "files",
       "modules"}


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


def facts(path, without=()):
    info = harness.ask("info", "--json", str(path))
    return {key: value for key, value in info.items() if key not in OWN | set(without)}


def report(path):
    """The report's numbers, by stack number."""
    found = harness.ask("report", "--json", "--by", "stack", "--no-verdicts", "--top", "100000",
                        str(path))
    names = {"function", "source", "line"}
    return {part: sorted(({k: v for k, v in s.items() if k not in names} for s in stacks),
                         key=lambda s: s["backtrace_id"])
            for part, stacks in found["top"].items()}


@pytest.fixture(params=["python", "oracle"])
def recording(request, tmp_path, compile_program, record):
    if request.param == "python":
        return record(["/usr/bin/python3", "-S", "-c", "import json; json.loads('[1, 2, {}]' )"],
                      name="in.dat")
    return record([compile_program("many_threads")], name="in.dat")


def whole(path):
    return {name: os.stat(os.path.join(path, name)).st_mode for name in os.listdir(path)}


@pytest.mark.parametrize("arguments",
                         [("strip",), ("strip", "-t", "1ms"), ("strip", "-t", "0"), ("repack",),
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


@pytest.mark.parametrize("command", ["strip", "repack", "postprocess"])
def test_usage(command, recording, tmp_path):
    for words in [(), (recording.path,), ("-o", tmp_path / "x"), ("-o", tmp_path / "x", "a", "b"),
                  ("-t", "soon", "-o", "x", recording.path),
                  ("-c", "rar", "-o", "x", recording.path),
                  ("-a", "somewhat", "-o", "x", recording.path)]:
        run = memoir(command, *words, cwd=tmp_path)
        assert run.status == 2, (words, run)
        assert len(run.stderr.splitlines()) == 1
    assert os.listdir(tmp_path) == ["in.dat"]


@pytest.mark.parametrize("command", ["strip", "repack", "postprocess"])
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


@pytest.mark.parametrize("command", ["strip", "repack", "postprocess"])
def test_full_disk(command, recording, tmp_path):
    out = tmp_path / "out.dat"
    out.write_bytes(b"what was there before")
    limit = 4 if command == "postprocess" else 8
    limited = f"ulimit -f {limit}; exec {harness.MEMOIR} {command} -o {out} {recording.path}"
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


@pytest.mark.parametrize("command", ["strip", "repack", "postprocess"])
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
    with open(f"{folder}{program}", "rb") as file:
        assert file.read(4) == b"\x7fELF"  # what of it, and whole files: test_binaries.py
    assert len(run.stdout.splitlines()) == len(listed)
    # Once more writes beside, never over.
    before = {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}
    run = memoir("extract", "-o", folder, recording.path)
    assert run.status == 0
    after = {os.path.join(at, name) for at, _, names in os.walk(folder) for name in names}
    assert after - before == {name + ".000" for name in before}
    assert memoir("extract", recording.path).status == 2
    assert memoir("extract", "-o", recording.path, recording.path).status == 1


def frames(path):
    """Each stack's names, files and lines, by stack number."""
    return {s["backtrace_id"]: s["backtrace"] for s in harness.tops_of(str(path))["allocated"]}


def test_postprocess_keeps_names(tmp_path, compile_program, record):
    """The same stacks with the same names, although the program is gone."""
    program = tmp_path / "throw"
    shutil.copy(compile_program("throw"), program)
    recording = record([program], name="in.dat")
    before, out, again = frames(recording.path), tmp_path / "out.dat", tmp_path / "again.dat"
    run = memoir("postprocess", "-o", out, recording.path)
    assert run.status == 0, run
    program.unlink()
    assert frames(out) == before
    assert any("throw.cpp" in str(frame) for stack in before.values() for frame in stack)
    assert facts(out) == facts(recording.path)
    assert harness.ask("info", "--json", str(out))["embedded_files"] <= 1  # the vdso is no file
    assert os.stat(out).st_size < os.stat(recording.path).st_size / 4
    # Once more, and through the other tools.
    assert memoir("postprocess", "-o", again, out).status == 0
    assert frames(again) == before
    assert memoir("strip", "-t", "0", "-o", again, out).status == 0
    assert frames(again) == before


SECRETS = {"MEMOIR_TEST_SECRET": "environment-secret", "HOME": "/home/somebody-secret"}
# What a recording is made of itself, and names that programs share with it.
HARMLESS = (re.compile(
    r"program|x86_64|start|lib_\d+|src_\d+|fn_\d+|[a-z_]*(pid|stamp|bytes|count|status|chunks|events)[a-z_]*"))


def words_of(recording):
    """Whatever names anything: parts of paths, functions, arguments, threads."""
    info = harness.ask("info", "--json", recording.path)
    words = {*SECRETS.values(), info["hostname"], *info["cmdline"]}
    paths = {info["executable"], info["allocator"], *(m["path"] for m in info["modules"]),
             *info["cmdline"], *(m["build_id"] for m in info["modules"])}
    for stack in frames(recording.path).values():
        for frame in stack:
            words.update(str(frame.get(key) or "") for key in ("function", "raw_function"))
            paths.update(str(frame.get(key) or "") for key in ("source", "library"))
    for path in paths:
        words.update(path.split("/"))
    words |= {part for word in words for part in re.split(r"\W+", word)}
    return {w for w in words if len(w) >= 5 and not HARMLESS.fullmatch(w)}


@pytest.mark.parametrize("how", ["partial", "full"])
def test_anonymous(tmp_path, compile_program, record, how):
    """Nothing of a name is left in the bytes, packed or unpacked."""
    folder = tmp_path / "folder-secret"
    folder.mkdir()
    program = folder / "program-secret"
    shutil.copy(compile_program("throw"), program)
    recording = record([program, "argument-secret", "--password=argument-too"], name="in.dat",
                       env=SECRETS)
    out, raw = tmp_path / "out.dat", tmp_path / "raw.dat"
    run = memoir("postprocess", "--anonymize", how, "-o", out, recording.path)
    assert run.status == 0, run
    assert memoir("repack", "-c", "none", "-o", raw, out).status == 0
    own = {"executable", "cmdline", "hostname", "allocator"}
    assert facts(out, own) == facts(recording.path, own)
    if how == "partial":  # without names nobody knows which function is responsible
        assert report(out) == report(recording.path)
    info = harness.ask("info", "--json", str(out))
    assert info["embedded_files"] == 0
    assert info["cmdline"] == ["program" if how == "full" else "program-secret"]
    content = out.read_bytes() + raw.read_bytes()
    words = words_of(recording)
    assert {"throw.cpp", "program-secret", "argument-secret", "libstdc++.so.6.0.30"} <= words
    if how == "partial":
        words = {"folder-secret", "argument-secret", "argument-too", "environment-secret",
                 info["hostname"] or "/tmp/",
                 "x86_64-linux-gnu", str(tmp_path)}
    left = sorted(word for word in words if word.encode() in content)
    assert not left
    names = {str(f.get("function")) for stack in frames(out).values() for f in stack}
    assert any(n.startswith("fn_") if how == "full" else "throw" in n or "main" in n for n in names)


def test_anonymous_threads_and_markers(tmp_path, compile_program, record):
    recording = record([compile_program("many_threads")], name="in.dat")
    out, raw = tmp_path / "out.dat", tmp_path / "raw.dat"
    assert memoir("repack", "-c", "none", "-o", raw, recording.path).status == 0
    assert b"many_threads" in raw.read_bytes()
    assert memoir("postprocess", "-a", "full", "-o", out, recording.path).status == 0
    assert memoir("repack", "-c", "none", "-o", raw, out).status == 0
    assert b"many_threads" not in raw.read_bytes() + out.read_bytes()
    own = {"executable", "cmdline", "hostname", "allocator"}
    assert facts(out, own) == facts(recording.path, own)


def test_analyze_size(recording, tmp_path):
    """Every byte is somewhere, every event is counted."""
    found = harness.ask("analyze-size", "--json", recording.path)
    rows = {part: {row["name"]: row for row in found[part]}
            for part in ("chunks", "columns", "ops")}
    assert found["file_bytes"] == os.stat(recording.path).st_size
    assert sum(row["stored_bytes"]
               for row in found["chunks"]) + found["other_bytes"] == found["file_bytes"]
    assert found["other_bytes"] == 32 + 16  # header and trailer
    events = rows["chunks"]["EVENTS"]
    assert sum(row["count"] for row in found["ops"]) == recording.info["events"]
    assert sum(rows["ops"][op]["count"] for op in ("ALLOC", "REALLOC_TO")
               if op in rows["ops"]) == recording.info["allocations"]
    for part in ("columns", "ops"):
        assert 0.9 * events["stored_bytes"] < sum(r["about_stored_bytes"]
                                                  for r in found[part]) <= events["stored_bytes"]
        assert 0.9 * events["raw_bytes"] < sum(r["raw_bytes"]
                                               for r in found[part]) <= events["raw_bytes"]
    assert rows["columns"]["codes"]["count"] == recording.info["events"]
    lived = {row["name"]: row["allocations"] for row in found["lifetimes"]}
    assert sum(lived.values()) == recording.info["allocations"]
    assert lived["leaked"] == recording.info["leaked_count"]
    stored = [row["stored_bytes"] for row in found["chunks"]]
    assert stored == sorted(stored, reverse=True)
    text = memoir("analyze-size", recording.path)
    assert text.status == 0 and b"LIFETIMES" in text.stdout and b"addresses" in text.stdout
    # What was removed is counted as that.
    out = tmp_path / "out.dat"
    assert memoir("strip", "-o", out, recording.path).status == 0
    lived = {row["name"]: row["allocations"]
             for row in harness.ask("analyze-size", "--json", str(out))["lifetimes"]}
    assert sum(lived.values()) == recording.info["allocations"]
    assert lived["removed"] + lived["leaked"] == recording.info["allocations"] - lived["< 1 s"]
    (tmp_path / "bad.dat").write_bytes(b"hello")
    run = memoir("analyze-size", tmp_path / "bad.dat")
    assert run.status == 1 and len(run.stderr.splitlines()) == 1


QUESTIONS = [("allocations",), ("groups",), ("leaks",), ("tree",), ("timeline",),
             ("fragmentation",),
             ("histogram", "size"), ("histogram", "lifetime")]


def answer(question, path):
    run = memoir(*question, "--json", "--no-cache", path)
    assert run.status == 0, (question, run)
    assert not run.stderr
    found = json.loads(run.stdout)
    if isinstance(found, dict):
        found.pop("id", None)
    return found


def test_every_command_reads_them(tmp_path, compile_program, record):
    """What is repacked or postprocessed gives the same answers; what is stripped gives some."""
    recording = record([compile_program("exits"), "return"], name="in.dat")
    out = tmp_path / "out.dat"
    before = {question: answer(question, recording.path) for question in QUESTIONS}
    for tool in ("repack", "postprocess"):
        assert memoir(tool, "-o", out, recording.path).status == 0
        for question in QUESTIONS:
            assert answer(question, out) == before[question], (tool, question)
    assert memoir("strip", "-o", out, recording.path).status == 0
    after = {question: answer(question, out) for question in QUESTIONS}
    assert after[("leaks",)].keys() == before[("leaks",)].keys()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(recording, tmp_path, number):
    """Nothing is left of what was not finished, also where it had only just begun."""
    before = os.listdir(tmp_path)
    command = [harness.MEMOIR, "repack", "-c", "zstd:22", "-o", tmp_path / "out.dat",
               recording.path]
    for _ in range(20):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while len(os.listdir(tmp_path)) == len(before) and process.poll() is None:
            pass
        process.send_signal(number)
        assert process.wait(20) in (-number, 0)
        assert sorted(os.listdir(tmp_path)) == (before if process.returncode
                                                else sorted([*before, "out.dat"]))
        if not process.returncode:
            os.remove(tmp_path / "out.dat")
