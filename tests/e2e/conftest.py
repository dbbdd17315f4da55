# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fixtures: compiling test programs once a session, recording them into the test's own folder."""
import hashlib
import os
import re
import shutil
import subprocess

import pytest

import surroundings  # before anything that looks at the environment

pytest.register_assert_rewrite("arch_cases")

import agent
import harness
import jemalloc_521


def pytest_configure(config):
    surroundings.restore_signals()
    config.addinivalue_line("markers", "slow: left out by make test-quick")
    config.addinivalue_line("markers", "long: left out by make test, run by make test-long")
    config.addinivalue_line("markers", "arch: run by make test-arch, for each processor")
    config.addinivalue_line("markers", "soak: depends on timing; repeated by make soak")
    if not hasattr(config, "workerinput") and not os.path.exists(harness.MEMOIR):
        raise pytest.UsageError(f"no {harness.MEMOIR}: build first, or set MEMOIR_BUILD")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Browser tests first: they are one group, so one worker has them all, and would end last."""
    def rank(item):
        mark = item.get_closest_marker("xdist_group")
        return 0 if mark and "browser" in mark.args else 1
    items.sort(key=rank)


def pytest_runtest_logreport(report):
    """Names of failed tests for scripts/test, which runs them once more alone."""
    path = os.environ.get("MEMOIR_TESTS_FAILED")
    if path and report.failed and not os.environ.get("PYTEST_XDIST_WORKER"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(re.sub(r"@[\w-]+$", "", report.nodeid) + "\n")


@pytest.fixture(scope="session")
def program_cache(tmp_path_factory):
    """A folder that all workers share: a program is compiled by whoever needs it first."""
    base = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):
        base = base.parent
    cache = base / "programs"
    cache.mkdir(exist_ok=True)
    return cache


@pytest.fixture(scope="session")
def compile_program(program_cache):
    """compile_program(name, compiler="gcc", flags=("-O2",), libraries=()) gives the program's path.

    Names end in .so for libraries; the source is programs/<name>.c or .cpp.
    """
    def build(name, compiler="gcc", flags=("-O2",), source=None, libraries=()):
        stem = name[:-3] if name.endswith(".so") else name
        source = os.path.join(harness.PROGRAMS, source or stem + ".c")
        if not os.path.exists(source):
            source = os.path.join(harness.PROGRAMS, stem + ".cpp")
        if shutil.which(compiler) is None:
            pytest.skip(f"no {compiler}")
        with open(source, "rb") as file:
            text = file.read()
        key = hashlib.sha256(repr((text, compiler, flags, libraries)).encode()).hexdigest()[:16]
        folder = program_cache / key
        output = folder / name
        if not output.exists():
            folder.mkdir(exist_ok=True)
            cxx = source.endswith(".cpp")
            command = [{"gcc": "g++", "clang": "clang++"}[compiler] if cxx else compiler,
                       "-std=c++17" if cxx else "-std=gnu17", "-g", "-w", "-D_GNU_SOURCE",
                       "-pthread",
                       *(["-fsized-deallocation"] if cxx else ["-fno-builtin"]),
                       *flags, *(["-shared", "-fPIC"] if name.endswith(".so") else []),
                       source, *libraries, "-o", f"{output}.{os.getpid()}", "-ldl"]
            subprocess.run(command, check=True, cwd=harness.PROGRAMS)
            # Another worker may have been first, and be running it: that one stays.
            try:
                os.link(f"{output}.{os.getpid()}", output)
            except FileExistsError:
                pass
            os.unlink(f"{output}.{os.getpid()}")
        return str(output)
    return build


@pytest.fixture
def record(tmp_path):
    """record(command, …): see harness.record; the file is in the test's folder."""
    def run(command, **keywords):
        path = str(tmp_path / keywords.pop("name", "out.dat"))
        return harness.record(list(map(str, command)), path, **keywords)
    return run


@pytest.fixture
def compare(tmp_path, record):
    """Runs a command without and with the recorder: same stdout, same stderr, same status."""
    def run(command, mode="run", env=None, finished=True, **keywords):
        command = list(map(str, command))
        execution = {k: keywords[k] for k in ("cwd", "stdin", "timeout") if k in keywords}
        plain = harness.execute(command, env=env, **execution)
        recorded = record(command, mode=mode, env=env, finished=finished, **keywords)
        assert recorded.stdout == plain.stdout
        assert recorded.run.own_stderr == plain.stderr, f"{recorded.run}"
        assert recorded.status == plain.status, f"{recorded.run}"
        return recorded
    return run


@pytest.fixture(scope="session")
def jemalloc_521_libraries():
    """jemalloc 5.2.1 by prefix, "" and je_."""
    try:
        return jemalloc_521.libraries()
    except jemalloc_521.Missing as missing:
        pytest.skip(f"no jemalloc 5.2.1: {missing}")


@pytest.fixture(params=["debian", "5.2.1"])
def each_jemalloc(request, monkeypatch):
    """The test is run with each jemalloc preloaded into its targets; gives the library."""
    if request.param == "5.2.1":
        monkeypatch.setattr(agent.Target, "library",
                            request.getfixturevalue("jemalloc_521_libraries")[""])
    return agent.Target.library


@pytest.fixture(scope="session")
def family(compile_program, tmp_path_factory):
    """A folder of a process and its child."""
    folder = tmp_path_factory.mktemp("family")
    done = harness.execute([harness.MEMOIR, "run", "--children", "-q", "-o", f"{folder}/", "--",
                            compile_program("family"), "fork"])
    assert done.status == 0, done
    return str(folder)
