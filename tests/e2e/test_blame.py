# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blame: a known block keeps each page; what is said that freeing would give back, it gives
back."""
import subprocess
import time

import pytest

import harness
from test_maps import running

PAGES = 3000
PAGE = 4096


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("pinned_pages", flags=("-O1",))


@pytest.fixture(scope="module")
def path(program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("blame") / "out.dat")
    with running(program, path, "preload", arguments=(str(PAGES),)) as steps:
        steps.reached(b"1")
        time.sleep(2)  # the next sample
        steps.go_on()
    return path


@pytest.fixture(scope="module")
def holders(path):
    found = harness.ask("fragmentation", "--blame", "--json", path)
    return {h["name"]: h for h in found["holders"]}


def test_names_and_bytes(holders):
    """Within a hundredth: whose blocks alone keep a page, and who share one."""
    alone, left, right = (holders[f"pin_{name}"] for name in ("alone", "left", "right"))
    assert alone["alone_bytes"] == pytest.approx(PAGES * PAGE, rel=0.01)
    assert alone["shared_bytes"] <= 0.01 * PAGES * PAGE
    for half in left, right:
        assert half["shared_bytes"] == pytest.approx(PAGES * PAGE / 2, rel=0.01)
        assert half["shared_units"] == pytest.approx(PAGES, rel=0.01)
        assert half["alone_bytes"] <= 0.01 * PAGES * PAGE
    assert "fill" not in holders
    assert list(holders)[0] == "pin_alone"


@pytest.mark.parametrize("freed", ["frees", "frees both"])
def test_second_run(program, holders, freed):
    """The same program without the recorder frees these blocks: within a twentieth."""
    said = (holders["pin_alone"]["alone_bytes"] if freed == "frees" else
            holders["pin_left"]["shared_bytes"] + holders["pin_right"]["shared_bytes"])
    done = subprocess.run([program, str(PAGES), freed], input=b"\n", capture_output=True,
                          env=harness.ENVIRONMENT, timeout=harness.TIMEOUT, check=True)
    given_back = int(done.stdout.split()[1])
    assert given_back == pytest.approx(said, rel=0.05)


def test_pinned_is_a_measure(path, holders):
    """The flame graph's boxes weigh what their blocks keep, alone and their share."""
    flame = harness.ask("ask", "flame", "--measure", "pinned", path)
    kept = sum(h["alone_bytes"] + h["shared_bytes"] for h in holders.values())
    assert flame["total"]["bytes"] == pytest.approx(kept, rel=0.01)
