# SPDX-License-Identifier: MIT OR Apache-2.0
"""The HTTP API: every endpoint, every parameter, every error; and the same answers as the command
line's."""
import json
import os
import random
import re
import subprocess
import urllib.parse

import pytest

import harness
from web import Server

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


@pytest.fixture(scope="module")
def recordings(compile_program, tmp_path_factory):
    """A program whose blocks are known, and one that never was, with many stacks and threads."""
    folder = tmp_path_factory.mktemp("api")
    known, made = str(folder / "choosing.dat"), str(folder / "made.dat")
    done = harness.record(
        [compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))], known)
    assert done.status == 0, done.run
    subprocess.run([GENERATE, made, "4000", "4", "7"], check=True, stdout=subprocess.DEVNULL)
    return known, made


@pytest.fixture(scope="module")
def server(recordings, family):
    dump, statistics = (os.path.join(harness.ROOT, "tests", "data", "jemalloc", name)
                        for name in ("out.heap", "json_small.json"))
    with Server(*recordings, dump, statistics, family) as running:
        found = [r["id"] for r in running.loaded(7)]
        running.folder, *running.ids, running.heap, running.statistics = found[:5]
        yield running


@pytest.fixture(scope="module")
def known(server):
    return lambda path, **parameters: server.json(f"/data/{server.ids[0]}/{path}", **parameters)


@pytest.fixture(scope="module")
def made(server):
    return lambda path, **parameters: server.json(f"/data/{server.ids[1]}/{path}", **parameters)


# The table

def endpoints():
    """The table, without a recording: for the names of tests."""
    with Server() as server:
        return server.json("/api")["endpoints"]


TABLE = endpoints() if os.path.exists(harness.MEMOIR) else []
# Those of running programs need one: test_live.py has them.
# So do fleets: test_fleet.py.
GETS = [e for e in TABLE if "GET" in e["methods"] and "{agent}" not in e["path"]
        and e.get("kind") != "fleet"]


def address(server, endpoint):
    kind = endpoint.get("kind", "recording")
    file = {"recording": server.ids[0], "statistics": server.statistics, "heap": server.heap,
            "processes": server.folder, "any": server.ids[0]}[kind]
    path = endpoint["path"].replace("{id}", file).replace("{backtrace_id}", "2").replace(
        "{number}", "0")
    if "{hash}" in path:
        saved = server.ask(f"/data/{file}/script", method="POST",
                           body="graph():add(allocations()):save('a.svg')").json["output"][0]
        path = path.replace("{hash}", saved["checksum"])
    return path.replace("{format}", "text" if kind == "heap" else "json").replace(
        "{name}", "a%20name.json")


@pytest.fixture(scope="module")
def needed(server, known):
    source = next(s["file"] for s in known("sources", measure="allocated")["sources"]
                  if s["file"].endswith("choosing.c"))
    return {"/data/{id}/diff": {"b": server.ids[1]}, "/data/{id}/source": {"file": source},
            "/data/{id}/callers": {"function": "recurse"}, "/data/{id}/map_graph": {"map": "0"},
            "/progress": {"of": "/data/last/flame"}}


def test_the_tables(server):
    api = server.json("/api")
    names = [f["name"] for f in api["filters"]]
    assert len(names) == len(set(names)) > 50 and "size_min" in names
    assert {"size", "function", "leaked", "alive_at"} <= {f["name"] for f in api["fields"]}
    exports = harness.execute([harness.MEMOIR, "export", "--list"]).stdout.decode()
    for e in api["exports"]:
        assert re.search(rf"^{e['name']} ", exports, flags=re.M) and e["viewer"] and e["help"]
    assert len(api["exports"]) == len(re.findall(r"^\w", exports, flags=re.M))
    for f in api["filters"]:
        if f["type"] in ("choice", "yes_no"):
            assert f["values"]
        assert f["help"] and f["syntax"] and f["argument"]
    assert {m["name"] for m in api["measures"]} == {"leaked", "peak", "allocated", "temporary",
                                                    "alive", "short_lived", "pinned"}


@pytest.mark.parametrize("endpoint", GETS, ids=lambda e: e["path"])
def test_every_endpoint_answers(server, needed, endpoint):
    answer = server.ask(address(server, endpoint), **needed.get(endpoint["path"], {}))
    assert answer.status == 200, answer
    if "*" not in endpoint["type"]:
        assert answer.headers["Content-Type"] == endpoint["type"]
    if endpoint["type"] == "application/json":
        json.loads(answer.text)
    unknown = server.ask(address(server, endpoint), **needed.get(endpoint["path"], {}),
                         no_such_thing=1)
    if endpoint["path"] != "/":
        assert unknown.status == 400 and unknown.json["parameter"] == "no_such_thing", unknown


GOOD = {"text": "x", "bool": "true", "count": "3", "number": "1", "real": "0.5", "time": "50%",
        "duration": "10ms"}
BAD = {"bool": "maybe", "count": "-1", "number": "x", "real": "200", "time": "yesterday-ish",
       "duration": "10 parsecs",
       "choice": "no_such_word", "recording": "0" * 32}
TOGETHER = {"below": {"measure": "short_lived"}, "at_a": {"at_b": "50%"}, "at_b": {"at_a": "50%"},
            "spark": {"count": 5},
            "against": {}, "against_at": {"against": "ID"},
            "fail_on": {"baseline": "ID"}}
