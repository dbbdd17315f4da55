# SPDX-License-Identifier: MIT OR Apache-2.0
"""Children and successors: fork, vfork, clone, posix_spawn, exec; what is recorded, and where."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import harness

TRACK = {"MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"}
BASIC = {10, 100, 1000, 10000, 100000, 1000000}


def recordings(folder):
    """The finished recordings of a folder."""
    found = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".dat"):
            continue
        path = os.path.join(folder, name)
        harness.wait_finished(path)
        found.append(harness.Recording(path, harness.Run(0, b"", b"", 0)))
    return found


def start(command, folder, mode, children=True, pattern="out.dat", **keywords):
    """Runs a command; returns it and the folder's recordings."""
    folder.mkdir(exist_ok=True)
    output = str(folder / pattern)
    command = list(map(str, command))
    env = keywords.pop("env", {})
    if mode == "run":
        options = ["--children"] if children else []
        run = harness.execute([harness.MEMOIR, "run", "-o", output, *options, "--", *command],
                              env=env, **keywords)
    else:
        run = harness.execute(command, env={
            **env, **(TRACK if children else {}), "LD_PRELOAD": harness.LIBRARY,
            "MEMORY_PROFILER_OUTPUT": output}, **keywords)
        settle(folder)
    return run, recordings(folder)


def settle(folder):
    """Collectors of children may come a moment later than the program's end."""
    harness.wait_for(lambda: os.listdir(folder) and not any(
        harness.holders(os.path.join(folder, name)) for name in os.listdir(folder)),
        what="the collectors' end")


def sizes(recording, function):
    """The sizes of all blocks that a function allocated; its stacks tell them apart."""
    return sorted(s["allocated_bytes"] // s["allocations"] for s in recording.stacks
                  if function in s["functions"] for _ in range(s["allocations"]))


def amount(recording, function):
    total = recording.total(function)
    return total["allocations"], total["allocated_bytes"]


def amount_of(*blocks):
    return len(blocks), sum(blocks)


def named(found, name):
    chosen = [r for r in found
              if re.fullmatch(f"(.*-)?{name}", os.path.basename(r.info["executable"]))]
    assert chosen, [r.info["executable"] for r in found]
    return chosen


def leaked(recording, function):
    return recording.total(function)["leaked_bytes"]


def child_of(found, parent):
    children = [r for r in found if r.info.get("parent_id") == parent.info["id"]]
    assert len(children) == 1, [(r.path, r.info.get("parent_id")) for r in found]
    return children[0]


def root(found):
    roots = [r for r in found if r.info["origin"] == "start"]
    assert len(roots) == 1, [r.path for r in found]
    return roots[0]


