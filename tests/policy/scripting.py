#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The vocabulary in docs/scripting.md is what help() says, which is made from the tables behind the
methods.

With --write as third argument it is made anew."""
import os
import subprocess
import sys

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)
path = os.path.join(root, "docs/scripting.md")
MARK = "## Vocabulary\n"

said = subprocess.run([program, "script", "-e", "help('markdown')"], capture_output=True, text=True,
                      check=True).stdout
with open(path, encoding="utf-8") as file:
    old = file.read()
before, mark, _ = old.partition(MARK)
new = before + MARK + "\n" + said.strip() + "\n"
if not mark:
    print(f"docs/scripting.md has no {MARK.strip()}")
    sys.exit(1)
if new != old and sys.argv[3:] == ["--write"]:
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
elif new != old:
    print("docs/scripting.md is not what help() says: tests/policy/scripting.py . BUILD --write")
    sys.exit(1)
