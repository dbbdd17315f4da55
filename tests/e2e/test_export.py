# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exported files, opened by what really reads them, and compared with what we say ourselves."""
import csv
import gzip
import html
import io
import json
import os
import re
import resource
import subprocess

import pytest

import harness
from pprof import Profile

GEN_NAMES = os.path.join(harness.BUILD, "tests", "unit", "gen_names")
VALGRIND = "/usr/libexec/valgrind"
SPEEDSCOPE = os.path.join(harness.HERE, "speedscope_import.js")


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


def formats():
    done = memoir("export", "--list")
    assert done.status == 0
    return [line.split()[0] for line in done.stdout.decode().splitlines()
            if not line.startswith(" ")]


def opened(command, **keywords):
    """What another tool prints, which must be content with the file."""
    done = harness.execute(list(map(str, command)), **keywords)
    assert done.status == 0, f"{command}: {done}"
    return done.stdout.decode()


def table(path):
    """The rows of a CSV file, line ends in them as they are."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))


def events(rows):
    """[(ns, is_start, row)] in order: in one ns the end of a block comes before the start of the
    next (a realloc), unless it has only just begun."""
    found = []
    for row in rows:
        found.append((row["timestamp_ns"], 1, row["id"], True, row))
        if row["freed"] is not None:
            found.append((row["freed"], 2 * (row["freed"] == row["timestamp_ns"]), row["id"], False,
                          row))
    return [(at, is_start, row) for at, _, _, is_start, row in sorted(found, key=lambda e: e[:3])]


class Exported:
    """A recording and its exports."""

    def __init__(self, path, folder):
        self.path, self.folder = path, folder
        self.info = harness.flatten(harness.ask("info", "--json", path))
        # Everything below is computed from the rows, by no code of ours but the loader.
        self.rows = table(self.export("csv", "all.csv"))
        for row in self.rows:
            for key in ("id", "timestamp_ns", "size", "backtrace_id", "thread"):
                row[key] = int(row[key])
            row["freed"] = int(row["deallocated_ns"]) if row["deallocated_ns"] else None

    def export(self, kind, name, *options):
        output = self.folder / name
        done = memoir("export", kind, self.path, "-o", output, *options)
        assert done.status == 0 and not done.stderr, f"{done}"
        return output

    @property
    def leaked(self):
        return [r for r in self.rows if r["freed"] is None]

    def alive(self):
        """[(ns, bytes from then on)]"""
        now, curve = 0, [(0, 0)]
        for at, is_start, row in events(self.rows):
            now += row["size"] if is_start else -row["size"]
            curve.append((at, now))
        return curve


@pytest.fixture(scope="module")
def viewed(tmp_path_factory, compile_program):
    """One thread, so that the order of events is the order of times."""
    folder = tmp_path_factory.mktemp("viewed")
    path = str(folder / "out.dat")
    assert harness.record([compile_program("viewed")], path).status == 0
    return Exported(path, folder)


@pytest.fixture(scope="module")
def threaded(tmp_path_factory, compile_program):
    folder = tmp_path_factory.mktemp("threaded")
    path = str(folder / "out.dat")
    assert harness.record([compile_program("viewed"), "threads"], path).status == 0
    return Exported(path, folder)


def total(rows):
    return sum(r["size"] for r in rows)


def sums(text):
    """{function: weight} and the total of collapsed stacks."""
    found, whole = {}, 0
    for line in text.splitlines():
        stack, weight = line.rsplit(" ", 1)
        whole += int(weight)
        for function in {re.split(r" [\[(]", frame)[0] for frame in stack.rstrip(";").split(";")}:
            found[function] = found.get(function, 0) + int(weight)
    return found, whole


# heaptrack

def heaptrack_temporary(rows):
    """As heaptrack counts: an event after the other; a free of the kind (size and stack) that was
    allocated just before.  What it remembers is 0 after a free, which is also the first kind."""
    kinds, count, last = {}, 0, 0
    for _, is_start, row in events(rows):
        kind = kinds.setdefault((row["size"], row["backtrace_id"]), len(kinds))
        if is_start:
            last = kind
        else:
            count += kind == last
            last = 0
    return count


@pytest.mark.parametrize("suffix", ["zst", "gz"])
def test_heaptrack(viewed, suffix):
    path = viewed.export("heaptrack", f"heaptrack.{suffix}")
    text = opened(["heaptrack_print", "--print-leaks", "1", path])
    assert f"calls to allocation functions: {len(viewed.rows)} (" in text
    assert f"temporary memory allocations: {heaptrack_temporary(viewed.rows)} (" in text
    seconds = float(re.search(r"total runtime: ([0-9.]+)s", text)[1])
    assert seconds == pytest.approx(viewed.info["runtime_ns"] / 1e9, abs=0.02)
    assert re.search(r"inlined_pair\s+at .*viewed.c:\d+\s+in .*viewed\s+temporary\s+at ", text)


def test_heaptrack_costs(viewed):
    path = viewed.export("heaptrack", "costs.zst")
    found = {}
    for cost in ("allocations", "temporary", "leaked", "peak"):
        output = viewed.folder / cost
        opened(["heaptrack_print", path, "-F", output, "--flamegraph-cost-type", cost,
                "--print-leaks", "1",
                "--disable-builtin-suppressions"])
        found[cost], whole = sums(output.read_text("utf-8"))
        found[cost][""] = whole
    assert found["allocations"][""] == len(viewed.rows) == viewed.info["allocations"]
    assert found["temporary"][""] == heaptrack_temporary(viewed.rows)
    assert found["leaked"][""] == total(viewed.leaked) == viewed.info["leaked_bytes"]
    assert found["peak"][""] == viewed.info["peak_bytes"]
    assert found["leaked"]["leak"] == sum(700 + i for i in range(50))
    assert found["allocations"]["temporary"] == 300
    assert found["peak"]["peak"] == 2000000
    # Times: its own conversion has a moment for each step, in seconds.
    opened(["heaptrack_print", path, "-M", viewed.folder / "massif"])
    snapshots = massif((viewed.folder / "massif").read_text("utf-8"))
    highest = max(snapshots, key=lambda s: s["bytes"])
    assert highest["bytes"] == pytest.approx(viewed.info["peak_bytes"], rel=0.1)
    assert highest["time"] * 1e9 == pytest.approx(viewed.info["peak_at_ns"], abs=15e6)


# pprof

def pprof_samples(text):
    """[(values, label)] of go tool pprof -raw."""
    found = []
    for line in text.split("Samples:\n")[1].split("Locations\n")[0].splitlines()[1:]:
        numbers = re.match(r"\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+): ([\d ]*)$", line)
        if numbers:
            found.append([[int(n) for n in numbers.groups()[:4]], None])
        else:
            found[-1][1] = re.match(r"\s*thread:\[(.*)\]$", line)[1]
    return found


def test_pprof(threaded):
    path = threaded.export("pprof", "out.pb.gz")
    text = opened(["go", "tool", "pprof", "-raw", path])
    samples = pprof_samples(text)
    assert [sum(s[0][i] for s in samples) for i in range(4)] == [
        len(threaded.rows), total(threaded.rows), len(threaded.leaked), total(threaded.leaked)]
    assert "inuse_space/bytes[dflt]" in text
    with open(path, "rb") as file:
        profile = Profile(file.read())  # which holds it to Parca's rules
    assert [profile.total(i) for i in range(4)] == [sum(s[0][i] for s in samples) for i in range(4)]
    threads = {row["thread"] for row in threaded.rows}
    for tid in threads:
        mine = [s for s in samples if s[1].endswith(f"({tid})")]
        assert sum(s[0][1] for s in mine) == total(r for r in threaded.rows if r["thread"] == tid)
    assert {s[1].split(" (")[0] for s in samples} == {"viewed", "viewed worker"}
    # An inlined function is a line of its caller's location.
    assert re.search(r"inlined_pair .*viewed\.c:\d+ s=0\n\s+temporary .*viewed\.c:\d+ s=0\n", text)
    mappings = text.split("Mappings\n")[1].splitlines()
    program = re.match(r"1: 0x[0-9a-f]+/0x[0-9a-f]+/0x0 (\S+) ([0-9a-f]+) \[FN\]\[FL\]\[LN\]\[IN\]",
                       mappings[0])
    assert os.path.basename(program[1]) == "viewed"
    notes = opened(["readelf", "-n", program[1]])
    assert f"Build ID: {program[2]}" in notes
    assert any("libc.so.6" in line for line in mappings[1:])


def test_pprof_top(threaded):
    path = threaded.export("pprof", "top.pb.gz")
    for index, chosen in (("alloc_space", threaded.rows), ("inuse_space", threaded.leaked)):
        text = opened(["go", "tool", "pprof", "-top", "-unit=B", f"-sample_index={index}", path])
        assert f"of {total(chosen)}B total" in text
    assert re.search(r"\s%dB\s.* leak$" % (2 * sum(700 + i for i in range(50))), text, re.MULTILINE)
    assert text.startswith("File: viewed\nBuild ID: ")


# massif

def massif(text):
    """The snapshots of a massif file, each with the lines of its tree."""
    found = []
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "snapshot":
            found.append({"tree": []})
        elif key == "time":
            found[-1]["time"] = float(value)
        elif key == "mem_heap_B":
            found[-1]["bytes"] = int(value)
        elif key == "heap_tree":
            found[-1]["kind"] = value
        else:
            node = re.match(r"( *)n(\d+): (\d+) (.*)$", line)
            if node:
                found[-1]["tree"].append((len(node[1]), int(node[2]), int(node[3]), node[4]))
    return found


def test_massif(viewed):
    path = viewed.export("massif", "massif.out")
    snapshots = massif(path.read_text("utf-8"))
    assert len(snapshots) == 102
    assert [s["time"] for s in snapshots] == sorted(s["time"] for s in snapshots)
    # Between the least and the most that was alive during that millisecond.
    curve = viewed.alive()
    for s in snapshots:
        during = [b for at, b in curve if s["time"] * 1e6 <= at < (s["time"] + 1) * 1e6]
        before = [b for at, b in curve if at < s["time"] * 1e6][-1:]
        assert min(during + before) <= s["bytes"] <= max(during + before), s["time"]
    peaks = [s for s in snapshots if s["kind"] == "peak"]
    assert (len(peaks) == 1 and peaks[0]["bytes"] == viewed.info["peak_bytes"] == max(
        b for _, b in curve))
    assert peaks[0]["time"] == viewed.info["peak_at_ns"] // 1000000
    assert snapshots[-1]["bytes"] == total(viewed.leaked)
    assert 8 <= sum(s["kind"] == "detailed" for s in snapshots) <= 11
    for s in snapshots:
        assert (s["kind"] == "empty") == (not s["tree"])
        if s["tree"]:
            assert s["tree"][0][2] == s["bytes"]
            assert sum(node[2] for node in s["tree"] if node[0] == 1) == s["bytes"]
            assert all(node[2] <= s["bytes"] for node in s["tree"])
            assert sum(node[1] for node in s["tree"]) == len(s["tree"]) - 1
    label = next(node for node in peaks[0]["tree"] if " peak (viewed.c:" in node[3])
    assert label[0] == 1 and label[2] == 2000000 and re.match(r"0x[0-9a-f]+: ", label[3])


def test_massif_is_read(viewed):
    text = opened(["ms_print", viewed.export("massif", "print.out")], cwd=viewed.folder)
    assert re.search(r"^Command: +\S*viewed$", text, re.MULTILINE)
    assert "Number of snapshots: 102" in text
    assert re.search(r"Detailed snapshots: \[.*\(peak\)", text)
    peak = f"{viewed.info['peak_bytes']:,}"
    assert re.search(rf"^ *\d+ +{viewed.info['peak_at_ns'] // 1000000} +{peak} +{peak} ", text,
                     re.MULTILINE)
    assert re.search(r"^->\d\d\.\d\d% \(2,000,000B\) 0x[0-9a-f]+: peak \(viewed\.c:\d+\)", text,
                     re.MULTILINE)


def test_massif_of_a_part(viewed):
    """Filters apply, and the peak is that of what they choose."""
    snapshots = massif(viewed.export("massif", "part.out", "-F", 'function == "grow"').read_text(
        "utf-8"))
    assert max(s["bytes"] for s in snapshots) == next(s["bytes"] for s in snapshots
                                                      if s["kind"] == "peak") == 4000


# DHAT

def dhat_expected(rows, end, peak_at):
    """Per stack, from its rows: (tb, tbk, mb, mbk, gb, gbk, eb, ebk)."""
    stacks = {}
    for row in rows:
        stacks.setdefault(row["backtrace_id"], []).append(row)
    found = []
    for mine in stacks.values():
        at_peak = [r for r in mine if r["timestamp_ns"] <= peak_at
                   and (r["freed"] is None or r["freed"] > peak_at)]
        left = [r for r in mine if r["freed"] is None]
        most = most_count = now = count = 0
        for _, is_start, row in events(mine):
            now, count = (now + row["size"], count + 1) if is_start else (
                now - row["size"], count - 1)
            if now > most:
                most, most_count = now, count
        lived = sum((end if r["freed"] is None else r["freed"]) - r["timestamp_ns"] for r in mine)
        found.append((total(mine), len(mine), most, most_count, total(at_peak), len(at_peak),
                      total(left), len(left),
                      lived // 1000))
    return sorted(found)


def dhat_points(data):
    return sorted(tuple(p[k] for k in ("tb", "tbk", "mb", "mbk", "gb", "gbk", "eb", "ebk", "tl"))
                  for p in data["pps"])


@pytest.mark.parametrize("only", [None, 2000])
def test_dhat(viewed, only):
    options = ["-F", f"size <= {only}"] if only else []
    data = json.loads(viewed.export("dhat", "out.json", *options).read_text("utf-8"))
    assert (data["dhatFileVersion"], data["bklt"], data["bkacc"]) == (2, True, False)
    assert data["te"] == viewed.info["runtime_ns"] // 1000
    assert data["tg"] == viewed.info["peak_at_ns"] // 1000
    rows = [r for r in viewed.rows if not only or r["size"] <= only]
    expected = dhat_expected(rows, viewed.info["runtime_ns"], viewed.info["peak_at_ns"])
    points = dhat_points(data)
    assert [p[:8] for p in points] == [e[:8] for e in expected]
    for point, due in zip(points, expected):
        assert point[8] == pytest.approx(due[8],
                                         abs=1 + due[1] / 1000)  # µs; each row's ns is rounded
    if not only:
        assert sum(p["gb"] for p in data["pps"]) == viewed.info["peak_bytes"]
        assert sum(p["eb"] for p in data["pps"]) == viewed.info["leaked_bytes"]
    assert data["ftbl"][0] == "[root]"
    assert all(0 < f < len(data["ftbl"]) for p in data["pps"] for f in p["fs"])
    stacks = [tuple(p["fs"]) for p in data["pps"]]
    assert len(set(stacks)) == len(stacks)


def dh_view(path, folder):
    """The text that Valgrind's viewer shows of a file that is chosen in it."""
    with open(os.path.join(VALGRIND, "dh_view.html"), encoding="utf-8") as file:
        page = file.read()
    script = """<script>addEventListener("load", () => {
        const chosen = new DataTransfer();
        chosen.items.add(new File([%s], "out.json"));
        gInput.files = chosen.files;
        gInput.onchange();
    });</script></html>""" % json.dumps(path.read_text("utf-8")).replace("<", "\\u003c")
    page = re.sub(r'(href|src)="', rf'\1="file://{VALGRIND}/', page).replace("</html>", script)
    (folder / "page.html").write_text(page, "utf-8")
    text = opened([harness.CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                   "--virtual-time-budget=10000",
                   f"--user-data-dir={folder}/chromium", "--dump-dom",
                   f"file://{folder}/page.html"],
                  env={"HOME": str(folder)})
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"(?s)<script.*?</script>", "", text)))