@pytest.mark.parametrize("mode", ["run", "preload"])
class TestFork:
    def test_child_is_not_recorded(self, compile_program, tmp_path, mode):
        run, found = start([compile_program("family"), "fork"], tmp_path / "r", mode,
                           children=False,
                           pattern="fork_%n.dat")
        assert run.status == 0, run
        assert [os.path.basename(r.path) for r in found] == ["fork_0.dat"]
        assert amount(found[0], "in_parent") == amount_of(10001, 10002, 10003, 20001, 20002)
        assert not sizes(found[0], "in_child")

    def test_child_is_recorded(self, compile_program, tmp_path, mode):
        run, found = start([compile_program("family"), "fork"], tmp_path / "r", mode)
        assert run.status == 0, run
        parent = root(found)
        child = child_of(found, parent)
        assert len(found) == 2
        assert amount(parent, "in_parent") == amount_of(10001, 10002, 10003, 20001, 20002)
        assert child.info["origin"] == "fork"
        assert child.info["parent_pid"] == parent.info["pid"]
        assert child.info["inherited_incomplete"] is None
        assert sizes(child, "in_child") == [10011]
        # What was alive at the fork is there too, and the child's own thread.
        assert amount(child, "in_parent") == amount_of(10001, 20001, 20011)
        assert child.info["unknown_frees"] == 0
        # Neither %p nor %n in the pattern: the child's name is made distinct.
        assert os.path.basename(child.path) == f"out.{child.info['pid']}.dat"

    def test_three_deep(self, compile_program, tmp_path, mode):
        run, found = start([compile_program("family"), "three-deep"], tmp_path / "r", mode)
        assert run.status == 0, run
        first = root(found)
        second = child_of(found, first)
        third = child_of(found, second)
        assert len(found) == 3
        assert leaked(first, "in_parent") == sum(range(1002, 1010))
        assert second.info["inherited_blocks"] >= 10
        assert leaked(second, "in_parent") == sum(range(1005, 1009))
        assert leaked(second, "in_child") == 5000
        assert leaked(third, "in_parent") == sum(range(1007, 1010))
        assert third.total("in_child") == {"allocations": 1, "allocated_bytes": 5000,
                                           "leaked_count": 0, "leaked_bytes": 0}
        assert leaked(third, "in_grandchild") == 6000
        for recording in found:
            assert recording.info["unknown_frees"] == 0
            assert recording.info["lost_events"] == 0

    def test_with_threads(self, compile_program, tmp_path, mode):
        """The live set is exact although other threads allocate while the child is made."""
        run, found = start([compile_program("family"), "threaded"], tmp_path / "r", mode)
        assert run.status == 0, run
        first = root(found)
        children = [r for r in found if r is not first]
        assert len(children) == 8
        everything = sum(range(3000, 3008))
        freed = set()
        for child in children:
            assert child.info["origin"] == "fork" and child.info["parent_id"] == first.info["id"]
            assert sizes(child, "in_child") == [4000]
            assert 4001 in sizes(child, "in_parent")
            freed.add(everything + 4001 - leaked(child, "in_parent"))
            assert child.info["unknown_frees"] == 0
            assert child.info["inherited_incomplete"] is None
        assert freed == set(range(3000, 3008))

    def test_raw_clone(self, compile_program, tmp_path, mode):
        run, found = start([compile_program("family"), "raw-clone"], tmp_path / "r", mode)
        assert run.status == 0, run
        child = child_of(found, root(found))
        assert leaked(child, "in_parent") == 0
        assert child.total("in_parent")["allocations"] == 1
        assert leaked(child, "in_child") == 7001
        assert child.info["unknown_frees"] == 0

    def test_daemon(self, compile_program, tmp_path, mode):
        """Forks twice, leaves its folder, closes everything: still recorded, beside its parent."""
        done = tmp_path / "done"
        run, found = start([compile_program("family"), "daemon", done], tmp_path / "r", mode)
        assert run.status == 0, run
        harness.wait_for(lambda: done.exists() and done.read_bytes() == b"done\n",
                         what="the daemon")
        settle(tmp_path / "r")
        found = recordings(tmp_path / "r")
        last = [r for r in found if sizes(r, "in_grandchild")]
        assert len(last) == 1
        assert leaked(last[0], "in_grandchild") == 9001
        assert last[0].total("in_parent") == {"allocations": 1, "allocated_bytes": 9000,
                                              "leaked_count": 0, "leaked_bytes": 0}

    def test_relative_output_of_a_daemon(self, compile_program, tmp_path, mode):
        """A relative name starts where the first program was started."""
        done = tmp_path / "done"
        program = compile_program("family")
        if mode == "run":
            harness.execute([harness.MEMOIR, "run", "--children", "-o", "x_%p.dat", "--", program,
                             "daemon", str(done)], cwd=tmp_path)
        else:
            harness.execute([program, "daemon", str(done)], cwd=tmp_path, env={
                **TRACK, "LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": "x_%p.dat"})
        harness.wait_for(done.exists, what="the daemon")
        harness.wait_for(lambda: any(sizes(r, "in_grandchild") for r in recordings(tmp_path)),
                         what="the daemon's recording")

    def test_shared_memory(self, compile_program, tmp_path, mode):
        """vfork, clone with CLONE_VM: what they allocate is the parent's, exactly."""
        run, found = start([compile_program("family"), "shared-memory"], tmp_path / "r", mode)
        assert run.status == 0, run
        first = root(found)
        assert sizes(first, "in_parent") == [8000, 8009]
        assert sizes(first, "in_child") == sorted([8001, 8002, 8003, 8004] * 3)
        assert leaked(first, "in_child") == 3 * (8001 + 8003 + 8004)
        assert first.info["unknown_frees"] == first.info["implicit_frees"] == 0
        others = [r for r in found if r is not first]
        assert len(others) == 9  # three by vfork, six by posix_spawn
        for child in others:
            assert child.info["origin"] == "exec" and child.info["parent_id"] == first.info["id"]
            assert sizes(child, "in_parent") == [12000]


