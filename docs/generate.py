#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fills in what the tables of the built program say, so that no document repeats them.

    generate.py http-api PROGRAM SOURCE OUTPUT   parameters of every endpoint, from /api
    generate.py man PROGRAM FOLDER SOURCE…       options of every command, from its --help

A line <!-- parameters --> of docs/http-api.md becomes the table of its section's endpoint, and
<!-- questions --> a section for each question that the document does not speak of.  In a manual
page a line .\\" options becomes the options that the page does not explain itself; in memoir(1)
.\\" commands becomes all commands, and .\\" pages their manual pages."""
import json
import os
import re
import subprocess
import sys


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def meaning(row):
    """The last cell of a parameter: what it is, which words it takes, how much at most."""
    text, words = row["help"].replace("|", "\\|"), row.get("values", [])
    if any(not re.search(rf"\b{re.escape(word)}\b", text) for word in words):
        text += ": " + ", ".join(f"`{word}`" for word in words[:-1]) + f" or `{words[-1]}`"
    if "max" in row:
        text += f"; at most {row['max']}"
    return text + (" (required)" if row["required"] else "")


def parameters(endpoint):
    rows = endpoint["parameters"]
    if not rows:
        return ""
    return "\n".join(["| parameter | value | default | what |", "| --- | --- | --- | --- |"] + [
        f"| {row['name']} | {row['type']} | {row.get('default', '')} | {meaning(row)} |".replace(
            "|  |", "| |")
        for row in rows])


def question(endpoint):
    filters = " Takes filters." if endpoint["filters"] else ""
    head = f"### GET {endpoint['path']}\n\n{endpoint['help'].capitalize()}.{filters}\n"
    table = parameters(endpoint)
    return head + (f"\n{table}\n" if table else "")


def http_api(program, source, output):
    endpoints = {f"{method} {e['path']}": e
                 for e in json.loads(said(program, "server", "--api"))["endpoints"]
                 for method in e["methods"]}
    with open(source, encoding="utf-8") as file:
        sections = re.split(r"^(?=### )", file.read(), flags=re.M)
    known = {section.partition("\n")[0][4:] for section in sections}
    more = "\n".join(question(e) for title, e in endpoints.items() if "question" in e
                     and title not in known)
    for i, section in enumerate(sections):
        endpoint = endpoints.get(section.partition("\n")[0][4:])
        if endpoint:
            section = section.replace("<!-- parameters -->", parameters(endpoint))
        sections[i] = section.replace("<!-- questions -->\n", more)
    with open(output, "w", encoding="utf-8") as file:
        file.write("".join(sections))


def options(help_text):
    """(letter, name, argument, help) of each row of --help."""
    body = help_text.partition("Options:\n")[2].split("\n\n")[0]
    rows = []
    for line in body.splitlines():
        found = re.match(r"  (?:-(\w), |    )--([a-z0-9-]+)(?: (\S+))?(?:\s{2,}(.*)|$)", line)
        if found:
            rows.append([*found.groups("")])
        else:
            rows[-1][3] = f"{rows[-1][3]} {line.strip()}".strip()
    return [row for row in rows if row[1] != "help"]


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def explained(letter, name, argument, text):
    value = f" \\fI{roff(argument)}\\fR" if argument else ""
    short = f"\\fB\\-{letter}\\fR{value}, " if letter else ""
    return f".TP\n{short}\\fB\\-\\-{roff(name)}\\fR{value}\n{roff(text)}\n"


def commands(program):
    """(name, help) of each command, as the shell is told; other names of one have no help."""
    rows = [line.partition("\t")[::2] for line in said(program, "--complete", "").splitlines()]
    return [row for row in rows if row[0] != "help"]


def all_commands(program):
    return "".join(
        f".TP\n.BR {roff(name)} \" (see \" memoir\\-{roff(name)} (1))\n{roff(text)}\n" if text else
        f".TP\n.B {roff(name)}\nBytehound's name of\n.B {name.replace('-', ' ', 1)}\n"
        for name, text in commands(program))


def all_pages(program):
    return "".join(f".BR memoir\\-{roff(name)} (1),\n" for name, text in commands(program)
                   if text) + ".BR memoir\\-filters (7)\n"


def man_page(program, source, output):
    with open(source, encoding="utf-8") as file:
        page = file.read()
    for mark, made in (("commands", all_commands), ("pages", all_pages)):
        if f'.\\" {mark}\n' in page:
            page = page.replace(f'.\\" {mark}\n', made(program))
    name = os.path.basename(source)[len("memoir-"):-len(".1")]
    part = re.search(r'^\.SH OPTIONS\n(.*?)^\.\\" options\n', page, flags=re.S | re.M)
    if part:
        before, *items = re.split(r"^(?=\.TP\n)", part[1], flags=re.M)
        own = {}
        for item in items:
            for option in re.findall(r"--([a-z0-9-]+)", item.split("\n")[1].replace("\\-", "-")):
                own.setdefault(option, item)
        told, text = [], before
        words = name.split("-", 1) if name.startswith(("jemalloc-", "fleet-")) else [name]
        help_text = said(program, *words, "--help")
        for row in options(help_text):
            item = own.get(row[1]) or explained(*row)
            if item not in told:
                text += item
                told.append(item)
        # What --help does not show: other names of an option.
        text += "".join(item for item in items if item not in told)
        if "Every filter is an option too" in help_text:
            text += ".PP\nEvery filter of\n.BR memoir\\-filters (7)\nis an option too.\n"
        page = page[:part.start(1)] + text + page[part.end():]
    with open(output, "w", encoding="utf-8") as file:
        file.write(page)


what, memoir, first, *others = sys.argv[1:]
if what == "http-api":
    http_api(memoir, first, *others)
else:
    for path in others:
        man_page(memoir, path, os.path.join(first, os.path.basename(path)))
