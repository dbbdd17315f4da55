# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page's Fleet view, used in a browser, with a thousand made-up services.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="down growth" walks nothing else.
"""
import os
import re
import sys
import time

import pytest

import clickhouse
import harness
from fleets import Fleet
from test_page import run_walk, walked
from web import Server

sys.path.append(os.path.join(os.path.dirname(harness.HERE), "..", "bench"))
import fleet_rows  # noqa: E402

pytestmark = [pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server"),
              pytest.mark.xdist_group("browser")]
SERVICES = 1000


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    out = os.environ.get("MEMOIR_SHOTS") or tmp_path_factory.mktemp("shots")
    os.makedirs(out, exist_ok=True)
    with clickhouse.ClickHouse(tmp_path_factory.mktemp("clickhouse")) as database:
        fleet = Fleet(database, "many")
        fleet("init", "--bucket", "1m")
        fleet_rows.write(lambda sql: database.ask(sql, "many"), recordings=SERVICES,
                         hosts=SERVICES, services=SERVICES, minutes=6, start=int(time.time()))
        with Server("--fleet", fleet.url) as server:
            given = {"address": server.address.rstrip("/")}
            if os.environ.get("MEMOIR_WALKS"):
                given["only"] = os.environ["MEMOIR_WALKS"].split()
            elif not os.environ.get("MEMOIR_SHOTS"):
                given["widths"] = [1440, 400]
            yield run_walk("page_fleet_walk.mjs", given, out)


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """The same of two days, on one service each of which grew."""
    start = int(time.time()) // 86400 * 86400
    with clickhouse.ClickHouse(tmp_path_factory.mktemp("clickhouse")) as database:
        fleet = Fleet(database, "days")
        fleet("init", "--bucket", "1m")
        for day, minutes in ((2, 3), (1, 5)):
            fleet_rows.write(lambda sql: database.ask(sql, "days"), recordings=20, hosts=4,
                             services=2, minutes=minutes, start=start - day * 86400,
                             first=1000 * day)
        with Server("--fleet", fleet.url) as server:
            given = {"address": server.address.rstrip("/"), "only": ["sides", "levels"]}
            yield run_walk("page_fleet_walk.mjs", given, tmp_path_factory.mktemp("shots"))


def test_days_hosts_and_builds_are_compared(days):
    is_ = walked(days, "sides")
    assert is_["days"]["names"] == 2 and is_["hosts"]["names"] > 2 < is_["builds"]["names"]
    for kind in ("days", "hosts", "builds"):
        found = is_[kind]
        assert re.match(r"[+−][\d.]+ [KMG]iB: [\d.]+ [KMG]iB before", found["said"]), (kind, found)
        assert found["changed"] > 3, (kind, found)
    assert "rows=day" in is_["days"]["hash"] and "allocated" in is_["days"]["hash"]
    assert days["problems"] == []


def test_every_row_leads_down_to_a_recording(days):
    is_ = walked(days, "levels")
    for kind in ("builds", "releases", "days", "labels"):
        found = is_[kind]
        assert 'recording+=+"' in found["steps"][-1], (kind, found)
        assert re.match(r"[\d.]+ [KMG]iB", found["said"]), (kind, found)


def test_a_list_of_a_thousand_leads_down_to_a_recording(seen):
    is_ = walked(seen, "down")
    assert is_["services"].startswith("1,000 services")
    assert "1,000 recordings" in is_["curve"] and "GiB" in is_["curve"]
    assert re.search(r"\w+-\d+", is_["first"])
    assert is_["drawn"] < 60, "rows are drawn as they are seen"
    assert is_["searched"].startswith("100 services")
    assert "rows=host" in is_["hosts"]["hash"] and "shop-" in is_["hosts"]["hash"]
    assert is_["hosts"]["said"].startswith("1 host")
    assert "rows=recording" in is_["recordings"]["hash"]
    assert is_["recordings"]["said"] == "1 recording" and "shop-" in is_["recordings"]["row"]
    assert "show=flame" in is_["opened"]["hash"] and "recording" in is_["opened"]["hash"]
    assert is_["again"] == is_["opened"]["said"]
    assert "recording" not in is_["removed"] and "show=flame" in is_["removed"]


def test_questions(seen):
    is_ = walked(seen, "question")
    assert "512 or 1024" in is_["wrong"]
    assert "500 recordings" in is_["narrowed"]
    assert is_["zones"].startswith("3 labels")
    assert "from=" in is_["span"] and "to=" in is_["span"]
    assert "alive at" in is_["moment"]


def test_what_grows(seen):
    is_ = walked(seen, "growth")
    assert " grows by +" in is_["growth"]["said"] and "growing" in is_["growth"]["first"]
    assert "responsible" in is_["grows"]["hash"] and "alive at" in is_["grows"]["said"]
    assert "never freed" in is_["leaked"]


def test_a_comparison(seen):
    is_ = walked(seen, "compare")
    assert re.match(r"\+[\d.]+ [KMG]iB: ", is_["compared"])
    assert re.search("grown|new", is_["changed"])


def test_nothing(seen):
    assert walked(seen, "nothing")["nothing"] == "Nothing was sent that matches"


def test_views_as_scripts(seen):
    scripts = walked(seen, "scripts")["scripts"]
    for name, script in scripts.items():
        assert script["said"].startswith("ran for ") and not script["wrong"], (name, script)
        assert script["rows"] > 0 and script["wide"] == 0, (name, script)
    assert "in 1000 recordings" in scripts["services"]["output"]
    assert "in 500 recordings" in scripts["one"]["output"]


def test_looks(seen):
    assert walked(seen, "shots")["narrow"].startswith("alive"), "a number, not its curve"
    assert seen["overflow"] == []
    assert seen["violations"] and not any(seen["violations"].values()), seen["violations"]
    wrong = [p for p in seen["problems"] if "400 (Bad Request)" not in p]
    assert wrong == []
