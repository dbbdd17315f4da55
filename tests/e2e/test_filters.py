# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir allocations, groups and report with filters: a program whose blocks are known, and made-up
recordings on which a simple evaluation of all allocations says what must come out."""
import csv
import io
import json
import os
import random
import re
import subprocess

import pytest

import harness

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


def memoir(*arguments, **keywords):
    return harness.execute([harness.MEMOIR, *arguments], **keywords)


def ns(timeval):
    return timeval["secs"] * 10**9 + timeval["fract_nsecs"]


@pytest.fixture(scope="module")
def choosing(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("choosing") / "out.dat")
    recording = harness.record(
        [compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], path)
    assert recording.status == 0, recording.run
    return path


def sizes(path, *options):
    answer = harness.ask("allocations", "--json", path, *options)
    assert answer["total_count"] == len(answer["allocations"])
    return sorted(a["size"] for a in answer["allocations"])


@pytest.mark.parametrize("options, expected", [
    (["-F", "size >= 1000 and size <= 1009"], list(range(1000, 1010))),
    (["--size-min", "1000", "--size-max", "1009"], list(range(1000, 1010))),
    (["--size-larger", "1000", "--size-smaller", "1009"], list(range(1001, 1009))),
    (["-F", "function = recurse and leaked"], list(range(1005, 1010))),
    (["--function-regex", "^recurse$", "--lifetime", "only_temporary"], list(range(1000, 1005))),
    (["--function-regex", "^recurse$", "--lifetime-min", "20ms", "--lifetime", "only_not_leaked"],
     list(range(1000, 1005))),
    (["-F", "function ~ '^chain$' and chain_length = 5"], [100, 200, 300, 400, 500]),
    (["-F", "function = chain", "--position-in-chain-min", "3"], [400, 500]),
    (["-F", "first_size = 100 and last_size = 500 and position_in_chain <= 1"], [100, 200]),
    (["--call", "calloc", "--function-regex", "^main$", "--size-min", "8k"], [8002] * 7),
    (["-F", "thread = chooser"], [3333]),
    (["-F", "freed_by_other_thread and size > 0", "--function-regex", "inner"], [2222]),
    (["-F", "mmapped and size >= 1M"], [5000000]),
    (["--size-min", "4Mi"], [5000000]),
    (["-F", "frame(function = inner and source = choosing.c) and size = 2222"], [2222]),
    (["-F", "source = choosing.c:28"], [200, 300, 400, 500]),
    (["-F", "frame(function = chain and source = choosing.c:28)"], [200, 300, 400, 500]),
    (["-F", "source != choosing.c:28 and function = chain"], [100]),
    (["-F", "source = choosing.c:99999 or source = 'choosing.c:' or source = ':28'"], []),
    (["-F", "frame(function = inner and function = main)"], []),
    (["-F", "size = 1003 or size = 1004 and leaked"], [1003]),
    (["-F", "(size = 1003 or size = 1009) and leaked"], [1009]),
    (["-F", "function !~ 'recurse|main|start|pthread|thread|clone' and size > 1000"], []),
    (["-F", "call ~ '^realloc'"], [200, 300, 400, 500]),
], ids=lambda v: " ".join(v) if v and isinstance(v[0], str) else None)
def test_known_blocks(choosing, options, expected):
    assert sizes(choosing, *options) == expected


def test_shape_of_an_allocation(choosing):
    answer = harness.ask("allocations", "--json", choosing, "--size-min", "200", "--size-max",
                         "200", "-F",
                         "function = chain")
    [a] = answer["allocations"]
    for key in ("id", "address", "address_s", "timestamp", "timestamp_relative",
                "timestamp_relative_p", "thread",
                "size", "backtrace_id", "deallocation", "chain_deallocation", "backtrace",
                "is_mmaped", "is_jemalloc",
                "in_main_arena", "extra_space", "chain_lifetime", "position_in_chain",
                "chain_length"):
        assert key in a, key
    assert a["address_s"] == f"{a['address']:016X}"
    assert (a["position_in_chain"], a["chain_length"]) == (1, 5)
    assert [f.get("function") for f in a["backtrace"]][-3:] == ["main", "chain", "realloc"]
    frame = a["backtrace"][-2]
    assert (frame["source"].endswith("choosing.c") and frame["line"] > 0
            and frame["library"] == "choosing")
    assert frame["count"] == 4 and not frame["is_inline"]
    assert ns(a["deallocation"]["timestamp"]) < ns(a["chain_deallocation"]["timestamp"])
    assert ns(a["lifetime"]) <= ns(a["chain_lifetime"])
    assert abs(ns(a["deallocation"]["timestamp_relative"]) - ns(a["timestamp_relative"]) -
               ns(a["lifetime"])) <= 1
    assert a["in_main_arena"] and not a["is_mmaped"] and not a["is_jemalloc"]


def test_shape_of_a_group(choosing):
    answer = harness.ask("groups", "--json", choosing, "--call", "calloc", "--size-min", "8k")
    [g] = answer["groups"]
    assert answer["total_count"] == 1
    for part in ("all", "only_matched"):
        for key in ("size", "min_size", "max_size", "min_timestamp", "min_timestamp_relative",
                    "min_timestamp_relative_p", "max_timestamp", "interval", "leaked_count",
                    "allocated_count",
                    "max_total_usage_first_seen_at"):
            assert key in g[part], key
    assert g["only_matched"]["allocated_count"] == 7 and g["only_matched"]["size"] == 7 * 8002
    assert g["all"]["peak_size"] == 8002 and g["all"]["peak_count"] == 1
    assert g["backtrace"][-1]["function"] == "calloc"


def test_recursion_counts_once(choosing):
    groups = harness.ask("groups", "--json", choosing, "--by", "function", "--size-min", "1000",
                         "--size-max",
                         "1009")["groups"]
    by_name = {g["name"]: g for g in groups}
    assert by_name["recurse"]["only_matched"]["allocated_count"] == 10
    assert by_name["recurse"]["self"]["allocated_count"] == 0
    assert by_name["inner"]["self"]["allocated_count"] == 10
    assert by_name["main"]["only_matched"]["size"] == sum(range(1000, 1010))


def test_report_of_a_filter(choosing):
    report = harness.ask("report", "--json", choosing, "-F", "function = recurse")
    assert report["filter"]["count"] == 10
    assert report["leaked"]["count"] == 5 and report["leaked"]["bytes"] == sum(range(1005, 1010))
    text = memoir("report", choosing, "-F", "function = recurse").stdout.decode()
    assert re.search(r"matching +10 of", text)


@pytest.mark.parametrize("command", ["allocations", "groups"])
@pytest.mark.parametrize("options",
                         [[], ["--full"], ["--sort", "size"], ["--skip", "3", "--count", "2"],
                          ["-F", "size < 0"]], ids=" ".join)
def test_tables_fit(choosing, command, options):
    for width in (80, 120, 200):
        run = memoir(command, choosing, *options, env={"COLUMNS": str(width)})
        assert run.status == 0, run
        lines = run.stdout.decode().splitlines()
        assert "\x1b" not in run.stdout.decode()
        if "--full" not in options:
            assert max(map(len, lines)) <= max(width, 80), width
        if "size < 0" in options:
            assert lines[0].startswith("no ") and len(lines) == 1


@pytest.mark.parametrize("options, title", [
    (["-F", "size = 5000000"], "1 allocation, 4.77 MiB"),
    (["-F", "call = realloc", "--count", "0"], "4 allocations, 1.37 KiB"),
    (["-F", "call = realloc", "--count", "2", "--skip", "1"], "2 to 3 of 4 allocations, 1.37 KiB"),
    (["-F", "call = realloc", "--skip", "4"], "nothing after the last of 4 allocations, 1.37 KiB"),
    (["-F", "size = 5000001"], "no allocation, 0 B"),
], ids=lambda v: v if isinstance(v, str) else None)
def test_titles(choosing, options, title):
    assert memoir("allocations", choosing, *options).stdout.decode().splitlines()[0] == title


@pytest.mark.parametrize("command, width, headings", [
    ("allocations", 80, ["TIME", "LIFETIME", "SIZE", "STACK", "WHERE"]),
    ("allocations", 200, ["TIME", "LIFETIME", "SIZE", "USABLE", "ADDRESS", "THREAD", "CHAIN",
                          "CALL", "STACK", "WHERE"]),
    ("allocations --sort chain_length", 80, ["TIME", "LIFETIME", "SIZE", "CHAIN LENGTH", "STACK",
                                             "WHERE"]),
    ("allocations --sort usable_size", 80, ["TIME", "LIFETIME", "SIZE", "USABLE", "STACK",
                                            "WHERE"]),
    ("groups", 80, ["SIZE", "COUNT", "LEAKED", "STACK", "WHERE"]),
    ("groups", 200, ["SIZE", "COUNT", "LEAKED", "BLOCKS", "FIRST", "LAST", "OWN PEAK", "AT",
                     "STACK", "WHERE"]),
    ("groups --by function", 80, ["SIZE", "COUNT", "SELF", "LEAKED", "NAME"]),
    ("groups --by call --sort max_size", 90, ["LARGEST", "SIZE", "COUNT", "LEAKED", "BLOCKS",
                                              "FIRST", "LAST", "NAME"]),
])
def test_columns(choosing, command, width, headings):
    """Numbers are columns as their tables say, and the one that rows are sorted by always is."""
    run = memoir(*command.split(), choosing, env={"COLUMNS": str(width)})
    assert re.split(r"  +", run.stdout.decode().splitlines()[2].strip()) == headings


def test_columns_of_numbers(choosing):
    def column(name, *options):
        lines = memoir("allocations", choosing, *options).stdout.decode().splitlines()[2:]
        end = lines[0].index(name) + len(name)
        return [re.split("  +", line[:end])[-1] for line in lines[1:]]

    one = ["-F", "function = recurse and size = 1009"]
    [known] = harness.ask("allocations", "--json", choosing, *one)["allocations"]
    assert column("SLACK", *one, "--sort", "slack") == [f"{known['extra_space']} B"] != ["0 B"]
    assert column("FREED", *one, "--sort", "deallocated") == [""]
    assert column("CHAIN LIFETIME", *one, "--sort", "chain_lifetime") == ["leaked"]
    chain = ["-F", "call = realloc", "--sort", "position_in_chain"]
    assert column("POSITION", *chain) == sorted(column("POSITION", *chain))


def test_csv(choosing):
    run = memoir("allocations", "--csv", choosing, "-F", "function = recurse", "--sort", "size",
                 "--order", "dsc")
    rows = list(csv.DictReader(io.StringIO(run.stdout.decode())))
    assert [int(r["size"]) for r in rows] == list(range(1009, 999, -1))
    assert [r["deallocated_ns"] == "" for r in rows] == [True] * 5 + [False] * 5
    run = memoir("groups", "--csv", choosing, "--by", "call")
    rows = {r["call"]: r for r in csv.DictReader(io.StringIO(run.stdout.decode()))}
    assert int(rows["realloc"]["allocated_count"]) == 4 and int(rows["realloc"]["size"]) == 1400


@pytest.mark.parametrize("options, column, part", [
    (["-F", "sizee > 5"], 1, "did you mean 'size'"),
    (["-F", "size > 5 and func ~ x"], 14, "no 'func'"),
    (["-F", "size > ü5"], 8, "does not fit"),
    (["--size-min", "lots"], None, "'lots' does not fit"),
    (["--lifetime", "forever"], None, "none of all, only_leaked"),
    (["--function-regex", "(("], None, "regular expression"),
    (["--sort", "colour"], None, "'colour' is none of timestamp, deallocated"),
    (["--order", "up"], None, "asc, dsc or desc"),
    (["--json", "--csv"], None, "not both"),
])
def test_mistakes(choosing, options, column, part):
    run = memoir("allocations", choosing, *options)
    lines = run.stderr.decode().splitlines()
    assert run.status == 2 and not run.stdout, run
    assert part in lines[0]
    if column:
        assert f"column {column}:" in lines[0]
        assert lines[1].strip() == options[1] and lines[2] == " " * (column + 1) + "^"
    else:
        assert len(lines) == 1


def test_hopeless_pattern(choosing):
    run = memoir("groups", choosing, "-F", r"source ~ '((([a-z_/]+)*)*)*[0-9]{9}x$'")
    assert run.status == 2 and b"too many steps" in run.stderr and len(run.stderr.splitlines()) == 1


def test_help_of_filters():
    text = memoir("help", "filters").stdout.decode()
    assert "size_min SIZE" in text and "group_leaked_allocations" in text
    assert "memoir help filters" in memoir("groups", "--help").stdout.decode()


def test_stripped_recordings_still_count(choosing, tmp_path):
    """What strip takes out stays in the groups' sums of everything."""
    stripped = str(tmp_path / "stripped.dat")
    assert memoir("strip", "-o", stripped, choosing).status == 0
    before = {g["backtrace_id"]: g for g in harness.ask("groups", "--json", choosing)["groups"]}
    left = harness.ask("groups", "--json", stripped)["groups"]
    assert 0 < len(left) < len(before)
    by_frames = {str([f.get("function") for f in g["backtrace"]]) + str(
        g["backtrace"][-2]["line"]): g["all"]
                 for g in before.values() if "line" in g["backtrace"][-2]}
    compared = 0
    for g in left:
        was = by_frames.get(
            str([f.get("function") for f in g["backtrace"]]) + str(g["backtrace"][-2].get("line")))
        if was is None:
            continue
        for key in ("size", "usable_size", "allocated_count", "leaked_count", "leaked_size",
                    "min_size", "max_size",
                    "min_timestamp", "max_timestamp", "interval", "peak_size", "peak_count",
                    "max_total_usage_first_seen_at"):
            assert g["all"][key] == was[key], key
        compared += 1
        assert g["only_matched"]["allocated_count"] <= g["all"]["allocated_count"]
    assert compared >= 3
    # A stack with something freed and something kept: the group conditions see both.
    assert sizes(stripped, "-F", "function = main and group_leaked_allocations < 100% and "
                 "group_allocations > 1") == \
        sizes(choosing, "-F", "leaked and function = main and group_leaked_allocations < 100% and "
              "group_allocations > 1")


