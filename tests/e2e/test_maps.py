# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory maps: who made them, what became of their parts, how much of them was resident."""
import contextlib
import os
import subprocess
import time
import urllib.error

import pytest

import harness
import serving

PAGE = 4096
MODES = ["run", "preload"]
NAMED = {"MEMORY_PROFILER_DISABLE_PR_SET_VMA_ANON_NAME": "0"}


class Steps:
    """A program that says after each step that it is done, and waits for a line."""

    def __init__(self, process, path):
        self.process, self.path = process, path

    def reached(self, letter):
        assert self.process.stdout.read(1) == letter

    def go_on(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()


@contextlib.contextmanager
def running(program, path, mode, env=None, arguments=()):
    env = dict(harness.ENVIRONMENT, **(env or {}))
    command = [program, *arguments]
    if mode == "run":
        command = [harness.MEMOIR, "run", "-o", path, "--", *command]
    else:
        env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
    process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL)
    try:
        yield Steps(process, path)
        process.stdin.close()
        assert process.wait(timeout=harness.TIMEOUT) == 0
        harness.wait_finished(path, timeout=harness.TIMEOUT)
    finally:
        for pid in [*harness.descendants(process.pid), process.pid]:
            harness.kill(pid)
        process.wait()
        process.stdout.close()


def maps_of(path, *options):
    return harness.ask("maps", "--json", "--no-cache", "--regions", "--history", *options,
                       path)["maps"]


def of_source(maps, source):
    """The maps that a source file has made itself, not libc for it, in order of time."""
    return [m for m in maps if m["name"] not in ("[anon:glibc]", "[heap]")
            and any(f.get("source", "").endswith(source)
for f in m.get("source", {}).get("backtrace", []))]


def stamp(thing, key="timestamp"):
    return thing[key]["secs"] * 10**9 + thing[key]["fract_nsecs"]


