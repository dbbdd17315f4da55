# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every word of scripts does what help() says of it: for each there is a line here that is true,
and a word without one fails.  Filters of lists are in test_script.py, questions in
test_doors.py."""
import json
import os
import re

import pytest

import harness
from scripts import script
from web import Server

# By what help() calls those that have the words: a condition in Lua that has the word in it, or a
# script and what it prints.  `a` is an allocation that was freed, `b` one that was not, `k` one of
# a realloc chain, `g` a group by stack, `made` a map that the program made, `whole` the graph of
# all.
WORDS = {
    "Functions": {
        "data": "data() == data(1) and data(2).name == 'maps.dat' and data(2) ~= data(1)",
        "load": "load(argv()[1]).name == 'maps.dat' and #load(argv()[1]):maps() == #data(2):maps()",
        "allocations": "#allocations() == data():ask('overview').allocations",
        "maps": "#maps() == data():ask('maps', {count = 0}).total_count",
        "runtime": "runtime() == data():runtime() and runtime() > ms(20) and runtime() < s(50)",
        "diff": "diff(data(), data(2), {measure = 'leaked'}).total.before_bytes == "
                "allocations():only_leaked().size",
        "graph": "tostring(graph()) == 'graph of 0 series'",
        "argv": "#argv() == 2 and argv()[1]:find('maps.dat$')",
        "exit": ("print(1) exit(0) print(2)", "1\n"),
        "print": ("print(1, nil, 'a', true)", "1\tnil\ta\ttrue\n"),
        "println": ("println() println('a{}b{{', 1) println('{1}{0}{}', 'x', 'y')",
                    "\na1b{\nyxx\n"),
        "format": "format('{} {1} {0} {{}}', 1, 'b') == '1 b 1 {}'",
        "info": ("info('to stderr')", ""),
        "show": ("show{{a = 1, b = 'x'}, {a = 20}} show({{a = 1, b = 2}}, {'b'})",
                 "a   b\n 1  x\n20\nb\n2\n"),
        "h": "h(1) == m(60)", "m": "m(1) == s(60)", "s": "s(1) == ms(1000)",
        "ms": "ms(1) == us(1000)", "us": "us(1) == ns(1000) and us(0.5) == ns(500)",
        "ns": "ns(7).ns == 7",
        "kb": "kb(2) == 2000", "mb": "mb(1.5) == 1500000", "gb": "gb(1) == 1000000000",
        "kib": "kib(2) == 2048", "mib": "mib(1) == 1048576", "gib": "gib(1) == 1 << 30",
        "bytes": "bytes('1.5M') == 1500000 and bytes('4Ki') == 4096",
        "save": "save('text', 'a\\0b') or io.open('text', 'rb'):read('a') == 'a\\0b'",
        "json.encode": "json.encode{a = {1, 'x', true}} == '{\"a\":[1,\"x\",true]}' and "
                       "json.encode({1}, true) == '[\\n  1\\n]'",
        "json.decode": "json.decode('{\"a\": [1, 2.5]}').a[2] == 2.5",
        "csv.encode": "csv.encode{{a = 1, b = 'x,y'}} == 'a,b\\n1,\"x,y\"\\n' and "
                      "csv.encode({{a = 1, b = 2}}, {'b'}) == 'b\\n2\\n'",
        "csv.decode": "csv.decode('a,b\\n1,\"x,\"\"y\"\\n')[1].b == 'x,\"y'",
        "loadstring": "loadstring('return 1 + 1')() == 2 and loadstring('= 1') == nil",
        "dirname": "dirname('a/b') == 'a' and dirname('/a') == '/' and dirname('a') == '.'",
        "mkdir_p": "mkdir_p('a/b/c') or mkdir_p('a/b') or io.open('a/b/c/x', 'w')",
        "chdir": ("mkdir_p('other') chdir('other') save('x', 'y') chdir('..') "
                  "print(io.open('other/x'):read('a'))", "y\n"),
        "help": ("help('only_leaked')", "A list of allocations\n  only_leaked()"),
    },
    "A recording": {
        "allocations": "#data(2):allocations() == data(2):ask('overview').allocations",
        "maps": "#data(2):maps() == data(2):ask('maps', {count = 0}).total_count",
        "runtime": "data():runtime().ns // 1000 == math.floor(data():facts().runtime_ns / 1000)",
        "started": "math.abs(data():started() - os.time()) < 1000",
        "info": "data():info('executable'):find('choosing$')",
        "ask": "data():ask('allocations', {count = 2}).total_count == #allocations()",
        "ask_json": "json.decode(data():ask_json('matches', {filter = 'leaked'})).count == "
                    "#allocations():only_leaked()",
        "export": "data():export('csv') == allocations():export('csv')",
    },
    "A recording: fields": {
        "name": "data().name == 'choosing.dat'",
        "id": "data().id:find('^%x+$') and #data().id == 32 and data().id ~= data(2).id",
        "kind": "data().kind == 'recording' and load(heap).kind == 'heap'",
    },
    "A list of allocations": {
        "len": "allocations():len() == #allocations() and allocations():only_leaked():len() < "
               "allocations():len()",
        "iter": "count(allocations():iter()) == #allocations()",
        "where": "allocations():where('leaked and size > 4000') == "
                 "allocations():only_leaked():only_larger(4000)",
        "filter": "allocations():only_leaked():filter() == 'leaked' and "
        "allocations():filter() == ''",
        "group_by_backtrace": "allocations():group_by_backtrace():ungroup() == allocations() and "
                              "#allocations():group_by_backtrace() == "
                              "data():ask('groups', {count = 0}).total_count",
        "group_by": "#allocations():group_by('thread') == 2",
        "backtrace": "g:backtrace() == g[1]:backtrace() and #g:backtrace() > 1",
        "ask": "allocations():only_leaked():ask('overview').allocations == "
               "#allocations():only_leaked()",
        "ask_json": "json.decode(allocations():only_larger(4000):ask_json('overview')).allocations "
                    "== #allocations():only_larger(4000)",
        "export": "select(2, allocations():only_leaked():export('csv'):gsub('\\n', '')) == "
                  "#allocations():only_leaked() + 1",
        "save": "allocations():save('all.csv', 'csv') and io.open('all.csv'):read('a') == "
                "allocations():export('csv')",
        "save_as_flamegraph": "allocations():save_as_flamegraph('flame.svg') and "
                              "io.open('flame.svg'):read('a') == "
        "allocations():export('flamegraph')",
        "save_as_graph": "allocations():save_as_graph('curve.svg') and "
                         "io.open('curve.svg'):read('a') == graph():add(allocations()):svg()",
        "graph": "allocations():graph():svg() == graph():add(allocations()):svg()",
        "to_table": "#allocations():only_leaked():to_table() == #allocations():only_leaked() and "
                    "allocations():only_leaked():to_table()[1].size == "
                    "allocations():only_leaked()[1].size",
        "data": "data(2):allocations():data() == data(2)",
    },
    "A list of allocations: fields": {
        "size": "g.size == sum(g, 'size')",
        "usable_size": "g.usable_size == sum(g, 'usable_size')",
        "min_size": "allocations():only_larger(4000).min_size == "
                    "least(allocations():only_larger(4000), 'size')",
        "max_size": "allocations().max_size == most(allocations(), 'size')",
        "min_timestamp": "allocations().min_timestamp == least(allocations(), 'allocated') and "
                         "allocations():only_smaller(0).min_timestamp == nil",
        "max_timestamp": "allocations().max_timestamp == most(allocations(), 'allocated')",
        "interval": "close(allocations().interval, allocations().max_timestamp - "
                    "allocations().min_timestamp)",
        "allocated_count": "g.allocated_count == #g",
        "leaked_count": "allocations().leaked_count == #allocations():only_leaked()",
        "leaked_size": "allocations().leaked_size == allocations():only_leaked().size",
        "name": "allocations():group_by('call'):sort_by_count_ascending()[1].name == 'realloc' or "
                "allocations():group_by('call')[1].name",
        "backtrace_id": "g.backtrace_id == g[1].backtrace_id and allocations().backtrace_id == nil",
    },
    "Groups": {
        "len": "groups:len() == #groups and #groups == "
               "data():ask('groups', {count = 0}).total_count",
        "iter": "count(groups:iter()) == #groups",
        "sort_by_size": "falls(groups:sort_by_size(), 'size') and "
                        "falls(groups:sort_by_size_descending(), 'size') and "
                        "not falls(groups:sort_by_size_ascending(), 'size')",
        "sort_by_count": "falls(groups:sort_by_count(), 'allocated_count') and "
                         "falls(groups:sort_by_count_descending(), 'allocated_count') and "
                         "not falls(groups:sort_by_count_ascending(), 'allocated_count')",
        "sort_by": "falls(groups:sort_by('leaked_size'), 'leaked_size') and "
                   "not falls(groups:sort_by('size', 'asc'), 'size')",
        "take": "#groups:take(2) == 2 and groups:sort_by_size():take(1)[1].size == "
                "groups:sort_by_size()[1].size and #groups:take(1 << 40) == #groups",
        "only_all_leaked": "groups:only_all_leaked():ungroup() == "
                           "allocations():only_group_leaked() and #groups:only_all_leaked() > 0",
        "only_count_at_least": "each(groups:only_count_at_least(4), function(l) return #l "
        ">= 4 end) "
                               "and #groups:only_count_at_least(4) > 0",
        "only_size_at_least": "each(groups:only_size_at_least(4000), function(l) return "
                              "l.size >= 4000 end) and #groups:only_size_at_least('4k') > 0",
        "ungroup": "groups:take(2):ungroup() == groups[1] + groups[2]",
        "graph": "groups:take(3):graph():svg() == graph():add(groups:take(3)):svg()",
        "save_as_graph": "groups:take(2):save_as_graph('groups.svg') and "
                         "io.open('groups.svg'):read('a') == groups:take(2):graph():svg()",
    },
    "An allocation": {
        "backtrace": "a:backtrace().id == a.backtrace_id and "
                     "#a:backtrace() == #a:to_table().backtrace",
        "deallocation_backtrace": "a:deallocation_backtrace().id == "
        "a.deallocation_backtrace_id and "
                                  "b:deallocation_backtrace() == nil",
        "allocated_at": "a:allocated_at() == a.allocated",
        "deallocated_at": "a:deallocated_at() == a.deallocated and b:deallocated_at() == nil",
        "chain": "#k:chain() == 5 and k:chain()[1].size == 100 and k:chain()[5].size == 500",
        "to_table": "a:to_table().size == a.size and a:to_table().id == a.id and "
                    "a:to_table().backtrace[1]",
        "data": "a:data() == data() and a:data() ~= data(2)",
    },
    "An allocation: fields": {
        "allocated": "a.allocated.ns == ns_of(a:to_table().timestamp_relative)",
        "deallocated": "a.deallocated.ns == ns_of(a:to_table().deallocation.timestamp_relative)",
        "lifetime": "close(a.lifetime, a.deallocated - a.allocated) and "
                    "b.lifetime > runtime() - b.allocated - us(1)",
        "size": "b.size == 5000000",
        "usable_size": "a.usable_size == a.size + a.slack",
        "slack": "a.slack == a:to_table().extra_space",
        "address": "a.address == a:to_table().address",
        "first_size": "k.first_size == 100", "last_size": "k.last_size == 500",
        "chain_length": "k.chain_length == 5 and b.chain_length == 1",
        "chain_lifetime": "close(k.chain_lifetime, k:chain()[5].deallocated - "
                          "k:chain()[1].allocated)",
        "position_in_chain": "k:chain()[3].position_in_chain == 2",
        "marker": "a.marker == 0", "id": "allocations()[3].id == 2",
        "thread": "a.thread == a:to_table().thread and worker.thread ~= b.thread",
        "thread_name": "worker.thread_name == 'chooser'",
        "call": "zeroed.call == 'calloc' and b.call == 'malloc'",
        "backtrace_id": "a.backtrace_id == a:to_table().backtrace_id",
        "responsible": "b.responsible == 'leak' and k.responsible == 'chain'",
        "deallocation_thread": "handed.deallocation_thread == worker.thread and "
                               "b.deallocation_thread == nil",
        "deallocation_call": "a.deallocation_call == 'free' and "
                             "k:chain()[1].deallocation_call == 'realloc'",
        "deallocation_backtrace_id": "a.deallocation_backtrace_id == "
                                     "a:to_table().deallocation.backtrace_id",
        "leaked": "b.leaked and not a.leaked",
        "chain_leaked": "b.chain_leaked and not k.chain_leaked",
        "group_leaked": "b.group_leaked and not a.group_leaked",
        "temporary": "zeroed.temporary and not b.temporary",
        "reallocated": "k:chain()[1].reallocated and not k:chain()[5].reallocated",
        "mmapped": "b.mmapped and not a.mmapped",
        "main_arena": "a.main_arena and not worker.main_arena",
        "other_arena": "worker.other_arena and not a.other_arena",
        "jemalloc": "a.jemalloc == false",
        "zeroed": "zeroed.zeroed and not a.zeroed",
        "freed_by_other_thread": "handed.freed_by_other_thread and not a.freed_by_other_thread",
    },
    "A list of maps": {
        "len": "data(2):maps():len() == #data(2):maps() and #data(2):maps() > 5",
        "iter": "count(data(2):maps():iter()) == #data(2):maps()",
        "where": "data(2):maps():where('size > 16k') == data(2):maps():only_larger('16k')",
        "save_as_graph": "data(2):maps():save_as_graph('maps.svg') and "
                         "io.open('maps.svg'):read('a') == data(2):maps():graph():svg()",
        "graph": "data(2):maps():graph():svg() == graph():add(data(2):maps()):svg()",
        "data": "data(2):maps():data() == data(2)",
    },
    "A map": {
        "backtrace": "tostring(made:backtrace()):find('main') and #made:backtrace() == "
                     "#made:to_table().source.backtrace",
        "deallocation_backtrace": "tostring(ended:deallocation_backtrace()):find('unmap') and "
                                  "made:deallocation_backtrace() == nil",
        "allocated_at": "made:allocated_at() == made.allocated",
        "deallocated_at": "made:deallocated_at() == nil and ended:deallocated_at() == "
        "ended.deallocated",
        "to_table": "made:to_table().id == made.id and made:to_table().regions[1] and "
                    "made:to_table().usage_history",
        "data": "made:data() == data(2)",
    },
    "A map: fields": {
        "id": "data(2):maps():only_id(made.id)[1] == made",
        "address": "made.address == made:to_table().address",
        "size": "made.size == 123 * 4096", "peak_rss": "made.peak_rss == made:to_table().peak_rss",
        "allocated": "made.allocated > ns(0) and made.allocated < data(2):runtime()",
        "deallocated": "ended.deallocated > ended.allocated and made.deallocated == nil",
        "name": "made.name == made:to_table().name and stack.name == '[stack]'",
        "call": "made.call == 'mmap'",
        "readable": "made.readable and #made:data():maps():only_not_readable() == "
                    "count(made:data():maps():iter(), function(one) return not one.readable end)",
        "writable": "made.writable and not code.writable",
        "executable": "code.executable and not made.executable",
        "shared": "made.shared == false", "jemalloc": "made.jemalloc == false",
        "memoir": "made.memoir == false and #data(2):maps():only_memoir() == "
        "count(data(2):maps():iter(),"
                  " function(one) return one.memoir end)",
    },
    "A stack": {
        "len": "a:backtrace():len() == #a:backtrace()",
        "frames": "#a:backtrace():frames() == #a:backtrace() and "
                  "b:backtrace():frames()[#b:backtrace() - 1].function_name == 'leak'",
        "strip": "#a:backtrace():strip() < #a:backtrace() and "
                 "tostring(a:backtrace():strip()):find('main')",
    },
    "A stack: fields": {
        "id": "a:backtrace().id == a.backtrace_id and #allocations():only_matching_backtraces("
              "a:backtrace().id) == #allocations():where('backtrace = ' .. a:backtrace().id)",
    },
    "A graph": {
        "add": "tostring(whole:add('x', allocations())) == 'graph of 2 series' and "
        "whole:add('x < y', "
               "allocations()):svg():find('x &lt; y') and tostring(whole) == 'graph of 1 series'",
        "only_non_empty_series": "tostring(whole:add(allocations():only_larger('1G'))"
                                 ":only_non_empty_series()) == 'graph of 1 series'",
        "trim": "late:trim():svg() == late:trim_left():trim_right():svg() and "
                "late:trim():svg() ~= late:svg()",
        "trim_left": "late:trim_left():svg() ~= late:svg()",
        "trim_right": "early:trim_right():svg() ~= early:svg()",
        "start_at": "whole:start_at(runtime() * 0.5):svg() ~= whole:svg() and "
                    "whole:start_at(ns(0)):svg() == whole:svg()",
        "end_at": "whole:end_at(runtime() * 0.5):svg() ~= whole:svg()",
        "without_legend": "whole:add('zz', allocations()):svg():find('>zz</text>') and not "
                          "whole:add('zz', "
        "allocations()):without_legend():svg():find('>zz</text>')",
        "without_axes": "whole:svg():find('<text') and "
                        "not whole:without_axes():without_legend():svg():find('<text')",
        "without_grid": "#whole:without_grid():svg() < #whole:svg()",
        "show_memory_usage": "whole:show_memory_usage():svg() == whole:svg()",
        "show_live_allocations": "whole:show_live_allocations():svg() ~= whole:svg()",
        "show_new_allocations": "whole:show_new_allocations():svg() ~= "
        "whole:show_live_allocations():svg()",
        "show_deallocations": "whole:show_deallocations():svg() ~= "
        "whole:show_new_allocations():svg()",
        "show_rss": "graph():add(data(2):maps()):show_rss():svg() == "
                    "graph():add(data(2):maps()):svg() and not pcall(whole.show_rss().svg)",
        "show_address_space": "graph():add(data(2):maps()):show_address_space():svg() ~= "
                              "graph():add(data(2):maps()):svg()",
        "with_gradient_color_scheme": "whole:with_gradient_color_scheme('red', '#00f'):svg():find("
                                      "'#ff0000')",
        "with_size": "whole:with_size(300, 200):svg():find('300') and #whole:with_size(300, "
        "200):png() < "
                     "#whole:png()",
        "svg": "whole:svg():find('^<svg ')", "png": "whole:png():find('^\\x89PNG')",
        "save": "whole:save('h.svg') and io.open('h.svg'):read('a') == whole:svg() and "
        "whole:save('h.png') and "
                "io.open('h.png', 'rb'):read('a') == whole:png()",
        "save_each_series_as_graph": "whole:add('two', allocations():only_leaked())"
                                     ":save_each_series_as_graph('.') and io.open('two.svg')"
                                     ":read('a'):find('^<svg ') and io.open('Series #1.svg')",
        "save_each_series_as_flamegraph": "mkdir_p('each') or graph():add('three', "
                                          "allocations():only_leaked())"
                                          ":save_each_series_as_flamegraph('each') and "
                                          "io.open('each/three.svg'):read('a') == "
                                          "allocations():only_leaked():export('flamegraph')",
    },
    "A duration: fields": {
        "ns": "us(3).ns == 3000 and math.type(us(3).ns) == 'integer'",
        "us": "us(3).us == 3", "ms": "s(1.5).ms == 1500", "s": "m(2).s == 120",
    },
}

HELPERS = """
    heap = %s
    function count(iterator, which)
      local n = 0
      for one in iterator do n = n + ((not which or which(one)) and 1 or 0) end
      return n
    end
    function sum(list, field)
      local all = 0
      for one in list:iter() do all = all + one[field] end
      return all
    end
    function least(list, field)
      local found
      for one in list:iter() do found = found and found < one[field] and found or one[field] end
      return found
    end
    function most(list, field)
      local found
      for one in list:iter() do found = found and found > one[field] and found or one[field] end
      return found
    end
    function falls(all, field)
      for i = 2, #all do if all[i - 1][field] < all[i][field] then return false end end
      return #all > 2
    end
    function each(all, holds)
      for one in all:iter() do if not holds(one) then return false end end
      return true
    end
    -- Ticks of the clock become nanoseconds by rounding.
    function close(x, y) return math.abs(x.ns - y.ns) <= 2 end
    function ns_of(time) return time.secs * 1000000000 + time.fract_nsecs end
    function found(list, which)
      for one in list:iter() do if which(one) then return one end end
    end
    local all, all_maps = allocations(), data(2):maps()
    a, b = all:where('size = 1000 and not leaked')[1], all:where('size = 5000000')[1]
    k, zeroed = all:where('chain_length = 5')[2], all:where('zeroed and size = 8002')[1]
    worker, handed = all:where('size = 3333')[1], all:where('size = 2222')[1]
    groups = all:group_by_backtrace()
    g = groups:sort_by_count()[1]
    made = found(all_maps, function(one) return one.size == 123 * 4096 end)
    ended = found(all_maps, function(one) return one.size == 6 * 4096 end)
    local real = load(argv()[2]):maps()
    stack = found(real, function(one) return one.name == '[stack]' end)
    code = real:only_executable()[1]
    whole = graph():add(all)
    late = graph():add(all:only_allocated_after_at_least(runtime() * 0.5))
    early = graph():add(all:only_smaller(1010):only_temporary())
    function try(what, holds)
      local ok, it = pcall(holds)
      if not ok or not it then print(what, it) end
    end
