# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a fleet holds over time and in its parts, and what grows: memoir fleet trend, builds, leaks
and show, compared with the recordings themselves, and through every door."""
import json
import re

import pytest

import clickhouse
import harness
from fleets import fleet_of, with_id
from web import Server

pytestmark = [pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server"),
              pytest.mark.xdist_group("fleet")]

LEAKING = r"""
#include <stdlib.h>
#include <unistd.h>
static void *kept[1000];
__attribute__((noinline)) void cache_put(int i) { kept[i] = malloc(1500); }
__attribute__((noinline)) void table_make(void) { kept[999] = malloc(1 << 20); }
int main(void)
{
	table_make();
	for (int i = 0; i < 100; i++) {
		cache_put(i);
		free(malloc(4096));
		usleep(35000);
	}
}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with clickhouse.ClickHouse(tmp_path_factory.mktemp("clickhouse"), password="pw") as s:
        yield s


@pytest.fixture(scope="module")
def leaking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaking")
    source, program, path = folder / "leaking.c", folder / "leaking", str(folder / "out.dat")
    source.write_text(LEAKING)
    harness.execute(["cc", "-g", "-O0", "-o", str(program), str(source)])
    harness.record([str(program)], path)
    return path


@pytest.fixture
def fleet(server, request, leaking):
    """A fleet of three recordings, with buckets of a second."""
    f = fleet_of(server, request)
    f("init", "--bucket", "1s")
    for i, (service, release, zone) in enumerate((("shop", "1", "eu"), ("shop", "2", "us"),
                                                  ("bank", "2", "eu"))):
        f("push", "--service", service, "--release", release, "-l", f"zone={zone}", "-l",
          "tier=web", with_id(leaking, f"{leaking}.{i}", i + 1))
    return f


def slope(points):
    """Bytes per second by least squares."""
    n = len(points)
    sx, sy = sum(x for x, _ in points), sum(y for _, y in points)
    d = n * sum(x * x for x, _ in points) - sx * sx
    return (n * sum(x * y for x, y in points) - sx * sy) / d if d else 0


def test_a_curve_is_what_was_alive(fleet, leaking):
    """Each point, with every filter, is what the recordings say of that moment."""
    for text in ("service = shop", "function = cache_put", "not function = cache_put",
                 "size < 2048 and service = bank", "label = \"zone=eu\""):
        trend = fleet.ask("trend", "--json", "--points", "1000", "-F", text)
        times = 2 if "eu" in text or "shop" in text else 1 if "bank" in text else 3
        own = " and ".join(p for p in text.split(" and ") if "function" in p or "size" in p)
        for x, found in list(zip(trend["xs"], trend["all"]["live_bytes"]))[:-1]:
            one = harness.ask("functions", "--json", "--at", str((x + 1) * 1000),
                              *(["-F", own] if own else []), leaking)
            assert found == times * one["total"]["bytes"], (text, x)
    everything = fleet.ask("trend", "--json", "--by", "service", "--points", "1000")
    for column in ("live_bytes", "live_count", "allocated_bytes", "freed_bytes", "recordings"):
        sums = map(sum, zip(*(c[column] for c in everything["curves"])))
        assert list(sums) == everything["all"][column], column
    total = harness.ask("functions", "--json", "-m", "allocated", leaking)["total"]["bytes"]
    assert sum(everything["all"]["allocated_bytes"]) == 3 * total