def check_regions(maps):
    """What the seven maps and the one that replaced a page of the last consist of."""
    assert [m["name"] for m in maps] == ["[anon:mmap]"] * 8
    assert [m["size"] // PAGE for m in maps] == [123, 5, 6, 7, 7, 7, 7, 1]
    assert [len(m["regions"]) for m in maps] == [1, 1, 1, 2, 2, 3, 2, 1]
    for m in maps:
        first = m["regions"][0]
        assert (first["address"], first["size"]) == (m["address"], m["size"])
        assert first["timestamp"] == m["timestamp"] == m["source"]["timestamp"]
        assert (m["is_readable"] and m["is_writable"] and not m["is_executable"]
                and not m["is_shared"])
        assert {r["name"] for r in m["regions"]} == {"[anon:mmap]"}
    assert ["deallocation" in m for m in maps] == [False, False, True] + [False] * 5
    times = [stamp(m) for m in maps]
    assert times == sorted(times) and len(set(times)) == 8

    untouched, touched, whole, at_start, at_end, in_middle, replaced, new = maps
    for m in untouched, touched, new:
        assert "deallocation" not in m["regions"][0]
    ended = whole["regions"][0]["deallocation"]
    assert ended["timestamp"] == whole["deallocation"]["timestamp"]
    assert ended["sources"][0]["source"] == whole["deallocation"]["source"]
    assert whole["deallocation"]["source"]["call"] == "munmap"

    def parts(m):
        return [((r["address"] - m["address"]) // PAGE, r["size"] // PAGE) for r in m["regions"]]

    def end_of(m):
        (source,) = m["regions"][0]["deallocation"]["sources"]
        return ((source["address"] - m["address"]) // PAGE, source["length"] // PAGE,
                source["source"])

    assert parts(at_start) == [(0, 7), (1, 6)]
    assert parts(at_end) == [(0, 7), (0, 6)]
    assert parts(in_middle) == [(0, 7), (0, 3), (4, 3)]
    assert parts(replaced) == [(0, 7), (0, 6)]
    assert new["address"] == replaced["address"] + 6 * PAGE
    assert [end_of(m)[:2] for m in (whole, at_start, at_end, in_middle, replaced)] == [
        (0, 6), (0, 1), (6, 1), (3, 1), (6, 1)]
    assert [end_of(m)[2]["call"] for m in (at_start, at_end, in_middle, replaced)] == [
        "munmap"] * 3 + ["mmap"]
    assert end_of(replaced)[2] == new["source"]
    for m in at_start, at_end, in_middle, replaced:
        first, *rest = m["regions"]
        assert stamp(first) < stamp(first["deallocation"])
        for region in rest:
            assert region["timestamp"] == first["deallocation"]["timestamp"]
            assert "deallocation" not in region


def check_usage(maps):
    """What of them was resident when."""
    untouched, touched, whole, at_start, at_end, in_middle, replaced, new = [
        m["usage_history"] for m in maps]
    for history in [m["usage_history"] for m in maps]:
        times = [stamp(u) for u in history]
        assert times == sorted(times) and len(set(times)) == len(times)
        assert history[0]["rss"] == 0
    assert [(u["address_space"], u["rss"]) for u in untouched] == [(123 * PAGE, 0)]
    assert [(u["address_space"], u["rss"]) for u in touched][::len(touched) - 1] == [
        (5 * PAGE, 0), (5 * PAGE, 8192)]
    last = touched[-1]
    assert last["anonymous"] == last["private_dirty"] == 8192
    assert (last["shared_clean"] == last["shared_dirty"] == last["private_clean"] == last["swap"] ==
            0)
    assert [(u["address_space"], u["rss"]) for u in whole] == [(6 * PAGE, 0), (0, 0)]
    for history in at_start, at_end, in_middle, replaced:
        assert [u["rss"] for u in history] == [0, 0]
    assert [[u["address_space"] // PAGE for u in h] for h in (
        at_start, at_end, in_middle, replaced)] == [
        [7, 6], [7, 6], [7, 6], [7, 6]]
    assert [(u["address_space"], u["rss"]) for u in new] == [(PAGE, 0)]
    assert [m["peak_rss"] for m in maps] == [0, 8192, 0, 0, 0, 0, 0, 0]


def wait_for_maps(path, condition, what):
    """Until what has been written of a recording so far fulfils a condition."""
    def fulfilled():
        try:
            return condition(maps_of(path, "--live"))
        except AssertionError:  # it is not there yet
            return False
    harness.wait_for(fulfilled, timeout=2 * harness.TIMEOUT, what=what)


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_mmap(compile_program, tmp_path, mode, named):
    """Whole maps, untouched and touched ones, and maps that lose their start, end, middle, last
    page."""
    path = str(tmp_path / "out.dat")
    program = compile_program("maps", flags=("-O0",))
    with running(program, path, mode, env=NAMED if named else None) as steps:
        steps.reached(b"1")
        wait_for_maps(path, lambda maps: any(m["name"] == "[stack]" for m in maps),
                      "a first sample")
        steps.go_on()
        steps.reached(b"2")
        wait_for_maps(path, lambda maps: sum(m["peak_rss"] for m in of_source(maps, "maps.c")) ==
                      8192,
                      "a sample of what was touched")
        steps.go_on()
    maps = maps_of(path)
    check_regions(of_source(maps, "maps.c"))
    check_usage(of_source(maps, "maps.c"))
    # Those that nobody was seen to make.
    names = [m["name"] for m in maps if "source" not in m]
    assert "[stack]" in names and program in names and any("/libc.so" in name for name in names)
    (stack,) = [m for m in maps if m["name"] == "[stack]"]
    assert stack["peak_rss"] > 0 and stack["is_writable"] and not stack["is_shared"]
    # The recorder's own are told from the program's.
    own = [m for m in maps if m["is_own"]]
    assert own and not any("source" in m for m in own)
    assert {m["name"].split(" ")[0] for m in own} == {"[anon:memoir]", "/memfd:memoir"}


def test_not_gathered(compile_program, tmp_path):
    """Two names for the same switch."""
    for name in "MEMORY_PROFILER_GATHER_MAPS", "MEMORY_PROFILER_GATHER_MMAP_CALLS":
        path = str(tmp_path / f"{name}.dat")
        recording = harness.record([compile_program("maps", flags=("-O0",))], path, env={name: "0"},
                                   stdin=b"\n\n")
        assert recording.status == 0
        assert maps_of(path) == []
        assert os.path.getsize(path)


def facts(output):
    return [line.split() for line in output.decode().splitlines()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env", [{}, {"MEMORY_PROFILER_CULL_TEMPORARY_ALLOCATIONS": "1"}],
                         ids=["all", "culled"])
def test_many_threads(compile_program, record, mode, env):
    """Addresses go from thread to thread; every map has its own end, and what was kept is kept."""
    recording = record([compile_program("maps_more"), "threads", "6", "500"], mode=mode, env=env,
                       timeout=120)
    assert recording.status == 0
    kept = {int(address): int(size) for _, address, size in facts(recording.stdout)}
    assert len(kept) == 6 * 10
    maps = of_source(maps_of(recording.path), "maps_more.c")
    assert len(maps) == 6 * 500
    assert {m["address"]: m["size"] for m in maps if "deallocation" not in m} == kept
    assert len({m["source"]["thread"] for m in maps}) == 6
    for m in maps:
        assert len(m["regions"]) == 1
        if "deallocation" not in m:
            continue
        (source,) = m["regions"][0]["deallocation"]["sources"]
        assert (source["address"], source["length"]) == (m["address"], m["size"])
        assert source["source"]["call"] == "munmap"
        assert source["source"]["thread"] == m["source"]["thread"]
        assert stamp(m) < stamp(m["deallocation"])


@pytest.mark.parametrize("mode", MODES)
def test_race(compile_program, record, mode):
    """Eight threads unmap and replace each other's maps: nothing is missing, nothing is there
    twice, and of what is left the oracle is the program."""
    recording = record([compile_program("maps_race"), "8", "1500"], mode=mode, timeout=120)
    assert recording.status == 0
    lines = facts(recording.stdout)
    counts = {word: int(number) for word, number in (line for line in lines if len(line) == 2)}
    assert counts["foreign"] > 2000 and counts["over"] > 1000
    maps = of_source(maps_of(recording.path), "maps_race.c")
    assert len(maps) == counts["made"]
    assert {m["address"]: m["size"] for m in maps if "deallocation" not in m} == {
        int(line[1]): int(line[2]) for line in lines if line[0] == "left"}
    assert len({m["source"]["thread"] for m in maps}) == 8
    ended = [m["deallocation"]["source"] for m in maps if "deallocation" in m]
    assert sum(e["call"] == "mmap" for e in ended) == counts["over"]
    assert all(e["call"] in ("munmap", "mmap") for e in ended)
    assert sum(m["source"]["thread"] != m["deallocation"]["source"]["thread"]
               for m in maps if "deallocation" in m) >= counts["foreign"]
    # Two are never at one address at one time.
    lives = sorted((r["address"], r["size"], stamp(r),
                    stamp(r["deallocation"]) if "deallocation" in r else 2**63)
                   for m in maps for r in m["regions"])
    by_page = {}
    for address, size, begun, gone in lives:
        for page in range(address, address + size, PAGE):
            by_page.setdefault(page, []).append((begun, gone))
    for spans in by_page.values():
        spans.sort()
        assert all(a[1] <= b[0] for a, b in zip(spans, spans[1:]))


def processor_ns(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as text:
        return int(text.read().split()[0])


def test_polling_is_cheap(compile_program, tmp_path):
    """With 2,000 mappings the collector takes less than a hundredth of a core to look at them."""
    path = str(tmp_path / "out.dat")
    with running(compile_program("maps_many"), path, "run", arguments=("2000",)) as steps:
        steps.reached(b"1")
        program, = harness.descendants(steps.process.pid)
        with open(f"/proc/{program}/maps", encoding="ascii", errors="replace") as text:
            assert len(text.readlines()) > 2000
        time.sleep(3)  # the first samples are closer together
        before, began = processor_ns(steps.process.pid), time.monotonic()
        time.sleep(5)
        took = processor_ns(steps.process.pid) - before
        share = took / 1e9 / (time.monotonic() - began)
        print(f"{100 * share:.2f} % of a core")
        steps.go_on()
    assert 0.0005 < share < 0.01  # it does look


def test_remap(compile_program, record):
    """What is moved or grown ends where it was and begins anew; what shrinks loses its end."""
    recording = record([compile_program("maps_more", flags=("-O0",)), "remap"])
    at = {name: int(address) for name, address in facts(recording.stdout)}
    room, a, grown, fixed = of_source(maps_of(recording.path), "maps_more.c")
    assert [m["source"]["call"] for m in (room, a, grown, fixed)] == [
        "mmap", "mmap", "mremap", "mremap"]
    assert [m["size"] // PAGE for m in (room, a, grown, fixed)] == [64, 4, 12, 6]
    assert (room["address"], a["address"]) == (at["a"], at["a"])
    assert (grown["address"], fixed["address"]) == (at["grown"], at["fixed"])
    assert not room["is_readable"] and "deallocation" not in room

    def ends(m):
        return [((s["address"] - m["address"]) // PAGE, s["length"] // PAGE, s["source"]["call"])
                for r in m["regions"] for s in r.get("deallocation", {"sources": []})["sources"]]

    assert ends(room) == [(0, 4, "mmap"), (32, 6, "mremap")]
    assert ends(a) == [(0, 4, "mremap")]
    assert ends(grown) == [(5, 7, "mremap"), (0, 5, "mremap")]
    assert ends(fixed) == [(2, 1, "munmap")]
    assert a["deallocation"]["source"]["backtrace"] == grown["source"]["backtrace"]
    for m in grown, fixed:  # as what they were made of
        assert m["name"] == "[anon:mmap]" and m["is_writable"] and not m["is_executable"]


@pytest.mark.parametrize("mode", MODES)
def test_failing_calls(compile_program, compare, mode):
    """No event, and the same error as without the recorder."""
    recording = compare([compile_program("maps_more"), "fail"], mode=mode)
    (one,) = of_source(maps_of(recording.path), "maps_more.c")
    assert one["size"] == 2 * PAGE and "deallocation" not in one and len(one["regions"]) == 1


def test_files_and_permissions(compile_program, tmp_path):
    """A file's name and offset, shared memory, and what mprotect has changed."""
    path = str(tmp_path / "out.dat")
    program = compile_program("maps_more", flags=("-O0",))
    with running(program, path, "run", arguments=("files", program)) as steps:
        while steps.process.stdout.readline() != b"ready\n":
            pass
        wait_for_maps(path, lambda maps: any(len(m["regions"]) > 1
                                             for m in of_source(maps, "maps_more.c")),
                      "the changed permissions")
        steps.go_on()
    file, shared = of_source(maps_of(path), "maps_more.c")
    assert file["name"] == program and not file["is_writable"] and not file["is_shared"]
    assert (file["regions"][0]["file_offset"] == PAGE
            and file["regions"][0]["inode"] == os.stat(program).st_ino)
    assert shared["is_shared"] and shared["peak_rss"] == PAGE
    whole, *parts = shared["regions"]
    assert whole["is_writable"] and whole["deallocation"]["sources"] == []
    assert sorted((r["address"] - shared["address"], r["size"], r["is_writable"])
                  for r in parts) == [
        (0, PAGE, True), (PAGE, PAGE, False)]
    # Which permissions a map has can be asked for.
    assert [m["id"] for m in maps_of(path, "--id", str(file["id"]), "--writable",
                                     "only_false")] == [file["id"]]
    assert maps_of(path, "--id", str(file["id"]), "--shared", "only_true") == []


def test_jemalloc(compile_program, tmp_path):
    """What another allocator maps for itself has a name, and a stack."""
    library = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    if not os.path.exists(library):
        pytest.skip("no jemalloc")
    path = str(tmp_path / "out.dat")
    run = harness.record([compile_program("heap_maps", flags=("-O0",))], path, mode="preload",
                         after=[library],
                         stdin=b"\n")
    assert run.status == 0
    maps = maps_of(path, "--jemalloc", "only_true")
    assert maps and {m["name"] for m in maps} == {"[anon:jemalloc]"}
    assert all(any(f.get("library", "").startswith("libjemalloc") for f in m["source"]["backtrace"])
               for m in maps)
    (large,) = [a for a in harness.ask("allocations", "--json", path)["allocations"]
                if a["size"] == 10000000]
    (holder,) = [m for m in maps if m["address"] <= large["address"] < m["address"] + m["size"]]
    found = harness.ask("allocations", "--json", "--from-map", str(holder["id"]),
                        path)["allocations"]
    assert large["id"] in [a["id"] for a in found]


def test_child(compile_program, tmp_path):
    """A child's recording has the maps that it inherited, and those that it made itself."""
    env = {"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
    run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "%p.dat"), "--",
                           compile_program("maps_more", flags=("-O0",)), "child"], env=env)
    assert run.status == 0
    found = []
    for name in sorted(n for n in os.listdir(tmp_path) if n.endswith(".dat")):
        harness.wait_finished(str(tmp_path / name), timeout=harness.TIMEOUT)
        found.append([m["size"] // PAGE
                      for m in of_source(maps_of(str(tmp_path / name)), "maps_more.c")])
    assert sorted(found) == [[3], [3, 9]]


@pytest.fixture(scope="module")
def finished(compile_program, tmp_path_factory):
    """A recording with maps, and what memoir maps says about it."""
    path = str(tmp_path_factory.mktemp("maps") / "out.dat")
    with running(compile_program("maps", flags=("-O0",)), path, "run") as steps:
        steps.reached(b"1")
        steps.go_on()
        steps.reached(b"2")
        wait_for_maps(path, lambda maps: any(m["peak_rss"] == 8192
                                             for m in of_source(maps, "maps.c")), "a sample")
        steps.go_on()
    return path, maps_of(path)


@pytest.mark.parametrize("tool", [["repack"], ["repack", "-c", "none"], ["strip"], ["postprocess"]])
def test_tools_keep_maps(finished, tmp_path, tool):
    path, before = finished
    other = str(tmp_path / "other.dat")
    assert harness.execute([harness.MEMOIR, *tool, "-o", other, path]).status == 0

    def essence(maps):
        return [(m["address"], m["size"], m["name"], m["timestamp"],
                 m.get("deallocation", {}).get("timestamp"),
                 m["usage_history"],
                 [(r["address"], r["size"], r["timestamp"]) for r in m["regions"]],
                 m.get("source", {}).get("backtrace")) for m in maps]

    assert essence(maps_of(other)) == essence(before)


def test_anonymized(finished, tmp_path):
    """Paths go, what the kernel calls its regions stays."""
    path, before = finished
    other = str(tmp_path / "other.dat")
    assert harness.execute(
        [harness.MEMOIR, "postprocess", "-a", "full", "-o", other, path]).status == 0
    after = maps_of(other)
    assert len(after) == len(before)
    for was, now in zip(before, after):
        assert (now["address"], now["peak_rss"]) == (was["address"], was["peak_rss"])
        assert "/" not in now["name"]
        if was["name"] in ("[stack]", "[anon:mmap]", "[anon:memoir]"):
            assert now["name"] == was["name"]
    assert any(region["inode"] not in (0, 1) for m in before for region in m["regions"])
    assert all(region["inode"] in (0, 1) for m in after for region in m["regions"])


def test_command(finished):
    """Filters, orders, and the other ways to print."""
    path, maps = finished
    everything = range(len(maps))
    assert [m["id"] for m in maps] == list(everything)

    def ids(*options):
        return [m["id"] for m in harness.ask("maps", "--json", "--no-cache", *options,
                                             path)["maps"]]

    by_size = sorted(everything, key=lambda i: (-maps[i]["size"], i))
    assert ids("--sort", "size", "--order", "dsc") == by_size
    assert ids("--sort", "size", "--order", "dsc", "--skip", "2", "--count", "3") == by_size[2:5]
    assert ids("--sort", "peak_rss") == sorted(everything, key=lambda i: (maps[i]["peak_rss"], i))
    assert ids("--sort", "address") == sorted(everything, key=lambda i: maps[i]["address"])
    chosen = {
        ("--size-min", "28672"): lambda m: m["size"] >= 28672,
        ("--peak-rss-min", "8192", "--peak-rss-max", "16384"): lambda m: 8192 <= m["peak_rss"] <=
        16384,
        ("--lifetime", "only_leaked"): lambda m: "deallocation" not in m,
        ("--lifetime", "only_temporary"): lambda m: "deallocation" in m,
        ("--executable", "only_true"): lambda m: m["is_executable"],
        ("--memoir", "only_false"): lambda m: not m["is_own"],
        ("--jemalloc", "only_true"): lambda m: False,
        ("--function-regex", "^replace$"): lambda m: m["size"] == PAGE and "source" in m,
        ("--negative-function-regex", "^main$"): lambda m: "source" not in m,
        ("--call", "mmap"): lambda m: "source" in m,
        ("--address-min", str(maps[0]["address"])): lambda m: m["address"] >= maps[0]["address"],
    }
    for options, fits in chosen.items():
        assert ids(*options) == [m["id"] for m in maps if fits(m)], options
    assert "regions" not in harness.ask("maps", "--json", path)["maps"][0]

    listing = harness.execute(
        [harness.MEMOIR, "maps", "--regions", "--history", "--call", "mmap", path])
    assert (listing.status == 0 and b"[anon:mmap]" in listing.stdout
            and b"ENDED BY" in listing.stdout)
    rows = harness.execute([harness.MEMOIR, "maps", "--csv", path]).stdout.decode().splitlines()
    assert len(rows) == len(maps) + 1 and rows[0].startswith("id,timestamp_ns,")
    for wrong in (["--sort", "beauty"], ["--readable", "perhaps"], ["--peak-rss-min", "much"],
                  ["--no-such"]):
        failed = harness.execute([harness.MEMOIR, "maps", *wrong, path])
        assert (failed.status == 2 and len(failed.stderr.splitlines()) == 1
                and not failed.stdout), wrong


def test_timeline(finished):
    """All maps together, without the recorder's own."""
    path, maps = finished
    series = harness.ask("maps", "--timeline", "--json", "--no-cache", path)
    assert list(series) == ["xs", "address_space", "rss", "anonymous", "dirty", "clean", "swap",
                            "mapped"]
    assert len({len(values) for values in series.values()}) == 1 and len(series["xs"]) >= 8
    assert series["xs"] == sorted(series["xs"])
    theirs = [m["usage_history"][-1] for m in maps if not m["is_own"]]
    for name in "address_space", "rss", "anonymous", "swap":
        assert series[name][-1] == sum(u[name] for u in theirs), name
    assert series["dirty"][-1] == sum(u["private_dirty"] + u["shared_dirty"] for u in theirs)
    assert series["clean"][-1] == sum(u["private_clean"] + u["shared_clean"] for u in theirs)
    few = harness.ask("maps", "--timeline", "--json", "--points", "3", path)
    assert len(few["xs"]) <= 3 and few["rss"][-1] == series["rss"][-1]
    assert harness.execute([harness.MEMOIR, "maps", "--timeline", path]).stdout.count(b"\n") > 8
    assert harness.execute([harness.MEMOIR, "maps", "--timeline", "--csv", path]).stdout.startswith(
        b"timestamp_ns,")


def test_allocations_of_a_map(compile_program, tmp_path):
    """from_map: the heap's blocks are in the heap, and a large one in a map of its own."""
    path = str(tmp_path / "out.dat")
    program = compile_program("heap_maps", flags=("-O0",))
    with running(program, path, "run") as steps:
        steps.reached(b"1")
        wait_for_maps(path, lambda maps: any(m["name"] == "[heap]" for m in maps),
                      "a sample of the heap")
        steps.go_on()
    (heap,) = [m for m in maps_of(path) if m["name"] == "[heap]"]
    found = harness.ask("allocations", "--json", "--no-cache", "--from-map", str(heap["id"]),
                        path)["allocations"]
    sizes = [a["size"] for a in found]
    assert sizes.count(1234) == 100 and 10000000 not in sizes
    everything = harness.ask("allocations", "--json", "--no-cache", path)["allocations"]
    (large,) = [a for a in everything if a["size"] == 10000000]
    holders = [m for m in maps_of(path)
               if any(r["address"] <= large["address"] < r["address"] + r["size"]
                      for r in m["regions"])]
    assert [m["name"] for m in holders] == ["[anon:glibc]"]
    # Both were mapped by libc, for who wanted them.
    for m in holders[0], heap:
        assert any(f.get("source", "").endswith("heap_maps.c") for f in m["source"]["backtrace"])
    assert holders[0]["source"]["call"] == "mmap" and heap["source"]["call"] == "brk"
    assert sum(g["bytes"] for g in heap["grown_by"]) >= heap["size"] - (64 << 10)
    assert harness.ask("allocations", "--json", "-F", f"map = {holders[0]['id']} and size > 1M",
                       path)["total_count"] == 1


def test_server(finished):
    """The server says the same."""
    path, maps = finished
    with serving.Server(path) as server:
        (recording,) = server.ready()
        data = f"/data/{recording['id']}"
        answer = server.get(f"{data}/maps?with_regions=true&with_usage_history=true&count=1000")
        assert answer["maps"] == maps and answer["total_count"] == len(maps)
        assert answer["total_size"] == sum(m["size"] for m in maps)
        assert answer["total_rss"] == sum(m["rss"] for m in maps)
        some = server.get(
            f"{data}/maps?sort_by=size&order=dsc&skip=1&count=2&memoir=only_false&stacks=false")
        mine = sorted((m for m in maps if not m["is_own"]), key=lambda m: -m["size"])
        assert [m["size"] for m in some["maps"]] == [m["size"] for m in mine[1:3]]
        assert some["total_count"] == len(mine) and "regions" not in some["maps"][0]
        assert server.get(f"{data}/maps?lifetime=only_temporary")["total_count"] == 1
        assert server.get(f"{data}/maps?bytehound=only_true")["total_count"] == len(maps) - len(
            mine)
        series = server.get(f"{data}/timeline_maps")
        assert series == harness.ask("maps", "--timeline", "--json", "--no-cache", path)
        for wrong in ("maps?peak_rss_min=much", "maps?readable=perhaps", "maps?sort_by=beauty",
                      "timeline_maps?points=x"):
            with pytest.raises(urllib.error.HTTPError) as refused:
                server.get(f"{data}/{wrong}")
            assert refused.value.code == 400
