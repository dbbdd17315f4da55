# SPDX-License-Identifier: MIT OR Apache-2.0
"""Other people's test suites and programs, as Debian has them, run plainly and under the recorder.

SUITES is what docs/compatibility.md has a row for each of: tests/policy/compatibility.py compares
the two. A suite's outcomes are a dictionary {name of a test: outcome}; those under the recorder
must be those of the plain run.  test_foreign.py runs them and leaves what came out in
build/compatibility/, from which scripts/compatibility makes the table."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile

import harness

# How the recorder gets into a program.
MODES = {"run": "`memoir run`", "preload": "`LD_PRELOAD`", "children": "`memoir run --children`"}
RESULTS = os.path.join(harness.BUILD, "compatibility")
TIMEOUT = 900

Suite = collections.namedtuple("Suite", "title package long run modes", defaults=[tuple(MODES)])


class Missing(Exception):
    """What the suite needs is not on this machine."""


class How:
    """A way to start a program: plainly (mode None), or with the recorder by one of MODES."""

    def __init__(self, mode, folder, build=None):
        self.mode, self.folder = mode, str(folder)
        self.build = build

    @property
    def pattern(self):
        return os.path.join(self.folder, "recordings", "%p.dat")

    @property
    def prefix(self):
        if self.mode in (None, "preload"):
            return []
        children = ["--children"] if self.mode == "children" else []
        return [harness.MEMOIR, "run", "-q", *children, "-o", self.pattern, "--"]

    @property
    def env(self):
        if self.mode != "preload":
            return {}
        return {"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": self.pattern}

    def run(self, command, **keywords):
        os.makedirs(os.path.join(self.folder, "recordings"), exist_ok=True)
        env = dict(keywords.pop("env", {}), **self.env)
        return harness.execute([*self.prefix, *command], env=env,
                               cwd=keywords.pop("cwd", self.folder),
                               timeout=TIMEOUT, **keywords)

    def recordings(self):
        return glob.glob(os.path.join(self.folder, "recordings", "*.dat"))


def need(*programs):
    for name in programs:
        if not shutil.which(name, path=harness.ENVIRONMENT["PATH"]):
            raise Missing(f"no {name}")


def as_outcome(done):
    """A program's own outcome: its status and what it said."""
    return {"status": done.status, "stdout": done.stdout.decode(errors="replace"),
            "stderr": done.own_stderr.decode(errors="replace")}


def cpython(name):
    def run(how):
        need("python3.11")
        if not os.path.exists(f"/usr/lib/python3.11/test/{name}.py"):
            raise Missing("no libpython3.11-testsuite")
        done = how.run(["/usr/bin/python3.11", "-m", f"test.{name}", "-v"],
                       env={"HOME": how.folder})
        found = {"status": done.status}
        # A child may print between a test's name and its outcome.
        for line in re.split(r"\n(?=test\w* \()", done.own_stderr.decode(errors="replace")):
            test = re.match(r"test\w* \(([\w.]+)\)", line)
            outcome = re.search(r"(?:\.\.\. |^)(ok|skipped '.*'|skipped "
                                r"\".*\"|FAIL|ERROR|expected failure)$", line, re.M)
            if test:
                found[test[1]] = outcome[1] if outcome else "none"
        return found
    return run


REDIS_UNITS = ("unit/auth", "unit/type/string", "unit/type/list", "unit/expire", "unit/keyspace",
               "unit/scan",
               "unit/pubsub", "integration/aof", "integration/rdb")


def redis(how):
    """Its tests, from Debian's source, with Debian's redis-server."""
    need("tclsh", "redis-server", "redis-cli")
    # Not in the test's folder: its servers' sockets would have names longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        return redis_in(how, folder)


def redis_in(how, folder):
    try:
        source = subprocess.run(
            [os.path.join(harness.ROOT, "scripts/debian-source"), "redis", folder],
                                capture_output=True, text=True, timeout=300,
            check=True).stdout.split()[-1]
    except (subprocess.SubprocessError, OSError) as error:
        raise Missing(f"no source of redis: {error}") from None
    os.makedirs(f"{source}/src", exist_ok=True)
    for name in ("redis-server", "redis-cli", "redis-benchmark", "redis-check-aof",
                 "redis-check-rdb"):
        os.symlink(f"/usr/bin/{name}", f"{source}/src/{name}")
    units = [word for unit in REDIS_UNITS for word in ("--single", unit)]
    port = 21000 + 1000 * ([None, *MODES].index(how.mode))
    done = how.run(["tclsh", "tests/test_helper.tcl", "--clients", "2", "--tags", "-large-memory",
                    "--baseport", str(port),
                    *units], cwd=source)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode(errors="replace"))
    found = collections.Counter(
        re.findall(r"^\[((?:ok|err|exception|skip|ignore)\]: .*?)(?: \(\d+ ms\))?$", text, re.M))
    return {"status": done.status, **found}


