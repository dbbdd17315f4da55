# SPDX-License-Identifier: MIT OR Apache-2.0
"""A folder of recordings opened as one: the tree of processes, their titles, sums, what they hold
together."""
import os

import pytest

import harness

LONG = "x" * 60  # room for titles


@pytest.fixture(scope="module")
def titled(compile_program, tmp_path_factory):
    """The folder of a program whose children take titles."""
    folder = tmp_path_factory.mktemp("titled")
    run = harness.execute([harness.MEMOIR, "run", "--children", "-o", f"{folder}/", "--",
                           compile_program("titles"), LONG])
    assert run.status == 0, run
    return str(folder)


def paths(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".dat")]


def test_titles_are_recorded(titled):
    """As they were at last, whether the process ended by itself or was killed."""
    found = [harness.ask("info", "--json", path) for path in paths(titled)]
    assert sorted(info.get("title", "") for info in found) == [
        "", "titles: endless", "titles: idle", "titles: quick"]
    assert all(info["cmdline"][1] == LONG for info in found if "title" not in info)
    assert all(info["peak_rss"] > 100_000 for info in found)
