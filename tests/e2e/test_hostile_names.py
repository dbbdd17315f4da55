# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names that would command a terminal: symbols, programs, threads, files; and names of outputs that
are traps."""
import os
import pty
import signal
import stat
import subprocess
import time

import pytest

import another_user
import harness
from another_user import needs_root

PLAIN = b"evil_name_0000"
EVIL = b"evil\x1b[31m\x9b2J\xc2\x9b"
assert len(PLAIN) == len(EVIL)
STYLES = [b"\x1b[0m", b"\x1b[1;36m", b"\x1b[1m", b"\x1b[2m", b"\x1b[33m", b"\x1b[32m",
          b"\x1b[1;33m", b"\x1b[K"]
SOURCE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
void *volatile kept;
__attribute__((noinline)) void evil_name_0000(int n) { for (int i = 0; i < 200; i++) { kept = malloc(n + i); if (i % 3) free(kept); } }
static void *run(void *unused) { prctl(PR_SET_NAME, "t\\033[31m\\x9b" "2J\\xc2\\x9b"); evil_name_0000(1000); return unused; }
int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); pthread_join(t, 0); evil_name_0000(5000); return 0; }
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "evil_name_0000.c").write_text(SOURCE)
    plain = folder / "plain"
    subprocess.run(["gcc", "-g", "-O0", "-pthread", "evil_name_0000.c", "-o", plain], cwd=folder,
                   check=True)
    program = os.path.join(os.fsencode(folder), b"prog" + EVIL)
    with open(program, "wb") as file:
        file.write(plain.read_bytes().replace(PLAIN, EVIL))
    os.chmod(program, 0o755)
    path = str(folder / "out.dat")
    done = harness.execute([harness.MEMOIR, "run", "-o", path, "--", program])
    assert done.status == 0 and b"\x1b" not in done.stderr and b"\x9b" not in done.stderr, done
    return path


def harmful(text):
    """What is left of a text that would be an order."""
    for style in STYLES:
        text = text.replace(style, b"")
    found = [b for b in (b"\x1b", b"\x9b2J", b"\xc2\x9b", b"\x07") if b in text]
    return found and (found, text[max(0, text.find(found[0]) - 100):][:300])


def on_terminal(command, env=None):
    """What a command writes to a terminal."""
    pid, fd = pty.fork()
    if not pid:
        os.execvpe(command[0], command, dict(harness.ENVIRONMENT, TERM="xterm", **(env or {})))
    out = b""
    try:
        while piece := os.read(fd, 65536):
            out += piece
    except OSError:
        pass
    os.waitpid(pid, 0)
    os.close(fd)
    return out


COMMANDS = [("info",), ("info", "--json"), ("report",), ("leaks",), ("tree",),
            ("groups", "--by", "function"), ("groups", "--by", "thread"),
            ("groups", "--by", "module"), ("timeline",), ("allocations",), ("histogram", "size"),
            ("maps",), ("fragmentation",), ("address-space",), ("sources",), ("analyze-size",),
            ("report", "--json"), ("tree", "--json"), ("export", "collapsed"), ("export", "csv"),
            ("export", "heaptrack"), ("export", "json")]
DATA = ("collapsed", "csv", "heaptrack")  # formats whose names are what they are, but on a terminal


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_name_commands_a_terminal(recording, words):
    command = [harness.MEMOIR, *words, *(("-o", "-") if words[0] == "export" else ()), recording]
    done = harness.execute(command)
    shown = on_terminal(command)
    assert done.status == 0, done
    assert shown and not harmful(shown.replace(b"\r\n", b"\n").replace(b"\r", b"")), harmful(shown)
    if words[-1] not in DATA:
        assert not harmful(done.stdout), harmful(done.stdout)
    assert not harmful(done.stderr)


@pytest.mark.parametrize("words", [
    ("info", b"no" + EVIL), ("report", b"no" + EVIL), (b"no" + EVIL,),
    ("export", b"no" + EVIL, "x"), ("server", b"no\x1b]31m\x9b2J\xc2\x9b"),
    ("jemalloc", "stats", b"no" + EVIL), ("jemalloc", "heap", b"no" + EVIL),
    ("jemalloc", "log", b"no" + EVIL), ("jemalloc", b"no" + EVIL),
    ("gather", b"no" + EVIL), ("run", b"./no" + EVIL), ("diff", b"no" + EVIL, b"no" + EVIL),
    ("strip", "-o", b"out" + EVIL, b"no" + EVIL),
    ("info", b"--no" + EVIL), ("jemalloc", "ctl", "unix:/no" + "\x1b[31m", "status"),
])
def test_no_error_commands_a_terminal(words, tmp_path):
    done = harness.execute([harness.MEMOIR, *words], cwd=tmp_path)
    assert done.status and done.stderr and not harmful(done.stderr + done.stdout), done
    assert b"no" in done.stderr
    assert not harmful(on_terminal([harness.MEMOIR, *words]).replace(b"\r\n", b"\n"))


def test_texts_of_jemalloc_do_not_command_a_terminal(tmp_path):
    stats = tmp_path / "stats.json"
    stats.write_bytes(b'{"jemalloc":{"version":"5.3.0' + b"\\u001b[31m\xc2\x9b" +
                      b'","config":{"malloc_conf":"x\\u001b]0;y\\u0007"},"opt":{"a\\u001b[31m":"\\u009b2J"}}}')
    heap = tmp_path / "out.heap"
    heap.write_bytes(b"heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1000 0x2000\n  t*: 1: 100 [0: "
                     b"0]\n\nMAPPED_LIBRARIES:\n00001000-00003000 r-xp 00000000 00:00 1 /no" +
                     EVIL + b"\n")
    for words in (("stats", stats), ("heap", "--text", heap), ("heap", "--raw", heap),
                  ("heap", "--lines", heap), ("heap", "--tree", heap)):
        command = [harness.MEMOIR, "jemalloc", *map(str, words)]
        done = harness.execute(command)
        assert not harmful(done.stderr)
        if words[1] != "--raw":
            assert not harmful(done.stdout), harmful(done.stdout)
        assert not harmful(on_terminal(command).replace(b"\r\n", b"\n"))


# Names of outputs

def outputs(recording, tmp_path, path):
    """Everything that writes to a name that a user gives."""
    echo = ["true"]
    return [[harness.MEMOIR, "run", "-o", path, "--", *echo],
            [harness.MEMOIR, "export", "csv", "-o", path, recording],
            [harness.MEMOIR, "export", "html", "-o", path, recording],
            [harness.MEMOIR, "strip", "-o", path, recording],
            [harness.MEMOIR, "repack", "-o", path, recording],
            [harness.MEMOIR, "run", "--log", "info", "--logfile", path, "-o",
             f"{tmp_path}/other.dat", "--", *echo]]


@needs_root
def test_a_link_of_another_user_is_not_followed(recording, tmp_path):
    """Neither in a folder for all, nor elsewhere: what it leads to stays as it is."""
    precious = tmp_path / "precious"
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    for number, command in enumerate(outputs(recording, tmp_path, str(shared / "LINK"))):
        precious.write_text("precious")
        link = shared / f"link{number}"
        link.symlink_to(precious)
        os.chown(link, another_user.NOBODY, another_user.NOBODY, follow_symlinks=False)
        command = [word.replace("LINK", link.name) for word in command]
        done = harness.execute(command)
        assert precious.read_text() == "precious", command
        # A file that is put in place as a whole takes the link's place, and harms nothing.
        assert (b"of another user" in done.stderr or not link.is_symlink()
                or "--logfile" in command), (command, done)


def test_a_link_of_ones_own_is_followed(recording, tmp_path):
    for number, kind in enumerate(("run", "strip")):
        target = tmp_path / f"target{number}"
        target.write_text("old")
        (tmp_path / "a").mkdir(exist_ok=True)
        link = tmp_path / "a" / f"link{number}"
        link.symlink_to(f"../target{number}")
        words = ["run", "-o", str(link), "--", "true"] if kind == "run" else [
            "strip", "-o", str(link), recording]
        done = harness.execute([harness.MEMOIR, *words])
        assert done.status == 0, done
        assert link.is_symlink() and target.read_bytes().startswith(b"MEMOIR"), kind


def test_dev_null_can_be_used_twice(compile_program):
    """Two at a time: nobody's recording is in it."""
    programs = [subprocess.Popen([harness.MEMOIR, "run", "-o", "/dev/null", "--", "sleep", "1"],
                                 env=harness.ENVIRONMENT,
                                 stderr=subprocess.PIPE) for _ in range(2)]
    for program in programs:
        assert (b"being written" not in program.communicate(timeout=60)[1]
                and program.returncode == 0)


