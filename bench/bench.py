#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What recording costs: plain, Memoir and heaptrack, interleaved in one run.

  make bench                        everything; half an hour or so
  make bench BENCH="--quick"        fewer repetitions
  make bench BENCH="--only pairs"   one part: pairs, threads, programs, short, memory, open, export,
                                    shapes, query, api, views,
                                    symbols, jemalloc, agent, heap, fleet
  make bench BENCH="--only billion" a billion events: 25 minutes and tens of GB of disk, therefore
                                    never without being asked for

Prints a table and writes build/bench.json.  Added time is a run's time minus the plain one's,
medians; the budget is a share of what heaptrack adds.  Never part of the tests.
"""
import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import agent
import api
import billion
import exports
import fleet
import heap
import jemalloc
import short
import symbols
import views
import work
from memory import touch_memory
from tables import as_share, mib, table

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("pairs", "threads", "programs", "short", "memory", "open", "export", "shapes", "query",
         "api", "views", "symbols",
         "jemalloc", "agent", "heap", "fleet")
ASKED_FOR = ("billion",)  # parts that are run only if they are named
MODES = ("plain", "memoir", "memoir-nofree", "heaptrack")
# Shares of what heaptrack adds: (with free stacks, without).
PAIR_BUDGET = {5: (1 / 4, 1 / 5), 30: (1 / 5, 1 / 7), 100: (1 / 5, 1 / 7)}
PROGRAM_BUDGET = 1 / 2.5
PROGRAM_MEAN_BUDGET = (1 / 3, 1 / 4)
THREAD_BUDGET = 1.2
FILE_BUDGET = 8
OPEN_BUDGET = 10e6
AGAIN_BUDGET = 1
ROW_BUDGET = 64
QUERY_BUDGET = 200  # ms
SCRIPT_BUDGET = 1000000  # allocations a second
SCRIPT_LOOP = """
local all, count, bytes = allocations(), #allocations(), 0
local begun = os.clock()
for a in all:iter() do bytes = bytes + a.size end
assert(bytes == all.size)
print(count / (os.clock() - begun))"""
# What an analysis does: filters, groups, sorts, takes, draws.
SCRIPT_WHOLE = """
local chosen = allocations():only_larger(32):only_alive_for_at_least("1%")
local groups = chosen:group_by_backtrace():sort_by_size()
for group in groups:take(20):iter() do
  println("{} bytes in {}, {} leaked", group.size, group, group:only_leaked().size)
