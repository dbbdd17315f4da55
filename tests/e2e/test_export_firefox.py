# SPDX-License-Identifier: MIT OR Apache-2.0
"""`memoir export firefox`: every rule of the format, every sum, and the Firefox Profiler's own
reader (profiler-cli, the page's code under node) on the result."""
import csv
import gzip
import io
import json
import os
import shutil
import subprocess

import pytest

import harness

CLI = os.path.join(harness.ROOT,
                   "tests/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js")
GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


def export(recording, *arguments):
    done = harness.execute([harness.MEMOIR, "export", "firefox", str(recording), *arguments])
    assert done.status == 0, done
    return json.loads(done.stdout)


def table(holder, name, columns):
    """A table's columns, all of the length that it says."""
    found = holder[name]
    for column in columns:
        assert len(found[column]) == found["length"], (name, column)
    return found


def each_in(values, end, none=()):
    for value in values:
        assert value in none or (isinstance(value, int) and 0 <= value < end), (value, end)


def check_shared(profile):
    """The tables that threads share: lengths, references, parents before children."""
    shared, libs = profile["shared"], profile["libs"]
    strings = shared["stringArray"]
    assert all(isinstance(s, str) for s in strings)
    sources = table(shared, "sources", ["uuid", "filename"])
    each_in(sources["filename"], len(strings))
    resources = table(shared, "resourceTable", ["lib", "name", "host", "type"])
    each_in(resources["lib"], len(libs))
    each_in(resources["name"], len(strings))
    table(shared, "nativeSymbols", ["libIndex", "address", "name", "functionSize"])
    functions = table(shared, "funcTable", ["name", "isJS", "relevantForJS", "resource", "source",
                                            "lineNumber", "columnNumber"])
    each_in(functions["name"], len(strings))
    each_in(functions["resource"], resources["length"], none=(-1,))
    each_in(functions["source"], sources["length"], none=(None,))
    frames = table(shared, "frameTable",
                   ["address", "inlineDepth", "category", "subcategory", "func",
                    "nativeSymbol", "innerWindowID", "line", "column"])
    each_in(frames["func"], functions["length"])
    each_in(frames["address"], 1 << 32, none=(-1,))
    each_in(frames["category"], len(profile["meta"]["categories"]))
    # An inlined frame follows what it is inlined into, at the same address.
    for i, depth in enumerate(frames["inlineDepth"]):
        if depth:
            assert frames["inlineDepth"][i - 1] == depth - 1
            assert frames["address"][i - 1] == frames["address"][i]
    stacks = table(shared, "stackTable", ["frame", "prefix"])
    each_in(stacks["frame"], frames["length"])
    for i, prefix in enumerate(stacks["prefix"]):
        assert prefix is None or 0 <= prefix < i
    for lib in libs:
        assert len(lib["breakpadId"]) == 33
        assert lib["name"] == os.path.basename(lib["path"])
    return stacks["length"]


def check_events(events, stack_count):
    """Sorted, known stacks, every end after its beginning with the same weight; what is left."""
    each_in(events["stack"], stack_count)
    assert events["time"] == sorted(events["time"])
    live = {}
    for address, weight in zip(events["memoryAddress"], events["weight"]):
        assert weight
        if weight > 0:
            assert address not in live
            live[address] = weight
        else:
            assert live.pop(address) == -weight
    return sum(live.values())


def check(profile):
    """All rules; returns {allocated, retained, peak} in bytes."""
    meta = profile["meta"]
    assert meta["preprocessedProfileVersion"] == 60
    assert "grey" in [c["color"] for c in meta["categories"]]
    assert all(c["subcategories"][0] == "Other" for c in meta["categories"])
    assert meta["symbolicated"] is True and meta["markerSchema"] == []
    each_in(meta["initialVisibleThreads"], len(profile["threads"]))
    stack_count = check_shared(profile)
    sums = {"allocated": 0, "retained": 0}
    for thread in profile["threads"]:
        samples = table(thread, "samples", ["time", "stack"])
        assert samples["length"] >= 1 and samples["time"] == sorted(samples["time"])
        table(thread, "markers", ["data", "name", "startTime", "endTime", "phase", "category"])
        assert isinstance(thread["pid"], str)
        if "nativeAllocations" not in thread:
            continue
        events = table(thread, "nativeAllocations", ["time", "weight", "stack", "memoryAddress",
                                                     "threadId"])
        assert events["length"] and events["weightType"] == "bytes"
        retained = check_events(events, stack_count)
        assert retained == sum(events["weight"])
        sums["retained"] += retained
        sums["allocated"] += sum(w for w in events["weight"] if w > 0)
    (counter,) = profile["counters"]
    track = table(counter, "samples", ["time", "count", "number"])
    assert track["time"] == sorted(track["time"])
    alive = peak = 0
    for count in track["count"]:
        alive += count
        assert alive >= 0
        peak = max(peak, alive)
    assert alive == sums["retained"]
    sums["peak"] = peak
    return sums


