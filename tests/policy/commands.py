#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/commands.md lists every command as `memoir help` does, and the commands that README.md and
docs/commands.md show exist, with the options that stand there.

With --write as third argument the lists are made anew."""
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)


def said(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return done.stdout


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


def listed(text):
    """Rows of a list of commands: what is typed, and what it is for, which may be on the next
    line."""
    text = re.sub(r"\n {34,}", "  ", text)
    return re.findall(r"^  (\S.*?) {2,}(\S.*)$", text, flags=re.M)


def table_row(usage, what):
    return "| `memoir {}` | {} |".format(usage.replace("|", "\\|"), what.replace("|", "\\|"))


help_text = said("help")
commands = listed(help_text.split("\n\n")[2] + "\n")
GROUPS = ("jemalloc", "fleet")
members = {group: listed(re.search(r"^Commands:\n(.*?)\n\n", said(group, "--help"),
                                   re.S | re.M)[1] + "\n") for group in GROUPS}
bad = []

# The lists.
PAGE = "docs/commands.md"
old = new = read(PAGE)
for title, rows in (("## All commands", commands),
                    *((f"## Commands of memoir {group}", members[group]) for group in GROUPS)):
    lines = ["| command | what it does |", "|---|---|", *(table_row(*row) for row in rows)]
    new = re.sub(re.escape(title) + r"\n.*?(?=^## |\Z)",
                 lambda _: title + "\n\n" + "\n".join(lines) + "\n\n", new, flags=re.S | re.M)
new = new.rstrip("\n") + "\n"
if new != old and sys.argv[3:] == ["--write"]:
    with open(os.path.join(root, PAGE), "w", encoding="utf-8") as file:
        file.write(new)
elif new != old:
    bad.append(f"{PAGE} is not what memoir help says: tests/policy/commands.py . BUILD --write")

# The examples.
known = {usage.split()[0] for usage, _ in commands}
known_members = {tuple(usage.split()[:2]) for rows in members.values() for usage, _ in rows}
options = {}
examples = 0
for path in ("README.md", PAGE):
    for block in re.findall(r"^```\n(.*?)^```", read(path), flags=re.S | re.M):
        for line in block.splitlines():
            words = line.split("#")[0].removeprefix("$ ").split()
            if words[:1] != ["memoir"] or len(words) < 2:
                continue
            examples += 1
            name = words[1:3] if words[1] in GROUPS else words[1:2]
            if name[0] not in known or len(name) == 2 and tuple(name) not in known_members:
                bad.append(f"{path}: there is no command {' '.join(name)}: {line}")
                continue
            key = " ".join(name)
            if key not in options:
                options[key] = set(
                    re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", said(*name, "--help")))
            ours = words[:words.index("--")] if "--" in words else words
            # What follows the program's name is the program's.
            if key == "run":
                ours = re.match(r"memoir run((?: -o \S+| --?[a-z][\w-]*)*)",
                                " ".join(ours))[1].split()
            bad += [f"{path}: {key} has no option {word}: {line}" for word in ours
                    if re.fullmatch(r"--?[a-zA-Z][\w-]*", word) and word not in options[key]]
for line in bad:
    print(line)
print(f"{len(commands)} commands, {len(members['jemalloc'])} of jemalloc, {examples} examples, "
      f"{len(bad)} faults")
sys.exit(1 if bad or len(commands) < 20 or len(members["jemalloc"]) < 10 or examples < 20 else 0)
