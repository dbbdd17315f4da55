# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page of memoir server: what people come for is at most three clicks from the first screen.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="leak peak" walks nothing else.
"""
import os

import pytest

import harness
import serving
from test_page import run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")

# What has to be where the task ends: programs/tasks.c says who does what.
ANSWERS = {
    "leak": ["remember_visitor", "growing"],
    "peak": ["load_catalogue", "40.0 MiB"],
    "grew": ["index_documents", "new"],
    "fragments": ["keep_every_eighth"],
    "thread": ["waiter"],
    "builds": ["cache_answers"],
    "temporary": ["render_answer"],
    "line": ["return filled(40u << 20);", "40.0 MiB"],
    "callers": ["answer_visitors"],
    "moment": ["index_documents", "remember_visitor"],
    "sizes": ["41,943,040 B"],
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory, compile_program):
    folder = tmp_path_factory.mktemp("tasks")
    out = os.environ.get("MEMOIR_SHOTS") or folder
    os.makedirs(out, exist_ok=True)
    program = compile_program("tasks", flags=("-O1", "-g", "-D_GNU_SOURCE"),
                              libraries=("-pthread",))
    for build in "12":
        assert harness.record([program, build], str(folder / f"build{build}.dat")).status == 0
    with serving.Server(folder / "build1.dat", folder / "build2.dat") as server:
        recordings = {r["name"]: r["id"] for r in server.ready()}
        return run_walk("page_tasks_walk.mjs", {
            "address": server.address, "id": recordings["build1.dat"],
            "width": 1440, "scheme": os.environ.get("MEMOIR_SCHEME", "light"),
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)


@pytest.mark.parametrize("how", ["mouse", "keys"])
@pytest.mark.parametrize("task", ANSWERS)
def test_task(seen, task, how):
    is_ = walked(seen, task)
    assert is_["steps"] <= 3
    assert all(part in is_[how] for part in ANSWERS[task]), is_[how]


def test_nothing_went_wrong(seen):
    assert not seen["problems"] and not seen["overflow"]