def test_dhat_is_read(viewed, tmp_path):
    text = dh_view(viewed.export("dhat", "view.json"), tmp_path)
    assert "DHAT Viewer - out.json" in text
    totals = re.search(r"PP 1/\d+ \(\d+ children\) {\s+(.*?)\s+Allocated at {", text, re.DOTALL)[1]
    assert re.search(rf"Total: +{total(viewed.rows):,} bytes \(100%.* in "
                     rf"{len(viewed.rows):,} blocks", totals)
    assert re.search(rf"At t-gmax: {viewed.info['peak_bytes']:,} bytes \(100%\) in "
                     rf"{viewed.info['peak_count']:,} "
                     "blocks", totals)
    assert re.search(rf"At t-end: +{total(viewed.leaked):,} bytes \(100%\) in "
                     rf"{len(viewed.leaked):,} blocks", totals)
    assert re.search(r"#\d: 0x[0-9A-Fa-f]+: inlined_pair \(viewed\.c:\d+\)", text)


# callgrind

def callgrind(text):
    """Self costs by (file, function), edges [(caller, callee, costs)], totals; names made whole."""
    names, own, edges, totals = {}, {}, [], None
    current, callee = {}, {}
    calling = False

    def name(kind, value):
        number, _, rest = value.partition(") ")
        number = number.lstrip("(").rstrip(")")
        if rest:
            assert names.setdefault((kind, number), rest) == rest
        return names[kind, number]

    for line in text.splitlines():
        key, eq, value = line.partition("=")
        if eq and key in ("ob", "fl", "fn"):
            current[key] = name(key, value)
        elif eq and key in ("cob", "cfi", "cfn"):
            callee[key] = name({"cob": "ob", "cfi": "fl", "cfn": "fn"}[key], value)
        elif eq and key == "calls":
            calling = True
        elif line.startswith("totals:"):
            totals = [int(v) for v in line.split()[1:]]
        elif re.match(r"\d+ ", line):
            costs = [int(v) for v in line.split()[1:]]
            mine = (current["fl"], current["fn"])
            if calling:
                edges.append((mine, (callee["cfi"], callee["cfn"]), costs))
            else:
                own[mine] = [a + b for a, b in zip(own.get(mine, [0] * len(costs)), costs)]
            calling = False
    return own, edges, totals


