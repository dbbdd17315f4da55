# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heap profile dumps on the server: opened, and asked about.  Amounts are those of memoir jemalloc
heap."""
import gzip
import json
import pathlib
import re
import shutil
import subprocess

import pytest

import harness
from web import Server, all_done

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
NAMES = ("out.heap", "second_run.heap", "lg0.heap")
MEASURES = {"inuse_space": 40342092, "inuse_objects": 4883, "alloc_space": 41629943,
            "alloc_objects": 8192}


@pytest.fixture(scope="module")
def server():
    with Server("-d", DATA / "prof", *(DATA / name for name in NAMES),
                DATA / "json_small.json") as running:
        running.ids = {row["name"]: row["id"] for row in running.loaded(4)}
        yield running


@pytest.fixture(scope="module")
def ask(server):
    return lambda path, name="out.heap", **parameters: server.json(
        f"/dumps/{server.ids[name]}/{path}", **parameters)


@pytest.fixture(scope="module")
def refused(server):
    """The status and the answer of what is wrong."""
    def refused(path, name="out.heap", **parameters):
        answer = server.ask(f"/dumps/{server.ids[name]}/{path}", **parameters)
        assert answer.status >= 400, answer
        return answer.status, answer.json
    return refused


def told(*words):
    """What memoir jemalloc heap says: {name: (flat, cumulative)}, and the total of what is left."""
    done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", "--show_bytes",
                           *map(str, words)],
                          capture_output=True, text=True, check=True, timeout=120)
    total, *lines = done.stdout.splitlines()
    found = {}
    for line in lines:
        flat, _, _, cum, _, name = line.split(None, 5)
        found[name] = (int(flat), int(cum))
    return found, int(re.findall(r"(-?\d+) (?:B|objects)", total)[-1])


def amounts(answer):
    key = "bytes" if answer["measure"].endswith("space") else "objects"
    return {row["name"]: (row["flat_" + key], row["cum_" + key])
            for row in answer["rows"]}, answer["total"][key]


def test_facts(server, ask):
    facts = ask("facts")
    assert {key: facts[key] for key in MEASURES} == MEASURES
    assert (facts["rate"], facts["shape"], facts["accumulated"], facts["program"]) == (
        4096, "heap_v2", True, "/opt/jem-study/prof")
    assert [(t["thread"], t["name"], t["inuse_space"]) for t in facts["threads"]] == [
        (0, None, 13537483), (1, "wrk-0", 13407008), (2, "wrk-1", 13401750)]
    assert {"path": "/opt/jem-study/prof", "found": True, "allocator": False} in facts["modules"]
    listed = next(row for row in server.json("/list") if row["name"] == "out.heap")
    assert (listed["kind"] == "heap" and listed["heap"]["threads"] == 3
            and listed["heap"]["stacks"] == facts["stacks"])
    assert {key: listed["heap"][key] for key in MEASURES} == MEASURES
    everything = ask("facts", "lg0.heap")
    assert (everything["inuse_space"], everything["inuse_objects"]) == (5201920, 1001)


@pytest.mark.parametrize("measure, expected", MEASURES.items())
def test_totals_of_the_dump(ask, measure, expected):
    """The total of the dump, in every answer."""
    top, total = amounts(ask("top", measure=measure))
    assert total == expected and (top, total) == told("--" + measure, DATA / "out.heap")
    for direction in ("down", "up"):
        flame = ask("flame", measure=measure, direction=direction)
        key = "bytes" if measure.endswith("space") else "count"
        assert flame["total"][key] == flame["nodes"]["value"][0] == expected
        assert sum(flame["nodes"]["self"]) == expected


@pytest.mark.parametrize("thread, expected",
                         [("0", 13537483), ("1", 13407008), ("2", 13401750), ("77", 0)])
def test_totals_of_threads(ask, thread, expected):
    assert ask("top", thread=thread)["total"]["bytes"] == ask(
        "flame", thread=thread)["total"]["bytes"] == expected


@pytest.mark.parametrize("parameters", [
    {}, {"focus": "^thr$"}, {"ignore": "^thr$"}, {"retain": "^(thr|main)$"}, {"exclude": "worker"},
    {"thread": "1"},
    {"focus": "inl", "exclude": "^worker$"}, {"by": "line"}, {"by": "file"}, {"by": "address"},
    {"allocator": "true"},
    {"by": "line", "measure": "alloc_objects", "ignore": "main"}], ids=str)
def test_top_is_that_of_the_command(ask, parameters):
    words = []
    for key, value in parameters.items():
        words.append({"by": f"--{value}{'es' if value == 'address' else 's'}",
                      "measure": f"--{value}", "allocator": "--allocator"}
                     .get(key, f"--{key}={value}"))
    answer = ask("top", **parameters)
    assert amounts(answer) == told(*words, DATA / "out.heap")
    assert answer["total_count"] == len(answer["rows"])
    flame = ask("flame", **parameters)
    assert flame["nodes"]["value"][0] == amounts(answer)[1]


def test_difference_by_name(server, ask):
    answer = ask("top", "second_run.heap", base=server.ids["out.heap"], sort_by="cum_change")
    total = answer["total"]
    assert (abs(total["bytes"] - total["bytes_before"] + 200142) <= 2
            and answer["base"]["name"] == "out.heap")
    row = answer["rows"][0]
    assert row["name"] == "worker" and abs(row["cum_bytes"] - row["cum_bytes_before"] + 195883) <= 2
    assert not [row for row in answer["rows"] if row["name"].startswith("0x")]
    changes = [abs(row["cum_bytes"] - row["cum_bytes_before"]) for row in answer["rows"]]
    assert changes == sorted(changes, reverse=True)
    flame = ask("flame", "second_run.heap", base=server.ids["out.heap"])
    assert (flame["against"]["name"] == "out.heap"
            and flame["total"]["before_bytes"] == flame["nodes"]["before"][0] == 40342092)
    assert abs(flame["total"]["bytes"] - flame["total"]["before_bytes"] + 200142) <= 2
    assert len(flame["nodes"]["before"]) == flame["node_count"]
    text = server.ask(f"/dumps/{server.ids['second_run.heap']}/report/text",
                      base=server.ids["out.heap"], show_bytes="true").text
    assert text.splitlines()[0] == "Total: -200142 B"
    dropped = server.ask(f"/dumps/{server.ids['second_run.heap']}/report/text",
                         base=server.ids["out.heap"], show_bytes="true",
                         drop_negative="true").text
    assert int(dropped.split()[1]) == told("--base", DATA / "out.heap", "--drop_negative",
                                           DATA / "second_run.heap")[1] > -200142


def test_orders_and_pages(server, ask):
    rows = ask("top")["rows"]
    for key, field in (("flat", "flat_bytes"), ("cum", "cum_bytes"), ("name", "name")):
        for order in ("asc", "dsc"):
            values = [row[field] for row in ask("top", sort_by=key, order=order)["rows"]]
            assert values == sorted(values, reverse=order == "dsc"), (key, order)
    assert ask("top", skip=3, count=4)["rows"] == rows[3:7] and ask("top", skip=1000)["rows"] == []
    assert [row["name"] for row in ask("top", search="WORK")["rows"]] == ["worker"]
    base = server.ids["second_run.heap"]
    for key, value in (("flat_before", lambda r: r["flat_bytes_before"]),
                       ("cum_before", lambda r: r["cum_bytes_before"]),
                       ("flat_change", lambda r: abs(r["flat_bytes"] - r["flat_bytes_before"]))):
        values = [value(row) for row in ask("top", sort_by=key, base=base)["rows"]]
        assert values == sorted(values, reverse=True), key


def paths(flame):
    """{names from the root: value}"""
    nodes, texts, found = flame["nodes"], flame["names"]["text"], []
    for i, name in enumerate(nodes["name"]):
        found.append((found[nodes["parent"][i]] if i else ()) + (texts[name],))
    return {path[1:]: value for path, value in zip(found, nodes["value"])}


def test_flame(ask):
    down, up = paths(ask("flame")), paths(ask("flame", direction="up"))
    assert abs(down["clone3", "start_thread", "thr", "worker"] - 26804609) <= 8
    assert abs(up["inl",] - 4592829) <= 8 and ("inl", "worker", "thr") in up
    threads = paths(ask("flame", threads="true"))
    assert ({path[0] for path in threads if path} == {"t0", "wrk-0", "wrk-1"}
            and ("wrk-0", "clone3", "start_thread", "thr") in threads)
    lines = ask("flame", by="line")
    assert (any(lines["names"]["line"]) and any(name.endswith("prof.c") for name in lines["files"])
            and "prof" in lines["modules"])
    for limit in (1, 5):
        small = ask("flame", limit=limit)
        kept = sum(small["names"]["kind"][n] != 3 for n in small["nodes"]["name"])
        assert (kept <= limit and small["hidden_count"] > 0
                and small["nodes"]["value"][0] == 40342092)


def test_every_report(server):
    """All that the command can write, in the same bytes."""
    for row in server.json("/api")["heap_reports"]:
        words = {"regex": "^worker$"} if row["regex"] else {}
        answer = server.ask(f"/dumps/{server.ids['out.heap']}/report/{row['name']}", **words)
        assert answer.status == 200 and answer.headers["Content-Type"] == row["type"], (row, answer)
        option = f"--{row['name']}" + ("=^worker$" if row["regex"] else "")
        done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", option,
                               DATA / "out.heap"], capture_output=True,
                              check=True, timeout=120)
        body = answer.body
        unpack = gzip.decompress if body[:2] == b"\x1f\x8b" else bytes
        # The command calls it by its file, the server by its program; and the server reads no
        # sources.
        same = [re.sub(rb" ?\((the source is not there|not there|sources are not read)[^)]*\)", b"",
                       unpack(text).replace(b"out.heap", b"prof"))
                for text in (body, done.stdout)]
        assert same[0] == same[1], row["name"]
    assert (server.ask(
        f"/dumps/{server.ids['out.heap']}/report/pprof").headers["Content-Disposition"] ==
            'attachment; filename="prof.pb.gz"')
    for form, option in (("json", "--json"), ("csv", "--csv")):
        answer = server.ask(f"/dumps/{server.ids['out.heap']}/report/tree", form=form)
        done = subprocess.run([harness.MEMOIR, "jemalloc", "heap", "-d", DATA / "prof", "--tree",
                               option, DATA / "out.heap"],
                              capture_output=True, check=True, timeout=120)
        assert (form in answer.headers["Content-Type"] and answer.text.replace(
            "out.heap", "prof") == done.stdout.decode().replace("out.heap", "prof"))
    named = server.ask(f"/dumps/{server.ids['out.heap']}/report/collapsed/a.txt")
    assert named.status == 200 and b"worker" in named.body
    raw = server.ask(f"/dumps/{server.ids['out.heap']}/raw")
    assert (raw.body == (DATA / "out.heap").read_bytes()
            and "out.heap" in raw.headers["Content-Disposition"])


@pytest.mark.parametrize("path, parameters, status, parameter, words", [
    ("top", {"focus": "("}, 400, "focus", ""), ("flame", {"exclude": "[a"}, 400, "exclude", ""),
    ("top", {"measure": "leaked"}, 400, "measure", ""), ("top", {"by": "module"}, 400, "by", ""),
    ("top", {"thread": "main"}, 400, "thread", ""),
    ("flame", {"base": "0" * 32}, 404, "base", "there is no"),
    ("top", {"sort_by": "cum_change"}, 400, "sort_by", "is for a difference"),
    ("report/txet", {}, 404, None, "did you mean 'text'"),
    ("report/peek", {}, 400, "regex", "regex=NAME"),
    ("report/text", {"regex": "x"}, 400, "regex", "takes none"),
    ("report/dot", {"form": "csv"}, 400, "form", "cannot be had as csv"),
    ("report/raw", {"focus": "x"}, 400, "focus", "of all that is in one dump"),
    ("report/raw", {"base": "last"}, 404, "base", ""),
    ("report/peek", {"regex": "("}, 400, "regex", ""),
    ("report/text", {"node_share": "101"}, 400, "node_share", ""),
    ("flame", {"filter": "size > 1"}, 400, "filter", "no parameter"),
    ("nothing", {}, 404, None, "no such address")], ids=str)
def test_what_is_wrong(refused, path, parameters, status, parameter, words):
    found, said = refused(path, **parameters)
    assert found == status and said.get("parameter") == parameter and words in said["error"], said


def test_other_kinds(server, refused):
    statistics = server.ids["json_small.json"]
    assert refused("flame", base=statistics)[0] == 404
    for path in (f"/dumps/{statistics}/facts", f"/data/{server.ids['out.heap']}/flame",
                 f"/data/{server.ids['out.heap']}/statistics",
                 f"/data/{server.ids['out.heap']}/diff?b={server.ids['out.heap']}"):
        assert server.ask(path).status == 404, path


def test_files(tmp_path):
    """Dumps that come into a folder, are sent, are packed, cut, rewritten, and what is none."""
    folder = tmp_path / "folder"
    folder.mkdir()
    whole = (DATA / "out.heap").read_bytes()
    (folder / "a.heap").write_bytes(whole)
    (folder / "notes.txt").write_text("heap profiles are kept here\n")
    with Server("-d", DATA / "prof", folder) as server:
        assert [row["name"] for row in server.loaded(1)] == ["a.heap"]
        (folder / "packed.heap.gz").write_bytes(gzip.compress(whole))
        cut = whole[:whole.index(b"\nMAPPED") - 3]
        for name, body, status in (("sent.heap", whole, 201),
                                   ("sent.heap.gz", gzip.compress(whole), 201),
                                   ("cut.heap", cut, 201),
                                   ("empty.heap", b"", 400),
                                   ("words.heap", b"no heap profile", 400),
                                   ("bad.heap", b"heap_v2/many\n", 201)):
            answer = server.ask("/upload", method="POST", body=body, name=name)
            assert answer.status == status, (name, answer)
            assert status == 201 or "nor a heap profile" in answer.json["error"] or not body
        rows = {row["name"]: row
                for row in server.wait(lambda rows: len(rows) == 6 and all_done(rows), "six files")}
        assert all(row["kind"] == "heap" for row in rows.values())
        for name in ("a.heap", "packed.heap.gz", "sent.heap", "sent.heap.gz"):
            assert (rows[name]["heap"]["inuse_space"] == 40342092
                    and rows[name]["uploaded"] == name.startswith("sent")), name
        assert ("the sampling rate is not a number" in rows["bad.heap"]["error"]
                and rows["bad.heap"]["state"] == "error")
        assert (rows["cut.heap"]["warnings"][0]["kind"] == "damaged"
                and "at byte" in rows["cut.heap"]["warnings"][0]["text"])
        assert 0 < rows["cut.heap"]["heap"]["stacks"] <= rows["a.heap"]["heap"]["stacks"]
        raw = server.ask(f"/dumps/{rows['sent.heap.gz']['id']}/raw")
        assert gzip.decompress(raw.body) == whole
        # Another dump in its place.
        (folder / "a.heap").write_bytes((DATA / "second_run.heap").read_bytes())
        server.wait(lambda rows: [r for r in rows if r["name"] == "a.heap" and r["version"] > 1
                                  and r["heap"]["inuse_space"] == 40141950],
                    "the new contents")
        assert server.ask("/data/" + rows["sent.heap"]["id"], method="DELETE").status == 204
        assert server.ask(f"/dumps/{rows['sent.heap']['id']}/facts").status == 404
        assert (json.loads(
            server.ask(f"/dumps/{rows['bad.heap']['id']}/facts").text)["error"].startswith(
                "the recording cannot be read"))


def test_without_the_program(tmp_path):
    """Code of files that are not here keeps its place in the file, and the page says which they
    are."""
    shutil.copy(DATA / "out.heap", tmp_path)
    with Server(tmp_path / "out.heap") as server:
        row, = server.loaded(1)
        assert [(w["kind"], w["modules"]) for w in row["warnings"]] == [("no_symbols", ["prof"])]
        top = server.json(f"/dumps/{row['id']}/top")
        assert top["total"]["bytes"] == 40342092 and top["rows"][0]["name"].startswith("[prof+0x")
    with Server(DATA / "out.heap") as server: # its program is beside it
        row, = server.loaded(1)
        assert (row["warnings"] == []
                and server.json(f"/dumps/{row['id']}/top")["rows"][0]["name"] == "worker")
