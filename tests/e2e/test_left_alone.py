# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that cannot be recorded run as without us, however they are started, and are named
once."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import pytest

import harness

KINDS = {
    "musl": ("musl-gcc", ("-O2",), b"is built for musl"),
    "static": ("gcc", ("-O2", "-static"), b"is linked statically"),
    "static-pie": ("gcc", ("-O2", "-static-pie"), b"is linked statically"),
    "32-bit": ("gcc", ("-O2", "-m32"), b"is a 32-bit program"),
}
SPAWN = "import os, sys; p = os.posix_spawn{}(sys.argv[1], sys.argv[1:], os.environ); " \
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(p, 0)[1]))"


@pytest.fixture(scope="session", params=KINDS)
def unrecordable(request, compile_program):
    """A program of each kind and what is said about it."""
    compiler, flags, text = KINDS[request.param]
    try:
        return compile_program("shows_environment", compiler, flags), text
    except subprocess.CalledProcessError:
        pytest.skip("does not build here")


def ways(program):
    """Commands that start the program, and whether that needs --children to be followed."""
    folder, name = os.path.split(program)
    python = sys.executable
    return {
        "direct": ([program], False),
        "env": (["env", program], False),
        "in the path": (["env", f"PATH=/bin:/usr/bin:/proc/nonexistent:{folder}", "env", name],
                        False),
        "sh exec": (["sh", "-c", f"exec {program}"], False),
        "sh": (["sh", "-c", f"{program}; exit $?"], True),
        "two": (["sh", "-c", f"{program}; env {program}; exit $?"], True),
        "spawn": ([python, "-c", SPAWN.format(""), program], True),
        "spawnp": ([python, "-c", SPAWN.format("p"), program], True),
        "subprocess": ([python, "-c", "import subprocess, sys; "
                        "sys.exit(subprocess.call(sys.argv[1:]))",
                        program], True),
    }


@pytest.mark.parametrize("children", [False, True])
def test_runs_untouched(unrecordable, tmp_path, children):
    program, text = unrecordable
    for name, (command, needs_children) in ways(program).items():
        plain = harness.execute(command)
        options = ["--children"] if children else []
        run = harness.execute(
            [harness.MEMOIR, "run", "-o", str(tmp_path / f"{name}_%n.dat"), *options, "--",
             *command])
        assert (run.status, run.stdout, run.own_stderr) == (plain.status, plain.stdout,
                                                            plain.stderr), (name, run)
        assert b"LD_PRELOAD" not in run.stdout and b"MEMOIR" not in run.stdout
        said = [line for line in run.stderr.splitlines() if text in line]
        assert len(said) == (not needs_children or children), (name, run)
        assert not said or program.encode() in said[0], (name, run)
        assert run.stderr.count(b"which was not recorded") == 0, (name, run)


@pytest.mark.parametrize("environment",
                         [{"LD_PRELOAD": "/proc/nonexistent/a.so:/proc/nonexistent/b.so"}, {}])
def test_other_libraries_stay(unrecordable, tmp_path, environment):
    """Only our own entry is taken out of LD_PRELOAD."""
    program, _ = unrecordable
    for options in ([], ["--children"]):
        for command in ([program], ["env", program]):
            plain = harness.execute(command, env=environment)
            run = harness.execute(
                [harness.MEMOIR, "run", "-q", "-o", str(tmp_path / "out_%n.dat"), *options,
                 "--", *command], env=environment)
            assert run.stdout == plain.stdout, run


@pytest.mark.parametrize("options", [[], ["--children"]])
def test_status_is_the_wrappers(compile_program, tmp_path, options):
    """A static wrapper around a program that could be recorded: the wrapper's own status counts."""
    wrapper = compile_program("shows_environment", flags=("-O2", "-static"))
    program = compile_program("basic")
    for command, status in (([wrapper, program], 7), ([wrapper, "-k", program], -signal.SIGUSR1)):
        run = harness.execute(
            [harness.MEMOIR, "run", *options, "-o", str(tmp_path / "out.dat"), "--", *command])
        assert run.status == status, run
        assert run.stderr.count(b"memoir:") == 1 and b"is linked statically" in run.stderr, run
        assert not (tmp_path / "out.dat").exists()


