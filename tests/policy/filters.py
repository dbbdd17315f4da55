#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/filters.md and memoir-filters(7) list every field and every filter as the program does.

With --write as third argument the lists in both are made anew."""
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)
sources = open(os.path.join(root, "src/query/filter_rows.c"), encoding="utf-8").read()
fields_text, rows_text = sources.split("const struct filter_row filter_rows[]")
CELL = r'"((?:[^"\\]|\\.)*)"'


def joined(text):
    return re.sub(r'"\s*\n\s*"', "", text)


help_text = subprocess.run([program, "help", "filters"], capture_output=True, text=True,
                           check=True).stdout
arguments = {}
for line in help_text.splitlines():
    found = re.match(r"  (\w+)(?: (\S+))?(?:  +.*)?$", line)
    if found:
        arguments.setdefault(found[1], []).append(found[2] or "")
numbers = open(os.path.join(root, "src/query/fields.def"), encoding="utf-8").read()
defined = len(re.findall(r"^NUMBER\(", numbers, flags=re.M))
numbers = re.findall(r'^NUMBER\(\w+, ' + CELL + r', .*?(ARG_\w+),.*?,\s*' + CELL + r'\)$',
                     joined(numbers), flags=re.M | re.S)
fields = numbers + re.findall(r'\{ ' + CELL + r', (ARG_\w+), FIELD_\w+,\s*\w+,\s*' + CELL + r' \}',
                              joined(fields_text))
rows = re.findall(r'\{ ' + CELL + r', (ARG_\w+),\s*' + CELL + r',\s*' + CELL, joined(rows_text))


def markdown():
    yield "## Fields", ["| field | compared with | what it is |", "|---|---|---|"] + [
        f"| `{name}` | {arguments[name][0].replace('|', ' or ') or 'stands alone'} | {text} |"
        for name, _, text in fields]
    yield "## Filters", ["| filter | value | meaning | |", "|---|---|---|---|"] + [
        f"| `{name}` | {arguments[name][-1].replace('|', ' or ')} | {meaning_of(kind, meaning)} | "
        f"{text} |"
        for name, kind, meaning, text in rows]


def meaning_of(kind, meaning):
    if kind == "ARG_EXPRESSION":
        return "the expression"
    if kind == "ARG_YES_NO":
        yes, no = meaning.split("; ")
        return f"yes: `{yes}`; no: `{no}`"
    if kind == "ARG_CHOICE":
        parts = [part.split(": ") for part in meaning.split("; ")]
        return "; ".join(f"{p[0].rstrip(':')}: `{p[1]}`" if len(p) > 1 and p[1]
                         else f"{p[0].rstrip(': ')}: everything" for p in parts)
    return f"`{meaning}`"


def escaped(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def manual():
    yield ".SH FIELDS", [line for name, _, text in fields for line in
                         (".TP", f".BI {escaped(name)}" + (f' " {escaped(arguments[name][0])}"'
                                                           if arguments[name][0] else ""),
                          escaped(text))]
    yield ".SH FILTERS", [line for name, kind, meaning, text in rows for line in
                          (".TP", f'.BI {escaped(name)} " {escaped(arguments[name][-1])}"',
                           escaped(f"{text}: {meaning}" if kind != "ARG_EXPRESSION" else text))]


def lists(path, parts, heading):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        old = file.read()
    new = old
    for title, lines in parts:
        new = re.sub(re.escape(title) + r"\n.*?(?=^" + heading + r"|\Z)",
                     lambda _: title + "\n" + ("" if heading == r"\.SH" else "\n") + "\n".join(
                         lines) + "\n" +
                     ("" if heading == r"\.SH" else "\n"), new, flags=re.S | re.M)
    new = new.rstrip("\n") + "\n"
    if new == old:
        return []
    if sys.argv[3:] == ["--write"]:
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(new)
        return []
    return [f"{path} is not what the table says: tests/policy/filters.py . BUILD --write"]


bad = lists("docs/filters.md", markdown(), "## ") + lists("docs/man/memoir-filters.7", manual(),
                                                          r"\.SH")
if len(rows) < 43 or len(rows) != len(re.findall(r"^\t\{ \"", rows_text, flags=re.M)):
    bad.append("the rows of filter_rows.c were not understood")
if len(fields) - len(numbers) != len(re.findall(r"^\t\{ \"", fields_text, flags=re.M)):
    bad.append("the fields of filter_rows.c were not understood")
if len(numbers) != defined:
    bad.append("the rows of fields.def were not understood")
for line in bad:
    print(line)
print(f"{len(fields)} fields, {len(rows)} filters, {len(bad)} faults")
sys.exit(1 if bad else 0)
