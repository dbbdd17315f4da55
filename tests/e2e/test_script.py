# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir script: what scripts say about made-up recordings is what the commands say."""
import json
import os
import random
import re
import struct
import subprocess
import zlib

import pytest

import harness
from scripts import ids, made_recording, script
from scripts import value as ask
from web import Server


@pytest.fixture(scope="module", params=[3, 4])
def made(request, tmp_path_factory):
    return made_recording(tmp_path_factory, request.param)


@pytest.fixture(scope="module")
def asked(made):
    """asked(options) is what the command's options choose: numbers of allocations.  A server, since
    it opens the recording once; that it answers as the command does says test_doors.py."""
    with Server(made) as server:
        server.loaded()

        def ask_it(options):
            given = {}
            for option, value in zip(options[::2], options[1::2], strict=True):
                name = "filter" if option == "-F" else option[2:].replace("-", "_")
                given.setdefault(name, []).append(value)
            return {a["id"] for a in server.data("allocations", stacks="false",
                                                 **given)["allocations"]}
        yield ask_it


@pytest.fixture(scope="module")
def choosing(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("script") / "choosing.dat")
    program = compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))
    assert harness.record([program], path).status == 0
    return path


# What Bytehound's names mean, as expressions of ours.
RANGES = {"only_backtrace_length": "backtrace_depth", "only_address": "address",
          "only_alive_for": "lifetime", "only_chain_length": "chain_length",
          "only_chain_alive_for": "chain_lifetime", "only_position_in_chain": "position_in_chain",
          "only_group_allocations": "group_allocations", "only_group_interval": "group_interval",
          "only_group_max_total_usage_first_seen": "group_max_total_usage_first_seen",
          "only_group_leaked_allocations": "group_leaked_allocations"}
SIZES = {"only": "size", "only_first_size": "first_size", "only_last_size": "last_size"}
WORDS = {
    **{f"{name}_at_least": f"{field} >= $" for name, field in RANGES.items()},
    **{f"{name}_at_most": f"{field} <= $" for name, field in RANGES.items()},
    **{f"{name}_{word}": f"{field} {sign} $" for name, field in SIZES.items() for word, sign in
       {"larger_or_equal": ">=", "larger": ">", "smaller_or_equal": "<=", "smaller": "<"}.items()},
    **{f"only_{no}passing_through_{what}": f"{what} {sign} $"
       for what in ("function", "source", "module") for no, sign in (("", "~"), ("not_", "!~"))},
    **{f"only_{no}matching_{side}backtraces": f"{side}backtrace {sign} $"
       for side in ("", "deallocation_") for no, sign in (("", "="), ("not_", "!="))},
    "only_allocated_after_at_least": "allocated >= $",
    "only_allocated_until_at_most": "allocated <= $",
    "only_deallocated_after_at_least": "deallocated >= $",
    "only_deallocated_until_at_most": "deallocated <= $",
    "only_temporary": "not leaked", "only_freed_at_once": "temporary",
    "only_not_freed_at_once": "not temporary", "only_ptmalloc_mmaped": "mmapped",
    "only_ptmalloc_not_mmaped": "(main_arena or other_arena) and not mmapped",
    "only_ptmalloc_from_main_arena": "main_arena",
    "only_ptmalloc_not_from_main_arena": "other_arena", "only_with_marker": "marker = $",
    "only_from_maps": "map = $",
}
VALUES = {"SIZE": ["100", "1k", "0"], "COUNT": ["2", "5"], "N": ["0", "1"],
          "N|N%": ["3", "50%"], "DURATION|N%": ["20us", "10%"],
          "TIME": ["30%", "200us"], "ADDRESS": ["0x7f0000000000", "0x1000"],
          "REGEX": ["a", "^f"], "ID[,ID…]": ["5,7,9", "12"], "THREAD": ["1"], "TEXT": ["malloc"]}


def methods():
    """Names and arguments of what help() knows of lists."""
    found = re.findall(r"^  (only_\w+)\((.*?)\) ", script("help('list')"), flags=re.M)
    assert len(found) > 100 and len(dict(found)) == len(found)
    return found


def values(name, argument):
    if name == "only_lifetime":
        return ["only_leaked", "only_whole_group_leaked"]
    if name == "only_arena":
        return ["main", "non_main"]
    return VALUES[argument]


def options_of(name, argument):
    """What says the same on the command line, with a $ for the value."""
    if name in WORDS:
        return ["-F", WORDS[name]]
    if name == "only_not_mmaped":
        return ["--mmaped", "no"]
    if name.startswith("only_not_"):
        return ["-F", "not " + name[9:]]
    if not argument and name[5:] != "mmaped":
        return ["-F", name[5:]]
    return ["--" + name[5:].replace("_", "-"), "$" if argument else "yes"]


