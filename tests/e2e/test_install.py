# SPDX-License-Identifier: MIT OR Apache-2.0
"""`make install` into a staging folder, and the tools run from there; which targets of the Makefile
may call apt-get, and what `make` says when something is missing."""
import json
import os
import re
import shutil
import subprocess
import urllib.request

import pytest

import harness
import shells

pytestmark = pytest.mark.xdist_group("staging")
# The others must never install anything.
INSTALLING = {"deps", "demo", "cross", "test", "test-quick", "test-arch", "test-long", "bench",
              "fuzz", "soak"}


def make(*words, check=True, **keywords):
    done = subprocess.run(["make", "--no-print-directory", *words], cwd=harness.ROOT,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300, **keywords)
    assert not check or done.returncode == 0, done.stdout[-3000:]
    return done


@pytest.fixture(scope="module")
def prefix():
    """The one that the build directory has: another would configure it anew under other tests."""
    rows = json.loads(subprocess.check_output(["meson", "introspect", "--buildoptions",
                                               harness.BUILD]))
    return next(row["value"] for row in rows if row["name"] == "prefix")


@pytest.fixture(scope="module")
def stage(prefix, tmp_path_factory):
    """The folder that stands for PREFIX."""
    folder = tmp_path_factory.mktemp("stage") / "with blank"
    make("install", f"BUILD={harness.BUILD}", f"DESTDIR={folder}", f"PREFIX={prefix}")
    return str(folder) + prefix


def files_below(folder):
    return {os.path.relpath(os.path.join(where, name), folder)
            for where, _, names in os.walk(folder) for name in names}


def test_everything_is_installed(stage):
    files = files_below(stage)
    library = next(f for f in files if f.endswith("/libmemoir.so")).removesuffix("/libmemoir.so")
    assert {"bin/memoir", "bin/memoir-gather", "bin/jemabs", "include/memoir.h",
            f"{library}/libmemoir-jemalloc.so", "libexec/memoir/memoir-collector",
            "libexec/memoir/memoir-replay", "share/bash-completion/completions/memoir",
            "share/zsh/site-functions/_memoir", "share/fish/vendor_completions.d/memoir.fish",
            "share/man/man1/memoir.1", "share/man/man1/memoir-run.1",
            "share/man/man7/memoir-filters.7", "share/doc/memoir/README.md",
            "share/doc/memoir/docs/http-api.md", "share/doc/memoir/LICENSE-MIT"} <= files
    sources = set(os.listdir(os.path.join(harness.ROOT, "docs", "man")))
    pages = {os.path.basename(f) for f in files if f.startswith("share/man/")}
    commands = {os.path.basename(f) for f in files if f.startswith("bin/")}
    assert pages == sources | {f"{name}.1" for name in commands}
    assert all(os.path.exists(os.path.join(stage, f)) for f in files)  # no link leads nowhere
    assert not [f for f in files if f.startswith("share/doc/memoir/docs/") and
                not f.endswith((".md", ".png"))]
    # Links between the documents lead somewhere.
    for name in (f for f in files if f.endswith(".md")):
        folder = os.path.dirname(os.path.join(stage, name))
        with open(os.path.join(stage, name), encoding="utf-8") as file:
            for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", file.read()):
                assert os.path.exists(os.path.join(folder, link)), (name, link)


def test_nothing_knows_where_it_was_built(stage):
    for name in files_below(stage):
        path = os.path.join(stage, name)
        if name.startswith(("share/", "include/")) or name.endswith(".pc"):
            with open(path, "rb") as file:
                text = file.read()
            assert os.fsencode(harness.ROOT) not in text and b"/with blank" not in text, name


@pytest.fixture
def installed(stage, tmp_path):
    """The same in a folder whose name LD_PRELOAD can take."""
    folder = tmp_path / "prefix"
    shutil.copytree(stage, folder, symlinks=True)
    return str(folder)


def environment(installed, tmp_path):
    return dict(harness.ENVIRONMENT, PATH=f"{installed}/bin:{harness.ENVIRONMENT['PATH']}",
                AUTOPKGTEST_TMP=str(tmp_path))


def test_tools(installed, tmp_path):
    """What Debian's test of the package does."""
    run = harness.execute([os.path.join(harness.ROOT, "debian", "tests", "record")],
                          env=environment(installed, tmp_path))
    assert run.status == 0 and re.search(rb"^peak \d{8}", run.stdout, re.M), run


def test_without_the_command(installed, tmp_path):
    """The library finds the collector in libexec."""
    library, = (f for f in files_below(installed) if f.endswith("/libmemoir.so"))
    run = harness.execute(["perl", "-e", "print 'ran'"], cwd=tmp_path, env={
        "LD_PRELOAD": os.path.join(installed, library), "MEMORY_PROFILER_OUTPUT": "perl.dat"})
    assert run.status == 0 and run.stdout == b"ran" and not run.stderr, run
    info = harness.execute([f"{installed}/bin/memoir", "info", "--wait", "perl.dat"], cwd=tmp_path)
    assert info.status == 0 and b"perl" in info.stdout, info