def test_groups_add_up(fleet, leaking):
    info = harness.ask("info", "--json", leaking)
    for by, names in (("service", {"shop": 2, "bank": 1}), ("release", {"1": 1, "2": 2}),
                      ("host", None), ("build", None), ("day", None), ("command", None)):
        answer = fleet.ask("builds", "--json", "--by", by)
        if names:
            assert {g["name"]: g["recordings"] for g in answer["groups"]} == names
        assert sum(g["recordings"] for g in answer["groups"]) == 3
        assert answer["total"]["recordings"] == 3
        assert sum(g["live_bytes"] for g in answer["groups"]) == answer["total"]["live_bytes"]
        # The largest first; where nothing is alive any more, too, and names only then.
        order = [(-g["live_bytes"], -g["peak_bytes"], g["name"]) for g in answer["groups"]]
        assert order == sorted(order)
    zones = fleet.ask("builds", "--json", "--by", "label", "--label-name", "zone")["groups"]
    assert {g["name"]: g["recordings"] for g in zones} == {"eu": 2, "us": 1}
    for group in zones:
        leaked = harness.ask("functions", "--json", "-m", "leaked", leaking)["total"]["bytes"]
        assert group["leaked_bytes"] == group["recordings"] * leaked
    none = fleet.ask("builds", "--json", "--by", "label", "--label-name", "no such")["groups"]
    assert [(g["name"], g["recordings"]) for g in none] == [("", 3)]
    assert info["id"]
    found = fleet.ask("builds", "--json", "--by", "service", "--search", "SHO")["groups"]
    assert [g["name"] for g in found] == ["shop"]
    page = fleet.ask("builds", "--json", "--by", "recording", "--skip", "1", "--count", "1",
                     "--spark", "7")
    assert page["total_count"] == 3 and len(page["groups"]) == 1
    assert len(page["groups"][0]["spark"]) == 7 and max(page["groups"][0]["spark"]) > 0


def test_growth_is_the_line_of_least_squares(fleet, leaking):
    trend = fleet.ask("trend", "--json", "--points", "1000", "-F", "service = bank")
    points = list(zip(range(len(trend["xs"])), trend["all"]["live_bytes"]))
    [bank] = fleet.ask("builds", "--json", "--by", "service", "-F", "service = bank")["groups"]
    assert bank["growth_per_second"] == pytest.approx(slope(points), rel=1e-6)
    [shop] = fleet.ask("builds", "--json", "--by", "service", "-F", "service = shop")["groups"]
    assert shop["growth_per_second"] == pytest.approx(2 * slope(points), rel=1e-6)
    rows = fleet.ask("leaks", "--json")["rows"]
    assert rows[0]["name"] == "cache_put" and rows[0]["class"] == "growing"
    order = [(-r["growth_per_second"], -r["live_bytes"], -r["before_bytes"], r["name"])
             for r in rows]
    assert order == sorted(order) and sum(r["growth_per_second"] == 0 for r in rows) > 1
    assert (rows[0]["growing"], rows[0]["recordings"]) == (3, 3)
    own = fleet.ask("trend", "--json", "--points", "1000", "-F",
                    "responsible = cache_put and service = bank")["all"]["live_bytes"]
    # Where it has nothing yet it counts as nothing.
    first = trend["xs"].index(fleet.ask("trend", "--json", "-F", "function = cache_put and "
                                        "service = bank")["xs"][0])
    own = [0] * first + own[-(len(points) - first):]
    assert rows[0]["growth_per_second"] == pytest.approx(3 * slope(list(enumerate(own))), rel=1e-6)
    table = next(r for r in rows if r["name"] == "table_make")
    assert table["class"] == "steady" and table["growing"] == 0
    stacks = fleet.ask("leaks", "--json", "--by", "stack", "--spark", "5")["rows"]
    assert stacks[0]["functions"][:2] == ["cache_put", "main"] and len(stacks[0]["spark"]) == 5
    assert stacks[0]["growth_per_second"] == pytest.approx(rows[0]["growth_per_second"])
    assert fleet.ask("leaks", "--json", "--search", "TABLE")["rows"][0]["name"] == "table_make"


def test_times_are_buckets(fleet):
    whole = fleet.ask("trend", "--json")
    first, last = whole["since"], whole["until"]
    part = fleet.ask("trend", "--json", "--since", str((first + 1) * 1000), "--until",
                     str((last - 1) * 1000))
    assert (part["since"], part["until"]) == (first + 1, last - 1)
    assert part["all"]["live_bytes"] == whole["all"]["live_bytes"][1:-1]
    assert fleet.ask("trend", "--json", "--last", "2s")["since"] == last - 2
    nothing = fleet.ask("trend", "--json", "--until", "2020-01-01")
    assert nothing["xs"] == [] and "all" not in nothing
    assert fleet.ask("builds", "--json", "--until", "2020-01-01")["groups"] == []
    assert fleet.ask("leaks", "--json", "--until", "2020-01-01")["rows"] == []
    assert fleet.ask("show", "--json", "--until", "2020-01-01")["recordings"] == []
    for options, word in ((("--since", "2s"), b"has no beginning"),
                          (("--since", "2026-01-01", "--last", "1h"), b"says it already")):
        assert word in fleet("trend", *options, status=2).stderr