def with_value(name, argument, value):
    """A call in Lua, and the options that say the same."""
    options = options_of(name, argument)
    quoted = f'"{value}"' if "~" in options[-1] else value
    return (f"{name}({json.dumps(value)})" if value else f"{name}()",
            [o.replace("$", quoted) for o in options])


def chosen_by(calls, all_of, path):
    """Numbers of what each call chooses."""
    return json.loads(script("local all = {}\n" + "\n".join(
        f"do local t = {{}} for a in {all_of}:{call}:iter() do t[#t+1] = a.id end "
        f"all[#all+1] = t end" for call in calls) + "\nprint(json.encode(all))", "-d", path))


def test_every_filter_is_the_command_lines(made, asked):
    """only_x(value) chooses what --x value, or what an expression says."""
    tried = [with_value(name, argument, value) for name, argument in methods()
             for value in (values(name, argument) if argument else [""])]
    chosen = chosen_by([call for call, _ in tried], "allocations()", made)
    for (call, options), found in zip(tried, chosen, strict=True):
        assert set(found) == asked(options), (call, options)
    assert set(WORDS) <= {name for name, _ in methods()}


def random_value(rng, name, argument, most):
    """A value of the recording's own kind: none of those that are written above."""
    if argument in ("SIZE", "COUNT", "N") and name != "only_thread":
        return str(rng.randrange(most))
    if argument in ("TIME", "DURATION|N%", "N|N%"):
        return f"{rng.randrange(101)}%"
    return rng.choice(values(name, argument)) if argument else ""


def test_chains_of_filters(made, asked):
    """Any of them behind each other, with any values."""
    rng = random.Random(19)
    known, tried = methods(), []
    for _ in range(100):
        words = rng.sample(known, rng.randrange(2, 5))
        pairs = [with_value(name, argument, random_value(rng, name, argument, rng.choice(
            [10, 300, 5000]))) for name, argument in words]
        rows = [options[0] for _, options in pairs if options[0] != "-F"]
        if len(set(rows)) == len(rows):
            tried.append((":".join(call for call, _ in pairs),
                          [word for _, options in pairs for word in options]))
    found = chosen_by([call for call, _ in tried], "allocations()", made)
    for (call, options), numbers in zip(tried, found, strict=True):
        assert set(numbers) == asked(options), (call, options)
    assert len(tried) > 60 and sum(map(bool, found)) > 5


def test_every_filter_of_maps_is_the_command_lines(compile_program, tmp_path):
    path = str(tmp_path / "maps.dat")
    assert harness.record([compile_program("maps_more", flags=("-O0",)), "remap"], path).status == 0

    own = {"only_peak_rss_at_least": "peak-rss-min", "only_peak_rss_at_most": "peak-rss-max",
           "only_bytehound": "memoir", "only_not_bytehound": "memoir"}
    flags = {"readable", "writable", "executable", "shared", "jemalloc", "memoir", "bytehound"}
    found = dict(re.findall(r"^  (only_\w+)(?:\((.*?)\))? ", script("help('map_list')"),
                            flags=re.M))
    assert len(found) > 120 and set(own) <= set(found)
    tried = []
    for name, argument in found.items():
        word = re.sub("^only_(not_)?", "", name)
        if word in flags:
            tried.append((f"{name}()", ["--" + own.get(name, word),
                                        "no" if "_not_" in name else "yes"]))
        elif name.startswith("only_peak_rss") or name == "only_id":
            for value in ("1", "8Ki") if "rss" in name else ("1", "2"):
                tried.append((f"{name}('{value}')", ["--" + own.get(name, word.replace("_", "-")),
                                                     value]))
        else:
            tried += [with_value(name, argument, value)
                      for value in (values(name, argument) if argument else [""])]
    chosen = chosen_by([call for call, _ in tried], "maps()", path)
    # A server is asked: it opens the recording once.
    with Server(path) as server:
        server.loaded()
        for (call, (option, value)), one in zip(tried, chosen, strict=True):
            name = "filter" if option == "-F" else option[2:].replace("-", "_")
            found = server.data("maps", **{name: value})["maps"]
            assert set(one) == {m["id"] for m in found}, (call, option, value)
        everything = server.data("maps")["total_count"]
    assert sum(0 < len(one) < everything for one in chosen) > 15


