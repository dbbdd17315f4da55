#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/format.md names what src/wire has, with the same numbers: the version, the types of chunks,
the ops of events; and the version that is written has a row of its own."""
import re
import sys

root = sys.argv[1]
problems = []


def read(name):
    with open(f"{root}/{name}", encoding="utf-8") as f:
        return f.read()


def enumerated(text, name, prefix):
    """{number: name} of a C enum whose first member has a value."""
    body = re.search(rf"enum {name} {{(.*?)\n}};", text, flags=re.S).group(1)
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    found, number = {}, 0
    for member in filter(None, (m.strip() for m in body.split(","))):
        word, _, value = (p.strip() for p in member.partition("="))
        number = int(value, 0) if value else number
        if word != f"{prefix}COUNT":
            found[number] = word.removeprefix(prefix)
        number += 1
    return found


def table(text, head):
    """{number: second cell} of the table below a line."""
    body = text.split(head, 1)[1].split("\n\n", 1)[0]
    return {int(n): cell for n, cell in re.findall(r"^\| (\d+) \| ([^|]*?) \|", body, flags=re.M)}


def compare(what, source, document):
    for number in sorted(source.keys() | document.keys()):
        if source.get(number) != document.get(number):
            problems.append(f"{what} {number}: {source.get(number)} in src/wire, "
                            f"{document.get(number)} in docs/format.md")


document = read("docs/format.md")
version = int(re.search(r"#define FORMAT_VERSION (\d+)u", read("src/wire/format.h")).group(1))
compare("chunk type", enumerated(read("src/wire/format.h"), "format_chunk_type", "CHUNK_"),
        table(document, "| type | name | payload |"))
compare("op", enumerated(read("src/wire/event.h"), "event_op", "OP_"),
        table(document, "| op | | |"))
for line in (f"# The recording format, version {version}\n", f"| 8 | u32 | version | {version} |"):
    if line not in document:
        problems.append(f"docs/format.md has no line {line.strip()!r}")
if sorted(table(document, "| version | |")) != list(range(1, version + 1)):
    problems.append("docs/format.md does not say what each version has brought")
for problem in problems:
    print(problem)
print(f"version {version}, {len(problems)} differences")
sys.exit(1 if problems else 0)
