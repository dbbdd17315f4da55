# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent in redis-server under redis-benchmark: what asking it costs the program.

Three phases in turn, several rounds: a hundred requests a second to the agent, requests of any bytes to it, and the same two
to the agent of another process, which only sleeps.  So the load on the machine is the same in each pair, and
the difference is what redis itself has of it.  A minute of each, 10,000 hostile requests; medians of the pairs' ratios.
"""
import glob
import os
import re
import shutil
import socket
import statistics
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATIO = 0.97  # of the throughput
REQUEST_MS = 2
RATE = 100  # requests a second
HOSTILE = 10000
GOOD = b"GET /stats?J HTTP/1.1\r\nHost: localhost\r\n\r\n"


def jemalloc():
    return next(iter(glob.glob("/usr/lib/*/libjemalloc.so.2")), None)


class Process:
    """A program with the agent in it."""

    def __init__(self, bench, command, preload=()):
        self.runtime = os.path.join(bench.folder, "runtime")
        os.makedirs(self.runtime, mode=0o700, exist_ok=True)
        env = dict(os.environ, XDG_RUNTIME_DIR=self.runtime, MEMOIR_AGENT_LISTEN="127.0.0.1:0", MEMOIR_AGENT_QUIET="1",
                   LD_PRELOAD=":".join([os.path.join(bench.build, "libmemoir-jemalloc.so"), *preload]))
        self.process = subprocess.Popen(command, env=env, cwd=bench.folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = os.path.join(self.runtime, "memoir", f"jemalloc.{self.process.pid}")
        for _ in range(3000):
            if os.path.exists(path):
                break
            time.sleep(0.01)
        with open(path, encoding="utf-8") as file:
            self.port = int(file.readline().rsplit(":", 1)[1])

    def ask(self, request):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=30) as s:
                s.sendall(request)
                s.shutdown(socket.SHUT_WR)
                size = 0
                while piece := s.recv(1 << 20):
                    size += len(piece)
                return size
        except ConnectionError:
            return 0

    def idle(self, seconds):
        """How often the agent's thread woke, and the clock ticks that it used."""
        def used(task):
            with open(f"{task}/status", encoding="ascii") as file:
                switches = sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", file.read())))
            with open(f"{task}/stat", encoding="ascii") as file:
                return switches, sum(map(int, file.read().split(")")[1].split()[11:13]))
        for task in glob.glob(f"/proc/{self.process.pid}/task/*"):
            with open(f"{task}/comm", encoding="ascii") as file:
                if file.read() == "memoir-agent\n":
                    before = used(task)
                    time.sleep(seconds)
                    return tuple(b - a for a, b in zip(before, used(task)))
        raise SystemExit("the agent has no thread")

    def end(self):
        self.process.kill()
        self.process.wait()


class Redis(Process):
    def __init__(self, bench):
        self.socket = os.path.join(bench.folder, "redis")
        super().__init__(bench, ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""])
        self.pushed = 0

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-s", self.socket, *words], capture_output=True, text=True,
                              check=True).stdout.strip()

    def throughput(self, requests):
        out = subprocess.run(["redis-benchmark", "-s", self.socket, "-n", str(requests), "-c", "8", "-t", "lpush,get",
                              "--csv"], capture_output=True, text=True, check=True).stdout
        self.pushed += requests
        rates = [float(r) for r in re.findall(r'^"(?:LPUSH|GET)","([\d.]+)"', out, flags=re.M)]
        return len(rates) / sum(1 / r for r in rates)


def hammer(target, requests, rate, stop):
    """Requests at this rate (None: as fast as they are answered), in turn, until stopped."""
    start, count = time.monotonic(), 0
    while not stop.is_set() and (rate or count < len(requests)):
        target.ask(requests[count % len(requests)])
        count += 1
        if rate:
            time.sleep(max(0, start + count / rate - time.monotonic()))
    return count


def phase(redis, target, requests, rate, pushes):
    """redis's throughput while a target is asked."""
    stop, counts = threading.Event(), []
    thread = threading.Thread(target=lambda: counts.append(hammer(target, requests, rate, stop)))
    thread.start()
    value = redis.throughput(pushes)
    if rate:
        stop.set()
    thread.join()
    return value, counts[0]


def run(bench, table):
    if not shutil.which("redis-benchmark") or not jemalloc():
        print("\nagent: no redis-benchmark, or no jemalloc")
        return
    hostile = []
    for path in sorted(glob.glob(os.path.join(ROOT, "fuzz/corpus/agent_request/*"))):
        with open(path, "rb") as file:
            hostile.append(file.read())
    rounds = bench.args.repeat or (2 if bench.args.quick else 6)
    seconds = 2 if bench.args.quick else 10
    redis, other = Redis(bench), Process(bench, ["sleep", "100000"], [jemalloc()])
    try:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            redis.ask(GOOD)
            times.append((time.perf_counter() - start) * 1e3)
        pushes = int(redis.throughput(20000) * seconds / 2)
        result = {"requests": [], "hostile": []}
        sent = 0
        for number in range(rounds):
            share = (hostile * (HOSTILE // rounds // len(hostile) + 1))[:HOSTILE // rounds + 1]
            for kind, requests, rate in (("requests", [GOOD], RATE), ("hostile", share, None)):
                order = (other, redis) if number % 2 else (redis, other)
                values = {}
                for target in order:
                    values[target], count = phase(redis, target, requests, rate, pushes)
                    sent += count if target is redis and kind == "hostile" else 0
                result[kind].append({"here": values[redis], "elsewhere": values[other]})
        assert redis.cli("llen", "mylist") == str(redis.pushed), "redis lost something"
        wakes, ticks = redis.idle(2 if bench.args.quick else 10)
    finally:
        redis.end()
        other.end()
    rows = [["redis with the agent asked", "requests/s", "another's agent asked", "ratio", ""]]
    for kind, name in (("requests", f"{RATE} a second, /stats?J"), ("hostile", f"{sent:,} hostile requests")):
        ratio = statistics.median(r["here"] / r["elsewhere"] for r in result[kind])
        here, elsewhere = (statistics.median(r[k] for r in result[kind]) for k in ("here", "elsewhere"))
        rows.append([name, f"{here:,.0f}", f"{elsewhere:,.0f}", f"{ratio:.3f}",
                     bench.check(f"agent: {kind}, throughput", ratio, RATIO, at_most=False)])
    request = statistics.median(times)
    bench.result["agent"] = {"rounds": result, "request_ms": times, "idle_wakes": wakes, "idle_ticks": ticks}
    print("\nagent: redis-server under redis-benchmark, medians")
    table(rows)
    print(f"a statistics request: {request:.2f} ms (at most {REQUEST_MS}): "
          f"{bench.check('agent: statistics request, ms', request, REQUEST_MS)}; idle: woke {wakes} times, "
          f"{ticks} ticks of CPU: {bench.check('agent: idle', wakes + ticks, 0)}")