@pytest.mark.parametrize("call, expression", [
    ("only_larger(kb(1))", "size > 1000"), ("only_larger(100.0)", "size > 100"),
    ("only_alive_for_at_least(us(20))", "lifetime >= 20us"),
    ("only_allocated_after_at_least(us(100) * 2)", "allocated >= 200us"),
    ("only_group_leaked_allocations_at_least(0.5)", "group_leaked_allocations >= 50%"),
    ("only_group_leaked_allocations_at_least(2)", "group_leaked_allocations >= 2"),
    ("only_alive_at({us(100), us(200)})", "alive_at(100us, 200us)"),
    ("only_alive_at(us(100))", "alive_at(100us)"),
    ("only_address_at_least(0x7f0000000000)", "address >= 0x7f0000000000"),
    ("only_leaked(false)", "not leaked"), ("only_not_leaked()", "not leaked"),
    ("only_jemalloc()", "jemalloc"), ("only_mmaped(false)",
                                      "(main_arena or other_arena) and not mmapped"),
    ("only_matching_backtraces({})", "size < 0"),
    ("only_not_matching_backtraces({})", "size >= 0"),
    ("only_smaller(900):only_smaller(200):only_smaller(500)", "size < 200"),
    ("only_leaked():where('size > 100 or zeroed')", "leaked and (size > 100 or zeroed)"),
    (".only_leaked().only_larger(50)", "leaked and size > 50"),
])
def test_values_of_filters(made, call, expression):
    join = "" if call.startswith(".") else ":"
    text = f"local t = {{}} for a in (allocations(){join}{call}):iter() do t[#t+1] = a.id end " \
        "print(json.encode(t))"
    assert set(json.loads(script(text, "-d", made))) == ids(made, "-F", expression)


def test_stacks_choose_lists(made):
    """What a list, groups, stacks and their numbers are as an argument is the same."""
    text = """
        local all = allocations()
        local groups = all:only_larger(500):group_by_backtrace()
        local numbers, stacks = {}, {}
        for g in groups:iter() do
          numbers[#numbers + 1], stacks[#stacks + 1] = g.backtrace_id, g:backtrace()
        end
        local function ids(what)
          local t = {}
          for a in all:only_matching_backtraces(what):iter() do t[#t + 1] = a.id end
          return t
        end
        local rest = all:only_not_matching_backtraces(groups)
        print(json.encode { ids(numbers), ids(stacks), ids(groups), ids(all:only_larger(500)),
          ids { groups[1], all - groups[1] & all:only_larger(500) }, #rest + #all:only_matching_backtraces(groups),
          #all, #rest })"""
    a, b, c, d, e, sum_, whole, rest = json.loads(script(text, "-d", made))
    assert a == b == c == d == e and a and rest and sum_ == whole
    large = {r["backtrace_id"] for r in harness.ask("ask", "allocations", "--stacks", "false",
                                                    made, "-F", "size > 500")["allocations"]}
    all_rows = harness.ask("ask", "allocations", "--stacks", "false", made)["allocations"]
    assert a == [r["id"] for r in all_rows if r["backtrace_id"] in large]


def random_list(rng, depth):
    """A list's text in Lua, and the set that it is, as a function of chosen sets."""
    leaves = {"only_leaked()": "leaked", "only_larger(200)": "size > 200",
              "only_temporary()": "not leaked", "only_zeroed()": "zeroed",
              "only_chain_length_at_least(2)": "chain_length >= 2",
              "only_alive_at('40%')": "alive_at(40%)"}
    if not depth or rng.random() < 0.2:
        call, expression = rng.choice(list(leaves.items()))
        return f"a:{call}", expression
    x, ex = random_list(rng, depth - 1)
    y, ey = random_list(rng, depth - 1)
    sign, join = rng.choice([("+", "({}) or ({})"), ("&", "({}) and ({})"), ("|", "({}) or ({})"),
                             ("-", "({}) and not ({})")])
    if rng.random() < 0.2:
        return f"(~({x} {sign} {y}))", "not (" + join.format(ex, ey) + ")"
    return f"({x} {sign} {y})", join.format(ex, ey)


def test_set_algebra(made):
    rng = random.Random(7)
    lists = [random_list(rng, 4) for _ in range(25)]
    text = "local a, all = allocations(), {}\n" + "\n".join(
        f"do local l, t = {x}, {{}} for r in l:iter() do t[#t+1] = r.id end "
        f"assert(#t == #l and l:where(l:filter()) == l) all[#all+1] = {{t, l:filter()}} end"
        for x, _ in lists) + "\nprint(json.encode(all))"
    for (x, expression), (chosen, _) in zip(lists, json.loads(script(text, "-d", made))):
        assert set(chosen) == ids(made, "-F", expression), x


