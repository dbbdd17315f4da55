# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recording agrees with exact counts: to the event, to the byte, to the function name."""
import json
import os
import shutil
import subprocess

import pytest

import harness

COMPILERS = ["gcc", "clang"]
LEVELS = ["-O0", "-O2", "-O3"]
FRAMES = ["-fomit-frame-pointer", "-fno-omit-frame-pointer"]
KEYS = ("allocations", "deallocations", "reallocations", "allocated_bytes")


@pytest.fixture(params=[(c, l, f) for c in COMPILERS for l in LEVELS for f in FRAMES],
                ids=lambda p: "".join(p).replace("-fomit-frame-pointer", "-nofp")
                .replace("-fno-omit-frame-pointer", "-fp"))
def variant(request):
    compiler, level, frames = request.param
    return {"compiler": compiler, "flags": (level, frames)}


def no_losses(info):
    assert info["lost_events"] == 0
    assert info["unknown_frees"] == 0
    assert not info["truncated"]


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_empty_program(compile_program, record, mode):
    """The baseline of the exact tests: a program that does nothing has no events of its own."""
    recording = record([compile_program("empty")], mode=mode)
    assert recording.status == 0
    no_losses(recording.info)
    assert recording.info["allocations"] == 0
    assert recording.info["deallocations"] == 0


