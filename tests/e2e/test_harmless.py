# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hazards: the program does the same with the recorder as without, and is recorded all the same."""
import os
import re
import subprocess

import pytest

import harness

MODES = ["run", "preload"]


@pytest.fixture
def plugins(compile_program):
    return [compile_program(f"plugin_{x}.so", flags=("-O2", f"-DNAME=plugin_{x}"),
                            source="plugin.c")
            for x in "ab"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("name",
                         ["semantics", "throw", "terminate", "longjmp", "fibers", "bad_frames",
                          "tls_order"])
def test_same_output(compile_program, compare, name, compiler, level, mode):
    flags = (level,) if name != "terminate" else (level, "-fno-omit-frame-pointer")
    recording = compare([compile_program(name, compiler=compiler, flags=flags)], mode=mode)
    assert recording.info["lost_events"] == 0
    assert recording.info["allocations"] > 0
    assert recording.info["unknown_frees"] == 0


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["cancel", "backtraces", "forks", "sigprof"])
def test_same_output_with_threads(compile_program, compare, name, mode):
    recording = compare([compile_program(name)], mode=mode)
    assert recording.info["lost_events"] == 0
    assert recording.info["unknown_frees"] == 0


@pytest.mark.parametrize("mode", MODES)
def test_small_stacks(compile_program, compare, mode):
    """Lazy binding itself would need more stack than there is: bound at start."""
    recording = compare([compile_program("small_stacks", flags=("-O2", "-Wl,-z,now"))], mode=mode)
    assert recording.total("handler")["allocations"] == 10000
    assert recording.total("down")["allocations"] == 20 * 2 * 3


def by_size(recording, name, size):
    """Allocations of that size that have the function on their stack."""
    return sum(s["allocations"] for s in recording.stacks if name in s["functions"]
               and s["allocated_bytes"] == size * s["allocations"])


@pytest.mark.soak
@pytest.mark.parametrize("mode", MODES)
def test_dlopen_loops(compile_program, compare, plugins, mode):
    recording = compare([compile_program("dlopens"), *plugins, 300], mode=mode)
    # Below them is libc's own allocation for thread-local data too.
    assert by_size(recording, "plugin_a", 1111) == 600
    assert by_size(recording, "plugin_b", 2222) == 600


def test_library_in_anothers_place(compile_program, compare, plugins):
    """Loaded before the thread that unloaded the other one has returned from dlclose()."""
    late = compile_program("late_dlclose.so")
    program = compile_program("replaced_library",
                              flags=("-O2", f"-Wl,-rpath,{os.path.dirname(late)}"),
                              libraries=("-Wl,--no-as-needed", late))
    recording = compare([program, *plugins])
    assert recording.stdout == b"at the same place\n"
    assert by_size(recording, "plugin_a", 1111) == 20
    assert by_size(recording, "plugin_b", 2222) == 20


@pytest.mark.parametrize("mode", MODES)
def test_shared_memory_children(compile_program, compare, mode):
    """Children that allocate in the parent's memory: vfork, clone(CLONE_VM); atfork handlers."""
    recording = compare([compile_program("vforks")], mode=mode)
    assert recording.info["lost_events"] == 0
    assert recording.info["unknown_frees"] == 0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["filter", "strict"])
def test_sandbox(compile_program, compare, how, mode):
    """A program that gives up its system calls goes on allocating.  In strict mode even reading
    the time stamp counter is a fault."""
    recording = compare([compile_program("sandbox"), how], mode=mode)
    assert recording.total("allocate")["allocations"] == (2000 if how == "strict" else 201000)


@pytest.mark.parametrize("mode", MODES)
def test_link_map_namespaces(compile_program, compare, plugins, mode):
    """dlmopen and RTLD_DEEPBIND: blocks of allocators that are not recorded."""
    compare([compile_program("namespaces"), plugins[0]], mode=mode)


@pytest.mark.parametrize("flags", [("-O2", "-fcf-protection=full"), ("-O2", "-fno-plt"),
                                   ("-O2", "-static-libgcc"), ("-O2", "-no-pie"),
                                   ("-O2", "-Wl,-z,norelro"), ("-O2", "-fsplit-stack"),
                                   ("-Os", "-fno-asynchronous-unwind-tables"),
                                   ("-O2", "-Wl,--gc-sections", "-s"), ("-O2", "-m32")],
                         ids=lambda f: f[-1])
