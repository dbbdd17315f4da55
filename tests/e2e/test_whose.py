# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whose memory is it: the responsible function in every list, and what --hide and --own change."""
import pytest

import harness


@pytest.fixture(scope="module")
def path(tmp_path_factory, compile_program):
    program = compile_program("whose", flags=("-O1", "-fno-optimize-sibling-calls"))
    path = str(tmp_path_factory.mktemp("whose") / "out.dat")
    assert harness.record([program], path).status == 0
    return path


def functions(path, *options):
    return {f["name"].split("(")[0]: f
            for f in harness.ask("functions", "--json", "-m", "peak", path, *options)["functions"]}


def test_functions_begin_with_the_responsible(path):
    found = functions(path)
    first = next(iter(found.values()))
    assert first["name"].startswith("acme::pool_take") and first["own_bytes"] == 400_000
    assert found["load_names"]["own_count"] > 100 and found["load_names"]["self_bytes"] == 0
    assert found["main"]["own_bytes"] == 0 < found["main"]["bytes"]
    kinds = {name: f["kind"] for name, f in found.items()}
    assert kinds["load_table"] == "program" and kinds["_start"] == "start"
    assert {kind for name, kind in kinds.items() if name.startswith("std::")} == {"library"}
    total = harness.ask("ask", "flame", "--measure", "peak", path)["total"]
    assert sum(f["own_bytes"] for f in found.values()) == total["bytes"]
    text = harness.execute([harness.MEMOIR, "functions", "-m", "peak", path])
    assert text.stdout.decode().split("own bytes")[1].split("\n")[1].split()[:2] == ["391", "KiB"]


def test_frames_say_whose_they_are(path):
    groups = harness.ask("groups", "--json", path, "-F", "function ~ load_names")["groups"]
    stack = groups[0]["backtrace"]
    kinds = [(f["function"].split("(")[0].split("<")[0], f["kind"]) for f in stack]
    assert ("load_names", "program") in kinds and kinds[-1][1] == "allocator"
    assert all(kind == "library" for name, kind in kinds if name.startswith("std::"))
    assert kinds[0][1] == "start"


def test_hidden_frames_lead_no_row(path):
    found = functions(path, "--hide", "function ~ '(^| )acme::'")
    assert found["acme::pool_take"]["own_bytes"] == 0
    assert found["acme::pool_take"]["kind"] == "hidden"
    assert found["load_table"]["own_bytes"] >= 400_000
    names = harness.ask("ask", "flame", "--measure", "peak", "--hide", "function = load_table",
                        path)
    at = [t.split("(")[0] for t in names["names"]["text"]].index("load_table")
    assert names["kinds"][names["names"]["whose"][at]] == "hidden"


def test_own_frames_lead_though_they_are_the_library_s(path):
    found = functions(path, "--own", "function ~ _M_realloc_insert")
    grow = [f for name, f in found.items() if "_M_realloc_insert" in name]
    assert {f["kind"] for f in grow} == {"program"} and sum(f["own_bytes"] for f in grow) > 0
    both = functions(path, "--own", "function ~ pool_take", "--hide", "function ~ pool_take")
    assert both["acme::pool_take"]["own_bytes"] == 400_000


def test_what_tells_no_frames_is_refused(path):
    refused = harness.execute([harness.MEMOIR, "functions", "--own", "size > 3", path])
    assert refused.status == 2 and b"by function, source and module only" in refused.stderr


def test_a_difference_begins_with_the_responsible(path, tmp_path, compile_program):
    program = compile_program("shapes", flags=("-O1",))
    other = str(tmp_path / "other.dat")
    assert harness.record([program], other).status == 0
    found = harness.ask("diff", "--json", "-m", "leaked", path, other)
    own = [abs(f["after_own_bytes"] - f["before_own_bytes"]) for f in found["functions"]]
    assert own == sorted(own, reverse=True) and own[0] > 0
    assert found["functions"][0]["function"].startswith("acme::pool_take")
    names = [f["function"] for f in found["functions"]]
    assert names.index("_start") > names.index("load_table(int)")
    stack = next(s for s in found["stacks"] if any("pool_take" in f for f in s["functions"]))
    assert len(stack["kinds"]) == len(stack["functions"]) and stack["kinds"][-1] == "program"
