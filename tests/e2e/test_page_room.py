# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server, used in a browser: how it uses its room.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="fill narrow" walks nothing else.
"""
import os

import pytest

import harness
import serving
from test_page import run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
PROGRAM = os.path.join(harness.BUILD, "examples", "leaky")
FUNCTION = "load_report"


def walk_room(folder, **given):
    out = os.environ.get("MEMOIR_SHOTS") or folder
    os.makedirs(out, exist_ok=True)
    for name in ("demo", "again"):
        assert harness.record([PROGRAM], str(folder / f"{name}.dat")).status == 0
    with serving.Server(folder / "demo.dat", folder / "again.dat") as server:
        recordings = {r["name"]: r["id"] for r in server.ready()}
        return run_walk("page_room_walk.mjs", {
            "address": server.address, "id": recordings["demo.dat"],
            "second": recordings["again.dat"], "function": FUNCTION, **given}, out)


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return walk_room(tmp_path_factory.mktemp("room"), widths=[1440], narrow=[400],
                     still=["overview", "flame", "functions"],
                     views=["recordings", "overview", "functions", "download"],
                     only=os.environ.get("MEMOIR_WALKS", "").split() or None)


def test_tools_stay_where_they_are(seen):
    """While answers arrive, when rows are sorted and when a question is asked."""
    is_ = walked(seen, "still")
    assert is_["moved"] == {} and is_["tools"] > 30


def test_timeline_folds(seen):
    is_ = walked(seen, "timeline")
    plots, high = is_["before"]
    assert plots == 1 and is_["folded"][0] == 0 and is_["folded"][1] < 70 < 150 < high
    assert is_["folded"][2] == "false" and "peak" in is_["folded"][3]
    assert is_["again"] == 0 and is_["open"] == 1


def test_tables_use_the_height(seen):
    is_ = walked(seen, "heights")
    assert all(40 <= left <= 80 for left in is_["left"].values()), is_["left"]
    assert is_["scrolls"] <= 8


def test_flame_fills_the_window(seen):
    is_ = walked(seen, "fill")
    assert is_["before"][0] is None and is_["filled"][0] == [0, 0, 0, 0]
    assert is_["filled"][1] > is_["before"][1]
    assert is_["zoomed_out"] == "1" and is_["left"] is None


def test_search_filters_the_table(seen):
    is_ = walked(seen, "fill")
    assert 0 < len(is_["found"]) < is_["all"] - 1 and set(is_["found"]) == {FUNCTION}
    assert is_["found_said"].endswith(f"in {len(is_['found'])} box{'es' * (len(is_['found']) > 1)}")


def test_every_curve_has_a_legend_and_is_there_once(seen):
    is_ = walked(seen, "curves")
    for series, legends in is_["legends"].items():
        assert all(len(lines) >= 2 for lines in legends), (series, legends)
        names = [lines[1] for lines in legends]
        assert len(set(names)) == len(names) >= 3, (series, names)
    assert is_["matching"] == ["strip", "all", "matching", "the range", "the moment"]


def check_narrow(seen):
    is_ = walked(seen, "narrow")
    assert is_["cut"] == [] and not seen["overflow"]
    chips = 0
    for name, table in is_["tables"].items():
        assert (table["chip"] is None) == (table["over"] <= 0), (name, table)
        if table["chip"]:
            chips += 1
            assert table["seen"] == table["columns"] and table["lead"] >= 0, (name, table)
            assert f"of {table['columns']} columns hidden" in table["chip"]
    return chips


def test_narrow_windows_lose_nothing(seen):
    assert check_narrow(seen) >= 3


@pytest.mark.long
def test_every_view(tmp_path):
    """The same of every view at every width."""
    views = ["overview", "leaks", "flame", "table", "allocations", "flat", "functions", "callers",
             "tree", "source", "threads", "histograms", "address_space", "compare",
             "download"]
    seen = walk_room(tmp_path, widths=[1440, 900], narrow=[900, 400], still=views,
                     views=["recordings", *views], only=["still", "narrow"])
    assert walked(seen, "still")["moved"] == {} and check_narrow(seen) >= 10
    assert seen["problems"] == []


def test_panel_shows_the_question(seen):
    is_ = walked(seen, "panel")
    assert len(is_["groups"]) >= 6
    assert is_["set"] == ["size at least: 1k", "lifetime: only_not_leaked", "a function like: re"]
    assert is_["rest"] == ["(size > 3 or leaked)"]
    assert 0 < is_["found"][0] < is_["found"][1] and is_["none"] == 0
    assert any("module" in name for name in is_["found"][2])
    assert sorted(is_["asked"].split(" and ")) == sorted([
        "(size > 3 or leaked)", "not leaked", "size_min(2k)", 'function ~ "re"'])


def test_accessible(seen):
    assert len(seen["violations"]) == 4
    assert {name: found for name, found in seen["violations"].items() if found} == {}


def test_no_problems(seen):
    assert seen["problems"] == []

