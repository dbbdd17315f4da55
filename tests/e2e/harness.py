# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recording a program and looking at what was recorded.

Everything that knows how `memoir` is called and what its JSON looks like is here; tests say what
they expect and nothing else.
"""
import functools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.abspath(os.environ.get("MEMOIR_BUILD", os.path.join(ROOT, "build")))
MEMOIR = os.path.join(BUILD, "memoir")
LIBRARY = os.path.join(BUILD, "libmemoir.so")
COLLECTOR = os.path.join(BUILD, "memoir-collector")
PROGRAMS = os.path.join(HERE, "programs")
# The one without windows takes a third of the time for each page that is opened.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

# What a program under test sees of the environment: little, and always the same.  Nobody can make
# this home.
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/dev/null/home", "LANG": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "USER": "nobody",
}
# Lets SIGUSR1 and SIGUSR2 switch recording under `memoir run` too.
SIGNALS = {"MEMORY_PROFILER_REGISTER_SIGUSR1": "1", "MEMORY_PROFILER_REGISTER_SIGUSR2": "1"}
TRAILER = b"MEMOIRix"
TIMEOUT = 60


class Run:
    """What a program did."""

    def __init__(self, status, stdout, stderr, seconds):
        self.status, self.stdout, self.stderr, self.seconds = status, stdout, stderr, seconds

    @property
    def own_stderr(self):
        """stderr without the lines that are Memoir's."""
        return b"".join(line for line in self.stderr.splitlines(True)
                        if not line.startswith((b"memoir:", b"memoir ", b"  memoir ")))

    def __repr__(self):
        return f"status {self.status}, stdout {self.stdout[-500:]!r}, stderr {self.stderr[-500:]!r}"


def own_agents(env):
    """The same environment, in which memoir sees the agents of its own run-time folder only, not
    who else runs."""
    if "XDG_RUNTIME_DIR" not in env:
        return dict({"MEMOIR_AGENT_FOLDER": "/proc/nonexistent"}, **env)
    return dict({"MEMOIR_AGENT_FOLDER": os.path.join(env["XDG_RUNTIME_DIR"], "memoir")}, **env)


def execute(command, env=None, cwd=None, stdin=b"", timeout=TIMEOUT, **keywords):
    """Runs a command in a small environment.  A hang is a failure with the output so far."""
    full = dict(ENVIRONMENT, **(env or {}))
    start = time.monotonic()
    process = subprocess.Popen(command, env=full, cwd=cwd, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **keywords)
    try:
        out, err = process.communicate(stdin, timeout=timeout)
    except subprocess.TimeoutExpired:
        for pid in [*descendants(process.pid), process.pid]:
            kill(pid)
        out, err = process.communicate(timeout=10)
        raise AssertionError(f"hangs: {command}: {out[-500:]!r} {err[-500:]!r}") from None
    return Run(process.returncode, out, err, time.monotonic() - start)


