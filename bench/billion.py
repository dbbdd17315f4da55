# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part `billion` of bench.py: a recording of a billion events, made here and removed again.

How long the first opening takes and what memory it needs; opening it again; what the cache takes;
and then questions (bench/ask.c), of the whole run and of hundredths of it.  `--quick` makes a
fiftieth of it, with the budgets of recordings of ten million allocations.

Nothing may hang: every step has its time, after which it is ended and is a MISS, and so has
everything together.  What is measured is work and not the disk: files are on the disk, and read
through, before anything is timed.
"""
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from memory import own_memory, touch_memory
from tables import table

EVENTS = 1_097_000_000
QUICK = 50  # --quick is this part of it
# bench/gen_recording.c: 8 threads, one block in a thousand is never freed, repeats itself as far as
# programs do whose files are as large.
GENERATED = ("8", "1", "0.1", "zstd", "0", "90")
GIB = 1 << 30

FIRST = 60  # seconds
FIRST_OWN = 4  # GiB
FIRST_RATE = 25e6  # events a second, of ten million allocations
AGAIN = 1  # seconds
CACHE = 10  # GB
ROW = 20  # bytes of the cache for each allocation
WHOLE, RANGE = 3, 0.1  # seconds of a question, about everything and about a hundredth of the time
TOTAL = 25 * 60

# What is needed of the disk, in bytes, if all budgets are met: an event of the file, and each
# allocation in the cache and in files that building it may need.
FILE_BYTES, CACHE_BYTES, SCRATCH_BYTES = 6.8, ROW, ROW
# More than that is measured, too, as far as there is room.
CACHE_BYTES_MOST = 80
SPARE = GIB  # never taken: other work is on the same disk

LONG_OPENING = 30  # seconds
# Seconds until a step is given up.
LIMITS = {"making": 400, "first": 300, "again": 60, "opening to ask": 240, "whole": 30, "range": 5,
          "reading through": 60}

# Name, question, what else is asked of the whole run, and of a hundredth of it (None: nothing).  No
# two hundredths are the same, so that nothing is kept from one for the next; and peak and sums,
# which are kept with a recording, are not all that is asked for.
GROUPS = {"count": 50, "sort_by": "size", "order": "dsc"}
ALLOCATED = {"measure": "allocated"}
FILTERS = {"size": "size >= 1k", "function": 'function ~ "^malloc$"',
           "expression": "size >= 100 and lifetime < 10ms and not leaked"}
QUESTIONS = [("groups by stack", "groups", GROUPS, GROUPS), ("tree", "tree", ALLOCATED, ALLOCATED),
             ("flame graph, peak", "flame", {}, None),
             ("flame graph, allocated", "flame", ALLOCATED, ALLOCATED),
             ("flame graph, alive at 40 %", "flame", {"measure": "alive", "at": "40%"}, None),
             *((f"filter by {name}, by stack", "groups", {**GROUPS, "filter": text},
                {**GROUPS, "filter": text}) for name, text in FILTERS.items()),
             ("timeline", "timeline", {"points": 1000}, {"points": 1000})]
UNBUDGETED = ("timeline",)
RANGES = 3  # of each question; the median counts


class GivenUp(Exception):
    """A step took too long, or the disk was full."""


class Watch:
    """Samples a process from a thread of its own: the most memory, and whether it may go on."""

    def __init__(self, process, folder, seconds):
        self.process, self.folder = process, folder
        self.until, self.own, self.why = time.monotonic() + seconds, 0, None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def watch(self):
        while not self.stopped.wait(0.01):
            self.own = max(self.own, own_memory(self.process.pid))
            if time.monotonic() > self.until:
                self.why = "it took too long"
            elif shutil.disk_usage(self.folder).free < SPARE // 4:
                self.why = "the disk was full"
            if self.why:
                # Not Popen's own, which may wait for it, and it is the other thread's to wait for.
                os.kill(self.process.pid, signal.SIGKILL)
                return

    def stop(self):
        self.stopped.set()
        self.thread.join()


def read_through(path):
    """On the disk, and in memory: what has not been read in time does not fit there."""
    until = time.monotonic() + LIMITS["reading through"]
    with open(path, "rb", buffering=0) as file:
        os.fsync(file.fileno())
        block = bytearray(4 << 20)
        while file.readinto(block) and time.monotonic() < until:
            pass


def forget(path):
    """Out of memory, so that there is room for what is measured next."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def copy_as_memoir(memoir, program, copy):
    """Copies a program of the same build and gives it memoir's build id, which a cache's file is
    of: so the file that memoir made is used, where another would take as long to make and as much
    of the disk."""
    note = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"

    def of(content):
        begin = content.index(note) + len(note)
        return slice(begin, begin + 20)

    with open(memoir, "rb") as file:
        wanted = file.read()
    with open(program, "rb") as file:
        content = bytearray(file.read())
    content[of(content)] = wanted[of(wanted)]
    with open(copy, "wb") as file:
        file.write(content)
    os.chmod(copy, 0o755)


