# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a program sees of its environment and of the auxiliary vector behind it: as without us."""
import os
import shutil
import subprocess

import pytest

import harness

OURS = (b"LD_PRELOAD=", b"MEMOIR_SHM=", b"MEMOIR_PARENT=", b"MEMORY_PROFILER_")
STARTS = {"new": (), "old": ("-DOLD_START", "-nostartfiles")}
GO = """
package main

// #include <stdlib.h>
// static char *ask(const char *name) { return getenv(name); }
import "C"
import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	for _, entry := range os.Environ() {
		fmt.Println(entry)
	}
	fmt.Println(os.Getpagesize(), C.GoString(C.ask(C.CString("HOME"))))
	out, err := exec.Command("/usr/bin/env").CombinedOutput()
	fmt.Println(string(out), err)
}
"""
GO_INTERNAL = """
package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	addresses, err := net.LookupHost("127.0.0.1")
	fmt.Println(os.Environ(), os.Getpagesize(), addresses, err)
}
"""


def without_ours(text):
    """The lines of a text but those that end in one of our variables."""
    return [line for line in text.splitlines() if not line.split(b": ")[-1].startswith(OURS)]


def commands(command, folder):
    """The ways of recording a command: {name: (command, environment)}.  The order of variables
    counts."""
    run = [harness.MEMOIR, "run", "-q", "-o", str(folder / "out_%n.dat")]
    preload = {"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": str(folder / "out_%n.dat")}
    plain = harness.ENVIRONMENT
    return {
        "run": ([*run, *command], plain),
        "behind env": ([*run, "env", *command], plain),
        "children": ([*run, "--children", *command], plain),
        "preload first": (command, {**preload, **plain}),
        "preload last": (command, {**plain, **preload}),
    }


def execute(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0, (command, done)
    return done.stdout


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("how", ["look", "set"])
def test_all_views_agree(compile_program, tmp_path, start, how):
    """environ, main's, a constructor's, getenv, /proc/self/environ, a walk from argv to the
    auxiliary vector; also where a constructor has set a variable."""
    program = compile_program("environment", flags=("-O2", *STARTS[start]))
    plain = execute([program, how], harness.ENVIRONMENT)
    assert b"auxv: 2" in plain and plain.count(b"HOME=/dev/null/home") == 6
    for name, (command, environment) in commands([program, how], tmp_path).items():
        seen = execute(command, environment)
        assert without_ours(seen) == plain.splitlines(), name
        if name != "children":
            assert b"LD_PRELOAD" not in seen and b"MEMOIR_" not in seen, name


def test_other_libraries_stay_in_the_list(compile_program, tmp_path):
    program, other = compile_program("environment"), compile_program("countlib.so")
    plain = execute([program], {"LD_PRELOAD": other, **harness.ENVIRONMENT})
    for both in (f"{other}:{harness.LIBRARY}", f"{harness.LIBRARY} {other}"):
        seen = execute([program], {"LD_PRELOAD": both, **harness.ENVIRONMENT,
                                   "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat")})
        assert ([line for line in seen.splitlines() if b"MEMORY_PROFILER" not in line] ==
                plain.splitlines())


def test_no_frame_below_main(compile_program, record):
    """__libc_start_main is ours for a moment, and no stack shows it."""
    recording = record([compile_program("basic")])
    for stack in recording.stacks:
        assert not [f for f in stack["frames"] if "libmemoir" in str(f)], stack


@pytest.mark.parametrize("source", [GO, GO_INTERNAL], ids=["cgo", "internal"])
def test_go(tmp_path, source):
    """Go's runtime walks past the environment; with cgo it is started by libc, else by the
    kernel."""
    if not shutil.which("go"):
        pytest.skip("no go")
    program = str(tmp_path / "program")
    (tmp_path / "main.go").write_text(source)
    subprocess.run(["go", "build", "-o", program, str(tmp_path / "main.go")], check=True, env={
        **os.environ, "GO111MODULE": "off", "GOCACHE": str(tmp_path / "cache"), "GOFLAGS": "",
        "GOPATH": str(tmp_path / "path"), "HOME": str(tmp_path)})
    plain = execute([program], harness.ENVIRONMENT)
    for name, (command, environment) in commands([program], tmp_path).items():
        seen = execute(command, environment)
        if source == GO:
            assert without_ours(seen) == plain.splitlines(), name
        elif name in ("run", "behind env"):
            assert seen == plain, name
    assert execute([harness.MEMOIR, "run", "-q", "-o", str(tmp_path / "go.dat"), "go", "version"],
                   {**harness.ENVIRONMENT, "HOME": str(tmp_path)}).startswith(b"go version")
