# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recordings of older versions of the format still open, and say what they said.

The first version's is the example of docs/format.md (tests/unit/test_format.c)."""
import os
import re
import shutil
import struct

import harness

OLD = os.path.join(harness.ROOT, "tests", "data", "recordings")


def test_version_2():
    """It has memory maps, and nothing of what was recorded beside them later."""
    path = os.path.join(OLD, "version-2.dat")
    with open(path, "rb") as f:
        assert struct.unpack("<8sI", f.read(12)) == (b"MEMOIR\x1a\n", 2)
    found = harness.ask("info", "--json", path)
    assert (found["allocations"], found["deallocations"], found["executable"]) == (
        11, 5, "/opt/example/program")
    assert "libc_maps" not in found
    maps, = harness.ask("maps", "--json", "--no-cache", "--regions", path)["maps"]
    assert (maps["name"], maps["size"], len(maps["regions"])) == ("[anon:mmap]", 12288, 3)
    assert harness.ask("ask", "mallopts", "--call", "all", path) == []


def test_a_later_version_is_refused(tmp_path):
    with open(os.path.join(harness.ROOT, "src", "wire", "format.h"), encoding="utf-8") as f:
        version = int(re.search(r"#define FORMAT_VERSION (\d+)u", f.read()).group(1))
    path = str(tmp_path / "later.dat")
    shutil.copy(os.path.join(OLD, "version-2.dat"), path)
    with open(path, "r+b") as f:
        f.seek(8)
        f.write(struct.pack("<I", version + 1))
    done = harness.execute([harness.MEMOIR, "info", path])
    assert done.status == 1
    line, = done.stderr.decode().splitlines()
    assert str(version) in line and str(version + 1) in line