def test_cache_changes_nothing(choosing, tmp_path):
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for options in (["allocations", "--csv"], ["groups", "--csv", "--by", "function"],
                    ["groups", "--json", "-F", "chain_length > 1 or leaked"]):
        cold, warm = (memoir(*options, choosing, env=env) for _ in range(2))
        without = memoir(*options, "--no-cache", choosing, env=env)
        assert cold.status == 0 and cold.stdout == warm.stdout == without.stdout


# Made-up recordings: everything is taken out once as JSON, and filters are worked out again here.

class Brute:
    def __init__(self, path):
        self.rows = harness.ask("allocations", "--json", path)["allocations"]
        self.groups = {}
        for row in self.rows:
            self.groups.setdefault(row["backtrace_id"], []).append(row)
        self.end = max(ns(r["timestamp_relative"]) + ns(r["lifetime"]) for r in self.rows)

    @staticmethod
    def freed(row):
        return ns(row["deallocation"]["timestamp_relative"]) if "deallocation" in row else None

    def conditions(self, pick):
        """One random condition: the options and a function of an allocation."""
        row = pick.choice(self.rows)
        first = lambda r: self.rows[r["chain_first"]]
        last = lambda r: self.rows[r["chain_last"]]
        group = lambda r: self.groups[r["backtrace_id"]]
        leaked = lambda r: "deallocation" not in r
        interval = lambda r: (max(ns(x["timestamp_relative"]) for x in group(r)) -
                              min(ns(x["timestamp_relative"]) for x in group(r)))
        numbers = {
            "size": (lambda r: r["size"], ""),
            "usable_size": (lambda r: r["size"] + r["extra_space"], ""),
            "address": (lambda r: r["address"], ""),
            "first_size": (lambda r: first(r)["size"], ""),
            "last_size": (lambda r: last(r)["size"], ""),
            "chain_length": (lambda r: r["chain_length"], ""),
            "position_in_chain": (lambda r: r["position_in_chain"], ""),
            "backtrace_depth": (lambda r: len(r["backtrace"]) - 1, ""),
            "lifetime": (lambda r: ns(r["lifetime"]), "ns"),
            "chain_lifetime": (lambda r: ns(r["chain_lifetime"]), "ns"),
            "group_allocations": (lambda r: len(group(r)), ""),
            "group_leaked_allocations": (lambda r: sum(map(leaked, group(r))), ""),
        }
        kind = pick.randrange(8)
        if kind < 4:
            name = pick.choice(list(numbers))
            value_of, unit = numbers[name]
            value = max(value_of(row) + pick.choice((-1, 0, 1)), 0)
            if pick.random() < 0.5:
                return [f"--{name}-min".replace("_", "-"), f"{value}{unit}"], lambda r: value_of(
                    r) >= value
            return [f"--{name}-max".replace("_", "-"), f"{value}{unit}"], lambda r: value_of(
                r) <= value
        at = ns(row["timestamp_relative"]) + pick.choice((-1, 0, 1))
        if kind == 4:
            return pick.choice([
                (["--from", f"{at}ns"], lambda r: ns(r["timestamp_relative"]) >= at),
                (["--to", f"{at}ns"], lambda r: ns(r["timestamp_relative"]) <= at),
                (["--alive-at", f"{at}ns"], lambda r: ns(r["timestamp_relative"]) <= at and
                 (leaked(r) or self.freed(r) > at)),
                (["--deallocated-after", f"{at}ns"], lambda r: not leaked(r)
                 and self.freed(r) >= at),
                (["--leaked-or-deallocated-after", f"{at}ns"], lambda r: leaked(r)
                 or self.freed(r) > at)])
        if kind == 5:
            return pick.choice([
                (["--lifetime", "only_leaked"], leaked),
                (["--lifetime", "only_temporary"], lambda r: not leaked(r)),
                (["--lifetime", "only_chain_leaked"], lambda r: leaked(last(r))),
                (["--lifetime", "only_whole_group_leaked"], lambda r: all(map(leaked, group(r)))),
                (["--temporary", "yes"], lambda r: r["is_temporary"])])
        if kind == 6:
            ids = pick.sample(sorted(self.groups), min(3, len(self.groups)))
            text = ",".join(map(str, ids))
            return pick.choice([(["--backtraces", text], lambda r: r["backtrace_id"] in ids),
                                (["--not-backtraces", text],
                                 lambda r: r["backtrace_id"] not in ids)])
        thread = row["thread"]
        return pick.choice([
            (["--thread", str(thread)], lambda r: r["thread"] == thread),
            (["-F", f"deallocation_thread = {thread} or size > 100"],
             lambda r: r.get("deallocation", {}).get("thread") == thread or r["size"] > 100),
            (["-F", f"not (thread = {thread} and leaked)"],
             lambda r: not (r["thread"] == thread and leaked(r)))])


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    if not os.path.exists(GENERATE):
        subprocess.run(["ninja", "-C", harness.BUILD, "tests/unit/gen_recording"], check=True,
                       stdout=subprocess.DEVNULL)
    folder = tmp_path_factory.mktemp("made_up")
    paths = []
    for seed in (1, 2, 3):
        paths.append(str(folder / f"{seed}.dat"))
        subprocess.run([GENERATE, paths[-1], str(300 * seed), str(seed), str(seed), str(10 * seed)],
                       check=True,
                       stdout=subprocess.DEVNULL)
    return [(path, Brute(path)) for path in paths]


