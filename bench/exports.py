# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part `export` of bench.py: every format of ten million allocations, of a made-up recording
and of a Python program, and of a tenth of each: seconds, processor time, bytes, memory of its own
and what that grows by; beside it what heaptrack needs to convert its own recording of the same
program.

Outputs go to /dev/null, so that no disk is measured.  Memory of its own is RssAnon: mapped files,
which the kernel may write out, are not in it.  """
import json
import os
import subprocess
import time

from memory import own_memory
from tables import as_share, mib, table

SECONDS = 12  # for ten million allocations
SHARE = 1 / 2  # of heaptrack_interpret and heaptrack_print, processor time, for the same program
GROWTH = 0.5  # bytes of its own for each allocation more
OWN_GROWTH = 16 << 20  # and altogether, from a million to ten
PYTHON = """
import json, sys
total = 0
for round in range(4):
    data = {}
    for i in range(int(sys.argv[1])):
        data['key %d' % i] = [i, str(i) * 2, {'a': i % 7, 'b': 'x' * (i % 23)}]
    text = json.dumps(data)
    back = json.loads(text)
    words = {}
    for word in text.split():
        words[word] = words.get(word, 0) + 1
    total += len(back) + len(words)
print(total)
"""
PYTHON_ITEMS = 55000  # 11 million allocations
# What is not just the format's name.
VARIANTS = {"json": (("json", ()), ("json --stacks table", ("--stacks", "table")),
                     ("json --groups", ("--groups",))),
            "heaptrack": (("heaptrack, zstd", ("-o", "out.zst")),)}
WHOLE = "json"  # both stacks in every row: of the made-up recording, hundreds of gigabytes


def bytes_written(pid):
    with open(f"/proc/{pid}/io", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("wchar"))


def watched(command, folder):
    """Runs it with its output thrown away: {seconds, cpu, own, bytes}."""
    start = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    most = 0
    # It is not waited for before its last figures were read.
    while not os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        most = max(most, own_memory(process.pid))
        time.sleep(0.01)
    seconds, written = time.monotonic() - start, bytes_written(process.pid)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"{' '.join(command)}: status {status}")
    return {"seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime, "own": most,
            "bytes": written}


class Exports:
    def __init__(self, bench):
        self.bench = bench
        self.million = 1 if bench.args.quick else 10
        names = subprocess.run([bench.memoir, "export", "--list"], capture_output=True, check=True,
                               text=True).stdout
        self.formats = [line.split()[0] for line in names.splitlines() if not line.startswith(" ")]
        self.script = os.path.join(bench.folder, "exports.py")
        with open(self.script, "w", encoding="utf-8") as file:
            file.write(PYTHON)

    def python(self, share):
        """Command and environment of a program that allocates so much of what is wanted."""
        items = PYTHON_ITEMS * self.million // 10 // share
        return ["/usr/bin/python3", "-sS", self.script, str(items)], {
            "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}

    def recording(self, kind, share):
        """A recording of this kind, with the whole number of allocations or a tenth of it."""
        path = os.path.join(self.bench.folder, f"{kind}-{share}.dat")
        if kind == "generated":
            generator = os.path.join(self.bench.build, "tests", "unit", "gen_recording")
            subprocess.run(["ninja", "-C", self.bench.build, "tests/unit/gen_recording"],
                           check=True,
                           stdout=subprocess.DEVNULL)
            subprocess.run([generator, path, str(2000000 * self.million // share)], check=True,
                           stdout=subprocess.DEVNULL)
        else:
            command, environment = self.python(share)
            self.bench.run("memoir", command, environment)
            os.rename(self.bench.output("memoir"), path)
        return path

    def exported(self, kind, share):
        """{name: figures} of one recording, which is in the cache and has its names by then; and
        its allocations."""
        path, rows = self.recording(kind, share), {}
        watched([self.bench.memoir, "export", "callgrind", path], self.bench.folder)
        info = subprocess.run([self.bench.memoir, "info", "--json", path], capture_output=True,
                              check=True)
        for format_ in self.formats:
            for name, options in VARIANTS.get(format_, ((format_, ()),)):
                if not (name == WHOLE and kind == "generated"):
                    rows[name] = watched([self.bench.memoir, "export", format_, path, *options],
                                         self.bench.folder)
        os.remove(path)
        return rows, json.loads(info.stdout)["allocations"]

    def compared(self, kind):
        bench = self.bench
        small, few = self.exported(kind, 10)
        large, many = self.exported(kind, 1)
        rows = []
        for name, row in large.items():
            grown = row["own"] - small[name]["own"]
            row["grown"] = grown
            verdicts = [bench.check(f"export {name}, {kind}, seconds", row["seconds"] * 10e6 / many,
                                    SECONDS),
                        # A quick run's smaller recording has fewer stacks too.
                        "" if bench.args.quick
                        else bench.check(f"export {name}, {kind}, memory", grown,
                                         min(OWN_GROWTH, GROWTH * (many - few)))]
            rows.append([name, f"{row['seconds']:.2f}", verdicts[0], f"{row['cpu']:.2f}",
                         f"{row['bytes'] / 1e6:,.0f}",
                         f"{row['bytes'] / 1e6 / row['seconds']:,.0f}", mib(row["own"]),
                         f"{grown / (1 << 20):+.1f}",
                         f"{grown / (many - few):+.2f}", verdicts[1]])
        bench.result.setdefault("export", {})[kind] = {"allocations": many, "rows": large,
                                                       "small": small}
        print(f"\nexport of {many / 1e6:.1f}M allocations, {kind}: seconds, processor time, "
              "output (MB, MB/s), memory of its own (MiB)"
              f"\nand how much more that is than for {few / 1e6:.1f}M (MiB, bytes an allocation)")
        table([["format", "seconds", "", "cpu", "MB", "MB/s", "memory", "grown", "bytes", ""]] +
              rows)

    def heaptrack(self):
        """heaptrack's own way from its recording of the Python program to what it can write."""
        bench = self.bench
        bench.run("heaptrack", *self.python(1))
        libexec = os.path.join(os.path.dirname(os.path.realpath(bench.heaptrack)),
                               "../lib/heaptrack/libexec")
        raw, readable = bench.output("heaptrack"), os.path.join(bench.folder, "heaptrack.zst")
        script = 'zstd -dc < "$1" | "$2" | zstd -c > "$3"'
        interpret = bench.measured(
            ["sh", "-c", script, "sh", raw, os.path.join(libexec, "heaptrack_interpret"), readable])
        steps, rows = {"heaptrack, zstd": interpret}, []
        for name, option in (("collapsed", "-F"), ("massif", "-M")):
            steps[name] = bench.measured(
                ["heaptrack_print", readable, option, os.path.join(bench.folder, "out"), "-p0",
                 "-a0", "-T0"])
            for key in ("seconds", "cpu"):
                steps[name][key] += interpret[key]
        for name, step in steps.items():
            ours = bench.result["export"]["python"]["rows"][name]
            share = ours["cpu"] / step["cpu"]
            rows.append([name, f"{step['seconds']:.2f}", f"{step['cpu']:.2f}",
                         mib(step["resident"]), f"{ours['seconds']:.2f}",
                         f"{ours['cpu']:.2f}", as_share(share),
                         bench.check(f"export {name} against heaptrack", share, SHARE)])
            del step["out"]
        bench.result["export"]["heaptrack"] = steps
        print("\nthe same of the Python program by heaptrack_interpret (and heaptrack_print -F, "
              "-M): seconds, processor time, peak"
              "\nmemory (MiB); ours, and our processor time as a share of it")
        table([["to", "seconds", "cpu", "memory", "memoir", "cpu", "share", ""]] + rows)


def run(bench):
    exports = Exports(bench)
    load = os.getloadavg()[0]
    print(f"\nexports: {load:.1f} processes were running before ({os.cpu_count()} cores)"
          + (": seconds say little, look at processor time" if load > os.cpu_count() / 2 else ""))
    exports.compared("generated")
    exports.compared("python")
    if bench.heaptrack:
        exports.heaptrack()
