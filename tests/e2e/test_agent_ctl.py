# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc ctl: everything that the agent can do, from the terminal."""
import json
import os

import pytest

import harness
from agent import JEMALLOC, LIBRARY, Target, memoir

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


@pytest.mark.parametrize("kind", ["pid", "address", "socket"])
def test_all_controls(program, tmp_path, kind):
    listen = f"unix:{tmp_path}/socket" if kind == "socket" else "127.0.0.1:0"
    with Target([program], tmp_path, "prof:true,prof_active:false,lg_prof_sample:12",
                listen=listen) as target:
        who = str(target.pid) if kind == "pid" else target.address

        def ctl(*words, options=()):
            done = memoir(tmp_path, "ctl", *options, who, *words)
            assert done.status == 0 and done.stderr == b"", done
            return done.stdout.decode()
        assert f"pid: {target.pid}\n" in ctl("status") and "\n  version: 5." in ctl("status")
        assert json.loads(ctl("status", options=["--json"]))["pid"] == target.pid
        assert (ctl("stats").startswith("___ Begin jemalloc")
                and "jemalloc" in json.loads(ctl("stats", "Jbl")))
        assert "jemalloc_allocated_bytes " in ctl("metrics")
        assert ctl("get", "arenas.page") == "arenas.page: 4096\n"
        assert ctl("set", "arena.0.dirty_decay_ms", "77") == "arena.0.dirty_decay_ms: 77\n"
        assert target.read("arena.0.dirty_decay_ms") == 77
        assert ctl("prof", "on") == "prof.active: true\n" and target.read("prof.active") == 1
        assert ctl("rate", "13") == "prof.lg_sample: 13\n" and target.read("prof.lg_sample") == 13
        assert ctl("reset") == "prof.lg_sample: 13\n"
        assert ctl("gdump", "off") and ctl("prefix", f"{tmp_path}/own")
        assert ctl("dirty-decay", "-1") and target.read("arenas.dirty_decay_ms") == -1
        assert ctl("muzzy-decay", "50", "0") and target.read("arena.0.muzzy_decay_ms") == 50
        assert "resident_before: " in ctl("purge") and ctl("purge", "0") and ctl("decay")
        assert (ctl("background-max", "1") and ctl("background", "on")
                and target.read("background_thread") == 1)
        ctl("background", "off")
        assert ctl("mutex-reset")
        target.do("keep 1000")
        # Not before: a thread's first sample decides for it.
        assert ctl("prof-threads", "off") and target.read("prof.thread_active_init") == 0
        dump = str(tmp_path / "here.heap")
        assert ctl("dump", options=["-o", dump]) == ""
        assert b"keep_small" in memoir(tmp_path, "heap", dump).stdout
        assert ctl("dump-there", str(tmp_path / "there.heap"))
        assert (tmp_path / "there.heap").read_bytes().startswith(b"heap_v2/8192\n")
        packed = str(tmp_path / "p.pb.gz")
        assert (ctl("pprof", options=["-o", packed, "-s", "1"]) == ""
                and open(packed, "rb").read(2) == b"\x1f\x8b")


def test_what_is_wrong_is_one_line(program, tmp_path):
    wrong = tmp_path / "wrong-token"
    wrong.write_text("x\n")
    wrong.chmod(0o600)
    with Target([program], tmp_path) as target:
        for words, status, reason in (
                ([str(target.pid), "prof", "on"], 1, b"start with MALLOC_CONF=prof:true"),
                ([str(target.pid), "get", "arena.0.destroy"], 1, b"403"),
                (["--token-file", str(wrong), target.address, "purge"], 1, b"the token is wrong"),
                ([str(target.pid), "purg"], 2, b"did you mean purge?"),
                ([str(target.pid), "prof", "maybe"], 2, b"on or off"),
                ([str(target.pid), "get"], 2, b"get NAME"),
                (["-o", "x", str(target.pid), "purge"], 2, b"--output is for"),
                (["1", "status"], 1, b"no agent that can be found"),
                (["nonsense", "status"], 2, b"is not an address"),
                ([str(target.pid)], 2, b"which process, and what?"),
                ([f"unix:{tmp_path}/none", "status"], 1, b"No such file")):
            done = memoir(tmp_path, "ctl", *words)
            assert (done.status == status and reason in done.stderr
                    and done.stderr.count(b"\n") == 1), (words, done)


def test_file_names(program, tmp_path):
    """A dump without a name for it never takes the place of another."""
    with Target([program], tmp_path, "prof:true") as target:
        for n in range(2):
            done = harness.execute([harness.MEMOIR, "jemalloc", "ctl", str(target.pid), "dump"],
                                   cwd=tmp_path,
                                   env={"XDG_RUNTIME_DIR": str(tmp_path)}, timeout=120)
            assert done.stdout == f"heap.{target.pid}.{n}.heap\n".encode(), done
            assert (tmp_path / f"heap.{target.pid}.{n}.heap").stat().st_size


@pytest.mark.parametrize("word,begins", [("dump", b"heap_v2/"), ("pprof", b"\x1f\x8b")])
def test_options_may_come_last(program, tmp_path, word, begins):
    """As people write them; a number with a minus stays a value."""
    with Target([program], tmp_path, "prof:true") as target:
        path = tmp_path / "given"
        for words in ([str(target.pid), word, "-o", str(path)],
                      [str(target.pid), "-o", str(path), word],
                      ["-o", str(path), str(target.pid), word],
                      [str(target.pid), word, f"--output={path}"]):
            done = memoir(tmp_path, "ctl", *words)
            assert done.status == 0 and done.stdout == done.stderr == b"", done
            assert path.read_bytes().startswith(begins)
            path.unlink()
        assert memoir(tmp_path, "ctl", str(target.pid), "dirty-decay", "-1").status == 0
        assert target.read("arenas.dirty_decay_ms") == -1