def test_a_list_is_lazy_and_shared(made):
    """A chain of unions stays flat, and one that is too long is refused."""
    text = """
        local l = allocations():only_size_min(1)
        for i = 2, 400 do l = l + allocations():only_size_min(i) end
        print(#l == #allocations():only_size_min(1))
        for i = 1, 5000 do l = l + allocations():only_size_min(i) end"""
    done = harness.execute([harness.MEMOIR, "script", "-e", text, "-d", made])
    assert done.status == 1 and done.stdout == b"true\n"
    assert b"-e:5: the list is put together of too many others" in done.stderr, done


def test_fields_are_those_of_the_command(choosing):
    rows = harness.ask("ask", "allocations", "--stacks", "false", choosing)["allocations"]
    text = """
        local t = {}
        for a in allocations():iter() do
          t[#t + 1] = { size = a.size, slack = a.slack, usable = a.usable_size, id = a.id,
            address = a.address, thread = a.thread, thread_name = a.thread_name, call = a.call,
            at = a.allocated, lifetime = a.lifetime, chain = a.chain_length, zeroed = a.zeroed,
            position = a.position_in_chain, stack = a.backtrace_id, leaked = a.leaked,
            temporary = a.temporary, reallocated = a.reallocated, main = a.main_arena,
            first = a:chain()[1].id, last = a:chain()[#a:chain()].id, freed = a:deallocated_at(),
            free_call = a.deallocation_call, marker = a.marker }
          assert(a:allocated_at() == a.allocated and a:deallocated_at() == a.deallocated)
          assert(a.first_size == a:chain()[1].size)
        end
        print(json.encode(t))"""
    def ns(timeval):
        return timeval["secs"] * 10**9 + timeval["fract_nsecs"]
    shown = json.loads(script(text, "-d", choosing))
    assert len(shown) == len(rows)
    for a, row in zip(shown, rows):
        free = row.get("deallocation")
        assert a == {key: value for key, value in {
            "size": row["size"], "slack": row["extra_space"],
            "usable": row["size"] + row["extra_space"], "id": row["id"],
            "address": row["address"], "thread": row["thread"],
            "thread_name": row["thread_name"], "call": row["call"],
            "at": ns(row["timestamp_relative"]), "lifetime": ns(row["lifetime"]),
            "chain": row["chain_length"], "zeroed": row["is_zeroed"],
            "position": row["position_in_chain"], "stack": row["backtrace_id"],
            "leaked": free is None, "temporary": row["is_temporary"],
            "reallocated": row["is_reallocated"], "main": row["in_main_arena"],
            "first": row["chain_first"], "last": row["chain_last"],
            "freed": free and ns(free["timestamp_relative"]), "free_call": free and free["call"],
            "marker": row["marker"]}.items() if value is not None}, row
    assert ask("allocations():only_leaked()[1]:to_table()", choosing) == harness.ask(
        "ask", "allocations", choosing, "-F", "leaked", "--count", "1")["allocations"][0]


def test_stacks(choosing):
    rows = harness.ask("ask", "allocations", choosing, "-F", "function = recurse")["allocations"]
    shown = ask("(function() local t = {} for a in allocations():where('function = recurse'):iter()"
                " do t[#t + 1] = a:backtrace():frames() end return t end)()", choosing)
    for frames, row in zip(shown, rows, strict=True):
        assert [f.get("function_name") for f in frames] == [f.get("function")
                                                            for f in row["backtrace"]]
        assert [f.get("line") for f in frames] == [f.get("line") for f in row["backtrace"]]
    lines = script("print(allocations():where('function = recurse')[1]:backtrace())", "-d",
                   choosing).splitlines()
    assert lines[-1].endswith(" malloc") and [line[:3] for line in lines] == [
        f"#{i:02}" for i in range(len(lines))]
    assert any("recurse [choosing.c:" in line for line in lines)
    assert script("print(#allocations():where('function = recurse')[1]:backtrace():strip())", "-d",
                  choosing) < str(len(lines))


@pytest.mark.parametrize("key", ["stack", "function", "responsible", "module", "thread", "call",
                                 "size", "size_class", "lifetime"])