def test_callgrind(viewed):
    text = viewed.export("callgrind", "callgrind.out").read_text("utf-8")
    titles = re.search(r"^events: (.*)$", text, re.MULTILINE)[1].split()
    own, edges, totals = callgrind(text)
    assert titles[:4] == ["Bytes", "Allocs", "LeakedBytes", "LeakedAllocs"]
    assert dict(zip(titles, totals)) == {
        "Bytes": total(viewed.rows), "Allocs": len(viewed.rows),
        "LeakedBytes": total(viewed.leaked),
        "LeakedAllocs": len(viewed.leaked), "PeakBytes": viewed.info["peak_bytes"],
        "PeakAllocs": viewed.info["peak_count"], "TempAllocs": viewed.info["temporary"]}
    assert [sum(costs) for costs in zip(*own.values())] == totals
    inclusive = dict(own)
    for caller, callee, costs in edges:
        assert caller != callee
        inclusive[caller] = [a + b for a, b in zip(inclusive.get(caller, [0] * len(costs)), costs)]
    assert all(a <= b for costs in inclusive.values() for a, b in zip(costs, totals))
    by_name = {name: costs for (_, name), costs in inclusive.items()}
    # even(9) calls odd(8) calls even(7) …: five blocks of 11 bytes and five of 13.  The way to one
    # of even's own is that of the outermost, in which odd has no part.
    assert by_name["even"][:2] == [5 * 11 + 5 * 13, 10]
    assert by_name["odd"][:2] == [5 * 13, 5]
    assert by_name["main"][1] >= 50 + 300 + 40 + 10 + 20
    assert by_name["inlined_pair"][1] == 300
    assert "ob=(" in text and re.search(r"^fn=\(\d+\)$", text, re.MULTILINE)


