# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page's views of resident memory, used in a browser: where it goes, who keeps it, maps.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="rss maps" walks nothing else.
"""
import os

import pytest

import harness
import serving
from test_page import binary, run_walk, walked

pytestmark = pytest.mark.xdist_group("browser")
LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
# The 26 filters that Bytehound has for maps: those that are about maps alone, …
FIELDS = {"readable": "only_true", "writable": "only_false", "executable": "only_true",
          "jemalloc": "only_false", "memoir": "only_true", "shared": "only_true",
          "peak_rss_min": "100k", "peak_rss_max": "8k", "name": "libc"}
# … and those that allocations have, too, by what the panel calls them.
PANEL = [
    [("size_min", "size at least", "100k"), ("lifetime_min", "lifetime at least", "10ms"),
     ("backtrace_depth_min", "backtrace depth at least", "3"), ("alive_at", "alive at", "30%"),
     ("function_regex", "a function like", "map_own|load")],
    [("from", "from", "1%"), ("to", "to", "99%"), ("address_max", "address at most", "highest"),
     ("source_regex", "a source like", "kept"), ("lifetime", "lifetime", "only_leaked")],
    [("address_min", "address at least", "address"), ("size_max", "size at most", "1G"),
     ("negative_function_regex", "no function like", "map_own"),
     ("negative_source_regex", "no source like", "none"), ("alive_at_2", "alive at 2", "60%")],
    [("backtraces", "backtraces", "stack"), ("lifetime_max", "lifetime at most", "1h"),
     ("backtrace_depth_max", "backtrace depth at most", "30")],
    [("deallocation_backtraces", "deallocation backtraces", "freed")],
]


def values_of(arena, unmapped):
    """What stands for an address or a stack in PANEL."""
    return {"address": hex(arena["address"] - (1 << 30)), "highest": hex((1 << 48) - 1),
            "stack": str(arena["source"]["backtrace_id"]),
            "freed": str(unmapped["deallocation"]["source"]["backtrace_id"])}


@pytest.fixture(scope="module")
def recording(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    done = harness.record([compile_program("kept", flags=("-O1",)), LIBC, "1500"],
                          str(folder / "kept.dat"))
    assert done.status == 0
    return done


@pytest.fixture(scope="module")
def series(recording):
    """What was resident at each sample."""
    return harness.ask("rss", "--json", "--series", recording.path)["series"]


@pytest.fixture(scope="module")
def moment(series):
    """Seconds after the start: when most was resident."""
    return max(series, key=lambda s: s["rss"])["at_ns"] / 1e9


@pytest.fixture(scope="module")
def arena(recording):
    """The map that most was resident of: of libc, for a thread."""
    found, = harness.ask("maps", "--json", "--sort", "peak_rss", "--order", "dsc", "--count", "1",
                         "--name", "glibc", recording.path)["maps"]
    return found


@pytest.fixture(scope="module")
def said(recording, arena):
    return values_of(arena, next(m for m in maps_of(recording)["maps"]
                                 if "source" in m.get("deallocation", {})))


@pytest.fixture(scope="module")
def seen(recording, moment, arena, said):
    out = os.environ.get("MEMOIR_SHOTS") or os.path.dirname(recording.path)
    os.makedirs(out, exist_ok=True)
    with serving.Server(recording.path) as server:
        row, = server.ready()
        return run_walk("page_memory_walk.mjs", {
            "address": server.address, "id": row["id"], "moment": moment, "arena": arena["id"],
            "fields": {**FIELDS, "holds": hex(arena["address"])},
            "panel": [[[label, said.get(value, value)] for _, label, value in together]
                      for together in PANEL],
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)


def terms_at(recording, moment, *options):
    answer = harness.ask("rss", "--json", "--at", f"{moment}s", *options, recording.path)
    return answer, {t["name"]: t for t in answer["terms"]}


def test_waterfall(seen, recording, moment):
    """Each step is the command's figure, and each hangs where the one before ended."""
    is_ = walked(seen, "rss")
    answer, terms = terms_at(recording, moment)
    steps = is_["steps"]
    assert steps[0] == ["rss", "sum", answer["rss"]]
    at = answer["rss"]
    for name, kind, size in steps[1:]:
        if kind == "minus":
            assert size == terms[name]["bytes"]
            at -= size
        elif kind == "plus":
            at += size
        else:
            assert size == at
    shown = {name for name, _, _ in steps}
    assert {t["name"] for t in answer["terms"] if t["bytes"]} | {"unknown"} <= shown
    assert dict((s[0], s[2]) for s in steps)["requested"] == terms["requested"]["bytes"]
    assert binary(is_["said"]) == pytest.approx(answer["rss"], rel=0.01)
    assert "free, but kept" in is_["said"] and "unknown" in is_["said"]


