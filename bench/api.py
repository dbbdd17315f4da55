# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part `api` of bench.py: `memoir server` on 10 million allocations.

First each question alone (asked for the first time, and again, which is a kept answer), with the
processor time that it cost; then 200 clients at once, who ask all of them with filters of their
own, and read answers that are streamed; with the latency that they saw and the server's own memory
before, at most and after."""
import concurrent.futures
import gzip
import http.client
import json
import os
import signal
import subprocess
import threading
import time

QUESTIONS = [
    ("overview", "overview"), ("timeline", "timeline?points=1000"), ("flame, peak", "flame"),
    ("flame, leaked", "flame?measure=leaked"),
    ("flame, at a moment", "flame?at=50%25"), ("flame, difference", "flame?at=80%25&against=20%25"),
    ("flame, allocated", "flame?measure=allocated"),
    ("functions", "functions"), ("groups", "groups?count=50&sort_by=all.leaked_size&order=dsc"),
    ("groups with curves", "groups?count=50&spark=40&sort_by=only_matched.size&order=dsc"),
    ("allocations by size", "allocations?count=50&sort_by=size&order=dsc"), ("threads", "threads"),
    ("histogram", "histogram"),
    ("leaks", "leaks?count=20"), ("fragmentation", "fragmentation"),
    ("address space", "address_space"), ("regions", "regions?at=50%25"),
    ("sources", "sources"), ("filter: size", "matches?filter=size+%3E%3D+1k"),
    ("filter: regex", "matches?filter=function+~+%22a%22"),
]
CLIENTS = 200
STREAMED = "allocations?count=3000&stacks=false"


class Asked:
    def __init__(self, memoir, path, env):
        self.process = subprocess.Popen([memoir, "server", "--any-port", path],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=env)
        address = self.process.stdout.readline().strip()
        self.host, self.port = address[len("http://"):].strip("/").split(":")
        self.most = 0

    def ask(self, path):
        """Seconds, and the answer."""
        start = time.monotonic()
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=600)
        connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        seconds = time.monotonic() - start
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]!r}")
        return seconds, gzip.decompress(body) if answer.headers.get(
            "Content-Encoding") == "gzip" else body

    def wait(self):
        while json.loads(self.ask("/list")[1])[0]["state"] not in ("ready", "error"):
            time.sleep(0.05)

    def processor(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))

    def watch(self, stop):
        while not stop.wait(0.05):
            self.most = max(self.most, self.memory())

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


def alone(server):
    rows = []
    for name, path in QUESTIONS:
        before = server.processor()
        first, body = server.ask("/data/last/" + path)
        processor = server.processor() - before
        again, _ = server.ask("/data/last/" + path)
        rows.append({"question": name, "first_s": first, "again_s": again, "processor_s": processor,
                     "bytes": len(body)})
    return rows


def together(server, clients):
    stop = threading.Event()
    watcher = threading.Thread(target=server.watch, args=(stop,))
    before = server.memory()
    watcher.start()

    def client(number):
        seconds = []
        for i in range(2):
            name, path = QUESTIONS[(number + i * 7) % len(QUESTIONS)]
            if name not in ("overview",) and not name.startswith("filter"):
                path += ("&" if "?" in path else "?") + f"size_min={number // 50}"
            seconds.append(server.ask("/data/last/" + path)[0])
        seconds.append(server.ask(f"/data/last/{STREAMED}&skip={number * 3000}")[0])
        return seconds

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        seconds = sorted(s for row in pool.map(client, range(clients)) for s in row)
    wall = time.monotonic() - start
    stop.set()
    watcher.join()
    return {"clients": clients, "requests": len(seconds), "wall_s": wall,
            "median_s": seconds[len(seconds) // 2],
            "p95_s": seconds[len(seconds) * 95 // 100], "most_s": seconds[-1],
            "memory_before": before, "memory_most": server.most,
            "memory_after": server.memory()}


def run(bench, table, mib):
    """Called by bench.py."""
    generator = os.path.join(bench.build, "tests", "unit", "gen_recording")
    path = os.path.join(bench.folder, "api.dat")
    subprocess.run(["ninja", "-C", bench.build, "tests/unit/gen_recording"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([generator, path, "2000000" if bench.args.quick else "20000000"], check=True,
                   stdout=subprocess.DEVNULL)
    server = Asked(bench.memoir, path, dict(os.environ, XDG_CACHE_HOME=bench.folder))
    try:
        server.wait()
        rows = alone(server)
        crowd = together(server, CLIENTS)
    finally:
        status = server.end()
        os.remove(path)
    bench.result["api"] = {"questions": rows, "crowd": crowd, "status": status}
    print("\nHTTP: seconds of an answer asked for the first time, and again; its processor time")
    table([["question", "first", "processor", "again", "bytes"]] +
          [[r["question"], f"{r['first_s']:.3f}", f"{r['processor_s']:.2f}", f"{r['again_s']:.4f}",
            str(r["bytes"])] for r in rows])
    print(f"\n{crowd['clients']} clients at once, {crowd['requests']} requests: "
          f"{crowd['wall_s']:.1f} s, median {crowd['median_s']:.2f} s, "
          f"95 % below {crowd['p95_s']:.2f} s; own memory {mib(crowd['memory_before'])} MiB "
          f"before, at most {mib(crowd['memory_most'])}, "
          f"{mib(crowd['memory_after'])} after")
    bench.check("api: every question alone, s", max(r["first_s"] for r in rows), 1.0)
    bench.check("api: growth with 200 clients, MiB",
                (crowd["memory_most"] - crowd["memory_before"]) / 2**20, 768)
