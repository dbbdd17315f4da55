# SPDX-License-Identifier: MIT OR Apache-2.0
"""What promtool says about metrics: the rules of its linter, and itself where it is installed."""
import re
import shutil
import subprocess

UNITS = {"second", "meter", "byte", "gram", "celsius", "kelvin", "joule", "volt", "ampere"}
OTHER_UNITS = {"minute", "hour", "day", "week", "kilobyte", "megabyte", "gigabyte", "millisecond",
               "microsecond",
               "nanosecond", "bit", "kilobit", "percent", "milliseconds", "minutes", "hours"}
SHORT = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"}


def lint(text):
    """The lines that promtool check metrics would print."""
    found, types, helped = [], dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M)), set(
        re.findall(r"^# HELP (\S+) \S", text, re.M))
    names = {re.match(r"[^{ ]+", line)[0] for line in text.splitlines() if line and line[0] != "#"}
    for name in sorted(names):
        parts = name.split("_")
        if name not in helped:
            found.append(f"{name} no help text")
        if types.get(name) == "counter" and not name.endswith("_total"):
            found.append(f'{name} counter metrics should have "_total" suffix')
        if types.get(name) != "counter" and name.endswith("_total"):
            found.append(f'{name} non-counter metrics should not have "_total" suffix')
        if types.get(name) in parts:
            found.append(f"{name} metric name should not include type")
        if ":" in name or name.lower() != name:
            found.append(f"{name} metric names should be written in lower case without ':'")
        if SHORT & set(parts):
            found.append(f"{name} metric names should not contain abbreviated units")
        if OTHER_UNITS & {part.rstrip("s") for part in parts} | OTHER_UNITS & set(parts):
            found.append(f"{name} use base unit")
    return found


def check(text):
    assert lint(text) == []
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0 and not done.stdout + done.stderr, done