SPECIAL = {("sort_by", "/data/{id}/allocation_groups"): "all.size",
           ("sort_by", "/data/{id}/groups"): "self.size",
           ("peak_rss_min",): "4k", ("peak_rss_max",): "4G", ("holds",): "0x7f00",
           ("against",): "25%", ("width",): "100",
           ("height",): "100", ("file",): None, ("a",): None, ("b",): None,
           ("base",): None, ("regex",): None, ("of", "/progress"): "/data/last/flame",
           ("sort_by", "/dumps/{id}/top"): "cum", ("fail_on",): "+1% peak",
           ("baseline",): None,
           # Slabs are jemalloc's.
           ("by", "/data/{id}/blame"): ["page", "64k", "2m"],
           **{("max_" + name,): "10k" for name in ("peak", "leaked", "leaks", "allocations",
                                                  "allocated", "temporary")}}
PARAMETERS = [(e, p) for e in GETS for p in e["parameters"]]


@pytest.mark.parametrize("endpoint, parameter", PARAMETERS,
                         ids=lambda v: v.get("path", v.get("name")))
def test_every_parameter(server, needed, endpoint, parameter):
    name, kind = parameter["name"], parameter["type"]
    base = dict(needed.get(endpoint["path"], {}))
    values = parameter.get("values", [GOOD.get(kind)])
    special = SPECIAL.get((name, endpoint["path"]), SPECIAL.get((name,), "none"))
    if special != "none":
        values = special if isinstance(special, list) else [special] if special else []
    for value in values:
        extra = dict(TOGETHER.get(name, {}))
        if name == "measure":
            extra = {"alive": {"at": "50%"}, "alive_at": {"at": "50%"},
                     "short_lived": {"below": "1s"}}.get(value, {})
        extra = {k: server.ids[1] if v == "ID" else v for k, v in extra.items()}
        answer = server.ask(address(server, endpoint), **{**base, **extra, name: value})
        assert answer.status == 200, (value, answer)
    wrong = [BAD[kind]] if kind in BAD else []
    if "max" in parameter:
        wrong.append(str(parameter["max"] + 1))
    for value in wrong:
        answer = server.ask(address(server, endpoint), **{**base, name: value})
        assert answer.status in (400, 404) and answer.json["parameter"] == name, (value, answer)
        assert answer.status == (404 if kind == "recording" else 400)
    twice = server.ask(address(server, endpoint) + "?" + urllib.parse.urlencode(
        [*base.items(), (name, (values or ["x"])[0]), (name, (values or ["x"])[0])]))
    assert twice.status == 400 and "twice" in twice.json["error"]
    if parameter["required"]:
        base.pop(name)
        missing = server.ask(address(server, endpoint), **base)
        assert missing.status == 400 and missing.json["parameter"] == name


FILTERED = [e for e in GETS if e["filters"]]


@pytest.mark.parametrize("endpoint", FILTERED, ids=lambda e: e["path"])
def test_filters_everywhere(server, needed, endpoint):
    base = needed.get(endpoint["path"], {})

    def ask(**parameters):
        return server.ask(address(server, endpoint), **{**base, **parameters})
    for parameters in ({"size_min": "1k"}, {"filter": "leaked and size >= 1000"},
                       {"custom_filter": "not leaked"},
                       {"function_regex": ["main", "inner"]}, {"filter": "size < 0"}):
        assert ask(**parameters).status == 200, parameters
    answer = ask(size_min="much")
    assert answer.status == 400 and answer.json["parameter"] == "size_min"
    assert ask(size_min=["1", "2"]).status == 400
    if endpoint["path"].endswith("/matches"):
        return
    for name in ("filter", "custom_filter"):
        answer = ask(**{name: "größe >= 1k"})
        assert (answer.status == 400 and answer.json["parameter"] == name
                and answer.json["position"] == 0), answer
        answer = ask(**{name: 'function = "größe😀" and sice > 1'})
        assert answer.json["position"] == len(
            'function = "größe😀" and '.encode("utf-16-le")) // 2, answer


def test_every_filter(server, made):
    """Each row of the table has a value that is taken, and one that is not."""
    good = {"size": "64", "count": "2", "count_or_percent": "10%", "duration": "10us",
            "duration_or_percent": "5%", "time": "50%",
            "address": "0x555555600000", "number": "0", "regex": "f", "text": "malloc",
            "ids": "1,2,3", "thread": "1",
            "expression": "function ~ f"}
    bad = {"size": "x", "count": "x", "count_or_percent": "x%", "duration": "x",
           "duration_or_percent": "x", "time": "x",
           "address": "x", "number": "x", "regex": "(", "ids": "a", "expression": "and",
           "choice": "x", "yes_no": "x"}
    for f in server.json("/api")["filters"]:
        for value in f.get("values", [good.get(f["type"])]):
            assert "total_count" in made("allocations", count=1, **{f["name"]: value}), f
        if f["type"] in bad:
            answer = server.ask(f"/data/{server.ids[1]}/allocations", **{f["name"]: bad[f["type"]]})
            assert answer.status == 400 and answer.json["parameter"] == f["name"], f


# What answers say

