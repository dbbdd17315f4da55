# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page on ten million allocations: the first view within a second, every action within 300 ms.

Other tests run beside this one, so five times that is allowed, and more where more wants to run
than there are processors; MEMOIR_QUIET=1 says that the machine is quiet, and the limits are meant
as they are.  The times are printed (pytest -s) either way.  """
import os
import subprocess

import pytest

import harness
import serving
from test_page import run_walk

pytestmark = [pytest.mark.xdist_group("browser"), pytest.mark.slow]
EVENTS = 20_000_000  # half of them allocate
ACTION = 300
# The first view of a recording; and what is put in order once, when it is first asked for.
LIMITS = {"first view": 1000}


def slack():
    if os.environ.get("MEMOIR_QUIET") == "1":
        return 1
    return 5 * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))


def check_walks(seen):
    """Every view is what its address says, may be used by keys and in the dark, and tells what went
    wrong."""
    views = seen["permalinks"]["views"]
    assert len(views) == 11
    for name, view in views.items():
        assert view["failed"] == 0 and view["first"], name
        assert view["first"] == view.get("again", view["first"]), name
    assert sum("again" in view for view in views.values()) == 3
    keyboard = seen["keyboard"]
    assert keyboard["opened"] and keyboard["filter"] and keyboard["back"]
    assert "the disk is full" in seen["failing"]["said"] and seen["failing"]["again"] == 0
    assert {name: found for name, found in seen["violations"].items() if found} == {}
    assert seen["overflow"] == []


def test_ten_million(tmp_path):
    path = tmp_path / "large.dat"
    generator = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
    subprocess.run([generator, str(path), str(EVENTS)], check=True, timeout=600,
                   stdout=subprocess.DEVNULL)
    with serving.Server(path) as server:
        recording, = server.ready(timeout=900)
        assert recording["allocated_count"] > 9_000_000
        seen = run_walk("page_large.mjs", {"address": server.address, "id": recording["id"]},
                        tmp_path)
    is_, times = seen["large"], seen["times"]
    for name in ("large", "lists", "permalinks", "keyboard", "failing"):
        assert "failed" not in seen[name], seen[name]["failed"]
    assert f"{recording['allocated_count']:,} blocks" in seen["lists"]["blocks"]
    print("milliseconds: " + ", ".join(f"{name} {ms}" for name, ms in times.items())
          + f"; a frame {is_['draw_ms']:.1f} of {is_['boxes']} boxes")
    assert is_["filter"] == "size >= 1000" and len(is_["figures"]) == 5
    check_walks(seen)
    assert seen["problems"] == []
    factor = slack()
    slow = {name: ms for name, ms in times.items() if ms > factor * LIMITS.get(name, ACTION)}
    assert slow == {}
