# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory that libc maps for itself: who it was for, and what else changes memory."""
import os
import re
import subprocess

import pytest

import harness
import serving
from test_maps import MODES, maps_of

MIB = 1 << 20


def functions(thing):
    return [f.get("function") for f in thing.get("backtrace", [])]


def addresses(output):
    """{word: [address, …]} of what the program said."""
    found = {}
    for word, address in re.findall(rb"(\w+) 0x([0-9a-f]+)", output):
        found.setdefault(word.decode(), []).append(int(address, 16))
    return found


def holder(maps, address):
    found = [m for m in maps
             if any(r["address"] <= address < r["address"] + r["size"] for r in m["regions"])]
    assert found, hex(address)
    return found


def made_by(maps, address, function, call):
    """The one map of libc's that an address was in, made for this function."""
    m, = (m for m in holder(maps, address) if m["name"] == "[anon:glibc]"
          and function in functions(m["source"]))
    assert m["source"]["call"] == call
    return m


def calls(path, which):
    return harness.ask("ask", "mallopts", "--call", which, path)


@pytest.fixture(scope="module", params=MODES)
def recorded(request, compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("libc") / "out.dat")
    return harness.record([compile_program("libc_maps")], path, mode=request.param)


def test_libc_is_hooked(recorded):
    assert recorded.status == 0
    assert recorded.info["libc_maps"] == "seen"
    text = harness.execute([harness.MEMOIR, "info", recorded.path]).stdout.decode()
    assert "libc's maps" not in text


def test_for_whom(recorded):
    maps, said = maps_of(recorded.path), addresses(recorded.stdout)
    large = made_by(maps, said["large"][0], "large_block", "mmap")
    assert large["size"] == 3 * MIB + 4096
    # It was freed just before the end: it has not stayed.
    assert large["deallocation"]["source"]["call"] == "munmap"
    regrown = made_by(maps, said["regrown"][0], "regrown_block", "mremap")
    assert regrown["size"] == 16 * MIB + 4096
    assert regrown["deallocation"]["source"]["call"] == "munmap"
    stack = made_by(maps, said["stack"][0], "thread_is_made", "mmap")
    assert 3 * MIB <= stack["size"] <= 3 * MIB + (64 << 10)
    arena = made_by(maps, said["arena"][0], "arena_is_made", "mmap")
    assert arena["size"] == 128 * MIB  # of which libc gives half back to have it aligned
    assert sum(r["size"] for r in arena["regions"] if "deallocation" not in r) == 64 * MIB
    handled = made_by(maps, said["handled"][0], "handler", "mmap")
    assert "handler_maps" in functions(handled["source"])
    left = [m for m in maps if m["name"] == "[anon:glibc]" and "deallocation" not in m]
    assert large not in left and regrown not in left and arena in left


def test_heap(recorded):
    """Who made it larger first, and what each has added."""
    said = addresses(recorded.stdout)
    changes = calls(recorded.path, "brk")
    grown = [c for c in changes if not c["shrinks"]]
    for a, b in zip(changes, changes[1:]):
        end = a["address"] + (0 if a["shrinks"] else a["size"])
        assert end == b["address"] + (b["size"] if b["shrinks"] else 0)
    own, = (c for c in grown if "moves_break" in functions(c))
    assert own["size"] == 40960 and own["address"] == said["break"][0]
    assert functions(own)[-3:] == ["moves_break", *functions(own)[-2:]]
    assert any("heap_grows" in functions(c) and c["address"] <= said["heap"][0] for c in grown)
    heaps = [m for m in maps_of(recorded.path) if m["name"] == "[heap]"]
    for heap in heaps:  # a sample may come too late
        assert heap["source"]["call"] == "brk"
        assert sum(g["bytes"] for g in heap["grown_by"]) == sum(c["size"] for c in grown)
        assert sum(g["calls"] for g in heap["grown_by"]) == len(grown)


def test_mapped_by_the_program(recorded):
    """What libc maps for itself is not what the program mapped itself."""
    series = harness.ask("maps", "--timeline", "--json", recorded.path)
    assert 0 < max(series["mapped"]) <= 2 * MIB


def test_no_call_twice(recorded):
    """The program's own calls come through libc's hooked function, too."""
    maps, said = maps_of(recorded.path), addresses(recorded.stdout)
    own = [m for m in maps if m["size"] == 7 * 4096 and "source" in m]
    assert sorted(m["address"] for m in own) == sorted(said["own"])
    for m in own:
        assert functions(m["source"])[-2:] == ["maps_itself", m["source"]["call"]]
        assert m["name"] == "[anon:mmap]"