""" % json.dumps(os.path.join(harness.ROOT, "tests/data/jemalloc/out.heap"))


@pytest.fixture(scope="module")
def recordings(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    paths = [str(folder / f"{name}.dat") for name in ("choosing", "maps", "asleep")]
    flags = ("-O1", "-fno-optimize-sibling-calls")
    assert harness.record([compile_program("choosing", flags=flags)], paths[0]).status == 0
    assert harness.record([compile_program("maps")], paths[1], stdin=b"\n\n\n",
                          options=("--maps",)).status == 0
    # Long enough for somebody to look at its maps.
    assert harness.record(["sleep", "0.5"], paths[2], options=("--maps",)).status == 0
    return paths


def told():
    """What help() tells: names by title, without what other tests have a line for."""
    found, title = {}, None
    for line in script("help('markdown')").splitlines():
        if line.startswith("### "):
            title = line[4:]
        named = re.match(r"\| `([^(`]+)", line)
        if named and not title.endswith((": questions", ": what chooses of it", "memoir check")):
            found.setdefault(title, []).extend(named.group(1).split())
    return found


def test_every_word_has_a_line():
    assert {title: sorted(names) for title, names in told().items()} == {
        title: sorted(words) for title, words in WORDS.items()}
    for words in WORDS.values():
        for name, line in words.items():
            assert re.search(rf"\b{re.escape(name)}", line if isinstance(line, str)
                             else line[0]), name


@pytest.mark.parametrize("title", WORDS)
def test_what_is_true(title, recordings, tmp_path):
    lines = [f"try({json.dumps(name)}, function() return {line} end)"
             for name, line in WORDS[title].items() if isinstance(line, str)]
    assert script(HELPERS + "\n".join(lines), "-d", recordings[0], "-d", recordings[1], "--",
                  *recordings[1:], cwd=tmp_path) == ""


@pytest.mark.parametrize("name", [name for name, line in WORDS["Functions"].items()
                                  if not isinstance(line, str)])
def test_what_is_printed(name, recordings, tmp_path):
    text, expected = WORDS["Functions"][name]
    said = script(text, "-d", recordings[0], cwd=tmp_path)
    assert said.startswith(expected) if name == "help" else said == expected
    if name == "info":
        done = harness.execute([harness.MEMOIR, "script", "-e", text])
        assert done.stderr == b"to stderr\n"


def test_questions_are_methods(recordings):
    """Of a recording and, if they take filters, of a list: the same as ask() gives.  Where another
    method has the name, ask() asks."""
    text = script("help('markdown')").partition("### A recording: questions")[2].partition("###")[0]
    names = re.findall(r"^\| `(\w+)", text, flags=re.M)
    listed = {e["name"]: e["filters"] for e in described()}
    assert len(names) > 30 and set(names) == set(listed)
    found = json.loads(script(f"""
        local said = {{}}
        for _, name in ipairs(json.decode({json.dumps(json.dumps(names))})) do
          local given = {{ at_b = "50%", count = 3, file = "a", ["function"] = "leak", number = 0 }}
          local function tried(it, asks)
            -- What it does not take is left out, so that most are answered.
            local left = {{}}
            for key, value in pairs(given) do
              local ok, why = pcall(it.ask, it, name, {{ [key] = value }})
              if ok or not (why:find("no parameter") or why:find("there is no")) then
                left[key] = value
              end
            end
            local ok, answer = pcall(function()
              if asks then return it:ask(name, left) else return it[name](it, left) end
            end)
            return ok and type(answer) == "table" and json.encode(answer) or tostring(answer)
          end
          local one, all = data(), allocations()
          said[name] = {{ tried(one, false) == tried(one, true),
            not ({lua_set(n for n, filters in listed.items() if filters)})[name]
              or tried(all, false) == tried(all, true), #tried(one, true) > 200 }}
        end
        print(json.encode(said))""", "-d", recordings[0]))
    differ = {name for name, (recording, of_list, _) in found.items()
              if not (recording and of_list)}
    assert differ == {"allocations", "maps"}
    assert sum(long for _, _, long in found.values()) > 15


def lua_set(names):
    return "{" + ", ".join(f"[{json.dumps(name)}] = true" for name in names) + "}"


def described():
    """Every question: its name, and whether it takes filters."""
    with Server() as server:
        return [{"name": e["question"], "filters": e["filters"] and e["kind"] == "recording"}
                for e in server.json("/api")["endpoints"] if e.get("question")]
