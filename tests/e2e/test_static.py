# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocators inside the executable, or inside a library under names of their own.

The programs count what they do themselves; the recording has every event and every byte, under the
function that made it."""
import glob
import json
import os
import subprocess

import pytest

import harness

MODES = ["run", "preload"]
PIE = {"pie": ("-fPIE", "-pie"), "no-pie": ("-fno-pie", "-no-pie")}
REST = ("-lstdc++", "-lm")


def archive(name):
    found = glob.glob(f"/usr/lib/*/{name}") + glob.glob(f"/usr/lib/{name}")
    if not found:
        pytest.skip(f"no {name}")
    return found[0]


@pytest.fixture(scope="session")
def renamed(program_cache):
    """Debian's jemalloc with a prefix in front of what it exports."""
    def build(prefix):
        target = program_cache / f"libjemalloc{prefix}.a"
        if not target.exists():
            source = archive("libjemalloc_pic.a")
            symbols = subprocess.run(["nm", "-g", "--defined-only", source], capture_output=True,
                                     text=True, check=True).stdout.splitlines()
            names = {line.split()[2] for line in symbols if len(line.split()) == 3}
            part = program_cache / f"{prefix}{os.getpid()}"
            with open(f"{part}.names", "w", encoding="ascii") as file:
                # As its own build does it: the operators keep their names, and are left out.
                file.writelines(f"{name} {prefix}{name}\n" for name in sorted(names)
                                if not name.startswith("_Z"))
            subprocess.run(["objcopy", f"--redefine-syms={part}.names", source, f"{part}.a"],
                           check=True)
            subprocess.run(["ar", "d", f"{part}.a", "jemalloc_cpp.pic.o"], check=True)
            os.rename(f"{part}.a", target)
        return str(target)
    return build


@pytest.fixture(scope="session")
def mimalloc(program_cache):
    """mimalloc for inside an executable, of Debian's source, since Debian has no archive of it:
    mimalloc(flags) gives the object file."""
    def build(name, *flags):
        target = program_cache / f"mimalloc-{name}.o"
        if not target.exists():
            part = program_cache / f"mimalloc-{name}.{os.getpid()}"
            fetched = subprocess.run(
                [os.path.join(harness.ROOT, "scripts/debian-source"), "mimalloc",
                 str(part)], capture_output=True, text=True)
            if fetched.returncode:
                pytest.skip(f"no source of mimalloc: {fetched.stderr.strip().splitlines()[-1:]}")
            source = fetched.stdout.splitlines()[-1]
            subprocess.run(["gcc", "-O2", "-g", "-w", "-fPIC", "-DNDEBUG", "-pthread", *flags,
                            f"-I{source}/include", "-c", f"{source}/src/static.c", "-o",
                            f"{part}.o"],
                           check=True)
            os.rename(f"{part}.o", target)
        return str(target)
    return build


def check(recording, made="inside_new", again="inside_resize"):
    assert recording.status == 0, recording.run
    counted = json.loads(recording.stdout)
    info = recording.info
    assert info["lost_events"] == 0
    assert info["stacks_broken"] == 0
    new, resized = recording.total(made), recording.total(again)
    assert new["allocations"] + resized["allocations"] == counted["allocations"]
    assert resized["allocations"] == counted["reallocations"]
    assert new["allocated_bytes"] + resized["allocated_bytes"] == counted["allocated_bytes"]
    assert new["leaked_count"] + resized["leaked_count"] == (
        counted["allocations"] - counted["reallocations"] - counted["deallocations"])
    return counted


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("pie", PIE)
@pytest.mark.parametrize("name,kind", [("libjemalloc.a", "jemalloc"),
                                       ("libtcmalloc_minimal.a", "tcmalloc")])
def test_oracle(compile_program, record, compiler, pie, name, kind):
    """malloc itself is inside: every call of the program, and of libc, comes to it."""
    program = compile_program("oracle", compiler, ("-O2", *PIE[pie]),
                              libraries=(archive(name), *REST))
    recording = record([program, 4, 20000])
    check(recording, "oracle_alloc", "oracle_realloc")
    assert recording.info["allocator"] == f"{kind} inside the executable"
    assert recording.info["unknown_frees"] == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("prefix", ["_rjem_", "je_"])
