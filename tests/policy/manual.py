#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each command has a manual page that names each of its options (the build fills in those that the
page does not explain itself).  Of every page man can read all, and apropos finds its line;
memoir(1) names every command, and that of a group its members."""
import os
import re
import shutil
import subprocess
import sys

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)


def usage(*words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True)
    return done.stdout + done.stderr


with open(os.path.join(root, "src/cli/meson.build"), encoding="utf-8") as file:
    sources = file.read()
commands = sorted(name[4:-2] for name in os.listdir(os.path.join(root, "src/cli"))
                  if re.fullmatch(r"cmd_\w+\.c", name) and re.search(rf"\b{name[4:-2]}\b", sources))
groups = re.findall(r"^  '(\w+)': \[", sources, flags=re.M)
commands += [f"{group}_{word}" for group in groups
             for word in re.findall(r"'(\w+)'",
                                    re.search(rf"'{group}': \[(.*?)\]", sources, re.S)[1])]
commands = sorted(set(commands))
bad = []
for name in commands:
    # A group's command is two words; elsewhere an underline is a dash.
    group = next((g for g in groups if name.startswith(g + "_")), None)
    words = [group, name[len(group) + 1:]] if group else [name.replace("_", "-")]
    command = "-".join(words)
    if not usage(*words).startswith("memoir " + " ".join(words)):
        bad.append(f"memoir {' '.join(words)} --help says nothing")
    path = os.path.join(build, f"docs/memoir-{command}.1")
    if not os.path.exists(path):
        bad.append(f"docs/man/memoir-{command}.1 is missing")
        continue
    with open(path, encoding="utf-8") as file:
        page = file.read().replace("\\-", "-")
    for flag in sorted(set(re.findall(r"^ +(?:-\w, +)?(--[a-z0-9-]+)", usage(*words), flags=re.M))):
        if flag not in page and flag != "--help":
            bad.append(f"docs/man/memoir-{command}.1: {flag} is missing")
    upper = f"memoir-{group}.1" if group else "memoir.1"
    with open(os.path.join(build, "docs", upper), encoding="utf-8") as file:
        if f"memoir-{command} (1)" not in file.read().replace("\\-", "-"):
            bad.append(f"docs/man/{upper} does not name memoir-{command}(1)")

paths = [os.path.join(build, "docs", name) for name in sorted(os.listdir(f"{build}/docs"))
         if name.endswith(".1")] + [os.path.join(root, "docs/man/memoir-filters.7")]
if not shutil.which("man"):
    bad.append("man is missing (package man-db)")
    paths = []
for path in paths:
    name = os.path.basename(path)
    done = subprocess.run(["man", "--warnings=w", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
                          capture_output=True, text=True)
    bad += [f"{name}: {line}" for line in done.stderr.splitlines()]
    done = subprocess.run(["lexgrog", path], capture_output=True, text=True)
    if not done.stdout.startswith(f'{path}: "{name[:-2]} - '):
        bad.append(f"{name}: apropos would say {done.stdout.strip()}")
for line in bad:
    print(line)
print(f"{len(commands)} commands, {len(paths)} pages, {len(bad)} faults")
sys.exit(1 if bad or not commands else 0)
