# SPDX-License-Identifier: MIT OR Apache-2.0
"""What servers and batch systems do to a process: descriptors, sessions, identities, limits,
disks."""
import os
import select
import signal
import subprocess
import time

import pytest

import harness

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
COMPLETE = ["nothing", "closefrom", "close_range", "close-all", "close-std", "dup-over", "setsid",
            "no-new-files", "no-core", "block-signals", "rename", "umask", "chdir", "clearenv"]


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("how", COMPLETE)
def test_recorded_completely(compile_program, compare, how, mode):
    recording = compare([compile_program("process_setup"), how], mode=mode)
    assert recording.total("after")["allocations"] == 1000
    assert recording.total("before")["allocations"] == 1000
    assert recording.info["lost_events"] == 0


@root_only
@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("how", ["chroot", "setuid"])
def test_recorded_completely_as_root(compile_program, compare, how, mode):
    recording = compare([compile_program("process_setup"), how], mode=mode)
    assert recording.total("after")["allocations"] == 1000
    assert recording.info["lost_events"] == 0


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_no_more_memory(compile_program, compare, mode):
    """RLIMIT_AS below what is in use, set by the program itself."""
    recording = compare([compile_program("process_setup"), "no-more-memory"], mode=mode)
    assert recording.total("before")["allocations"] == 1000


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_daemon(compile_program, tmp_path, mode):
    """The first process ends at once; the daemon goes on and is unharmed."""
    done = tmp_path / "done"
    path = str(tmp_path / "out.dat")
    recording = harness.record([compile_program("process_setup"), "daemon", str(done)], path,
                               mode=mode)
    assert recording.status == 0
    harness.wait_for(lambda: done.exists() and done.read_bytes() == b"done\n", what="the daemon")
    assert recording.total("before")["allocations"] == 1000


LIMITS = {
    "address space": "ulimit -v 300000",
    "little address space": "ulimit -v 60000",
    "file size": "ulimit -f 8",
    "no file size": "ulimit -f 0",
    "descriptors": "ulimit -n 4",
    "stack": "ulimit -s 256",
    "locked memory": "ulimit -l 0",
    "core": "ulimit -c 0",
}


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("limit", LIMITS)
def test_limits(compile_program, tmp_path, limit, mode):
    """Whatever the limit: the program ends as without us; it is never killed for our sake."""
    program = compile_program("oracle")
    path = str(tmp_path / "out.dat")
    if mode == "run":
        inner = f"exec {harness.MEMOIR} run -o {path} -- {program} 2 20000"
    else:
        inner = (f"export LD_PRELOAD={harness.LIBRARY} MEMORY_PROFILER_OUTPUT={path}; exec "
                 f"{program} 2 20000")
    plain = harness.execute(["bash", "-c", f"{LIMITS[limit]}; exec {program} 2 20000"])
    assert plain.status == 0
    run = harness.execute(["bash", "-c", f"{LIMITS[limit]}; {inner}"])
    if mode == "preload":
        assert run.status == 0, run
        assert run.stdout.startswith(b'{"allocations"')
    else:  # the launcher itself may refuse, in one line, where it cannot work
        assert run.status == 0 or (run.status == 1 and b"memoir: " in run.stderr), run


def test_limit_set_by_the_program(compile_program, tmp_path):
    """`memoir run` outside, the limit inside."""
    path = str(tmp_path / "out.dat")
    program = compile_program("oracle")
    for limit in LIMITS.values():
        run = harness.execute([harness.MEMOIR, "run", "-o", path, "--", "bash", "-c",
                               f"{limit}; exec {program} 2 20000"])
        assert run.status == 0, (limit, run)


