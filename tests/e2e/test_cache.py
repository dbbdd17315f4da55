# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings that were opened before: the same answers, from the cache."""
import json
import os
import shutil
import subprocess

import pytest

import harness

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


@pytest.mark.parametrize(
    "env", [{"XDG_CACHE_HOME": "/proc/nowhere"}, {"XDG_CACHE_HOME": "/tmp/nowhere/deep/cache"},
            {"XDG_CACHE_HOME": "", "HOME": ""},
            {"MEMOIR_CACHE_LIMIT": "0"}, {"MEMOIR_CACHE_LIMIT": "1k"}],
                         ids=["no folder", "nothing above it", "no home", "limit 0",
                              "limit too small"])
def test_without_a_cache(recording, tmp_path, env):
    path, expected = recording
    run = memoir("info", "--json", path, cache=tmp_path, env=env)
    assert run.status == 0 and run.stderr == b""
    assert json.loads(run.stdout)["allocations"] == expected["allocations"]
    assert files(tmp_path) == []


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
