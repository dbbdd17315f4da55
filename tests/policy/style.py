#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every source file has its SPDX line and a head comment, no notes to self, and a bearable size."""
import os
import re
import sys

root = sys.argv[1]
LIMIT = 800
CODE = (".c", ".h", ".cpp", ".def", ".S", ".ts", ".tsx", ".css")
NOTES = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

bad = []
count = 0
for top in ("src", "include", "tests", "fuzz", "bench", "examples", "scripts", "web"):
    for folder, folders, names in os.walk(os.path.join(root, top)):
        folders[:] = [f for f in folders
                      if f not in ("data", "corpus", "__pycache__", "node_modules")]
        for name in names:
            path = os.path.join(folder, name)
            shown = os.path.relpath(path, root)
            if not name.endswith(CODE + (".py",)) and top != "scripts":
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    lines = file.read().split("\n")
            except UnicodeDecodeError:
                bad.append(f"{shown}: not UTF-8")
                continue
            count += 1
            if not name.endswith(
                    ".txt") and "SPDX-License-Identifier: MIT OR Apache-2.0" not in "\n".join(
                        lines[:3]):
                bad.append(f"{shown}: no SPDX line")
            if name.endswith((".c", ".cpp", ".h")) and not any(
                    line.startswith(("/* ", "// ")) and "SPDX" not in line for line in lines[:6]):
                bad.append(f"{shown}: no head comment in the first lines")
            made = any("Made from the rows" in line for line in lines[:3])
            if len(lines) > LIMIT + 1 and not made:
                bad.append(f"{shown}: {len(lines) - 1} lines, more than {LIMIT}")
            for number, line in enumerate(lines, 1):
                if NOTES.search(line) and not shown.endswith("style.py"):
                    bad.append(f"{shown}:{number}: {line.strip()}")
                if line != line.rstrip():
                    bad.append(f"{shown}:{number}: blanks at the end")
for line in bad:
    print(line)
print(f"{count} files, {len(bad)} faults")
sys.exit(1 if bad or not count else 0)
