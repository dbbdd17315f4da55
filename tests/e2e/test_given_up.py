# SPDX-License-Identifier: MIT OR Apache-2.0
"""A question whose client has closed its connection is stopped while it is computed, and leaves
nothing behind that others could be answered with."""
import concurrent.futures
import os
import random
import subprocess
import time
import urllib.parse

import pytest

import harness
import web

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
CONDITIONS = 180  # nearly as many as an expression may have
TICK = os.sysconf("SC_CLK_TCK")


def generated(path, events, threads):
    subprocess.run([GENERATE, path, str(events), str(threads)], check=True, timeout=300,
                   stdout=subprocess.DEVNULL)
    return path


def spent(server):
    """Seconds of processor time that the server has had."""
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def wait_until_idle(server):
    before = -1
    while spent(server) - before > 0.02:
        before = spent(server)
        time.sleep(0.2)


def send(server, question):
    """A client that has asked, and waits."""
    client = server.connect()
    client.sendall(f"GET {question} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return client


def long_question(seed):
    """A pass over all rows with so many conditions that it takes a while; each seed makes another
    question of the same length."""
    chance = random.Random(seed)
    condition = " or ".join(
        f"size = {chance.randrange(5000, 9000)} and lifetime > {chance.randrange(100, 1000)}"
        for _ in range(CONDITIONS))
    return "/data/last/matches?" + urllib.parse.urlencode({"filter": condition})


def send_until_it_computes(server, question):
    client = send(server, question)
    harness.wait_for(lambda: server.json("/progress", of=question)["done"], timeout=web.LONG,
                     what="the question to be begun")
    return client


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return generated(tmp_path_factory.mktemp("given_up") / "large.dat", 20_000_000, 6)


@pytest.fixture(scope="module")
def busy(large):
    """A server that computes one answer at a time, on one core, and has nothing to do."""
    with web.Server(large, env={"MEMOIR_THREADS": "1"}) as server:
        server.loaded()
        server.json("/data/last/matches", size_min=9)
        wait_until_idle(server)
        yield server


@pytest.mark.slow
def test_a_server_is_free_again(busy):
    """What is computed for nobody costs a fraction of what it would have cost, and keeps nobody
    waiting; asked again it is what it is without."""
    before = spent(busy)
    expected = busy.ask(long_question(1)).json
    whole = spent(busy) - before
    assert expected["ok"] and whole > 0.3, whole
    for seed in range(2, 5):
        client = send_until_it_computes(busy, long_question(seed))
        before = spent(busy)
        client.close()
        assert busy.json("/data/last/matches", size_min=seed + 100)["ok"]
        wait_until_idle(busy)
        after = spent(busy) - before
        print(f"{after:.2f} s of processor time after the client had gone, {whole:.2f} s whole")
        assert after < whole / 2
    client = send_until_it_computes(busy, long_question(9))
    client.close()
    assert busy.json(long_question(9))["ok"]


@pytest.mark.slow
def test_several_clients_of_one_answer(busy):
    """The first of two that wait for the same goes, and the other one has its answer; with the
    second gone, it is stopped."""
    question = long_question(20)
    first = send_until_it_computes(busy, question)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        second = pool.submit(busy.json, question)
        time.sleep(0.1)
        first.close()
        assert second.result()["ok"]
    question = long_question(21)
    clients = [send_until_it_computes(busy, question), send(busy, question), send(busy, question)]
    for client in clients:
        time.sleep(0.02)
        client.close()
    harness.wait_for(lambda: busy.json("/progress", of=question)["state"] == "none",
                     timeout=web.LONG, what="nobody to wait")
    assert busy.json(question)["ok"]


# What begins with a pass over all rows, and what is made once for all who ask.
PATHS = ["flame?measure=peak", "flame?measure=leaked&by=line", "flame?measure=allocated",
         "flame?measure=pinned", "functions?count=50", "functions?measure=peak&count=50",
         "allocation_groups?count=20&spark=20", "groups?by=size&count=50",
         "groups?by=lifetime&count=50", "groups?by=responsible&count=50",
         "allocations?count=50&sort_by=size&order=dsc", "allocations?count=20&sort_by=lifetime",
         "histogram", "histogram?of=lifetime", "threads", "timeline?points=200", "timeline_leaked",
         "leaks?count=20&spark=20", "leaks?by=stack&all=true", "overview?verdicts=true", "matches",
         "address_space?rows=64&columns=50", "fragmentation?level=page", "blame?count=20",
         "blame?by=64k", "requirements", "graph", "tree?min_share=1",
         "groups?by=stack&count=30&sort_by=size", "export/dhat", "export/collapsed",
         "export/massif", "backtraces?count=20", "diff?b=last&at_a=20%25&at_b=60%25",
         "callers?function=main"]
FILTERS = [("size_min", lambda c: c.randrange(8, 600)),
           ("size_max", lambda c: c.randrange(40, 9000)),
           ("lifetime_min", lambda c: f"{c.randrange(1, 3000)}us"),
           ("from", lambda c: f"{c.randrange(40)}%"), ("to", lambda c: f"{c.randrange(60, 100)}%"),
           ("function_regex", lambda c: c.choice("0123456789")),
           ("alive_at", lambda c: f"{c.randrange(100)}%"),
           ("filter", lambda c: f"leaked or group_peak_size > {c.randrange(1000)}"),
           ("hide", lambda c: f"function ~ {c.randrange(10)}"),
           ("lifetime", lambda c: "only_leaked")]


def random_question(chance):
    path = chance.choice(PATHS)
    filters = dict((name, make(chance)) for name, make in
                   chance.sample(FILTERS, chance.randrange(3)))
    return ("/data/last/" + path + ("&" if "?" in path else "?") + urllib.parse.urlencode(filters))


def answers(server, questions):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(server.ask, questions))
    return {q: (a.status, a.body) for q, a in zip(questions, found)}


def ask_and_cut(server, question, seconds):
    client = send(server, question)
    time.sleep(seconds)
    client.close()


@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_given_up_leaves_nothing_behind(tmp_path, seed):
    """Random questions, half of them cut at random moments, some of them asked by others at the
    same time.  Then every one, also those that were cut, has the answer of a server that nobody
    disturbed; and so it has from one that begins with the files that this one kept."""
    recording = generated(tmp_path / "some.dat", 1_500_000, 4)
    chance = random.Random(seed)
    questions = [random_question(chance) for _ in range(100)]
    disturbed_cache = {"XDG_CACHE_HOME": str(tmp_path / "disturbed")}
    with web.Server(recording, env=disturbed_cache) as server:
        server.loaded()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            asked = []
            for question in questions:
                if chance.randrange(2):
                    asked.append(pool.submit(server.ask, question))
                else:
                    moment = chance.choice([0, 0.002, 0.01, 0.03, 0.1]) * chance.random() * 2
                    asked.append(pool.submit(ask_and_cut, server, question, moment))
            for one in asked:
                one.result()
        found = answers(server, questions)
    with web.Server(recording, env=disturbed_cache) as server:
        server.loaded()
        kept = answers(server, questions)
    with web.Server(recording, env={"XDG_CACHE_HOME": str(tmp_path / "fresh")}) as server:
        server.loaded()
        expected = answers(server, questions)
    assert [(q, a) for q, a in expected.items() if a[0] != 200] == []
    assert [q for q in expected if found[q] != expected[q]] == []
    assert [q for q in expected if kept[q] != expected[q]] == []