def test_groups_are_the_commands(choosing, key):
    groups = harness.ask("ask", "groups", "--by", key, "--sort-by", "size",
                         "--order", "dsc", "--stacks", "false", choosing,
                         "-F", "size > 20")["groups"]
    text = f"""
        local t = {{}}
        for g in allocations():only_larger(20):group_by("{key}"):sort_by_size():iter() do
          local ok, count = pcall(g.len)
          if g.name:sub(1, 10) == "no module" or g.name:find("+0x", 1, true) then count = #t end
          t[#t + 1] = {{ g.size, g.allocated_count, g.leaked_size, g.leaked_count, g.max_size,
            g.min_timestamp, g.name, select(2, pcall(function()
              local n, bytes = 0, 0
              for a in g:iter() do n = n + 1 bytes = bytes + a.size end
              return {{ n, bytes }}
            end)) }}
        end
        print(json.encode(t))"""
    shown = json.loads(script(text, "-d", choosing))
    assert len(shown) == len(groups) > 1
    unnamed = 0
    for g, row in zip(shown, groups):
        sums = row["only_matched"]
        at = sums["min_timestamp_relative"]
        assert g[:6] == [sums["size"], sums["allocated_count"], sums["leaked_size"],
                         sums["leaked_count"], sums["max_size"],
                         at["secs"] * 10**9 + at["fract_nsecs"]]
        assert key == "stack" or g[6] == row["name"]
        if isinstance(g[7], str):
            assert "cannot be told by a filter" in g[7]
            unnamed += 1
        else:
            assert g[7] == [sums["allocated_count"], sums["size"]], row
    assert unnamed < len(groups) / 2


def test_lists_of_groups(made):
    all_, some, most, leaked, first, again = ask(
        """(function()
             local groups = allocations():group_by_backtrace()
             local sorted = groups:sort_by_count()
             for i = 2, #sorted do assert(#sorted[i - 1] >= #sorted[i]) end
             local up = groups:sort_by_size_ascending()
             for i = 2, #up do assert(up[i - 1].size <= up[i].size) end
             for g in groups:only_all_leaked():iter() do assert(#g:only_leaked() == #g) end
             return { #groups, #groups:only_count_at_least(3), sorted[1].allocated_count,
               #groups:only_all_leaked(), #groups:take(2):ungroup() == #groups[1] + #groups[2],
               #groups:take(10^9 // 1 | 0) }
           end)()""", made)
    groups = harness.ask("ask", "groups", "--count", "1000000", made)["groups"]
    counts = [g["only_matched"]["allocated_count"] for g in groups]
    assert (all_, again, most, first) == (len(groups), len(groups), max(counts), True)
    assert some == sum(count >= 3 for count in counts)
    assert leaked == sum(g["only_matched"]["leaked_count"] == g["only_matched"]["allocated_count"]
                         for g in groups)


def test_maps(compile_program, tmp_path):
    choosing = str(tmp_path / "maps.dat")
    assert harness.record([compile_program("maps")], choosing).status == 0
    rows = harness.ask("ask", "maps", choosing)["maps"]
    text = """
        local t = {}
        for m in maps():iter() do
          t[#t + 1] = { m.id, m.address, m.size, m.peak_rss, m.name }
        end
        local function n(l) return #l end
        print(json.encode { t, n(maps():only_writable()), n(maps():only_not_writable()),
          n(maps():only_executable()), n(maps():only_peak_rss_at_least(kib(8))),
          n(maps() - maps():only_writable()), n(maps():only_larger(mb(1))),
          n(maps():only_bytehound()), n(maps():only_writable() & maps():only_executable()) })"""
    shown, *counts = json.loads(script(text, "-d", choosing))
    assert [m[:4] for m in shown] == [
        [m["id"], m["address"], m["size"], m["peak_rss"]] for m in rows] and rows

    def count(*options):
        return len(harness.ask("ask", "maps", choosing, *options)["maps"])
    assert counts == [count("--writable", "yes"), count("--writable", "no"),
                      count("--executable", "yes"), count("--peak-rss-min", "8Ki"),
                      count("--writable", "no"), count("-F", "size > 1M"),
                      count("--memoir", "yes"), count("--writable", "yes", "--executable", "yes")]
    first = ask("maps()[1]:to_table()", choosing)
    assert first["id"] == rows[0]["id"] and first["regions"] and "usage_history" in first


def test_several_recordings(made, choosing):
    text = """
        assert(data() == data(1) and data(2) ~= data(1) and load(argv()[1]).kind == "heap")
        print(#data(1):allocations(), #data(2):allocations(), data(2).name)
        print(json.encode(diff(data(1), data(2), { measure = "leaked" })))
        print(pcall(function() return data(1):allocations() + data(2):allocations() end))"""
    heap = os.path.join(harness.ROOT, "tests/data/jemalloc/out.heap")
    out = script(text, "-d", made, "-d", choosing, "--", heap).splitlines()
    assert out[0].split() == [str(len(ids(made))), str(len(ids(choosing))), "choosing.dat"]
    expected = harness.ask("ask", "diff", "--measure", "leaked", "--b", choosing, made)
    for side in ("before", "after"):
        del expected[side]["at_ns"]  # null
    assert json.loads(out[1]) == expected
    assert out[2] == "false\t-e:5: the two lists are of different recordings"


