# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that are process 1, below one, or adopt orphans: the collector is nobody's extra child,
and has written everything when its program ends."""
import glob
import json
import os
import shutil
import subprocess
import time

import pytest

import harness

NAMESPACE = ["unshare", "-pf", "--mount-proc"]
WAYS = {"return": 20, "exit": 21, "_exit": 22, "_Exit": 23, "quick_exit": 24, "thread": 26,
        "pthread_exit": 0,
        "handler": 27, "busy": 28}


@pytest.fixture(autouse=True, scope="module")
def namespaces():
    if subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode:
        pytest.skip("may not make a pid namespace")


def preloaded(path, *command, **variables):
    """A command that sets our variables as late as it can: what starts it is not recorded."""
    return ["env", f"LD_PRELOAD={harness.LIBRARY}", f"MEMORY_PROFILER_OUTPUT={path}",
            *(f"{name}={value}" for name, value in variables.items()), *command]


def whole(path, allocations=1000, function="make"):
    """The file is complete, now, and has names."""
    with open(path, "rb") as file:
        assert file.read().endswith(harness.TRAILER), "it has no end"
    recording = harness.Recording(path, harness.Run(0, b"", b"", 0))
    assert recording.total(function)["allocations"] == allocations
    return recording


def memoir_live(*arguments):
    return harness.execute([harness.MEMOIR, *arguments[:1], "--live", *arguments[1:]])


def script(path, text, *arguments):
    file = path / "script.sh"
    file.write_text("#!/bin/sh\n" + text)
    file.chmod(0o755)
    return [str(file), *arguments]


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("where", ["first", "below"])
def test_every_end_waits_in_a_namespace(compile_program, tmp_path, how, where):
    """With process 1 everybody in its namespace is killed: everything is written by then."""
    path = str(tmp_path / "out.dat")
    command = preloaded(path, compile_program("exits"), how)
    if where == "below":
        command = script(tmp_path, '"$@"; exit $?\n', *command)
    run = harness.execute([*NAMESPACE, *command])
    assert run.status == WAYS[how] and not run.stderr, run
    recording = whole(path)
    if how != "quick_exit":
        assert recording.info["exit_status"] == WAYS[how]


@pytest.mark.parametrize("how", WAYS)
def test_every_end_has_written_its_events(compile_program, tmp_path, how):
    """Without a namespace too, though not the end of the file: a service manager may kill the
    collector now."""
    path = str(tmp_path / "out.dat")
    process = subprocess.Popen([compile_program("exits"), how], stdin=subprocess.DEVNULL, env=dict(
        harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path))
    collector = harness.wait_for(lambda: process.poll() is not None or harness.holders(path),
                                 what="a collector")
    assert process.wait(20) == WAYS[how]
    for holder in collector if isinstance(collector, list) else harness.holders(path):
        harness.kill(holder)
    run = memoir_live("report", "--json", "--by", "stack", "--backtraces", "--top", "100000", path)
    made = [s for s in json.loads(run.stdout)["top"]["allocated"]
            if "make" in map(harness.plain_name, s["backtrace"])]
    assert sum(s["count"] for s in made) == 1000


@pytest.mark.parametrize("how", ["handler", "busy"])
@pytest.mark.parametrize("where", [[], NAMESPACE], ids=["machine", "namespace"])
def test_no_end_hangs(compile_program, tmp_path, how, where):
    """In a handler inside a hook, or beside threads inside hooks, again and again."""
    for i in range(10):
        run = harness.execute(
            [*where, *preloaded(str(tmp_path / f"{i}.dat"), compile_program("exits"), how)],
                              timeout=30)
        assert run.status == WAYS[how] and run.seconds < 10, run


def init_bubblewrap():
    return ["bwrap", "--unshare-pid", "--die-with-parent", "--dev-bind", "/", "/", "--proc",
            "/proc", "--"]


INITS = {
    "tini": lambda: [*NAMESPACE, "tini", "--"],
    "bwrap": init_bubblewrap,
    "bwrap as process 1": lambda: [*init_bubblewrap()[:-1], "--as-pid-1", "--"],
    "firejail": lambda: ["firejail", "--quiet", "--noprofile", "--"],
}


@pytest.mark.parametrize("name", INITS)
def test_inits(compile_program, tmp_path, name):
    """Real inits and sandboxes: the program's own status, and all of its events with names."""
    command = INITS[name]()
    tool = "tini" if name == "tini" else command[0]
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    plain = harness.execute([*command, compile_program("exits"), "exit"])
    if plain.status != 21:
        pytest.skip(f"{tool} does not work here: {plain.stderr[-200:]!r}")
    path = str(tmp_path / "out.dat")
    run = harness.execute([*command, *preloaded(path, compile_program("exits"), "exit")])
    assert run.status == 21, run
    whole(path)


