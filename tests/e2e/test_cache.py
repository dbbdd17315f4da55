# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings that were opened before: the same answers, from the cache."""
import gzip
import json
import os
import shutil
import subprocess
import urllib.request

import pytest

import harness
import serving

EVENTS = 300000


def generate(path, events):
    """Makes a recording; returns what must be found in it."""
    generator = os.path.join(harness.BUILD, "tests/unit/gen_recording")
    if not os.path.exists(generator):
        subprocess.run(["ninja", "-C", harness.BUILD, "tests/unit/gen_recording"], check=True,
                       stdout=subprocess.DEVNULL)
    return json.loads(
        subprocess.run([generator, path, str(events)], check=True, capture_output=True).stdout)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """Large enough to be cached."""
    path = str(tmp_path_factory.mktemp("cache") / "app.dat")
    expected = generate(path, EVENTS)
    assert os.path.getsize(path) > 1 << 20
    return path, expected


def memoir(*arguments, cache, env=None):
    return harness.execute([harness.MEMOIR, *arguments],
                           env={"XDG_CACHE_HOME": str(cache), **(env or {})})


def files(cache):
    folder = os.path.join(cache, "memoir")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def test_second_opening_is_from_the_cache(recording, tmp_path):
    path, expected = recording
    plain = memoir("info", "--json", "--no-cache", path, cache=tmp_path)
    assert plain.status == 0 and files(tmp_path) == []
    info = json.loads(plain.stdout)
    assert {key: info[key] for key in expected} == expected
    first = memoir("info", "--json", path, cache=tmp_path)
    (name,) = files(tmp_path)
    assert name.startswith(info["id"])
    cached = os.path.join(tmp_path, "memoir", name)
    assert os.stat(cached).st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(cached)).st_mode & 0o777 == 0o700
    inode = os.stat(cached).st_ino
    os.utime(cached, (1, 1))
    second = memoir("info", "--json", path, cache=tmp_path)
    assert plain.stdout == first.stdout == second.stdout
    assert os.stat(cached).st_ino == inode, "it was made again"
    assert os.stat(cached).st_mtime > 1, "it was not used"
    # That it is used at all: what the events say is no longer in the recording.
    copy = str(tmp_path / "app.dat")
    shutil.copy2(path, copy)
    with open(copy, "r+b") as file:
        file.seek(os.path.getsize(copy) // 2)
        file.write(b"\0" * 64)
    os.utime(copy, ns=(0, os.stat(path).st_mtime_ns))
    assert memoir("info", "--json", copy, cache=tmp_path).stdout == plain.stdout
    assert memoir("info", "--json", "--no-cache", copy, cache=tmp_path).status == 1


def test_reports_are_the_same(recording, tmp_path):
    path, _ = recording
    plain = memoir("report", "--json", "--no-cache", path, cache=tmp_path)
    assert plain.status == 0
    for _ in range(2):
        again = memoir("report", "--json", path, cache=tmp_path)
        assert again.stdout == plain.stdout


@pytest.mark.parametrize("damage", [lambda f: f.truncate(5000), lambda f: f.write(b"x" * 100),
                                    lambda f: f.truncate(0)],
                         ids=["cut", "overwritten", "empty"])
def test_damaged_cache_is_made_again(recording, tmp_path, damage):
    path, _ = recording
    plain = memoir("info", "--json", path, cache=tmp_path)
    (name,) = files(tmp_path)
    cached = os.path.join(tmp_path, "memoir", name)
    size = os.path.getsize(cached)
    with open(cached, "r+b") as file:
        damage(file)
    again = memoir("info", "--json", path, cache=tmp_path)
    assert (again.status, again.stdout, again.stderr) == (0, plain.stdout, b"")
    assert os.path.getsize(cached) == size


def test_verdicts_are_kept(recording, tmp_path):
    """What was judged once is read, as long as the same stacks are put together; and made again
    where its file is damaged."""
    path, _ = recording
    rules = tmp_path / "frames"
    rules.write_text("pool module imaginary : what it keeps\n")

    def leaks(*more, env=None):
        answer = memoir("leaks", "--json", *more, path, cache=tmp_path, env=env)
        assert (answer.status, answer.stderr) == (0, b"")
        return answer.stdout

    def kept():
        name, = [f for f in files(tmp_path) if f.endswith(".verdicts")]
        return os.path.join(tmp_path, "memoir", name)

    plain, held = leaks("--no-cache"), leaks("--no-cache", "--held")
    assert json.loads(plain)["verdicts"] and files(tmp_path) == []
    assert leaks() == plain
    inode, size = os.stat(kept()).st_ino, os.path.getsize(kept())
    assert leaks() == plain and leaks("--held") == held
    assert os.stat(kept()).st_ino == inode
    # Other rules make others of them.
    other = {"MEMOIR_FRAMES": str(rules)}
    assert leaks(env=other) == leaks("--no-cache", env=other) != plain
    assert os.stat(kept()).st_ino != inode and leaks() == plain
    for place in 0, size // 2, size - 1:
        with open(kept(), "r+b") as file:
            file.seek(place)
            byte = file.read(1)
            file.seek(place)
            file.write(bytes([byte[0] ^ 1]))
        inode = os.stat(kept()).st_ino
        assert leaks() == plain and os.stat(kept()).st_ino != inode
        inode = os.stat(kept()).st_ino
        assert leaks() == plain and os.stat(kept()).st_ino == inode
    os.truncate(kept(), 5)
    assert leaks() == plain


FIRST_VIEWS = ["timeline", "overview?sentences=quick&verdicts=false", "overview",
               "leaks?spark=80&skip=0&count=60", "flame?measure=peak", "timeline_leaked",
               "functions?measure=peak&sort_by=own&count=100"]


def test_first_answers_are_kept(tmp_path, monkeypatch):
    """A server that opens a recording again has what the page asks first; it is made again where
    names, rules or the file's own name are others, or the file of answers is damaged."""
    path = tmp_path / "app.dat"
    generate(str(path), 500000)
    cache = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))

    def kept():
        return [os.path.join(cache, "memoir", f) for f in files(cache) if f.endswith(".answers")]

    def ask(file, older=None):
        """What it answers, and the file of answers once it is there, and another one than that."""
        with serving.Server(file) as server:
            row, = server.ready()
            answers = []
            for view in FIRST_VIEWS:
                request = urllib.request.Request(f"{server.address}/data/{row['id']}/{view}",
                                                 headers={"Accept-Encoding": "gzip"})
                with urllib.request.urlopen(request, timeout=60) as answer:
                    body = answer.read()
                    packed = answer.headers["Content-Encoding"] == "gzip"
                    answers.append(gzip.decompress(body) if packed else body)
            if older is not None:
                harness.wait_for(lambda: kept() and os.stat(kept()[0]).st_ino != older,
                                 what="the answers to be kept")
            return answers

    monkeypatch.setenv("MEMOIR_CACHE_LIMIT", "0")
    plain = ask(path)
    monkeypatch.delenv("MEMOIR_CACHE_LIMIT")
    assert kept() == [] and ask(path, 0) == plain
    inode = os.stat(kept()[0]).st_ino
    assert ask(path) == plain
    assert os.stat(kept()[0]).st_ino == inode, "some were made again"

    def flip(file):
        file.seek(os.path.getsize(kept()[0]) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 1]))
    for damage in flip, lambda file: file.truncate(20), lambda file: file.truncate(0):
        with open(kept()[0], "r+b") as file:
            damage(file)
        assert ask(path, os.stat(kept()[0]).st_ino) == plain

    renamed = path.with_name("other.dat")
    path.rename(renamed)
    assert ask(renamed, os.stat(kept()[0]).st_ino) == [
        a.replace(b'"app.dat"', b'"other.dat"') for a in plain]
    rules = tmp_path / "frames"
    rules.write_text("pool module imaginary : what it keeps\n")
    monkeypatch.setenv("MEMOIR_FRAMES", str(rules))
    assert ask(renamed, os.stat(kept()[0]).st_ino) != plain


