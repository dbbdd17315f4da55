#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes C texts of files: embed.py OUTPUT NAME=FILE[,FILE…] …; files of one name are joined.

Head comments go: the output that they end up in is not a source.
"""
import re
import sys


def without_head(text, path):
    if path.endswith((".js", ".css")):
        text = re.sub(r"\A(/\*.*?\*/\s*)+", "", text, flags=re.S)
    return text


def literal(line):
    return '"' + line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?") + '\\n"'


output, *assets = sys.argv[1:]
with open(output, "w", encoding="utf-8") as out:
    out.write('#include "draw/assets.h"\n')
    for asset in assets:
        name, paths = asset.split("=", 1)
        out.write(f"const char asset_{name}[] =\n")
        for path in paths.split(","):
            with open(path, encoding="utf-8") as file:
                text = without_head(file.read(), path)
            # Either would end the element that it stands in.
            for word in ("]]>", "</script", "</style"):
                if path.endswith((".js", ".css")) and word in text.lower():
                    sys.exit(f"{path}: {word} must not occur")
            for line in text.splitlines():
                out.write("\t" + literal(line) + "\n")
        out.write('\t"";\n')
