#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""libmemoir.so exports the hooks of hooks.def and the functions of include/memoir.h, nothing else;
libmemoir-jemalloc.so the functions of src/agent/waits.c that it stands before."""
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
library = os.path.join(build, "libmemoir.so")
if not os.path.exists(library):
    print("no libmemoir.so")
    sys.exit(77)


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)


hooks = set(re.findall(r"^HOOK(?:_\w+)?\((\w+),", read("src/wire/hooks.def"), flags=re.M))
api = set()
if os.path.exists(os.path.join(root, "include/memoir.h")):
    api = {prefix + name for prefix, name in re.findall(r"^MEMOIR_FUNCTION_\((\w+), (\w+),",
                                                        read("include/memoir.h"), flags=re.M)}

def exports(path):
    symbols = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                             check=True).stdout
    return {line.split()[2].split("@")[0] for line in symbols.splitlines()
            if len(line.split()) == 3}


agent = os.path.join(build, "libmemoir-jemalloc.so")
waits = set(re.findall(r"^\tX\(\w+, (\w+),|^EXPORT \w+ (\w+)\(", read("src/agent/waits.c"),
                       flags=re.M))
waits = {a or b for a, b in waits}
wrong = exports(agent) ^ waits if os.path.exists(agent) else set()
for name in sorted(wrong):
    print(f"libmemoir-jemalloc.so and src/agent/waits.c differ: {name}")
exported = exports(library)

missing = (hooks | api) - exported
extra = exported - hooks - api
for name in sorted(missing):
    print(f"not exported: {name}")
for name in sorted(extra):
    print(f"exported, but in neither hooks.def nor memoir.h: {name}")
print(f"{len(exported)} exported")
sys.exit(1 if missing or extra or wrong or not hooks else 0)
