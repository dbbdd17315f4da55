# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir, libmemoir.so and memoir-collector of different versions: one line at once, and nobody
waits."""
import ctypes
import mmap
import os
import subprocess

import pytest

import harness

NOTE = b"Memoir\0\0"
STARTED = "echo started"


def altered(folder, change):
    """A copy of the library whose note was changed; the note's data begins behind its name."""
    with open(harness.LIBRARY, "rb") as file:
        data = bytearray(file.read())
    at = data.index(NOTE)
    assert data.count(NOTE) == 1
    change(data, at)
    path = os.path.join(folder, "libmemoir.so")
    with open(path, "wb") as file:
        file.write(data)
    return path


def another_layout(data, at):
    data[at + len(NOTE)] ^= 1


def another_version(data, at):
    at += len(NOTE) + 8
    data[at:at + 6] = b"0.0.9\0"


def no_note(data, at):
    data[at] = ord("N")


@pytest.mark.parametrize("change,reason", [
    (another_layout, b" of another build"), (another_version, b"it is of memoir 0.0.9, this is "),
    (no_note, b"it is older than this memoir (")])
def test_library_of_another_version(tmp_path, change, reason):
    """Nothing is started and nothing is left behind."""
    library = altered(tmp_path, change)
    done = harness.execute(
        [harness.MEMOIR, "run", "-o", f"{tmp_path}/out.dat", "sh", "-c", STARTED], cwd=tmp_path,
                           env={"MEMOIR_LIBRARY": library})
    assert (done.status, done.stdout) == (1, b""), done
    assert (done.stderr.startswith(f"memoir: {library} cannot be used: ".encode())
            and reason in done.stderr)
    assert done.stderr.count(b"\n") == 1 and os.listdir(tmp_path) == ["libmemoir.so"]


def test_memory_of_another_version(tmp_path):
    """The library finds memory of a launcher that it does not know: the program runs, and it says
    why not recorded."""
    (tmp_path / "memory").write_bytes(b"MMRSHM01" + bytes(1 << 20))
    done = harness.execute(["/bin/sh", "-c", STARTED], cwd=tmp_path,
                           env={"LD_PRELOAD": harness.LIBRARY,
                                "MEMOIR_SHM": str(tmp_path / "memory")})
    assert (done.status, done.stdout) == (0, b"started\n"), done
    assert (done.stderr == "memoir: not recorded: memoir is of another version than "
            f"{harness.LIBRARY}\n".encode())


def test_collector_of_another_version():
    """It answers where every version looks: the state behind the magic, the reason behind that."""
    fd = os.memfd_create("memoir", 0)
    try:
        os.ftruncate(fd, 16 << 20)
        os.pwrite(fd, b"MMRSHM01", 0)
        done = subprocess.run(
            [harness.COLLECTOR, "--shm-fd", str(fd), "--target", str(os.getpid())], pass_fds=[fd],
                              capture_output=True, timeout=harness.TIMEOUT)
        assert done.returncode == 1, done
        with mmap.mmap(fd, 4096) as memory:
            state = ctypes.c_uint32.from_buffer_copy(memory, 8).value
            error = memory[16:272].split(b"\0")[0]
        assert (state, error) == (2, b"shared memory: memoir-collector is of another version than "
                                  b"libmemoir.so")
    finally:
        os.close(fd)
