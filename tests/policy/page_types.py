#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""web/src/app/endpoints.ts, the types of what the page may ask, is what /api lists.

The page is built before the program that knows the rows, so the types are a file of the sources.
With --write as third argument it is made anew.  That a misspelt path, parameter or column is an
error of the compiler is shown by tests/web/endpoints.types.ts."""
import json
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]
program, path = os.path.join(build, "memoir"), os.path.join(root, "web/src/app/endpoints.ts")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)
api = json.loads(subprocess.run([program, "server", "--api"], capture_output=True, text=True,
                                check=True).stdout)
HEAD = """// SPDX-License-Identifier: MIT OR Apache-2.0
// Made from the rows that /api lists: tests/policy/page_types.py . build --write
// The paths of the server with the parameters that each takes, and the numbers that allocations and
// groups have.  url() and useData() take nothing else.
import type { Timeval } from "./recordings";
"""
VALUES = {"bool": "boolean", "count": "number", "number": "number | string", "real": "number",
          "size": "number | string", "count_or_percent": "number | string",
          "address": "number | string", "thread": "number | string"}


def union(words, before):
    """As prettier has it: one line where it fits, a line each where it does not."""
    words = [f'"{word}"' for word in words]
    line = f"{before} {' | '.join(words)};"
    if len(line.expandtabs(4)) <= 100:
        return line
    tabs = "\t" * (len(before) - len(before.lstrip("\t")) + 1)
    if len(tabs) * 4 + len(" | ".join(words)) + 1 <= 100:
        return f"{before}\n{tabs}{' | '.join(words)};"
    indent = "\n" + "\t" * (len(before) - len(before.lstrip("\t")) + 1) + "| "
    return before + indent + indent.join(words) + ";"


def member(row):
    before = f"\t{row['name']}{'' if row.get('required') else '?'}:"
    if "values" in row:
        return union(row["values"], before)
    return f"{before} {VALUES.get(row['type'], 'string')};"


def interface(name, members, base=""):
    return f"\nexport interface {name}{base} {{\n" + "\n".join(members) + "\n}\n"


def generated():
    yield HEAD
    yield interface("Filters", [member(row) for row in api["filters"]])
    filters, known, rows = {row["name"] for row in api["filters"]}, {}, []
    for e in api["endpoints"]:
        members = tuple(member(row) for row in e["parameters"])
        if not members:
            rows.append(f"\t\"{e['path']}\": {'Filters' if e['filters'] else 'Nothing'};")
            continue
        if (members, e["filters"]) not in known:
            words = re.findall("[a-z]+", e.get("question", re.sub("{.*?}", "", e["path"])))
            name = "".join(word.capitalize() for word in words) + "Query"
            assert name not in known.values(), name
            known[members, e["filters"]] = name
            own = [f'"{row["name"]}"' for row in e["parameters"] if row["name"] in filters]
            base = f" extends Omit<Filters, {' | '.join(own)}>" if own else " extends Filters"
            yield interface(name, members, base if e["filters"] else "")
        rows.append(f"\t\"{e['path']}\": {known[members, e['filters']]};")
    yield "\nexport type Nothing = Record<never, never>;\n"
    yield interface("Endpoints", rows)
    yield interface("AllocationNumbers", [
        f"\t{row['member']}: " +
        ("Timeval;" if re.match("time|duration", row["type"]) else "number;")
        for row in api["sorts"] if row["member"]])
    yield "\n" + union(api["group_sorts"], "export type GroupNumber =") + "\n"
    yield "\n/* Whose a frame is, by its number in a flame graph; a later one is preferred. */\n"
    yield "export const FRAME_KINDS = [\n" + "".join(
        f'\t"{kind}",\n' for kind in api["frame_kinds"]) + "] as const;\n"


new = "".join(generated())
with open(path, encoding="utf-8") as file:
    old = file.read()
if old == new:
    print("all hold")
elif sys.argv[3:] == ["--write"]:
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)
else:
    sys.exit(f"{path} is not what /api lists: tests/policy/page_types.py . BUILD --write")
