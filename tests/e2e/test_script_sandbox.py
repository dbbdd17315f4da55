# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attempts to get out of the sandbox: each fails on the command line and over HTTP, in a way that
leaves the others alone; and those that succeed without it are real attempts."""
import json
import os

import pytest

import harness
from scripts import made_recording
from web import Server

SECRET = "what nobody may read"
# What a script tries.  SECRET is a file whose text must not come out, CANARY one that must not come
# into being.
FILES = [
    "print(io.open('SECRET'):read('a'))",
    "for line in io.lines('SECRET') do print(line) end",
    "io.input('SECRET') print(io.read('a'))",
    "print(io.popen('cat SECRET'):read('a'))",
    "os.execute('touch CANARY')",
    "os.rename('SECRET', 'CANARY')",
    "io.open('CANARY', 'w'):close()",
    "io.output('CANARY') io.write('x')",
    "print(os.getenv('HIDDEN'))",
    "print(require('io').open('SECRET'):read('a'))",
    "package.path = 'SECRET' print(select(2, pcall(require, 'x')))",
    "print(select(2, loadfile('SECRET')))",
    "print(select(2, pcall(dofile, 'SECRET')))",
    "save('CANARY', 'x')",
    "mkdir_p('CANARY')",
    "graph():add(allocations()):save('CANARY')",
    "allocations():save('CANARY', 'csv')",
    "allocations():save_as_flamegraph('CANARY')",
    "mkdir_p('CANARY') graph():add('x', allocations()):save_each_series_as_graph('CANARY')",
    "_G.io.open('CANARY', 'w')",
    "_ENV.os.execute('touch CANARY')",
    "coroutine.wrap(function() io.open('CANARY', 'w') end)()",
    "loadstring([[io.open('CANARY', 'w')]])()",
    "local env = setmetatable({}, {__index = _G}) loadstring([[io.open('CANARY', 'w')]], 'x', 't', "
    "env)()",
    "print(json.encode(load('SECRET').name))",
    "print(data():ask_json('source', {file = 'SECRET'}))",
    "print(pcall(data().ask_json, data(), 'diff', {b = 'SECRET'}))",
    "print(pcall(data().ask_json, data(), 'requirements', {baseline = 'SECRET'}))",
    "print(pcall(data().ask_json, data(), 'requirements', {suppressions = 'SECRET', "
    "max_leaks = 1}))",
    "print(pcall(diff, data(), 'SECRET'))",
]
# What reaches for the inside of the interpreter: an error, or a value that says there is nothing.
INSIDE = [
    "print(debug.getregistry())",
    "debug.sethook()",
    "print(debug.getupvalue(print, 1))",
    "string.dump(function() end)",
    "assert(loadstring('\\27Lua\\x54\\0\\x19\\x93\\r\\n\\x1a\\n\\4\\8\\8'))()",
    "local done assert(loadstring(function() if not done then done = true return '\\27Lua' "
    "end end))",
    "package.loadlib('libc.so.6', 'system')('touch CANARY')",
    "package.preload.x = nil",
    "setmetatable({}, {__gc = function() while true do end end})",
    "local m = {} setmetatable({}, m) m.__gc = error setmetatable({}, m)",
    "collectgarbage('stop')",
    "collectgarbage('generational')",
    "getmetatable(data()).__index = nil",
    "getmetatable(allocations()).__gc(allocations())",
    "setmetatable(allocations(), {})",
    "setmetatable(graph(), {})",
    "allocations().where(graph())",
    "getmetatable('').__index.rep(5, {})",
    "data().ask(graph(), 'overview')",
    "allocations():only_matching_backtraces({graph()})",
    "local g = graph() rawset(g, 'series', {{list = 5, label = 'x', kind = 'list'}}) g:svg()",
    "local g = graph():add(allocations()) rawset(g, 'width', 1e308) g:svg()",
    "graph():add(allocations()):with_size(-5, 0 / 0):png()",
    "graph():add(allocations()):with_size(1 << 40, 1 << 40):png()",
    "warn('@on')",
    "dofile()",
    "exit(('x'):rep(10))",
    "error(setmetatable({}, {__tostring = function() while true do end end}))",
    "print(setmetatable({}, {__tostring = function() return {} end}))",
    "print(setmetatable({}, {__name = ('x'):rep(1 << 20), __tostring = error}))",
    "string.format('%' .. ('9'):rep(100) .. 'd', 1)",
    "string.pack('!17 i', 1)",
    "string.unpack('s8', ('\\xff'):rep(8))",
    "table.unpack({}, 1, 1 << 30)",
    "table.concat({}, 'x', 1, math.maxinteger)",
    "('x'):rep(-1 >> 1)",
    "local function f() return f() + 1 end f()",
    "local function f() return pcall(f) + 1 end f() error('deep')",
    "local function f(...) return xpcall(error, f) end f() error('deep')",
    "local function f() return coroutine.wrap(f)() end f()",
    "local t = {} t.__index = t setmetatable(t, t) print(t.x)",
    "local t = setmetatable({}, {__index = function(t, k) return t[k] end}) print(t.x)",
    "loadstring(('('):rep(1 << 20))() ",
    "loadstring('x = ' .. ('{'):rep(1 << 18))()",
    "json.decode(('['):rep(1 << 20))",
    "local t = {} for i = 1, 1 << 18 do t = {t} end json.encode(t)",
    "local t = {} t[1] = t json.encode(t)",
    "('x'):find(('('):rep(1000))",
    "('x'):find(('%f'):rep(10000))",
    "utf8.char(1 << 40)",
    "for _, c in utf8.codes('\\xff') do end",
    "string.gsub = nil table = nil ipairs = nil show(allocations():group_by('thread')) "
    "graph():svg()",
    "pairs = function(t) t.put = nil t.load = error return next, t end help('nothing at "
    "all') error()",
    "tostring = function() return {} end print(allocations())",
    "coroutine.close(coroutine.running())",
]
RHAI = [
    "load(\"SECRET\");",
    "import \"SECRET\" as x;",
    "eval(\"1\");",
    "io.open(\"CANARY\", \"w\");",
    "os.execute(\"touch CANARY\");",
    "let x = _ENV; print(x);",
    "_G.io;",
    "__rhai.show(1);",
    "let _ENV = #{}; let t = 5; throw t;",
    "print(`${io.open(\"SECRET\")}`);",
    "let f = Fn(\"load\"); print(f.call(\"SECRET\"));",
    "let f = Fn(\"dofile\"); f.call(\"SECRET\");",
    "call(\"os.execute\", \"touch CANARY\");",
    "debug.getregistry();",
    "mkdir_p(\"CANARY\"); throw 1;",
    "graph().add(allocations()).save(\"CANARY\"); throw 1;",
    "let a = []; a.push(a); loop { a.push(a); }",
    "fn f(x) { f(x + 1) + 1 } f(0);",
    "let x = \"]] os.execute('touch CANARY') --[[\"; throw x;",
    "let x = \"\\\" .. os.execute('touch CANARY') .. \\\"\"; throw x;",
    "/* ]] */ let end = 1; local = 5;",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_recording(tmp_path_factory, 3)


@pytest.fixture(scope="module")
def server(made):
    with Server(made, env={"HIDDEN": SECRET}) as running:
        running.loaded()
        yield running


@pytest.fixture
def place(tmp_path):
    """place(text): with the paths of a file that is there, and of one that is not."""
    (tmp_path / "secret").write_text(f"{SECRET}\n")
    return lambda text: text.replace("SECRET", str(tmp_path / "secret")).replace(
        "CANARY", str(tmp_path / "canary"))


def is_out(tmp_path, said):
    """Did it get anywhere?"""
    return (SECRET in said or "canary" in os.listdir(tmp_path)
            or "secret" not in os.listdir(tmp_path))


def test_there_are_enough():
    assert len(FILES) + len(INSIDE) + len(RHAI) >= 100


@pytest.mark.parametrize("text", FILES + INSIDE + RHAI)
def test_it_fails(text, made, server, place, tmp_path):
    rhai = text in RHAI
    script = place(text)
    done = harness.execute(
        [harness.MEMOIR, "script", "--sandbox", "--time", "2s", "--memory", "64M",
         *(["--rhai"] if rhai else []), "-d", made, "-e", script], cwd=tmp_path,
                           env={"HIDDEN": SECRET})
    assert not is_out(tmp_path, done.stdout.decode()) and not is_out(tmp_path, done.stderr.decode())
    # It ends by itself, with a sentence where it is an error.
    lines = [line for line in done.stderr.splitlines() if b"was not written: --sandbox" not in line]
    assert done.status in (0, 1, 2) and len(lines) == (done.status > 0), done
    if text in INSIDE or rhai:
        assert done.status, done
    # A loop is over after the server's minute, which nobody waits for here.
    if "limit" in done.stderr.decode() and "more than 2" in done.stderr.decode():
        return
    answer = server.ask("/data/last/script", method="POST", body=script,
                        language="rhai" if rhai else "lua")
    assert answer.status == 200 and not is_out(tmp_path, answer.text), answer
    assert answer.json["status"] == "error" or text in FILES, answer


def test_the_server_goes_on(server):
    """After all that."""
    answer = server.ask("/data/last/script", method="POST", body="print(#allocations())").json
    assert answer["output"] == [{"kind": "println", "value": str(server.data(
        "overview")["allocations"])}]


@pytest.mark.parametrize("text", FILES[:24])
def test_without_a_sandbox_it_succeeds(text, made, place, tmp_path):
    """Else it would be no attempt."""
    done = harness.execute([harness.MEMOIR, "script", "-d", made, "-e", place(text)], cwd=tmp_path,
                           env={"HIDDEN": SECRET})
    said = done.stdout.decode() + done.stderr.decode()
    # What Lua could not read is quoted.
    assert is_out(tmp_path, said) or "near 'nobody'" in said, done


def test_nothing_is_left_for_the_next(made, place):
    """In one state, as script-slave has it: what one breaks is its own."""
    snippets = [place(text) for text in FILES + INSIDE if "while true" not in text]
    done = harness.execute([harness.MEMOIR, "script-slave", "-d", made],
                           stdin="".join(text + "\0" for text in snippets).encode(), timeout=120)
    assert done.status == 0, done
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert kinds.count("idle") == len(snippets)