def test_parent_recording_is_gone(compile_program, tmp_path):
    """Then the child starts with nothing, and says so."""
    folder = tmp_path / "r"
    folder.mkdir()
    done = tmp_path / "done"
    process = subprocess.Popen(
        [compile_program("family"), "daemon", str(done)],
        env={**harness.ENVIRONMENT, **TRACK, "LD_PRELOAD": harness.LIBRARY,
             "MEMORY_PROFILER_OUTPUT": str(folder / "x_%p.dat")})
    first = folder / f"x_{process.pid}.dat"
    harness.wait_for(first.exists, what="the first recording")
    first.unlink()
    assert process.wait(20) == 0
    harness.wait_for(done.exists, what="the daemon")
    settle(folder)
    last = [r for r in recordings(folder) if sizes(r, "in_grandchild")]
    assert len(last) == 1
    assert "recording" in last[0].info["inherited_incomplete"]
    assert last[0].info["inherited_blocks"] == 0


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_spawned_children(compile_program, tmp_path, mode):
    program, child = compile_program("family"), compile_program("basic")
    run, found = start([program, "spawn", child], tmp_path / "r", mode, pattern="%e.dat")
    assert run.status == 0, run
    assert sizes(root(found), "in_parent") == [10001, 10003]
    basic, = named(found, "basic")
    assert set(sizes(basic, "main")) == BASIC and len(sizes(basic, "main")) == 6
    assert basic.info["deallocations"] == 1 and basic.info["reallocations"] == 1
    assert basic.info["origin"] == "exec"


EXECS = ["execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
         "empty"]


@pytest.mark.parametrize("how", EXECS)
def test_exec_is_followed(compile_program, tmp_path, how):
    """A process that becomes another program is recorded on, whatever environment it hands over."""
    program = compile_program("family")
    run, found = start([program, "exec", how, program, "leaf"], tmp_path / "r", "run",
                       children=False)
    assert run.status == 12, run
    first = root(found)
    then = child_of(found, first)
    assert len(found) == 2
    assert os.path.basename(first.path) == "out.dat"
    assert os.path.basename(then.path) == "out.1.dat"
    assert sizes(first, "in_parent") == [11000, 11001]
    assert first.info["end_reason"] == "exec"
    assert sizes(then, "in_parent") == [12000]
    assert then.info["pid"] == first.info["pid"] and then.info["exit_status"] == 12


@pytest.mark.parametrize("how", EXECS)
def test_exec_is_not_followed(compile_program, tmp_path, how):
    """Without a launcher, and children not tracked: nothing of us is left."""
    program = compile_program("family")
    run, found = start([program, "exec", how, program, "leaf"], tmp_path / "r", "preload",
                       children=False)
    assert run.status == 12, run
    assert len(found) == 1 and sizes(found[0], "in_parent") == [11000, 11001]


@pytest.mark.parametrize("children", [False, True])
@pytest.mark.parametrize("how", ["execve", "execle", "empty"])
def test_environment_after_exec(compile_program, tmp_path, how, children):
    """What the program sees of its environment is what it was given."""
    program = compile_program("family")
    command = [program, "exec", how, program, "environment"]
    plain = harness.execute(command)
    run, found = start(command, tmp_path / "r", "run", children=children)
    assert len(found) == 2
    if children:  # there they stay, for programs that this one starts
        ours = (b"LD_PRELOAD=", b"MEMOIR_")
        assert [line for line in run.stdout.splitlines() if not line.startswith(ours)] == \
            plain.stdout.splitlines()
    else:
        assert run.stdout == plain.stdout


def test_chain_of_five(compile_program, tmp_path):
    program = compile_program("family")
    chain = [program, "exec", "execve", program, "exec", "execv", program, "exec", "execvp",
             program,
             "exec", "execve", program, "leaf"]
    run, found = start(chain, tmp_path / "r", "run", children=False)
    assert run.status == 12, run
    assert sorted(os.path.basename(r.path) for r in found) == \
        ["out.1.dat", "out.2.dat", "out.3.dat", "out.4.dat", "out.dat"]
    at = root(found)
    for _ in range(4):
        assert at.info["end_reason"] == "exec"
        at = child_of(found, at)
    assert sizes(at, "in_parent") == [12000]
    assert os.path.basename(at.path) == "out.4.dat"
    assert b"memoir report " + at.path.encode() in run.stderr