def in_namespace(script, **keywords):
    return harness.execute(["unshare", "-m", "sh", "-c", script], **keywords)


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_full_disk(compile_program, tmp_path, mode):
    """A tmpfs of 1 MiB fills up: the program ends normally and what was written opens."""
    if not harness.may_mount():
        pytest.skip("may not mount")
    program = compile_program("oracle")
    small = tmp_path / "small"
    small.mkdir()
    copy = tmp_path / "copy.dat"
    start = (f"{harness.MEMOIR} run -o {small}/out.dat -- {program} 2 1000000" if mode == "run" else
             f"LD_PRELOAD={harness.LIBRARY} MEMORY_PROFILER_OUTPUT={small}/out.dat {program} "
             "2 1000000")
    run = in_namespace(f"mount -t tmpfs -o size=1m none {small} && {start}; s=$?; "
                       f"sleep 0.5; cp {small}/out.dat {copy}; exit $s")
    assert run.status == 0, run
    assert run.stdout.startswith(b'{"allocations"')
    assert os.path.getsize(copy) > 100000
    info = harness.flatten(harness.ask("info", "--json", str(copy)))
    assert info["truncated"]
    if mode == "run":
        assert b"memoir" in run.stderr, "nothing says that the disk was full"


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_read_only_file_system(compile_program, tmp_path, mode):
    """No place for the recording: the program runs on unrecorded, and one line says so."""
    if not harness.may_mount():
        pytest.skip("may not mount")
    program = compile_program("oracle")
    place = tmp_path / "ro"
    place.mkdir()
    start = (f"{harness.MEMOIR} run -o {place}/out.dat -- {program} 1 2000" if mode == "run" else
             f"LD_PRELOAD={harness.LIBRARY} MEMORY_PROFILER_OUTPUT={place}/out.dat "
             f"{program} 1 2000")
    run = in_namespace(f"mount -t tmpfs -o ro none {place} && {start}")
    if mode == "preload":
        assert run.status == 0, run
        assert run.stdout.startswith(b'{"allocations"')
    else:
        assert run.status in (0, 1)
    lines = [line for line in run.stderr.splitlines() if b"memoir" in line]
    assert len(lines) == 1, run


def test_output_is_private(compile_program, tmp_path):
    path = tmp_path / "out.dat"
    old = os.umask(0)
    try:
        harness.record([compile_program("empty")], str(path))
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o600


def test_output_pattern(compile_program, tmp_path):
    run = harness.execute([harness.MEMOIR, "run", "-o", "a_%e_%p_%n_%%.dat", "--",
                           compile_program("exits"), "exit"], cwd=tmp_path)
    assert run.status == 21
    names = os.listdir(tmp_path)
    assert len(names) == 1 and names[0].startswith("a_exits_") and names[0].endswith("_0_%.dat")


def test_default_name(compile_program, tmp_path):
    run = harness.execute([harness.MEMOIR, "run", compile_program("empty")], cwd=tmp_path)
    assert run.status == 0
    names = os.listdir(tmp_path)
    assert len(names) == 1 and names[0].startswith("memory-profiling_empty_")


def test_bad_option_value_is_said(compile_program, tmp_path):
    """In the environment: a warning with what is accepted, and the program runs."""
    run = harness.execute([compile_program("empty")], env={
        "LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat"),
        "MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE": "perhaps"})
    assert run.status == 0
    assert b"MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE" in run.stderr
    assert b"perhaps" in run.stderr


