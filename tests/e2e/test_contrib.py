# SPDX-License-Identifier: MIT OR Apache-2.0
"""What contrib/ has for Grafana, Prometheus and systemd says what is true: dashboards ask what a
fleet and /metrics answer, alerts fire when they should, units can be started."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

import pytest

import clickhouse
import harness
from fleets import Fleet

ROOT = os.path.join(os.path.dirname(harness.HERE), "..")
CONTRIB = os.path.join(ROOT, "contrib")
sys.path.append(os.path.join(ROOT, "bench"))
import fleet_rows  # noqa: E402

DASHBOARDS = sorted(glob.glob(f"{CONTRIB}/grafana/*.json"))
pytestmark = pytest.mark.xdist_group("fleet")


def dashboards():
    for path in DASHBOARDS:
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), json.load(file)


def schema():
    with open(os.path.join(os.path.dirname(harness.HERE), "data/grafana/dashboard.schema.json"),
              encoding="utf-8") as file:
        return json.load(file)


def test_dashboards_fit_their_schema():
    """What Grafana's description of dashboards wants, and nothing that it does not know."""
    jsonschema = pytest.importorskip("jsonschema")
    checker = jsonschema.Draft7Validator(schema())
    boards = dict(dashboards())
    assert len(boards) == 2
    for name, board in boards.items():
        assert not [f"{name}: {list(e.path)}: {e.message}" for e in checker.iter_errors(board)]
    for spoil in (lambda b: b.pop("uid"), lambda b: b["panels"][0].pop("gridPos"),
                  lambda b: b["panels"][0]["gridPos"].update(w=25),
                  lambda b: b["panels"][0].update(type="graph"),
                  lambda b: b["panels"][0]["targets"][0].pop("rawSql"),
                  lambda b: b["time"].update({"from": "yesterday"}),
                  lambda b: b.update(panel=[])):
        wrong = json.loads(json.dumps(boards["memoir-fleet.json"]))
        spoil(wrong)
        assert not checker.is_valid(wrong)


def test_panels_have_a_place_and_name_what_there_is():
    seen = set()
    for name, board in dashboards():
        variables = {v["name"] for v in board["templating"]["list"]}
        taken = set()
        for panel in board["panels"]:
            where = f"{name}: {panel['title']}"
            seen.add((name, panel["id"]))
            at = panel["gridPos"]
            cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])}
            assert at["x"] + at["w"] <= 24 and not cells & taken, where
            taken |= cells
            for target in panel["targets"]:
                source = re.fullmatch(r"\$\{(\w+)\}", target["datasource"]["uid"])[1]
                assert source in variables, where
                text = target.get("rawSql") or target["expr"]
                assert set(re.findall(r"\$\{?([a-z]\w*)", text)) <= variables, (where, text)
    assert len(seen) == sum(len(b["panels"]) for _, b in dashboards()) > 10


@pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server")
def test_dashboards_ask_what_a_fleet_has(tmp_path):
    start = int(time.time()) // 86400 * 86400
    with clickhouse.ClickHouse(tmp_path) as server:
        fleet = Fleet(server, "boards")
        fleet("init")
        fleet_rows.write(lambda sql: server.ask(sql, "boards"), recordings=20, hosts=10,
                         services=5, minutes=10, start=start)
        fleet.sql(f"INSERT INTO jemalloc_stats SELECT toDate(toDateTime({start})), "
                  f"toDateTime({start + 5}), 1, 1, 'allocated', '', 0, 5.0")
        board = dict(dashboards())["memoir-fleet.json"]
        for panel in board["panels"]:
            for target in panel["targets"]:
                text = target["rawSql"].replace("$__from", str(start * 1000)).replace(
                    "$__to", str((start + 86400) * 1000))
                text = re.sub(r"\$\{(service|host)\}", "%", text)
                rows = json.loads(fleet.sql(text + " FORMAT JSON"))
                assert rows["rows"] > 0, panel["title"]
                names = {c["name"]: c["type"] for c in rows["meta"]}
                if panel["type"] == "timeseries":
                    assert names["time"] == "DateTime", panel["title"]
                numbers = [n for n, kind in names.items() if re.match("U?Int|Float", kind)]
                assert numbers and any(float(r[n]) for r in rows["data"] for n in numbers)
        alive = json.loads(fleet.sql(
            board["panels"][0]["targets"][0]["rawSql"].replace("$__from", str(start * 1000))
            .replace("$__to", str((start + 86400) * 1000)).replace("${service}", "%")
            .replace("${host}", "%") + " FORMAT JSON"))["data"][0]["alive"]
        assert int(alive) == fleet.ask("builds", "--json")["total"]["live_bytes"]


def expressions():
    for name, board in dashboards():
        for panel in board["panels"]:
            for target in panel["targets"]:
                if "expr" in target:
                    yield name, target["expr"].replace("$job", "x").replace("$instance", "x")


def test_metrics_are_those_that_there_are():
    path = os.path.join(os.path.dirname(harness.HERE), "data/jemalloc/json_full.json")
    run = harness.execute([harness.MEMOIR, "jemalloc", "metrics", path])
    known = set(re.findall(r"^# TYPE (\S+)", run.stdout.decode(), re.M))
    with open(f"{CONTRIB}/prometheus/memoir.rules.yml", encoding="utf-8") as file:
        texts = [file.read(), *(e for _, e in expressions())]
    used = {m for text in texts for m in re.findall(r"\bjemalloc_\w+", text)}
    assert len(used) >= 6 and used <= known, used - known


@pytest.mark.skipif(not shutil.which("promtool"), reason="no promtool")
def test_alerts_and_expressions(tmp_path):
    for arguments in (("check", "rules", "memoir.rules.yml"), ("test", "rules", "memoir.test.yml")):
        done = subprocess.run(["promtool", *arguments], cwd=f"{CONTRIB}/prometheus",
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0 and "FAILED" not in done.stdout, done
    rules = "groups:\n- name: boards\n  rules:\n" + "".join(
        f"  - record: board:{i}\n    expr: {json.dumps(text)}\n"
        for i, (_, text) in enumerate(expressions()))
    (tmp_path / "rules.yml").write_text(rules)
    done = subprocess.run(["promtool", "check", "rules", str(tmp_path / "rules.yml")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_units_can_be_started(tmp_path):
    units = glob.glob(f"{CONTRIB}/systemd/*")
    assert len(units) >= 4
    for path in units:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        assert "assword" not in text
        for words in re.findall(r"^ExecStart=/usr/bin/memoir (.*)$", text, re.M):
            options = {w for w in words.split() if w.startswith("--")}
            command = re.match(r"(fleet push|server)", words)[0].split()
            known = harness.execute([harness.MEMOIR, *command, "--help"]).stdout.decode()
            assert all(re.search(rf"{re.escape(o)}\b", known) for o in options), words
        name = os.path.basename(path).replace("@.", "@shop.")
        (tmp_path / name).write_text(text.replace("/usr/bin/memoir", harness.MEMOIR))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *map(str, tmp_path.iterdir())],
                          capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if str(tmp_path) in line]
    if "Failed to" in done.stderr and not said:
        pytest.skip(done.stderr)
    assert not said, said
