# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a recording says first: programs of which the sentences are known, and made-up recordings
whose every sentence is compared with what single allocations add up to."""
import json
import random
import re
import subprocess
from collections import Counter, defaultdict

import pytest

import harness
from test_api import GENERATE, random_filter

MIB = 1 << 20
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}



def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *map(str, arguments)], **keywords)


def options(filters):
    return [word for name, value in filters.items() for word in
            ("--" + name.replace("_", "-"), str(value))]


def by_kind(sentences):
    """{kind: sentence}; of several of a kind, the first."""
    return {s["kind"]: s for s in reversed(sentences)}


def ns(timeval):
    return timeval["secs"] * 10**9 + timeval["fract_nsecs"]


def question(name, path, parameters):
    words = [word for key, value in parameters.items()
             for word in ("--" + key.replace("_", "-"), str(value))]
    return harness.ask("ask", name, *words, path)


# Known programs


@pytest.fixture(scope="module")
def said(compile_program, tmp_path_factory):
    """said(scenario): the path of its recording and its sentences, by kind."""
    folder = tmp_path_factory.mktemp("sentences")
    program = compile_program("sentences", flags=("-O1", "-fno-optimize-sibling-calls"))
    known = {}

    def record(scenario):
        if scenario not in known:
            path = str(folder / f"{scenario}.dat")
            assert harness.record([program, scenario], path).status == 0
            known[scenario] = path, harness.ask("report", "--json", path)["sentences"]
        return known[scenario]
    return record


@pytest.mark.parametrize("scenario, expected", [
    ("peak", ["All of the 977 KiB at the peak is from build_table; all of it was freed later",
              "Everything was freed"]),
    ("left", ["2.86 MiB of 3.81 MiB at the peak is from build_table; all of it was freed later",
              "Nothing that matters grows; 977 KiB in 1 block was never freed, all of it from "
              "read_config"]),
    ("slack", ["The allocator rounds the 488 KiB at the peak up by 293 KiB (60.0 %)"]),
    ("large", ["serve_request allocates 150 blocks of 1 MiB or more that live under 10 ms each; "
               "the largest has 2.00 MiB"]),
    ("temporary", ["100.0 % of the allocations, 3,000, are temporary: their thread's next call "
                   "frees them; all of these are from serve_request"]),
    ("zero", ["100.0 % of the allocations, 3,000, are of no bytes; all of these are from "
              "serve_request"]),
    ("mapped", ["64.0 MiB is mapped by map_arena, not malloc'ed; 32.0 MiB of it was seen "
                "resident"]),
])
def test_known_sentences(said, scenario, expected):
    texts = [s["text"] for s in said(scenario)[1]]
    for text in expected:
        # The last block of all may be one that the end of the program frees: too little to matter.
        assert text in texts or text.replace("Nothing that matters", "Nothing") in texts


def test_growth(said):
    path, sentences = said("growing")
    kinds = by_kind(sentences)
    growing = kinds["growing"]
    assert re.fullmatch(r"serve_request grows by [\d.]+ .?i?B/s since [\d.]+ ms: 977 KiB was never "
                        r"freed", growing["text"])
    assert growing["bytes"] == 500 * 2000 and growing["function"] == "serve_request"
    assert 2000 * 500 / 2 < growing["bytes_per_second"] < 2000 * 1000
    assert not any("Nothing grows" in s["text"] for s in sentences)
    assert "left" not in kinds  # it would be the same once more
    command = memoir("report", "--commands", path).stdout.decode()
    assert f"memoir leaks --held -F 'responsible = \"serve_request\"' {path}" in command


def test_resident(said):
    """What the allocator does not give back is neither blocks nor mapped by the program."""
    path, sentences = said("resident")
    resident = by_kind(sentences)["resident"]
    assert 75 * MIB < resident["bytes"] <= resident["whole_bytes"] < 100 * MIB
    assert resident["part_bytes"] < 10000
    report = harness.ask("report", "--json", path)
    assert resident["whole_bytes"] == report["memory"]["rss"]["bytes"]


def test_thread(said):
    path, sentences = said("thread")
    thread = by_kind(sentences)["thread"]
    assert thread["bytes"] >= 900000 and thread["threads"] >= 4
    [large] = harness.ask("allocations", "--json", "-F", "size = 900000", path)["allocations"]
    assert large["thread"] == thread["thread"]


def test_memory_of_the_process(said):
    """In the headline; and nothing, rather than zero, where nobody has looked."""
    path, _ = said("mapped")
    memory = harness.ask("report", "--json", path)["memory"]
    assert memory["mapped"]["bytes"] == 64 * MIB
    assert 32 * MIB < memory["rss"]["bytes"] < 50 * MIB
    text = memoir("report", path).stdout.decode()
    assert re.search(r"^  resident +\d[\d.]* MiB at most when sampled, ", text, flags=re.M)
    assert re.search(r"^  mapped +64\.0 MiB at most, by the program itself, ", text, flags=re.M)
    series = harness.ask("maps", "--timeline", "--json", path)
    assert max(series["mapped"]) == 64 * MIB
    assert max(series["rss"]) == memory["rss"]["bytes"]


@pytest.mark.parametrize("scenario", ["mapped", "resident", "growing"])
def test_memory_is_that_of_the_maps(said, scenario):
    """What each map had at each moment, added up."""
    path, sentences = said(scenario)
    memory = harness.ask("report", "--json", path)["memory"]
    changes = defaultdict(lambda: [0, 0])
    for found in harness.ask("maps", "--json", "--history", "--regions", path)["maps"]:
        if found["is_own"]:
            continue
        own = "source" in found and found["name"] not in ("[heap]", "[anon:glibc]") and (
            not any(r["inode"] for r in found["regions"]) and not found["is_shared"]
            and (found["is_readable"] or found["is_writable"]))
        before = [0, 0]
        for usage in found["usage_history"]:
            now = [usage["rss"], usage["address_space"] if own else 0]
            for i in range(2):
                changes[ns(usage["timestamp_relative"])][i] += now[i] - before[i]
            before = now
    rss = mapped = most_rss = most_mapped = 0
    for at in sorted(changes):
        rss, mapped = rss + changes[at][0], mapped + changes[at][1]
        if rss > most_rss:
            most_rss, rss_at = rss, at
        most_mapped = max(most_mapped, mapped)
    assert memory["rss"] == {"bytes": most_rss, "at_ns": rss_at}
    assert memory.get("mapped", {"bytes": 0})["bytes"] == most_mapped
    if scenario == "mapped":
        assert by_kind(sentences)["mapped"]["bytes"] == most_mapped


def test_hidden_frames(said):
    """Evidence hides what the question hides."""
    path, _ = said("left")
    hide = 'function = "build_table"'
    sentences = harness.ask("report", "--json", "--hide", hide, path)["sentences"]
    peak = by_kind(sentences)["peak"]
    assert peak["function"] == "left" and peak["evidence"]["parameters"]["hide"] == hide
    answer = question("tree", path, peak["evidence"]["parameters"])
    assert answer["tree"]["bytes"] == peak["bytes"] == 3000000
    text = memoir("report", "--commands", "--hide", hide, path).stdout.decode()
    assert f"-F 'responsible = \"left\"' --hide '{hide}'" in text


def test_never_sampled(tmp_path):
    path = str(tmp_path / "made.dat")
    subprocess.run([GENERATE, path, "500", "2", "3"], check=True, stdout=subprocess.DEVNULL)
    assert harness.ask("report", "--json", path)["memory"] == {}
    text = memoir("report", path).stdout.decode()
    assert not re.search(r"resident|mapped  ", text)


def test_of_a_part(said):
    """With a filter everything is of what matches, and nothing of the whole process."""
    path, _ = said("mapped")
    some = harness.ask("report", "--json", "-F", "size > 10", path)["sentences"]
    assert some and not {"mapped", "resident"} & {s["kind"] for s in some}
    none = harness.ask("report", "--json", "-F", "size > 100M", path)["sentences"]
    assert none == []


def test_text(said):
    """Wrapped where a line ends; with --commands, each with what can be copied, which works."""
    path, sentences = said("left")
    for width in (60, 80, 120):
        text = memoir("report", path, env={"COLUMNS": str(width)}).stdout.decode()
        block = text[text.index("\n  - "):text.index("\n  allocations ")]
        assert max(map(len, block.splitlines())) <= width
        assert " ".join(block.split()).count(". - ") == len(sentences) - 1
        assert [s["text"] + "." for s in sentences] == [
            " ".join(part.split()) for part in block.split("\n  - ")[1:]]
    text = memoir("report", "--commands", path).stdout.decode()
    commands = re.findall(r"^    (memoir .*)$", text, flags=re.M)
    assert len(commands) == len(sentences)
    for command in commands:
        done = subprocess.run(command.replace("memoir", harness.MEMOIR, 1), shell=True,
                              capture_output=True, check=False)
        assert done.returncode == 0 and done.stdout, (command, done.stderr)
    assert "\n  - " not in memoir("report", "--sentences", "none", path).stdout.decode()


def test_how_many(said):
    path, sentences = said("left")
    none = harness.ask("report", "--json", "--sentences", "none", path)
    assert "sentences" not in none and "growth_judged" not in none
    quick = harness.ask("report", "--json", "--sentences", "quick", path)
    assert not quick["growth_judged"]
    assert [s["kind"] for s in quick["sentences"]] == [s["kind"] for s in sentences]
    assert not any(re.search("grow|bounded|up and down", s["text"]) for s in quick["sentences"])
    every = harness.ask("report", "--json", "--sentences", "all", path)
    assert every["growth_judged"] and every["sentences"] == sentences


# Made-up recordings


class Recording:
    """A recording as single allocations have it, and what they add up to."""

    def __init__(self, path, filters):
        self.path, self.filters = path, options(filters)
        whole = harness.ask("report", "--json", "--sentences", "none", "--no-verdicts", "--by",
                            "stack", "--top", "1000000", path)
        self.peak_ns = whole["peak"]["at_ns"]
        self.function = {row["backtrace_id"]: row["function"]
                         for row in whole["top"]["allocated"]}
        self.rows = self.chosen()
        self.temporary = self.chosen("temporary")
        leaks = harness.ask("leaks", "--json", "--held", "--top", "1000000", *self.filters, path)
        self.verdicts, self.small = leaks["verdicts"], leaks["small"]

    def chosen(self, term=None):
        return harness.ask("ask", "allocations", "--stacks", "false",
                           *(["--filter", term] if term else []), *self.filters,
                           self.path)["allocations"]

    def name(self, row):
        return self.function.get(row["backtrace_id"], "(no stack)")

    def at_peak(self):
        return [a for a in self.rows if ns(a["timestamp_relative"]) <= self.peak_ns and
                (not a.get("deallocation") or
                 ns(a["deallocation"]["timestamp_relative"]) > self.peak_ns)]

    def left(self):
        return [a for a in self.rows if not a.get("deallocation")]


def weigh(rows):
    return sum(a["size"] for a in rows), len(rows)


def per_function(recording, rows):
    bytes_, count = Counter(), Counter()
    for a in rows:
        bytes_[recording.name(a)] += a["size"]
        count[recording.name(a)] += 1
    return bytes_, count


def check_peak(r, s):
    rows = r.at_peak()
    bytes_, count = per_function(r, rows)
    assert (s["whole_bytes"], s["whole_count"]) == weigh(rows)
    assert s["bytes"] == bytes_[s["function"]] == max(bytes_.values())
    assert s["count"] == count[s["function"]] and s["functions"] == len(bytes_)
    assert s["at_ns"] == r.peak_ns
    if "freed" in s["text"]:
        assert s["function"] not in per_function(r, r.left())[1]
    if "bounded" in s["text"] or "up and down" in s["text"]:
        of_it = [v for v in r.verdicts if v["function"] == s["function"]]
        assert of_it and not any(v["class"] in ("growing", "unclear") for v in of_it)


def check_left(r, s):
    rows = r.left()
    bytes_, count = per_function(r, rows)
    assert (s["bytes"], s.get("count", 0)) == weigh(rows)
    if rows:
        assert s["part_bytes"] == bytes_[s["function"]] == max(bytes_.values())
        assert s["part_count"] == count[s["function"]] and s["functions"] == len(bytes_)
    else:
        assert "was freed" in s["text"] and "never" not in s["text"]
    if "grows" in s["text"]:
        assert not [v for v in r.verdicts if v["class"] in ("growing", "unclear")]
        assert not r.small["grows"]


def check_growing(r, s):
    of_it = [v for v in r.verdicts
             if v["function"] == s["function"] and v["class"] == "growing"]
    assert s["bytes"] == sum(v["kept_bytes"] if v["freed_at_exit"] else v["leaked_bytes"]
                             for v in of_it)
    assert s["since_ns"] == min(v["first_ns"] for v in of_it)
    assert s.get("bytes_per_second", 0) == pytest.approx(
        sum(v["bytes_per_second"] for v in of_it
            if v["bytes_per_second"] > 0 and v["fit"] >= 0.8), abs=len(of_it) + 1)
    assert ("never freed" in s["text"]) == any(not v["freed_at_exit"] for v in of_it)


def check_growing_too(r, s):
    of_it = {v["function"] for v in r.verdicts if v["class"] == "growing"}
    assert 2 <= s["functions"] <= len(of_it) - 3


def check_unclear(r, s):
    of_it = {v["function"] for v in r.verdicts if v["class"] == "unclear"}
    assert s["functions"] <= len(of_it) and s["function"] in of_it


def check_held(r, s):
    of_it = [v for v in r.verdicts if v["freed_at_exit"] and v["function"] == s["function"]]
    assert not any(v["class"] == "growing" for v in of_it)
    assert s["bytes"] <= sum(v["kept_bytes"] for v in of_it)


def check_slack(r, s):
    rows = r.at_peak()
    assert s["whole_bytes"] == weigh(rows)[0]
    assert s["bytes"] == sum(a["extra_space"] for a in rows)
    assert s["bytes"] >= s["whole_bytes"] // 10


def check_thread(r, s):
    threads = Counter()
    for a in r.at_peak():
        threads[a["thread"]] += a["size"]
    assert s["whole_bytes"] == sum(threads.values()) and s["threads"] == len(threads) >= 4
    assert s["bytes"] == threads[s["thread"]] == max(threads.values())
    assert s["bytes"] >= s["whole_bytes"] // 2


def check_temporary(r, s):
    size, calls = weigh(r.temporary)
    count = per_function(r, r.temporary)[1]
    assert (s["count"], s["whole_count"]) == (calls, len(r.rows))
    assert s["bytes"] == size // calls and 10 * calls >= len(r.rows)
    assert s["part_count"] == max(count.values()) == count[s["function"]]


CHECKS = {name[6:]: check for name, check in list(globals().items()) if name.startswith("check_")}
# What they are about, that a tree weighs as much as they say.
SUMS = {"peak": ("bytes", "count"), "left": ("bytes", "count"), "thread": ("bytes", "count"),
        "slack": ("whole_bytes", "count"), "temporary": (None, "count")}


def check_evidence(r, s):
    evidence = s["evidence"]
    parameters = dict(evidence["parameters"])
    assert evidence["term"] in parameters.get("filter", "")
    answer = question(evidence["question"], r.path, parameters)
    if s["kind"] in SUMS:
        size, count = SUMS[s["kind"]]
        assert answer["tree"]["count"] == s.get(count, 0)
        assert not size or answer["tree"]["bytes"] == s[size]
    elif s["kind"] in ("growing", "unclear"):
        assert answer["verdicts"]


def check_text(s):
    """The text is its parts, and each number is its value as tables round it."""
    assert s["text"] == "".join(p["text"] for p in s["parts"])
    for part in s["parts"]:
        if "bytes" in part or "bytes_per_second" in part:
            number, unit = part["text"].removesuffix("/s").split()
            value = part.get("bytes", part.get("bytes_per_second"))
            assert float(number) * UNITS[unit] == pytest.approx(value, rel=0.0051)
            assert "bytes_per_second" in part or value in [
                v for k, v in s.items() if k.endswith("bytes")]
        elif "count" in part:
            assert part["text"] == f"{part['count']:,}"


@pytest.mark.parametrize("seed", range(24))
def test_every_sentence_is_true(tmp_path, seed):
    rng = random.Random(seed)
    path = str(tmp_path / "made.dat")
    subprocess.run([GENERATE, path, str(rng.randrange(100, 9000)), str(rng.randrange(1, 9)),
                    str(rng.randrange(10**6)), str(rng.choice([0, 2, 10, 60]))], check=True,
                   stdout=subprocess.DEVNULL)
    r = Recording(path, random_filter(rng) if seed % 3 else {})
    kinds = check_sentences(r)
    assert kinds or not r.rows
    if sum(kinds.values()) < 7:
        check_silence(r, set(kinds))


def check_sentences(r):
    """Each of them, and all together: {kind: how many}."""
    sentences = harness.ask("report", "--json", *r.filters, r.path)["sentences"]
    assert len(sentences) <= 7, r.filters
    at_stake = [s["bytes"] for s in sentences]
    assert at_stake == sorted(at_stake, reverse=True)
    for s in sentences:
        check_text(s)
        CHECKS.get(s["kind"], lambda r, s: None)(r, s)
        check_evidence(r, s)
    check_contradictions(r, sentences)
    return Counter(s["kind"] for s in sentences)


MANY = 100_000  # allocations that are read one by one


def check_real(path):
    """Of a real program: of all of it where that is not too much, or else of its largest blocks."""
    least = 0
    while harness.ask("ask", "matches", "--filter", f"size >= {least}", path)["count"] > MANY:
        least = 2 * least or 16
    check_sentences(Recording(path, {"size_min": least} if least else {}))


def check_contradictions(r, sentences):
    kinds = Counter(s["kind"] for s in sentences)
    texts = " ".join(s["text"] for s in sentences)
    assert all(n == 1 for kind, n in kinds.items() if kind != "growing")
    assert kinds["growing"] <= 4
    quiet = "Nothing grows" in texts or "Nothing of it grows" in texts
    assert not (quiet and (kinds["growing"] or kinds["unclear"]))
    growing = [s["function"] for s in sentences if s["kind"] == "growing"]
    assert len(set(growing)) == len(growing)
    for s in sentences:
        if s["kind"] in ("peak", "unclear", "held") and s.get("function") in growing:
            assert s["kind"] == "peak" and not re.search("bounded|freed|up and down", s["text"])


def check_silence(r, kinds):
    """Nothing is kept back that there is room for."""
    peak = r.at_peak()
    assert ("peak" in kinds) == (weigh(peak)[0] > 0)
    slack = sum(a["extra_space"] for a in peak)
    assert ("slack" in kinds) == (slack >= 1 << 16 and slack >= weigh(peak)[0] // 10)
    assert ("temporary" in kinds) == (
        len(r.temporary) >= 1000 and len(r.temporary) >= len(r.rows) // 10)
    if not kinds & {"growing", "growing_too"}:
        assert "left" in kinds


@pytest.mark.parametrize("seed", range(3))
def test_what_was_removed(tmp_path, seed):
    """Of a recording without its short-lived allocations the sums are said, and they are those of
    the whole one; what looks at single allocations says nothing."""
    path, less = str(tmp_path / "made.dat"), str(tmp_path / "less.dat")
    subprocess.run([GENERATE, path, "20000", "6", str(seed)], check=True,
                   stdout=subprocess.DEVNULL)
    assert memoir("strip", "--threshold", "20us", path, "-o", less).status == 0
    whole, part = (by_kind(harness.ask("report", "--json", p)["sentences"]) for p in (path, less))
    for key in ("bytes", "whole_bytes", "count", "whole_count", "function"):
        assert part["peak"][key] == whole["peak"][key], key
    assert not {"slack", "thread", "large", "zero", "resident"} & set(part)


def test_an_early_end(said, tmp_path):
    """Of what a cut recording does not tell nobody says that it never came."""
    path, sentences = said("left")
    cut = tmp_path / "cut.dat"
    with open(path, "rb") as file:
        cut.write_bytes(file.read()[:-40])
    done = memoir("report", "--json", cut)
    [left] = [s for s in json.loads(done.stdout)["sentences"] if s["kind"] == "left"]
    assert "never freed" in by_kind(sentences)["left"]["text"]
    assert "never" not in left["text"] and "not freed where the recording ends" in left["text"]


def test_order_and_number(compile_program, tmp_path):
    """A real program with many things to say: at most seven, the most bytes first."""
    seen = defaultdict(int)
    for scenario in ("growing", "mapped", "zero"):
        path = str(tmp_path / f"{scenario}.dat")
        program = compile_program("sentences", flags=("-O1", "-fno-optimize-sibling-calls"))
        assert harness.record([program, scenario], path).status == 0
        sentences = harness.ask("report", "--json", path)["sentences"]
        at_stake = [s["bytes"] for s in sentences]
        assert 2 <= len(sentences) <= 7 and at_stake == sorted(at_stake, reverse=True)
        for s in sentences:
            seen[s["kind"]] += 1
            check_text(s)
            question(s["evidence"]["question"], path, s["evidence"]["parameters"])
    assert len(seen) >= 5