WRAPPERS = {
    "env": ["env", "A=1"], "env -i": ["env", "-i"], "nice": ["nice"], "nohup": ["nohup"],
    "sh": ["sh", "-c", 'exec "$@"', "x"], "setsid": ["setsid"], "stdbuf": ["stdbuf", "-o0"],
    "two": ["env", "-i", "nice"], "bash": ["bash", "-c", 'exec "$@"', "x"],
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers(compile_program, tmp_path, wrapper):
    if not shutil.which(WRAPPERS[wrapper][0]):
        pytest.skip(f"no {wrapper}")
    run, found = start([*WRAPPERS[wrapper], compile_program("family"), "leaf"], tmp_path / "r",
                       "run",
                       children=False)
    assert run.status == 12, run
    program, = named(found, "family")
    assert sizes(program, "in_parent") == [12000]
    assert program.path.encode() in run.stderr


def test_script(compile_program, tmp_path):
    script = tmp_path / "script.sh"
    script.write_text(f"#!/bin/sh\nexport B=2\nexec {compile_program('family')} leaf\n")
    script.chmod(0o755)
    run, found = start([script], tmp_path / "r", "run", children=False)
    assert run.status == 12, run
    program, = named(found, "family")
    assert sizes(program, "in_parent") == [12000]
    # Even where it became the next program before anybody could look.
    shell = root(found)
    assert os.path.basename(shell.info["executable"]) in ("dash", "bash", "sh")
    assert harness.ask("info", "--json", shell.path)["went_on_as"] == {
        "executable": program.info["executable"], "file": os.path.basename(program.path)}


def test_what_a_process_became_is_said(compile_program, tmp_path):
    """Who opens the first recording of a chain is led to the last, wherever the folder is now."""
    program = compile_program("family")
    run, found = start(["env", "nice", program, "exec", "execv", program, "leaf"], tmp_path / "r",
                       "run", children=False)
    assert run.status == 12, run
    at = root(found)
    last = found[[sizes(r, "in_parent") for r in found].index([12000])]
    moved = tmp_path / "moved"
    os.rename(tmp_path / "r", moved)
    name = os.path.basename(last.path)
    text = harness.execute([harness.MEMOIR, "report", str(moved / os.path.basename(at.path))])
    assert f"went on as   {program}, recorded in {moved / name}\n".encode() in text.stdout, text
    warning = harness.ask("ask", "overview", str(moved / os.path.basename(at.path)))["warnings"][0]
    assert warning["kind"] == "went_on" and warning["text"].endswith(f" is in {name}.")
    info = harness.ask("info", "--json", str(moved / name))
    assert info["end_reason"] == "exit" and "went_on_as" not in info
    # What came next was not kept: nothing is said of it.
    os.remove(moved / name)
    between = harness.ask("info", "--json", str(moved / os.path.basename(at.path)))["went_on_as"]
    assert between["file"] not in (name, os.path.basename(at.path))
    for left in os.listdir(moved):
        if left != os.path.basename(at.path):
            path = moved / left
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "went_on_as" not in harness.ask("info", "--json",
                                           str(moved / os.path.basename(at.path)))


def test_children_of_a_wrapper_are_mentioned(compile_program, tmp_path):
    """timeout forks: without --children only it is recorded, and one line says what to do."""
    command = ["timeout", "20", compile_program("family"), "leaf"]
    run, found = start(command, tmp_path / "a", "run", children=False)
    assert run.status == 12 and len(found) == 1
    assert b"--children" in run.stderr
    run, found = start(command, tmp_path / "b", "run")
    assert run.status == 12, run
    program, = named(found, "family")
    assert sizes(program, "in_parent") == [12000]


def test_static_successor_is_mentioned(tmp_path):
    program = tmp_path / "static"
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 3; }\n")
    if subprocess.run(["gcc", "-static", str(source), "-o", str(program)]).returncode:
        pytest.skip("no static libc")
    run, found = start(["env", program], tmp_path / "r", "run", children=False)
    assert run.status == 3
    assert len(found) == 1
    assert b"is linked statically" in run.stderr, run


