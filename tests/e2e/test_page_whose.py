# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server in the user's own names: what is folded, hidden, and taken back.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="folded hides" walks nothing else.
"""
import os
import re

import pytest

import harness
import serving
from test_page import run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
POOL = "acme::pool_take()"


@pytest.fixture(scope="module")
def seen(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whose")
    out = os.environ.get("MEMOIR_SHOTS") or folder
    program = compile_program("whose", flags=("-O1", "-fno-optimize-sibling-calls"))
    assert harness.record([program], str(folder / "whose.dat")).status == 0
    with serving.Server(folder / "whose.dat") as server:
        recording, = server.ready()
        return run_walk("page_whose_walk.mjs", {
            "address": server.address, "id": recording["id"], "pool": POOL,
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)


def test_frames_of_others_are_counted(seen):
    is_ = walked(seen, "folded")
    assert "load_table(int)" in is_["first"] and POOL in is_["first"]
    assert not any(name.startswith(("std::", "malloc", "_start")) for name in is_["first"])
    assert re.fullmatch(r"\+\d+ outside", is_["first"][1])
    assert any(re.fullmatch(r"\+\d+ inside", name) for name in is_["first"])


def test_a_folded_box_opens(seen):
    is_ = walked(seen, "folded")
    assert "qsort" in is_["tip"]
    shown = set(is_["opened"]) - set(is_["first"])
    assert any("qsort" in name for name in shown)
    assert "Fold these frames" in is_["menu"] and is_["again"] == is_["first"]
    assert "_start" in is_["all"] and not any(n.startswith("+") for n in is_["all"])
    assert re.match(r"[\d.]+ % in \d+ box", is_["found"])


def test_a_function_is_hidden(seen):
    is_ = walked(seen, "hides")
    assert {"Hide this function", "Hide this namespace", "Hide this module"} <= set(is_["menu"])
    assert is_["hide"] == f'function = "{POOL}"' and is_["labels"] == [f"hidden: {is_['hide']}"]
    assert POOL in is_["first"] and POOL not in is_["hidden"]
    assert "load_table(int)" in is_["hidden"]
    assert "load_table" in is_["rows"] and "acme::pool_take" not in is_["rows"]


def test_what_is_hidden_stays_so_until_it_is_taken_back(seen):
    is_ = walked(seen, "hides")
    assert is_["kept"] == is_["labels"] and is_["functions"][0] == "load_table"
    assert is_["back"][0] == "acme::pool_take"


def test_stacks_fold_the_same_way(seen):
    is_ = walked(seen, "stacks")
    assert is_["row"].startswith("load_names") and "inside)" in is_["row"]
    runs = [line for line in is_["folded"] if line.startswith("+")]
    hidden = sum(int(re.match(r"\+(\d+)", line).group(1)) for line in runs)
    assert len(runs) == 2 and len(is_["folded"]) - len(runs) + hidden == len(is_["all"])
    assert not any(line.startswith("std::") for line in is_["folded"])


def test_a_frame_s_menu(seen):
    is_ = walked(seen, "stacks")
    assert "Hide this function" in is_["menu"] and "Treat as my own" in is_["other"]
    assert is_["own"].startswith('function = "std::') and is_["led"].startswith("std::")


def test_accessible(seen):
    assert len(seen["violations"]) == 2
    assert {name: found for name, found in seen["violations"].items() if found} == {}


def test_no_problems(seen):
    assert seen["problems"] == [] and seen["overflow"] == []
