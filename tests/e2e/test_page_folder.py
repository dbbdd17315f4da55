# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server with a folder of recordings: #/processes, used in a browser."""
import os

import pytest

import harness
import serving
from test_page import run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def seen(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("folder")
    out = os.environ.get("MEMOIR_SHOTS") or tmp_path_factory.mktemp("shots")
    done = harness.execute([harness.MEMOIR, "run", "--children", "-q", "-o", f"{folder}/", "--",
                            compile_program("titles"), "x" * 60])
    assert done.status == 0, done
    with serving.Server(folder) as server:
        harness.wait_for(lambda: len(server.ready()) == 5, what="the folder")
        list_ = server.ready()
        found = run_walk("page_folder_walk.mjs", {
            "address": server.address, "id": list_[0]["id"],
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)
        found["answer"] = server.get(f"/folders/{list_[0]['id']}/processes")
        return found


def test_the_list_begins_with_the_folder(seen):
    is_ = walked(seen, "list")
    assert "all processes of this folder" in is_["first"] and "4 recordings" in is_["first"]
    assert is_["links"][:2] == ["Recordings", "Processes"]
    assert is_["hash"].startswith("#/processes/")


def test_the_tree(seen):
    is_ = walked(seen, "tree")
    rows = seen["answer"]["recordings"]
    assert [text.split("\n")[0] for text in is_["rows"]][1:] == [r["title"] for r in rows[1:]]
    assert "signal 9" in [t for t in is_["rows"] if "endless" in t][0]
    assert is_["indents"] == [18 * row["depth"] for row in rows]
    assert is_["said"].startswith("4 processes · peaks of ")
    by_peak = sorted(rows, key=lambda row: -row["peak_bytes"])
    assert is_["sorted"][0] == by_peak[0]["title"]
    assert is_["found"] == ["titles: idle"]
    idle, = [row for row in rows if row["title"] == "titles: idle"]
    assert is_["opened"] == f"#/overview/{idle['id']}"


def test_what_all_hold(seen):
    is_ = walked(seen, "held")
    assert {"titles", "titles: idle", "titles: endless"} <= set(is_["boxes"])
    assert "titles: idle" not in is_["zoomed"] and "keep" in is_["zoomed"]
    assert is_["holders"][0].startswith("keep") and "62.5 KiB" in is_["holders"][0]
    assert "alive at each process's end" in is_["said"]


def test_how_it_looks(seen):
    assert walked(seen, "looks")["views"] == 6
    assert not seen["problems"] and not seen["overflow"], (seen["problems"], seen["overflow"])
    assert not any(seen["violations"].values()), seen["violations"]
