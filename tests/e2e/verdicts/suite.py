#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records every scenario and compares Memoir's verdict with what it is.

  tests/e2e/verdicts/suite.py [BUILD]     prints the table of docs/verdicts.md
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "scenarios.cpp")
FLAGS = ["-std=c++17", "-O1", "-g", "-pthread"]
AT_ONCE = 6  # they sleep most of the time


def judge(memoir, program, folder, scenario):
    """The verdict on the stack of the scenario's own function that kept most, or None."""
    name, _, site, _ = scenario
    path = os.path.join(folder, name + ".dat")
    subprocess.run([memoir, "run", "-o", path, "--no-write-binaries", "--", program, name],
                   check=True,
                   capture_output=True, timeout=60)
    done = subprocess.run([memoir, "leaks", "--held", "--all", "--json", "--top", "100000", path],
                          check=True,
                          capture_output=True, timeout=60)
    found = [v for v in json.loads(done.stdout)["verdicts"]
             if any(f.get("function", "").split("(")[0] == site for f in v["backtrace"])]
    return max(found, key=lambda v: v["kept_bytes"], default=None)


def run(memoir, program, folder):
    """[(scenario, verdict)]; a scenario is (name, class, site, what it imitates)."""
    listed = subprocess.run([program, "--list"], check=True, capture_output=True, text=True).stdout
    scenarios = [tuple(line.split("\t")) for line in listed.splitlines()]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = pool.map(lambda s: judge(memoir, program, folder, s), scenarios)
        return list(zip(scenarios, verdicts))


def is_right(scenario, verdict):
    return verdict is not None and verdict["class"] == scenario[1]


def table(results):
    """Lines of a Markdown table."""
    yield "| program | it is | verdict | sure | evidence |"
    yield "|---|---|---|---|---|"
    for scenario, verdict in results:
        name, expected, _, what = scenario
        if verdict is None:
            yield f"| {name}: {what} | {expected} | **none** | | |"
            continue
        shown = verdict["class"] if is_right(scenario, verdict) else f"**{verdict['class']}**"
        yield (f"| {name}: {what} | {expected} | {shown} | {verdict['confidence']:.0%} | "
               f"{verdict['evidence']} |")


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "scenarios")
        subprocess.run(["g++", *FLAGS, SOURCE, "-o", program], check=True)
        results = run(os.path.join(build, "memoir"), program, folder)
    print("\n".join(table(results)))
    print(f"\n{sum(is_right(s, v) for s, v in results)} of {len(results)} are right.")


if __name__ == "__main__":
    main()