def test_steps_open(seen, recording, moment):
    is_ = walked(seen, "rss")
    _, terms = terms_at(recording, moment)
    assert binary(is_["free"]) == pytest.approx(terms["free_parts"]["bytes"], rel=0.01)
    assert len(is_["free_rows"]) >= min(6, terms["free_parts"]["part_total"]) > 0
    assert binary(is_["requested"]) == pytest.approx(terms["requested"]["bytes"], rel=0.01)
    assert is_["requested_rows"][0].startswith("pin")
    assert "malloc" in is_["frames"] and "take" in is_["frames"]
    assert is_["again"] == is_["frames"]
    assert {"Its blocks then", "Only this stack", "Copy the stack"} <= set(is_["menu"])
    assert is_["asked"] == is_["counted"] > 0
    assert is_["own"].startswith("map_own") and "maps of one stack" in is_["own"]


def test_parts_are_paged(recording, moment):
    """Pages of a step's parts are all its parts, once each."""
    def parts(*options):
        _, terms = terms_at(recording, moment, "--open", "code", *options)
        return terms["code"]["parts"], terms["code"]["part_total"]
    whole, total = parts("--top", "1000")
    assert len(whole) == total > 3
    paged = [part for skip in range(0, total + 2, 2)
             for part in parts("--top", "2", "--skip", str(skip))[0]]
    assert paged == whole


def test_over_time(seen, recording, series, moment):
    is_ = walked(seen, "rss")
    most = max(s["rss"] for s in series)
    assert binary(is_["most"]) == pytest.approx(most, rel=0.01)
    runtime = recording.info["runtime_ns"] / 1e9
    assert is_["clicked"] == pytest.approx(0.9 * runtime, rel=0.05)
    assert is_["samples"] == len(series)
    assert is_["columns"][:3] == ["at", "resident", "unknown"]
    assert "asked for" in is_["columns"]
    assert binary(is_["first"]) == pytest.approx(series[0]["rss"], rel=0.01)
    assert binary(is_["at_most"]) == pytest.approx(most, rel=0.01)


def maps_of(recording, *options):
    return harness.ask("maps", "--json", *options, recording.path)


def number(said):
    """How many maps the list says that there are."""
    return int(said.split(" map")[0].replace(",", "")) if " map" in said else 0


def test_maps(seen, recording):
    is_ = walked(seen, "maps")
    every = maps_of(recording)
    assert number(is_["said"]) == every["total_count"] == len(every["maps"])
    assert binary(is_["said"].split(", ")[1]) == pytest.approx(every["total_size"], rel=0.01)
    assert binary(is_["said"].split(", ")[2]) == pytest.approx(every["total_rss"], rel=0.01)
    assert {"map", "since", "lived", "size", "perms", "thread", "address"} <= {
        c.split(" ")[0] for c in is_["columns"]}
    assert len(is_["sorted"]) == 8
    keys = {"address": "address", "size": "size", "peak_rss": "peak_rss", "rss": "rss",
            "timestamp": "timestamp_relative_p", "name": "name"}
    for sort, row in is_["sorted"].items():
        name = keys.get(sort.lstrip("-"))
        if name:
            best = (max if sort.startswith("-") else min)(every["maps"], key=lambda m: m[name])
            shown = [f"{m['address']:x}" for m in every["maps"] if m[name] == best[name]]
            assert any(address in row for address in shown), sort


