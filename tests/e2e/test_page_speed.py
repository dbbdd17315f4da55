# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every view of the page within a second of processor time on two cores for 44 million events:
here for a tenth of them, with a tenth of the time.

Processor time of the server, since other tests run beside this one; what a reader waits for, on
all of them, is measured by the part `views` of bench.py."""
import os
import subprocess

import pytest

import harness
import page_addresses
import serving
from test_page import run_walk

pytestmark = pytest.mark.xdist_group("browser")
EVENTS, WHOLE = 4_400_000, 44_000_000
# Two cores for a second, less what the browser takes of them; and what does not depend on events,
# with the half that processor time grows by where other tests share the caches.
SHARE, CONSTANT = 1.6 * EVENTS / WHOLE, 0.2


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("speed") / "large.dat"
    generator = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
    subprocess.run([generator, str(path), str(EVENTS), "6"], check=True, timeout=300,
                   stdout=subprocess.DEVNULL)
    return path


def views(identifier, more=""):
    """Every view of a recording by its name, and its address."""
    return [[name, "#/" + page_addresses.asking(address, more.format(turn))]
            for turn, (name, address) in enumerate(page_addresses.of_views(identifier).items())]


@pytest.mark.parametrize("more", ["filter=size+%3E%3D+1{:02d}0", "from=0.0{:02d}1&to=0.25"],
                         ids=["filter", "range"])
def test_processor_time_of_a_view(recording, tmp_path, more):
    """That nobody has asked before: each has a filter, or a range of time, of its own.  Before that
    each is seen without, so that nothing is left that the server prefetches meanwhile."""
    with serving.Server(recording) as server:
        row, = server.ready()
        visits = [[f"whole {name}", address] for name, address in views(row["id"])]
        seen = run_walk("page_speed.mjs", {"address": server.address, "pid": server.process.pid,
                                           "visits": visits + views(row["id"], more)}, tmp_path)
    assert "failed" not in seen["visits"], seen["visits"]["failed"]
    assert (len(seen["visits"]) == 2 * len(views(""))
            and not any(v["failed"] for v in seen["visits"].values()))
    took = {name: v["ticks"] / os.sysconf("SC_CLK_TCK") for name, v in seen["visits"].items()
            if not name.startswith("whole ")}
    print(", ".join(f"{name} {seconds:.2f}" for name, seconds in took.items()))
    assert sum(took.values()) > 0
    assert {name: s for name, s in took.items() if s > SHARE + CONSTANT} == {}


def test_every_view_says_how_far_reading_is(recording, tmp_path):
    with serving.Server(recording) as server:
        row, = server.ready()
        seen = run_walk("page_speed.mjs", {"address": server.address,
                                           "waiting": views(row["id"])}, tmp_path)["waiting"]
    assert "failed" not in seen, seen["failed"]
    assert set(seen) == set(page_addresses.of_views("")) and len(seen) > 10
    for name, view in seen.items():
        assert view["said"] == "Reading large.dat: 37.0 %" and view["bar"] == 0.37, name
        assert view["then"], name