def test_prefixed(compile_program, record, renamed, prefix, threads, mode):
    program = compile_program("inside", flags=("-O2", f"-DPREFIX={prefix}", "-DJEMALLOC"),
                              libraries=(renamed(prefix), "-lm"))
    recording = record([program, threads, 20000], mode=mode)
    check(recording)
    assert recording.info["allocator"].endswith(f", and jemalloc ({prefix}) inside the executable")
    assert "libc.so" in recording.info["allocator"]


def test_blocks_of_both_allocators(compile_program, record, renamed):
    """libc's blocks are libc's, though there is a jemalloc too."""
    recording = record([compile_program("two_allocators", libraries=(renamed("_rjem_"), "-lm"))])
    rows = harness.ask("allocations", "--json", recording.path)["allocations"]
    by = {name: [row for row in rows if any(f.get("function") == name for f in row["backtrace"])]
          for name in ("of_jemalloc", "of_libc")}
    assert [row["size"] for row in by["of_jemalloc"]] == [100, 3000, 50, 500000, 1 << 20]
    assert [row["size"] for row in by["of_libc"]] == [100, 3000, 50, 500000, 1 << 20]
    flags = ("is_jemalloc", "in_main_arena", "is_mmaped", "is_zeroed")
    assert [tuple(row[key] for key in flags) for row in by["of_jemalloc"]] == [
        (True, False, False, zeroed) for zeroed in (False, True, False, False, False)]
    assert not any(row["is_jemalloc"] for row in rows if row not in by["of_jemalloc"])
    assert all(row["in_main_arena"] for row in by["of_libc"])
    assert [row["is_mmaped"] for row in by["of_libc"]] == [False, False, False, True, True]
    for flag, wanted in (("jemalloc", by["of_jemalloc"]),
                         ("not jemalloc", [row for row in rows if row not in by["of_jemalloc"]]),
                         ("mmapped", [row for row in rows if row["is_mmaped"]]),
                         ("main_arena", [row for row in rows if row["in_main_arena"]])):
        chosen = harness.ask("allocations", "--json", "--filter", flag,
                             recording.path)["allocations"]
        assert {row["id"] for row in chosen} == {row["id"] for row in wanted}, flag
    # Every frame has the name that the linker knows, the intercepted call too.
    assert {row["backtrace"][-1]["raw_function"] for row in rows} >= {"malloc", "calloc", "realloc"}


def test_jemalloc_calls(compile_program, record):
    """mallocx and its like, without a prefix."""
    program = compile_program("inside", flags=("-O2", "-DJEMALLOC"),
                              libraries=(archive("libjemalloc.a"), *REST))
    check(record([program, 2, 20000]))


def test_tcmalloc_calls(compile_program, record):
    """tc_malloc and malloc are one address."""
    program = compile_program("inside", flags=("-O2", "-DPREFIX=tc_"),
                              libraries=(archive("libtcmalloc_minimal.a"), *REST))
    check(record([program, 2, 20000]))


@pytest.mark.xdist_group("mimalloc")
@pytest.mark.parametrize("pie", PIE)
@pytest.mark.parametrize("mode", MODES)
def test_mimalloc_inside(compile_program, record, mimalloc, pie, mode):
    """malloc itself is mimalloc's, inside the executable."""
    program = compile_program("oracle", flags=("-O2", *PIE[pie]),
                              libraries=(mimalloc("whole", "-DMI_MALLOC_OVERRIDE"),))
    recording = record([program, 4, 20000], mode=mode)
    check(recording, "oracle_alloc", "oracle_realloc")
    assert recording.info["allocator"] == "mimalloc inside the executable"
    assert recording.info["unknown_frees"] == 0


