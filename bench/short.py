# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of a tenth of a second that have large libraries: what embedding their tables adds.

Wall and processor time of `memoir run`, from start to end: without binaries, with tables that have
to be made (each run has a new, empty cache), and with tables that an earlier recording has made.
"""
import itertools
import os
import shutil
import statistics
import subprocess
import time

from tables import mib, table

BUDGET = 1.3  # of the time without, whether the tables are there or not
PROGRAMS = (
    ("clang -c, empty main", ["clang", "-c", "empty.c", "-o", "empty.o"]),
    ("ffmpeg -version", ["ffmpeg", "-version"]),
    ("node -e 0", ["node", "-e", "0"]),
    ("python3 -c pass", ["/usr/bin/python3", "-c", "pass"]),
)
WAYS = ("plain", "without", "first", "again")
numbers = itertools.count()


def run(bench, way, command):
    """Seconds of the whole command, of processor time for it, and bytes of the recording."""
    output = os.path.join(bench.folder, "short.dat")
    # A new one each time: a file system takes longer to make files where it has just removed many.
    cache = os.path.join(bench.folder, "short-cache" if way != "first"
                         else f"short-cache-{next(numbers)}")
    full = command
    if way != "plain":
        full = [bench.memoir, "run", "-q", "-o", output,
                *(["--no-write-binaries"] if way == "without" else []), "--",
                *command]
    start = time.monotonic()
    process = subprocess.Popen(full, cwd=bench.folder, env=dict(os.environ, XDG_CACHE_HOME=cache),
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    seconds = time.monotonic() - start
    if status:
        raise SystemExit(f"{' '.join(full)}: status {status}")
    return seconds, usage.ru_utime + usage.ru_stime, os.path.getsize(
        output) if way != "plain" else 0


def measure(bench):
    with open(os.path.join(bench.folder, "empty.c"), "w", encoding="ascii") as file:
        file.write("int main(void) { return 0; }\n")
    rows = [["short programs", "plain ms", "without ms", "first ms", "", f"at most {BUDGET}",
             "again ms", "",
             f"at most {BUDGET}", "cpu: without ms", "first ms", "", "again ms", "", "MiB"]]
    repeat = bench.args.repeat or (7 if bench.args.quick else 21)
    bench.result["short"] = {}
    for name, command in PROGRAMS:
        if not shutil.which(command[0]):
            continue
        run(bench, "again", command)  # fills the cache
        walls, processor, sizes = {way: [] for way in WAYS}, {way: [] for way in WAYS}, {}
        for number in range(repeat):
            for way in WAYS[number % len(WAYS):] + WAYS[:number % len(WAYS)]:
                wall, used, sizes[way] = run(bench, way, command)
                walls[way].append(wall)
                processor[way].append(used)
        bench.result["short"][name] = {"wall": walls, "cpu": processor, "bytes": sizes["again"]}
        wall, used = ({way: statistics.median(times[way]) for way in WAYS}
                      for times in (walls, processor))
        row = [name, f"{wall['plain'] * 1e3:.0f}"]
        for times in (wall, used):
            row.append(f"{times['without'] * 1e3:.0f}")
            for way in ("first", "again"):
                ratio = times[way] / times["without"]
                row += [f"{times[way] * 1e3:.0f}", f"{ratio:.2f}"]
                if times is wall:
                    row.append(bench.check(f"short, {way}: {name}", ratio, BUDGET))
        rows.append([*row, mib(sizes["again"])])
    print()
    table(rows)
