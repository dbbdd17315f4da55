#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every #include "folder/…" in src/, sub-folders too, follows an arrow of layers.txt."""
import os
import re
import sys

root = sys.argv[1]
src = os.path.join(root, "src")
SOURCES = (".c", ".h", ".def", ".S", ".in")
INCLUDE = re.compile(r'\s*#\s*include\s+"([^"]+)"')


def read_rules():
    """folder: what it may include, either a folder or one header of a folder."""
    rules = {}
    with open(os.path.join(root, "tests/policy/layers.txt"), encoding="utf-8") as file:
        for line in file:
            folder, colon, names = line.split("#")[0].partition(":")
            if colon:
                rules[folder.strip()] = set(names.split())
    return rules


def includes(folder):
    """(file, line number, the header as it is written) below a folder of src."""
    for where, _, names in sorted(os.walk(os.path.join(src, folder))):
        for name in sorted(names):
            if name.endswith(SOURCES):
                path = os.path.join(where, name)
                with open(path, encoding="utf-8") as file:
                    for number, line in enumerate(file, 1):
                        found = INCLUDE.match(line)
                        if found:
                            yield path, number, found.group(1)


def main():
    rules = read_rules()
    folders = {name for name in os.listdir(src) if os.path.isdir(os.path.join(src, name))}
    bad = [f"src/{name}: not in tests/policy/layers.txt" for name in sorted(folders - set(rules))]
    bad += [f"layers.txt: there is no src/{name}" for name in sorted(set(rules) - folders)]
    seen = 0
    for folder in sorted(folders & set(rules)):
        for path, number, header in includes(folder):
            seen += 1
            place = f"{os.path.relpath(path, root)}:{number}"
            target, slash, _ = header.partition("/")
            if ".." in header.split("/"):
                bad.append(f"{place}: \"{header}\": a header is named from src/")
            elif slash and target in folders - {folder} and not {target, header} & rules[folder]:
                bad.append(f"{place}: {folder} may not include {header}")
    print("\n".join(bad + [f"{seen} includes, {len(bad)} against the rules"]))
    return 1 if bad or not seen else 0


sys.exit(main())
