# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the options do, one by one; on and off is in test_control.py."""
import os
import subprocess
import stat

import pytest

import harness

MODES = ["run", "preload"]
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.mark.parametrize("mode", MODES)
def test_zero_memory(compile_program, record, mode):
    program = compile_program("zeroed", flags=("-O1",))
    plain = record([program], mode=mode).stdout.decode().split("\n")
    assert "malloc dirty" in plain and "memalign dirty" in plain and "new dirty" in plain
    recording = record([program], mode=mode, env={"MEMORY_PROFILER_ZERO_MEMORY": "1"})
    lines = recording.stdout.decode().split("\n")
    assert len(lines) == len(plain) and "dirty" not in recording.stdout.decode()
    assert recording.info["lost_events"] == recording.info["unknown_frees"] == 0


@pytest.mark.parametrize("allocator",
                         ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2.0"])
def test_zero_memory_of_other_allocators(compile_program, record, allocator):
    library = f"/usr/lib/x86_64-linux-gnu/{allocator}"
    if not os.path.exists(library):
        pytest.skip(f"no {allocator}")
    program = compile_program("zeroed", flags=("-O1",))
    for order in ({"preload": [library]}, {"after": [library]}):
        recording = record([program], mode="preload", env={"MEMORY_PROFILER_ZERO_MEMORY": "1"},
                           **order)
        assert recording.status == 0 and b"dirty" not in recording.stdout, recording.run


@root_only
@pytest.mark.parametrize("mode", MODES)
def test_chown(compile_program, record, mode):
    recording = record([compile_program("exits"), "exit"], mode=mode,
                       env={"MEMORY_PROFILER_CHOWN_OUTPUT_TO": "1234"})
    st = os.stat(recording.path)
    assert (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)) == (1234, os.getegid(), 0o600)


@root_only
def test_chown_that_is_not_allowed(compile_program, tmp_path):
    """Who is not root is told, and the program is recorded."""
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.owner() == "root" and str(folder).startswith("/tmp/pytest"):
            folder.chmod(0o755)
    os.chmod(os.path.dirname(compile_program("exits")), 0o755)
    path = str(tmp_path / "out.dat")
    run = harness.execute(["setpriv", "--reuid=65534", "--clear-groups", harness.MEMOIR, "run",
                           "--chown-output", "0", "-o", path, "--", "/bin/true"])
    if b"cannot run" in run.stderr or b"Permission" in run.stderr:
        pytest.skip("this folder cannot be reached by others")
    assert run.status == 0
    assert b"cannot be given to user 0" in run.stderr
    harness.wait_finished(path)


@pytest.mark.parametrize("mode", MODES)
def test_include_file(compile_program, tmp_path, mode):
    folder = tmp_path / "work"
    folder.mkdir()
    for name, size in (("a.conf", 10), ("b.conf", 300000), ("c.other", 5)):
        (folder / name).write_bytes(b"x" * size)
    (folder / "d.conf").mkdir()
    path = str(tmp_path / "out.dat")
    recording = harness.record([compile_program("exits"), "exit"], path, mode=mode, cwd=folder,
                               env={"MEMORY_PROFILER_INCLUDE_FILE": "*.conf"})
    files = {f["path"]: f for f in recording.info["files"]}
    included = {p: f["size"] for p, f in files.items() if p.startswith(str(folder))}
    assert included == {f"{folder}/a.conf": 10, f"{folder}/b.conf": 300000}
    assert all(f["complete"] for f in files.values())
    assert any(f["build_id"] for f in files.values()), "the program itself is embedded as ever"


def test_include_file_that_is_not_there(compile_program, record):
    recording = record([compile_program("exits"), "exit"],
                       options=["--include-file", "/proc/nonexistent/*"])
    assert b"memoir: no file matches /proc/nonexistent/*\n" in recording.stderr


@pytest.mark.parametrize("mode", MODES)
def test_included_program_is_still_embedded(compile_program, record, mode):
    program = compile_program("exits")
    recording = record([program, "exit"], mode=mode, env={"MEMORY_PROFILER_INCLUDE_FILE": program})
    found = [f for f in recording.info["files"] if f["path"] == program]
    assert sorted(bool(f["build_id"]) for f in found) == [False, True]
    assert recording.total("make")["allocations"] == 1000


@pytest.mark.parametrize("mode", MODES)
def test_environment_is_kept_only_when_asked(compile_program, record, mode):
    program = compile_program("exits")
    env = {"SECRET": "hunter2"}
    recording = record([program, "exit"], mode=mode, env=env)
    assert "environ" not in recording.info
    assert b"hunter2" not in open(recording.path, "rb").read()
    recording = record([program, "exit"], mode=mode, env=dict(env, MEMOIR_WRITE_ENVIRONMENT="1"))
    assert "SECRET=hunter2" in recording.info["environ"]


@pytest.mark.parametrize("mode", MODES)
def test_log_rotation(compile_program, tmp_path, mode):
    """The first part is kept as .initial, the one before the last as .old."""
    folder = tmp_path / "logs"
    folder.mkdir()
    path = str(tmp_path / "out.dat")
    env = {"MEMORY_PROFILER_LOG": "info", "MEMORY_PROFILER_LOGFILE": "logs/%e.log",
           "MEMORY_PROFILER_LOGFILE_ROTATE_WHEN_BIGGER_THAN": "20"}
    for _ in range(2):
        harness.record([compile_program("exits"), "exit"], path, mode=mode, env=env, cwd=tmp_path)
    harness.wait_for(lambda: {"exits.log", "exits.log.initial", "exits.log.old"} <= set(
        os.listdir(folder)),
                     what="the log files")
    assert b"recording" in (folder / "exits.log.initial").read_bytes()
    assert b"finished" in b"".join(f.read_bytes() for f in folder.iterdir())
    for file in folder.iterdir():
        assert len(file.read_bytes()) < 20 + 1024


