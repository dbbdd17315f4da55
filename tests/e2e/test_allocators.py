# SPDX-License-Identifier: MIT OR Apache-2.0
"""The program keeps its allocator: other malloc libraries before and behind the recorder."""
import glob
import json
import os

import pytest

import harness

LIBRARIES = {
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}
KEYS = ("allocations", "deallocations", "reallocations", "allocated_bytes")


def library(name):
    found = glob.glob(f"/usr/lib/*/{LIBRARIES[name]}") + glob.glob(f"/usr/lib/{LIBRARIES[name]}")
    if not found:
        pytest.skip(f"no {LIBRARIES[name]}")
    return found[0]


@pytest.mark.parametrize("order", ["behind", "before"])
@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("threads", [1, 4])
def test_oracle(compile_program, record, name, order, threads):
    """Everything is recorded, whichever library is first."""
    other = [library(name)]
    recording = record([compile_program("oracle"), threads, 30000], mode="preload",
                       preload=other if order == "before" else (),
                       after=other if order == "behind" else ())
    assert recording.status == 0, recording.run
    counted = json.loads(recording.stdout)
    assert recording.info["lost_events"] == 0
    made, again = recording.total("oracle_alloc"), recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert made["leaked_count"] + again["leaked_count"] == (
        counted["allocations"] - counted["reallocations"] - counted["deallocations"])


@pytest.mark.parametrize("name", LIBRARIES)
def test_run_keeps_preload(compile_program, tmp_path, name):
    """`memoir run` puts the recorder in front of what LD_PRELOAD already names."""
    path = str(tmp_path / "out.dat")
    run = harness.execute([harness.MEMOIR, "run", "-o", path, "--", compile_program("oracle"), "1",
                           "20000"], env={"LD_PRELOAD": library(name)})
    assert run.status == 0, run
    counted = json.loads(run.stdout)
    recording = harness.Recording(path, run)
    made, again = recording.total("oracle_alloc"), recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("program", ["throw", "stacks_cxx", "tls_order", "longjmp", "cancel"])
def test_hazards(compile_program, name, program, tmp_path):
    """C++ operators of another allocator, exceptions and thread ends."""
    path = str(tmp_path / "out.dat")
    command = [compile_program(program)]
    plain = harness.execute(command, env={"LD_PRELOAD": library(name)})
    recording = harness.record(command, path, mode="preload", after=[library(name)])
    assert recording.stdout == plain.stdout
    assert recording.status == plain.status
    assert recording.info["lost_events"] == 0
    assert recording.info["unknown_frees"] == 0
    if program == "stacks_cxx":
        sizes = recording.by_size()
        assert any("shop::Derived::make" in f for f in sizes[2001])
        assert 2002 in sizes and 2003 in sizes


def test_usable_size_is_the_allocators(compile_program, tmp_path):
    for name in LIBRARIES:
        plain = harness.execute([compile_program("semantics")], env={"LD_PRELOAD": library(name)})
        recorded = harness.record([compile_program("semantics")], str(tmp_path / f"{name}.dat"),
                                  mode="preload", after=[library(name)])
        assert recorded.stdout == plain.stdout, name


def check_mallocx(recording):
    assert recording.total("make")["allocations"] == 100
    assert recording.total("make")["allocated_bytes"] == 100000
    assert recording.total("grow")["allocations"] == 100
    assert recording.total("grow")["leaked_count"] == 0


def test_linked_jemalloc(compile_program, record, tmp_path):
    """A program that is linked with jemalloc, and calls its own API."""
    source = os.path.join(harness.PROGRAMS, "mallocx.c")
    program = tmp_path / "own"
    if os.system(f"gcc -O1 -g {source} -o {program} -ljemalloc"):
        pytest.skip("no jemalloc to link with")
    recording = record([program])
    assert recording.status == 0
    check_mallocx(recording)
