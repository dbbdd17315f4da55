#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""scripts/changelog, on a small tree: notes come under their headings, once, and are removed only
by --release.  And every note of changes/ is one that it can fold in."""
import os
import subprocess
import sys
import tempfile

root = sys.argv[1]
script = os.path.join(root, "scripts", "changelog")
bad = []


def check(what, holds):
    if not holds:
        bad.append(what)


for name in sorted(os.listdir(os.path.join(root, "changes"))):
    with open(os.path.join(root, "changes", name), encoding="utf-8") as file:
        text = file.read()
    if name != "README.md":
        check(f"changes/{name}: a note is one paragraph, without lists, headings and code blocks",
              text.strip() and not any(line.startswith(("#", "- ", "```")) or not line.strip()
                                       for line in text.strip().splitlines()))

with tempfile.TemporaryDirectory() as tree:
    def write(path, text):
        os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
        with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
            file.write(text)

    def fold(*options):
        subprocess.run([sys.executable, script, "--root", tree, *options], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(tree, "CHANGELOG.md"), encoding="utf-8") as file:
            return file.read()

    write("meson.build", "project('memoir', 'c',\n  version: '0.2.0',\n")
    write("CHANGELOG.md", "# Changes\n\nIntroduction.\n\n## Unreleased\n\n- Said before,\n  on "
          "two lines."
                          "\n\n## 0.1\n\n### The page\n\n- Old.\n")
    write("changes/README.md", "- How to write one.\n")
    write("changes/page-b.md", "A `view`\nmore.\n")
    write("changes/page-a.md", "Earlier by name.\n")
    write("changes/recorder-long.md", "word " * 60 + "\n")
    write("changes/unheard-of.md", "Somewhere else.\n")
    first = fold()
    expected = ("# Changes\n\nIntroduction.\n\n## 0.2\n\n- Said before, on two lines.\n\n### "
                "Recording\n\n"
                f"- {' '.join(['word'] * 19)}\n")
    check(f"the beginning of\n{first}", first.startswith(expected))
    check(f"the end of\n{first}", first.endswith(
        "### The page\n\n- Earlier by name.\n- A `view` more.\n\n### Other\n\n- Somewhere else.\n\n"
        "## 0.1\n\n### The page\n\n- Old.\n"))
    check("a line is too long", max(map(len, first.splitlines())) <= 100)
    check("a second time changes something", fold() == first)
    check("--release changes the text", fold("--release") == first)
    check("notes stay after --release", os.listdir(os.path.join(tree, "changes")) == ["README.md"])
    check("without notes something changes", fold() == first)
for line in bad:
    print(line)
sys.exit(1 if bad else 0)