class Reader:
    """The Firefox Profiler's own code, on one file."""

    def __init__(self, path, folder):
        assert os.path.exists(CLI), "no profiler-cli: scripts/install-npm installs it"
        self.env = {"PROFILER_CLI_SESSION_DIR": str(folder), "HOME": str(folder)}
        self.path = str(path)

    def ask(self, *arguments):
        done = harness.execute(["node", CLI, *arguments, "--session", "test"], env=self.env)
        assert done.status == 0, done
        return done.stdout.decode()

    def log(self):
        path = os.path.join(self.env["HOME"], "test.log")
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8") as file:
            return file.read()

    def __enter__(self):
        """What its `load` starts, but that gives up after half a second; and whoever asks before it
        is ready takes its session for a dead one."""
        self.process = subprocess.Popen(["node", CLI, "--daemon", self.path, "--session", "test"],
                                        env=dict(harness.ENVIRONMENT, **self.env),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for(lambda: self.process.poll() is not None
                         or "Profile loaded successfully" in self.log(), 60, "the reader")
        assert self.process.poll() is None, f"the profile was refused: {self.log()}"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)

    def threads(self):
        return [t["threadHandle"]
                for t in json.loads(self.ask("thread", "list", "--json"))["threads"]]

    def functions(self, thread, strategy):
        answer = json.loads(self.ask("thread", "functions", "--thread", thread, "--strategy",
                                     f"native-{strategy}", "--limit", "0", "--json"))
        assert answer["weightType"] == "bytes"
        return answer["functions"]

    def total(self, strategy):
        return sum(f["selfSamples"] for t in self.threads() for f in self.functions(t, strategy))

    def peak(self):
        answer = json.loads(self.ask("counter", "info", "c-0", "--json"))
        assert answer["unit"] == "bytes" and answer["graphType"] == "line-accumulated"
        return answer["stats"][0]["value"]


@pytest.fixture(scope="module")
def handed_over(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("firefox") / "out.dat")
    return harness.record([compile_program("handed_over", flags=("-O1",))], path)


def test_every_rule_and_every_sum(handed_over):
    profile = export(handed_over.path)
    info = handed_over.info
    assert check(profile) == {"allocated": info["allocated_bytes"],
                              "retained": info["leaked_bytes"], "peak": info["peak_bytes"]}
    assert len(profile["threads"]) == info["threads"] == 4
    assert [t["isMainThread"] for t in profile["threads"]].count(True) == 1
    # What a thread made and the main thread freed is the thread's, and says who freed it.
    main = str(profile["threads"][0]["tid"])
    for thread in profile["threads"][1:]:
        events = thread["nativeAllocations"]
        freed = [i for i, w in enumerate(events["weight"]) if w == -5000]
        assert [str(events["threadId"][i]) for i in freed] == [main]
        assert events["threadId"].count(thread["tid"]) == events["length"] - 1
    build_ids = {f["path"]: f["build_id"] for f in info["files"]}
    program = next(lib for lib in profile["libs"] if lib["name"] == "handed_over")
    assert program["codeId"] == build_ids[program["path"]]


def test_same_each_time(handed_over):
    """Also where threads find the names in another order."""
    first = export(handed_over.path, "--no-cache")
    for _ in range(10):
        assert export(handed_over.path, "--no-cache") == first


def test_the_viewers_own_reader(handed_over, tmp_path):
    path = tmp_path / "out.json.gz"
    done = harness.execute([harness.MEMOIR, "export", "firefox", handed_over.path, "-o", str(path)])
    assert done.status == 0, done
    with gzip.open(path) as file:
        assert json.load(file) == export(handed_over.path)
    info = handed_over.info
    freed = info["leaked_bytes"] - info["allocated_bytes"]
    with Reader(path, tmp_path) as reader:
        assert len(reader.threads()) == 4
        assert reader.total("retained-allocations") == info["leaked_bytes"]
        assert reader.total("allocations") == info["allocated_bytes"]
        assert reader.total("deallocations-memory") == freed
        assert reader.total("deallocations-sites") == freed
        assert reader.peak() == info["peak_bytes"]
        sites = {f["name"] for f in reader.functions("t-1", "deallocations-sites")}
        assert {"work", "main"} <= sites
        kept = {f["name"]: f["totalSamples"]
                for f in reader.functions("t-1", "retained-allocations")}
        assert kept["nasty_name_0123456789"] == 777
        assert "Imported from: Memoir" in reader.ask("profile", "meta")