def test_lists_ask_with_their_filter(made):
    for question in ("histogram", "groups", "overview", "timeline", "flame"):
        asked = script(f"io.write(allocations():only_leaked():where('size > 50'):"
                       f"ask_json('{question}'))", "-d", made)
        assert json.loads(asked) == harness.ask("ask", question, made, "-F",
                                                "leaked and size > 50"), question


def test_exports(made, tmp_path):
    for name, line in re.findall(r"^(\w+) +(.*)$", subprocess.run(
            [harness.MEMOIR, "export", "--list"], capture_output=True, text=True,
            check=True).stdout, flags=re.M):
        expected = harness.execute([harness.MEMOIR, "export", name, made, "-F", "leaked",
                                    "-m", "leaked", "-o", tmp_path / "by_command"])
        assert expected.status == 0, (expected, line)
        script(f"allocations():only_leaked():save('{tmp_path}/by_script', '{name}', "
               "{measure = 'leaked'})", "-d", made)
        assert (tmp_path / "by_script").read_bytes() == (tmp_path / "by_command").read_bytes(), name


def test_graphs(made, tmp_path):
    text = f"""
        local a = allocations()
        graph():add("<leaked>", a:only_leaked()):add(a):save("{tmp_path}/a.svg")
        graph():add("x", a):show_new_allocations():trim():without_axes():without_legend()
          :without_grid():save("{tmp_path}/b.svg")
        graph():add(a:group_by_backtrace():sort_by_size():take(3)):start_at(us(10))
          :with_gradient_color_scheme("red", "#00f"):save("{tmp_path}/c.svg")
        graph():add(a:only_leaked() - a):add(a):only_non_empty_series()
          :save_each_series_as_graph("{tmp_path}")
        a:save_as_flamegraph("{tmp_path}/d.svg")"""
    script(text, "-d", made)
    a, b, c = ((tmp_path / f"{name}.svg").read_text() for name in "abc")
    assert a.count("<path") == 2 and "&lt;leaked&gt;" in a and "Series #2" in a
    assert b.count("<path") == 1 and "<text" not in b
    assert re.findall(r'<path fill="(#\w+)"', c) == ["#ff0000", "#800080", "#0000ff"]
    assert (tmp_path / "Series #1.svg").exists()
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")