def test_changes(recorded):
    said = addresses(recorded.stdout)
    map_at, = said["advised"]
    advices = [c for c in calls(recorded.path, "madvise") if "gives_back" in functions(c)]
    own = [c for c in advices if functions(c)[-2] == "gives_back"]
    assert [(c["address"], c["size"], c["advice"]) for c in own] == [
        (map_at + 8192, 65536, "MADV_DONTNEED"), (map_at, MIB, "MADV_HUGEPAGE")]
    protected, = (c for c in calls(recorded.path, "mprotect") if "gives_back" in functions(c))
    assert (protected["address"], protected["size"]) == (map_at, 4096)
    assert protected["is_readable"] and not protected["is_writable"]
    trimmed, = calls(recorded.path, "malloc_trim")
    assert trimmed["pad"] == 64 and functions(trimmed)[-2:] == ["gives_back", "malloc_trim"]


def test_mallopts(recorded):
    """As Bytehound has them."""
    found = calls(recorded.path, "mallopt")
    assert [(c["raw_param"], c.get("param"), c["value"], c["result"]) for c in found[:2]] == [
        (-3, "M_MMAP_THRESHOLD", 131072, 1), (-8, "M_ARENA_MAX", 7, 1)]
    assert (found[2]["raw_param"], found[2]["value"]) == (12345, -1) and "param" not in found[2]
    for c in found:
        assert functions(c)[-2:] == ["options_are_set", "mallopt"]
        assert c["thread"] == recorded.info["pid"] and c["timestamp"]["secs"] > 0
    with serving.Server(recorded.path) as server:
        one, = server.ready()
        assert server.get(f"/data/{one['id']}/mallopts") == found


def test_child(compile_program, tmp_path):
    """In a forked child they are seen, too; recording never begins inside libc."""
    path = str(tmp_path / "out-%p.dat")
    done = harness.record([compile_program("libc_maps"), "forks"], path, finished=False,
                          options=("--children",))
    assert done.status == 0
    address, = addresses(done.stdout)["child"]
    found = []
    for name in sorted(os.listdir(tmp_path)):
        if not name.endswith(".dat"):
            continue
        harness.wait_finished(str(tmp_path / name))
        info = harness.ask("info", "--json", str(tmp_path / name))
        assert info["libc_maps"] == "seen"
        if info["origin"] == "fork":
            maps = maps_of(str(tmp_path / name))
            found += [b for b in harness.ask("allocations", "--json", "--no-cache",
                                             str(tmp_path / name))["allocations"]
                      if b["size"] == 6 * MIB]
            assert not any(m["size"] == 7 * 4096 and "source" not in m for m in maps)
    assert [b["address"] for b in found] == [address]


def test_not_asked_for(compile_program, tmp_path):
    """Without maps nothing is hooked; options are recorded all the same."""
    path = str(tmp_path / "out.dat")
    recorded = harness.record([compile_program("libc_maps")], path,
                              env={"MEMORY_PROFILER_GATHER_MAPS": "0"})
    assert recorded.status == 0 and "libc_maps" not in recorded.info
    assert maps_of(path) == []
    assert {c["call"] for c in calls(path, "all")} == {"mallopt", "malloc_trim"}


def test_code_that_may_not_be_changed(compile_program, tmp_path):
    """A service manager's filter forbids memory that is writable and executable."""
    path = str(tmp_path / "out.dat")
    launcher, program = compile_program("no_new_code"), compile_program("libc_maps")
    env = dict(harness.ENVIRONMENT, MEMORY_PROFILER_OUTPUT=path)
    done = subprocess.run([launcher, f"LD_PRELOAD={harness.LIBRARY}", program], env=env,
                          capture_output=True, check=True, timeout=harness.TIMEOUT)
    harness.wait_finished(path)
    info = harness.ask("info", "--json", path)
    assert info["libc_maps"] == "the system does not let us change its code"
    text = harness.execute([harness.MEMOIR, "info", path]).stdout.decode()
    assert "libc's maps" in text and "from outside only" in text
    maps, said = maps_of(path), addresses(done.stdout)
    assert sorted(m["address"] for m in maps if m["size"] == 7 * 4096 and "source" in m
                  ) == sorted(said["own"])
    assert not any(m["name"] == "[anon:glibc]" for m in maps)
    assert len(calls(path, "mallopt")) == 3
