# SPDX-License-Identifier: MIT OR Apache-2.0
"""A script that would run or grow for ever is ended, and the sandbox lets nothing out."""
import os
import re
import signal
import subprocess
import time

import pytest

import harness
from scripts import made_recording, script


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return made_recording(tmp_path_factory, 3)


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
