# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inputs without an end, or larger than can be meant: one clear line, soon, and little memory."""
import gzip
import os
import resource
import subprocess

import pytest

import harness

COMMANDS = [("heap", "--text"), ("log",), ("stats",), ("growth",), ("metrics",),
            ("report", "-o", "/dev/null"), ("join",)]
MEMORY = 1 << 30


def run(*words, stdin=None):
    """Ends within seconds and a gigabyte of address space, or fails."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    done = subprocess.run([harness.MEMOIR, "jemalloc", *map(str, words)], stdin=stdin
                          or subprocess.DEVNULL, capture_output=True,
                          env=harness.ENVIRONMENT, timeout=60, preexec_fn=limit)
    return harness.Run(done.returncode, done.stdout, done.stderr, 0)


def files_of(command, path):
    """Some want two."""
    return [path, path] if command[0] in ("join", "growth") else [path]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/full"])
def test_a_device_is_refused(command, device):
    done = run(*command, *files_of(command, device))
    assert done.status == 1 and b"a device, not a file" in done.stderr, done


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[0])
def test_a_sparse_file_of_100_gb_is_refused(command, tmp_path):
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(100_000_000_000)
    done = run(*command, *files_of(command, path))
    assert done.status == 1 and done.stderr.count(b"\n") <= 2, done


@pytest.mark.parametrize("command", [("heap", "--text"), ("log",)], ids=lambda c: c[0])
def test_more_than_fits_is_refused(command, tmp_path):
    """A pipe of zeros, and what becomes large only when it is unpacked."""
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as zeros:
        done = run(*command, "-", stdin=zeros.stdout)
        zeros.kill()
    assert done.status == 1 and b"bytes that are not text" in done.stderr, done
    bomb = tmp_path / "bomb.gz"
    with gzip.open(bomb, "wb", compresslevel=1) as file:
        for _ in range(40):
            file.write(b"heap_v2/1\n" * (4 << 20))
    assert os.path.getsize(bomb) < 32 << 20
    done = run(*command, bomb)
    assert (done.status == 1 and b"larger than" in done.stderr
            and done.stderr.count(b"\n") == 1), done


def test_statistics_behind_a_hole_are_found(tmp_path):
    """A log that was cut while its program wrote on has a hole at its start."""
    path = tmp_path / "cut.log"
    text = (b'\n{"jemalloc":{"version":"5.3.0-0-g54eaed1d8b56b1aa528be3bdd1877e59c56fa90c","config":{},"opt":{},"arenas":{},"stats":{"allocated":77}}}\n')
    with open(path, "wb") as file:
        file.seek(20_000_000_000)
        file.write(text)
    done = run("stats", "--json", path)
    assert b'"5.3.0-' in done.stdout and b"77" in done.stdout, done