def test_setuid_program_is_said(compile_program, tmp_path):
    """The loader ignores us in a program that changes its user: one line says so, before it
    runs."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    # Not below /tmp/pytest-of-root, which others may not enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        program = os.path.join(folder, "changes")
        shutil.copy(compile_program("empty"), program)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        if os.statvfs(program).f_flag & os.ST_NOSUID:
            pytest.skip("nosuid")
        run = harness.execute([harness.MEMOIR, "run", "-o", os.path.join(folder, "out.dat"), "--",
                               program])
        assert run.status == 0, run
        lines = [line for line in run.stderr.splitlines() if b"set-user-id" in line]
        assert lines and b"it runs, unrecorded" in lines[0], run
        assert not os.path.exists(os.path.join(folder, "out.dat"))
        run = harness.execute([harness.MEMOIR, "run", "-o", os.path.join(folder, "out.dat"), "--",
                               "env", program])
        assert b"set-user-id" in run.stderr, run


class TestTree:
    SCRIPT = "/bin/true; echo a | cat | wc -l; (echo b; /bin/true); env nice true; exit 4"

    def test_default_folder(self, tmp_path):
        """Without an output, a tree gets a folder of its own."""
        run = harness.execute([harness.MEMOIR, "run", "--children", "bash", "-c", self.SCRIPT],
                              cwd=tmp_path)
        assert run.status == 4, run
        folder, = os.listdir(tmp_path)
        assert folder.startswith("memory-profiling_bash_")
        programs = [os.path.basename(r.info["executable"]) for r in recordings(tmp_path / folder)]
        assert programs.count("true") == 3
        assert {"bash", "cat", "wc", "env", "nice"} <= set(programs)
        assert str(tmp_path / folder).encode() in run.stderr

    def test_info(self, tmp_path):
        run, found = start(["bash", "-c", self.SCRIPT], tmp_path / "r", "run", pattern="")
        assert run.status == 4, run
        rows = harness.ask("info", "--json", str(tmp_path / "r"))["recordings"]
        assert len(rows) == len(found)
        by_id = {row["id"]: row for row in rows}
        assert [row for row in rows if row["parent_id"] is None] == [rows[0]]
        for row in rows[1:]:
            assert by_id[row["parent_id"]]["start"] <= row["start"]
            assert row["parent_pid"] == by_id[row["parent_id"]]["pid"]
        nice, = [row for row in rows if row["executable"].endswith("/nice")]
        env = by_id[nice["parent_id"]]
        assert env["executable"].endswith("/env") and env["pid"] == nice["pid"]
        assert nice["command"] == "nice true" and nice["end_reason"] == "exec"
        text = harness.execute([harness.MEMOIR, "info", str(tmp_path / "r")])
        assert text.status == 0
        for row in rows:
            assert row["file"].encode() in text.stdout
        assert b"became nice true" in text.stdout

    def test_folder_without_recordings(self, tmp_path):
        run = harness.execute([harness.MEMOIR, "info", str(tmp_path)])
        assert run.status == 1 and run.stderr.count(b"\n") == 1

    def test_one_name_for_all(self, compile_program, tmp_path):
        """A fixed name is the first program's; nothing that was recorded is overwritten."""
        program = compile_program("family")
        for _ in range(2):
            run, found = start(["sh", "-c", f"{program} spawn {program} leaf; {program} leaf"],
                               tmp_path / "r", "run")
            assert run.status == 12, run
        leaves = [r for r in found if sizes(r, "in_parent") == [12000]]
        assert len({r.info["pid"] for r in leaves}) >= 2
        first = [r for r in found if os.path.basename(r.path) == "out.dat"]
        assert os.path.basename(first[0].info["executable"]) in ("dash", "bash", "sh")

    def test_make(self, tmp_path):
        """A small build: every compiler process is there, and the build is the same."""
        if not shutil.which("make"):
            pytest.skip("no make")
        work = tmp_path / "work"
        work.mkdir()
        for i in range(4):
            (work / f"f{i}.c").write_text(f"int f{i}(void) {{ return {i}; }}\n")
        (work / "Makefile").write_text("all: f0.o f1.o f2.o f3.o\n%.o: %.c\n\tgcc -c $< -o $@\n")
        run, found = start(["make", "-j2"], tmp_path / "r", "run", pattern="%e_%p.dat", cwd=work)
        assert run.status == 0, run
        assert all((work / f"f{i}.o").exists() for i in range(4))
        assert len(named(found, "cc1")) == 4 and len(named(found, "as")) == 4
        for recording in named(found, "cc1"):
            assert recording.info["allocations"] > 1000
            assert recording.info["lost_events"] == 0

    def test_still_running(self, compile_program, tmp_path):
        """memoir run ends with its program; a child that goes on is recorded on."""
        begin = time.monotonic()
        (tmp_path / "r").mkdir()
        run = harness.execute(
            [harness.MEMOIR, "run", "--children", "-o", f"{tmp_path}/r/x_%e_%p.dat",
             "--", "sh", "-c", "sleep 2 >/dev/null 2>&1 & sleep 0.3; exit 0"])
        assert run.status == 0 and time.monotonic() - begin < 2
        assert b"still run" in run.stderr
        settle(tmp_path / "r")
        sleeper = named(recordings(tmp_path / "r"), "sleep")[0]
        assert sleeper.info["runtime_ns"] > 1.5e9

    def test_sum_is_of_everything(self, tmp_path):
        """The first program ends before most of its children: what ends soon after it counts."""
        script = ("for i in 1 2 3 4 5 6 7 8; do (setsid sh -c 'sleep 0.1; sort /etc/passwd | "
                  "md5sum' "
                  ">/dev/null 2>&1 &); done; for i in 1 2 3 4; do sort /etc/passwd >/dev/null & "
                  "done; exit 0")
        (tmp_path / "r").mkdir()
        run = harness.execute(
            [harness.MEMOIR, "run", "--children", "-o", f"{tmp_path}/r/", "--", "bash", "-c",
             script])
        assert run.status == 0, run
        said = re.search(rb"recorded (\d+) programs in \d+ processes: ([\d,]+) events", run.stderr)
        assert said and b"still run" not in run.stderr, run
        rows = harness.ask("info", "--json", str(tmp_path / "r"))["recordings"]
        assert len(rows) >= 34 and not [row for row in rows if row["truncated"]]
        assert int(said[1]) == len(rows)
        assert int(said[2].replace(b",", b"")) == sum(row["events"] for row in rows)

    def test_goes_on_without_the_launcher(self, compile_program, tmp_path):
        """What a child starts after memoir run has ended is recorded too, and hears nothing of
        us."""
        begun, go, log = tmp_path / "begun", tmp_path / "go", tmp_path / "log"
        script = (f"setsid sh -c ': >{begun}; until [ -e {go} ]; do sleep 0.1; done; ls /; env "
                  f"{compile_program('family')} leaf' "
                  f">{log} 2>&1 & until [ -e {begun} ]; do sleep 0.05; done; exit 0")
        (tmp_path / "r").mkdir()
        run = harness.execute([harness.MEMOIR, "run", "--children", "-o", f"{tmp_path}/r/%e_%n.dat",
                               "--", "sh",
                               "-c", script])
        assert b"still run" in run.stderr, run
        go.touch()
        settle(tmp_path / "r")
        harness.wait_for(lambda: not harness.holders(str(log)), what="the end of the script")
        settle(tmp_path / "r")
        found = recordings(tmp_path / "r")
        assert named(found, "ls")
        assert sizes(named(found, "family")[0], "in_parent") == [12000]
        assert b"memoir" not in log.read_bytes(), log.read_bytes()

    def test_waits_for_a_collector_that_still_writes(self, tmp_path):
        """The program is gone, its recording is not finished: the summary waits, and says so after
        a second."""
        folder = tmp_path / "r"
        folder.mkdir()
        with subprocess.Popen(
                [harness.MEMOIR, "run", "--children", "-o", f"{folder}/%e_%p.dat", "--", "sh", "-c",
                 "sleep 1.5; exit 3"], env=harness.ENVIRONMENT, stderr=subprocess.PIPE) as process:
            collector, = harness.wait_for(lambda: [pid for path in folder.glob("sleep_*.dat")
                                                   for pid in harness.holders(str(path))],
                                          what="the child's collector")
            os.kill(collector, signal.SIGSTOP)
            shell, = harness.descendants(process.pid)[-1:]
            harness.wait_for(lambda: shell not in harness.descendants(process.pid),
                             what="the end of the shell")
            time.sleep(2.5)
            assert process.poll() is None
            os.kill(collector, signal.SIGCONT)
            stderr = process.communicate(timeout=30)[1]
        assert process.returncode == 3
        assert (b"1 recording is still being written" in stderr
                and b"still run" not in stderr), stderr
        assert re.search(rb"recorded \d+ events in \S+/sleep_\d+\.dat", stderr), stderr