def test_all_filters(seen, recording, arena, said):
    """Each of the 26 filters on the page chooses what it chooses on the command line."""
    is_ = walked(seen, "maps")
    every = maps_of(recording)["total_count"]
    for name, value in {**FIELDS, "holds": hex(arena["address"])}.items():
        found = maps_of(recording, f"--{name.replace('_', '-')}", value)["total_count"]
        assert number(is_["fields"][name]) == found, name
    assert number(is_["fields"]["holds"]) >= 1
    for together, shown in zip(PANEL, is_["panel"]):
        options = [word for name, _, value in together
                   for word in (f"--{name.replace('_', '-')}", said.get(value, value))]
        found = maps_of(recording, *options)["total_count"]
        assert 0 < number(shown) == found < every, together
    bytehounds = [n for n in FIELDS if n not in ("shared", "name")]
    assert sum(len(together) for together in PANEL) + len(bytehounds) == 26


def test_map(seen, recording):
    """One map: its curve, its parts, its stacks; what leads to it, and on from it."""
    is_ = walked(seen, "map")
    found, = maps_of(recording, "--id", str(is_["map"]), "--regions", "--history")["maps"]
    # Most of an arena may not be touched; what is in use may.
    assert found["is_writable"] and any(not r["is_writable"] for r in found["regions"])
    assert found["name"] == "[anon:glibc]" and f"#{found['id']}" in is_["title"]
    assert binary(is_["said"].split("most ")[1]) == pytest.approx(found["peak_rss"], rel=0.01)
    assert "Mapped at" in is_["stacks"] and "load" in is_["stacks"]
    assert len(is_["parts"]) == len(found["regions"])
    assert len(is_["history"]) == min(len(found["usage_history"]), len(is_["history"])) > 1
    assert is_["picture"].startswith("<svg") and "Resident: at most" in is_["picture"]
    assert {"Its blocks", "In the address space", "Only this stack"} <= set(
        entry.split("\n")[0] for entry in is_["menu"])
    blocks = harness.ask("allocations", "--json", "-F", f"map = {found['id']}", recording.path)
    assert is_["blocks"] == blocks["total_count"] > 0
    assert is_["focus"] == "Memory maps" and "Mapped at" in is_["full"]
    assert is_["from_rss"] and all("map_own" in row for row in is_["from_rss"])
    assert is_["file"].startswith("/") and is_["from_file"]
    assert all(os.path.basename(is_["file"]) in row for row in is_["from_file"])


def test_address_space(seen, recording):
    """What is resident, in blocks and beside them, is coloured; a place leads to its map."""
    is_ = walked(seen, "space")
    assert "resident" not in is_["blocks"] and "resident" in is_["resident"]
    assert sum(c.get("beside", 0) for c in is_["coloured"]) > 100
    assert "resident" in is_["cell"] and is_["there"]
    space = harness.ask("ask", "address_space", "--resident", "true", "--rows", "2000",
                        recording.path)
    last = sum(cell for area in space["areas"]
               for cell in area["resident"][space["columns"] - 1::space["columns"]])
    size = space["areas"][0]["cell_bytes"]
    rss = maps_of(recording, "--memoir", "only_false")["total_rss"]
    assert last * size / 255 == pytest.approx(rss, rel=0.1)


def test_looks(seen):
    """Nothing is wider than the window, wrong for a screen reader, or said on the console."""
    assert len(walked(seen, "looks")["done"]) == (24 if os.environ.get("MEMOIR_SHOTS") else 12)
    assert seen["overflow"] == [] and seen["problems"] == []
    assert {name: found for name, found in seen["violations"].items() if found} == {}