def test_callgrind_is_read(viewed):
    path = viewed.export("callgrind", "annotate.out")
    for inclusive in ("no", "yes"):
        done = harness.execute(["callgrind_annotate", f"--inclusive={inclusive}", "--threshold=100",
                                "--auto=no", str(path)])
        text = done.stdout.decode()
        assert done.status == 0 and not done.stderr, f"{done}"
        assert re.search(rf"^ *{total(viewed.rows):,} \(100\.0%\) +{len(viewed.rows):,} "
                         r"\(100\.0%\) .*PROGRAM TOTALS",
                         text, re.MULTILINE)
        assert re.search(r"^ *2,000,000 .*viewed\.c:peak \[.*/viewed\]$", text, re.MULTILINE)
        assert re.search(rf"^ *{55 if inclusive == 'no' else 120} .*viewed\.c:even ", text,
                         re.MULTILINE)


# speedscope

def speedscope(path):
    return json.loads(opened(["node", SPEEDSCOPE, path]))


def test_speedscope(threaded):
    found = speedscope(threaded.export("speedscope", "out.speedscope.json"))
    info = threaded.info
    assert [(p["name"], p["unit"], p["total"]) for p in found["profiles"]] == [
        ("leaked", "bytes", info["leaked_bytes"]), ("peak", "bytes", info["peak_bytes"]),
        ("allocated", "bytes", info["allocated_bytes"]),
        ("temporary", "bytes",
         harness.ask("tree", "--json", "-m", "temporary", threaded.path)["tree"]["bytes"])]
    leaked = {f["name"]: f for f in found["profiles"][0]["frames"]}
    assert leaked["leak"]["self"] == leaked["leak"]["total"] == 2 * sum(700 + i for i in range(50))
    assert leaked["leak"]["file"].endswith("viewed.c")
    assert leaked["even"]["total"] == 120  # recursion counts once
    blocks = speedscope(threaded.export("speedscope", "blocks.speedscope.json", "--count"))
    assert [p["total"] for p in blocks["profiles"]][:3:2] == [
        info["leaked_count"], info["allocations"]]


