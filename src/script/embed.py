#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes C tables of texts: embed.py OUTPUT TABLE FILE…, in the order of the files.

Of the library's Lua half names have no end.  Lines stay where they are, so that an error in one of
them has its line.
"""
import os
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


output, table, *files = sys.argv[1:]
with open(output, "w", encoding="utf-8") as out:
    out.write(f'#include "script/state.h"\nconst struct script_lib {table}[] = {{\n')
    for path in files:
        name = os.path.basename(path)
        if table == "script_libs":
            name = name.removesuffix(".lua")
        out.write(f'\t{{ "{name}",\n')
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                out.write("\t  " + literal(line) + "\n")
        out.write("\t},\n")
    out.write("\t{ 0 },\n};\n")
    if table != "script_libs":
        out.write(f"const size_t {table}_count = {len(files)};\n")