@pytest.mark.xdist_group("mimalloc")
@pytest.mark.parametrize("threads", [1, 4])
def test_mimalloc_calls_inside(compile_program, record, mimalloc, threads):
    """mi_malloc and its like inside the executable, beside libc's own."""
    program = compile_program("inside", flags=("-O2", "-DPREFIX=mi_", "-DMIMALLOC"),
                              libraries=(mimalloc("prefixed"),))
    recording = record([program, threads, 20000])
    check(recording)
    assert recording.info["allocator"].endswith(", and mimalloc inside the executable")


@pytest.mark.parametrize("mode", MODES)
def test_mimalloc_calls(compile_program, record, mode):
    """mi_malloc in a library: malloc there is the same address, and is called through us."""
    archive("libmimalloc.so")
    program = compile_program("inside", flags=("-O2", "-DPREFIX=mi_", "-DMIMALLOC"),
                              libraries=("-lmimalloc",))
    recording = record([program, 2, 20000], mode=mode)
    check(recording)
    assert "mimalloc" in recording.info["allocator"]


@pytest.mark.parametrize("threads", [1, 4])
def test_mimalloc_names(compile_program, record, renamed, threads):
    """mimalloc's names inside the executable, with another's code behind them: what is patched are
    functions of these names."""
    program = compile_program("inside", flags=("-O2", "-DPREFIX=mi_"),
                              libraries=(renamed("mi_"), "-lm"))
    recording = record([program, threads, 20000])
    check(recording)
    assert recording.info["allocator"].endswith(", and mimalloc inside the executable")


def test_library_with_prefix(compile_program, record, renamed, tmp_path):
    """A library that brings an allocator of its own, as a Rust cdylib does."""
    library = str(tmp_path / "libown.so")
    subprocess.run(["gcc", "-shared", "-Wl,--whole-archive", renamed("_rjem_"),
                    "-Wl,--no-whole-archive", "-o", library, "-lm", "-pthread"], check=True)
    program = compile_program("inside", flags=("-O2", "-DPREFIX=_rjem_", "-DJEMALLOC"),
                              libraries=(library, f"-Wl,-rpath,{tmp_path}"))
    recording = record([program, 2, 20000])
    check(recording)
    assert recording.info["allocator"].endswith("jemalloc (_rjem_) inside libown.so")


def test_library_loaded_later(record, tmp_path):
    """Its code is not changed under running threads; that it is not recorded is said."""
    library, source = str(tmp_path / "liblate.so"), tmp_path / "late.c"
    source.write_text("""
static char arena[1000];
static unsigned long used;
void *_rjem_mallocx(unsigned long size, int flags) { return arena + (used += size); }
void *_rjem_malloc(unsigned long size) { return _rjem_mallocx(size, 0); }
void _rjem_free(void *block) { used -= block != 0; }
void seen(void *(*make)(unsigned long)) { make(77); __asm__ volatile(""); }
""")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", str(source), "-o", library], check=True)
    source.write_text("""
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
	void *h = dlopen(argv[1], RTLD_NOW);
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(h, "_rjem_malloc");
	((void (*)(void *(*)(size_t)))dlsym(h, "seen"))(malloc);
	for (int i = 0; i < 5; i++) { free(malloc(100)); usleep(100000); }
	return make && make(10) ? 0 : 1;
}
""")
    program = str(tmp_path / "late")
    subprocess.run(["gcc", "-O1", "-fno-builtin", str(source), "-o", program, "-ldl"], check=True)
    recording = record([program, library])
    assert recording.status == 0
    assert recording.stderr.count(
        b"jemalloc (_rjem_) inside liblate.so, which was loaded later") == 1
    assert "liblate.so" in recording.info["not_hooked"]


