#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""No line of docs and code is longer than 100 columns, but tables, links and code blocks
(scripts/reflow --check); and scripts/reflow does to a few small files what it says."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

sys.dont_write_bytecode = True
root = sys.argv[1]
script = os.path.join(root, "scripts", "reflow")
bad = []

loader = importlib.machinery.SourceFileLoader("reflow", script)
reflow = importlib.util.module_from_spec(importlib.util.spec_from_loader("reflow", loader))
loader.exec_module(reflow)

LONG = " ".join(["word"] * 30)
TABLE = "| " + LONG + " |"


def expect(what, path, text, made):
    """The text becomes this, which has no fault and stays as it is."""
    got = reflow.reflow(path, text) if reflow.faults(path, text) else text
    if got != made:
        bad.append(f"{what}: {got!r}, not {made!r}")
    if reflow.faults(path, got) or reflow.reflow(path, got) != got:
        bad.append(f"{what}: something is left to be done")


expect("a paragraph", "x.md", f"{LONG}\nend.\n", "word " * 19 + "word\n" + "word " * 10 + "end.\n")
expect("a short one", "x.md", "a\nb\n", "a\nb\n")
expect("a table", "x.md", TABLE + "\n", TABLE + "\n")
expect("a code block", "x.md", f"```\n{LONG}\n```\n", f"```\n{LONG}\n```\n")
expect("a list", "x.md", f"- {LONG}\n- b\n", "- " + "word " * 18 + "word\n  " + "word " * 10 +
       "word\n- b\n")
expect("code in a line", "x.md", "x" * 90 + " `a b c d e`\n", "x" * 90 + "\n`a b c d e`\n")
expect("no list is made", "x.md", "x " * 49 + "x - b\n", "x " * 48 + "x\nx - b\n")
expect("a comment", "x.h", f"/* {LONG} */\n", "/* " + "word " * 18 + "word\n * " + "word " * 10 +
       "word */\n")
expect("its end on a line of its own", "x.h", f"/* {LONG}\n */\n",
       "/* " + "word " * 18 + "word\n * " + "word " * 10 + "word\n */\n")
expect("a comment of lines", "x.ts", f"// SPDX-License\n// {LONG}\n",
       "// SPDX-License\n// " + "word " * 18 + "word\n// " + "word " * 10 + "word\n")
expect("a call", "x.py", f"call({', '.join(['argument'] * 12)})\n",
       "call(" + "argument, " * 8 + "argument,\n     argument, argument, argument)\n")
expect("a text", "x.py", f'call("{LONG}")\n', 'call("' + "word " * 18 + '"\n     "' + "word " * 11 +
       'word")\n')
expect("a condition", "x.py", f"assert {'a' * 50} and {'b' * 50}\n",
       f"assert ({'a' * 50}\n        and {'b' * 50})\n")
for path, text in (("x.md", LONG), ("x.c", LONG), ("x.py", f"x = {' + '.join(['y'] * 40)}"),
                   ("x.ts", LONG), ("meson.build", LONG)):
    if reflow.faults(path, text) != [1]:
        bad.append(f"{path}: a long line is not seen")
for path, text in (("x.md", "see https://example.org/" + "x" * 90), ("x.c", "x" * 120)):
    if reflow.faults(path, text):
        bad.append(f"{path}: what cannot be broken is a fault")
for line in bad:
    print(line)
tree = subprocess.run([sys.executable, script, "--check"], cwd=root, check=False).returncode
sys.exit(1 if bad or tree else 0)
