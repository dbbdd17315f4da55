#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The vocabulary in docs/scripting.md is what help() says, which is made from the tables behind the
methods, and its list of examples what is in examples/scripts.

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
EXAMPLES = "## Examples\n"
FOLDER = os.path.join(root, "examples/scripts")


def examples():
    """A table of the scripts, by the titles in their first lines."""
    rows = ""
    for name in sorted(os.listdir(FOLDER)):
        with open(os.path.join(FOLDER, name), encoding="utf-8") as script:
            title = script.readline().lstrip("-/ ").strip()
        rows += f"| [{name}](../examples/scripts/{name}) | {title} |\n"
    return ("Each begins with its title and says which arguments it takes; what is in parentheses "
            "is what\nit takes without any.\n\n| | |\n|---|---|\n" + rows)


said = subprocess.run([program, "script", "-e", "help('markdown')"], capture_output=True, text=True,
                      check=True).stdout
with open(path, encoding="utf-8") as file:
    old = file.read()
before, mark, _ = old.partition(MARK)
if not mark or EXAMPLES not in before:
    print(f"docs/scripting.md has no {EXAMPLES.strip()} or no {MARK.strip()}")
    sys.exit(1)
new = (before.partition(EXAMPLES)[0] + EXAMPLES + "\n" + examples() + "\n" + MARK + "\n"
       + said.strip() + "\n")
if new != old and sys.argv[3:] == ["--write"]:
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
elif new != old:
    print("docs/scripting.md is not what help() says, or what examples/scripts has: "
          "tests/policy/scripting.py . BUILD --write")
    sys.exit(1)