def test_log_is_not_rotated_by_default(compile_program, tmp_path):
    path = str(tmp_path / "out.dat")
    env = {"MEMORY_PROFILER_LOG": "trace", "MEMORY_PROFILER_LOGFILE": str(tmp_path / "log")}
    for _ in range(2):
        harness.record([compile_program("exits"), "exit"], path, mode="preload", env=env)
    harness.wait_for(lambda: (tmp_path / "log").read_bytes().count(b"finished") == 2,
                     what="the log")
    assert not (tmp_path / "log.initial").exists()


def logged(program, tmp_path, level, **keywords):
    env = {"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat")}
    if level:
        env["MEMORY_PROFILER_LOG"] = level
    return harness.execute(program, env=env, **keywords)


def test_log_on_the_programs_stderr(compile_program, tmp_path):
    """Without a launcher; each level says more than the one before it, and none says nothing."""
    lines = {}
    for level in (None, "off", "error", "info", "debug", "trace"):
        run = logged([compile_program("exits"), "exit"], tmp_path, level)
        assert run.status == 21
        lines[level] = run.stderr.splitlines()
        assert all(line.startswith(b"memoir: collector ") for line in lines[level]), run
    assert lines[None] == lines["off"] == lines["error"] == []
    assert any(b"recording" in line for line in lines["info"])
    assert any(b"the program ends" in line for line in lines["info"])
    for word in (b"option log", b"module 1", b"ring 0", b"a chunk of"):
        assert any(word in line for line in lines["debug"]), word
        assert not any(word in line for line in lines["info"]), word
    assert any(b"events taken" in line for line in lines["trace"])
    assert not any(b"events taken" in line for line in lines["debug"])


def test_log_keeps_no_pipe_open(compile_program, tmp_path):
    """Whoever reads the program's stderr is not held up, though it ends before its collector
    does."""
    script = (f'x=$(LD_PRELOAD={harness.LIBRARY} MEMORY_PROFILER_LOG=trace "$0" exit 2>&1); echo '
              '$?; echo "$x"')
    run = harness.execute(["bash", "-c", script, compile_program("exits")], cwd=tmp_path,
                          timeout=20)
    assert run.stdout.startswith(b"21\n") and b"events taken" in run.stdout
    holding = subprocess.Popen(["sh", "-c", "exec 2>/dev/null; exec sleep 60"],
                               stderr=subprocess.PIPE,
                               env=dict(harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY,
                                        MEMORY_PROFILER_LOG="info",
                                        MEMORY_PROFILER_OUTPUT=str(tmp_path / "out.dat")))
    try:
        assert b"recording" in holding.stderr.read(), "it ends when the program has given it up"
    finally:
        holding.kill()
        holding.wait()


def test_log_is_written_between_the_programs_lines(tmp_path):
    """To a file that was not opened for appending."""
    path = tmp_path / "err.txt"
    with open(path, "wb") as file:
        subprocess.run(["bash", "-c", "echo before >&2; /bin/sleep 0.1; echo after >&2"],
                       stderr=file, check=True,
                       env=dict(harness.ENVIRONMENT, LD_PRELOAD=harness.LIBRARY,
                                MEMORY_PROFILER_LOG="info",
                                MEMORY_PROFILER_OUTPUT=str(tmp_path / "out.dat")))
    lines = path.read_bytes().splitlines()
    assert lines.count(b"before") == lines.count(b"after") == 1
    assert (len(lines) >= 4 and all(line.startswith(b"memoir: ") for line in lines
                                    if line not in (b"before", b"after")))


WITHOUT_EFFECT = {
    "MEMORY_PROFILER_BACKTRACE_CACHE_SIZE_LEVEL_1": "1",
    "MEMORY_PROFILER_BACKTRACE_CACHE_SIZE_LEVEL_2": "1",
    "MEMORY_PROFILER_BACKTRACE_CACHE_SIZE": "1", "MEMORY_PROFILER_USE_SHADOW_STACK": "0",
    "MEMORY_PROFILER_EMIT_PARTIAL_BACKTRACES": "0", "MEMORY_PROFILER_USE_PERF_EVENT_OPEN": "0",
    "MEMORY_PROFILER_DISABLE_PR_SET_VMA_ANON_NAME": "1", "MEMORY_PROFILER_PRECISE_TIMESTAMPS": "1",
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variable", WITHOUT_EFFECT)
def test_same_recording(compile_program, record, variable, mode):
    """Options about how, not what: the recording has the same stacks and numbers."""
    program = compile_program("stacks")

    def stacks(env):
        recording = record([program], mode=mode, env=env)
        assert recording.run.own_stderr == b"" and recording.info["lost_events"] == 0
        return sorted((s["functions"], s["allocations"], s["leaked_bytes"])
                      for s in recording.stacks)
    assert stacks({variable: WITHOUT_EFFECT[variable]}) == stacks({})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("variable",
                         ["MEMORY_PROFILER_BACKTRACE_CACHE_SIZE", "MEMORY_PROFILER_CHOWN_OUTPUT_TO",
                          "MEMORY_PROFILER_ZERO_MEMORY"])
def test_bad_value(compile_program, record, variable, mode):
    recording = record([compile_program("exits"), "exit"], mode=mode, env={variable: "plenty"})
    lines = [line for line in recording.stderr.decode().split("\n") if variable in line]
    assert len(lines) == 1 and "plenty" in lines[0] and "accepted: " in lines[0]
    assert recording.status == 21