@pytest.mark.parametrize("kind, name, of", [
    ("collapsed", "out.txt", "allocated_bytes"), ("pprof", "out.pb.gz", "leaked_bytes"),
    ("callgrind", "callgrind.out", "allocated_bytes")])
def test_speedscope_reads_others(threaded, kind, name, of):
    profile = speedscope(threaded.export(kind, name))["profiles"][0]
    # Of a callgrind file it leaves out what is below a ten thousandth.
    least = 0.999 if kind == "callgrind" else 1
    assert least * threaded.info[of] <= profile["total"] <= threaded.info[of]
    frames = {f["name"].split(" [")[0]: f for f in profile["frames"]}
    assert frames["leak"]["self"] == 2 * sum(700 + i for i in range(50))


# Everything else

def test_collapsed(threaded):
    for options, due in (
            ((), total(threaded.rows)), (("-m", "leaked"), total(threaded.leaked)),
            (("-m", "leaked", "--count"), len(threaded.leaked)),
            (("-m", "peak"), threaded.info["peak_bytes"]),
            (("-m", "temporary", "--count"), threaded.info["temporary"])):
        assert sums(threaded.export("collapsed", "c.txt", *options).read_text("utf-8"))[1] == due


def test_json(threaded):
    found = json.loads(threaded.export("json", "out.json").read_text("utf-8"))
    assert found["total_count"] == len(found["allocations"]) == len(threaded.rows)
    assert [a["size"] for a in found["allocations"]] == [r["size"] for r in threaded.rows]
    tabled = json.loads(threaded.export("json", "table.json", "--stacks", "table").read_text(
        "utf-8"))
    used = set()
    assert tabled["total_count"] == len(tabled["allocations"]) == len(found["allocations"])
    for whole, row in zip(found["allocations"], tabled["allocations"]):
        for place in (row, row.get("deallocation"), row.get("chain_deallocation")):
            if place and "backtrace_id" in place:
                # Rows whose stack is not known have no stack in the table.
                assert "backtrace" not in place
                used.add(place["backtrace_id"])
                place["backtrace"] = tabled["backtraces"].get(str(place["backtrace_id"]), [])
        for place in (whole, whole.get("deallocation"), whole.get("chain_deallocation")):
            if place and "backtrace" in place:
                assert place["backtrace"].pop()["function"] == place["call"]
        assert whole == row
    assert set(map(int, tabled["backtraces"])) == used - {0}
    groups = json.loads(
        threaded.export("json", "groups.json", "--groups").read_text("utf-8"))["allocations"]
    short = json.loads(
        threaded.export("json", "short.json", "--groups", "--stacks", "table").read_text("utf-8"))
    assert [g["backtrace"][:-1] for g in groups] == [
        short["backtraces"].get(str(g["backtrace_id"]), [])
                                                    for g in short["allocations"]]
    done = memoir("export", "json", threaded.path, "--stacks", "some")
    assert done.status == 2 and b"--stacks is whole or table, not 'some'" in done.stderr
    assert sum(g["all"]["leaked_size"] for g in groups) == threaded.info["leaked_bytes"]
    lines = table(threaded.export("csv", "groups.csv", "-g"))
    assert sum(int(line["leaked_size"]) for line in lines) == threaded.info["leaked_bytes"]
    assert sorted(int(line["allocated_count"]) for line in lines) == sorted(
        g["all"]["allocated_count"] for g in groups)


