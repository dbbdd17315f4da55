#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""clang-tidy 14 finds nothing of what .clang-tidy asks for; skipped where that version is not
installed."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

MANY = 16

root, build = sys.argv[1:3]
tool = shutil.which("clang-tidy-14")
if not tool:
    print("no clang-tidy-14")
    sys.exit(77)
with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
    commands = json.load(file)
# One command for each file, without what clang does not know.
wanted = {}
for command in commands:
    path = os.path.realpath(os.path.join(command["directory"], command["file"]))
    if path.startswith(os.path.join(os.path.realpath(root), "src") + "/") and path.endswith(".c"):
        command["command"] = re.sub(r" -fno-tree-loop-distribute-patterns\b|^ccache ", "",
                                    command["command"])
        wanted.setdefault(path, command)


def look(files):
    done = subprocess.run([tool, "--quiet", "-p", folder, *files], cwd=root, capture_output=True,
                          text=True,
                          check=False)
    return done.stdout if done.returncode else ""


with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
        json.dump(list(wanted.values()), file)
    paths = sorted(wanted)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = "".join(pool.map(look, [paths[i:i + MANY] for i in range(0, len(paths), MANY)]))
print(said + f"{len(paths)} files, " + ("something" if said else "nothing") + " found")
sys.exit(1 if said or not paths else 0)