def read_png(data):
    """Width, height and rows of (red, green, blue) of a PNG of ours, whose parts are checked."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, kinds = 8, b"", []
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        kinds.append(kind)
        at += 12 + size
        if kind == b"IHDR":
            width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", body)
            assert (depth, colour, rest) == (8, 2, [0, 0, 0])
        if kind == b"IDAT":
            packed += body
    assert kinds == [b"IHDR", b"IDAT", b"IEND"] and at == len(data)
    raw, rows, above = zlib.decompress(packed), [], bytes(3 * width)
    assert len(raw) == height * (3 * width + 1)
    for y in range(height):
        way, *line = raw[y * (3 * width + 1):(y + 1) * (3 * width + 1)]
        assert way in (0, 2)
        above = bytes((a + b) % 256 for a, b in zip(line, above)) if way else bytes(line)
        rows.append([tuple(above[i:i + 3]) for i in range(0, 3 * width, 3)])
    return width, height, rows


def test_graphs_as_pixels(made, tmp_path):
    """Areas of a PNG are where those of the same SVG are; letters, lines and a legend are there."""
    text = f"""
        local a = allocations()
        local plain = graph():add(a:only_leaked()):add(a):with_gradient_color_scheme("red", "blue")
          :with_size(400, 300):without_axes():without_grid():without_legend()
        plain:save("{tmp_path}/a.PNG") plain:save("{tmp_path}/a.svg")
        local whole = graph():add("leaked \\u{{e4}}\\xff", a:only_leaked()):add(("x"):rep(500), a)
        whole:save("{tmp_path}/b.png")
        assert(whole:png() == io.open("{tmp_path}/b.png", "rb"):read("a"))
        print(pcall(function() graph():add(a):with_size(5000, 5000):png() end))"""
    assert "a PNG has at most" in script(text, "-d", made)
    width, height, pixels = read_png((tmp_path / "a.PNG").read_bytes())
    assert (width, height) == (400, 300)
    svg = (tmp_path / "a.svg").read_text()
    found = {}
    for name, colour in (("red", (255, 0, 0)), ("blue", (0, 0, 255))):
        path = re.search(rf'fill="#{"%02x%02x%02x" % colour}" d="([^"]+)Z"', svg).group(1)
        points = [tuple(map(float, p.split())) for p in re.split("[ML]", path)[1:]]
        upper, lower = points[:1000], points[:999:-1]
        drawn = sum(pixel == colour for row in pixels for pixel in row)
        area = sum((b[1] - a[1] + d[1] - c[1]) / 2 * (c[0] - a[0])
                   for a, b, c, d in zip(upper, lower, upper[1:], lower[1:]))
        # Pixels at the edges are of both colours.
        assert area - 2000 < drawn < area + 400, (name, drawn, area)
        found[name] = drawn
    assert sum(found.values()) > 5000
    width, height, pixels = read_png((tmp_path / "b.png").read_bytes())
    assert (width, height) == (1024, 768)
    black = sum(pixel == (0, 0, 0) for row in pixels for pixel in row)
    assert 500 < black < 20000


def test_errors_name_the_place(made, tmp_path):
    file = tmp_path / "wrong.lua"
    for text, status, expected in [
            ("\nallocations():only_leakd()", 1,
             "wrong.lua:2: no method only_leakd in a list of allocations; did you mean "
             "'only_leaked'?"),
            ("print(allocations()[1].sise)", 1, "did you mean 'size'?"),
            ("allocations():sort_by_size()", 1, "wrong.lua:1: no method sort_by_size in a list of "
             "allocations, only in a list of groups"),
            ("allocations():only_readable()", 1,
             "in a list of allocations, only in a list of maps"),
            ("\n\nalocations()", 1, "wrong.lua:3: attempt to call a nil value (global "
             "'alocations'); did you mean 'allocations'?"),
            ("allocations():where('sise > 1')", 1,
             "wrong.lua:1: there is no 'sise'; did you mean 'size'?, at byte 1 of"),
            ("graph():sawe()", 1, "did you mean 'save'?"),
            ("data():ask('histgram')", 1, "did you mean 'histogram'?"),
            ("data():histogram{off = 'size'}", 1, "did you mean 'of'?"),
            ("allocations():export('flamegrap')", 1, "did you mean 'flamegraph'?"),
            ("allocations():only_larger()", 1, "only_larger needs a value"),
            ("allocations():only_larger('x')", 1, "only_larger: "),
            ("load('/nowhere')", 1, "wrong.lua:1: /nowhere: "),
            ("x = = 1", 2, "wrong.lua:1:"), ("error({})", 1, "table: ")]:
        file.write_text(text)
        done = harness.execute([harness.MEMOIR, "script", file, "-d", made])
        assert done.status == status and expected in done.stderr.decode(), (text, done)
        assert len(done.stderr.splitlines()) == 1 and not done.stdout, done
    done = harness.execute([harness.MEMOIR, "script", "-e", "data()"])
    assert done.status == 1 and b"no recording was given" in done.stderr
    done = harness.execute([harness.MEMOIR, "script", tmp_path / "none.lua"])
    assert done.status == 1 and b"No such file" in done.stderr
    done = harness.execute([harness.MEMOIR, "script", "-e", "print(1)", "-d", file])
    assert done.status == 1 and not done.stdout and len(done.stderr.splitlines()) == 1


def test_output_arguments_and_exit(tmp_path):
    file = tmp_path / "a.lua"
    file.write_text("#!/usr/bin/env -S memoir script\n"
                    "println('{1} {0} {{}} {}', argv()[1], #argv())\nexit(7)")
    done = harness.execute([harness.MEMOIR, "script", file, "x", "y"])
    assert (done.status, done.stdout, done.stderr) == (7, b"2 x {} x\n", b"")
    assert script("pcall(exit, 3) print('never')", status=3) == ""
    assert script("println() println(nil) println(true)") == "\nnil\ntrue\n".replace("nil", "")
    assert script("print(s(1) + ms(3), us(1500), -s(1), h(25), s(0))") == (
        "1s 3ms\t1ms 500us\t-1s\t25h\t0s\n")
    assert script("print(s(3) / s(2), s(3) / 2, s(1) < s(2), ms(1) == us(1000), kb(2), mib(1))") \
        == "1.5\t1s 500ms\ttrue\ttrue\t2000\t1048576\n"
    assert script("print(ns(math.mininteger) == ns(0) - ns(math.maxinteger) - ns(1), "
                  "(pcall(function() return -ns(math.mininteger) end)), ('ab'):rep(3, '-'))") == (
        "true\tfalse\tab-ab-ab\n")
    assert script("show{{a = 1, b = 'x'}, {a = 200}}") == "a    b\n  1  x\n200\n"


def test_bytes_and_files(tmp_path):
    assert script("print(bytes('1.5M'), bytes('4Ki'), bytes(7))") == "1500000\t4096\t7\n"
    done = harness.execute([harness.MEMOIR, "script", "-e", "bytes('many')"])
    assert done.status == 1 and b"-e:1: bytes: " in done.stderr, done
    script("save('a b', 'text\\0')", cwd=tmp_path)
    assert (tmp_path / "a b").read_bytes() == b"text\0"
    done = harness.execute([harness.MEMOIR, "script", "-e", "save('no/where', '')"], cwd=tmp_path)
    assert done.status == 1 and b"-e:1: no/where: No such file" in done.stderr, done


def test_formats(made):
    rng = random.Random(11)

    def value(depth):
        kinds = [lambda: rng.randrange(-10**12, 10**12), lambda: rng.random() * 1e9,
                 lambda: rng.choice([True, False]),
                 lambda: "".join(rng.choice('aé"\\\n\t\x01 /☃') for _ in range(6))]
        if depth:
            kinds += [lambda: [value(depth - 1) for _ in range(rng.randrange(1, 4))],
                      lambda: {f"k{i}": value(depth - 1) for i in range(rng.randrange(1, 4))}] * 2
        return rng.choice(kinds)()
    for _ in range(30):
        given = value(3)
        done = harness.execute([harness.MEMOIR, "script", "-e",
                                "print(json.encode(json.decode(io.read('a'))))"],
                               stdin=json.dumps(given).encode())
        assert json.loads(done.stdout) == given, done
    for text in ("{", "[1,]", "nul", "1 2", '"a', "[" * 100000, "--1", "1e", '{"a" 1}'):
        done = harness.execute([harness.MEMOIR, "script", "-e", "json.decode(io.read('a'))"],
                               stdin=text.encode())
        assert done.status == 1 and b"this is no JSON" in done.stderr, (text, done)
    assert script("""
        local rows = csv.decode(csv.encode({{a = 'x,"y"', b = 1}, {a = 'two\\nlines', c = ''}}))
        print(rows[1].a, rows[1].b, rows[2].a, rows[2].c, #rows)""") == (
            'x,"y"\t1\ttwo\nlines\t\t2\n')
    rows = script("io.write(allocations():export('csv'))", "-d", made)
    assert script("print(#csv.decode(io.read('a')))", stdin=rows.encode()) == (
        f"{rows.count(chr(10)) - 1}\n")