def cgo(how):
    need("go", "gcc")
    source = os.path.join(harness.PROGRAMS, "cgo.go")
    env = dict(os.environ, GO111MODULE="off", GOCACHE=f"{how.build}/go-cache", HOME=how.folder)
    subprocess.run(["go", "build", "-o", f"{how.folder}/cgo", source], env=env, check=True,
                   timeout=300)
    return as_outcome(how.run([f"{how.folder}/cgo"]))


def musl(*commands):
    """Each command with {} for the program; under LD_PRELOAD only its parents can be asked not to
    hand it on."""
    def run(how):
        need("musl-gcc")
        program = f"{how.folder}/with-musl"
        subprocess.run(["musl-gcc", "-w", "-O1", "-o", program,
                        os.path.join(harness.PROGRAMS, "musl.c")], check=True)
        return ({" ".join(words): as_outcome(
            how.run([word.replace("{}", program) for word in words])) for words in commands})
    return run


# What a container's program does: memory, a child, an end with a status of its own.
INSIDE = ["sh", "-c", "seq 3000 | sort -rn | tail -1; exit 5"]


def bubblewrap(how):
    need("bwrap")
    box = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid",
           "--die-with-parent"]
    if subprocess.run([*box, "true"], capture_output=True).returncode:
        raise Missing("bwrap may not make namespaces here")
    return as_outcome(how.run([*box, *INSIDE]))


def tini(how):
    need("tini")
    return as_outcome(how.run(["tini", "-s", "--", *INSIDE]))


SUITES = {
    "cpython-fork1": Suite("CPython's test_fork1", "libpython3.11-testsuite", False,
                           cpython("test_fork1")),
    "cpython-threading": Suite("CPython's test_threading", "libpython3.11-testsuite", True,
                               cpython("test_threading")),
    "cpython-signal": Suite("CPython's test_signal", "libpython3.11-testsuite", True,
                            cpython("test_signal")),
    "cpython-subprocess": Suite("CPython's test_subprocess", "libpython3.11-testsuite", True,
                                cpython("test_subprocess")),
    "cpython-multiprocessing": Suite("CPython's test_multiprocessing_fork",
                                     "libpython3.11-testsuite", True,
                                     cpython("test_multiprocessing_fork")),
    "redis": Suite("redis's own tests: " + ", ".join(REDIS_UNITS), "redis-server", True, redis),
    "cgo": Suite("a Go program with cgo", "golang-go", False, cgo),
    "musl": Suite("a program of musl's", "musl-tools", False, musl(["{}"]), ("run", "children")),
    "musl-behind": Suite("a program of musl's behind `env` and shells", "musl-tools", False,
                         musl(["env", "{}"], ["sh", "-c", "{}; echo $?"], ["sh", "-c", "exec {}"])),
    "bubblewrap": Suite("a shell in a PID namespace of bubblewrap's", "bubblewrap", False,
                        bubblewrap),
    "tini": Suite("a shell below tini", "tini", False, tini),
}


def differences(plain, recorded):
    return {name: (plain.get(name), recorded.get(name)) for name in {**plain, **recorded}
            if plain.get(name) != recorded.get(name)}


def package_version(package):
    done = subprocess.run(["dpkg-query", "-Wf", "${Version}", package], capture_output=True,
                          text=True)
    return done.stdout


def note(name, mode, plain, recorded, recordings):
    """Leaves what came out for scripts/compatibility."""
    os.makedirs(RESULTS, exist_ok=True)
    result = {"suite": name, "mode": mode, "version": package_version(SUITES[name].package),
              "outcomes": len([k for k in plain if k != "status"]) if "stdout" not in plain else 1,
              "different": sorted(map(str, differences(plain, recorded))),
              "recorded": bool(recordings)}
    path = os.path.join(RESULTS, f"{name}.{mode}.json")
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.rename(f"{path}.part", path)
