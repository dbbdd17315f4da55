# SPDX-License-Identifier: MIT OR Apache-2.0
"""Code that a program makes at run time: registered unwind information and frame pointers."""
import re
import shutil
import subprocess

import pytest

import harness

MODES = ["run", "preload"]
LIBGCC = ("-Wl,--no-as-needed", "-lgcc_s")


NAMES = ("allocate", "through_jit", "described", "left_behind", "run", "main")


def outwards(recording, size):
    """The functions of the stacks that allocated blocks of one size; they agree."""
    stacks = {tuple(f for f in functions if f in NAMES) for functions in recording.by_size()[size]}
    assert len(stacks) == 1, stacks
    return list(stacks.pop())


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("mode", MODES)
def test_kinds(compile_program, compare, compiler, mode):
    recording = compare([compile_program("jit", compiler, libraries=LIBGCC)], mode=mode)
    for size in (1001, 1002, 1005):
        assert outwards(recording, size) == ["allocate", "through_jit", "described", "main"], size
    for size in (1007, 1008):
        assert outwards(recording, size) == ["allocate", "through_jit", "left_behind", "main"], size
    assert outwards(recording, 1003) == ["allocate", "through_jit", "main"]
    # Nothing says where its frame ends: that is the end, and it is counted.
    assert outwards(recording, 1004) == ["allocate"]
    assert recording.info["stacks_broken"] >= 1
    assert recording.info["lost_events"] == 0


def test_threads(compile_program, compare):
    """One place, two frames in turn, in several threads at once."""
    recording = compare([compile_program("jit", libraries=LIBGCC), 4])
    for size in (1101, 1102):
        chosen = [s for s in recording.stacks if s["allocations"]
                  and s["allocated_bytes"] == size * s["allocations"]]
        assert sum(s["allocations"] for s in chosen) == 4 * 100 * 3
        for stack in chosen:
            names = [f for f in stack["functions"] if f in NAMES]
            assert names == ["allocate", "through_jit", "described", "run"], stack["functions"]
    assert recording.info["stacks_broken"] == 0


def test_verified(compile_program, record):
    """With every remembered stack compared with a full walk."""
    library = harness.LIBRARY.replace("libmemoir.so", "libmemoir-paranoid.so")
    recording = record([compile_program("jit", libraries=LIBGCC), 2],
                       env={"MEMOIR_LIBRARY": library})
    assert recording.status == 0, recording.run


def test_without_libgcc(compile_program, record):
    """A program whose libgcc comes later, or never: its frames are known all the same."""
    program = compile_program("jit", libraries=("-Wl,--unresolved-symbols=ignore-all",
                                                "-Wl,-z,lazy"))
    recording = record([program])
    assert recording.status == 0, recording.run
    assert outwards(recording, 1002) == ["allocate", "through_jit", "described", "main"]


@pytest.mark.parametrize("kind", ["mcjit", "orc"])
def test_llvm(record, tmp_path, kind):
    """LLVM's own JITs."""
    lli, clang = shutil.which("lli-14"), shutil.which("clang-14") or shutil.which("clang")
    if not lli or not clang:
        pytest.skip("no lli-14")
    source, code = tmp_path / "jitted.c", tmp_path / "jitted.bc"
    source.write_text("""
#include <stdlib.h>
__attribute__((noinline)) static void deep(int depth) {
	volatile char room[300];
	room[depth] = 0;
	if (depth) { deep(depth - 1); room[0] = 1; }
	else { void *p = malloc(4321); __asm__ volatile("" : : "r"(p) : "memory"); free(p); }
}
int main(void) { for (int i = 0; i < 50; i++) deep(10); return 0; }
""")
    subprocess.run([clang, "-O1", "-fno-builtin", "-c", "-emit-llvm", str(source), "-o", str(code)],
                   check=True)
    recording = record([lli, f"-jit-kind={kind}", code])
    assert recording.status == 0, recording.run
    stacks = [s for s in recording.stacks if s["allocated_bytes"] == 4321 * 50]
    assert len(stacks) == 1
    assert "main" in stacks[0]["functions"]
    # deep, eleven times, and the program's own main; one of the JITs unmaps its code at the end
    made = re.compile(r"(\[JIT LLVM\]\+)?0x[0-9a-f]+")
    assert len([name for name in stacks[0]["functions"] if made.fullmatch(name)]) >= 12
