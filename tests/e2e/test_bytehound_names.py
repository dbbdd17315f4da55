# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bytehound's names: its clients read our answers into their own types, its commands and filters
are taken.

A shape is a dictionary of fields to types, a list of one shape, or a type; a field with a question
mark may be missing.  More fields than a shape has are ours.  """
import os
import subprocess

import pytest

import harness
from web import Server

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
NUMBER = (int, float)
NULL = type(None)
TIMEVAL = {"secs": int, "fract_nsecs": int}
LISTED = {"id": str, "executable": str, "cmdline": str, "architecture": str, "final_allocated": int,
          "final_allocated_count": int, "runtime": TIMEVAL, "unique_backtrace_count": int,
          "maximum_backtrace_depth": int, "timestamp": TIMEVAL}
SERIES = {name: [int] for name in ("xs", "size_delta", "count_delta", "allocated_size",
                                   "allocated_count", "allocations",
                                   "deallocations")}
MAP_SERIES = {name: [int] for name in ("xs", "address_space", "rss", "anonymous", "dirty", "clean",
                                       "swap")}
FRAME = {"address": int, "address_s": str, "count": int, "library?": str, "function?": str,
         "raw_function?": str,
         "source?": str, "line?": int, "column?": int, "is_inline": bool}
MOMENT = {"timestamp": TIMEVAL, "timestamp_relative": TIMEVAL, "timestamp_relative_p": NUMBER}
FREED = {"timestamp": TIMEVAL, "thread": int, "backtrace_id?": int, "backtrace?": [FRAME]}
ALLOCATION = {"id": int, "address": int, "address_s": str, **MOMENT, "thread": int, "size": int,
              "backtrace_id?": int,
              "deallocation?": FREED, "chain_deallocation?": FREED, "backtrace": [FRAME],
              "is_mmaped": bool,
              "is_jemalloc": bool, "in_main_arena": bool, "extra_space": int,
              "chain_lifetime?": TIMEVAL,
              "position_in_chain": int, "chain_length": int}
SUMS = {"size": int, "min_size": int, "max_size": int, "min_timestamp": TIMEVAL,
        "min_timestamp_relative": TIMEVAL,
        "min_timestamp_relative_p": NUMBER, "max_timestamp": TIMEVAL,
        "max_timestamp_relative": TIMEVAL,
        "max_timestamp_relative_p": NUMBER, "interval": TIMEVAL, "leaked_count": int,
        "allocated_count": int,
        "graph_preview_url": (str, NULL), "graph_url": (str, NULL)}
GROUP = {"all": SUMS, "only_matched": SUMS, "backtrace_id": int, "backtrace": [FRAME]}
SOURCE = {**MOMENT, "thread": int, "backtrace_id": int, "backtrace": [FRAME]}
MAP = {"id": int, "address": int, "address_s": str, **MOMENT, "size": int, "source?": SOURCE,
       "deallocation?": {"timestamp": TIMEVAL, "source?": SOURCE}, "is_readable": bool,
       "is_writable": bool,
       "is_executable": bool, "is_shared": bool, "name": str, "peak_rss": int,
       "graph_preview_url": (str, NULL),
       "graph_url": (str, NULL)}
PER_FILE = {"count": int, "size": int, "per_file": dict}
ANSWERS = {
    "timeline": SERIES, "timeline_leaked": SERIES, "timeline_maps": MAP_SERIES,
    "allocations": {"allocations": [ALLOCATION], "total_count": int},
    "allocation_groups?generate_graphs=true": {"allocations": [GROUP], "total_count": int},
    "maps": {"maps": [MAP], "total_count": int},
    "backtraces": {"backtraces": [[FRAME]], "total_count": int},
    "backtrace/2": {"frames": [FRAME]},
    "raw_allocations": [{"backtrace": [str]}],
    "tree": {"size": int, "count": int, "first": NUMBER, "last": NUMBER, "children": list},
    "regions": {"main_heap_start": int, "main_heap_end": int, "main_heap_start_s": str,
                "main_heap_end_s": str,
                "regions": [[int]]},
    "dynamic_constants": PER_FILE, "dynamic_statics": PER_FILE,
}


def faults(shape, value, where="answer"):
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [f"{where}: {value!r} is no object"]
        found = []
        for name, inner in shape.items():
            key = name.rstrip("?")
            if key in value:
                found += faults(inner, value[key], f"{where}.{key}")
            elif not name.endswith("?"):
                found.append(f"{where}.{key} is missing")
        return found
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no array"]
        return [f for i, v in enumerate(value) for f in faults(shape[0], v, f"{where}[{i}]")]
    right = (isinstance(value, shape)
             and (shape in (bool, (str, NULL)) or not isinstance(value, bool)))
    return [] if right else [f"{where}: {value!r}"]


@pytest.fixture(scope="module")
def recording(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("bytehound") / "choosing.dat")
    done = harness.record(
        [compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], path)
    assert done.status == 0, done.run
    return path


@pytest.fixture(scope="module")
def server(recording):
    with Server(recording) as running:
        running.loaded()
        yield running


@pytest.mark.parametrize("question", ANSWERS)
def test_answers_have_their_shapes(server, question):
    assert faults(ANSWERS[question], server.data(question)) == []


@pytest.mark.parametrize("path",
                         ["export/flamegraph", "export/flamegraph/a.svg", "export/flamegraph.pl",
                          "export/flamegraph.pl/a.txt", "export/heaptrack",
                          "export/heaptrack/a.dat",
                          "export/replay", "export/replay/a.dat", "allocation_ascii_tree",
                          "dynamic_constants/a.json", "dynamic_constants_ascii_tree",
                          "dynamic_statics_ascii_tree/a.txt"])
def test_paths_are_there(server, path):
    answer = server.ask("/data/last/" + path)
    assert answer.status == 200 and answer.body


def test_list_is_whole_while_a_file_loads(recording, tmp_path):
    """And of a file that cannot be loaded, and of one of another kind."""
    large, broken = tmp_path / "large.dat", tmp_path / "broken.dat"
    subprocess.run([GENERATE, large, "6000000", "4", "1", "2", "lz4"], check=True,
                   stdout=subprocess.DEVNULL)
    with open(recording, "rb") as file:
        broken.write_bytes(file.read(200))
    statistics = os.path.join(harness.ROOT, "tests", "data", "jemalloc", "json_small.json")
    dump = os.path.join(harness.ROOT, "tests", "data", "jemalloc", "out.heap")
    with Server(large, broken, statistics, dump, recording,
                env={"XDG_CACHE_HOME": str(tmp_path)}) as server:
        states = set()

        def look(listed):
            assert faults([LISTED], listed) == []
            states.update(r["state"] for r in listed)
            return all(r["state"] != "loading" for r in listed)
        server.wait(look, "all files")
        assert {"loading", "ready"} <= states


def test_maps_are_all_there(compile_program, tmp_path):
    path = str(tmp_path / "maps.dat")
    done = harness.record([compile_program("maps_more"), "threads", "2", "150"], path, timeout=120)
    assert done.status == 0, done.run
    with Server(path) as server:
        server.loaded()
        found = server.data("maps")
        assert len(found["maps"]) == found["total_count"] > 200
        assert faults([MAP], found["maps"]) == []
        assert server.data("maps", skip=3, count=2)["maps"] == found["maps"][3:5]


@pytest.mark.parametrize(
    "name", ["lifetime_min", "lifetime_max", "chain_lifetime_min", "chain_lifetime_max",
             "group_interval_min", "group_interval_max"])
def test_shares_of_the_run_time(server, name):
    listed, = server.json("/list")
    runtime = listed["runtime"]["secs"] * 10**9 + listed["runtime"]["fract_nsecs"]
    for percent in (0, 1, 25, 100):
        share = server.data("allocations", stacks="false", **{name: f"{percent}%"})
        # The same as a duration; a whole microsecond is the shortest that Bytehound can name.
        same = server.data("allocations", stacks="false", **{name: f"{runtime * percent // 100}ns"})
        assert share["total_count"] == same["total_count"], (name, percent)
    assert server.data("allocations", stacks="false", lifetime_min="50%")["total_count"] < \
        server.data("allocations", stacks="false", lifetime_min="0%")["total_count"]


@pytest.mark.parametrize("command, same", [(["export-heaptrack"], ["export", "heaptrack"]),
                                           (["export-replay"], ["export", "replay"]),
                                           (["repack", "--disable-compression"],
                                            ["repack", "-c", "none"])])
def test_commands(recording, tmp_path, command, same):
    for name, words in (("theirs", command), ("ours", same)):
        done = harness.execute([harness.MEMOIR, *words, "-o", str(tmp_path / name), recording])
        assert done.status == 0, done
    assert (tmp_path / "theirs").stat().st_size == (tmp_path / "ours").stat().st_size > 0
    said = harness.execute([harness.MEMOIR, command[0], "--help"])
    assert said.status == 0 and said.stdout
    assert harness.execute([harness.MEMOIR, "help", command[0]]).stdout == said.stdout
