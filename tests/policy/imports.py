#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the target side takes from libc is on a short list (imports.txt), and it needs only libc.

The recorder runs inside malloc, in signal handlers, before constructors and after exit: a call
that may allocate, lock or be a cancellation point must not slip in."""
import os
import subprocess
import sys

root, build = sys.argv[1:3]
library = os.path.join(build, "libmemoir.so")
if not os.path.exists(library):
    print("no libmemoir.so")
    sys.exit(77)

allowed = set()
with open(os.path.join(root, "tests/policy/imports.txt"), encoding="utf-8") as file:
    for line in file:
        allowed.update(line.split("#")[0].split())

symbols = subprocess.run(["nm", "-D", "--undefined-only", library], capture_output=True, text=True,
                         check=True).stdout
imported = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
extra = imported - allowed
for name in sorted(extra):
    print(f"imported, but not in tests/policy/imports.txt: {name}")

dynamic = subprocess.run(["readelf", "-d", "-W", library], capture_output=True, text=True,
                         check=True).stdout
needed = [line.split("[")[1].split("]")[0] for line in dynamic.splitlines() if "(NEEDED)" in line]
foreign = [name for name in needed if not name.startswith(("libc.so", "ld-linux"))]
for name in foreign:
    print(f"needs {name}")

# Thread-local data must be initial-exec: __tls_get_addr allocates and takes the loader's lock.
if "__tls_get_addr" in imported:
    print("thread-local data is not initial-exec")
print(f"{len(imported)} imported: {' '.join(sorted(imported))}")
sys.exit(1 if extra or foreign else 0)