end
graph():add(groups:take(5)):add("the rest", chosen):save("whole.svg")"""
SCRIPT_WHOLE_BUDGET = 2  # seconds, from the command's beginning to its end
SYMBOLS_BUDGET = 5  # seconds for 10,000 addresses in 100 MB of debug information
MEMORY_BUDGET = 64 << 20
NODE_BUDGET = 64
# Milliseconds over ten million allocations.
SHAPE_BUDGET = {"tree": 300, "tree of the peak": 300, "tree, bottom-up": 300, "series": 200,
                "series, a quarter of the time": 200}


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.build = os.path.abspath(args.build)
        self.memoir = os.path.join(self.build, "memoir")
        self.cache = os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        os.mkdir(self.cache)
        self.heaptrack = shutil.which("heaptrack")
        self.modes = [m for m in MODES if m != "heaptrack" or self.heaptrack]
        self.result = {"machine": machine(), "heaptrack": version(self.heaptrack), "checks": []}

    def output(self, mode):
        return os.path.join(self.folder, mode + (".raw.zst" if mode == "heaptrack" else ".dat"))

    def command(self, mode, command):
        if mode == "plain":
            return command
        if mode == "heaptrack":
            return [self.heaptrack, "-r", "-o", os.path.join(self.folder, "heaptrack"), *command]
        options = ["--no-write-binaries"]
        if mode == "memoir-nofree":
            options += ["--no-free-stacks"]
        return [self.memoir, "run", "-o", self.output(mode), *options, "--", *command]

    def run(self, mode, command, env=None):
        """Runs once; {wall, cpu, file_bytes, json} of it."""
        if mode != "plain" and os.path.exists(self.output(mode)):
            os.remove(self.output(mode))
        environment = dict(os.environ, **(env or {}))
        touch_memory()
        start = time.monotonic()
        process = subprocess.Popen(self.command(mode, command), env=environment, cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        out = process.stdout.read()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = status
        if status:
            raise SystemExit(f"{mode}: {' '.join(command)}: status {status}: {err.decode()[-500:]}")
        answer = next((json.loads(line) for line in out.splitlines() if line.startswith(b'{"')), {})
        return {"wall": wall, "cpu": usage.ru_utime + usage.ru_stime, "answer": answer,
                "file_bytes": os.path.getsize(self.output(mode)) if mode != "plain" else 0}

    def interleaved(self, command, repeat, env=None, modes=None):
        """{mode: [run, …]}: all modes in turn, each round from another one on, so that drift meets
        all alike."""
        runs = {mode: [] for mode in modes or self.modes}
        for number in range(repeat):
            order = list(runs)
            for mode in order[number % len(order):] + order[:number % len(order)]:
                runs[mode].append(self.run(mode, command, env))
        return runs

    def info(self, mode):
        done = subprocess.run([self.memoir, "info", "--json", self.output(mode)],
                              capture_output=True)
        if done.returncode:
            raise SystemExit(f"memoir info: {done.stderr.decode()}")
        return json.loads(done.stdout)

    def check(self, what, value, budget, at_most=True):
        good = value <= budget if at_most else value >= budget
        self.result["checks"].append({"what": what, "value": value, "budget": budget, "good": good})
        return "pass" if good else "MISS"

    def pairs(self):
        rows = []
        for frames in (5, 30, 100):
            count = 1000000 if self.args.quick else 3000000
            command = [os.path.join(self.build, "bench", "bench_pairs"), str(frames), str(count),
                       "1"]
            runs = self.interleaved(command, self.args.repeat or (3 if self.args.quick else 7))
            base = median(r["answer"]["wall_ns"] for r in runs["plain"])
            added = {m: median(r["answer"]["wall_ns"] for r in runs[m]) - base
                     for m in self.modes if m != "plain"}
            info = self.info("memoir")
            row = {"frames": frames, "plain_ns": base, "added_ns": added, "events": info["events"],
                   "file_bytes_per_event": median(r["file_bytes"]
                                                  for r in runs["memoir"]) / info["events"],
                   "ring_waits": info["counters"].get("ring_waits"), "shares": {}, "verdicts": {}}
            if "heaptrack" in added:
                row["heaptrack_bytes_per_event"] = (
                    median(r["file_bytes"] for r in runs["heaptrack"])
                                                    / (2 * count))
                for mode, budget in zip(("memoir", "memoir-nofree"), PAIR_BUDGET[frames]):
                    share = added[mode] / added["heaptrack"]
                    row["shares"][mode] = share
                    row["verdicts"][mode] = self.check(f"pair, {frames} frames, {mode}", share,
                                                       budget)
            rows.append(row)
        self.result["pairs"] = rows
        print("\nmalloc+free pairs: nanoseconds added to one pair")
        table([["frames", "plain", "memoir", "no free stacks", "heaptrack", "memoir/heaptrack", "",
                "no free/heaptrack", "", "bytes/event"]] +
              [[r["frames"], f"{r['plain_ns']:.0f}", f"+{r['added_ns']['memoir']:.0f}",
                f"+{r['added_ns']['memoir-nofree']:.0f}",
                f"+{r['added_ns'].get('heaptrack', math.nan):.0f}",
                as_share(r["shares"].get("memoir")), r["verdicts"].get("memoir", ""),
                as_share(r["shares"].get("memoir-nofree")), r["verdicts"].get("memoir-nofree", ""),
                f"{r['file_bytes_per_event']:.2f}"] for r in rows])

    def threads(self):
        rows = []
        for count in (1, 2, 4):
            pairs = 1000000 if self.args.quick else 3000000
            command = [os.path.join(self.build, "bench", "bench_pairs"), "30", str(pairs // count),
                       str(count)]
            runs = self.interleaved(command, self.args.repeat or (3 if self.args.quick else 5))
            row = {"threads": count, "modes": {}}
            for mode, list_ in runs.items():
                row["modes"][mode] = {
                    "wall_ns": median(r["answer"]["wall_ns"] for r in list_),
                    "cpu_ns": median(r["answer"]["cpu_ns"] for r in list_),
                    # What the whole tree used beyond the threads themselves: the collector.
                    "other_cpu_ns": median((r["cpu"] * 1e9 - r["answer"]["cpu_ns"] * pairs) / pairs
                                           for r in list_),
                }
            rows.append(row)
        self.result["threads"] = rows

        def added(row, mode, key):
            return (row["modes"][mode][key] -
                    row["modes"]["plain"][key]) if mode in row["modes"] else math.nan
        grown = added(rows[1], "memoir", "cpu_ns") / added(rows[0], "memoir", "cpu_ns")
        verdict = self.check("two threads against one, processor time added", grown, THREAD_BUDGET)
        print("\nthreads, 30 frames: nanoseconds a pair (of each thread)")
        table([["threads", "plain wall", "memoir wall", "heaptrack wall", "plain cpu", "memoir cpu",
                "heaptrack cpu", "collector cpu"]] +
              [[r["threads"], f"{r['modes']['plain']['wall_ns']:.0f}",
                f"+{added(r, 'memoir', 'wall_ns'):.0f}",
                f"+{added(r, 'heaptrack', 'wall_ns'):.0f}", f"{r['modes']['plain']['cpu_ns']:.0f}",
                f"+{added(r, 'memoir', 'cpu_ns'):.0f}", f"+{added(r, 'heaptrack', 'cpu_ns'):.0f}",
                f"{r['modes']['memoir']['other_cpu_ns']:.0f}"] for r in rows])
        print(f"two threads against one: {grown:.2f} of the added processor time (at most 1.20): "
              f"{verdict}")

    def programs(self):
        rows = []
        for name, command, env in work.programs(self.build, self.folder):
            runs = self.interleaved(command, self.args.repeat or (2 if self.args.quick else 9), env)
            base = median(r["wall"] for r in runs["plain"])
            info = self.info("memoir")
            row = {"name": name, "plain_s": base, "events": info["events"],
                   "stacks": info["stacks"], "nodes": info["stack_nodes"],
                   "added_s": {m: median(r["wall"] for r in runs[m]) - base
                               for m in self.modes if m != "plain"},
                   "cpu_s": {m: median(r["cpu"] for r in runs[m]) for m in self.modes},
                   "file_bytes_per_event": median(r["file_bytes"]
                                                  for r in runs["memoir"]) / info["events"],
                   "counters": info["counters"], "shares": {}}
            row["bytes_verdict"] = self.check(f"{name}: bytes an event",
                                              row["file_bytes_per_event"],
                                              FILE_BUDGET)
            row["ns_per_event"] = row["added_s"]["memoir"] / info["events"] * 1e9
            if "heaptrack" in row["added_s"]:
                for mode in ("memoir", "memoir-nofree"):
                    row["shares"][mode] = row["added_s"][mode] / row["added_s"]["heaptrack"]
                row["verdict"] = self.check(f"{name}: added time", row["shares"]["memoir"],
                                            PROGRAM_BUDGET)
            rows.append(row)
        self.result["programs"] = rows
        print("\nwhole programs: seconds added")
        table([["program", "plain", "memoir", "no free stacks", "heaptrack", "memoir/heaptrack", "",
                "no free/heaptrack", "events", "ns/event", "bytes/event", ""]] +
              [[r["name"], f"{r['plain_s']:.2f}", f"+{r['added_s']['memoir']:.2f}",
                f"+{r['added_s']['memoir-nofree']:.2f}",
                f"+{r['added_s'].get('heaptrack', math.nan):.2f}",
                as_share(r["shares"].get("memoir")), r.get("verdict", ""),
                as_share(r["shares"].get("memoir-nofree")), f"{r['events'] / 1e6:.1f}M",
                f"{r['ns_per_event']:.0f}", f"{r['file_bytes_per_event']:.2f}", r["bytes_verdict"]]
               for r in rows])
        if rows and rows[0]["shares"]:
            for mode, budget in zip(("memoir", "memoir-nofree"), PROGRAM_MEAN_BUDGET):
                mean = geometric(max(r["shares"][mode], 1e-3) for r in rows)
                verdict = self.check(f"programs, geometric mean, {mode}", mean, budget)
                print(f"geometric mean, {mode}: {as_share(mean)} (at most {as_share(budget)}): "
                      f"{verdict}")

    def memory(self):
        """What the recorder takes in the program: the growth of its resident set, and its own
        count."""
        rows = []
        library = os.path.join(self.build, "libmemoir.so")
        for name, command, env in work.programs(self.build, self.folder):
            peaks = {}
            path = os.path.join(self.folder, "memory.dat")
            note = os.path.join(self.folder, "peak")
            for mode in ("plain", "memoir"):
                extra = dict(env)
                if mode == "memoir":
                    extra.update(LD_PRELOAD=library, MEMORY_PROFILER_OUTPUT=path,
                                 MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT="0")
                subprocess.run([os.path.join(self.build, "bench", "bench_peak"), note, "env",
                                *(f"{k}={v}" for k, v in extra.items()), *command], cwd=self.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, check=True)
                with open(note, encoding="ascii") as file:
                    peaks[mode] = int(file.read()) << 10
            wait_finished(path)
            info = json.loads(
                subprocess.run([self.memoir, "info", "--json", path], capture_output=True,
                               check=True).stdout)
            grown = peaks["memoir"] - peaks["plain"]
            budget = MEMORY_BUDGET + NODE_BUDGET * info["stack_nodes"]
            rows.append({"name": name, "plain_bytes": peaks["plain"], "added_bytes": grown,
                         "private_bytes": info["counters"].get("private_bytes"),
                         "nodes": info["stack_nodes"], "budget": budget,
                         "verdict": self.check(f"{name}: memory of the recorder", grown, budget)})
        self.result["memory"] = rows
        print("\nmemory of the recorder in the program (peak resident set, MiB)")
        table([["program", "plain", "added", "budget", "", "stack nodes"]] +
              [[r["name"], mib(r["plain_bytes"]), "+" + mib(r["added_bytes"]), mib(r["budget"]),
                r["verdict"],
                r["nodes"]] for r in rows])

    def measured(self, command, stdin=None):
        """Runs a command that must succeed: seconds, most memory resident, what it printed."""
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=self.folder, stdin=stdin or subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        out = process.stdout.read()
        process.stdout.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        if status:
            raise SystemExit(f"{' '.join(command)}: status {status}")
        return {"seconds": time.monotonic() - start, "cpu": usage.ru_utime + usage.ru_stime,
                "resident": usage.ru_maxrss << 10, "out": out}

    def cache_bytes(self):
        folder = os.path.join(self.cache, "memoir")
        return sum(os.stat(os.path.join(folder, name)).st_blocks * 512
                   for name in os.listdir(folder))

    def opened(self, name, path):
        """Opens one recording for the first time, and again."""
        first, second, reports = [], [], []
        for _ in range(self.args.repeat or 5):
            shutil.rmtree(self.cache, ignore_errors=True)
            os.mkdir(self.cache)
            touch_memory(3 << 29)  # the rows, and their pages in the cache's file
            first.append(self.measured([self.memoir, "info", "--json", path]))
            second.append(self.measured([self.memoir, "info", "--json", path]))
            reports.append(self.measured([self.memoir, "report", "--json", "--no-verdicts", path]))
        info = json.loads(first[0]["out"])
        row = {"name": name, "events": info["events"], "allocations": info["allocations"],
               "file_bytes": os.path.getsize(path), "first_s": median(r["seconds"] for r in first),
               "second_s": median(r["seconds"] for r in second),
               "report_s": median(r["seconds"] for r in reports),
               "resident": median(r["resident"] for r in first),
               "again_resident": median(r["resident"] for r in second),
               "cache_bytes": self.cache_bytes()}
        row["events_per_second"] = row["events"] / row["first_s"]
        row["bytes_per_allocation"] = row["cache_bytes"] / row["allocations"]
        row["verdicts"] = [
            self.check(f"opening {name}, events a second", row["events_per_second"], OPEN_BUDGET,
                       at_most=False),
            self.check(f"opening {name} again, seconds", row["second_s"], AGAIN_BUDGET),
            self.check(f"opening {name}, bytes an allocation", row["bytes_per_allocation"],
                       ROW_BUDGET)]
        return row

    def interpreted(self, name, command, env):
        """The same program's way to a report: heaptrack_interpret and heaptrack_print, memoir
        report."""
        row = {"name": name}
        self.run("memoir", command, env)
        path = self.output("memoir")
        shutil.rmtree(self.cache, ignore_errors=True)
        os.mkdir(self.cache)
        first = self.measured([self.memoir, "report", "--json", "--no-verdicts", path])
        again = self.measured([self.memoir, "report", "--json", "--no-verdicts", path])
        row["memoir"] = {"first_s": first["seconds"], "again_s": again["seconds"],
                         "resident": first["resident"],
                         "again_resident": again["resident"], "file_bytes": os.path.getsize(path)}
        if self.heaptrack:
            self.run("heaptrack", command, env)
            libexec = os.path.join(os.path.dirname(os.path.realpath(self.heaptrack)),
                                   "../lib/heaptrack/libexec")
            raw, readable = self.output("heaptrack"), os.path.join(self.folder, "heaptrack.zst")
            # As the heaptrack script does it.
            script = 'zstd -dc < "$1" | "$2" | zstd -c > "$3"'
            interpret = self.measured(["sh", "-c", script, "sh", raw,
                                       os.path.join(libexec, "heaptrack_interpret"), readable])
            # Who waits for a shell sees the most that any of its children had.
            printed = [self.measured(["heaptrack_print", readable]) for _ in range(2)]
            row["heaptrack"] = {"first_s": interpret["seconds"] + printed[0]["seconds"],
                                "interpret_s": interpret["seconds"],
                                "again_s": printed[1]["seconds"],
                                "resident": max(interpret["resident"], printed[0]["resident"]),
                                "again_resident": printed[1]["resident"],
                                "file_bytes": os.path.getsize(raw)}
        return row

    def open(self):
        generator = os.path.join(self.build, "tests", "unit", "gen_recording")
        path = os.path.join(self.folder, "generated.dat")
        million = 2 if self.args.quick else 20
        pairs = [os.path.join(self.build, "bench", "bench_pairs"), "30", str(million * 500000), "1"]
        rows = []
        if not os.path.exists(generator):
            subprocess.run(["ninja", "-C", self.build, "tests/unit/gen_recording"],
                           stdout=subprocess.DEVNULL)
        if os.path.exists(generator):
            subprocess.run([generator, path, str(million * 1000000)], check=True,
                           stdout=subprocess.DEVNULL)
            rows.append(self.opened("generated", path))
            os.remove(path)
        self.run("memoir", pairs)
        rows.append(self.opened("pairs", self.output("memoir")))
        self.result["open"] = rows
        print("\nopening: seconds of `memoir info` the first time and again, of a report "
              "then; memory")
        table([["recording", "events", "file", "first", "events/s", "", "again", "", "report",
                "cache", "bytes/allocation",
                "", "resident", "again"]] +
              [[r["name"], f"{r['events'] / 1e6:.0f}M", mib(r["file_bytes"]), f"{r['first_s']:.2f}",
                f"{r['events_per_second'] / 1e6:.1f}M", r["verdicts"][0], f"{r['second_s']:.3f}",
                r["verdicts"][1],
                f"{r['report_s']:.3f}", mib(r["cache_bytes"]), f"{r['bytes_per_allocation']:.1f}",
                r["verdicts"][2],
                mib(r["resident"]), mib(r["again_resident"])] for r in rows])
        programs = [("pairs", pairs, None)] + list(work.programs(self.build, self.folder))
        rows = [self.interpreted(*program)
                for program in (programs[:2] if self.args.quick else programs)]
        self.result["interpret"] = rows
        print("\nfrom a recording to a report: seconds and peak memory (MiB); heaptrack_interpret "
              "and heaptrack_print")
        table([["program", "memoir", "again", "heaptrack", "again", "memory", "again", "heaptrack",
                "again"]] +
              [[r["name"]] + [f"{r.get(tool, {}).get(key, math.nan):.2f}"
                              for tool in ("memoir", "heaptrack")
                              for key in ("first_s", "again_s")] +
               [mib(r.get(tool, {}).get(key, math.nan)) for tool in ("memoir", "heaptrack")
                for key in ("resident", "again_resident")] for r in rows])

    def export(self):
        """Every format: seconds and memory; heaptrack's way from its recording to the same, of as
        many events."""
        exports.run(self)

    def shapes(self):
        """Trees, series and their like over a made-up recording of ten million allocations."""
        events = 2000000 if self.args.quick else 20000000
        subprocess.run(["ninja", "-C", self.build, "tests/unit/gen_recording",
                        "bench/bench_shapes"],
                       check=True, stdout=subprocess.DEVNULL)
        path = os.path.join(self.folder, "shapes.dat")
        subprocess.run([os.path.join(self.build, "tests/unit/gen_recording"), path, str(events)],
                       check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run([os.path.join(self.build, "bench/bench_shapes"), path], check=True,
                              capture_output=True)
        os.remove(path)
        found = json.loads(done.stdout)
        rows = []
        for shape in found["shapes"]:
            budget = SHAPE_BUDGET.get(shape["name"])
            verdict = self.check(shape["name"] + ", ms", shape["ms"], budget) if budget else ""
            rows.append([shape["name"], f"{shape['first_ms']:.0f}", f"{shape['ms']:.0f}",
                         f"{budget}" if budget else "", verdict])
        self.result["shapes"] = found
        print(f"\nshapes of {found['allocations'] / 1e6:.1f}M allocations: milliseconds")
        table([["shape", "first", "again", "at most", ""]] + rows)

    def query(self):
        """Filtered, grouped, sorted pages over ten million allocations, the opening excluded."""
        subprocess.run(["ninja", "-C", self.build, "tests/unit/gen_recording", "bench/bench_query"],
                       stdout=subprocess.DEVNULL, check=True)
        path = os.path.join(self.folder, "query.dat")
        events = 2000000 if self.args.quick else 20000000
        subprocess.run([os.path.join(self.build, "tests", "unit", "gen_recording"), path,
                        str(events), "4", "1", "2",
                        "lz4"], stdout=subprocess.DEVNULL, check=True)
        result = json.loads(subprocess.run([os.path.join(self.build, "bench", "bench_query"), path],
                                           capture_output=True, check=True).stdout)
        scripted = float(subprocess.run(
            [os.path.join(self.build, "memoir"), "script", "-d", path, "-e", SCRIPT_LOOP],
            capture_output=True, check=True).stdout)
        whole = self.script_whole(path)
        os.unlink(path)
        for row in result["questions"]:
            row["verdict"] = self.check(f"query page: {row['name']}, ms", row["ms"], QUERY_BUDGET)
        result["script_rows_per_second"] = scripted
        verdict = self.check("script: allocations a second", scripted, SCRIPT_BUDGET, at_most=False)
        self.result["query"] = result
        print(f"\nquery page: 20 of {result['allocations'] / 1e6:.1f}M allocations, ms "
              f"(at most {QUERY_BUDGET}; the first one also makes what is kept with the recording)")
        table([["question", "matching", "first", "then", "", "cpu"]] +
              [[r["name"], f"{r['matched']:,}", r["first_ms"], r["ms"], r["verdict"], r["cpu_ms"]]
               for r in result["questions"]])
        print(f"\na script's loop over them: {scripted / 1e6:.1f}M allocations a second of "
              f"processor time (at least {SCRIPT_BUDGET / 1e6:.0f}M)  {verdict}")
        result["script_whole"] = whole
        verdict = self.check("script: filter, group, sort, graph, s", whole["seconds"],
                             SCRIPT_WHOLE_BUDGET)
        print(f"a script that filters, groups, sorts and draws them, from the command's beginning "
              f"to its end: {whole['seconds']:.2f} s (at most {SCRIPT_WHOLE_BUDGET} s), of a "
              f"processor {whole['cpu_seconds']:.2f}  {verdict}")

    def script_whole(self, path):
        """Medians of five: what a script over all of them takes, where the recording was opened
        before."""
        seconds, cpu = [], []
        for _ in range(5):
            begun, used = time.monotonic(), os.times()
            subprocess.run([self.memoir, "script", "-d", path, "-e", SCRIPT_WHOLE], check=True,
                           cwd=self.folder, stdout=subprocess.DEVNULL)
            now = os.times()
            seconds.append(time.monotonic() - begun)
            cpu.append(now.children_user + now.children_system - used.children_user
                       - used.children_system)
        return {"seconds": statistics.median(seconds), "cpu_seconds": statistics.median(cpu)}

    def jemalloc(self):
        jemalloc.run(self, table)

    def heap(self):
        heap.run(self, table)

    def api(self):
        api.run(self, table, mib)

    def views(self):
        views.run(self, table)

    def fleet(self):
        fleet.measure(self, table)

    def agent(self):
        agent.run(self, table)

    def billion(self):
        billion.run(self)

    def short(self):
        short.measure(self)

    def symbols(self):
        library = os.path.join(self.build, "bench", "many-symbols.so")
        symbols.make(library)
        size = sum(s for name, (_, s) in symbols.sections(library).items()
                   if name.startswith(".debug"))
        text = "".join(f"{a:x}\n" for a in symbols.addresses(library, 10000)).encode()
        resolve = os.path.join(self.build, "tests", "unit", "resolve")
        runs = [json.loads(subprocess.run([resolve, "-t", library], input=text, check=True,
                                          stdout=subprocess.PIPE).stdout) for _ in range(3)]
        seconds, peak = median(r["seconds"] for r in runs), max(r["peak_kib"] for r in runs)
        verdict = self.check("10,000 addresses, seconds", seconds, SYMBOLS_BUDGET)
        self.result["symbols"] = {"debug_bytes": size, "runs": runs}
        print(f"\nsymbols: 10,000 addresses in {size / 1e6:.0f} MB of debug information: "
              f"{seconds:.2f} s "
              f"(at most {SYMBOLS_BUDGET}), {peak / 1024:.0f} MiB at most: {verdict}")
        self.symbols_of_a_dump(library)

    def symbols_of_a_dump(self, library):
        """The same number in a heap profile dump: read, named and printed; then out of the
        cache."""
        with tempfile.TemporaryDirectory() as folder:
            dump = os.path.join(folder, "many.heap")
            with open(dump, "w", encoding="ascii") as file:
                file.write(symbols.dump(library, 10000))

            def seconds():
                started = time.monotonic()
                done = subprocess.run(
                    [os.path.join(self.build, "memoir"), "jemalloc", "heap", "--lines", dump],
                                      check=True, stdout=subprocess.PIPE,
                    env=dict(os.environ, XDG_CACHE_HOME=folder))
                assert done.stdout.count(b"many.cpp:") > 100
                return time.monotonic() - started
            first = []
            for _ in range(3):
                shutil.rmtree(os.path.join(folder, "memoir"), ignore_errors=True)
                first.append(seconds())
            again = [seconds() for _ in range(3)]
        verdict = self.check("10,000 addresses of a heap dump, seconds", median(first),
                             SYMBOLS_BUDGET)
        self.result["symbols"]["heap_dump"] = {"first": first, "cached": again}
        print(f"symbols: 10,000 addresses of a heap dump, printed: {median(first):.2f} s (at most "
              f"{SYMBOLS_BUDGET}), "
              f"{median(again):.2f} s from the cache: {verdict}")


def median(values):
    return statistics.median(values)


def geometric(values):
    values = list(values)
    return math.exp(sum(math.log(v) for v in values) / len(values))


def version(program):
    if not program:
        return None
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout.strip()


def machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) >> 20
    return {"processor": model, "cores": os.cpu_count(), "memory_gib": memory,
            "kernel": platform.release().split("-")[0],
            "libc": " ".join(platform.libc_ver())}


def wait_finished(path):
    for _ in range(3000):
        try:
            with open(path, "rb") as file:
                file.seek(-8, os.SEEK_END)
                if file.read() == b"MEMOIRix":
                    return
        except OSError:
            pass
        time.sleep(0.01)
    raise SystemExit(f"{path} was never finished")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--only", choices=PARTS + ASKED_FOR, action="append",
                        help="this part only; may be repeated")
    parser.add_argument("--repeat", type=int, help="runs of each")
    parser.add_argument("--json", help="where to write the figures (build/bench.json)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memoir-bench-") as folder:
        bench = Bench(args, folder)
        m = bench.result["machine"]
        print(f"{m['processor']}, {m['cores']} cores, {m['memory_gib']} GiB, Linux {m['kernel']}, "
              f"{m['libc']}; "
              f"{bench.result['heaptrack'] or 'no heaptrack'}")
        for part in args.only or PARTS:
            getattr(bench, part)()
    missed = [c for c in bench.result["checks"] if not c["good"]]
    print(f"\n{len(bench.result['checks']) - len(missed)} of {len(bench.result['checks'])} "
          "budgets hold")
    with open(args.json or os.path.join(bench.build, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(bench.result, file, indent=1)
        file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
