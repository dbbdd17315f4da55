#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a C table of the library's Lua half: embed.py OUTPUT FILE…, in the order of the files.

Lines stay where they are, so that an error in one of them has its line.
"""
import os
import sys


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


output, *files = sys.argv[1:]
with open(output, "w", encoding="utf-8") as out:
    out.write('#include "script/state.h"\nconst struct script_lib script_libs[] = {\n')
    for path in files:
        name = os.path.basename(path).removesuffix(".lua")
        out.write(f'\t{{ "{name}",\n')
        with open(path, encoding="utf-8") as file:
            for line in file.read().splitlines():
                out.write("\t  " + literal(line) + "\n")
        out.write("\t},\n")
    out.write("\t{ 0 },\n};\n")