def test_status_of_a_wrapper_that_cannot_be_read(compile_program):
    """Nobody can tell that it is static: its child is recorded, and keeps its own end."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    # Not below /tmp/pytest-of-root, which others may not enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        wrapper, program, output = (os.path.join(folder, name)
                                    for name in ("wrapper", "program", "out.dat"))
        shutil.copy(compile_program("shows_environment", flags=("-O2", "-static")), wrapper)
        shutil.copy(compile_program("basic"), program)
        os.chmod(wrapper, 0o111)
        try:
            run = harness.execute([harness.MEMOIR, "run", "-o", output, "--", wrapper, program],
                                  user=65534,
                                  group=65534, extra_groups=[])
        except PermissionError:
            pytest.skip("another user may not run this memoir")
        assert run.status == 7, run
        recording = harness.Recording(output, run)
        assert recording.info.get("exit_status") in (None, 0), recording.info
        assert os.path.basename(recording.info["executable"]) in ("program", "wrapper")


def test_started_past_the_hooks(compile_program, tmp_path):
    """By the system call itself, as Go does it: the environment holds our variables where children
    are recorded."""
    starter, recordable = compile_program("shows_environment"), compile_program("basic")
    for program, status in ((compile_program("shows_environment", "musl-gcc"), 5),
                            (compile_program("shows_environment", flags=("-O2", "-static")), 5),
                            (recordable, 0)):
        for options in ([], ["--children"]):
            plain = harness.execute([starter, "-r", program])
            run = harness.execute(
                [harness.MEMOIR, "run", "-o", str(tmp_path / "out_%e_%n.dat"), *options, "--",
                 starter, "-r", program])
            assert run.status == plain.status == status, run
            assert run.own_stderr == plain.stderr, run
    assert len(list(tmp_path.glob("out_basic*.dat"))) == 1


def test_preloaded_tree(compile_program, tmp_path):
    """Children that are followed without a launcher."""
    program = compile_program("shows_environment", "musl-gcc")
    command = ["sh", "-c", f"{program}; env {program}; exec {program}"]
    run = harness.execute(command, env={
        "LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1",
        "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out_%n.dat")})
    assert run.status == 5 and not run.stderr, run
    assert b"LD_PRELOAD" not in run.stdout and b"MEMOIR" not in run.stdout
    assert run.stdout.count(b"HOME=") == 3


def test_sanitized_child(compile_program, tmp_path):
    """gcc's AddressSanitizer ends a program whose first library it is not."""
    try:
        program = compile_program("shows_environment", flags=("-O1", "-fsanitize=address"))
    except subprocess.CalledProcessError:
        pytest.skip("does not build here")
    for command in ([program], ["sh", "-c", f"{program}; exit $?"], ["env", program]):
        run = harness.execute(
            [harness.MEMOIR, "run", "--children", "-o", str(tmp_path / "out_%n.dat"), "--",
             *command], env={"ASAN_OPTIONS": "detect_leaks=0"})
        assert run.status == 5 and not run.own_stderr, run
        assert run.stderr.count(b"sanitizer") == 1, run


def test_agent_is_not_put_in(compile_program):
    program = compile_program("shows_environment", "musl-gcc")
    run = harness.execute([harness.MEMOIR, "run", "--agent", program])
    assert run.status == 1 and b"is built for musl" in run.stderr, run
    # Its children inherit the library.
    run = harness.execute(
        [harness.MEMOIR, "run", "--agent", "sh", "-c", f"{program} >/dev/null; exit $?"])
    assert run.status == 5 and not run.stderr, run


@pytest.mark.parametrize("line,missing", [
    ("#!/proc/nonexistent/sh\n", b"its interpreter /proc/nonexistent/sh is not there"),
    ("#! /proc/nonexistent/sh -e\n", b"its interpreter /proc/nonexistent/sh is not there"),
])
def test_missing_interpreter(tmp_path, line, missing):
    """Not the script is what cannot be found."""
    script = tmp_path / "script"
    script.write_text(line)
    script.chmod(0o755)
    run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "out.dat"), str(script)])
    assert run.status == 127 and missing in run.stderr and run.stderr.count(b"\n") == 1, run
    assert b"No such file" not in run.stderr
    # A script whose interpreter is one, which is missing.
    outer = tmp_path / "outer"
    outer.write_text(f"#!{script}\n")
    outer.chmod(0o755)
    run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "out.dat"), str(outer)])
    assert run.status == 127 and missing in run.stderr, run


def test_missing_loader(compile_program, tmp_path):
    program = str(tmp_path / "program")
    subprocess.run(["gcc", os.path.join(harness.PROGRAMS, "shows_environment.c"), "-o", program,
                    "-Wl,--dynamic-linker=/proc/nonexistent/ld.so"], check=True)
    run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "out.dat"), program])
    assert (run.status == 127 and b"its loader /proc/nonexistent/ld.so is not there" in
            run.stderr), run


def test_loader_elsewhere(tmp_path):
    """A glibc loader under another name in another place, as Nix and Guix have it."""
    program, loader = str(tmp_path / "program"), str(tmp_path / "ld-2.so")
    os.symlink(os.path.realpath("/lib64/ld-linux-x86-64.so.2"), loader)
    subprocess.run(["gcc", os.path.join(harness.PROGRAMS, "shows_environment.c"), "-o", program,
                    f"-Wl,--dynamic-linker={loader}"], check=True)
    for command in ([program], ["env", program]):
        run = harness.execute([harness.MEMOIR, "run", "-o", str(tmp_path / "out_%n.dat"), *command])
        assert run.status == 5 and b"unrecorded" not in run.stderr, run
    assert len(list(tmp_path.glob("*.dat"))) == 3