@pytest.mark.parametrize("place", ["lib", "lib64"])
def test_other_library_folders(installed, tmp_path, place):
    library, = (f for f in files_below(installed) if f.endswith("/libmemoir.so"))
    moved = os.path.join(installed, place, "memoir")
    if os.path.dirname(library) != f"{place}/memoir":
        os.makedirs(os.path.dirname(moved), exist_ok=True)
        os.rename(os.path.join(installed, os.path.dirname(library)), moved)
    run = harness.execute([f"{installed}/bin/memoir", "run", "-o", tmp_path / "x.dat", "true"])
    assert run.status == 0 and b"recorded" in run.stderr, run


def test_page(installed, tmp_path):
    with subprocess.Popen([f"{installed}/bin/memoir", "server", "-p", "0"], text=True,
                          env=environment(installed, tmp_path), stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as server:
        try:
            address = server.stdout.readline().strip()
            with urllib.request.urlopen(address, timeout=30) as answer:
                page = answer.read().decode()
            script, = set(re.findall(r'src="/?([^"]+\.js)"', page))
            with urllib.request.urlopen(f"{address.rstrip('/')}/{script}", timeout=30) as answer:
                assert len(answer.read()) > 10000
        finally:
            server.terminate()


@pytest.mark.parametrize("kind", shells.ALL, ids=lambda shell: shell.name)
def test_completion(installed, tmp_path, kind):
    work = tmp_path / "work"
    work.mkdir()
    shell = kind(str(work), os.path.join(installed, "share"), os.path.join(installed, "bin"))
    try:
        assert set(shell.offers("memoir rep")) == {"repack", "replay", "report"}
    finally:
        shell.close()


def test_header(installed, tmp_path):
    """memoir.pc leads to the header, and to what can be preloaded."""
    pc, = (f for f in files_below(installed) if f.endswith("memoir.pc"))

    def asked(*words):
        return subprocess.check_output(
            ["pkg-config", f"--define-variable=prefix={installed}", *words,
             os.path.join(installed, pc)], text=True).strip()
    (tmp_path / "mark.c").write_text("#include <memoir.h>\n"
                                     "int main(void) { memoir_set_marker(1); return 0; }\n")
    subprocess.check_call(["gcc", *asked("--cflags", "--libs").split(), "-o", tmp_path / "mark",
                           tmp_path / "mark.c"])
    assert harness.execute([tmp_path / "mark"]).status == 0
    assert os.path.exists(asked("--variable=preload"))
    assert os.path.exists(asked("--variable=agent"))


def test_uninstall(prefix, tmp_path):
    make("install", f"BUILD={harness.BUILD}", f"DESTDIR={tmp_path}", f"PREFIX={prefix}")
    assert len(files_below(tmp_path)) > 60
    make("uninstall", f"BUILD={harness.BUILD}")
    assert files_below(tmp_path) == set()


def test_targets_that_install(tmp_path):
    with open(os.path.join(harness.ROOT, "Makefile"), encoding="utf-8") as file:
        targets = set(re.findall(r"^([a-z-]+):", file.read(), flags=re.M))
    assert INSTALLING <= targets and {"all", "install", "format"} <= targets
    for target in targets:
        plan = make("-n", target, f"BUILD={tmp_path}/none", check=False).stdout
        plan = re.sub(r"scripts/install-deps --say", "", plan)
        assert ("install-deps" in plan or "apt-get" in plan) == (target in INSTALLING), target


@pytest.fixture
def bare(tmp_path):
    """An environment in which no package is installed, and apt-get only notes its call."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in (("dpkg-query", "exit 1"), ("meson", "echo no libdw >&2; exit 1"),
                       ("apt-get", f"echo \"$@\" >>{tmp_path}/called")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    # The tests themselves may be run by make.
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return dict(own, PATH=f"{folder}:{os.environ['PATH']}")


def test_make_says_what_is_missing(bare, tmp_path):
    done = make(f"BUILD={tmp_path}/build", check=False, env=bare)
    lines = done.stdout.splitlines()
    assert done.returncode and not (tmp_path / "called").exists()
    said, = (line for line in lines if "make deps" in line)
    assert said.startswith("make deps installs what is missing: build-essential meson")
    assert "libdw-dev" in said and lines[-1].startswith("make: ***")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("target", ["deps", "test-long"])
def test_make_says_that_it_installs(bare, tmp_path, target):
    done = make(target, f"BUILD={tmp_path}/build", "PYTHON=true", check=False, env=bare)
    assert done.stdout.startswith("installing Debian packages with apt-get: build-essential")
    called = (tmp_path / "called").read_text().splitlines()
    assert called[0].startswith("update") and "libdw-dev" in called[1]
    assert ("zsh" in called[1]) == (target == "test-long")