def test_known_blocks(known):
    found = known("allocations", filter="function = recurse and leaked")
    assert sorted(a["size"] for a in found["allocations"]) == list(range(1005, 1010))
    assert found["total_count"] == 5 and found["total_size"] == sum(range(1005, 1010))
    flat = known("allocations", filter="function = recurse", sort_by="size", order="dsc", skip=1,
                 count=2, stacks="false")
    assert [a["size"] for a in flat["allocations"]] == [1008, 1007]
    assert "backtrace" not in flat["allocations"][0] and flat["total_count"] == 10
    stack = known(f"backtrace/{flat['allocations'][0]['backtrace_id']}")
    assert (stack["frames"][-1]["function"] == "malloc"
            and "recurse" in [f.get("function") for f in stack["frames"]])


def test_backtraces_and_errors(server, known):
    found = known("backtraces")
    assert found["total_count"] == len(found["backtraces"]) == len(found["ids"])
    assert known("backtraces", skip=1, count=1)["backtraces"] == found["backtraces"][1:2]
    for bad in ("0", "99999999", "x", "-1", "1x", "4294967296", "18446744073709551616"):
        answer = server.ask(f"/data/{server.ids[0]}/backtrace/{bad}")
        assert answer.status == 404 and answer.json["error"], bad


def test_timeline(known):
    for name in ("timeline", "timeline_leaked"):
        series = known(name, points=50)
        lengths = {key: len(value) for key, value in series.items() if isinstance(value, list)}
        assert set(lengths.values()) == {51}, lengths
        assert series["xs"] == sorted(series["xs"]) and series["xs_ns"][0] == series["from_ns"]
        assert all(isinstance(x, int) for x in series["xs"])
        assert sum(series["size_delta"]) == series["end_size"][-1]
        assert all(a >= b for a, b in zip(series["allocated_size"], series["end_size"]))
    whole, leaked = known("timeline", points=1), known("timeline_leaked", points=1)
    assert whole["end_size"][-1] == leaked["end_size"][-1] == whole["leaked_size"][-1]
    middle = known("timeline", points=10, **{"from": "25%", "to": "75%"})
    assert middle["from_ns"] >= whole["to_ns"] // 5 and middle["to_ns"] <= whole["to_ns"] * 4 // 5
    assert sum(middle["allocations"]) <= sum(whole["allocations"])


def test_timeline_without_width(server, known):
    answer = server.ask(f"/data/{server.ids[0]}/timeline", **{"from": "50%", "to": "40%"})
    assert answer.status == 400 and answer.json["parameter"] == "to"


def check_flame(flame):
    nodes, names = flame["nodes"], flame["names"]
    count = flame["node_count"]
    assert {len(column) for column in nodes.values()} == {count}
    assert len({len(column) for column in names.values()}) == 1
    sums = [0] * count
    for i in range(1, count):
        parent = nodes["parent"][i]
        assert parent < i and nodes["depth"][i] == nodes["depth"][parent] + 1
        sums[parent] += nodes["value"][i]
    for i in range(count):
        if names["kind"][nodes["name"][i]] != 3:
            assert nodes["value"][i] == sums[i] + nodes["self"][i], i
        assert 0 <= names["module"][nodes["name"][i]] < len(flame["modules"])
        assert 0 <= names["file"][nodes["name"][i]] < len(flame["files"])
    return nodes


@pytest.mark.parametrize("options", [{}, {"measure": "leaked"},
                                     {"measure": "allocated", "weight": "count"}, {"at": "50%"},
                                     {"direction": "up"}, {"by": "thread"}, {"by": "module"},
                                     {"by": "line"},
                                     {"limit": 20}, {"limit": 1}, {"threads": "true", "limit": 7},
                                     {"measure": "temporary"},
                                     {"filter": "size > 1000000000"}], ids=str)
def test_flame(made, options):
    flame = made("flame", **options)
    nodes = check_flame(flame)
    key = "count" if options.get("weight") == "count" else "bytes"
    assert nodes["value"][0] == flame["total"][key]
    if "limit" in options:
        kept = sum(flame["names"]["kind"][n] != 3 for n in nodes["name"])
        assert kept <= options["limit"] and flame["hidden_count"] > 0
        assert nodes["value"][0] == made("flame",
                                         **{**options, "limit": 100000})["nodes"]["value"][0]


def test_flame_differences(server, made):
    at, before = made("flame", at="80%"), made("flame", at="20%")
    both = made("flame", at="80%", against="20%")
    nodes = check_flame(both)
    assert (nodes["value"][0] == at["nodes"]["value"][0]
            and nodes["before"][0] == before["nodes"]["value"][0])
    other = made("flame", measure="leaked", against=server.ids[0])
    alone = server.json(f"/data/{server.ids[0]}/flame", measure="leaked")
    assert (other["nodes"]["before"][0] == alone["nodes"]["value"][0]
            and other["against"]["id"] == server.ids[0])
    same = made("flame", against=server.ids[1])
    assert same["nodes"]["value"] == same["nodes"]["before"]
    for parameters, name in (({"against": "nothing"}, "against"),
                             ({"against_at": "1s"}, "against_at"),
                             ({"measure": "leaked", "against": "10%"}, "against"),
                             ({"against": "0" * 32}, "against")):
        answer = server.ask(f"/data/{server.ids[1]}/flame", **parameters)
        assert answer.status in (400, 404) and answer.json["parameter"] == name, answer


def test_measures_and_moments(server):
    path = f"/data/{server.ids[0]}/flame"
    for parameters, name in (({"measure": "alive"}, "at"), ({"measure": "short_lived"}, "below"),
                             ({"measure": "peak", "at": "1s"}, "at"),
                             ({"measure": "peak", "below": "1s"}, "below"),
                             ({"at": "1s", "below": "1s"}, "below")):
        answer = server.ask(path, **parameters)
        assert answer.status == 400 and answer.json["parameter"] == name, (parameters, answer)


