#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes a C text of the rules: frame_kinds.py frame_kinds.txt OUTPUT.  Comments stay behind."""
import sys

with open(sys.argv[1], encoding="utf-8") as rules, open(sys.argv[2], "w", encoding="utf-8") as out:
    out.write("static const char frame_kinds_text[] =\n")
    for line in rules:
        if line.strip() and not line.startswith("#"):
            out.write('\t"' + line.strip().replace("\\", "\\\\").replace('"', '\\"') + '\\n"\n')
    out.write('\t"";\n')
