# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heap profile dumps: reading, naming and printing one, next to jeprof.

The dumps: the sample of tests/data (a small program, eight stacks); memoir itself under jemalloc, a
program with debug information and hundreds of addresses; one with 20,000 stacks of the same
addresses; and Redis of the distribution, which has no debug information, where it is installed.

Warm is with everything in the page cache, and in our own cache of names; cold without either, as
far as the system lets us drop the first. """
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATA = os.path.join(ROOT, "tests/data/jemalloc")
FACTOR = 10  # at least so many times faster than jeprof
STACKS = 20000
REPORTS = (["--text"], ["--collapsed"])
JEMALLOC = next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), None)


def sample(folder):
    """The program goes where jeprof looks for it."""
    shutil.copy(os.path.join(DATA, "prof"), folder)
    path = os.path.join(folder, "out.heap")
    with open(os.path.join(DATA, "out.heap"), encoding="ascii") as file, open(
            path, "w", encoding="ascii") as to:
        to.write(file.read().replace("/opt/jem-study/prof", f"{folder}/prof"))
    return f"{folder}/prof", path


def final_dump(folder, name, command, **keywords):
    """Runs a program with the profiler on; the dump of its end."""
    prefix = os.path.join(folder, name)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env=dict(
        os.environ, LD_PRELOAD=JEMALLOC, MEMOIR_CACHE_LIMIT="0",
        MALLOC_CONF=f"prof:true,prof_accum:true,lg_prof_sample:4,prof_final:true,prof_prefix:{prefix}"), **keywords)
    return max(glob.glob(f"{prefix}.*.f.heap"), key=os.path.getsize)


def own(bench, folder, dump):
    """memoir as a program that allocates."""
    return bench.memoir, final_dump(folder, "memoir",
                                    [bench.memoir, "jemalloc", "heap", "--tree", "--json", dump])


def redis(folder):
    program = shutil.which("redis-server")
    if not program:
        return None
    prefix = os.path.join(folder, "redis")
    process = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", f"{folder}/redis.sock", "--save", "",
         "--daemonize", "no"],
        stdout=subprocess.DEVNULL, cwd=folder, env=dict(
            os.environ, LD_PRELOAD=JEMALLOC,
            MALLOC_CONF=f"prof:true,prof_accum:true,lg_prof_sample:6,prof_final:true,prof_prefix:{prefix}"))
    try:
        deadline = time.monotonic() + 60
        while not os.path.exists(f"{folder}/redis.sock") and time.monotonic() < deadline:
            time.sleep(0.05)
        subprocess.run(["redis-benchmark", "-s", f"{folder}/redis.sock", "-n", "20000", "-q"],
                       check=True,
                       stdout=subprocess.DEVNULL)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    dumps = glob.glob(f"{prefix}.*.f.heap")
    return (os.path.realpath(program), max(dumps, key=os.path.getsize)) if dumps else None


def large(folder, dump):
    """Stacks of another dump, cut and joined at random."""
    with open(dump, encoding="ascii") as file:
        text = file.read()
    stacks = [line.split()[1:] for line in re.findall(r"^@ .*$", text, re.MULTILINE)]
    numbers = random.Random(7)
    path = os.path.join(folder, "large.heap")
    with open(path, "w", encoding="ascii") as file:
        file.write("heap_v2/524288\n  t*: 1: 1 [1: 1]\n  t0: 1: 1 [1: 1]\n")
        for _ in range(STACKS):
            inner, outer = numbers.choice(stacks), numbers.choice(stacks)
            pcs = inner[:numbers.randrange(1, len(inner) + 1)] + outer[numbers.randrange(
                len(outer)):]
            count = numbers.randrange(1, 100)
            line = f"{count}: {count * numbers.randrange(16, 100000)} [{count}: {count * 200000}]"
            file.write(f"@ {' '.join(pcs)}\n  t*: {line}\n  t0: {line}\n")
        file.write(text[text.index("\nMAPPED_LIBRARIES"):])
    return path


def drop_caches():
    """False if we may not."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3\n")
    except OSError:
        return False
    return True


def measure(command, folder):
    """{wall, cpu} of one run."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               cwd=folder)
    size = len(process.stdout.read())
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status or not size:
        raise SystemExit(f"{' '.join(command)}: status {status}, {size} bytes")
    return {"wall": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime}


def compare(bench, name, words, program, dump, cold):
    """The best of some runs of either, in turn."""
    ours, theirs = [], []
    for _ in range(bench.args.repeat or (2 if bench.args.quick else 5)):
        for runs, command in ((ours, [bench.memoir, "jemalloc", "heap", *words, program, dump]),
                              (theirs, ["jeprof", *words, program, dump])):
            if cold:
                shutil.rmtree(bench.cache, ignore_errors=True)
                os.mkdir(bench.cache)
                drop_caches()
            runs.append(measure(command, bench.folder))
    best = {who: {key: min(run[key] for run in runs) for key in ("wall", "cpu")}
            for who, runs in (("memoir", ours), ("jeprof", theirs))}
    return {"dump": name, "report": words[0], "cold": cold, **best,
            "factor": best["jeprof"]["wall"] / best["memoir"]["wall"],
            "cpu_factor": best["jeprof"]["cpu"] / best["memoir"]["cpu"]}


def run(bench, table):
    if not shutil.which("jeprof") or not JEMALLOC:
        print("\nheap dumps: no jeprof or no jemalloc to compare with")
        return
    small = sample(bench.folder)
    program = own(bench, bench.folder, small[1])
    dumps = {"out.heap": small, "memoir": program, "redis": redis(bench.folder),
             f"{STACKS} stacks": (program[0], large(bench.folder, program[1]))}
    can_drop = drop_caches()
    rows, result = [["dump", "report", "", "ms", "jeprof, ms", "times faster", "",
                     "of processor time"]], []
    for name, dump in dumps.items():
        for words in REPORTS if dump else ():
            for cold in (False, True):
                r = compare(bench, name, words, *dump, cold)
                state = "cold" if cold else "warm"
                good = bench.check(f"heap {words[0]} of {name}, {state}, times faster", r["factor"],
                                   FACTOR, at_most=False)
                rows.append([name, words[0], state, f"{r['memoir']['wall'] * 1e3:.0f}",
                             f"{r['jeprof']['wall'] * 1e3:.0f}",
                             f"{r['factor']:.1f}", good, f"{r['cpu_factor']:.1f}"])
                result.append(r)
    bench.result["heap"] = result
    print(f"\nheap dumps next to jeprof (at least {FACTOR} times faster; cold: "
          f"{'without the page cache' if can_drop else 'the page cache could not be dropped'})")
    table(rows)