def test_groups_with_curves(server, known, made):
    found = made("allocation_groups", count=10, spark=16, generate_graphs="true",
                 sort_by="all.leaked_size", order="dsc",
                 size_min=16)
    leaked = [g["all"]["leaked_size"] for g in found["allocations"]]
    assert leaked == sorted(leaked, reverse=True) and len(leaked) == 10
    for g in found["allocations"]:
        assert len(g["spark"]) == 16 and g["spark"][-1] == g["only_matched"]["leaked_size"]
        for part in ("all", "only_matched"):
            for key in ("graph_url", "graph_preview_url"):
                picture = server.ask(g[part][key])
                assert picture.status == 200 and picture.headers["Content-Type"] == "image/svg+xml"
        assert ("size_min=16" in g["only_matched"]["graph_url"]
                and "size_min" not in g["all"]["graph_url"])
    picture = server.ask(found["allocations"][0]["only_matched"]["graph_url"]).text
    assert (picture.startswith("<svg ") and "Matched" in picture and "Global" in picture
            and "<style" not in picture)
    answer = server.ask(f"/data/{server.ids[1]}/allocation_groups", spark=5)
    assert answer.status == 400 and answer.json["parameter"] == "spark"
    answer = server.ask(f"/data/{server.ids[1]}/allocation_groups", sort_by="all.colour")
    assert answer.status == 400 and answer.json["parameter"] == "sort_by"
    short = known("allocation_groups", strip_template_args="true", stacks="false")
    assert all("backtrace" not in g for g in short["allocations"])


def test_threads(known, made):
    found = made("threads", sort_by="thread", order="asc", spark=8)
    ids = [t["thread"] for t in found["threads"]]
    assert ids == sorted(ids) and found["total_count"] == len(ids) == 4
    by_hand = {}
    for a in made("allocations", stacks="false")["allocations"]:
        t = by_hand.setdefault(a["thread"], {"bytes": 0, "count": 0, "leaked": 0, "other": 0})
        t["bytes"] += a["size"]
        t["count"] += 1
        t["leaked"] += 0 if "deallocation" in a else a["size"]
        t["other"] += a.get("deallocation", {}).get("thread", a["thread"]) != a["thread"]
    for t in found["threads"]:
        mine = by_hand[t["thread"]]
        assert (t["allocated_bytes"], t["allocated_count"], t["leaked_bytes"],
                t["freed_by_other_count"]) == (
            mine["bytes"], mine["count"], mine["leaked"], mine["other"])
        assert t["spark"][-1] == t["leaked_bytes"]
    peak = made("overview")["peak"]
    assert sum(t["peak_bytes"] for t in found["threads"]) == peak["bytes"]


def test_regions_and_address_space(made, known):
    regions = made("regions", at="60%")["regions"]
    assert regions == sorted(regions) and all(a[1] < b[0] for a, b in zip(regions, regions[1:]))
    blocks = made("allocations", alive_at="60%", stacks="false")["allocations"]
    for a in blocks:
        assert any(low <= a["address"] and a["address"] + a["size"] <= high + 8
                   for low, high in regions), a
    assert sum(high - low for low, high in regions) <= sum(a["size"] + a["extra_space"] + 48
                                                           for a in blocks)
    assert made("regions", size_min="100G") == {"main_heap_start": 0, "main_heap_end": 0,
                                                "main_heap_start_s": "0" * 16,
                                                "main_heap_end_s": "0" * 16, "total_count": 0,
                                                "regions": []}
    heap = known("regions")
    assert (heap["main_heap_start"] < heap["main_heap_end"]
            and heap["main_heap_start_s"] == f"{heap['main_heap_start']:016X}")
    space = made("address_space", columns=10, rows=50)
    assert len(space["xs_ns"]) == 11 and space["columns"] == 10
    assert sum(a["rows"] for a in space["areas"]) == space["rows"] <= 50
    for a in space["areas"]:
        assert len(a["cells"]) == a["rows"] * 10 and 0 <= min(a["cells"]) and max(a["cells"]) <= 255
        assert a["rows"] * a["cell_bytes"] >= a["end"] - a["start"]
    last = sum(sum(a["cells"][9::10]) * a["cell_bytes"] / 255 for a in space["areas"])
    alive = sum(a["size"] + a["extra_space"]
                for a in made("allocations", lifetime="only_leaked", stacks="false")["allocations"])
    assert last == pytest.approx(alive, rel=0.2)