@pytest.mark.parametrize("seed", range(6))
def test_random_filters(made_up, seed):
    pick = random.Random(seed)
    for _ in range(12):
        path, brute = pick.choice(made_up)
        chosen = [brute.conditions(pick) for _ in range(pick.choice((1, 1, 2, 2, 3)))]
        options = [word for words, _ in chosen for word in words]
        due = [r["id"] for r in brute.rows if all(holds(r) for _, holds in chosen)]
        rows = (list(csv.DictReader(
            io.StringIO(memoir("allocations", "--csv", path, *options).stdout.decode()))))
        assert [int(r["id"]) for r in rows] == due, options


@pytest.mark.parametrize("seed", range(3))
def test_random_groups(made_up, seed):
    pick = random.Random(100 + seed)
    for _ in range(4):
        path, brute = pick.choice(made_up)
        options, holds = brute.conditions(pick)
        order, number = pick.choice(("asc", "dsc")), pick.choice(
            ("size", "allocated_count", "leaked_count"))
        answer = harness.ask("groups", "--json", path, *options, "--sort", "only_matched." + number,
                             "--order", order)
        due = {}
        for row in filter(holds, brute.rows):
            due.setdefault(row["backtrace_id"], []).append(row)
        assert {g["backtrace_id"] for g in answer["groups"]} == set(due), options
        values = [g["only_matched"][number] for g in answer["groups"]]
        assert values == sorted(values, reverse=order == "dsc")
        for g in answer["groups"]:
            for part, rows in (("only_matched", due[g["backtrace_id"]]),
                               ("all", brute.groups[g["backtrace_id"]])):
                assert g[part]["size"] == sum(r["size"] for r in rows)
                assert g[part]["allocated_count"] == len(rows)
                assert g[part]["leaked_count"] == sum("deallocation" not in r for r in rows)
                assert g[part]["min_size"] == min(r["size"] for r in rows)
                assert g[part]["max_size"] == max(r["size"] for r in rows)
                assert ns(g[part]["min_timestamp"]) == min(ns(r["timestamp"]) for r in rows)
                assert ns(g[part]["max_timestamp"]) == max(ns(r["timestamp"]) for r in rows)


