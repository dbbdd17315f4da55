#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page's code: unit tests of what it computes (tests/web, vitest), eslint, and prettier.

All three are packages of tests/package-lock.json, so that building the page needs none of them.
`make format` writes what prettier wants.
"""
import os
import subprocess
import sys

root = sys.argv[1]
subprocess.check_call([os.path.join(root, "scripts", "install-npm"), "tests"])


# Where CI is set vitest colours what it writes, and reports in XML cannot hold that.
PLAIN = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
PLAIN["NO_COLOR"] = "1"


def node(tool, *arguments):
    return subprocess.call(["node", f"tests/node_modules/{tool}", *arguments], cwd=root, env=PLAIN)


failed = [name for name, status in (
    ("unit tests", node("vitest/vitest.mjs", "run", "--root", "tests/web")),
    ("types of the tests", node("typescript/bin/tsc", "--noEmit", "-p", "tests/web")),
    ("eslint", node("eslint/bin/eslint.js", "--config", "tests/web/eslint.config.mjs",
                    "--max-warnings", "0", "web/src", "tests/web")),
    ("prettier (make format)", node("prettier/bin/prettier.cjs", "--check", "--log-level", "warn",
                                    "web", "tests/web")),
) if status]
print(f"failed: {', '.join(failed)}" if failed else "all hold")
sys.exit(1 if failed else 0)
