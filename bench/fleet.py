# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part `fleet` of bench.py: a ClickHouse server of its own, on two threads.

Loading: what waits in the spool is sent, as `memoir fleet push` does after a server was away.  Then
1,000 hosts for 24 hours, 10^8 rows of samples (--quick: an hour), which ClickHouse's own functions
multiply (fleet_rows.py; some minutes, and 2.5 GB of disk).  Each question of the page's Fleet view
is asked of memoir server, with a question that nobody asked before, and each view is opened in a
browser.  And what a host sends in a day, in bytes on the server's disk.
"""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import fleet_rows

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
E2E = os.path.join(ROOT, "tests", "e2e")
sys.path.append(E2E)
import clickhouse  # pylint: disable=wrong-import-position

ROWS = 500_000  # a second, loaded
BUDGET = 1  # second, a view
PARCELS, EVENTS, STACKS = 20, 3_000_000, 3000
BYTES = 4 << 20  # on the disk, of a host and day
QUESTIONS = {
    "curve": ("/fleets/{id}/trend", {"points": 400}),
    "sum": ("/fleets/{id}/groups", {"by": "service", "count": 0}),
    **{f"{by}s": ("/fleets/{id}/groups", {"by": by, "count": 60, "spark": 48})
       for by in ("service", "host", "build", "release", "day")},
    "label": ("/fleets/{id}/groups", {"by": "label", "label_name": "zone", "count": 60,
                                      "spark": 48}),
    "recordings": ("/fleets/{id}/recordings", {"count": 60}),
    "growth": ("/fleets/{id}/growth", {"count": 60, "spark": 48}),
    "growth, stacks": ("/fleets/{id}/growth", {"count": 60, "spark": 48, "by": "stack"}),
    "flame, alive": ("/data/{id}/flame", {"measure": "alive"}),
    "flame, leaked": ("/data/{id}/flame", {"measure": "leaked"}),
    "flame, peaks": ("/data/{id}/flame", {"measure": "peak"}),
    "compare": ("/data/{id}/flame", {"measure": "peak", "a": "release = \"4.2\"",
                                     "against": "release = \"4.1\""}),
    "changes": ("/data/{id}/diff", {"measure": "peak", "a": "release = \"4.1\"",
                                    "b": "release = \"4.2\"", "by": "function", "count": 1000}),
}


def run(bench, env, *arguments):
    done = subprocess.run([bench.memoir, "fleet", *arguments], capture_output=True, check=False,
                          env=dict(os.environ, **env))
    if done.returncode:
        raise SystemExit(f"fleet {arguments}: {done.stderr.decode()}")
    return done


def load(bench, server, folder):
    """Rows a second, of what waited in the spool."""
    env = {"MEMOIR_FLEET": server.url("loaded"),
           "MEMOIR_FLEET_SPOOL": os.path.join(folder, "spool"),
           "MEMOIR_FLEET_SPOOL_SIZE": "8GiB"}
    made = os.path.join(folder, "made.dat")
    subprocess.run([os.path.join(bench.build, "tests", "unit", "gen_recording"), made, str(EVENTS),
                    "4", "1", "60", "zstd", str(STACKS)], check=True, stdout=subprocess.DEVNULL)
    info = json.loads(subprocess.run([bench.memoir, "info", "--json", made], check=True,
                                     capture_output=True).stdout)
    run(bench, env, "init", "--bucket", "1s")
    run(bench, env, "push")
    server.end()
    with open(made, "rb") as file:
        content = bytearray(file.read())
    at = content.index(bytes.fromhex(info["id"]))
    for number in range(PARCELS):
        content[at:at + 8] = (number + 1).to_bytes(8, "little")
        path = os.path.join(folder, "one.dat")
        with open(path, "wb") as file:
            file.write(content)
        run(bench, env, "push", path)
    server.start()
    began = time.monotonic()
    run(bench, env, "push")
    took = time.monotonic() - began
    rows = sum(int(server.ask(f"SELECT count() FROM {t}", "loaded"))
               for t in ("samples", "totals", "curves"))
    return (rows + PARCELS * STACKS) / took


class Page:
    def __init__(self, bench, url):
        self.process = subprocess.Popen(
            [bench.memoir, "server", "--any-port", "--fleet", url], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.address = self.process.stdout.readline().strip().rstrip("/")
        [row] = self.json("/list")
        self.id = row["id"]

    def json(self, path, **query):
        address = self.address + path.replace("{id}", getattr(self, "id", ""))
        if query:
            address += "?" + urllib.parse.urlencode(query)
        with urllib.request.urlopen(address, timeout=300) as answer:
            return json.load(answer)

    def end(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()


def questions(bench, url, until):
    """Seconds of each, everything and narrowed by a filter; both never asked before."""
    page = Page(bench, url)
    found = {}
    for name, (path, query) in QUESTIONS.items():
        at = {"at": str(until * 1000)} if query.get("measure") == "alive" else {}
        took = []
        for text in ("", 'host != "web1.us"', 'label = "zone=eu"'):
            began = time.monotonic()
            page.json(path, **query, **at, **({"filter": text} if text else {}))
            took.append(time.monotonic() - began)
        found[name] = took
    page.end()
    return found


WALKS = ["speed", "down", "question", "growth", "compare"]


def browse(bench, url):
    """The view in a browser, as tests/e2e/page_fleet_walk.mjs walks it: from services down to a
    recording, questions, what grows, a comparison; and seconds of each view when it is opened."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not chromium or not os.path.exists(os.path.join(ROOT, "tests/node_modules")):
        return {}
    page = Page(bench, url)
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            ["node", os.path.join(E2E, "page_fleet_walk.mjs"), json.dumps(
                {"chromium": chromium, "axe": "", "address": page.address, "out": out,
                 "only": WALKS})], cwd=E2E, capture_output=True, text=True, check=True)
    page.end()
    seen = json.loads(done.stdout)
    for name in WALKS:
        if "failed" in seen[name]:
            raise SystemExit(f"fleet: {name}: {seen[name]['failed']}")
    wrong = [p for p in seen["problems"] if "400 (Bad Request)" not in p]  # one question is wrong
    if wrong:
        raise SystemExit(f"fleet: the page says: {wrong}")
    return seen["speed"]["views"]


