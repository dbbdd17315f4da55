#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""How many steps of a whole build a change of a header causes: rebuild.py SOURCE BUILD.

Headers that nearly every file would need, one way or another, grow into all of them when other
headers include them for the sake of a pointer: `struct buf;` is enough there, and buf_type.h where
one is held by value.  Counted from what the compiler said that it read (`ninja -t deps`) and from
the rules in build.ninja, as `touch HEADER && ninja -n` would count.
"""
import os
import re
import subprocess
import sys

# Twice as many before anybody counted, for 20 files less.
LIMITS = {"src/base/buf.h": 226, "src/base/buf_text.h": 280}


def read_rules(build):
    """[(rule, outputs, inputs)], without what only has to be there first."""
    rules = []
    with open(os.path.join(build, "build.ninja"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("build "):
                continue
            line = line[6:].rstrip("\n").replace("$ ", "\0").replace("$:", "\1")
            left, _, right = line.partition(": ")
            rule, *inputs = right.split("||")[0].split("|@")[0].split()
            rules.append((rule, left.replace("|", " ").split(),
                          [name for name in inputs if name != "|"]))
    return rules


def read_headers(build):
    """Of each object that was compiled, what the compiler read."""
    said = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for block in re.split(r"\n\n", said):
        lines = block.splitlines()
        if lines and ": #deps" in lines[0]:
            found[lines[0].split(": #deps")[0]] = {
                os.path.normpath(os.path.join(build, line.strip())) for line in lines[1:]}
    return found


def wanted_of(rules):
    """The outputs that `ninja` without arguments makes."""
    maker = {name: (outputs, inputs) for _, outputs, inputs in rules for name in outputs}
    wanted, waiting = set(), ["all"]
    while waiting:
        name = waiting.pop()
        if name not in wanted and name in maker:
            wanted.update(maker[name][0])
            waiting += maker[name][1]
    return wanted


def steps_of(header, rules, headers, wanted):
    """The rules that run when the header is newer than everything."""
    users = {}
    for number, (_, _, inputs) in enumerate(rules):
        for name in inputs:
            users.setdefault(name, []).append(number)
    makers = {name: number for number, (_, outputs, _) in enumerate(rules) for name in outputs}
    waiting = [makers[name] for name, read in headers.items() if header in read and name in makers]
    steps = set()
    while waiting:
        number = waiting.pop()
        rule, outputs, _ = rules[number]
        if number in steps or not wanted.intersection(outputs):
            continue
        steps.add(number)
        for name in outputs:
            waiting += users.get(name, [])
    return sum(rules[number][0] != "phony" for number in steps)


def main():
    root, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    rules, headers = read_rules(build), read_headers(build)
    wanted = wanted_of(rules)
    failed = False
    for header, limit in LIMITS.items():
        steps = steps_of(os.path.join(root, header), rules, headers, wanted)
        print(f"{header}: {steps} steps, at most {limit}")
        if not steps:
            print(f"{header}: nothing that was built includes it")
            return 77
        failed |= steps > limit
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