def test_a_recording_is_shown(fleet, leaking):
    info = harness.ask("info", "--json", leaking + ".1")
    [row] = fleet.ask("show", "--json", "--id", info["id"][:10])["recordings"]
    assert (row["id"], row["service"], row["release"]) == (info["id"], "shop", "2")
    assert sorted(row["labels"]) == ["tier=web", "zone=us"]
    assert row["file"] == leaking + ".1" and row["started"] <= row["ended"]
    text = fleet("show", "-F", "service = bank").stdout.decode()
    assert re.search(r"labels +zone=eu tier=web", text) and "never freed" in text


def test_texts(fleet):
    """What is printed without --json names what there is."""
    assert b"BY service" in fleet("builds", "--by", "service").stdout
    assert b"(none)" in fleet("builds", "--by", "label", "--label-name", "x").stdout
    assert "█".encode() in fleet("trend", "--by", "release").stdout
    assert re.search(rb"growing .*3 of 3.*cache_put", fleet("leaks").stdout)
    assert b"cache_put < main" in fleet("leaks", "--by", "stack").stdout
    assert b"3 recordings" in fleet("show").stdout
    for command in ("builds", "trend", "leaks", "show"):
        run = fleet(command, "--until", "2020-01-01")
        assert run.stdout and not run.stderr


def test_every_door_answers_the_same(fleet):
    with Server("--fleet", fleet.url, env={"MEMOIR_FLEET_PASSWORD": "pw"}) as s:
        [row] = [r for r in s.json("/list") if r["kind"] == "fleet"]
        assert row["state"] == "ready" and row["name"] == fleet.url
        for question, command, path in (
                ("fleet_groups", ("builds", "--by", "service", "-n", "200"), "groups?by=service"),
                ("fleet_trend", ("trend", "--points", "300"), "trend"),
                ("fleet_growth", ("leaks", "-n", "100", "--spark", "0"), "growth"),
                ("fleet_recordings", ("show", "-n", "100"), "recordings")):
            served = s.ask(f"/fleets/{row['id']}/{path}")
            asked = harness.execute([harness.MEMOIR, "ask", question, fleet.url], env=fleet.env)
            told = fleet(command[0], "--json", *command[1:])
            assert served.body.strip() == asked.stdout.strip() == told.stdout.strip(), question
        flame = s.json(f"/data/{row['id']}/flame", measure="leaked")
        assert flame["total"] == fleet.ask("top", "--json", "-m", "leaked")["total"]
        assert s.ask(f"/data/{row['id']}/allocations").status == 404
        assert s.ask(f"/fleets/{row['id']}/groups?by=label").status == 400


HOSTILE = ["'", "\\", "a' OR 1 --", "'); DROP TABLE samples; --", "`", "a\nb", "%s%n", "\x7f"]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_not_sql(server, request, leaking, text):
    """Services, releases, labels' names and values, searches."""
    f = fleet_of(server, request)
    f("init", "--bucket", "1s")
    f("push", "--service", text, "--release", text, "-l", f"{text}={text}", leaking)
    for by in ("service", "release"):
        for more in ((), ("--search", text), ("--spark", "3")):
            [row] = f.ask("builds", "--json", "--by", by, *more)["groups"]
            assert row["name"] == text
    [row] = f.ask("builds", "--json", "--by", "label", "--label-name", text)["groups"]
    assert row["name"] == text or "\n" in text
    assert f.ask("trend", "--json", "--by", "service")["curves"][0]["name"] == text
    assert f.ask("trend", "--json", "--by", "label", "--label-name", text)["curves"]
    assert f.ask("leaks", "--json", "--search", text)["rows"] == []
    assert f.ask("leaks", "--json", "--search", text, "--by", "stack")["rows"] == []
    assert f.ask("show", "--json", "--id", text)["recordings"] == []
    quoted = json.dumps(text) if "\n" not in text and "\x7f" not in text else f'"{text}"'
    condition = "service = " + (quoted if "\\" in text or "\n" not in text else quoted)
    assert f.ask("show", "--json", "-F", condition)["total_count"] == 1
    assert f.sql("SELECT count() > 0 FROM samples") == "1"