@pytest.mark.parametrize("what", ["export", "run", "preload"])
def test_a_pipe_that_nobody_reads(recording, tmp_path, what):
    """It is not waited for for ever, and a signal ends that."""
    fifo = str(tmp_path / "pipe")
    os.mkfifo(fifo)
    env = dict(harness.ENVIRONMENT)
    words = {"export": [harness.MEMOIR, "export", "csv", "-o", fifo, recording],
             "run": [harness.MEMOIR, "run", "-o", fifo, "--", "true"],
             "preload": ["true"]}[what]
    if what == "preload":
        env.update(LD_PRELOAD=harness.LIBRARY, MEMORY_PROFILER_OUTPUT=fifo)
    process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE)
    _, error = process.communicate(timeout=40)
    assert b"nobody reads from this pipe" in error, error
    assert process.returncode == (0 if what == "preload" else 1)
    if what == "preload":
        return
    process = subprocess.Popen(words, env=env, stderr=subprocess.PIPE)
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    start = time.monotonic()
    process.communicate(timeout=40)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("what", ["export", "run"])
def test_a_pipe_that_is_read_later(recording, tmp_path, what):
    fifo = str(tmp_path / "pipe")
    os.mkfifo(fifo)
    words = [harness.MEMOIR, "export", "csv", "-o", fifo, recording] if what == "export" else [
        harness.MEMOIR, "run", "-o", fifo, "--", "true"]
    process = subprocess.Popen(words, env=harness.ENVIRONMENT, stderr=subprocess.PIPE)
    time.sleep(0.3)
    with open(fifo, "rb") as file:
        data = file.read()
    assert process.communicate(timeout=60) is not None and process.returncode == 0
    assert len(data) > 500


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_extract_keeps_the_mode(recording, tmp_path, mode):
    copy = tmp_path / "copy.dat"
    copy.write_bytes(open(recording, "rb").read())
    copy.chmod(mode)
    done = harness.execute([harness.MEMOIR, "extract", "-o", str(tmp_path / "files"), str(copy)])
    assert done.status == 0 and b"\x1b" not in done.stdout, done
    found = 0
    for folder, _, files in os.walk(os.fsencode(tmp_path / "files")):
        assert stat.S_IMODE(os.stat(folder).st_mode) & 0o077 == (mode & 0o044) | (
            mode & 0o044) >> 2, folder
        for name in files:
            found += 1
            assert stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode) == mode
    assert found
