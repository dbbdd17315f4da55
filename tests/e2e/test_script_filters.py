# SPDX-License-Identifier: MIT OR Apache-2.0
"""custom_filter=SCRIPT: what a script in Rhai is worth chooses, wherever filters do."""
import http.client
import threading
import time
import urllib.parse

import pytest

import harness
from scripts import made_recording
from web import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Server(made_recording(tmp_path_factory, 5)) as running:
        running.loaded()
        yield running


@pytest.mark.parametrize("script, expression", [
    ("allocations().only_leaked()", "leaked"),
    ("allocations().only_leaked();", "leaked"),
    ("allocations()", "size >= 0"),
    ("allocations().only_larger(1000000000)", "size > 1000000000"),
    ("// leaks\nlet a = allocations().only_larger(100);\nreturn a & a.only_leaked();\n",
     "size > 100 and leaked"),
    ("fn small(list) { list.only_smaller(64) }\nsmall(allocations()) + "
     "small(data().allocations().only_leaked())", "size < 64"),
    ("if allocations().only_leaked().len() > 0 { allocations() - allocations().only_leaked() } "
     "else { allocations() }", "not leaked"),
    ("println(\"not shown\"); allocations().where(\"chain_length > 1\")", "chain_length > 1"),
    ("allocations().only_alive_at(data().runtime() * 0.5)", "alive_at(50%)"),
])
def test_it_chooses_what_an_expression_does(server, script, expression):
    wanted = server.data("allocations", stacks="false", filter=expression)
    assert server.data("allocations", stacks="false", custom_filter=script) == wanted
    both = server.data("overview", custom_filter=script, size_min="50")
    assert both["allocations"] == server.data("overview", filter=expression,
                                              size_min="50")["allocations"]


def test_groups_choose(server):
    """What no expression says by itself: all of the stacks that leak most."""
    script = """
        let groups = allocations().only_leaked().group_by_backtrace().sort_by_size().take(3);
        allocations().only_matching_backtraces(groups)"""
    groups = server.data("groups", sort_by="size", order="dsc", lifetime="only_leaked", count=3)
    wanted = sum(g["all"]["allocated_count"] for g in groups["groups"])
    found = server.data("allocations", custom_filter=script, count=0)
    assert found["total_count"] == wanted > sum(
        g["only_matched"]["allocated_count"] for g in groups["groups"])


def test_several_and_everywhere(server):
    """Each path that takes filters takes a script; two of them must both hold."""
    leaked, large = "allocations().only_leaked()", "allocations().only_larger(100)"
    wanted = server.data("overview", filter="leaked and size > 100")["allocations"]
    assert server.data("overview", custom_filter=[leaked, large])["allocations"] == wanted
    for path in ("flame", "timeline", "groups", "functions", "leaks", "histogram", "tree", "maps"):
        assert server.data(path, custom_filter=leaked) == server.data(
            path, filter="leaked"), path
    for path in ("export/csv", "export/flamegraph", "export/heaptrack"):
        asked = server.ask(f"/data/last/{path}", custom_filter=leaked)
        assert asked.status == 200 and asked.text == server.ask(f"/data/last/{path}",
                                                                filter="leaked").text


def test_an_expression_is_an_expression(server):
    """Words of scripts within one do not make it one, and what is neither is told as it always
    was."""
    text = 'function ~ "allocations()" or leaked'
    assert server.data("overview", custom_filter=text)["allocations"] == server.data(
        "overview", filter="leaked")["allocations"]
    answer = server.ask("/data/last/overview", custom_filter="sice > 1")
    assert (answer.status, answer.json["parameter"], answer.json["position"]) == (
        400, "custom_filter", 0)
    # Only that name takes scripts.
    assert server.ask("/data/last/overview", filter="allocations()").status == 400


@pytest.mark.parametrize("script, reason", [
    ("let x = 1;\nallocations().only_leakd()", "line 2: no method only_leakd"),
    ("allocations().", "line 1: the name of a property or method is missing"),
    ("allocations().len()", "the script is worth number, not a list"),
    ("let x = allocations();", "the script is worth nothing, not a list"),
    ("allocations(); exit()", "it ended before"),
    ("allocations(); load(\"/etc/passwd\")", "load"),
    ("data().maps()", "not a list of allocations"),
    ("let s = `${allocations()}`; loop { s += s; }", "memory"),
    ("allocations(); throw 5;", "line 1: "),
])
def test_what_is_wrong_is_said(server, script, reason):
    answer = server.ask("/data/last/overview", custom_filter=script)
    assert (answer.status, answer.json["parameter"]) == (400, "custom_filter"), answer
    assert reason in answer.json["error"], answer


def test_the_same_answer_is_kept(server):
    """What a script comes to is asked for as its expression, whatever the script's text."""
    server.data("flame", custom_filter="allocations().only_leaked().only_larger(77)")
    again = server.ask("/data/last/flame",
                       custom_filter="let l = allocations(); l.only_leaked().only_larger(77)")
    assert again.headers["Server-Timing"] == "kept"


def test_one_that_never_ends_is_in_nobodys_way(server):
    """It has no place among those that answer, and ends with its client."""
    text = urllib.parse.quote("loop { allocations(); }")
    peers = [http.client.HTTPConnection(server.host, server.port, timeout=60) for _ in range(8)]
    for peer in peers:
        peer.request("GET", f"/data/last/overview?custom_filter={text}")
    time.sleep(0.3)
    took = []
    for size in range(1, 11):
        began = time.monotonic()
        server.data("overview", size_min=size * 1001)
        took.append(time.monotonic() - began)
    assert sorted(took)[5] < 1, took
    answer = server.ask("/data/last/overview", custom_filter="allocations().only_leaked()")
    assert answer.status == 503 and answer.headers["Retry-After"] == "1"
    for peer in peers:
        peer.close()
    harness.wait_for(lambda: server.ask("/data/last/overview", custom_filter="allocations()")
                     .status == 200, what="a place")


def test_its_time_ends(server):
    answer = server.ask("/data/last/overview", custom_filter="loop { allocations(); }")
    assert answer.status == 400 and "which is its limit" in answer.json["error"]


def test_many_at_once(server):
    """A page asks several questions with one filter."""
    wanted = server.data("overview", filter="size > 10")["allocations"]
    found = []

    def ask():
        answer = server.ask("/data/last/overview",
                            custom_filter="allocations().only_larger(10)")
        found.append(answer.json.get("allocations") if answer.status == 200 else answer.status)
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 8


def test_as_a_script_it_stays_one(server):
    """It becomes a function, so that both together are a script that chooses the same."""
    script = "let x = 100;\nallocations().only_larger(x)"
    answer = server.data("allocation_filter_to_script", custom_filter=[script, "allocations()"],
                         lifetime="only_leaked")
    assert answer["prologue"].startswith(
        f"fn custom_filter() {{\n{script}\n}}\nfn custom_filter_2()")
    text = f"{answer['prologue']}\nprintln({answer['code']}.len());"
    run = server.ask("/data/last/execute_script", method="POST", body=text).json
    assert run["output"] == [{"kind": "println", "value": str(server.data(
        "allocations", custom_filter=script, lifetime="only_leaked", count=0)["total_count"])}]
    answer = server.data("map_filter_to_script", custom_filter="allocations().only_larger(5000)")
    text = f"{answer['prologue']}\nprintln({answer['code']}.len());"
    run = server.ask("/data/last/execute_script", method="POST", body=text).json
    assert run["output"][0]["value"] == str(server.data(
        "maps", filter="size > 5000", count=0)["total_count"])
