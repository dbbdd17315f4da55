# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir script: what scripts say about made-up recordings is what the commands say, and a script
that would run or grow for ever is ended."""
import json
import os
import pty
import random
import re
import select
import signal
import subprocess
import time

import pytest

import harness

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


def script(text, *arguments, status=0, **keywords):
    """What it prints."""
    done = harness.execute([harness.MEMOIR, "script", "-e", text, *arguments], **keywords)
    assert done.status == status, (text, done)
    return done.stdout.decode()


def ask(text, path):
    """The value of an expression."""
    return json.loads(script(f"print(json.encode({text}))", "-d", path))


def ids(path, *options):
    """Numbers of the allocations that the command chooses."""
    return {a["id"] for a in harness.ask("ask", "allocations", "--stacks", "false", path, *options)
            ["allocations"]}


@pytest.fixture(scope="module", params=[3, 4])
def made(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("script") / "made.dat")
    rng = random.Random(request.param)
    subprocess.run([GENERATE, path, str(rng.randrange(800, 3000)), "4", str(request.param)],
                   check=True, stdout=subprocess.DEVNULL)
    return path


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


def test_every_filter_is_the_command_lines(made):
    """only_x(value) chooses what --x value, or what an expression says."""
    tried = []
    for name, argument in methods():
        if name in WORDS:
            options = ["-F", WORDS[name]]
        elif name.startswith("only_not_"):
            options = ["-F", "not " + name[9:]]
        elif not argument and name[5:] != "mmaped":
            options = ["-F", name[5:]]
        else:
            options = ["--" + name[5:].replace("_", "-"), "$" if argument else "yes"]
        if name == "only_not_mmaped":
            options = ["--mmaped", "no"]
        for value in values(name, argument) if argument else [""]:
            quoted = f'"{value}"' if "~" in options[-1] else value
            call = f"{name}({json.dumps(value)})" if value else f"{name}()"
            tried.append((call, [o.replace("$", quoted) for o in options]))
    text = "local all = {}\n" + "\n".join(
        f"do local t = {{}} for a in allocations():{call}:iter() do t[#t+1] = a.id end "
        f"all[#all+1] = t end" for call, _ in tried) + "\nprint(json.encode(all))"
    for (call, options), chosen in zip(tried, json.loads(script(text, "-d", made))):
        assert set(chosen) == ids(made, *options), (call, options)
    assert set(WORDS) <= {name for name, _ in methods()}


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


def test_errors_name_the_place(made, tmp_path):
    file = tmp_path / "wrong.lua"
    for text, status, expected in [
            ("\nallocations():only_leakd()", 1,
             "wrong.lua:2: no method only_leakd in a list of allocations; did you mean "
             "only_leaked?"),
            ("print(allocations()[1].sise)", 1, "did you mean size?"),
            ("\n\nalocations()", 1, "wrong.lua:3: attempt to call a nil value (global "
             "'alocations'); did you mean allocations?"),
            ("allocations():where('sise > 1')", 1,
             "wrong.lua:1: there is no 'sise'; did you mean 'size'?, at byte 1 of"),
            ("graph():sawe()", 1, "did you mean save?"),
            ("data():ask('histgram')", 1, "did you mean histogram?"),
            ("data():histogram{off = 'size'}", 1, "did you mean 'of'?"),
            ("allocations():export('flamegrap')", 1, "did you mean flamegraph?"),
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


# Each would run, or grow, for ever.
ENDLESS = [
    "while true do end",
    "local function f() return f() end f()",
    "while true do pcall(function() while true do end end) end",
    "repeat local ok = xpcall(function() while true do end end, function() while true do end end) "
    "until false",
    "local co = coroutine.wrap(function() while true do end end) while true do pcall(co) end",
    "while true do coroutine.resume(coroutine.create(function() while true do end end)) end",
    "while true do local c = coroutine.create(function() local x <close> = setmetatable({}, "
    "{__close = function() while true do end end}) coroutine.yield() end) coroutine.resume(c) "
    "coroutine.close(c) end",
    "(('a'):rep(40)):find(('a*'):rep(40) .. 'b')",
    "(('a'):rep(1000000)):match('.-.-.-b')",
    "(('x'):rep(100000)):gsub('.-y', '')",
    "for a in (('x'):rep(100000)):gmatch('.-y') do end",
    "local t = {} for i = 1, 2000000 do t[i] = (i * 7919) % 1000003 end while true do table.sort(t,"
    " function(a, b) return a < b end) for i = 1, 2000000 do t[i] = (i * 7919) % 1000003 end end",
    "local t = {} for i = 1, 1000000 do t[i] = 'x' end while true do table.concat(t) end",
    "table.move({}, 1, 1 << 40, 2)",
    "table.sort(setmetatable({}, {__len = function() return 1 << 30 end, __index = function() "
    "return 1 end}))",
    "local t = setmetatable({}, {__index = function() return 1 end, __len = function() return "
    "1 << 40 end}) table.insert(t, 1, 1)",
    "table.concat(setmetatable({}, {__index = function() return '' end}), '', 1, 1 << 40)",
    "while true do ('x'):rep(1000000) end",
    "while true do (''):rep(1 << 60) end",
    "while true do loadstring(('x = 1 '):rep(100000)) end",
    "while true do json.decode('[' .. ('1,'):rep(100000) .. '1]') end",
    "local t = {} t[1] = t while true do pcall(json.encode, {1, 2, 3}) end",
    "setmetatable({}, {__index = function(t, k) while true do end end}).x()",
    "while true do print() end",
    "while true do format(('{0}'):rep(1000), 1) end",
]


@pytest.mark.parametrize("text", ENDLESS)
def test_a_loop_is_ended(text):
    for options in (["--time", "200ms"], ["--instructions", "3M"]):
        begun = time.monotonic()
        done = harness.execute([harness.MEMOIR, "script", "--sandbox", "--memory", "300M", *options,
                                "-e", text], timeout=60)
        assert time.monotonic() - begun < 20
        assert done.status == 1 and b", which is its limit" in done.stderr, done
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", [text for text in ENDLESS if "print" not in text][::3])
def test_ctrl_c_ends_it(text):
    process = subprocess.Popen([harness.MEMOIR, "script", "-e", text], stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    error = process.communicate(timeout=30)[1]
    assert process.returncode == 1 and b"it was stopped" in error, error
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("text", [
    "local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end",
    "('x'):rep(1 << 30)",
    "('x'):rep(1 << 20, ('y'):rep(1 << 20))",
    "local s = 'x' while true do s = s .. s end",
    "local s = ('x'):rep(1 << 20) s:gsub('.', s)",
    "local t = {} for i = 1, 1e9 do t[i] = i end",
    "table.concat(setmetatable({}, {__index = function() return ('x'):rep(1000000) end}), '', 1, "
    "1000)",
    "string.format(('%99d'):rep(1 << 22), 1)",
    "local s = ('%%99d'):rep(1 << 20) s:gsub('%%', s)",
    "local l, t = allocations(), {} for i = 1, 1e9 do t[i] = l:only_larger(i) end",
    "local l, t = allocations(), {} for i = 1, 1e9 do t[i] = l:only_larger(i):iter() end",
    "local l, t = allocations(), {} for i = 1, 1e9 do t[i] = l:only_larger(i % 9)"
    ":group_by_backtrace() end",
    "local t = {} for i = 1, 1e9 do t[i] = data():ask_json('overview') end",
    "local c = {} for i = 1, 1e9 do c[i] = coroutine.create(function() end) end",
])
def test_memory_is_bounded(text, made):
    done = harness.execute([harness.MEMOIR, "script", "--sandbox", "--memory", "32M", "--time",
                            "60s", "-d", made, "-e", text], timeout=120)
    assert done.status == 1 and len(done.stderr.splitlines()) == 1, done
    assert re.search(b"needs more memory than|string slice too long|invalid (conversion|use)|"
                     b"resulting string too large|bad argument", done.stderr), done


def test_the_sandbox(made):
    for name in ("io", "os", "package", "require", "dofile", "loadfile", "debug", "warn",
                 "string.dump", "mkdir_p", "chdir"):
        assert script(f"print({name})", "--sandbox") == "nil\n", name
    for text, expected in [
            ("load('/etc/passwd')", "there is no load() here"),
            ("print(loadstring('\\27Lua'))", None),
            ("setmetatable({}, {__gc = print})", "no finalizers"),
            ("collectgarbage('stop')", "only counts"),
            ("data():ask('diff', {b = '/etc/passwd'})", "there are no files here"),
            ("getmetatable(data()).x = 1", "boolean value"),
            ("for k in pairs(string) do string[k] = nil end allocations():only_leakd()", None)]:
        done = harness.execute([harness.MEMOIR, "script", "--sandbox", "-d", made, "-e", text])
        if expected:
            assert done.status == 1 and expected in done.stderr.decode(), (text, done)
        else:
            assert done.status in (0, 1) and b"root:" not in done.stdout, done
    assert script("print(loadstring('\\27Lua'))").startswith("nil\t")
    file = os.path.join(os.path.dirname(made), "never.svg")
    script(f"allocations():save_as_graph('{file}')", "--sandbox", "-d", made)
    assert not os.path.exists(file)


def test_lines_from_standard_input(made):
    lines = b"x = #allocations()\nx > 0\nfor i = 1, 2 do\n  print(i)\nend\nnonsense(\n)\n{a = 1}\n"
    done = harness.execute([harness.MEMOIR, "script", "-d", made], stdin=lines)
    assert done.status == 1 and done.stdout.decode() == 'true\n1\n2\n{\n  "a": 1\n}\n', done
    assert b"attempt to call a nil value (global 'nonsense')" in done.stderr
    done = harness.execute([harness.MEMOIR, "script", made],
                           stdin=b"data().kind\nexit(4)\nprint(1)\n")
    assert (done.status, done.stdout) == (4, b"recording\n")
    done = harness.execute([harness.MEMOIR, "script"], stdin=b"for i = 1, 2 do\n")
    assert done.status == 1 and b"not complete" in done.stderr


def test_help():
    assert "only_leaked() " in script("help('only_leaked')")
    assert "did you mean only_leaked?" in script("help('only_leakd')")
    whole = script("help()")
    assert "allocations()" in whole and "println(" in whole
    assert "flamegraph " in script("help('export')")


def test_folders(tmp_path):
    script("mkdir_p('a/b//c') mkdir_p('a/b') chdir('a') io.open('x', 'w'):close() "
           "print(dirname('a/b'),"
           " dirname('/a'), dirname('a'))", cwd=tmp_path)
    assert (tmp_path / "a/b/c").is_dir() and (tmp_path / "a/x").exists()
    done = harness.execute([harness.MEMOIR, "script", "-e", "mkdir_p('a/x/y')"], cwd=tmp_path)
    assert done.status == 1 and b"a/x: " in done.stderr, done


def test_slave(made):
    """What one snippet defines is there for the next, and what they do is a JSON object a line."""
    snippets = ["x = #allocations() println('{}', x) print('two\\nlines') io = io", "\nnonsense()",
                "x = = 1", "allocations():save_as_graph('a.svg')", "exit(3)", "print(x)",
                "print(io)"]
    done = harness.execute([harness.MEMOIR, "script-slave", "-d", made],
                           stdin="".join(text + "\0" for text in snippets).encode())
    assert done.status == 0 and not done.stderr, done
    count = str(len(ids(made)))
    said = [json.loads(line) for line in done.stdout.splitlines()]
    picture = said[8]
    assert bytes(picture.pop("data")).startswith(b"<svg ")
    idle = {"kind": "idle"}
    assert said == [
        {"kind": "println", "message": count}, {"kind": "println", "message": "two"},
        {"kind": "println", "message": "lines"}, idle,
        {"kind": "runtime_error", "line": 2, "column": None,
         "message": "attempt to call a nil value (global 'nonsense')"}, idle,
        {"kind": "syntax_error", "line": 1, "column": None,
         "message": "unexpected symbol near '='"}, idle,
        {"kind": "image", "path": "a.svg"}, idle, idle,
        {"kind": "println", "message": count}, idle, {"kind": "println", "message": "nil"}, idle]
    done = harness.execute([harness.MEMOIR, "script-slave", "--rhai", "-d", made],
                           stdin=b"println(allocations().len());\0let x = ;\0")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert said[0] == {"kind": "println", "message": count} and said[1] == said[3] == idle
    assert (said[2]["kind"], said[2]["line"], said[2]["column"]) == ("syntax_error", 1, 9), said


def test_prompt(made, tmp_path):
    """On a terminal: a name is completed, a wrong one is said, Ctrl-C ends a loop and not the
    prompt, and lines are there the next time."""
    env = {**os.environ, "HOME": str(tmp_path), "XDG_STATE_HOME": "", "TERM": "xterm"}
    child, terminal = pty.fork()
    if not child:
        os.execve(harness.MEMOIR, ["memoir", "script", "-d", made], env)
    shown = ""

    def until(text):
        nonlocal shown
        end = time.monotonic() + 30
        while text not in shown:
            assert select.select([terminal], [], [], max(end - time.monotonic(), 0))[0], shown
            shown += os.read(terminal, 4096).decode(errors="replace")
        shown = shown.partition(text)[2]

    until("> ")
    os.write(terminal, b"print(#alloc\t():only_temp\t())\n")
    until("orary())")
    until(str(len(ids(made, "-F", "not leaked"))))
    os.write(terminal, b"alocations()\n")
    until("did you mean allocations?")
    until("> ")
    os.write(terminal, b"while true do end\n")
    until("end")
    time.sleep(0.5)
    os.write(terminal, b"\x03")
    until("it was stopped")
    until("> ")
    os.write(terminal, b"\x04")
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0
    assert "alocations()" in (tmp_path / ".memoir_script_history").read_text()
