#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""No identifier of words.txt comes back, and a word of docs/glossary.md names one type.

In C: comments and texts may have any word, names of files may not have those of words.txt."""
import os
import re
import sys

root = sys.argv[1]
CODE = (".c", ".h", ".def", ".inc.in", ".S")
TOPS = ("src", "include", "tests/unit", "fuzz", "bench")
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def forbidden():
    with open(os.path.join(root, "tests/policy/words.txt"), encoding="utf-8") as file:
        rows = (line.rstrip("\n").split("\t", 1) for line in file if not line.startswith("#"))
        return {word: instead.strip() for word, instead in rows}


def glossary(bad):
    words = {}
    with open(os.path.join(root, "docs/glossary.md"), encoding="utf-8") as file:
        text = re.sub(r"\n {2,}", " ", file.read())
    for word, home, meaning in re.findall(r"^- \*\*([a-z ]+)\*\* \(`([^`]+)`\): (.*)$", text, re.M):
        if words and word < list(words)[-1]:
            bad.append(f"docs/glossary.md: {word} is not in the order of the alphabet")
        if not re.fullmatch(r"[A-Z].*\.", meaning):
            bad.append(f"docs/glossary.md: {word}: not one sentence")
        if not os.path.isfile(os.path.join(root, home)):
            bad.append(f"docs/glossary.md: {word}: there is no {home}")
        words[word] = home
    return words


def is_vague(path, line):
    """A static function of a core file whose name says nothing in a listing of perf or gdb."""
    return re.match(r"static [^=;(]*[ *](run|take|add|find)\(", line) and not path.startswith(
        ("tests/", "fuzz/", "bench/"))


def faults(path, text, gone, words):
    """Those of one file, by its name and by its lines without comments and texts."""
    stem = os.path.basename(path).split(".")[0]
    if stem in gone:
        yield f"{path}: '{stem}' was given up; {gone[stem]}"
    for number, line in enumerate(NOT_CODE.sub(blank, text).split("\n"), 1):
        for word in re.findall(r"[A-Za-z_]\w*", line):
            if word in gone:
                yield f"{path}:{number}: '{word}' was given up; {gone[word]}"
        if is_vague(path, line):
            yield f"{path}:{number}: a static function's name says what it does to what"
        declared = re.match(r"(?:typedef )?(?:struct|enum|union) (\w+) \{", line)
        if declared and words.get(declared[1], path) != path:
            yield f"{path}:{number}: docs/glossary.md has {declared[1]} in {words[declared[1]]}"


bad = []
count = 0
gone = forbidden()
words = glossary(bad)
for top in TOPS:
    for folder, _, names in os.walk(os.path.join(root, top)):
        for name in sorted(names):
            if not name.endswith(CODE) or "corpus" in folder.split(os.sep):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                count += 1
                bad += faults(os.path.relpath(path, root), file.read(), gone, words)
# What is planted is found, and what only looks like it is not.
planted = "struct view {\n\tint kept; /* places */\n};\nconst char *a = \"watch\"; int watched;\n" \
    "static int find(void);\n"
found = list(faults("src/base/warm.c", planted, gone, words))
if [re.sub(r"[;:].*", "", f.replace("src/base/warm.c:", "")) for f in found] != [
        " 'warm' was given up", "1", "2", "5"]:
    bad.append(f"words.py finds {found} in what it should")
for line in bad:
    print(line)
print(f"{count} files, {len(gone)} words given up, {len(words)} in the glossary, {len(bad)} faults")
sys.exit(1 if bad or not count or not gone or len(words) < 24 else 0)
