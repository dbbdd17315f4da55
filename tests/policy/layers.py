#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every #include "folder/…" in src/ follows an arrow of layers.txt."""
import os
import re
import sys

root = sys.argv[1]
src = os.path.join(root, "src")
allowed = {}
with open(os.path.join(root, "tests/policy/layers.txt"), encoding="utf-8") as rules:
    for line in rules:
        line = line.split("#")[0].strip()
        if line:
            folder, _, names = line.partition(":")
            allowed[folder.strip()] = set(names.split())

bad = 0
seen = 0
for folder in sorted(os.listdir(src)):
    if not os.path.isdir(os.path.join(src, folder)):
        continue
    if folder not in allowed:
        print(f"src/{folder}: not in tests/policy/layers.txt")
        bad += 1
        continue
    names = (os.path.relpath(os.path.join(at, name), os.path.join(src, folder))
             for at, _, found in os.walk(os.path.join(src, folder)) for name in found)
    for name in sorted(names):
        if not name.endswith((".c", ".h", ".def", ".S")):
            continue
        path = os.path.join(src, folder, name)
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                found = re.match(r'\s*#\s*include\s+"([^/"]+)/', line)
                if not found:
                    continue
                seen += 1
                target = found.group(1)
                if target != folder and target in allowed and target not in allowed[folder]:
                    print(f"src/{folder}/{name}:{number}: {folder} may not include {target}/")
                    bad += 1
print(f"{seen} includes, {bad} against the rules")
sys.exit(1 if bad or not seen else 0)