def test_holders(made):
    found = made("holders", at="60%", count=1000)
    blocks = made("allocations", alive_at="60%", stacks="false")["allocations"]
    assert found["count"] == len(blocks) and found["bytes"] == sum(a["size"] for a in blocks)
    assert (sum(s["bytes"] for s in found["stacks"]) == found["bytes"]
            and found["total_count"] == len(found["stacks"]))
    middle = sorted(a["address"] for a in blocks)[len(blocks) // 2]
    part = made("holders", at="60%", address_min=hex(middle))
    assert part["count"] == sum(a["address"] >= middle for a in blocks)


def test_sources(server, known, needed, recordings):
    path = needed["/data/{id}/source"]["file"]
    listed = next(s for s in known("sources", measure="allocated")["sources"] if s["file"] == path)
    assert listed["on_disk"]
    found = known("source", file=path, measure="allocated")
    with open(path, encoding="utf-8") as file:
        assert found["lines"] == file.read().split("\n")[:-1]
    assert (found["on_disk"]
            and found["bytes"] == listed["bytes"] >= max(w["bytes"] for w in found["weights"]))
    assert [w["line"] for w in found["weights"]] == sorted({w["line"] for w in found["weights"]})
    inner = next(w for w in found["weights"] if "inner" in w["functions"])
    assert "malloc" in found["lines"][inner["line"] - 1]
    assert sum(w["self_bytes"] for w in found["weights"]) <= found["bytes"]
    command = ["source", "-m", "allocated", "--file", path]
    assert harness.ask(*command, "--json", recordings[0]) == found
    text = harness.execute([harness.MEMOIR, *command, recordings[0]]).stdout.decode().splitlines()
    row = next(line for line in text if line.endswith(found["lines"][inner["line"] - 1]))
    assert row[22:32].split() == [str(inner["line"])] and row.startswith(" ")
    assert len(text) < len(found["lines"]) < len(
        harness.execute([harness.MEMOIR, *command, "--full", recordings[0]]).stdout.splitlines())
    mine = harness.ask("sources", "--json", "-m", "allocated", recordings[0])
    assert [dict(s, on_disk=0) for s in mine["sources"]] == [
        dict(s, on_disk=0) for s in known("sources", measure="allocated")["sources"]]
    assert harness.execute(
        [harness.MEMOIR, "source", "--file", "/etc/passwd", recordings[0]]).status == 1
    # The end of a path is enough where it is of one file, from a slash on.
    assert known("source", file=os.path.basename(path), measure="allocated") == found
    nothing = harness.execute(
        [harness.MEMOIR, "source", "--file", os.path.basename(path)[1:], recordings[0]])
    assert nothing.status == 1 and b"names no file" in nothing.stderr
    for name in ("/etc/passwd", "/etc/shadow", "../" + path, path + "/", os.path.basename(path)[1:],
                 path.upper()):
        answer = server.ask(f"/data/{server.ids[0]}/source", file=name)
        assert answer.status == 404 and answer.json["parameter"] == "file", answer
    assert known("sources", search="CHOOSING")["total_count"] == 1
    assert known("sources", search="no such file")["sources"] == []


def test_functions(known, made):
    rows = made("functions", count=1000)
    assert rows["total_count"] == len(rows["functions"])
    own = [f["own_bytes"] for f in rows["functions"]]
    assert own == sorted(own, reverse=True) and 0 < sum(own) <= rows["total"]["bytes"]
    totals = [f["bytes"] for f in made("functions", sort_by="total", count=1000)["functions"]]
    assert totals == sorted(totals, reverse=True) and sorted(totals) == sorted(
        f["bytes"] for f in rows["functions"])
    assert sum(f["self_bytes"] for f in rows["functions"]) == rows["total"]["bytes"]
    selfs = [f["self_count"]
             for f in made("functions", sort_by="self_count", order="asc")["functions"]]
    assert selfs == sorted(selfs)
    assert [f["name"] for f in known("functions", search="RECUR",
                                     measure="allocated")["functions"]] == ["recurse"]
    names = [f["name"] for f in known("functions", sort_by="name", order="asc",
                                      measure="allocated")["functions"]]
    assert names == sorted(names, key=str.encode)


def test_callers(known, recordings):
    """The neighbours of a function that calls itself: each stack counts once in each row."""
    listed = {f["name"]: f for f in known("functions", measure="allocated")["functions"]}
    found = known("callers", function="recurse", measure="allocated")
    shared = listed["recurse"].keys() - {"own_bytes", "own_count"}
    assert {k: found["function"][k] for k in shared} == {k: listed["recurse"][k] for k in shared}
    callers = {row["name"]: row for row in found["callers"]}
    callees = {row["name"]: row for row in found["callees"]}
    assert set(callers) == {"main", "recurse"} and set(callees) == {"inner", "recurse"}
    assert 0 < callers["recurse"]["count"] < found["function"]["count"]
    assert callers["recurse"] == callees["recurse"]
    assert callees["inner"]["count"] == found["function"]["count"]
    others = [row for name, row in callers.items() if name != "recurse"]
    assert sum(row["count"] for row in others) == found["function"]["count"]
    assert sum(row["self_count"] for row in callers.values()) == found["function"]["self_count"]
    # What calls it names it among its callees, with the same figures.
    below = known("callers", function=others[0]["name"], measure="allocated")
    assert [row["bytes"] for row in below["callees"] if row["name"] == "recurse"] == [
        others[0]["bytes"]]
    nothing = known("callers", function="no such function")
    assert nothing["function"] is None and nothing["callers"] == nothing["callees"] == []
    text = harness.execute([harness.MEMOIR, "functions", "--callers", "recurse", "-m", "allocated",
                            recordings[0]])
    assert text.status == 0 and b"CALLED BY" in text.stdout and b"CALLS" in text.stdout


@pytest.mark.parametrize("text, at, kind, item", [
    ("", None, "field", "size"), ("si", None, "field", "size"),
    ("leaked and fu", None, "field", "function"),
    ("size ", None, "operator", ">="), ("function ", None, "operator", "~"),
    ("leaked ", None, "word", "and"),
    ('function = "recu', None, "value", '"recurse"'), ("function ~ ", None, "value", '"main"'),
    ("call = ", None, "value", '"malloc"'),
    ("thread = ", None, "value", '"chooser"'), ("(leaked ", None, "word", ")"),
    ("size >= 1k an", None, "word", "and"),
    ("not lea", None, "flag", "leaked"), ("frame(func", None, "field", "function"),
    ("module = ", None, "value", '"choosing"'),
    ("source = cho", None, "value", None), ("si > 1k", 2, "field", "size"),
    ("alive_at ", None, "operator", "("),
    ('"größe', None, None, None), ("backtrace_de", None, "field", "backtrace_depth"),
    ("group_all", None, "field", "group_allocations"),
    ("size_m", None, "filter", "size_min"),
])
def test_completion(known, text, at, kind, item):
    found = known("complete", text=text, **({} if at is None else {"at": at}))
    assert 0 <= found["from"] <= found["to"] <= len(text.encode("utf-16-le")) // 2
    if item is None:
        return
    assert (kind, item) in [(i["kind"], i["text"]) for i in found["items"]], found
    done = text[:found["from"]] + item + text[found["to"]:]
    if kind == "value":
        assert known("matches", filter=done.replace("(leaked", "leaked"))["ok"], done


def test_matches(known):
    assert known("matches") == {"ok": True, "filter": "",
                              "count": known("allocations", count=0)["total_count"],
                              "bytes": known("allocations", count=0)["total_size"]}
    found = known("matches", filter="size>=1000 && leaked")
    assert (found["ok"] and found["count"] == known(
        "allocations", filter="size >= 1000 and leaked")["total_count"])
    wrong = known("matches", filter="leaked and sice > 1")
    assert not wrong["ok"] and wrong["position"] == 11 and "size" in wrong["error"]


def test_overview(server, known, recordings):
    found = known("overview")
    info = harness.ask("info", "--json", recordings[0])
    facts = known("info")
    assert (facts == {key: info[key] for key in facts}
            and set(info) - set(facts) <= {"environ", "modules"})
    for key in ("executable", "cmdline", "pid", "runtime_ns", "events", "allocations",
                "deallocations", "allocated_bytes", "temporary"):
        assert found[key] == info[key], key
    assert found["peak"] == {"bytes": info["peak_bytes"], "count": info["peak_count"],
                             "at_ns": info["peak_at_ns"]}
    assert found["leaked"] == {"bytes": info["leaked_bytes"], "count": info["leaked_count"]}
    assert {"choosing", "libc.so.6"} <= {m["name"] for m in found["modules"]}
    listed = next(r for r in server.json("/list") if r["id"] == server.ids[0])
    assert (listed["unique_backtrace_count"] == found["stacks"]
            and listed["final_allocated"] == found["leaked"]["bytes"])
    assert (len(found["top"]["leaked"]) <= 5
            and found["top"]["leaked"][0]["bytes"] >= found["top"]["leaked"][-1]["bytes"])
    assert (sum(found["verdict_bytes"].values()) + found["small"]["bytes"]
            == found["leaked"]["bytes"])


@pytest.mark.parametrize("asked, options", [({"filter": "leaked"}, ["-F", "leaked"]),
                                            ({"from": "25%", "to": "75%"},
                                             ["--from", "25%", "--to", "75%"]),
                                            ({"function_regex": "recurse"},
                                             ["--function-regex", "recurse"])])
def test_overview_of_a_part(known, recordings, asked, options):
    found, whole = known("overview", **asked), known("overview")
    assert found == harness.ask("report", "--json", *options, recordings[0])
    assert found["allocations"] == found["filter"]["count"] < whole["allocations"]
    assert (found["allocated_bytes"] == found["filter"]["bytes"]
            and found["peak"]["at_ns"] == whole["peak"]["at_ns"])
    chosen = known("allocations", count=100000, **asked)["allocations"]
    leaked = [a for a in chosen if "deallocation" not in a]
    assert (found["leaked"]["count"], found["leaked"]["bytes"]) == (
        len(leaked), sum(a["size"] for a in leaked))
    tops = known("overview", top=1000, backtraces="true", **asked)["top"]
    for name, weights in (("leaked", found["leaked"]), ("peak", found["peak"]),
                          ("allocated",
                           {"bytes": found["allocated_bytes"], "count": found["allocations"]}),
                          ("temporary",
                           {"bytes": found["temporary_bytes"], "count": found["temporary"]})):
        assert sum(s["bytes"] for s in tops[name]) == weights["bytes"], name
        assert sum(s["count"] for s in tops[name]) == weights["count"], name
        assert all(s["backtrace"][-1]["function"] for s in tops[name])
    assert (sum(found["verdict_bytes"].values()) + found["small"]["bytes"]
            == found["leaked"]["bytes"])
    assert found["events"] == whole["events"] and found["modules"] == whole["modules"]


def test_ids(server):
    assert (server.ask("/data/last/statistics").status == 200
            or server.json("/data/last/overview")["id"] in {r["id"] for r in server.json("/list")})
    for path, status in ((f"/data/{server.statistics}/flame", 404),
                         (f"/data/{server.ids[0]}/statistics", 404)):
        answer = server.ask(path)
        assert answer.status == status and answer.json["error"], answer
    assert server.ask("/data/" + server.ids[0].upper() + "/overview").status == 404


def test_statics(known):
    empty = {"count": 0, "size": 0, "per_file": {}}
    assert known("dynamic_constants") == known("dynamic_statics") == empty


def test_statics_of_cxx(compile_program, tmp_path):
    path = str(tmp_path / "statics.dat")
    assert harness.record([compile_program("statics", flags=("-O0",))], path).status == 0
    with Server(path) as server:
        server.loaded()
        found = server.data("dynamic_statics")
        assert found["count"] >= 2 and found["size"] >= 3000
        assert server.data("statics") == found == json.loads(
            harness.execute([harness.MEMOIR, "ask", "statics", path]).stdout)
        assert server.data("statics", of="constants") == server.data("dynamic_constants")
        [(name, file)] = [(k, v) for k, v in found["per_file"].items() if k.endswith("statics.cpp")]
        assert sum(line["size"]
                   for line in file["per_line"].values()) == file["size"] == found["size"]
        text = server.ask("/data/last/dynamic_statics_ascii_tree/x.txt").text
        assert text.split("\n")[0].split() == ["SIZE", "COUNT", "SOURCE"] and name in text
        stripped = server.data("allocations", strip_template_args="true",
                               filter='function ~ "basic_string"')
        names = {f.get("function", "") for a in stripped["allocations"] for f in a["backtrace"]}
        assert any("basic_string<...>" in n for n in names), names
        assert not any(re.search(r"<(?!\.\.\.>)[a-z]", n) for n in names
                       if "operator" not in n), names


def test_ascii_tree(server):
    answer = server.ask(f"/data/{server.ids[0]}/allocation_ascii_tree", filter="function = recurse")
    lines = answer.text.splitlines()
    assert lines[0].split() == ["SIZE", "COUNT", "FIRST", "LAST", "SOURCE"]
    assert any("choosing.c:" in line and "recurse" in line for line in lines)


# The same as the command line's

def as_options(parameters):
    return [word for name, value in parameters.items() for word in
            (["-F", value] if name in ("filter", "custom_filter")
             else ["--" + name.replace("_", "-"), str(value)])]


def cli(path, command, *options, parameters=None):
    return harness.ask(command, "--json", *options, *as_options(parameters or {}), path)


def random_filter(rng):
    """A few rows with values that leave something and take something, of the generated
    recording."""
    choices = [
        lambda: ("size_min", rng.choice([16, 64, 200, "1k"])),
        lambda: ("size_max", rng.choice([100, 500, "4KiB"])),
        lambda: ("from", f"{rng.randrange(60)}%"), lambda: ("to", f"{rng.randrange(40, 100)}%"),
        lambda: ("lifetime", rng.choice(
            ["only_leaked", "only_not_leaked", "only_chain_leaked", "only_whole_group_leaked"])),
        lambda: ("alive_at", f"{rng.randrange(100)}%"),
        lambda: ("lifetime_min", rng.choice(["1us", "10us", "100us"])),
        lambda: ("backtrace_depth_min", rng.randrange(1, 12)), lambda: ("chain_length_min", 2),
        lambda: ("temporary", "yes"),
        lambda: ("group_allocations_min", rng.randrange(1, 5)), lambda: ("call", "malloc"),
        lambda: ("filter", rng.choice(
            ["leaked or size < 100", "not (temporary or size > 1k)", "slack > 0 and lifetime < 1ms",
             "thread != 1 and backtrace_depth < 20", "freed_by_other_thread or zeroed"])),
    ]
    return dict(rng.choice(choices)() for _ in range(rng.randrange(1, 4)))


@pytest.mark.parametrize("seed", range(8))
def test_answers_are_the_command_lines(server, made, recordings, seed):
    rng = random.Random(seed)
    parameters = random_filter(rng)
    path = recordings[1]
    note = (seed, parameters)
    sort, order = rng.choice(["timestamp", "size", "address", "lifetime"]), rng.choice(
        ["asc", "dsc"])
    skip, count = rng.randrange(5), rng.randrange(1, 40)
    mine = made("allocations", sort_by=sort, order=order, skip=skip, count=count, **parameters)
    theirs = cli(path, "allocations", "--sort", sort, "--order", order, "--skip", str(skip),
                 "--count", str(count), parameters=parameters)
    assert mine["total_count"] == theirs["total_count"], note
    assert mine["allocations"] == theirs["allocations"], note
    mine = made("groups", sort_by="all.size", order="dsc", count=20, **parameters)
    theirs = cli(path, "groups", "--sort", "all.size", "--order", "dsc", "--count", "20",
                 parameters=parameters)
    assert mine == theirs, note
    same = made("allocation_groups", sort_by="all.size", order="dsc", count=20, **parameters)
    for group in same["allocations"]:
        for part in ("all", "only_matched"):
            assert group[part].pop("graph_url") is group[part].pop("graph_preview_url") is None
    assert same == {"allocations": mine["groups"], "total_count": mine["total_count"]}, note
    by = rng.choice(["function", "source", "module", "thread", "call", "size", "size_class",
                     "lifetime"])
    mine = made("groups", by=by, count=20, sort_by="leaked_size", **parameters)
    theirs = cli(path, "groups", "--by", by, "--sort", "leaked_size", "--order", "dsc", "--count",
                 "20", parameters=parameters)
    assert mine == theirs, (note, by)
    check_shapes(made, path, parameters, rng, note)


def check_shapes(made, path, parameters, rng, note):
    measure = rng.choice(["leaked", "peak", "allocated", "temporary"])
    theirs = cli(path, "functions", "-n", "1000000", "-m", measure, parameters=parameters)
    assert made("functions", measure=measure, count=1000000, **parameters) == theirs, note
    assert made("threads", **parameters) == cli(path, "threads", parameters=parameters), note
    tree = cli(path, "tree", "-m", measure, parameters=parameters)["tree"]
    flame = made("flame", measure=measure, limit=200000, **parameters)
    check_flame(flame)

    def walk(node):
        yield node["bytes"], node["count"]
        for child in node["children"]:
            yield from walk(child)
    assert sorted(walk(tree)) == sorted(zip(flame["nodes"]["value"], flame["nodes"]["other"])), note
    assert made("call_tree", measure=measure, **parameters)["tree"] == tree, note
    nested = made("tree", measure=measure, **parameters)

    def walk_nested(node):
        yield node["size"], node["count"], node["self_size"]
        for child in node["children"]:
            yield from walk_nested(child)
    assert [w[:2] for w in walk_nested(nested)] == list(walk(tree)), note
    stretch = {k: v for k, v in parameters.items() if k not in ("from", "to")}
    assert made("timeline", points=40, **stretch) == cli(path, "timeline", "-n", "40",
                                                         parameters=stretch), note
    for of in ("size", "lifetime"):
        theirs = harness.ask("histogram", "--json", "-m", measure, "--bytes", "-n", "20",
                             *as_options(parameters), of, path)
        mine = made("histogram", of=of, measure=measure, top=20, **parameters)
        for key in ("bins", "count", "bytes", *(["sizes"] if of == "size" else [])):
            assert mine[key] == theirs[key], (note, of, key)
    theirs = cli(path, "leaks", "-n", "1000", parameters=parameters)
    mine = made("leaks", count=1000, **parameters)
    assert mine == theirs, note
    theirs = cli(path, "fragmentation", "-n", "5", "--over-time", "4", "-r", "4k",
                 parameters=parameters)
    assert made("fragmentation", count=5, points=4, **parameters) == theirs, note
    theirs = cli(path, "address-space", "--columns", "9", "--rows", "20", parameters=parameters)
    assert made("address_space", columns=9, rows=20, **parameters) == theirs, note


def test_diff_is_the_command_lines(server, recordings):
    a, b = server.ids
    for measure in ("peak", "leaked", "allocated"):
        theirs = harness.ask("diff", "--json", "-m", measure, "-n", "1000", *recordings)
        mine = server.json(f"/data/{a}/diff", b=b, measure=measure, count=1000)
        assert mine == theirs
        assert (len(mine["stacks"]) == min(1000, mine["stack_total"])
                and len(mine["functions"]) == mine["function_total"])
    only = server.json(f"/data/{a}/diff", b=b, by="function", count=3, skip=1)
    assert "stacks" not in only and len(only["functions"]) == 3
    moments = server.json(f"/data/{b}/diff", b=b, at_a="20%", at_b="80%")
    assert moments["total"]["before_bytes"] == server.json(
        f"/data/{b}/flame", at="20%")["nodes"]["value"][0]
    for parameters, name in (({"at_a": "1s"}, "at_b"),
                             ({"at_a": "1s", "at_b": "1s", "measure": "peak"}, "at_a"),
                             ({"below": "1s"}, None)):
        answer = server.ask(f"/data/{a}/diff", b=b, **parameters)
        assert (answer.status == 200) == (name is None)
        assert name is None or answer.json["parameter"] == name


@pytest.mark.parametrize("options", [{}, {"lifetime": "only_leaked"}], ids=str)
def test_exports_are_the_command_lines(server, recordings, tmp_path, options):
    for e in server.json("/api")["exports"]:
        done = harness.execute([harness.MEMOIR, "export", e["name"], recordings[0], "-o",
                                str(tmp_path / "x"), *as_options(options)])
        assert done.status == 0, done
        answer = server.ask(f"/data/{server.ids[0]}/export/{e['name']}", **options)
        assert answer.status == 200 and answer.headers["Content-Type"] == e["type"], answer
        assert answer.headers.get("Content-Encoding") is None
        with open(tmp_path / "x", "rb") as file:
            assert answer.body == file.read(), e["name"]
        packed = server.ask(f"/data/{server.ids[0]}/export/{e['name']}/some.name",
                            headers={"Accept-Encoding": "gzip"}, **options)
        if packed.headers.get("Content-Encoding") == "gzip":
            import gzip
            assert gzip.decompress(packed.body) == answer.body
        else:
            assert packed.body == answer.body
        shown = e["name"] in ("flamegraph", "html")
        assert ("attachment" in answer.headers.get("Content-Disposition", "")) == (not shown)
    old = server.ask(f"/data/{server.ids[0]}/export/flamegraph.pl/x")
    assert old.body == server.ask(f"/data/{server.ids[0]}/export/collapsed").body
    answer = server.ask(f"/data/{server.ids[0]}/export/flamegrap")
    assert answer.status == 404 and "flamegraph" in answer.json["error"]


def test_raw_allocations(made):
    raw, whole = made("raw_allocations"), made("allocations")["allocations"]
    assert len(raw) == len(whole)
    for a, b in zip(raw[:200], whole):
        frames = [f["address_s"] for f in b["backtrace"][:-1]]
        assert ([x for i, x in enumerate(frames) if not i or x != frames[i - 1]] == a["backtrace"]
                or a["backtrace"] == frames)
