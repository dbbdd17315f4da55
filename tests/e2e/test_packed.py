# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packed rows, from the command line: every answer and every export is the one that plain rows
give, when they are loaded and when they come from the cache.  tests/unit does the same with random
questions."""
import os

import pytest

import harness

PACKED = {"MEMOIR_PACK_EVENTS": "0", "MEMOIR_PACK_BITS": "7"}
COMMANDS = ["info --json", "report", "leaks --json", "groups --json --by stack",
            "groups --json --by lifetime", "groups --json --by thread --size-min 100",
            "allocations --json --sort lifetime", "allocations --json --filter chain_length>2",
            "allocations --json --sort size --lifetime only_leaked", "functions --json",
            "timeline --json",
            "histogram --json size", "histogram --json lifetime", "fragmentation --json",
            "threads --json", "address-space --json",
            "tree --json --measure peak", "export csv", "export json", "export heaptrack",
            "export massif", "export pprof", "export replay"]


@pytest.fixture(scope="module")
def recording(tmp_path_factory, compile_program):
    """More rows than are open at a time, so that most blocks end when theirs is packed."""
    path = str(tmp_path_factory.mktemp("packed") / "out.dat")
    done = harness.record([compile_program("oracle"), "4", "100000"], path)
    assert done.status == 0
    return path


def answer(path, command, cache, env):
    """What it prints, but for what depends on the moment."""
    done = harness.execute([harness.MEMOIR, *command.split(), path],
                           env=dict(env, XDG_CACHE_HOME=str(cache)))
    assert done.status == 0, done
    return done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_same_answers(recording, tmp_path, command):
    plain = answer(recording, command, tmp_path / "plain", {})
    assert len(plain) > 100
    for _ in range(2):
        assert answer(recording, command, tmp_path / "packed", PACKED) == plain


def test_cache_is_a_third(recording, tmp_path):
    sizes = []
    for env in ({}, {"MEMOIR_PACK_EVENTS": "0"}):
        folder = tmp_path / str(len(sizes))
        answer(recording, "info --json", folder, env)
        [file] = [e for e in os.scandir(folder / "memoir") if e.name.endswith(".columns")]
        sizes.append(file.stat().st_size)
    assert sizes[1] < sizes[0] / 2


def test_number_of_events_decides(recording, tmp_path):
    """As the index has it, not the file's size."""
    events = harness.ask("info", "--json", recording)["events"]
    sizes = []
    for limit in (events, events + 1):
        folder = tmp_path / str(limit)
        answer(recording, "info --json", folder, {"MEMOIR_PACK_EVENTS": str(limit)})
        [file] = [e for e in os.scandir(folder / "memoir") if e.name.endswith(".columns")]
        sizes.append(file.stat().st_size)
    assert sizes[0] < sizes[1] / 2
