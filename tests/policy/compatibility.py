#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The table of docs/compatibility.md has a row for each suite of tests/e2e/foreign.py, no others,
and no difference in it: what differs is mended, not written down."""
import os
import re
import sys

root, build = sys.argv[1:3]
os.environ["MEMOIR_BUILD"] = build
sys.path.insert(0, os.path.join(root, "tests/e2e"))
sys.dont_write_bytecode = True
import foreign  # noqa: E402

text = open(os.path.join(root, "docs/compatibility.md"), encoding="utf-8").read()
rows = [line[2:].split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
wrong = []
if [row[0] for row in rows] != [suite.title for suite in foreign.SUITES.values()]:
    wrong.append("the rows are not those of tests/e2e/foreign.py: run the tests, then "
                 "scripts/compatibility")
for row, suite in zip(rows, foreign.SUITES.values()):
    for mode, cell in zip(foreign.MODES, row[2:]):
        if (mode in suite.modes) != bool(re.match(r"(\d+ )?the same", cell)):
            wrong.append(f"{row[0]}, {mode}: {cell}")
for line in wrong:
    print(f"docs/compatibility.md: {line}")
sys.exit(bool(wrong))
