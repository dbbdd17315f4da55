# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading a long series of jemalloc's statistics: a gigabyte of text and of JSON, in a stream.

  python3 bench/jemalloc.py KIND BYTES FILE   makes a series: json or text

A series is snapshots of tests/data with other numbers in them, some variants in turn, each behind a
line with its time, as memoir jemalloc record writes it. """
import datetime
import os
import random
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SAMPLES = {"json": "json_full.json", "text": "text_full.txt"}
VARIANTS = 16
SIZE = 1 << 30
RATE = 150e6  # bytes a second
GROWTH = 8 << 20  # bytes of memory that a gigabyte may take more than a tenth of it


def variants(kind):
    with open(os.path.join(ROOT, "tests/data/jemalloc", SAMPLES[kind]), encoding="ascii") as file:
        text = file.read()
    numbers = random.Random(7)
    changed = re.compile(r'(?<="nmalloc":)\d+|(?<="nrequests":)\d+|(?<="curregs":)\d+'
                         if kind == "json"
                         else r"(?<=\s)\d{4,6}(?=\s)")
    for _ in range(VARIANTS):
        # As many digits as before, so that columns stay where they are.
        yield changed.sub(lambda m: "".join(numbers.choice("123456789") for _ in m[0]),
                          text).encode() + b"\n"


def make(kind, size, path):
    """A series of at least so many bytes; returns how many snapshots it has."""
    pieces = list(variants(kind))
    start = datetime.datetime(2026, 1, 1)
    count = written = 0
    with open(path, "wb") as file:
        while written < size:
            when = (start + datetime.timedelta(seconds=count)).isoformat(timespec="microseconds")
            written += file.write(f"--- {when}Z http://localhost/stats\n".encode())
            written += file.write(pieces[count % VARIANTS])
            count += 1
    return count


def measure(bench, words, path):
    """{wall, cpu, peak} of one run."""
    note = os.path.join(bench.folder, "peak")
    start = time.monotonic()
    process = subprocess.Popen(
        [os.path.join(bench.build, "bench", "bench_peak"), note, bench.memoir, "jemalloc", *words,
         path], stdout=subprocess.PIPE)
    process.stdout.read()
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"memoir jemalloc {' '.join(words)}: status {status}")
    with open(note, encoding="ascii") as file:
        peak = int(file.read()) << 10
    return {"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime, "peak": peak}


def run(bench, table):
    size = SIZE // 8 if bench.args.quick else SIZE
    rows, result = [["series", "command", "MB/s", "", "MB/s of processor time", "MiB at most",
                     ""]], []
    for kind in SAMPLES:
        small, large = (os.path.join(bench.folder, f"{n}.{kind}") for n in ("small", "large"))
        make(kind, size // 10, small)
        count = make(kind, size, large)
        for words in (["abs"], ["stats", "--only", "summary"],
                      ["del", "--csv", "--field", "total,active,mapped"]):
            measure(bench, words, large)  # into the page cache
            runs = [measure(bench, words, large) for _ in range(bench.args.repeat or 3)]
            best = min(runs, key=lambda r: r["wall"])
            rate, peak = os.path.getsize(large) / best["wall"], max(r["peak"] for r in runs)
            grown = peak - measure(bench, words, small)["peak"]
            name = f"{kind}, {count} snapshots", " ".join(words[:1])
            good = bench.check(f"jemalloc {words[0]} of {kind}, bytes a second", rate, RATE,
                               at_most=False)
            flat = bench.check(f"jemalloc {words[0]} of {kind}, growth of memory", grown, GROWTH)
            rows.append([*name, f"{rate / 1e6:.0f}", good,
                         f"{os.path.getsize(large) / best['cpu'] / 1e6:.0f}",
                         f"{peak / 2**20:.0f} (+{grown / 2**20:.1f})", flat])
            result.append({"kind": kind, "command": words, "bytes": os.path.getsize(large),
                           "runs": runs})
        os.remove(small)
        os.remove(large)
    bench.result["jemalloc"] = result
    print(f"\njemalloc statistics: a series of {size / 1e6:.0f} MB (at least {RATE / 1e6:.0f} "
          "MB/s, memory flat)")
    table(rows)


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2]), sys.argv[3]), "snapshots")