OUTSIDE = {
    "its /proc": lambda: ["unshare", "-pf"],
    "a /proc of its own": lambda: NAMESPACE,
    "bwrap": init_bubblewrap,
}


@pytest.mark.parametrize("children", [False, True], ids=["alone", "children"])
@pytest.mark.parametrize("name", OUTSIDE)
def test_launcher_outside(compile_program, tmp_path, name, children):
    """`memoir run` is outside the namespace and outlives it; who is recorded inside has a collector
    there, even where nothing of the launcher can be seen, and no descriptor of ours."""
    command = OUTSIDE[name]()
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    folder = tmp_path / "out"
    inner = script(tmp_path, 'ls /proc/self/fd | wc -l; "$@"; exit $?\n', compile_program("exits"),
                   "exit")
    plain = harness.execute([*command, *inner])
    run = harness.execute(
        [harness.MEMOIR, "run", *(["--children"] if children else []), "-o", f"{folder}/", "--",
         *command, *inner])
    assert run.status == 21 and run.stdout == plain.stdout, run
    files = glob.glob(f"{folder}/*exits*")
    assert len(files) == (1 if children else 0), (run, os.listdir(folder))
    for path in files:
        whole(path)


def test_process_1_waits_for_all_its_children(compile_program, tmp_path):
    """It has three; the collector is none of them."""
    path = str(tmp_path / "out.dat")
    run = harness.execute([*NAMESPACE, *preloaded(path, compile_program("reaper"), "all")],
                          timeout=20)
    assert run.stdout == b"reaped 3\n" and run.status == 0, run
    whole(path)


def test_who_waits_with_wall(compile_program, tmp_path):
    """Tracers wait for every kind of child.  On the machine itself there is none of ours to be
    seen."""
    path = str(tmp_path / "out.dat")
    run = harness.record([compile_program("reaper"), "walls"], path, mode="preload", timeout=20)
    assert run.stdout == b"reaped 3\n" and run.status == 0, run


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_subreaper(compile_program, tmp_path, mode):
    """Three recorded children, no orphans of ours."""
    folder = tmp_path / "out"
    program = [compile_program("reaper"), "subreaper"]
    if mode == "run":
        run = harness.execute(
            [harness.MEMOIR, "run", "--children", "-o", f"{folder}/", "--", *program])
    else:
        run = harness.execute(
            program, env={"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": f"{folder}/",
                          "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"})
    assert run.stdout == b"reaped 3\n" and run.status == 0, run
    files = glob.glob(f"{folder}/*.dat")
    assert len(files) == 4
    for path in files:
        harness.wait_finished(path)
        assert harness.Recording(path, run).total("make")["allocations"] in (1000, 2000)


@pytest.mark.parametrize("mode", ["preload", "exec"])
def test_status_of_the_last_child(compile_program, tmp_path, mode):
    """An init that ends as the last child that it reaped did (firejail is one)."""
    program = [compile_program("exits"), "exit"]
    if mode == "exec":
        program = [compile_program("reaper"), "exec", *program]
    path = str(tmp_path / "out.dat")
    starter = script(tmp_path, f"export LD_PRELOAD={harness.LIBRARY} "
                     f"MEMORY_PROFILER_OUTPUT={path}\n"
                               f"exec {' '.join(program)}\n")
    # The script is not recorded: it sets the variable itself, and is what `last` runs.
    run = harness.execute([*NAMESPACE, compile_program("reaper"), "last", *starter], timeout=20)
    assert run.status == 21, run
    whole(path)


def test_exec_that_fails(compile_program, tmp_path):
    """A program that is not there: the recording goes on."""
    path = str(tmp_path / "out.dat")
    run = harness.execute([*NAMESPACE, *preloaded(path, compile_program("reaper"), "refused")])
    assert run.status == 0 and not run.stderr, run
    whole(path, 2000)


def test_nothing_of_ours_stays(compile_program, tmp_path):
    """The helper and the collector have ended before the program has, and hold none of its
    descriptors."""
    path = str(tmp_path / "out.dat")
    started = time.monotonic()
    run = harness.execute(
        [*NAMESPACE, *script(tmp_path, '"$@" | cat; ps -A -o comm= >&2; sleep 0.2\n',
                             *preloaded(path, compile_program("exits"), "exit"))])
    assert b"memoir" not in run.stderr, run
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("number", ["KILL", "STOP"])
def test_collector_that_is_lost(compile_program, tmp_path, number):
    """A dead or stopped collector is not waited for."""
    path = str(tmp_path / "out.dat")
    command = preloaded(path, "sh", "-c", f"pkill -{number} -x memoir-collecto; exit 7")
    run = harness.execute([*NAMESPACE, "sh", "-c", '"$@"; exit $?', "sh", *command], timeout=30)
    assert run.status == 7, run
    assert run.seconds < 5