def test_pages_fit_together(made_up):
    path, brute = made_up[1]
    for key, value in (("size", lambda r: r["size"]), ("address", lambda r: r["address"]),
                       ("timestamp", lambda r: ns(r["timestamp"]))):
        due = [r["id"] for r in sorted(brute.rows, key=value)]
        got = []
        for skip in range(0, len(due) + 40, 40):
            page = harness.ask("allocations", "--json", path, "--sort", key, "--skip", str(skip),
                               "--count", "40")
            assert page["total_count"] == len(due)
            got += [r["id"] for r in page["allocations"]]
        assert got == due


def test_own_rules_on_frames(choosing, tmp_path):
    """A user's file says whose frames are; a wrong one is named, with its line."""
    rules = tmp_path / "frames"

    def first(text, *more):
        rules.write_text(text)
        return memoir("groups", "--by", "responsible", "--json", *more, choosing,
                      env={"MEMOIR_FRAMES": str(rules)})

    plain = json.loads(first("").stdout)["groups"]
    name = plain[0]["name"]
    hidden = json.loads(first(f"# mine\nhidden function {name}\n").stdout)["groups"]
    assert name not in {g["name"] for g in hidden} and hidden
    asked = first("", "--hide", f"function = {name}")
    assert asked.status == 0, asked
    asked = json.loads(asked.stdout)["groups"]
    assert {g["name"] for g in asked} == {g["name"] for g in hidden}
    wrong = first("\nhiden function x\n")
    assert wrong.status == 1 and b"line 2: 'hiden' is no kind" in wrong.stderr
    assert str(rules).encode() in wrong.stderr and wrong.stderr.count(b"\n") == 1
