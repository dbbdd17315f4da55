# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of jemalloc's heap profiler itself: Debian's redis-server with prof:true, filled while it
is looked at."""
import json
import os
import re
import shutil

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Redis, memoir
from web import Server

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY)
                                or not shutil.which("redis-server"),
                                reason="no jemalloc, no agent, or no redis-server")
STEPS = 16
LARGE = 16384  # where 5.3.0 puts small blocks that are sampled


@pytest.fixture(scope="module", params=["prof:true,lg_prof_sample:14", ""],
                ids=["profiled", "plain"])
def filled(request, tmp_path_factory):
    """A file of snapshots, ten seconds apart by what they say, and what join says at the end."""
    folder = tmp_path_factory.mktemp("redis")
    texts = []
    with Redis(folder, "--enable-debug-command", "yes", conf=request.param) as redis:
        for step in range(STEPS):
            assert redis.cli("debug", "populate", 4000, f"key{step}", 200) == "OK"
            text = redis.get("/stats.json").text
            texts.append(re.sub(r'"uptime_ns":\s*\d+', f'"uptime_ns":{(step + 1) * 10**10}', text))
        joined = json.loads(
            memoir(folder, "join", "--json", str(redis.pid)).stdout) if request.param else None
        with Server(env={"XDG_RUNTIME_DIR": str(folder)}) as server:
            live = []

            def told():
                live[:] = [server.ask(f"/agents/{redis.pid}/stats").json]
                return "stats" in live[0]
            harness.wait_for(told, LONG, "the server's statistics")
    path = folder / "filled.json"
    path.write_text("\n".join(texts))
    return path, joined, live[0]["stats"]


def test_the_profiler_is_not_called_a_leak(filled, tmp_path):
    path, _, _ = filled
    growth = json.loads(
        memoir(tmp_path, "stats", "--json", str(path)).stdout)["series"][0]["growth"]
    assert growth["samples"] == STEPS and growth["early"] is None
    suspects = {c["size"] for c in growth["classes"] if c["suspect"]}
    assert suspects and LARGE not in suspects  # redis's own blocks do grow
    watched = json.loads(
        memoir(tmp_path, "watch", "--once", "--json", "-n", str(STEPS), str(path)).stdout)
    assert {c["size"] for c in watched["growth"]["classes"] if c["suspect"]} == suspects


def test_it_is_a_step_of_the_waterfall(filled, tmp_path):
    """As much as join counts in a dump of the same moment, as far as chance goes."""
    path, joined, _ = filled
    answer = json.loads(memoir(tmp_path, "stats", "--json", str(path)).stdout)["snapshots"][-1]
    waterfall = answer["waterfall"]
    steps = {step["name"]: step["bytes"] for step in waterfall["steps"]}
    assert steps["unexplained"] == 0
    if joined is None:
        assert steps["sampled"] == steps["sampled_pages"] == waterfall["sampled"]["count"] == 0
        return
    counted = next(c for c in joined["classes"] if c["size"] == LARGE)["sampled"]
    found = waterfall["sampled"]
    assert found["estimated"] and counted > 500
    assert abs(found["count"] - counted) < 3 * counted ** 0.5 + 0.02 * counted
    assert steps["sampled_pages"] == 4096 * found["count"]
    assert abs(steps["sampled"] + steps["sampled_pages"] -
               joined["profiling_bytes"]) < 0.15 * joined["profiling_bytes"]
    text = memoir(tmp_path, "stats", "--only", "waterfall", str(path)).stdout.decode()
    assert "blocks of the heap profiler" in text and "pages of the heap profiler" in text
    assert re.search(r"the heap profiler keeps about [\d,]+ small blocks out of slabs, 16.0 "
                     r"KiB each", text)


def test_live_tells_it_apart(filled):
    """By what is asked for each second, which has no bins: near enough."""
    _, joined, live = filled
    if joined is None:
        assert live["profiler"] == 0
    else:
        assert abs(live["profiler"] - joined["profiling_bytes"]) < 0.2 * joined["profiling_bytes"]