def test_single_thread(compile_program, record, variant):
    recording = record([compile_program("oracle", **variant), 1, 60000])
    counted = json.loads(recording.stdout)
    info = recording.info
    no_losses(info)
    assert {k: info[k] for k in KEYS} == {k: counted[k] for k in KEYS}
    assert info["leaked_count"] == (counted["allocations"] - counted["reallocations"]
                                    - counted["deallocations"])
    assert info["leaked_bytes"] == counted["leaked_bytes"]
    assert info["peak_bytes"] == counted["peak_bytes"]
    assert info["events"] >= counted["allocations"] + counted["deallocations"]
    made = recording.total("oracle_alloc")
    again = recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert again["allocations"] == counted["reallocations"]


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("threads", [2, 8, 32])
def test_threads(compile_program, record, threads, mode):
    """Most blocks are freed on another thread; reallocs chain across threads."""
    recording = record([compile_program("oracle"), threads, 200000 // threads], mode=mode)
    counted = json.loads(recording.stdout)
    no_losses(recording.info)
    made = recording.total("oracle_alloc")
    again = recording.total("oracle_realloc")
    assert made["allocations"] + again["allocations"] == counted["allocations"]
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert again["allocations"] == counted["reallocations"]
    assert made["leaked_count"] + again["leaked_count"] == (
        counted["allocations"] - counted["reallocations"] - counted["deallocations"])
    assert made["leaked_bytes"] + again["leaked_bytes"] == counted["leaked_bytes"]
    assert recording.info["reallocations"] == counted["reallocations"]


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_against_counting_library(compile_program, record, tmp_path, threads, compiler):
    """Every call that reached the allocator, libc's own included, is in the recording."""
    counts = tmp_path / "counts"
    recording = record([compile_program("oracle", compiler=compiler), threads, 20000],
                       mode="preload", after=[compile_program("countlib.so")],
                       env={"COUNT_FILE": str(counts)})
    counted = harness.read_counts(counts)
    no_losses(recording.info)
    assert {k: recording.info[k] for k in KEYS} == {k: counted[k] for k in KEYS}


PYTHON_WORK = """
import json, re
data = {str(i): [i, float(i), 'x' * (i % 50)] for i in range(20000)}
text = json.dumps(data)
back = json.loads(text)
print(len(text), back == data, len(re.findall('x+', text)))
"""
PERL_WORK = ('my %h; for my $i (1..30000) { $h{"key$i"} = "v" x ($i % 60); } my $n = 0; '
             'for (sort keys %h) { $n += length $h{$_}; } print "$n\\n";')
SQL_WORK = ("create table t(a integer, b text); "
            "with recursive c(x) as (select 1 union all select x+1 from c where x < 20000) "
            "insert into t select x, hex(x*x) from c; "
            "select count(*), max(b) from t; select b from t order by b desc limit 3;")
REAL = {
    "python3": ["/usr/bin/python3", "-sS", "-c", PYTHON_WORK],
    "perl": ["perl", "-e", PERL_WORK],
    "sqlite3": ["sqlite3", ":memory:", SQL_WORK],
    "cc1plus": ["CC1PLUS", "-quiet", "-O1", "SOURCE", "-o", "/dev/null"],
    "git": ["git", "-C", "REPOSITORY", "log", "-p"],
    "jq": ["jq", "-n", "[range(20000)|{a:., b:tostring}]|map(.b)|add|length"],
    "bash": ["bash", "-c", "x=; for i in {1..3000}; do x=$x$i; done; echo ${#x}"],
}


@pytest.mark.parametrize("name", REAL)
def test_real_programs_against_counting_library(compile_program, record, tmp_path, name):
    command = list(REAL[name])
    if name == "cc1plus":
        command[0] = os.popen("g++ -print-prog-name=cc1plus").read().strip()
        source = tmp_path / "a.ii"
        with open(tmp_path / "a.cpp", "w", encoding="utf-8") as file:
            file.write("#include <map>\n#include <string>\nstd::map<std::string,int> m;\n"
                       "int f(const char*s){return m[s]++;}\n")
        os.system(f"g++ -E {tmp_path}/a.cpp -o {source}")
        command[3] = str(source)
    if name == "git":
        command[2] = str(tmp_path / "repository")
        os.system(f"git init -q {command[2]} && cd {command[2]} && cp /usr/include/*.h . && git "
                  "add . && "
                  "git -c user.name=a -c user.email=a@b commit -q -m one")
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    counts = tmp_path / "counts"
    plain = harness.execute(command, env={"PYTHONMALLOC": "malloc"})
    recording = record(command, mode="preload", after=[compile_program("countlib.so")],
                       env={"COUNT_FILE": str(counts), "PYTHONMALLOC": "malloc"})
    assert recording.stdout == plain.stdout
    assert recording.status == plain.status == 0
    counted = harness.read_counts(counts)
    no_losses(recording.info)
    assert counted["allocations"] > 1000
    assert {k: recording.info[k] for k in KEYS} == {k: counted[k] for k in KEYS}


def test_every_hook(compile_program, record, variant):
    """Each function that allocates, from a function of its own, with a size of its own."""
    recording = record([compile_program("everyhook", **variant)])
    assert recording.status == 0
    expected = {  # function: (calls, bytes)
        "use_malloc": (1, 10001), "use_calloc": (1, 30006), "use_realloc": (2, 2 * 10003),
        "use_reallocarray": (2, 2 * 20008), "use_posix_memalign": (1, 10005),
        "use_memalign": (1, 10006), "use_aligned_alloc": (1, 10240), "use_valloc": (1, 10008),
        "use_pvalloc": (1, 10009),
    }
    for function, (calls, size) in expected.items():
        total = recording.total(function)
        assert (total["allocations"], total["allocated_bytes"]) == (calls, size), function
        hook = function[4:]
        for stack in recording.stacks:
            if function in stack["functions"]:
                position = stack["functions"].index(function)
                assert position <= 1, stack["functions"]
                if position == 1:
                    assert stack["functions"][0] == hook
                assert "main" in stack["functions"]
    assert recording.info["allocations"] == 11
    assert recording.info["reallocations"] == 2
    assert recording.info["deallocations"] == 7
    assert recording.info["leaked_bytes"] == 10008 + 10009


CHAINS = {
    1001: ["inner", "middle", "outer", "main"],
    1002: ["inner", "outer", "main"],
    1003: ["inner"] + ["recurse"] * 7 + ["main"],
    1004: ["inner", "by_pointer", "main"],
    1005: ["inner", "realigned", "main"],
    1006: ["inner", "many_arguments", "main"],
    1008: ["inner", "middle", "outer", "thread_main"],
}


def innermost(functions, hook="malloc"):
    """Without the hook's own name, where a report shows it."""
    return functions[1:] if functions[0] == hook else functions


def test_stacks(compile_program, record, variant):
    """The functions of each stack, innermost first, at every optimisation level."""
    recording = record([compile_program("stacks", **variant)])
    assert recording.status == 0
    sizes = recording.by_size()
    for size, chain in CHAINS.items():
        assert len(sizes.get(size, [])) == 1, (size, sizes.get(size))
        functions = innermost(sizes[size][0])
        assert functions[:len(chain)] == chain, size
    through_libc = innermost(sizes[1007][0])
    assert through_libc[:2] == ["inner", "compare"]
    assert "main" in through_libc
    in_handler = innermost(sizes[1009][0])
    assert in_handler[:2] == ["inner", "handler"]
    assert "main" in in_handler
    assert recording.info["stacks_broken"] == 0


def test_stacks_without_unwind_tables(compile_program, record):
    """Code without .eh_frame but with frame pointers is walked by them."""
    recording = record([compile_program("stacks", flags=(
        "-O2", "-fno-omit-frame-pointer", "-fno-asynchronous-unwind-tables",
        "-fno-unwind-tables"))])
    sizes = recording.by_size()
    for size in (1001, 1002, 1003, 1004, 1006):
        functions = innermost(sizes[size][0])
        assert functions[:len(CHAINS[size])] == CHAINS[size], size


@pytest.mark.parametrize("compiler", COMPILERS)
def test_cxx_stacks(compile_program, record, compiler):
    recording = record([compile_program("stacks_cxx", compiler=compiler, flags=("-O1",))])
    assert recording.status == 0
    sizes = recording.by_size()
    assert any("shop::Derived::make" in f for f in sizes[2001])
    names = {name for stack in recording.stacks for name in stack["functions"]}
    assert any(name.endswith("shop::one<long>") for name in names), names
    assert 2002 in sizes and 2003 in sizes and 2005 in sizes
    assert recording.total("main")["leaked_count"] == 2  # the string and its text


def test_plugins_at_one_address(compile_program, record):
    """Libraries that take turns at the same address keep their names."""
    a = compile_program("plugin_a.so", flags=("-O2", "-DNAME=plugin_a"), source="plugin.c")
    b = compile_program("plugin_b.so", flags=("-O2", "-DNAME=plugin_b"), source="plugin.c")
    recording = record([compile_program("plugins_in_turn"), a, b])
    assert recording.status == 0
    for size, name in ((1111, "plugin_a"), (2222, "plugin_b")):
        stacks = [s for s in recording.stacks if s["allocations"]
                  and s["allocated_bytes"] == size * s["allocations"]]
        assert sum(s["allocations"] for s in stacks) == 50
        for stack in stacks:
            assert innermost(stack["functions"])[0] == name


@pytest.mark.parametrize("depth", [500, 2000])
def test_deep_recursion(compile_program, record, depth):
    recording = record([compile_program("deep", flags=("-O1",)), depth])
    assert recording.stdout == b"done\n"
    bottom = [s for s in recording.stacks
              if s["allocations"] and s["allocated_bytes"] == 5001 * s["allocations"]]
    assert sum(s["allocations"] for s in bottom) == 10
    dives = bottom[0]["functions"].count("dive")
    if depth == 500:
        assert dives == 500 and "main" in bottom[0]["functions"]
        assert recording.info["stacks_truncated"] == 0
    else:
        assert 500 <= dives <= 512
        assert recording.info["stacks_truncated"] >= 1
    top = recording.by_size()[5002]
    assert len(top) == 1 and "main" in top[0] and "dive" not in top[0]


def test_stack_depth_option(compile_program, record):
    recording = record([compile_program("deep", flags=("-O1",)), 100],
                       options=["--stack-depth", "20"])
    bottom = recording.by_size()[5001][0]
    assert 19 <= bottom.count("dive") <= 20


def test_without_free_stacks(compile_program, record):
    """The option leaves everything but the stacks of deallocations."""
    recording = record([compile_program("oracle"), 1, 20000], options=["--no-free-stacks"])
    counted = json.loads(recording.stdout)
    assert {k: recording.info[k] for k in KEYS} == {k: counted[k] for k in KEYS}


def test_interrupted_anywhere(compile_program, record):
    """A handler allocates while the recorder is interrupted at any instruction of its own."""
    recording = record([compile_program("interrupts")], mode="preload",
                       after=[compile_program("bumplib.so")])
    counted = json.loads(recording.stdout)
    assert recording.status == 0
    assert recording.info["lost_events"] == 0
    assert recording.info["allocations"] == counted["allocations"]
    assert recording.info["deallocations"] == counted["deallocations"]
    assert recording.total("in_handler")["allocations"] == 2 * counted["ticks"]


def test_interrupted_while_unmapping(compile_program, tmp_path):
    """A handler allocates right after a table of the recorder's own was given back."""
    path = tmp_path / "out.dat"
    # Without maps: libc's calls would be recorded inside malloc, where no handler may allocate.
    env = dict(os.environ, MEMORY_PROFILER_OUTPUT=str(path), MEMORY_PROFILER_GATHER_MAPS="0")
    done = subprocess.run([compile_program("unmap_signal"), harness.LIBRARY], env=env,
                          capture_output=True,
                          check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    assert counted["signals"] > 0
    harness.wait_finished(path)
    info = harness.ask("info", "--json", str(path))
    assert info["lost_events"] == 0
    assert info["allocations"] == counted["allocations"]


def test_early_and_late(compile_program, compare):
    """Allocations before main's constructors and after main are recorded."""
    recording = compare([compile_program("early_late")])
    sizes = recording.by_size()
    for size, function in ((6001, "in_preinit"), (6002, "in_first_constructor"),
                           (6003, "in_constructor"), (6005, "in_key_destructor"),
                           (6006, "in_atexit"), (6007, "in_destructor"),
                           (6008, "in_last_destructor")):
        assert size in sizes, (size, function)
        assert function in sizes[size][0], sizes[size]


@pytest.mark.parametrize("count", [1000])
def test_many_threads(compile_program, compare, count):
    recording = compare([compile_program("many_threads"), count])
    total = recording.total("thread_work")
    assert total["allocations"] == 100 * count
    assert total["leaked_count"] == count
    no_losses(recording.info)
    assert recording.info["threads"] == count + 1