@pytest.mark.parametrize("name", ["libjemalloc.a", "libtcmalloc_minimal.a"])
def test_operators(compile_program, compare, name):
    """C++ operators count once, and exceptions pass through them."""
    recording = compare([compile_program("inside_cxx", libraries=(archive(name), "-lm"))])
    sizes = recording.by_size()
    assert recording.stdout == b"caught 50\n"
    assert recording.total("operators")["allocations"] == 400
    assert recording.total("operators")["allocated_bytes"] == 100 * (1001 + 1002 + 1003 + 4)
    assert recording.total("afterwards")["allocations"] == 50
    assert recording.total("afterwards")["leaked_count"] == 0
    for size in (1001, 1002, 1003, 4):
        assert any("operators" in functions for functions in sizes[size]), size
    assert recording.info["unknown_frees"] == 0
    assert recording.info["stacks_broken"] == 0


@pytest.mark.parametrize("flags", [("-O0",), ("-O2", "-fno-inline", "-fcf-protection=full")])
@pytest.mark.parametrize("mode", MODES)
def test_own_malloc(compile_program, compare, mode, flags):
    """A program with a malloc of its own, whose calloc calls it."""
    recording = compare([compile_program("static_malloc", flags=flags)], mode=mode)
    assert recording.info["allocations"] == 100 + 10 + 10 + 10
    assert recording.info["reallocations"] == 10
    assert recording.info["allocated_bytes"] == 100 * 64 + 10 * (100 + 50 + 60)
    assert recording.info["deallocations"] == 100
    assert recording.info["allocator"] == "an allocator inside the executable"
    assert b"not" not in recording.stderr


def test_stripped(compile_program, record, tmp_path):
    """What is exported is still found; that there may be more is said."""
    program = compile_program("oracle", libraries=(archive("libjemalloc.a"), *REST))
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    recording = record([stripped, 2, 5000])
    counted = json.loads(recording.stdout)
    assert recording.stderr.count(b"is stripped") == 1
    assert recording.info["allocations"] >= counted["allocations"]
    assert recording.info["deallocations"] == counted["deallocations"]


def test_stripped_tcmalloc(compile_program, compare, tmp_path):
    """What it exports for libc is found, and that there may be more is said."""
    program = compile_program("inside", flags=("-O2", "-DPREFIX=tc_"),
                              libraries=(archive("libtcmalloc_minimal.a"), *REST))
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    recording = compare([stripped, 1, 1000])
    assert recording.stderr.count(b"is stripped") == 1
    assert recording.info["allocator"] == "tcmalloc inside the executable"


@pytest.mark.parametrize("layout", ["separate-code", "noseparate-code"])
def test_stripped_of_prefixed_names(compile_program, compare, renamed, tmp_path, layout):
    """Nothing of it can be found, but that it is there: its texts, also where they lie with the
    code."""
    program = compile_program("inside",
                              flags=("-O2", "-DPREFIX=_rjem_", "-DJEMALLOC", f"-Wl,-z,{layout}"),
                              libraries=(renamed("_rjem_"), "-lm"))
    stripped = str(tmp_path / "stripped")
    subprocess.run(["strip", "-o", stripped, program], check=True)
    recording = compare([stripped, 1, 1000])
    assert recording.stderr.count(b"there is a jemalloc inside the executable") == 1
    assert "jemalloc" in recording.info["not_hooked"]


def test_code_is_as_before(compile_program, tmp_path):
    """Only the entries are changed, and no page of the program stays writable."""
    program = compile_program("inside_maps", libraries=(archive("libjemalloc.a"), *REST))
    plain = harness.execute([program])
    recorded = harness.record([program], str(tmp_path / "out.dat"))
    assert recorded.stdout == plain.stdout
    assert b"r-xp" in plain.stdout



HAZARDS = ["cancel", "early_late", "fibers", "forks", "longjmp", "many_threads", "sigprof",
           "small_stacks", "stacks_cxx", "throw", "tls_order", "vforks"]


@pytest.mark.parametrize("name", ["libjemalloc.a", "libtcmalloc_minimal.a"])
@pytest.mark.parametrize("program", HAZARDS)
def test_hazards(compile_program, compare, name, program):
    """Small stacks, signals, forks, exceptions and thread ends, with the allocator inside."""
    recording = compare([compile_program(program, libraries=(archive(name), *REST))])
    assert recording.info["allocator"].endswith("inside the executable")
    assert recording.info["lost_events"] == 0