# Names

ODD = [b"main", b"semi;colon", b"#hash{closure#0}", b"two  words", b"q\"uo'te\\s", b"v<t<int>, &x>",
       b"new\nline\r\ttab",
       b"bad\xff utf\xe2\x82", b"(1) digits", b"=x:y", b"t<" + b"long::" * 1700 + b">",
       "naïve λ 🌳".encode(), b"100%s%n", b"-",
       b"last"]
ODD_MODULE = b"/opt/odd; #1 \"dir\"/a b\n.so"


def utf8(name):
    """Each byte that is none becomes U+FFFD."""
    return re.sub("[\udc80-\udcff]", "\ufffd", name.decode("utf-8", "surrogateescape"))


def one_line(text):
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    path = str(folder / "out.dat")
    done = harness.execute([GEN_NAMES, path], stdin=b"".join(n + b"\0" for n in [ODD_MODULE, *ODD]))
    assert done.status == 0, f"{done}"
    return Exported(path, folder)


def expected(change=lambda text: text):
    """{name: bytes} as gen_names makes them; what reads as the last adds a byte to it."""
    found = {change(utf8(name)): 1000 + i for i, name in enumerate(ODD, 1)}
    found[change(utf8(ODD[-1]))] += 1
    return found


def protobuf(data):
    """[(field, value)] of a message."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = varint()
        value = varint()
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        found.append((key >> 3, value))
    return found


def test_names_in_every_format(odd):
    """All of them can be written, those of tomorrow too."""
    for kind in formats():
        assert odd.export(kind, f"odd.{kind}").stat().st_size > 0


def test_names_collapsed(odd):
    text = odd.export("collapsed", "names.txt").read_text("utf-8")
    found = {}
    module = " [" + one_line(os.path.basename(ODD_MODULE.decode())).replace(";", ":") + "]"
    for line in text.split("\n")[:-1]:
        stack, weight = line.rsplit(" ", 1)
        frames = stack.split(";")
        assert frames == ["(no stack)"] or all(f.endswith(module) for f in frames)
        name = frames[-1].removesuffix(module)
        found[name] = found.get(name, 0) + int(weight)
    assert found.pop("(no stack)") == 1
    assert found == expected(lambda n: re.sub("^#", "_", one_line(n).replace(";", ":")))
    assert (sum(f["self"] for f in speedscope(odd.folder / "names.txt")["profiles"][0]["frames"]) ==
            total(odd.rows))


def test_names_json_and_csv(odd):
    found = {}
    for a in json.loads(odd.export("json", "names.json").read_text("utf-8"))["allocations"]:
        frames = [f for f in a["backtrace"] if "library" in f]
        if frames:
            found[frames[-1]["function"]] = found.get(frames[-1]["function"], 0) + a["size"]
    assert found == expected()
    found = {}
    for row in odd.rows:
        if row["function"]:
            found[row["function"]] = found.get(row["function"], 0) + row["size"]
            assert row["source"] == row["function"] + ".c"
    assert found == expected()


def test_names_speedscope(odd):
    path = odd.export("speedscope", "names.speedscope.json")
    leaked = speedscope(path)["profiles"][0]
    found = {f["name"]: f["self"] for f in leaked["frames"]}
    assert found.pop("(no stack)") == 1
    assert found == expected()


def test_names_pprof(odd):
    path = odd.export("pprof", "names.pb.gz")
    profile = protobuf(gzip.decompress(path.read_bytes()))
    strings = [v.decode("utf-8") for k, v in profile if k == 6]
    functions = {strings[dict(protobuf(v))[2]] for k, v in profile if k == 5}
    assert functions == {*expected(), "(no stack)"}
    assert utf8(ODD_MODULE) in strings
    text = opened(["go", "tool", "pprof", "-raw", path])
    assert sum(s[0][1] for s in pprof_samples(text)) == total(odd.rows)
    for name in map(utf8, ODD):
        assert name in text


def test_names_heaptrack(odd):
    path = odd.export("heaptrack", "names.gz")
    strings = {line[2:] for line in gzip.decompress(path.read_bytes()).decode("utf-8").split("\n")
               if line.startswith("s ")}
    assert set(expected(one_line)) <= strings
    output = odd.folder / "names.flame"
    opened(["heaptrack_print", path, "-F", output, "--flamegraph-cost-type", "leaked",
            "--print-leaks", "1",
            "--disable-builtin-suppressions"])
    assert sum(int(line.rsplit(" ", 1)[1])
               for line in output.read_text("utf-8").splitlines()) == total(odd.rows)


def test_names_massif(odd):
    path = odd.export("massif", "names.massif")
    peak = next(s for s in massif(path.read_text("utf-8")) if s["kind"] == "peak")

    def name(label):
        return label.split(": ", 1)[1]
    due = expected(lambda n: f"{one_line(n)} ({one_line(n)}.c".replace("#", "_"))
    found = {re.sub(r":\d+\)$", "", name(n[3])): n[2] for n in peak["tree"] if n[0] == 1
             and n[3].startswith("0x")}
    assert found == due
    text = opened(["ms_print", path], cwd=odd.folder)
    assert re.search(r"^Command: +odd a _b c$", text, re.MULTILINE)
    for label in due:
        assert label in text


def test_names_callgrind(odd):
    path = odd.export("callgrind", "names.callgrind")
    own, _, totals = callgrind(path.read_text("utf-8"))
    assert totals[0] == total(odd.rows)
    found = {name: costs[0] for (_, name), costs in own.items()}
    assert found.pop("(no stack)") == 1
    assert found == expected(one_line)
    done = harness.execute(["callgrind_annotate", "--threshold=100", "--auto=no", str(path)])
    assert done.status == 0 and not done.stderr, f"{done}"
    for name in expected(one_line):
        assert f":{name} [".encode() in done.stdout


def test_names_dhat(odd, tmp_path):
    path = odd.export("dhat", "names.dhat.json")
    data = json.loads(path.read_text("utf-8"))
    found = {}
    for point in data["pps"]:
        label = data["ftbl"][point["fs"][0]].split(": ", 1)[1]
        found[label] = found.get(label, 0) + point["tb"]
    assert found.pop("(no stack)") == 1
    assert {re.sub(r":\d+\)$", "", k): v for k, v in found.items()} == expected(
        lambda n: f"{one_line(n)} ({one_line(n)}.c")
    # Two stacks read the same; the viewer refuses a file that has one twice.
    text = dh_view(path, tmp_path)
    assert f"Total:     {total(odd.rows):,} bytes (100%" in text
    for name in expected(one_line):
        assert name in text


# What cannot be written

def refused(run, words):
    """One line on standard error, and status 1."""
    assert run.status == 1, f"{run}"
    lines = run.stderr.decode().splitlines()
    assert (len(lines) == 1 and lines[0].startswith("memoir export: ")
            and words in lines[0]), f"{run}"


def test_a_full_disk(viewed, tmp_path):
    for kind in formats():
        refused(memoir("export", kind, viewed.path, "-o", "/dev/full"),
                "/dev/full: cannot write: No space left on device")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.MEMOIR, "export", kind, viewed.path], stdout=full,
                                  stderr=subprocess.PIPE,
                                  env=harness.ENVIRONMENT, timeout=harness.TIMEOUT)
        refused(harness.Run(done.returncode, b"", done.stderr, 0),
                "cannot write: No space left on device")


def test_a_file_that_may_not_grow(viewed, tmp_path):
    """What was there before stays, and nothing else is left behind."""
    for kind in formats():
        for there in (None, b"before"):
            path = tmp_path / f"out.{kind}"
            if there:
                path.write_bytes(there)
            done = memoir("export", kind, viewed.path, "-o", path,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
            refused(done, f"{path}: cannot write: File too large")
            assert os.listdir(tmp_path) == ([path.name] if there else [])
            if there:
                assert path.read_bytes() == there
                path.unlink()


def test_a_closed_pipe(viewed):
    for kind in formats():
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([harness.MEMOIR, "export", kind, viewed.path], stdout=writer,
                              stderr=subprocess.PIPE,
                              env=harness.ENVIRONMENT, timeout=harness.TIMEOUT)
        os.close(writer)
        refused(harness.Run(done.returncode, b"", done.stderr, 0), "cannot write: Broken pipe")


def test_a_folder_that_may_not_be_written(viewed, tmp_path):
    folder = tmp_path / "only"
    folder.mkdir()
    command = [harness.MEMOIR, "export"]
    if harness.may_mount():
        command = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o ro none "$1" && shift && '
                   'exec "$@"', "sh", str(folder)] + command
        words = "Read-only file system"
    else:
        folder.chmod(0o555)
        words = "Permission denied"
    for kind in formats():
        refused(harness.execute([*command, kind, viewed.path, "-o", str(folder / "out")]),
                f"cannot write: {words}")
        refused(memoir("export", kind, viewed.path, "-o", tmp_path / "not" / "there"),
                "cannot write: No such file")
    assert os.listdir(folder) == []
