# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of a tenth of a second that have large libraries: what embedding their tables adds.

The wall time of `memoir run`, from start to end: without binaries, with tables that have to be made
(the cache is emptied before), and with tables that an earlier recording has made.
"""
import os
import shutil
import statistics
import subprocess
import time

from tables import mib, table

BUDGET = 1.3  # of the time without, when the tables are there
PROGRAMS = (
    ("clang -c, empty main", ["clang", "-c", "empty.c", "-o", "empty.o"]),
    ("ffmpeg -version", ["ffmpeg", "-version"]),
    ("node -e 0", ["node", "-e", "0"]),
    ("python3 -c pass", ["python3", "-c", "pass"]),
)
WAYS = ("plain", "without", "first", "again")


def run(bench, way, command):
    """Seconds of the whole command, and bytes of the recording."""
    output = os.path.join(bench.folder, "short.dat")
    cache = os.path.join(bench.folder, "short-cache" if way != "first" else "short-no-cache")
    full = command
    if way != "plain":
        full = [bench.memoir, "run", "-q", "-o", output, *(["--no-write-binaries"] if way == "without" else []), "--",
                *command]
    shutil.rmtree(os.path.join(bench.folder, "short-no-cache"), ignore_errors=True)
    start = time.monotonic()
    subprocess.run(full, cwd=bench.folder, env=dict(os.environ, XDG_CACHE_HOME=cache), check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    return seconds, os.path.getsize(output) if way != "plain" else 0


def measure(bench):
    with open(os.path.join(bench.folder, "empty.c"), "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    rows = [["short programs", "plain ms", "without ms", "first ms", "", "again ms", "", f"at most {BUDGET}", "MiB"]]
    repeat = bench.args.repeat or (7 if bench.args.quick else 21)
    bench.result["short"] = {}
    for name, command in PROGRAMS:
        if not shutil.which(command[0]):
            continue
        run(bench, "again", command)  # fills the cache
        times = {way: [] for way in WAYS}
        sizes = {}
        for number in range(repeat):
            for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
                seconds, sizes[way] = run(bench, way, command)
                times[way].append(seconds)
        middle = {way: statistics.median(times[way]) for way in WAYS}
        factor = {way: middle[way] / middle["without"] for way in ("first", "again")}
        bench.result["short"][name] = {"seconds": times, "bytes": sizes["again"]}
        rows.append([name, *(f"{middle[way] * 1e3:.0f}" for way in ("plain", "without", "first")),
                     f"{factor['first']:.2f}", f"{middle['again'] * 1e3:.0f}", f"{factor['again']:.2f}",
                     bench.check(f"short: {name}", factor["again"], BUDGET), mib(sizes["again"])])
    print()
    table(rows)