class Billion:
    def __init__(self, bench, folder):
        self.bench, self.folder = bench, folder
        self.quick = bench.args.quick
        self.events = EVENTS // QUICK if self.quick else EVENTS
        self.allocations = self.events // 2  # until they are known
        self.path = os.path.join(folder, "billion.dat")
        self.cache = os.path.join(folder, "cache")
        self.bench_ask = os.path.join(folder, "bench_ask")
        self.began = time.monotonic()
        self.result = {"events": self.events}
        self.env = dict(os.environ, XDG_CACHE_HOME=self.cache, TMPDIR=folder)

    def room(self):
        """Says what is needed, and refuses where it is not there."""
        needed = {"recording": self.events * FILE_BYTES, "cache": self.allocations * CACHE_BYTES,
                  "scratch": self.allocations * SCRATCH_BYTES}
        total, free = sum(needed.values()), shutil.disk_usage(self.folder).free - SPARE
        parts = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in needed.items())
        print(f"\nbillion: needs {total / 1e9:.1f} GB of disk ({parts}) in {self.folder}, which "
              f"has {max(free, 0) / 1e9:.1f} to spare", flush=True)
        if free < total:
            raise SystemExit(f"billion: {(total - free) / 1e9:.1f} GB of disk are missing in "
                             f"{os.path.dirname(self.folder)} (TMPDIR says where else)")
        limit = min(free - needed["recording"], self.allocations * CACHE_BYTES_MOST)
        self.env["MEMOIR_CACHE_LIMIT"] = str(int(limit))

    def limit(self, step):
        left = self.began + TOTAL - time.monotonic()
        if left <= 0:
            raise GivenUp("no time was left")
        return min(LIMITS[step], left)

    def watched(self, step, command):
        """Runs a command that must succeed: what it took.  GivenUp if it takes too long."""
        with tempfile.TemporaryFile(dir=self.folder) as out:
            limit, start = self.limit(step), time.monotonic()
            process = subprocess.Popen(command, env=self.env, cwd=self.folder, stdout=out,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            watch = Watch(process, self.folder, limit)
            try:
                # It stays a zombie meanwhile, so that no other process can have its number.
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            except BaseException:
                os.kill(process.pid, signal.SIGKILL)
                raise
            finally:
                seconds = time.monotonic() - start
                watch.stop()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
            if watch.why:
                raise GivenUp(f"{watch.why}: {step}, {seconds:.0f} s")
            if status:
                raise SystemExit(f"{' '.join(command)}: status {status}")
            out.seek(0)
            return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "own": watch.own,
                    "resident": usage.ru_maxrss << 10, "out": out.read()}

    def check(self, what, value, budget, at_most=True):
        """Without a value, something has not been measured, which is a MISS."""
        name = f"billion{', quick' if self.quick else ''}: {what}"
        if value is None:
            self.bench.result["checks"].append({"what": name, "value": None, "budget": budget,
                                                "good": False})
            return "MISS"
        return self.bench.check(name, value, budget, at_most)

    def make(self):
        generator = os.path.join(self.bench.build, "tests", "unit", "gen_recording")
        subprocess.run(["ninja", "-C", self.bench.build, "memoir", "tests/unit/gen_recording",
                        "bench/bench_ask"],
                       check=True, stdout=subprocess.DEVNULL)
        copy_as_memoir(self.bench.memoir, os.path.join(self.bench.build, "bench", "bench_ask"),
                       self.bench_ask)
        done = self.watched("making", [generator, self.path, str(self.events), *GENERATED])
        start = time.monotonic()
        read_through(self.path)
        made = json.loads(done["out"])
        self.allocations = made["allocations"]
        self.result.update(allocations=self.allocations, making_s=done["seconds"],
                           disk_s=time.monotonic() - start, file_bytes=os.path.getsize(self.path))
        print(f"billion: {made['events'] / 1e6:,.1f} M events, {self.allocations / 1e6:,.1f} M "
              f"allocations, {self.result['file_bytes'] / GIB:.2f} GiB, made in "
              f"{done['seconds']:.0f} s and on the disk {self.result['disk_s']:.0f} s later",
              flush=True)

    def info(self, step):
        return self.watched(step, [self.bench.memoir, "info", "--json", self.path])

    def first(self):
        runs = []
        for _ in range(self.bench.args.repeat or (3 if self.quick else 1)):
            shutil.rmtree(self.cache, ignore_errors=True)
            os.mkdir(self.cache)
            # As much as it may need, and the file after that.
            touch_memory(GIB if self.quick else FIRST_OWN * GIB)
            read_through(self.path)
            runs.append(self.info("first"))
        info = json.loads(runs[0]["out"])
        if (info["events"], info["allocations"]) != (self.events, self.allocations):
            raise SystemExit(f"billion: {info['events']} events were read and "
                             f"{info['allocations']} allocations, not {self.events} and "
                             f"{self.allocations}")
        row = {key: statistics.median(r[key] for r in runs)
               for key in ("seconds", "cpu", "own", "resident")}
        row["events_per_second"] = self.events / row["seconds"]
        return row

    def again(self):
        return statistics.median(self.info("again")["seconds"] for _ in range(3))

    def cache_files(self):
        folder = os.path.join(self.cache, "memoir")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return [os.path.join(folder, name) for name in names]

    def open(self):
        """The rows about opening."""
        rows, what = [], "first opening"
        try:
            first = self.result["first"] = self.first()
        except GivenUp as why:
            first = None
            print(f"billion: {what}: {why}", flush=True)

        def row(name, value, shown, budget, said, at_most=True):
            verdict = self.check(name, value, budget, at_most) if budget else ""
            rows.append([name, "none" if value is None else shown.format(value),
                         said.format(budget) if budget else "", verdict])

        def of(found, key, unit=1):
            return found[key] / unit if found else None

        row(f"{what}, s", of(first, "seconds"), "{:.2f}", None if self.quick else FIRST,
            "at most {}")
        row(f"{what}, processor s", of(first, "cpu"), "{:.2f}", None, "")
        row(f"{what}, M events a second", of(first, "events_per_second", 1e6), "{:.1f}",
            FIRST_RATE / 1e6 if self.quick else None, "at least {:.0f}", at_most=False)
        row(f"{what}, own memory, GiB", of(first, "own", GIB), "{:.2f}",
            None if self.quick else FIRST_OWN, "at most {}")
        row(f"{what}, resident, mapped files included, GiB", of(first, "resident", GIB), "{:.2f}",
            None, "")
        again = size = None
        try:
            if first:
                again = self.result["again_s"] = self.again()
        except GivenUp as why:
            print(f"billion: again: {why}", flush=True)
        if first:  # 0: it was not kept
            size = sum(os.stat(path).st_blocks * 512 for path in self.cache_files()) or None
        self.result["cache_bytes"] = size
        row("again, s", again, "{:.3f}", AGAIN, "at most {}")
        row("cache, GB", size and size / 1e9, "{:.2f}", None if self.quick else CACHE,
            "at most {}")
        row("cache, bytes an allocation", size and size / self.allocations, "{:.1f}", ROW,
            "at most {}")
        print("\nbillion: opening")
        table([["", "measured", "budget", ""]] + rows)

    def ask(self):
        """{(name, number of the range or None): seconds and processor time, or None}."""
        found = {(name, turn): None
                 for name, _, whole, part in QUESTIONS
                 for turn in (None, *(range(RANGES) if part else ()))}
        left = []
        for number, (name, question, whole, part) in enumerate(QUESTIONS):
            left.append(((name, None), question, whole))
            for turn in range(RANGES if part else 0):
                begin = 10 + turn * 30 + number * 3
                left.append(((name, turn), question,
                             {**part, "from": f"{begin}%", "to": f"{begin + 1}%"}))
        # The whole first: they make what is kept with a recording.
        left.sort(key=lambda asked: asked[0][1] is not None)
        forget(self.path)
        for path in self.cache_files():
            read_through(path)
        while left:
            asking = None
            try:
                with Asking(self) as asking:
                    while left:
                        key, question, given = left.pop(0)
                        query = urllib.parse.urlencode(given)
                        found[key] = asking.ask("whole" if key[1] is None else "range", question,
                                                query)
            except GivenUp as why:
                print(f"billion: {why}", flush=True)
                # Not one long opening for each of the rest.
                if not asking or asking.opened > LONG_OPENING:
                    break
        return found

    def questions(self):
        rows = []
        found = self.ask() if self.result.get("first") else {}

        def cell(name, what, times, budget):
            times = [t for t in times if t]
            seconds = statistics.median(t["seconds"] for t in times) if times else None
            cpu = statistics.median(t["cpu"] for t in times) if times else None
            verdict = "" if self.quick or name in UNBUDGETED else self.check(
                f"{name}, {what}, s", seconds, budget)
            self.result.setdefault("questions", {})[f"{name}, {what}"] = {"seconds": seconds,
                                                                          "cpu": cpu}
            return ["none" if seconds is None else f"{seconds:.3f}",
                    "none" if cpu is None else f"{cpu:.3f}", verdict]

        for name, _, _, part in QUESTIONS:
            of_range = [found.get((name, turn)) for turn in range(RANGES)]
            if not all(of_range):  # one that was given up counts more than two that were not
                of_range = []
            rows.append([name, *cell(name, "whole", [found.get((name, None))], WHOLE),
                         *(cell(name, "1 %", of_range, RANGE) if part else [""] * 3)])
        print("\nbillion: seconds of a question, and of a processor"
              + ("" if self.quick else f" (at most {WHOLE}; 1 % of the time at most {RANGE})"))
        table([["question", "whole", "cpu", "", "1 %", "cpu", ""]] + rows)
        if "asking" in self.result:
            asking = self.result["asking"]
            print(f"opened for that in {asking['opened_s']:.2f} s; own memory at most "
                  f"{asking['own'] / GIB:.2f} GiB, resident {asking['resident'] / GIB:.2f}")

    def measure(self):
        try:
            self.make()
        except GivenUp as why:
            print(f"billion: the recording was not made: {why}")
            self.check("making the recording", None, LIMITS["making"])
            return
        self.open()
        self.questions()
        minutes = (time.monotonic() - self.began) / 60
        self.result["minutes"] = minutes
        verdict = self.check("everything, minutes", minutes, TOTAL / 60)
        print(f"everything took {minutes:.1f} minutes (at most {TOTAL // 60}): {verdict}")