def test_refused(compile_program, compare):
    """What cannot be hooked is named in one line, and the rest is recorded."""
    recording = compare([compile_program("refused")])
    lines = [line for line in recording.stderr.splitlines()
             if b"not everything is recorded" in line]
    assert len(lines) == 1, recording.run
    assert b"memalign in the executable: it is chosen at run time" in lines[0]
    assert b"pvalloc in the executable: it jumps back to its start" in lines[0]
    assert b"valloc in the executable: another function starts inside" in lines[0]
    # memalign's own call of malloc is seen.
    assert recording.total("work")["allocations"] == 10 + 10
    assert recording.info["deallocations"] == 10


@pytest.mark.parametrize("flags", [("-O2",), ("-O2", "-rdynamic")])
def test_wrapper(compile_program, compare, flags):
    """Its call of the next malloc, which is the recorder's, is part of the program's call."""
    recording = compare([compile_program("wraps", flags=flags)])
    assert recording.total("work")["allocations"] == 101
    assert recording.total("work")["allocated_bytes"] == 101 * 100
    assert recording.total("work")["leaked_count"] == 0
    assert recording.info["unknown_frees"] == 0


def test_handlers(compile_program, record):
    """Handlers that interrupt the allocator itself call it too: those calls are their own."""
    source = os.path.join(harness.PROGRAMS, "bumplib.c")
    recording = record([compile_program("interrupts", libraries=(source,))])
    counted = json.loads(recording.stdout)
    assert recording.status == 0
    assert recording.info["allocator"] == "an allocator inside the executable"
    assert recording.info["lost_events"] == 0
    assert recording.info["allocations"] == counted["allocations"]
    assert recording.info["deallocations"] == counted["deallocations"]
    assert recording.total("in_handler")["allocations"] == 2 * counted["ticks"]


@pytest.mark.parametrize("how", ["api", "sigusr1"])
def test_switched(compile_program, record, how):
    """On and off, as with any other allocator."""
    program = compile_program("start_stop", libraries=(archive("libjemalloc.a"), *REST))
    recording = record([program, how],
                       env={**harness.SIGNALS, "MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1"})
    live = {}
    for s in recording.stacks:
        if s["allocated_bytes"] >= 10000:
            live[s["allocated_bytes"]] = s["leaked_count"]
    assert recording.status == 0
    assert live == {10002: 0, 20002: 0, 10003: 0, 10006: 1, 10007: 0, 10004: 1, 20003: 1}


def test_children(compile_program, tmp_path):
    """A forked child with a recording of its own keeps the hooks."""
    program = compile_program("family", libraries=(archive("libjemalloc.a"), *REST))
    run = harness.execute([harness.MEMOIR, "run", "--children", "-o", str(tmp_path / "out_%n.dat"),
                           "--", program, "fork"])
    assert run.status == 0, run
    found = [harness.Recording(str(path), run) for path in tmp_path.glob("*.dat")]
    for recording in found:
        harness.wait_finished(recording.path)
    assert len(found) == 2
    assert sorted(bool(r.total("in_child")["allocations"]) for r in found) == [False, True]
    for recording in found:
        assert recording.total("in_parent")["allocations"]
        assert recording.info["unknown_frees"] == 0


def test_explicit_loader(compile_program, record):
    """A program that is started through the loader: the executable is not the process's."""
    program = compile_program("static_malloc", flags=("-O0",))
    recording = record(["/lib64/ld-linux-x86-64.so.2", program])
    assert recording.status == 0
    assert recording.info["deallocations"] == 100


def test_verified(compile_program, record):
    """With every remembered stack compared with a full walk."""
    library = harness.LIBRARY.replace("libmemoir.so", "libmemoir-paranoid.so")
    program = compile_program("oracle", libraries=(archive("libjemalloc.a"), *REST))
    recording = record([program, 2, 5000], env={"MEMOIR_LIBRARY": library})
    check(recording, "oracle_alloc", "oracle_realloc")
