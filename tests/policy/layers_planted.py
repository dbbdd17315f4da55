#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""layers.py finds violations that are planted in a small tree, and nothing in the tree without
them."""
import os
import subprocess
import sys
import tempfile

root = sys.argv[1]
RULES = """
base:                # nothing
wire:
target: base/one.h   # that header alone
top:    base wire
"""
CLEAN = {
    "src/base/one.h": "",
    "src/base/two.h": "",
    "src/wire/wire.h": "",
    "src/target/target.c": '#include "target/target.h"\n#include "base/one.h"\n#include '
    '<base/two.h>\n',
    "src/top/top.c": '#include "base/two.h"\n  #  include "wire/wire.h"\n#include '
    '"generated.inc"\n',
}
# A file and what is written there; what is said of it.
PLANTED = [
    ("src/base/one.h", '#include "top/top.h"\n',
     "src/base/one.h:1: base may not include top/top.h"),
    ("src/target/target.c", '#include "base/one.h"\n#include "base/two.h"\n',
     "src/target/target.c:2: target may not include base/two.h"),
    ("src/target/x86_64/arch.h", '\n#include "wire/wire.h"\n',
     "src/target/x86_64/arch.h:2: target may not include wire/wire.h"),
    ("src/wire/deep/er/still.S", '#include "base/one.h"\n',
     "src/wire/deep/er/still.S:1: wire may not include base/one.h"),
    ("src/wire/rows.def", '#include "base/one.h"\n',
     "src/wire/rows.def:1: wire may not include base/one.h"),
    ("src/wire/made.inc.in", '#include "base/one.h"\n',
     "src/wire/made.inc.in:1: wire may not include base/one.h"),
    ("src/target/target.c", '#include "base/one.h"\n#include "../wire/wire.h"\n',
     'src/target/target.c:2: "../wire/wire.h": a header is named from src/'),
    ("src/other/other.c", "", "src/other: not in tests/policy/layers.txt"),
    ("tests/policy/layers.txt", RULES + "gone: base\n", "layers.txt: there is no src/gone"),
]


def said_of(files):
    with tempfile.TemporaryDirectory() as tree:
        for path, text in files.items():
            path = os.path.join(tree, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, os.path.join(root, "tests/policy/layers.py"), tree],
                              capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1) and not done.stderr, done
        return done.returncode, done.stdout.splitlines()[:-1]


clean = {"tests/policy/layers.txt": RULES, **CLEAN}
assert said_of(clean) == (0, []), said_of(clean)
for where, content, expected in PLANTED:
    answer = said_of({**clean, where: content})
    assert answer == (1, [expected]), f"{where}: {answer}"
print(f"{len(PLANTED)} violations found")