class Asking:
    """bench_ask with the recording open."""

    def __init__(self, billion):
        self.billion, self.opened = billion, None
        limit = billion.limit("opening to ask")
        self.process = subprocess.Popen(
            [billion.bench_ask, billion.path], env=billion.env, cwd=billion.folder, bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.watch = Watch(self.process, billion.folder, TOTAL)
        try:
            self.opened = self.answer(limit)["ms"] / 1e3
        except BaseException:
            self.end()
            raise

    def answer(self, seconds):
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise GivenUp(f"no answer after {seconds:.1f} s")
        line = self.process.stdout.readline()
        if not line:
            if self.watch.why:
                raise GivenUp(self.watch.why)
            raise SystemExit("billion: bench_ask has ended")
        return json.loads(line)

    def ask(self, step, question, query):
        limit = self.billion.limit(step)
        self.process.stdin.write(f"{question} {query}\n".encode())
        try:
            found = self.answer(limit)
        except GivenUp as why:
            raise GivenUp(f"{question} {query}: {why}") from why
        return {"seconds": found["ms"] / 1e3, "cpu": found["cpu_ms"] / 1e3}

    def end(self):
        os.kill(self.process.pid, signal.SIGKILL)
        self.watch.stop()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        self.process.stdin.close()
        self.process.stdout.close()
        return usage

    def __enter__(self):
        return self

    def __exit__(self, *_):
        usage, before = self.end(), self.billion.result.get("asking", {})
        self.billion.result["asking"] = {
            "opened_s": before.get("opened_s", self.opened),
            "own": max(before.get("own", 0), self.watch.own),
            "resident": max(before.get("resident", 0), usage.ru_maxrss << 10)}


def run(bench):
    """Called by bench.py."""
    # Nobody is to find gigabytes left behind by a run that was ended.
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit("billion: ended"))
    # Not /tmp, which may be memory.
    with tempfile.TemporaryDirectory(prefix="memoir-billion-",
                                     dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        part = Billion(bench, folder)
        bench.result["billion"] = part.result
        part.room()
        part.measure()
    signal.signal(signal.SIGTERM, before)
