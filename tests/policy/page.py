#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page: its types hold, its lock names no registry, and it is no heavier than it may be."""
import json
import os
import subprocess
import sys

root, build = sys.argv[1:3]
web = os.path.join(root, "web")
bad = []
for lock in ("web", "tests"):
    with open(os.path.join(root, lock, "package-lock.json"), encoding="utf-8") as file:
        if '"resolved"' in file.read():
            bad.append(f"{lock}/package-lock.json names where packages came from: "
                       "npm install --omit-lockfile-registry-resolved")
for folder in (os.path.join(build, "web", name) for name in os.listdir(os.path.join(build, "web"))):
    path = os.path.join(folder, "weight.json")
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            page = json.load(file)
        print(f"page: {page['total']} bytes compressed, at most {page['limit']}")
        if page["total"] > page["limit"]:
            bad.append("the page is too heavy")
        break
else:
    sys.exit("the page was not built")
types = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "-p", "."], cwd=web,
                       capture_output=True, text=True)
bad += types.stdout.splitlines() if types.returncode else []
for line in bad:
    print(line)
sys.exit(1 if bad else 0)
