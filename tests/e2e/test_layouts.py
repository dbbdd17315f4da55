# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs and libraries as different linkers lay them out, with gaps between their segments too:
stacks reach main, and every frame has its name."""
import os
import re
import shutil
import subprocess

import pytest

import agent
import harness

ARCHIVE = "/usr/lib/x86_64-linux-gnu/libjemalloc.a"
JEMALLOC = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
STACK = ["malloc", "layout_inner", "layout_outer", "main"]
# Of GNU ld: code 4 MiB behind the header, in a map of its own or in one with other code.
FAR = "-Wl,--section-start=.text=0x800000"
NEAR = "-Wl,--section-start=.text=0x402000"
LAYOUTS = {
    "plain": (), "no-pie": ("-no-pie",),
    "gap": ("-no-pie", FAR), "gap-pie": ("-pie", FAR), "near": ("-no-pie", NEAR),
    "two-gaps": ("-no-pie", FAR, "-Wl,--section-start=.init=0x700000"),
    "gap-before-data": ("-no-pie", "-Wl,--section-start=.data=0x900000"),
    "text-segment": ("-no-pie", "-Wl,-Ttext-segment=0x10000000"),
    "text-segment-gap": ("-no-pie", "-Wl,-Ttext-segment=0x10000000",
                         "-Wl,--section-start=.text=0x10800000"),
    "large-pages": ("-Wl,-z,max-page-size=0x200000",),
    "large-pages-no-pie": ("-no-pie", "-Wl,-z,max-page-size=0x200000"),
    "one-segment": ("-Wl,-z,noseparate-code",),
    "no-build-id": ("-no-pie", FAR, "-Wl,--build-id=none"),
    "gold": ("-fuse-ld=gold",), "gold-no-pie": ("-fuse-ld=gold", "-no-pie"),
    "gold-gap": ("-fuse-ld=gold", "-no-pie", FAR),
    "gold-rosegment": ("-fuse-ld=gold", "-no-pie", "-Wl,--rosegment", FAR),
    "lld": ("-fuse-ld=lld",), "lld-no-pie": ("-fuse-ld=lld", "-no-pie"),
    "lld-gap": ("-fuse-ld=lld", "-no-pie", FAR), "lld-gap-pie": ("-fuse-ld=lld", FAR),
    "lld-no-rosegment": ("-fuse-ld=lld", "-no-pie", "-Wl,--no-rosegment"),
    "lld-separate-code": ("-fuse-ld=lld", "-no-pie", "-Wl,-z,separate-code"),
    "lld-large-pages": ("-fuse-ld=lld", "-no-pie", "-Wl,-z,max-page-size=0x200000",
                        "-Wl,-z,separate-loadable-segments"),
    "mold": ("-fuse-ld=mold",), "mold-no-pie": ("-fuse-ld=mold", "-no-pie"),
    "mold-large-pages": ("-fuse-ld=mold", "-no-pie", "-Wl,-z,max-page-size=0x200000"),
    "mold-image-base": ("-fuse-ld=mold", "-no-pie", "-Wl,--image-base=0x20000000"),
}


def linked(compile_program, layout, name="layout", **keywords):
    for flag in LAYOUTS[layout]:
        if flag.startswith("-fuse-ld=") and not shutil.which(f"ld.{flag[9:]}"):
            pytest.skip(f"no {flag[9:]}")
    return compile_program(name, flags=("-O1", *LAYOUTS[layout]), **keywords)


def stack_of(recording, size):
    found = recording.by_size()[size]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_stacks_reach_main(compile_program, compare, layout, mode):
    recording = compare([linked(compile_program, layout)], mode=mode)
    functions = stack_of(recording, 1001)
    assert functions[:4] == STACK
    assert functions[-1] == "_start"
    assert recording.info["stacks_broken"] == 0
    assert recording.total("layout_outer")["allocations"] == 100


def dumped(program, folder):
    """The heap profile dump of a run."""
    if not os.path.exists(JEMALLOC):
        pytest.skip("no jemalloc")
    conf = f"prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:{folder}/p"
    run = harness.execute([program], env={"LD_PRELOAD": JEMALLOC, "MALLOC_CONF": conf})
    assert run.status == 0, run
    dump, = folder.glob("p*.heap")
    return dump


def has_names(dump, *options):
    found = harness.execute([harness.MEMOIR, "jemalloc", "heap", "--cum", *options, str(dump)])
    names = {line.split()[-1] for line in found.stdout.decode().splitlines()}
    return not found.stderr and {"layout_inner", "layout_outer", "main", "_start"} <= names


@pytest.mark.parametrize("layout", LAYOUTS)
def test_names_of_a_heap_dump(compile_program, tmp_path, layout):
    assert has_names(dumped(linked(compile_program, layout), tmp_path))


def test_a_file_in_the_gap_of_another(compile_program, tmp_path):
    """A dump as the agent writes it, of a program that is elsewhere now: all of its maps have its
    build id."""
    program = tmp_path / "program"
    shutil.copy(linked(compile_program, "gap"), program)
    dump = dumped(program, tmp_path)
    notes = subprocess.run(["readelf", "-n", program], check=True, capture_output=True,
                           text=True).stdout
    build_id = re.search(r"Build ID: (\w+)", notes)[1]
    program.rename(tmp_path / "elsewhere")
    text, count = re.subn(rf"^(?=0*800000-.* {program}$)",
                          "00500000-00501000 r-xp 00000000 08:01 999 /nowhere/other.so\n",
                          dump.read_text(), flags=re.M)
    assert count == 1
    assert not has_names(dump, "-d", str(tmp_path))
    dump.write_text(f"{text}# build-id {build_id} 400000 0 {program}\n# build-id {'ab' * 20} "
                    "500000 500000 /nowhere/other.so\n")
    assert has_names(dump, "-d", str(tmp_path))


@pytest.mark.parametrize("layout", ["plain", "gap", "two-gaps"])
def test_names_of_the_agent(compile_program, tmp_path, layout):
    """It looks for functions in all segments with code, not in the first only."""
    if not os.path.exists(JEMALLOC) or not os.path.exists(agent.LIBRARY):
        pytest.skip("no jemalloc, or no agent")
    program = linked(compile_program, layout, name="agent_target")
    with agent.Target([program], tmp_path, "prof:true,lg_prof_sample:10") as target:
        target.do("keep 3000")
        stacks = target.get("/debug/pprof/heap/folded").text.splitlines()
    own = [line for line in stacks if "keep_small" in line]
    assert own and all(line.startswith("_start;") and ";main;" in line for line in own), stacks


@pytest.mark.parametrize("layout", ["plain", "gap"])
def test_code_between_the_segments_of_a_library(compile_program, compare, layout):
    """The loader takes the gap for the library's.  What lies there is nobody's, and the stack goes
    on through it."""
    library = compile_program("layout_library.so", source="layout.c",
                              flags=("-O1", "-DLIBRARY", "-Wl,--section-start=.text=0x800000"))
    recording = compare([linked(compile_program, layout), library])
    functions = stack_of(recording, 7001)
    assert functions[:2] == ["malloc", "layout_inner"] and functions[3:5] == ["from_gap", "main"]
    frames = next(s["frames"] for s in recording.stacks if s["allocated_bytes"] == 7001)
    assert "layout_library" not in str(frames[2])
    assert stack_of(recording, 3001)[:4] == STACK
    assert "layout_library" in str(
        next(s["frames"] for s in recording.stacks if s["allocated_bytes"] == 30010)[1])


def test_allocator_in_an_executable_with_gaps(compile_program, record):
    """It is hooked where it is, though its file is in several pieces."""
    if not os.path.exists(ARCHIVE):
        pytest.skip("no libjemalloc.a")
    for flags in ((), ("-no-pie", FAR)):
        program = compile_program("inside", flags=("-O1", "-DJEMALLOC", *flags),
                                  libraries=(ARCHIVE, "-lstdc++", "-lm"))
        recording = record([program, 1, 2000])
        assert recording.status == 0
        assert recording.info["allocator"] == "jemalloc inside the executable"
        assert recording.total("inside_new")["allocations"] > 500


@pytest.mark.slow
def test_node(record):
    """An executable of a hundred megabytes, with gaps where it was linked for large pages."""
    node = shutil.which("node")
    if not node:
        pytest.skip("no node")
    script = ("let a = []; for (let i = 0; i < 300; i++) a.push(Buffer.alloc(100001)); "
              "console.log(a.length)")
    recording = record([node, "-e", script])
    assert (recording.status, recording.stdout) == (0, b"300\n")
    large = [s for s in recording.stacks if s["allocated_bytes"] == 100001 * s["allocations"]]
    assert sum(s["allocations"] for s in large) == 300
    assert all(s["functions"][-1] in ("_start", "clone3", "__clone3") for s in large)
    assert all("Allocate" in s["functions"][1] for s in large)