def test_filters_apply(handed_over):
    chosen = ["--size-min", "700", "--size-max", "15000"]
    rows = harness.execute([harness.MEMOIR, "export", "csv", handed_over.path, *chosen])
    rows = list(csv.DictReader(io.StringIO(rows.stdout.decode())))
    sums = check(export(handed_over.path, *chosen))
    assert sums["allocated"] == sum(int(r["size"]) for r in rows) > 0
    assert sums["retained"] == sum(int(r["size"]) for r in rows
                                   if not r["deallocated_ns"]) == 3 * 777


def test_nothing_in_the_view(handed_over, tmp_path):
    profile = export(handed_over.path, "--size-min", "1G")
    assert check(profile) == {"allocated": 0, "retained": 0, "peak": 0}
    assert len(profile["threads"]) == 1
    path = tmp_path / "empty.json"
    path.write_text(json.dumps(profile), encoding="utf-8")
    with Reader(path, tmp_path) as reader:
        assert len(reader.threads()) == 1


@pytest.mark.parametrize("name, shown", [
    (b";#\"'<>&\n\t\\\x01`${}()[]%", ";#\"'<>&\n\t\\\x01`${}()[]%"),
    (b"\xff\xfe\xc0\xaf\xed\xa0\x80 half \xe2\x82", None),
])
def test_names_that_hurt(compile_program, record, tmp_path, name, shown):
    """The bytes of a function's name in the program's symbols and debug information are changed."""
    old = b"nasty_name_0123456789"
    name = name[:len(old)].ljust(len(old), b"_")
    program = tmp_path / "hurt"
    shutil.copy(compile_program("handed_over", flags=("-O1",)), program)
    content = program.read_bytes()
    assert old in content
    program.write_bytes(content.replace(old, name))
    recording = record([program])
    profile = export(recording.path)
    assert check(profile)["retained"] == recording.info["leaked_bytes"]
    shown = name.decode() if shown else None
    strings = profile["shared"]["stringArray"]
    assert shown in strings if shown else any("\ufffd" in s and "half" in s for s in strings)
    path = tmp_path / "hurt.json"
    path.write_text(json.dumps(profile), encoding="utf-8")
    with Reader(path, tmp_path) as reader:
        assert reader.total("retained-allocations") == recording.info["leaked_bytes"]


def test_a_name_of_ten_kilobytes(record, tmp_path):
    name = "n" * 10000
    source = tmp_path / "long.c"
    source.write_text("#include <stdlib.h>\n"
                      f"__attribute__((noinline)) void *{name}(int n) {{ return malloc(n); }}\n"
                      f"int main(void) {{ return !{name}(4321); }}\n", encoding="ascii")
    subprocess.run(["gcc", "-g", "-w", source, "-o", tmp_path / "long"], check=True)
    recording = record([tmp_path / "long"])
    profile = export(recording.path)
    assert check(profile)["retained"] == recording.info["leaked_bytes"]
    assert name in profile["shared"]["stringArray"]


def test_many_threads_and_stacks(tmp_path):
    """A recording of 40 threads that free each other's blocks, without one name."""
    if not os.path.exists(GENERATE):
        subprocess.run(["ninja", "-C", harness.BUILD, "tests/unit/gen_recording"], check=True,
                       stdout=subprocess.DEVNULL)
    path = tmp_path / "made.dat"
    expected = json.loads(subprocess.check_output([GENERATE, path, "100000", "40"]))
    profile = export(path)
    assert check(profile) == {"allocated": expected["allocated_bytes"],
                              "retained": expected["leaked_bytes"],
                              "peak": expected["peak_bytes"]}
    assert len(profile["threads"]) == 40
    assert len(profile["meta"]["initialVisibleThreads"]) == 15


def test_what_was_removed_is_told(handed_over, tmp_path):
    path = str(tmp_path / "stripped.dat")
    done = harness.execute([harness.MEMOIR, "strip", handed_over.path, "-o", path])
    assert done.status == 0, done
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["removed_allocations"]
    profile = export(path)
    sums = check(profile)
    assert sums["retained"] == info["leaked_bytes"]
    told = {e["label"]: e["value"] for e in profile["meta"]["extra"][0]["entries"]}
    assert (told["Removed from the recording, in no thread: allocations"] ==
            info["removed_allocations"])
    assert told["Allocated"] == sums["allocated"]
    assert (told["Removed from the recording, in no thread: bytes"] + sums["allocated"]
            == info["allocated_bytes"])