def disk(server, database):
    return int(server.ask("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database "
                          f"= '{database}'"))


def measure(bench, table):
    if not clickhouse.PROGRAM:
        raise SystemExit("fleet: no clickhouse-server (apt-get install clickhouse-server)")
    minutes = 60 if bench.args.quick else 1440
    result = bench.result["fleet"] = {}
    with tempfile.TemporaryDirectory(dir=bench.folder) as folder, clickhouse.ClickHouse(
            os.path.join(folder, "clickhouse")) as server:
        rate = load(bench, server, folder)
        url = server.url("hosts")
        run(bench, {"MEMOIR_FLEET": url}, "init")
        start = int(time.time()) // 86400 * 86400 - 86400
        began = time.monotonic()
        print(f"\nfleet: {minutes * 1000 * fleet_rows.STACKS:,} rows of samples are made",
              flush=True)
        rows = fleet_rows.write(lambda sql: server.ask(sql, "hosts", timeout=3600),
                                minutes=minutes, start=start)
        made = time.monotonic() - began
        size = disk(server, "hosts")
        asked = questions(bench, url, start + minutes * 60)
        opened = browse(bench, url)
    result.update({"rows_per_second": rate, "rows": rows, "made_s": made, "bytes": size,
                   "questions": asked, "views": opened})
    print(f"\nloading: {rate:,.0f} rows a second "
          f"({bench.check('fleet loading, rows a second', rate, ROWS, at_most=False)})")
    host = size / 1000 * (1440 / minutes)
    print(f"{rows:,} rows of samples: {size / 1e9:.2f} GB in {made:.0f} s; a host and day: "
          f"{host / 1e6:.2f} MB "
          f"({bench.check('fleet bytes of a host and day', host, BYTES)})\n")
    table([["question", "all, s", "filtered, s", "", "budget"], *(
        [name, f"{took[0]:.2f}", f"{took[1]:.2f}", f"{took[2]:.2f}",
         bench.check(f"fleet question {name}", statistics.median(took), BUDGET)]
        for name, took in asked.items())])
    if opened:
        print()
        table([["view in a browser", "s", "budget"], *(
            [name, f"{took:.2f}", bench.check(f"fleet view {name}", took, BUDGET)]
            for name, took in opened.items())])
