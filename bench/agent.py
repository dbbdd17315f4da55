# SPDX-License-Identifier: MIT OR Apache-2.0
"""The agent in redis-server: what asking it costs the program.

Three phases in turn, in another order each round: quiet, a hundred requests a second over one
connection (statistics as text and JSON, metrics, dumps), hostile requests over one each; together a
minute of the second and 10,000 of the third.  Each under two loads: redis-benchmark as fast as it
goes, which leaves no core of two free, so that whatever the agent, its client and the kernel use is
taken from redis; and four fifths of what can be had at a fixed rate, where latency counts.  Medians
of the rounds' ratios to the quiet phase; every answer of the second load is looked at, and all data
at the end.  """
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RATIO = 0.97  # of the throughput
REQUEST_MS = 2
RATE = 100  # requests a second
HOSTILE = 10000
KEYS = 100000
CONNECTIONS = 50
SHARE = 0.8  # of the most, at the fixed rate
PATHS = "/stats", "/metrics", "/mtev/memory.json", "/pprof/heap"
PHASES = "quiet", "requests", "hostile"


class Redis:
    """redis-server with the agent in it, and profiling on."""

    def __init__(self, bench):
        self.tools = os.path.join(bench.build, "bench")
        self.socket = os.path.join(bench.folder, "redis")
        runtime = os.path.join(bench.folder, "runtime")
        os.makedirs(runtime, mode=0o700, exist_ok=True)
        env = dict(os.environ, XDG_RUNTIME_DIR=runtime, MEMOIR_AGENT_LISTEN="127.0.0.1:0",
                   MEMOIR_AGENT_QUIET="1",
                   MALLOC_CONF="prof:true",
                   LD_PRELOAD=os.path.join(bench.build, "libmemoir-jemalloc.so"))
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""], env=env,
                                        cwd=bench.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        path = os.path.join(runtime, "memoir", f"jemalloc.{self.process.pid}")
        for _ in range(3000):
            if os.path.exists(path) and os.path.exists(self.socket):
                break
            time.sleep(0.01)
        with open(path, encoding="utf-8") as file:
            self.port = int(file.readline().rsplit(":", 1)[1])
        self.thread = next(task for task in glob.glob(f"/proc/{self.process.pid}/task/*")
                           if self.name_of(task) == "memoir-agent")
        self.counted = 0

    @staticmethod
    def name_of(task):
        with open(f"{task}/comm", encoding="ascii") as file:
            return file.read().strip()

    def agent_seconds(self):
        """Processor time of the agent's thread."""
        with open(f"{self.thread}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def hammer(self, rate, seconds, count, files):
        return subprocess.Popen([os.path.join(self.tools, "bench_hammer"), str(self.port),
                                 *map(str, (rate, seconds, count)), *files], stdout=subprocess.PIPE)

    def load(self, mode, rate=0, seconds=0):
        done = subprocess.run([os.path.join(self.tools, "bench_redis_load"), self.socket, mode,
                               str(CONNECTIONS), str(rate),
                               str(seconds), str(KEYS)], capture_output=True, text=True, check=True)
        result = json.loads(done.stdout)
        assert result["wrong"] == 0, f"redis answered {result['wrong']} requests wrongly"
        self.counted += result["counted"]
        return result

    def benchmark(self, requests):
        """redis-benchmark's requests a second, over its tests."""
        out = subprocess.run(["redis-benchmark", "-s", self.socket, "-n", str(requests), "-c",
                              str(CONNECTIONS), "-P", "1",
                              "-t", "set,get", "-d", "100", "--csv"], capture_output=True,
                             text=True, check=True).stdout
        rates = [float(r) for r in re.findall(r'^"(?:SET|GET)","([\d.]+)"', out, flags=re.M)]
        return len(rates) / sum(1 / r for r in rates)

    def check(self):
        """The data set is what was written, and every count was counted."""
        assert self.load("check")["requests"] == KEYS
        out = subprocess.run(
            ["redis-cli", "-s", self.socket, "mget", *(f"counter:{n}" for n in range(16))],
                             capture_output=True, text=True, check=True).stdout
        assert sum(int(n or 0) for n in out.split()) == self.counted, "redis lost something"

    def idle(self, seconds):
        """How often the agent's thread woke, and the nanoseconds that it used."""
        def used():
            with open(f"{self.thread}/status", encoding="ascii") as file:
                return (sum(map(int, re.findall(r"ctxt_switches:\s*(\d+)", file.read()))),
                        self.agent_seconds())
        time.sleep(1)  # what is kept for a moment is gone then
        before = used()
        time.sleep(seconds)
        return tuple(b - a for a, b in zip(before, used()))

    def end(self):
        self.process.kill()
        self.process.wait()


def write_requests(bench):
    """Files with the bytes of requests, by phase."""
    folder = os.path.join(bench.folder, "requests")
    os.makedirs(folder, exist_ok=True)
    files = {"requests": [],
             "hostile": sorted(glob.glob(os.path.join(ROOT, "fuzz/corpus/agent_request/*")))}
    for number, path in enumerate(PATHS):
        files["requests"].append(os.path.join(folder, str(number)))
        with open(files["requests"][-1], "w", encoding="ascii", newline="") as file:
            file.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n")
    return files


def phase(redis, kind, files, rates, work):
    """What `work` gives while the agent is asked, or not; and what that took of the processor."""
    before, start = redis.agent_seconds(), time.monotonic()
    process = redis.hammer(rates[kind], 0, 0, files[kind]) if kind != "quiet" else None
    try:
        result = work()
    finally:
        if process:
            process.terminate()
    if process:
        hammer = json.loads(process.communicate()[0])
        assert not hammer["lost"], "the agent was gone"
        result.update(hammer=hammer, hammer_share=hammer["cpu_s"] / hammer["seconds"])
    result["agent_share"] = (redis.agent_seconds() - before) / (time.monotonic() - start)
    return result


def statistics_request(redis, files):
    """Milliseconds of one, asked seldom enough that each is made anew."""
    out = redis.hammer(4, 0, 40, [files["requests"][2]]).communicate()[0]
    return json.loads(out)["median_us"] / 1e3


def measure(bench, redis):
    files = write_requests(bench)
    rounds = bench.args.repeat or (2 if bench.args.quick else 6)
    seconds = 2 if bench.args.quick else 10
    rates = {"requests": RATE, "hostile": HOSTILE / 60}
    redis.load("fill")
    request_ms = statistics_request(redis, files)
    most = redis.load("run", seconds=2)["per_second"]
    rate = int(most * SHARE)
    requests = int(redis.benchmark(50000) * seconds / 2)
    loads = {
        "as fast as it goes": lambda: {"per_second": redis.benchmark(requests)},
        f"{rate:,} a second": lambda: redis.load("run", rate, seconds),
    }
    result = {name: [] for name in loads}
    for number in range(rounds):
        for name, work in loads.items():
            order = PHASES[number % 3:] + PHASES[:number % 3]
            result[name].append({kind: phase(redis, kind, files, rates, work) for kind in order})
    redis.check()
    wakes, busy = redis.idle(2 if bench.args.quick else 10)
    return {"rounds": result, "request_ms": request_ms, "idle_wakes": wakes, "idle_seconds": busy,
            "most": most}


def median(rounds, kind, value):
    return statistics.median(value(r, kind) for r in rounds)


def run(bench, table):
    if not shutil.which("redis-benchmark") or not shutil.which("redis-server"):
        print("\nagent: no redis")
        return
    redis = Redis(bench)
    try:
        result = measure(bench, redis)
    finally:
        redis.end()
    rows = [["redis", "agent", "requests/s", "of quiet", "", "p99 ms", "agent, core",
             "client, core"]]
    for load, rounds in result["rounds"].items():
        for kind in PHASES:
            ratio = median(rounds, kind, lambda r, k: r[k]["per_second"] / r["quiet"]["per_second"])
            late = "p99_us" in rounds[0][kind]
            rows.append([
                load if kind == "quiet" else "", kind if kind == "quiet" else
                f"{RATE} a second" if kind == "requests"
                else f"{sum(r[kind]['hammer']['requests'] for r in rounds):,} hostile",
                f"{median(rounds, kind, lambda r, k: r[k]['per_second']):,.0f}",
                "" if kind == "quiet" else f"{ratio:.3f}",
                "" if kind == "quiet"
                else bench.check(f"agent: {load}, {kind}: throughput", ratio, RATIO, at_most=False),
                f"{median(rounds, kind, lambda r, k: r[k]['p99_us']) / 1e3:.2f}" if late else "",
                f"{median(rounds, kind, lambda r, k: r[k]['agent_share']):.1%}",
                "" if kind == "quiet"
                else f"{median(rounds, kind, lambda r, k: r[k]['hammer_share']):.1%}"])
    bench.result["agent"] = result
    print(f"\nagent: redis-server, {os.cpu_count()} cores for it, its clients and who asks; "
          "medians; every answer was right")
    table(rows)
    print(f"a statistics request: {result['request_ms']:.2f} ms (at most {REQUEST_MS}): "
          f"{bench.check('agent: statistics request, ms', result['request_ms'], REQUEST_MS)}; "
          "idle: woke "
          f"{result['idle_wakes']} times: {bench.check('agent: idle', result['idle_wakes'], 0)}")