def test_loops_and_indices(choosing):
    """A loop needs no iter(), two over the same do not disturb each other, and 2.0 is an index."""
    assert script("""
        local groups, count, size = allocations():group_by("call"), 0, 0
        for g in groups do
          for h in groups do count = count + 1 end
          for a in g do size = size + a.size end
        end
        print(count == #groups * #groups, size == allocations().size)
        local seen = 0
        for m in maps() do seen = seen + 1 end
        print(seen == #maps(), #maps() == #maps():only_writable() + #~maps():only_writable())
        for g in groups:take(0) do print("never") end
        print(allocations()[2.0] == allocations()[2], groups[2.0].name == groups[2].name,
          allocations()[1]:backtrace()[1.0].library == allocations()[1]:backtrace()[1].library)
        print(allocations()[0], allocations()[10^9], groups[-1])
        print(pcall(function() return allocations()[1.5] end))""", "-d", choosing) == (
            "true\ttrue\ntrue\ttrue\ntrue\ttrue\ttrue\nnil\tnil\tnil\n"
            "false\t-e:15: an index is a whole number, not 1.5\n")


def test_a_stack_of_nothing_but_runtime_stays_whole(tmp_path):
    """What Python makes for itself has no frames of a program's."""
    path = str(tmp_path / "python.dat")
    assert harness.record(["/usr/bin/python3", "-I", "-c", ""], path).status == 0
    assert script("""
        local whole = 0
        for g in allocations():group_by_backtrace() do
          local all, stripped = g:backtrace(), g:backtrace():strip()
          assert(#stripped > 0 and tostring(stripped) ~= "")
          if #stripped == #all then whole = whole + 1 end
        end
        print(whole > 0)""", "-d", path) == "true\n"


def test_folders(tmp_path):
    script("mkdir_p('a/b//c') mkdir_p('a/b') chdir('a') io.open('x', 'w'):close() "
           "print(dirname('a/b'),"
           " dirname('/a'), dirname('a'))", cwd=tmp_path)
    assert (tmp_path / "a/b/c").is_dir() and (tmp_path / "a/x").exists()
    done = harness.execute([harness.MEMOIR, "script", "-e", "mkdir_p('a/x/y')"], cwd=tmp_path)
    assert done.status == 1 and b"a/x: " in done.stderr, done