@pytest.mark.parametrize(
    "env", [{"XDG_CACHE_HOME": "/proc/nowhere"}, {"XDG_CACHE_HOME": "/tmp/nowhere/deep/cache"},
            {"XDG_CACHE_HOME": "", "HOME": ""},
            {"MEMOIR_CACHE_LIMIT": "0"}],
                         ids=["no folder", "nothing above it", "no home", "limit 0"])
def test_without_a_cache(recording, tmp_path, env):
    path, expected = recording
    run = memoir("info", "--json", path, cache=tmp_path, env=env)
    assert run.status == 0 and run.stderr == b""
    assert json.loads(run.stdout)["allocations"] == expected["allocations"]
    assert files(tmp_path) == []


@pytest.mark.parametrize("events", ["", "0"], ids=["plain", "packed"])
def test_limit_too_small(recording, tmp_path, events):
    """It is said each time, with what would help."""
    path, expected = recording
    env = {"MEMOIR_CACHE_LIMIT": "1k", "MEMOIR_PACK_EVENTS": events}
    for _ in range(2):
        run = memoir("info", "--json", path, cache=tmp_path, env=env)
        assert run.status == 0
        assert json.loads(run.stdout)["allocations"] == expected["allocations"]
        assert run.stderr.count(b"\n") == 1
        assert b"not cached, since it needs " in run.stderr
        assert b"the cache may have 1.00 KiB: MEMOIR_CACHE_LIMIT=1G allows it" in run.stderr
        assert files(tmp_path) == []
    assert memoir("info", path, cache=tmp_path, env={"MEMOIR_CACHE_LIMIT": "1G"}).stderr == b""


