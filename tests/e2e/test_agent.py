# SPDX-License-Identifier: MIT OR Apache-2.0
"""libmemoir-jemalloc.so: the agent in a program, and what it answers."""
import json
import os
import re

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Agent, Target, memoir

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")
VERSIONS = "5.2.1-", "5."  # that of 2019, Debian's


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


@pytest.mark.parametrize("run", [False, True], ids=["preload", "run"])
def test_finds_jemalloc(program, tmp_path, each_jemalloc, run):
    """The version is the one that mallctl has, and the program ends as it would."""
    with Target([program], tmp_path, run=run) as target:
        status = target.get("/status")
        assert status.status == 200 and status.headers["Content-Type"] == "application/json"
        found = status.json["jemalloc"]
        stats = target.get("/stats?J").json["jemalloc"]
        assert (found["version"] == stats["version"]
                and found["version"].startswith(VERSIONS[each_jemalloc == JEMALLOC]))
        assert found["prefix"] == "" and os.path.samefile(found["file"], each_jemalloc)
        assert (status.json["pid"] == target.pid
                and os.path.samefile(status.json["program"], program))
        code, out, err = target.end()
        assert (code, out) == (7, b"")
        assert re.fullmatch(rb"memoir: the agent of process %d listens on %s\n"
                            % (target.pid, target.address.encode()), err)
        assert not os.path.exists(target.file)


def test_says_that_there_is_none(program, tmp_path):
    with Target([program], tmp_path, jemalloc=False) as target:
        assert (target.get("/status").status == 503
                and target.get("/status").json["jemalloc"] is None)
        assert target.get("/stats").status == 503 and "no jemalloc" in target.get("/stats").text
        assert target.get("/mtev/memory.json").status == 503
        assert target.do("threads") == "done"
        assert target.end()[0] == 7


def test_ps_lists_who_is_there(program, tmp_path):
    with Target([program], tmp_path) as one, Target([program], tmp_path,
                                                    listen=f"unix:{tmp_path}/socket") as two:
        rows = json.loads(memoir(tmp_path, "ps", "--json").stdout)
        assert [(r["pid"], r["address"]) for r in rows] == sorted(
            (t.pid, t.address) for t in (one, two))
        shown = memoir(tmp_path, "ps").stdout.decode()
        assert one.address in shown and str(two.pid) in shown and program in shown
        assert os.stat(one.file).st_mode & 0o777 == 0o600
        assert os.stat(os.path.dirname(one.file)).st_mode & 0o777 == 0o700
        assert os.stat(tmp_path / "socket").st_mode & 0o777 == 0o600
        one.process.kill()
        one.process.wait(LONG)
        assert os.path.exists(one.file)
        assert [r["pid"] for r in json.loads(memoir(tmp_path, "ps", "--json").stdout)] == [two.pid]
        assert not os.path.exists(one.file)
    assert memoir(tmp_path, "ps").stdout == b""


def test_the_next_free_port(program, tmp_path):
    with Target([program], tmp_path) as one:
        with Target([program], tmp_path, listen=f"127.0.0.1:{one.port}") as two:
            assert one.port < two.port < one.port + 100
            assert two.get("/status").json["pid"] == two.pid


@pytest.mark.usefixtures("each_jemalloc")
def test_statistics(program, tmp_path):
    with Target([program], tmp_path) as target:
        assert target.do("grow") == "done"
        stats = target.get("/stats?J")
        assert stats.headers["Content-Type"] == "application/json"
        told, own = stats.json["jemalloc"]["stats"]["allocated"], target.read("stats.allocated")
        assert abs(told - own) < own / 100 and own > 80 << 20
        assert target.get("/stats").text.startswith("___ Begin jemalloc statistics ___")
        assert "arenas[0]" not in target.get("/stats?a").text
        assert "arenas" not in target.get("/stats?opts=Jga").json["jemalloc"]
        assert target.get("/stats.json").json.keys() == {"jemalloc"}
        assert target.get("/stats?Jq").status == 400 and "q" in target.get("/stats?Jq").text
        assert target.get("/nothing").status == 404


@pytest.mark.usefixtures("each_jemalloc")
def test_record_takes_from_the_agent(program, tmp_path):
    """memoir jemalloc record, by process number."""
    with Target([program], tmp_path) as target:
        log = tmp_path / "log"
        done = memoir(tmp_path, "record", "--pid", str(target.pid), "-i", "0.1", "-n", "2", "-o",
                      str(log))
        assert done.status == 0, done
        assert json.loads(memoir(tmp_path, "stats", "--json", str(log)).stdout)
