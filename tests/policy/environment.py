#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each row of options.def is in docs/environment.md, with an example, in the man page and in
`memoir run --help`."""
import os
import re
import subprocess
import sys

root, build = sys.argv[1:3]


def read(path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


rows = re.findall(r'^OPTION\((\w+), \w+, "(\w+)", "([\w-]+)", "([^"]*)"',
                  re.sub(r"\n\s+", " ", read("src/wire/options.def")), flags=re.M)
aliases = re.findall(r'^ALIAS\((\w+), "(\w+)"\)', read("src/wire/options.def"), flags=re.M)
document = read("docs/environment.md")
man = read("docs/man/memoir-run.1")
program = os.path.join(build, "memoir")
usage = None
if os.path.exists(program):
    done = subprocess.run([program, "run", "--help"], capture_output=True, text=True)
    usage = done.stdout + done.stderr

bad = []
for field, variable, flag, default in rows:
    line = next((s for s in document.splitlines() if f"`{variable}`" in s), None)
    if line is None:
        bad.append(f"docs/environment.md: {variable} is missing")
    else:
        if f"`--{flag}" not in line:
            bad.append(f"docs/environment.md: {variable}: --{flag} is missing")
        if default and f"`{default}`" not in line:
            bad.append(f"docs/environment.md: {variable}: its default is {default}")
        if f"`{variable}=" not in line:
            bad.append(f"docs/environment.md: {variable}: there is no example")
    if variable not in man or flag not in man.replace("\\-", "-"):
        bad.append(f"docs/man/memoir-run.1: {variable} or --{flag} is missing")
    if usage is not None and f"--{flag}" not in usage:
        bad.append(f"memoir run --help: --{flag} is missing")
variables = {field: variable for field, variable, _, _ in rows}
for field, alias in aliases:
    if not any(f"`{alias}`" in s and f"`{variables[field]}`" in s for s in document.splitlines()):
        bad.append(f"docs/environment.md: {alias}, another name for {variables[field]}, is missing")
for variable in re.findall(r"^\| `(\w+)`", document, flags=re.M):
    if variable not in {*variables.values(), *(alias for _, alias in aliases)} and variable not in (
            "MEMOIR_COLLECTOR", "LD_PRELOAD", "NO_COLOR", "MEMOIR_SHM", "MEMOIR_THREADS",
            "MEMOIR_CACHE_LIMIT", "MEMOIR_PACK_EVENTS", "MEMOIR_PACK_BITS", "MEMOIR_FRAMES",
            "XDG_CACHE_HOME", "TMPDIR", "XDG_RUNTIME_DIR",
            "MEMOIR_AGENT_FOLDER",
            "MEMOIR_AGENT_LISTEN", "MEMOIR_AGENT_START", "MEMOIR_AGENT_TOKEN",
            "MEMOIR_AGENT_COMPAT", "MEMOIR_FLEET", "MEMOIR_FLEET_USER", "MEMOIR_FLEET_CONFIG",
            "MEMOIR_FLEET_SPOOL", "MEMOIR_FLEET_TIMEOUT",
            "MEMOIR_SERVICE",
            "MEMOIR_AGENT_QUIET", "MEMOIR_TOKEN", "MEMOIR_SOURCE_ROOT", "MEMOIR_STREAM_TOKEN",
            "MEMOIR_AGENT_OPEN_TO_ALL",
            "MEMOIR_AGENT_ALLOW_HOST", "MEMOIR_AGENT_LIBRARY", "http_proxy", "CURL_CA_BUNDLE"):
        bad.append(f"docs/environment.md: {variable} is not in options.def")
for line in bad:
    print(line)
print(f"{len(rows)} options, {len(bad)} faults")
sys.exit(1 if bad or not rows else 0)
