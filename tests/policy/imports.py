#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the target side takes from libc is on a short list, and it needs only libc.

The recorder (imports.txt) runs inside malloc, in signal handlers, before constructors and after
exit: a call that may allocate, lock or be a cancellation point must not slip in.  The agent
(imports_agent.txt) has a thread of its own, and must not allocate."""
import os
import subprocess
import sys

root, build = sys.argv[1:3]

def look(library, path):
    allowed = set()
    with open(os.path.join(root, "tests/policy", path), encoding="utf-8") as file:
        for line in file:
            allowed.update(line.split("#")[0].split())
    symbols = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True,
                             text=True,
                             check=True).stdout
    imported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    extra = imported - allowed
    for name in sorted(extra):
        print(f"imported, but not in tests/policy/{path}: {name}")

    dynamic = subprocess.run(["readelf", "-d", "-W", library], capture_output=True, text=True,
                             check=True).stdout
    needed = [line.split("[")[1].split("]")[0] for line in dynamic.splitlines()
              if "(NEEDED)" in line]
    foreign = [name for name in needed if not name.startswith(("libc.so", "ld-linux"))]
    for name in foreign:
        print(f"{library} needs {name}")

    # Thread-local data must be initial-exec: __tls_get_addr allocates and takes the loader's lock.
    if "__tls_get_addr" in imported:
        print("thread-local data is not initial-exec")
    print(f"{os.path.basename(library)}: {len(imported)} imported: {' '.join(sorted(imported))}")
    return bool(extra or foreign)


libraries = [(os.path.join(build, name), path) for name, path in (
    ("libmemoir.so", "imports.txt"), ("libmemoir-jemalloc.so", "imports_agent.txt"))]
there = [row for row in libraries if os.path.exists(row[0])]
if not there:
    print("no libmemoir.so")
    sys.exit(77)
sys.exit(1 if any([look(*row) for row in there]) else 0)