def descendants(pid):
    """The processes below this one, those of its children first."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found += [*descendants(child), child]
    except OSError:
        pass
    return found


class Recording:
    """A recorded run, and what Memoir says about it."""

    def __init__(self, path, run):
        self.path, self.run = path, run
        self.status, self.stdout, self.stderr = run.status, run.stdout, run.stderr

    @functools.cached_property
    def info(self):
        """`memoir info --json`, flattened: the last part of each key, counters included."""
        return flatten(ask("info", "--json", self.path))

    @functools.cached_property
    def stacks(self):
        return stacks_of(self.path)

    def total(self, function):
        """Sums over the allocation stacks in which a function of this name occurs."""
        chosen = [s for s in self.stacks if function in s["functions"]]
        return {
            "allocations": sum(s["allocations"] for s in chosen),
            "allocated_bytes": sum(s["allocated_bytes"] for s in chosen),
            "leaked_count": sum(s["leaked_count"] for s in chosen),
            "leaked_bytes": sum(s["leaked_bytes"] for s in chosen),
        }

    def by_size(self):
        """{size: [functions, …]} of stacks that allocated blocks of one size only."""
        found = {}
        for s in self.stacks:
            if s["allocations"] and s["allocated_bytes"] % s["allocations"] == 0:
                found.setdefault(s["allocated_bytes"] // s["allocations"], []).append(
                    s["functions"])
        return found


def ask(*arguments, timeout=TIMEOUT):
    done = execute([MEMOIR, *arguments], timeout=timeout)
    assert done.status == 0, f"memoir {' '.join(arguments)}: {done}"
    return json.loads(done.stdout)


def stacks_by_size(path, first, last):
    """{size: {stack, …}} of the single allocations of these sizes; functions innermost first."""
    found = {}
    for a in ask("allocations", "--json", "-F", f"size >= {first} and size <= {last}",
                 path)["allocations"]:
        found.setdefault(a["size"], set()).add(tuple(map(plain_name, a["backtrace"][::-1])))
    return found


def flatten(value, into=None):
    into = {} if into is None else into
    for key, item in value.items():
        if isinstance(item, dict):
            flatten(item, into)
        elif key not in into:
            into[key] = item
    return into


def plain_name(frame):
    """A frame's function without arguments: "shop::one<long>(long)" gives "shop::one<long>"."""
    name = frame if isinstance(frame, str) else (frame.get("function") or frame.get("name") or "?")
    return re.sub(r"\(.*$", "", name)


def stacks_of(path):
    """[{functions (innermost first), allocations, allocated_bytes, leaked_count, leaked_bytes}]"""
    top = tops_of(path)
    leaks = {s["backtrace_id"]: s for s in top["leaked"]}
    none = {"bytes": 0, "count": 0}
    return [{
        "functions": [plain_name(f) for f in s["backtrace"][::-1]],
        "frames": s["backtrace"][::-1],
        "allocations": s["count"],
        "allocated_bytes": s["bytes"],
        "leaked_count": leaks.get(s["backtrace_id"], none)["count"],
        "leaked_bytes": leaks.get(s["backtrace_id"], none)["bytes"],
    } for s in top["allocated"]]


def tops_of(path, *options):
    """Every stack of the report with all of its frames, outermost first."""
    return ask("report", "--json", "--by", "stack", "--no-verdicts", "--backtraces", "--top",
               "100000000",
               *options,
               path)["top"]


def wait_finished(path, timeout=30):
    """Waits until the collector has written the end of the file."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            with open(path, "rb") as file:
                file.seek(-len(TRAILER), os.SEEK_END)
                if file.read() == TRAILER:
                    return
        except OSError:
            pass
        time.sleep(0.01)
    raise AssertionError(f"not finished after {timeout} s: {path}")


def record(command, path, mode="run", preload=(), after=(), env=None, options=(), finished=True,
           **keywords):
    """Records a command.

    mode run: `memoir run`; preload: LD_PRELOAD only, with `preload` before and `after` behind the
    recorder.  Returns a Recording; `finished` waits for the collector's last word.
    """
    env = dict(env or {})
    if mode == "run":
        assert not preload and not after
        run = execute([MEMOIR, "run", "-o", path, *options, "--", *command], env=env, **keywords)
    else:
        env["LD_PRELOAD"] = ":".join([*preload, LIBRARY, *after])
        env["MEMORY_PROFILER_OUTPUT"] = path
        run = execute(command, env=env, **keywords)
    if finished:
        if not os.path.exists(path) and mode == "run":
            raise AssertionError(f"no recording: {run}")
        wait_finished(path)
    return Recording(path, run)


def open_files(pid):
    """What a process's descriptors point to; one that it closes meanwhile is left out."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return links


def holders(path):
    """Processes that have this file open."""
    real = os.path.realpath(path)
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if real in open_files(pid):
                found.append(int(pid))
        except OSError:
            continue
    return found


def wait_for(condition, timeout=20, what="the condition"):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"{what}: not within {timeout} s")


def read_counts(path):
    """What countlib.c counted."""
    names = ("allocations", "deallocations", "reallocations", "realloc_freed", "allocated_bytes",
             "failed")
    with open(path, "rb") as file:
        return dict(zip(names, struct.unpack("6Q", file.read(48))))


def may_mount():
    """May this process make a mount namespace of its own?"""
    return subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
