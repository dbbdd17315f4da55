# SPDX-License-Identifier: MIT OR Apache-2.0
"""The part `views` of bench.py: the page on 44 million events, in a browser.

How long each view takes until it shows everything, and until the page is at rest, with what could
wait (verdicts, curves): from the moment on that a server, started beside the page, has the
recording, of which nothing was asked or prefetched before; the same from the address on, when it
was open before and has the first answers beside it; from one view to the next when all has been
prefetched; with a filter that nobody asked before; and with a range of time.  Before that the
recording is read without a cache while a page waits for the overview, and says how far that is.
Browser and server share the processors.
"""
import glob
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
E2E = os.path.join(ROOT, "tests", "e2e")
sys.path.append(E2E)
import page_addresses  # pylint: disable=wrong-import-position
EVENTS, THREADS = 44_000_000, 6
BUDGET = 1  # second, each
HOW = "first", "reopened", "again", "filtered", "a range"
UNTIL = "shown", "at rest"
VIEWS = page_addresses.of_views("a0a1a2a3a4a5a6a7a8a9aaabacadaeaf")  # what gen_recording calls it


class Server:
    """memoir server on one recording."""

    def __init__(self, memoir, path, env):
        self.process = subprocess.Popen([memoir, "server", "--any-port", path], env=env, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.address = self.process.stdout.readline().strip().rstrip("/")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.process.stdout.close()

    def ready(self):
        """When the recording can be asked, in seconds of the world's clock, and its row."""
        while True:
            with urllib.request.urlopen(self.address + "/list", timeout=60) as answer:
                row, = json.load(answer)
            if row["state"] != "loading":
                return time.time(), row
            time.sleep(0.01)

    def processor(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rest(self):
        """Waits until everything is prefetched: until no processor time is taken."""
        before = -1
        while (now := self.processor()) > before:
            before = now
            time.sleep(1)


def browse(**given):
    """One walk of tests/e2e/page_speed.mjs, begun."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    return subprocess.Popen(
        ["node", os.path.join(E2E, "page_speed.mjs"), json.dumps({"chromium": browser, **given})],
        cwd=E2E, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def walked(walk, step):
    seen = json.loads(walk.communicate(timeout=600)[0])
    if "failed" in seen[step] and seen[step]["failed"]:
        raise SystemExit(f"views: {seen[step]['failed']}")
    return seen[step]


def at_once(memoir, path, env, view):
    """A server is started, and somebody waits at a view: when the recording can be asked, seconds
    from the address until the view is there, and what the page said meanwhile."""
    walk = browse(loading="#/" + view)
    assert walk.stdout.readline() == "ready\n"
    with Server(memoir, path, env) as server:
        walk.stdin.write(server.address + "\n")
        walk.stdin.flush()
        ready, _ = server.ready()
        seen = walked(walk, "loading")
    zero = seen["at"]["shown"] / 1e3 - seen["shown"] / 1e3  # when the page was asked for
    return ready, {"shown": seen["shown"] / 1e3, "at rest": seen["rest"] / 1e3, "seen": seen,
                   "late": max(0, ready - zero)}


def forget_answers(env):
    """What an earlier server has kept of answers (server/first_answers.h)."""
    for path in glob.glob(os.path.join(env["XDG_CACHE_HOME"], "memoir", "*.answers")):
        os.remove(path)


def first_views(memoir, path, env):
    """Each view first, with nothing kept of it: from when its recording can be asked."""
    found = {}
    for name, view in VIEWS.items():
        forget_answers(env)
        seen = at_once(memoir, path, env, view)[1]
        found[name] = {until: seen[until] - seen["late"] for until in UNTIL}
    return found


def reopened_views(memoir, path, env):
    """Each view with the answers of an earlier server."""
    with Server(memoir, path, env) as server:
        server.ready()
        server.rest()
    return {name: at_once(memoir, path, env, view)[1] for name, view in VIEWS.items()}


def first_reading(memoir, path, env):
    """The same of the overview without a cache; seconds are those from the end of reading on."""
    shutil.rmtree(env["XDG_CACHE_HOME"], ignore_errors=True)
    os.makedirs(env["XDG_CACHE_HOME"])
    began = time.time()
    ready, found = at_once(memoir, path, env, VIEWS["overview"])
    return {"read": ready - began, "told": found["seen"]["told"],
            "shown": found["seen"]["at"]["shown"] / 1e3 - ready,
            "at rest": found["seen"]["at"]["rest"] / 1e3 - ready}


def visits(server, **more):
    """From view to view in one page; what `more` gives for a view, by its number, is added to its
    address."""
    hashes = []
    for turn, (name, view) in enumerate(VIEWS.items()):
        query = urllib.parse.urlencode({key: value(turn) for key, value in more.items()})
        hashes.append([name, "#/" + page_addresses.asking(view, query)])
    seen = walked(browse(address=server.address, visits=hashes, pid=server.process.pid), "visits")
    for name, visit in seen.items():
        if visit["failed"]:
            raise SystemExit(f"views: {name}: {visit['failed']}")
    return {name: {"shown": visit["shown"] / 1e3, "at rest": visit["rest"] / 1e3,
                   "processor": visit["ticks"] / os.sysconf("SC_CLK_TCK")}
            for name, visit in seen.items()}


def from_view_to_view(memoir, path, env):
    """All views once more, then with a filter and with a range of time: others for each."""
    with Server(memoir, path, env) as server:
        _, row = server.ready()
        server.rest()
        run = row["runtime"]["secs"] + row["runtime"]["fract_nsecs"] / 1e9
        return [visits(server), visits(server, filter=lambda turn: f"size >= {1000 + turn}"),
                visits(server, **{"from": lambda turn: f"{run * (0.2 + turn / 100):.9f}",
                                  "to": lambda turn: f"{run * 0.7:.9f}"})]


def measure(memoir, path, env):
    """One round: by how a view is asked, then by view."""
    return dict(zip(HOW, [first_views(memoir, path, env), reopened_views(memoir, path, env)] +
                    from_view_to_view(memoir, path, env)))


def run(bench, table):
    """Called by bench.py."""
    events = EVENTS // 10 if bench.args.quick else EVENTS
    path = os.path.join(bench.folder, "views.dat")
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(bench.folder, "views-cache"))
    subprocess.run(["ninja", "-C", bench.build, "tests/unit/gen_recording"], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run([os.path.join(bench.build, "tests", "unit", "gen_recording"), path, str(events),
                    str(THREADS)], check=True, stdout=subprocess.DEVNULL)
    times = range(bench.args.repeat or 3)
    try:
        reading = [first_reading(bench.memoir, path, env) for _ in times]
        rounds = [measure(bench.memoir, path, env) for _ in times]
    finally:
        os.remove(path)
        shutil.rmtree(env["XDG_CACHE_HOME"], ignore_errors=True)
    found = {name: {how: {until: statistics.median(r[how][name][until] for r in rounds)
                          for until in UNTIL} for how in HOW} for name in VIEWS}
    processor = {name: {how: statistics.median(r[how][name]["processor"] for r in rounds)
                        for how in HOW[3:]} for name in VIEWS}
    bench.result["views"] = {"events": events, "seconds": found,
                             "processor_s": processor, "reading": reading}
    print(f"\nviews: {events / 1e6:.0f} M events, seconds until everything is shown / until the "
          f"page is at rest (at most {BUDGET}); processor time of the server, filtered and "
          "of a range")
    table([["view", *(cell for how in HOW for cell in (how, "")), "processor"]] +
          [[name, *(cell for how in HOW for cell in (
              " / ".join(f"{times[how][until]:.2f}" for until in UNTIL),
              bench.check(f"views: {name}, {how}, s", max(times[how].values()), BUDGET))),
            " ".join(f"{s:.2f}" for s in processor[name].values())]
           for name, times in found.items()])
    read, told, shown, rest = (statistics.median(value(r) for r in reading) for value in (
        lambda r: r["read"], lambda r: len(r["told"]), lambda r: r["shown"],
        lambda r: r["at rest"]))
    print(f"read without a cache in {read:.1f} s, while the page said {told:.0f} times how far; "
          f"the overview {shown:.2f} / {rest:.2f} s after that: "
          f"{bench.check('views: the overview after reading, s', shown, BUDGET)}")
