# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recording with a million stacks: every endpoint, in every way that its table has, answers
within a time limit, whatever was asked before; and SIGTERM ends the server within two seconds, also
while it computes.

What is asked comes from /api, so that a new endpoint, measure or order is asked too.  Of long
answers the beginning is enough: the rest comes in pieces.  """
import concurrent.futures
import os
import signal
import subprocess
import threading
import time
import urllib.parse

import pytest

import harness
import web

pytestmark = pytest.mark.slow
STACKS = 1_000_000
EVENTS = 4_200_000
LIMIT_S = 30  # for one answer of a quiet machine, where the slowest takes a few seconds
END_S = 2
PIECE = 64 << 10
# Parameters whose choices are asked for one by one.
CHOICES = ("by", "direction", "of", "sort_by", "level", "stacks", "class", "weight")
# What a path or a question needs that the table does not say.
ARGUMENTS = {"{backtrace_id}": "500000"}
NEEDED = {"/data/{id}/source": {"file": "/nowhere.c"}, "/data/{id}/diff": {"b": "last"},
          "/data/{id}/complete": {"text": "size"}, "/data/{id}/callers": {"function": "main"}}
# What a measure needs.
MEASURES = {"alive_at": {"at": "50%"}, "alive": {"at": "50%"}, "short_lived": {"below": "10us"}}
EXTRA = [{"threads": "true"}, {"generate_graphs": "true"}, {"spark": "60", "count": "60"},
         {"held": "1"}, {"verdicts": "true"}]
FILTER = {"function_regex": "imag|[0-9]", "size_min": "16"}


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    path = tmp_path_factory.mktemp("million") / "million.dat"
    generator = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
    subprocess.run([generator, path, str(EVENTS), "4", "1", "2", "lz4", str(STACKS)], check=True,
                   timeout=300,
                   stdout=subprocess.DEVNULL)
    return path


def ways(endpoint):
    """Every question of one endpoint: each measure alone, and each choice of the other parameters
    alone."""
    choices = {p["name"]: p.get("values") or [] for p in endpoint["parameters"]}
    base = NEEDED.get(endpoint["path"], {})
    asked = [dict(base)]
    for measure in choices.get("measure", []):
        more = MEASURES.get(measure, {})
        if "at" in more and "at_a" in choices:  # of two recordings, a moment of each
            more = {"at_a": more["at"], "at_b": more["at"]}
        asked.append(dict(base, measure=measure, **more))
    asked += [dict(base, **{name: value}) for name in CHOICES for value in choices.get(name, [])]
    asked += [dict(base, **more) for more in EXTRA if set(more) <= set(choices)]
    if endpoint["filters"]:
        asked.append(dict(base, **FILTER))
    return asked


def questions(api):
    for endpoint in api["endpoints"]:
        path = endpoint["path"]
        if endpoint["methods"] != ["GET"] or not path.startswith(
                "/data/{id}/") or "statistics" in path:
            continue
        # files, which take as long as they are large
        if "/export/" in path or path.endswith("/{name}"):
            continue
        at = path.replace("{id}", "last")
        for placeholder, value in ARGUMENTS.items():
            at = at.replace(placeholder, value)
        for asked in ways(endpoint):
            yield at + "?" + urllib.parse.urlencode(asked)


class Asked:
    """The beginnings of answers, and how long each took."""

    def __init__(self, server):
        self.server, self.seconds = server, {}

    def ask(self, question):
        began = time.monotonic()
        connection = self.server.connect()
        limit = LIMIT_S * max(1, os.getloadavg()[0] / (os.cpu_count() or 1))
        connection.settimeout(limit)
        with connection:
            connection.sendall(f"GET {question} HTTP/1.1\r\nHost: localhost\r\nConnection: "
                               "close\r\n\r\n".encode())
            got = b""
            while len(got) < PIECE:
                try:
                    piece = connection.recv(PIECE)
                except TimeoutError:
                    raise AssertionError(f"no answer within {limit:.0f} s: {question}") from None
                if not piece:
                    break
                got += piece
        self.seconds[question] = time.monotonic() - began
        return got.split(b"\r\n", 1)[0].decode(), got


def end_within(server, seconds):
    began = time.monotonic()
    status, error = server.stop(signal.SIGTERM)
    took = time.monotonic() - began
    assert status == 0, (status, error)
    assert took < seconds, f"SIGTERM took {took:.1f} s"


@pytest.mark.long
def test_every_question_is_answered(million):
    server = web.Server(million)
    with server:
        server.loaded()
        all_questions = list(questions(server.json("/api")))
        assert len(all_questions) > 120
        asked = Asked(server)
        # Four at a time, as a page does: what waits for what another one makes is asked too.
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for question, (status, got) in zip(all_questions, pool.map(asked.ask, all_questions)):
                # No such file; no jemalloc; and no map is named.
                right = ("404" if question.startswith("/data/last/source?")
                         else "400" if "by=slab" in question or "/map_graph?" in question
                         else "200")
                assert status.split()[1] == right, (question, got[:2000])
        slowest = sorted(asked.seconds.items(), key=lambda item: -item[1])[:12]
        print("\n".join(f"{seconds:6.2f} s  {question}" for question, seconds in slowest))


def test_progress(million):
    """Whoever waits can ask how far it is; without waiting itself."""
    question = "/data/last/functions?measure=allocated&by=line&filter=" + urllib.parse.quote(
        "size >= 17 and function ~ \"1\" or size < 9")
    with web.Server(million) as server:
        server.loaded()
        assert server.json("/progress", of=question)["state"] == "none"
        asking = threading.Thread(target=Asked(server).ask, args=(question,))
        asking.start()
        seen = []
        while asking.is_alive():
            seen.append(server.json("/progress", of=question))
            time.sleep(0.02)
        asking.join()
        states = {p["state"] for p in seen}
        assert "computing" in states and states <= {"none", "waiting", "computing"}, states
        passes = [p for p in seen if p["pass"]]
        assert passes and all(0 <= p["done"] <= 1 for p in passes), seen[-3:]
        assert server.json("/progress", of=question) == {"state": "none", "seconds": 0, "pass": 0,
                                                         "done": None}
        assert server.ask("/progress").status == 400


def test_sigterm_while_it_computes(million):
    """With workers, streams and the prefetch at work."""
    server = web.Server(million)
    server.__enter__()
    server.loaded()
    busy = ["/data/last/flame?measure=allocated&by=line",
            "/data/last/tree?measure=allocated&min_share=0&depth=500",
            "/data/last/allocations?sort_by=lifetime&function_regex=4", "/data/last/export/csv",
            "/data/last/raw_allocations", "/data/last/functions?measure=allocated&function_regex=5"]

    def ask(question):
        try:
            Asked(server).ask(question)
        except OSError:
            pass  # it ends
    threads = [threading.Thread(target=ask, args=(question,)) for question in busy]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    end_within(server, END_S)
    for thread in threads:
        thread.join(LIMIT_S)


def test_sigterm_while_it_loads(million, tmp_path):
    server = web.Server(million, env={"XDG_CACHE_HOME": str(tmp_path)})
    server.__enter__()
    assert server.json("/list")[0]["state"] == "loading"
    end_within(server, END_S)
