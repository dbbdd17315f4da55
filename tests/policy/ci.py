#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of limits in docs/ci.md is what memoir check --help says, which is made from the
measures.

With --write as third argument it is made anew."""
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)
path = os.path.join(root, "docs/ci.md")
MARK = "| option | what it limits |\n|---|---|\n"

said = subprocess.run([program, "check", "--help"], capture_output=True, text=True,
                      check=True).stdout
rows = re.findall(r"^      (--max-\S+ \S+)((?:\s+(?! {0,6}-)\S.*\n)+)", said, flags=re.M)
table = "".join(f"| `{option}` | {' '.join(text.split())} |\n" for option, text in rows)
with open(path, encoding="utf-8") as file:
    old = file.read()
new = re.sub(re.escape(MARK) + r"(\|.*\n)*", lambda _: MARK + table, old)
if not rows or MARK not in old:
    print(f"{len(rows)} limits in --help, and no table in docs/ci.md")
    sys.exit(1)
if new != old and sys.argv[3:] == ["--write"]:
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
elif new != old:
    print("docs/ci.md is not what memoir check --help says: tests/policy/ci.py . BUILD --write")
    sys.exit(1)
