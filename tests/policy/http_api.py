#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""docs/http-api.md, with the tables that the build fills in, has every endpoint, parameter, type
and default that /api lists, and no other.  Endpoints that are no questions are explained by
hand."""
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request

root, build = sys.argv[1:3]
program = os.path.join(build, "memoir")
if not os.path.exists(program):
    print("no memoir")
    sys.exit(77)
with open(os.path.join(root, "docs/http-api.md"), encoding="utf-8") as file:
    written = file.read()
with open(os.path.join(build, "docs/http-api.md"), encoding="utf-8") as file:
    document = file.read()

server = subprocess.Popen([program, "server", "--any-port"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
try:
    address = server.stdout.readline().strip()
    with urllib.request.urlopen(address + "api", timeout=60) as answer:
        api = json.load(answer)
finally:
    server.send_signal(signal.SIGTERM)
    server.wait(60)

bad = []
sections = {}
for section in re.split(r"^### ", document, flags=re.M)[1:]:
    title, _, body = section.partition("\n")
    if re.match(r"(GET|POST|DELETE) /", title):
        if title in sections:
            bad.append(f"{title} is there twice")
        sections[title] = body
described = set()
for endpoint in api["endpoints"]:
    for method in endpoint["methods"]:
        title = f"{method} {endpoint['path']}"
        described.add(title)
        if title not in sections:
            bad.append(f"{title} is missing")
            continue
        body = sections[title]
        if "question" not in endpoint and f"### {title}\n" not in written:
            bad.append(f"{title} is no question, and not explained")
        rows = {row[0]: row for row in re.findall(r"^\| (\w+) \| (\w+) \|([^|]*)\| (.*) \|$", body,
                                                  flags=re.M)
                if row[0] != "parameter"}
        for parameter in endpoint["parameters"]:
            row = rows.pop(parameter["name"], None)
            where = f"{title}: {parameter['name']}"
            if row is None:
                bad.append(f"{where} is missing")
                continue
            if row[1] != parameter["type"]:
                bad.append(f"{where} is of type {parameter['type']}, not {row[1]}")
            if row[2].strip() != parameter.get("default", "") and not parameter["name"] == "at":
                bad.append(f"{where}: the default is '{parameter.get('default', '')}', not "
                           f"'{row[2].strip()}'")
            if parameter["required"] != ("required" in row[3]):
                bad.append(f"{where}: is it required?")
            if "max" in parameter and str(parameter["max"]) not in row[3]:
                bad.append(f"{where}: at most {parameter['max']}")
        bad += [f"{title}: there is no parameter {name}" for name in rows]
        if endpoint["filters"] and not re.search(r"Takes\s+filters|The same", body):
            bad.append(f"{title}: takes filters")
bad += [f"{title}: there is no such endpoint" for title in sections if title not in described]
for key in api:
    if f'"{key}"' not in document:
        bad.append(f"/api: {key} is not described")
if "| parameter |" in written or re.search("<!-- (parameters|questions)", document):
    bad.append("tables of parameters are made from the rows: <!-- parameters -->")
for line in bad:
    print(line)
print(f"{len(described)} endpoints, {len(bad)} faults")
sys.exit(1 if bad or len(described) < 20 else 0)