class TestCollector:
    """The process beside the program, killed, stopped, missing."""

    def start(self, program, path, mode):
        env = dict(harness.ENVIRONMENT)
        command = [program, "400000", "2", "10000"]
        if mode == "run":
            command = [harness.MEMOIR, "run", "-o", path, "--", *command]
        else:
            env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=path)
        return subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    @pytest.mark.parametrize("mode", ["run", "preload"])
    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM],
                             ids=["killed", "stopped", "terminated"])
    def test_lost_collector_never_hangs_the_program(self, compile_program, tmp_path, mode, number):
        path = str(tmp_path / "out.dat")
        started = time.monotonic()
        process = self.start(compile_program("flood"), path, mode)
        holder = None
        try:
            holder = harness.wait_for(lambda: [p for p in harness.holders(path)],
                                      what="a collector")[0]
            time.sleep(0.3)
            os.kill(holder, number)
            if mode == "run" and number == signal.SIGKILL:
                # The launcher is gone: its output pipe ends when the program ends.
                assert process.stdout.read() == b"done\n"
            elif mode == "run" and number == signal.SIGSTOP:
                # The program must end although its parent does not look.
                assert select.select([process.stdout], [], [], 60)[0], "the program hangs"
                os.kill(holder, signal.SIGCONT)
                assert process.communicate(timeout=60)[0] == b"done\n"
                assert process.returncode == 0
            elif mode == "run":
                # A launcher that is told to end passes it on, and ends as the program did.
                process.communicate(timeout=60)
                assert process.returncode == -signal.SIGTERM
            else:
                assert process.communicate(timeout=60)[0] == b"done\n"
                assert process.returncode == 0
            assert time.monotonic() - started < 60
            if number == signal.SIGSTOP:
                # Woken up again it finishes the file, which says how much it has missed.
                harness.kill(holder, signal.SIGCONT)
                harness.wait_finished(path)
                info = harness.flatten(harness.ask("info", "--json", path))
                assert info["lost_events"] > 0
                assert info["dropped_no_collector"] == info["lost_events"]
            if number == signal.SIGTERM:
                harness.wait_finished(path)
                info = harness.flatten(harness.ask("info", "--json", path))
                assert info["lost_events"] == 0
                assert info["allocations"] >= (800000 if mode == "preload" else 1)
        finally:
            if holder:
                harness.kill(holder, signal.SIGCONT)
                harness.kill(holder)
            process.kill()
            process.wait(10)

    def test_missing_collector(self, compile_program, tmp_path):
        run = harness.execute([compile_program("flood"), "100000"], env={
            "LD_PRELOAD": harness.LIBRARY, "MEMOIR_COLLECTOR": "/proc/nonexistent/collector",
            "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat")})
        assert run.status == 0
        assert run.stdout == b"done\n"
        assert len([line for line in run.stderr.splitlines() if b"memoir" in line]) == 1, run

    def test_collector_that_dies_at_once(self, compile_program, tmp_path):
        run = harness.execute([compile_program("flood"), "100000"], env={
            "LD_PRELOAD": harness.LIBRARY, "MEMOIR_COLLECTOR": "/bin/false",
            "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat")}, timeout=30)
        assert run.status == 0
        assert run.stdout == b"done\n"

    def test_collector_that_does_nothing(self, compile_program, tmp_path):
        """Alive, and never takes an event."""
        sleeper = tmp_path / "sleeper"
        sleeper.write_text("#!/bin/sh\nexec sleep 40 >/dev/null 2>&1\n")
        sleeper.chmod(0o755)
        run = harness.execute([compile_program("flood"), "1000000"], env={
            "LD_PRELOAD": harness.LIBRARY, "MEMOIR_COLLECTOR": str(sleeper),
            "MEMORY_PROFILER_OUTPUT": str(tmp_path / "out.dat")}, timeout=38)
        assert run.status == 0
        assert run.stdout == b"done\n"

    @pytest.mark.parametrize("script", ["x=$({}); echo \"$x\"", "{} | cat", "{} 2>&1 | cat",
                                        "{} > out.txt & wait; cat out.txt"],
                             ids=["substitution", "pipe", "both", "background"])
    def test_pipes_end_with_the_program(self, compile_program, tmp_path, script):
        """No descriptor of the program is kept open beyond its end."""
        command = (f"env LD_PRELOAD={harness.LIBRARY} MEMORY_PROFILER_OUTPUT={tmp_path}/out.dat "
                   f"{compile_program('flood')} 300000")
        run = harness.execute(["bash", "-c", script.format(command)], cwd=tmp_path, timeout=20)
        assert run.stdout == b"done\n"

    def test_collector_ends(self, compile_program, tmp_path):
        """When the program is gone, the collector finishes and goes too."""
        path = str(tmp_path / "out.dat")
        harness.record([compile_program("exits"), "exit"], path, mode="preload")
        harness.wait_for(lambda: not harness.holders(path), timeout=5, what="the collector's end")

    def test_collector_leaves_the_terminal(self, compile_program, tmp_path):
        """Its own session and group, no descriptor of the program, never its name in ps as a
        child."""
        path = str(tmp_path / "out.dat")
        process = self.start(compile_program("flood"), path, "preload")
        try:
            holder = harness.wait_for(lambda: harness.holders(path), what="a collector")[0]
            assert os.getsid(holder) != os.getsid(0)
            assert os.getpgid(holder) != os.getpgid(process.pid)
            links = harness.open_files(holder)
            assert not [link for link in links if link.startswith("pipe:")], links
            with open(f"/proc/{holder}/stat", encoding="ascii") as file:
                assert int(file.read().rsplit(")", 1)[1].split()[1]) != process.pid
        finally:
            process.kill()
            process.wait(10)

    def test_drop_is_counted(self, compile_program, record):
        """With when-full drop, what is missing is known exactly."""
        recording = record([compile_program("flood"), "1000000", "2"],
                           options=["--when-full", "drop", "--ring-events", "1024"])
        info = recording.info
        # pthread_create's own allocations are there too: at least, not exactly.
        assert info["events"] + info["lost_events"] >= 4000000
        assert info["events"] + info["lost_events"] <= 4000100


@pytest.mark.parametrize("child",
                         ["exec 7", "exec 1", "fork 7", "exec 7 adopts", "preloaded exec 7"])
def test_pipe_of_a_program_that_is_killed_while_it_starts(compile_program, tmp_path, child):
    """Its end is there as soon as the program is gone: no collector that is being started holds it
    open."""
    preloaded, *words = child.split() if child.startswith("preloaded") else ["", *child.split()]
    command = [compile_program("killed_early"), "100", *words]
    if preloaded:
        run = harness.execute(
            command, env={"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": f"{tmp_path}/",
                          "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1"})
    else:
        run = harness.execute(
            [harness.MEMOIR, "run", "-q", "--children", "-o", f"{tmp_path}/", "--", *command])
    caught, held = map(int, run.stdout.decode().replace(" held", "").split(" caught, "))
    assert run.status == 0 and caught and not held, run
