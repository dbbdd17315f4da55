#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a C text of rules: frame_kinds.py RULES.txt OUTPUT.  Comments stay behind; the variable is
named after the file."""
import os
import sys

name = os.path.splitext(os.path.basename(sys.argv[1]))[0]
with open(sys.argv[1], encoding="utf-8") as rules, open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write(f"static const char {name}_text[] =\n")
    for line in rules:
        if line.strip() and not line.startswith("#"):
            out.write('\t"' + line.strip().replace("\\", "\\\\").replace('"', '\\"') + '\\n"\n')
    out.write('\t"";\n')
