# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent with versions that Debian has no more, 3.6 and 4.5, by a library that answers as they
do."""
import os
import subprocess

import pytest

import agent
import harness
from agent import LIBRARY, Target, memoir

pytestmark = pytest.mark.skipif(not os.path.exists(LIBRARY), reason="no agent")
SOURCE = os.path.join(harness.ROOT, "tests/e2e/programs/old_jemalloc.c")
VERSIONS = {"3.6.0": 30600, "4.5.0": 40500}


@pytest.fixture(params=VERSIONS)
def old(request, compile_program, tmp_path, monkeypatch):
    """The version, and a program that has it."""
    library = tmp_path / "libjemalloc.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", f"-DRELEASE={VERSIONS[request.param]}", SOURCE,
                    "-o", library], check=True)
    monkeypatch.setattr(agent.Target, "library", str(library))
    with Target([compile_program("agent_target")], tmp_path, "prof:true") as target:
        assert target.get("/status").json["jemalloc"]["version"].startswith(request.param)
        yield request.param, target, tmp_path


def number(target, name):
    return target.get(f"/mallctl?name={name}").json[name]


def test_dumps(old):
    """3.6 answered "Bad address": a thread that never allocated is nobody to its profiler."""
    _, target, folder = old
    answer = target.get("/pprof/heap")
    assert (answer.status == 200
            and answer.text.startswith("heap profile: 1: 64 [1: 64] @ heap_v2/524288\n")), answer
    done = memoir(folder, "ctl", str(target.pid), "dump", "-o", str(folder / "x.heap"))
    assert done.status == 0, done
    read = memoir(folder, "heap", str(folder / "x.heap"))
    assert read.status == 0 and read.stdout.startswith(b"Total: "), read


def test_controls(old):
    """What the version has is done under its own name; what it has not is said, with the version
    that has it."""
    version, target, _ = old
    new = version == "4.5.0"

    def control(path):
        answer = target.post(f"/control/{path}")
        return answer.status, answer.text
    # behind the last one: all
    assert control("purge")[0] == 200 and number(target, "arenas.page") == 1 << 4
    assert control("purge?arena=1")[0] == 200 and number(target, "arenas.page") == 1 << 4 | 1 << 1
    assert control("prof/active?value=false")[0] == 200 and number(target, "prof.active") is False
    status, text = control("decay")
    assert status == (200 if new else 501) and (new or text == (
        "arena.4.decay: jemalloc 3.6.0-0-g46c0af68bd2 cannot do this, which came with 4.1; purge "
        "gives unused pages back\n"))
    status, text = control("dirty_decay_ms?value=2500")
    if new:  # seconds there, of arenas that have been made and of new ones
        assert (status, text) == (200, '{"dirty_decay_ms":3000,"arenas":2,"default":true}\n')
    else:
        assert status == 501 and "which came with 4.1; purge gives unused pages back" in text
    for path, since in (("muzzy_decay_ms?value=1", "5.0"), ("background_thread?value=true", "5.0"),
                        ("max_background_threads?value=1", "5.1"), ("mutexes/reset", "5.0"),
                        ("prof/prefix?value=x", "5.3"),
                        ("prof/recent?value=1", "5.3"), ("prof/log/start", "5.2")):
        status, text = control(path)
        assert (status == 501 and f"jemalloc {version}-0-g" in text
                and text.endswith(f"cannot do this, which came with {since}\n")), text
    if not new:
        for path in ("prof/reset", "prof/gdump?value=true", "prof/thread_active_init?value=true"):
            status, text = control(path)
            assert status == 501 and text.endswith("which came with 4.0\n"), text