def test_limit_that_is_no_size(recording, tmp_path):
    run = memoir("info", recording[0], cache=tmp_path, env={"MEMOIR_CACHE_LIMIT": "plenty"})
    assert run.status == 0
    assert run.stderr.count(b"\n") == 1 and b"MEMOIR_CACHE_LIMIT" in run.stderr


def memory_group():
    """A control group that memory can be limited in, or None."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        path = os.path.join(base, f"memoir-test-{os.getpid()}")
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(os.path.join(path, limit)):
            return path, limit
        os.rmdir(path)
    return None


def test_larger_than_memory(tmp_path):
    """1.5 million events, 45 MiB of columns, and 40 MiB for everything."""
    path = str(tmp_path / "large.dat")
    expected = generate(path, 1500000)
    group = memory_group()
    if not group:
        pytest.skip("no control group can be made here")
    folder, limit = group
    try:
        with open(os.path.join(folder, limit), "w", encoding="ascii") as file:
            file.write(str(40 << 20))
        for _ in range(2):
            run = harness.execute(
                ["sh", "-c", f'echo $$ > {folder}/cgroup.procs; exec "$@"', "sh", harness.MEMOIR,
                 "info", "--json", path], env={"XDG_CACHE_HOME": str(tmp_path)}, timeout=120)
            assert run.status == 0, run
            info = json.loads(run.stdout)
            assert {key: info[key] for key in expected} == expected
    finally:
        os.rmdir(folder)


def test_little_anonymous_memory(tmp_path):
    """Rows are in a file; what is neither in that nor shared is bounded, whatever the number of
    events."""
    path = str(tmp_path / "large.dat")
    generate(path, 3000000)
    script = ("import resource, subprocess, sys\n"
              "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
              "most = 0\n"
              "while p.poll() is None:\n"
              "    try:\n"
              "        for line in open(f'/proc/{p.pid}/status'):\n"
              "            if line.startswith('RssAnon'):\n"
              "                most = max(most, int(line.split()[1]))\n"
              "    except OSError:\n"
              "        pass\n"
              "print(most)\n"
              "sys.exit(p.returncode)\n")
    for option in ("--no-cache", "--json"):
        run = harness.execute(
            ["/usr/bin/python3", "-c", script, harness.MEMOIR, "info", option, path],
                              env={"XDG_CACHE_HOME": str(tmp_path)})
        assert run.status == 0, run
        # Three million events are 92 MiB of columns.
        assert 0 < int(run.stdout) < 90 << 10