def test_built_differently(compile_program, compare, flags, tmp_path):
    try:
        program = compile_program("stacks", flags=flags)
    except subprocess.CalledProcessError:
        pytest.skip("does not build here")
    if "-m32" in flags:
        compare([program], finished=False)
        return
    recording = compare([program])
    assert recording.info["allocations"] >= 9


def test_static_program(compile_program, compare):
    """A static program cannot be recorded: it runs, and one line says so."""
    recording = compare([compile_program("stacks", flags=("-O2", "-static"))], finished=False)
    assert b"memoir" in recording.stderr, "nothing says that it was not recorded"


@pytest.mark.parametrize("mode", MODES)
def test_invisible(compile_program, tmp_path, mode):
    """No descriptor, thread, child, handler, variable, limit or name that was not there before."""
    program = compile_program("invisible")
    path = str(tmp_path / "out.dat")
    plain = harness.execute([program, "one", "two"], cwd=tmp_path)
    recorded = harness.record([program, "one", "two"], path, mode=mode, cwd=tmp_path)
    expected, seen = plain.stdout.decode(), recorded.stdout.decode()
    if mode == "preload":  # what the caller set is the caller's
        hidden = re.compile(r"^env (LD_PRELOAD|MEMORY_PROFILER_OUTPUT)=.*\n", re.M)
        expected, seen = hidden.sub("", expected), hidden.sub("", seen)
    assert seen == expected
    assert recorded.status == plain.status


def test_children_do_not_inherit_the_recorder(record, tmp_path):
    """Programs that this one starts are not recorded, and find a clean environment."""
    recording = record(["sh", "-c", "env; true"], mode="preload", cwd=tmp_path)
    assert b"libmemoir" not in recording.stdout
    assert sorted(os.listdir(tmp_path)) == ["out.dat"]


@pytest.mark.parametrize("mode", MODES)
def test_children_option(tmp_path, mode):
    env = {"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
    path = str(tmp_path / "%e_%n.dat")
    command = ["sh", "-c", "perl -e 'print 42'; ls / >/dev/null; true"]
    if mode == "run":
        run = harness.execute([harness.MEMOIR, "run", "--children", "-o", path, "--", *command])
    else:
        run = harness.execute(command, env=dict(env, LD_PRELOAD=harness.LIBRARY,
                                                MEMORY_PROFILER_OUTPUT=path))
    assert run.stdout == b"42"
    names = harness.wait_for(lambda: [n for n in os.listdir(tmp_path) if "perl" in n],
                             what="a recording of perl")
    harness.wait_finished(tmp_path / names[0])
    assert harness.Recording(str(tmp_path / names[0]), run).info["allocations"] > 100


@pytest.mark.parametrize("sanitizer", ["address", "thread", "undefined", "leak"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitized_program(compile_program, tmp_path, compiler, sanitizer):
    """Runs as without us.  It never hangs or crashes."""
    try:
        program = compile_program("oracle", compiler=compiler,
                                  flags=("-O1", f"-fsanitize={sanitizer}"))
    except subprocess.CalledProcessError:
        pytest.skip("does not build here")
    env = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "exitcode=0"}
    plain = harness.execute([program, "1", "2000"], env=env)
    run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "out.dat"), "--", program,
                           "1",
                           "2000"], env=env)
    assert (run.status, run.stdout) == (plain.status, plain.stdout), run


def test_stdin_and_terminal(record):
    """Standard input reaches the program untouched."""
    data = os.urandom(1 << 20)
    recording = record(["sha256sum"], stdin=data)
    import hashlib
    assert recording.stdout.split()[0].decode() == hashlib.sha256(data).hexdigest()


def test_pid1_waits_for_its_collector(compile_program, tmp_path):
    """Process 1 of a pid namespace takes the collector with it when it ends: it waits."""
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("may not make a pid namespace")
    path = str(tmp_path / "out.dat")
    run = harness.execute(["unshare", "-pf", "--mount-proc", "env", f"LD_PRELOAD={harness.LIBRARY}",
                           f"MEMORY_PROFILER_OUTPUT={path}", compile_program("exits"), "exit"])
    assert run.status == 21
    harness.wait_finished(path, timeout=5)
    recording = harness.Recording(path, run)
    assert recording.total("make")["allocations"] == 1000
