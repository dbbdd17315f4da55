# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir fleet: recordings in a ClickHouse server, and the answers that it gives about them."""
import json
import os
import random
import re
import shlex
import shutil
import subprocess

import pytest

import clickhouse
import harness
from fleets import GENERATE, Fleet, fleet_of, with_id
from web import Server

pytestmark = [pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server"),
              pytest.mark.xdist_group("fleet")]
MEASURES = ("leaked", "peak", "allocated", "temporary")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with clickhouse.ClickHouse(tmp_path_factory.mktemp("clickhouse"), password="se'cret\\") as s:
        yield s


@pytest.fixture
def fleet(server, request, tmp_path):
    f = fleet_of(server, request)
    f.env["MEMOIR_FLEET_SPOOL"] = str(tmp_path / "spool")
    return f


@pytest.fixture(scope="module")
def recordings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    paths = []
    for seed in (1, 2, 3):
        made, path = str(folder / "made.dat"), str(folder / f"made{seed}.dat")
        subprocess.run([GENERATE, made, "20000", "3", str(seed), "5"], check=True,
                       stdout=subprocess.DEVNULL)
        paths.append(with_id(made, path, seed))
    return paths


@pytest.fixture(scope="module")
def leaky(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("leaky") / "out.dat")
    harness.record([compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))],
                   path)
    return path


def same(answer):
    """Without what only one recording knows, and rows that weigh the same in one order."""
    answer = dict(answer)
    for key in ("at_ns", "before", "after"):
        answer.pop(key, None)
    for key in ("functions", "stacks"):
        if key in answer:
            answer[key] = sorted(answer[key], key=lambda row: json.dumps(row, sort_keys=True))
    return answer


def tree_of(node):
    """A tree without moments, children in one order."""
    node = {k: v for k, v in node.items() if k not in ("first_ns", "last_ns")}
    node["children"] = sorted((tree_of(c) for c in node["children"]),
                              key=lambda c: json.dumps(c, sort_keys=True))
    return node


def random_filter(rng, names, depth=0):
    if depth < 3 and rng.random() < 0.5:
        parts = [random_filter(rng, names, depth + 1) for _ in range(rng.randint(1, 3))]
        text = f" {rng.choice(['and', 'or'])} ".join(parts)
        return rng.choice(["", "not "]) + f"({text})"
    name = rng.choice(names)
    quoted = '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return rng.choice([
        f"function = {quoted}", f"function != {quoted}", f"responsible = {quoted}",
        f'function ~ "{rng.choice("abcefmnr")}"', f'function !~ "{rng.choice("abcefmnr")}"',
        f'module ~ "{rng.choice(["lib", "made", "x"])}"', 'source ~ "c$"',
        f'frame(function ~ "{rng.choice("amn")}" and not module ~ "libc")',
        f"size >= {2 ** rng.randint(0, 14)}", f"size < {2 ** rng.randint(0, 14)}",
        f"backtrace_depth {rng.choice(['<', '>=', '='])} {rng.randint(0, 12)}",
        "call = malloc", "call ~ alloc", "service = made", "host !~ '^x'"])


def names_of(path):
    answer = harness.ask("functions", "--json", "-n", "1000", "-m", "allocated", path)
    return [f["name"] for f in answer["functions"]] or ["main"]


def compare(fleet, path, options):
    for question, command, more in (("functions", "top", ("-n", "1000000")), ("tree", "tree", ())):
        [one, many] = [harness.ask(question, "--json", *options, *more, path),
                       fleet.ask(command, "--json", *options, *more)]
        if question == "tree":
            one["tree"], many["tree"] = tree_of(one["tree"]), tree_of(many["tree"])
        assert same(one) == same(many), options


def boxes_of(answer):
    """What a flame graph draws: each box by the names above it."""
    names, nodes = answer["names"], answer["nodes"]
    whose = list(zip(names["text"], (answer["modules"][m] for m in names["module"]),
                     (answer["files"][f] for f in names["file"]), names["line"],
                     (answer["kinds"][k] for k in names["kind"])))
    paths = []
    for name, parent in zip(nodes["name"], nodes["parent"]):
        paths.append((paths[parent] if paths else ()) + (whose[name],))
    assert len(set(paths)) == len(paths)
    return dict(zip(paths, zip(nodes["value"], nodes["other"], nodes["self"])))


def compare_drawn(fleet, path, options, function):
    """The flame graph, both ways, and who calls a function."""
    for more in (("--direction", "down"), ("--direction", "up")):
        [one, many] = [json.loads(harness.execute(
            [harness.MEMOIR, "ask", "flame", *more, *options, where], env=fleet.env).stdout)
            for where in (path, fleet.url)]
        assert one["total"] == many["total"] and one["node_count"] == many["node_count"]
        assert boxes_of(one) == boxes_of(many), options
    [one, many] = [json.loads(harness.execute(
        [harness.MEMOIR, "ask", "callers", "--function", function, *options, where],
        env=fleet.env).stdout) for where in (path, fleet.url)]
    for answer in (one, many):
        answer.pop("at_ns")
        for key in ("callers", "callees"):
            answer[key].sort(key=lambda row: json.dumps(row, sort_keys=True))
    assert one == many, (function, options)


@pytest.mark.parametrize("seed", range(3))
def test_answers_of_one_recording_are_the_same(fleet, recordings, seed):
    """Whatever is asked of a fleet of one recording is what the recording itself answers."""
    path, rng = recordings[seed], random.Random(seed)
    fleet("init")
    fleet("push", path)
    names = names_of(path)
    for measure in MEASURES:
        compare(fleet, path, ["-m", measure])
        compare_drawn(fleet, path, ["-m", measure], rng.choice(names))
    compare_drawn(fleet, path, ["-m", "allocated", "-F", random_filter(rng, names)], names[0])
    for _ in range(9):
        compare(fleet, path, ["-m", rng.choice(MEASURES), "-b",
                              rng.choice(["function", "line", "module"]),
                              "-F", random_filter(rng, names)])


def test_a_real_program(fleet, leaky):
    fleet("init", "--bucket", "1s")
    fleet("push", "--service", "shop", leaky)
    for measure in MEASURES:
        compare(fleet, leaky, ["-m", measure])
    for text in ("function = recurse", "source = choosing.c:28", "source = choosing.c",
                 "module = choosing", "function = malloc", "call = calloc", "size >= 1024",
                 "frame(function = chain and source = choosing.c:28)",
                 "frame(function = inner and function = main)", "function ~ 'inner|chain'",
                 "not frame(not function ~ 'chain|main|_start|libc')"):
        compare(fleet, leaky, ["-m", "allocated", "-F", text])


def test_what_was_alive_at_a_bucket(fleet, recordings, leaky):
    """At a bucket's end, what a fleet says is alive is what the recording says of that moment."""
    fleet("init", "--bucket", "1s")
    fleet("push", leaky)
    buckets = fleet.sql("SELECT DISTINCT toUInt32(bucket) FROM samples ORDER BY 1").split()
    assert buckets
    for bucket in buckets[:-1]:
        moment = str((int(bucket) + 1) * 1000)  # milliseconds since 1970
        compare(fleet, leaky, ["--at", moment])


def test_a_difference_is_the_same(fleet, recordings):
    a, b = recordings[:2]
    fleet("init")
    fleet("push", "--release", "1", a)
    fleet("push", "--release", "2", b)
    for measure in MEASURES:
        options = ["--json", "-m", measure, "--top", "100000"]
        one = harness.ask("diff", *options, a, b)
        many = fleet.ask("diff", *options, "release = 1", "release = 2")
        assert same(one) == same(many)


def test_recordings_add_up(fleet, recordings):
    fleet("init")
    fleet("push", *recordings)
    totals = [harness.ask("functions", "--json", "-m", "allocated", p)["total"]
              for p in recordings]
    assert fleet.ask("top", "--json", "-m", "allocated")["total"] == {
        "bytes": sum(t["bytes"] for t in totals), "count": sum(t["count"] for t in totals)}


def test_pushing_again_changes_nothing(fleet, leaky):
    fleet("init")
    fleet("push", leaky)
    before = fleet.ask("top", "--json", "-m", "allocated")
    assert b"it is there already" in fleet("push", leaky).stdout
    assert fleet.ask("top", "--json", "-m", "allocated") == before


def test_what_was_begun_is_finished(fleet, leaky):
    """A push that ended in the middle: what is there is not sent again, and the rest is."""
    fleet("init")
    fleet("push", leaky)
    before = fleet.ask("top", "--json", "-m", "allocated")
    fleet.sql("DROP TABLE parcels")
    fleet("init")  # makes it again, empty
    assert b"the rest of them" in fleet("push", leaky).stdout
    assert fleet.ask("top", "--json", "-m", "allocated") == before
    fleet.sql("DROP TABLE parcels")
    fleet.sql("DROP TABLE samples")
    fleet("init")
    fleet.sql("DROP TABLE totals")
    fleet("init")
    fleet("push", leaky)
    assert fleet.ask("top", "--json", "-m", "allocated") == before


# The tables as versions 1 and 2 made them, with what they had.
OLD = {
    "settings": ("key String, value UInt64, at DateTime", "ReplacingMergeTree(at) ORDER BY key"),
    "recordings": (
        "recording UInt64, id String, kind String, service String, host String, build String, "
        "release String, command String, labels Array(String), started DateTime, ended DateTime, "
        "day Date, pid UInt32, file String, allocated_bytes UInt64, allocated_count UInt64, "
        "leaked_bytes UInt64, leaked_count UInt64, peak_bytes UInt64, peak_count UInt64, "
        "pushed DateTime",
        "ReplacingMergeTree(pushed) PARTITION BY day ORDER BY (service, host, recording)"),
    "stacks": (
        "hash FixedString(16), call String, functions Array(String), files Array(String), "
        "modules Array(String), lines Array(UInt32), addresses Array(UInt64), kinds Array(UInt8), "
        "depth UInt32, responsible String", "ReplacingMergeTree() ORDER BY hash"),
    "samples": (
        "day Date, bucket DateTime, recording UInt64, batch UInt64, stack FixedString(16), "
        "size_class UInt8, allocated_bytes UInt64, allocated_count UInt64, freed_bytes UInt64, "
        "freed_count UInt64, live_bytes UInt64, live_count UInt64, leaked_bytes UInt64, "
        "leaked_count UInt64, peak_bytes UInt64, peak_count UInt64, temporary_bytes UInt64, "
        "temporary_count UInt64",
        "MergeTree() PARTITION BY day ORDER BY (bucket, recording, stack, size_class)"),
    "curves": (
        "day Date, bucket DateTime, recording UInt64, batch UInt64, allocated_bytes UInt64, "
        "allocated_count UInt64, freed_bytes UInt64, freed_count UInt64, live_bytes UInt64, "
        "live_count UInt64", "MergeTree() PARTITION BY day ORDER BY (bucket, recording)"),
    "parcels": ("recording UInt64, day Date, at DateTime",
                "MergeTree() PARTITION BY day ORDER BY (recording)"),
}


@pytest.mark.parametrize("version", (1, 2))
def test_old_tables_are_brought_up_to_date(fleet, leaky, recordings, version):
    """Tables of older versions, with rows: init brings them to the version of today, and a push
    goes into them."""
    fleet("init")
    fleet("push", leaky)
    questions = (("top", "--json"), ("top", "--json", "-F", "size >= 64"), ("leaks", "--json"),
                 ("trend", "--json"), ("builds", "--json", "--by", "service"))
    before = [fleet.ask(*question) for question in questions]
    old = Fleet(fleet.server, f"{fleet.database}_old")
    fleet.sql(f"CREATE DATABASE {old.database}")
    for name, (columns, engine) in OLD.items():
        if version == 2 and name == "samples":
            columns += ", live_variance Float64"
        old.sql(f"CREATE TABLE {name} ({columns}) ENGINE = {engine}")
        names = ", ".join(c.split()[0] for c in columns.split(", "))
        old.sql(f"INSERT INTO {name} SELECT {names} FROM {fleet.database}.{name}"
                + (" WHERE key != 'version'" if name == "settings" else ""))
    if version == 2:
        old.sql(f"CREATE TABLE jemalloc_stats AS {fleet.database}.jemalloc_stats")
    old.sql(f"INSERT INTO settings VALUES ('version', {version}, now())")
    run = old("top", status=1)
    assert f"its tables are of version {version}".encode() in run.stderr
    assert f"from version {version} to 3".encode() in old("init").stdout
    assert [old.ask(*question) for question in questions] == before
    for table in ("recordings", "stacks", "samples", "totals", "curves", "parcels",
                  "jemalloc_stats", "settings"):
        columns = "SELECT name, type FROM system.columns WHERE table = '{}' AND database = '{}'"
        assert old.sql(columns.format(table, old.database)) == old.sql(
            columns.format(table, fleet.database)), table
    for f in (fleet, old):
        f("push", recordings[0])
    assert fleet.ask("top", "--json", "-m", "peak") == old.ask("top", "--json", "-m", "peak")
    old.sql("INSERT INTO settings VALUES ('version', 77, now() + 100)")
    assert b"of version 77" in old("init", status=1).stderr


def test_days_that_are_not_kept_are_dropped(fleet, leaky):
    fleet("init", "--keep", "2d")
    fleet("push", leaky)
    fleet.sql("INSERT INTO samples (day, bucket, recording) SELECT today() - 9, "
              "now() - 9 * 86400, 5")
    assert fleet.sql("SELECT count() FROM samples WHERE recording = 5") == "1"
    fleet("push", leaky)
    assert fleet.sql("SELECT count() FROM samples WHERE recording = 5") == "0"
    assert fleet.sql("SELECT count() FROM samples") != "0"


HOSTILE = ["'", "\\", "\\'", "a' OR 1 --", "'); DROP TABLE samples; --", "`", "a\nb", "\t",
           "é\u2028",
           "' UNION ALL SELECT 1 FORMAT TabSeparated --", "%s%n", "{x:String}", "--", "/*", "\x7f"]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def test_names_are_not_sql(fleet, leaky, recordings):
    """Every name that somebody chooses is found as it is, and is nothing but a name."""
    fleet("init")
    for i, text in enumerate(HOSTILE):
        path = with_id(leaky, leaky + f".{i}", i)
        run = fleet("push", "--service", text, "--release", text, "-l", f"x={text}", path)
        assert not run.stderr, run
    whole = fleet.ask("top", "--json", "-m", "allocated")["total"]["bytes"]
    for text in HOSTILE:
        for condition in (f"service = {quoted(text)}", f"release = {quoted(text)}",
                          f"label = {quoted('x=' + text)}"):
            part = fleet.ask("top", "--json", "-m", "allocated", "-F", condition)
            assert part["total"]["bytes"] * len(HOSTILE) == whole, condition
        for field in ("host", "build", "command", "recording", "function", "source", "module",
                      "responsible", "call"):
            part = fleet.ask("top", "--json", "-m", "allocated", "-F", f"{field} = {quoted(text)}")
            assert part["total"]["bytes"] == 0, (field, text)
        run = harness.execute([harness.MEMOIR, "fleet", "top", "-F", f"function ~ {quoted(text)}"],
                              env=fleet.env)
        assert run.status in (0, 1, 2) and b"Syntax error" not in run.stderr, run
    assert fleet.sql("SELECT count() > 0 FROM samples") == "1"


HOSTILE_FUNCTIONS = ["a' OR 1 --", "\\", "'); DROP TABLE samples; --", "`b`", "\"q\"", "{x:String}",
                     "%s%n"]


def test_names_that_were_recorded_are_not_sql(fleet, tmp_path):
    """A program's own functions, and its host, are named as an attacker would."""
    if not shutil.which("objcopy"):
        pytest.skip("no objcopy")
    count = len(HOSTILE_FUNCTIONS)
    source, program = tmp_path / "hostile.c", str(tmp_path / "hostile")
    source.write_text("#include <stdlib.h>\n" + "".join(
        f"__attribute__((noinline)) void *hostile{i}(void) {{ char *volatile p = malloc({100 + i});"
        f" return p; }}\n" for i in range(count)) + "int main(void) {" + "".join(
            f"hostile{i}();" for i in range(count)) + "}\n")
    subprocess.run(["cc", "-O0", "-o", program, str(source)], check=True)
    subprocess.run(["objcopy", *(f"--redefine-sym=hostile{i}={name}"
                                 for i, name in enumerate(HOSTILE_FUNCTIONS)), program], check=True)
    host, path = "h'); DROP TABLE curves; --\\", str(tmp_path / "out.dat")
    run = harness.execute(
        ["unshare", "-ru", "python3", "-c", "import os, socket, sys; socket.sethostname(sys.argv[1]"
         "); os.execv(sys.argv[2], sys.argv[2:])", host, harness.MEMOIR, "run", "-o", path,
         program])
    if b"unshare" in run.stderr:
        pytest.skip("no host name of a test's own: unshare")
    fleet("init", "--bucket", "1s")
    fleet("push", path)
    for measure in ("allocated", "leaked"):
        compare(fleet, path, ["-m", measure])
    rows = fleet.ask("leaks", "--json", "--spark", "3", "-n", "1000")["rows"]
    assert set(HOSTILE_FUNCTIONS) <= {r["name"] for r in rows}
    for i, name in enumerate(HOSTILE_FUNCTIONS):
        compare(fleet, path, ["-m", "allocated", "-F", f"function = {quoted(name)}"])
        part = fleet.ask("top", "--json", "-m", "allocated", "-F", f"responsible = {quoted(name)}")
        assert part["total"] == {"bytes": 100 + i, "count": 1}
        for by in ("responsible", "stack"):
            [row] = fleet.ask("leaks", "--json", "--by", by, "--spark", "3", "--search",
                              name)["rows"]
            assert row["live_bytes"] == 100 + i
    assert fleet.ask("show", "--json", "-F", f"host = {quoted(host)}")["total_count"] == 1
    [row] = fleet.ask("builds", "--json", "--by", "host", "--spark", "3", "--search",
                      host)["groups"]
    assert row["name"] == host
    assert fleet.ask("trend", "--json", "--by", "host")["curves"][0]["name"] == host


def test_what_a_fleet_does_not_know_is_said(fleet, leaky):
    fleet("init")
    fleet("push", leaky)
    for options, word in ((["-F", "lifetime < 1s"], b"does not know 'lifetime'"),
                          (["-F", "size >= 1000"], b"512 or 1024"),
                          (["-F", "allocated > 1s"], b"has no beginning"),
                          (["-m", "short-lived", "--below", "1s"], b"does not know single blocks"),
                          (["-F", "function ~ '(a)\\1'"], b"invalid escape")):
        run = harness.execute([harness.MEMOIR, "fleet", "top", *options], env=fleet.env)
        assert run.status in (1, 2) and word in run.stderr, run
        assert run.stderr.count(b"\n") == 1, run


def test_who_asks(fleet, server, tmp_path):
    """Wrong passwords, addresses and files are one line each; a password is never in an address."""
    fleet("init")
    run = fleet("top", status=1, env={"MEMOIR_FLEET_PASSWORD": "no"})
    assert b"assword" in run.stderr and run.stderr.count(b"\n") == 1
    run = fleet("top", status=2, env={"MEMOIR_FLEET": ""})
    assert b"which fleet?" in run.stderr
    for url in ("clickhouse://me:pw@127.0.0.1/db", "clickhouse://h", "mysql://h/x",
                "clickhouse://h/a-b"):
        run = fleet("top", "--fleet", url, status=2)
        assert run.stderr.count(b"\n") == 1, run
    config = tmp_path / "fleet.conf"
    config.write_text(f"# a comment\nurl = {server.url(fleet.database)}\nuser = default\n"
                      f"password = {server.password}\n")
    env = {"MEMOIR_FLEET": "", "MEMOIR_FLEET_PASSWORD": "", "MEMOIR_FLEET_CONFIG": str(config)}
    fleet("top", env=env)
    config.write_text("nonsense\n")
    assert b"line 1" in fleet("top", status=2, env=env).stderr


def test_ten_minutes(fleet, server, tmp_path):
    """The lines at the begin of docs/fleet.md, as they stand there."""
    root = os.path.join(os.path.dirname(harness.HERE), "..")
    with open(os.path.join(root, "docs", "fleet.md"), encoding="utf-8") as file:
        lines = file.read().split("```\n")[1].split("MEMOIR_FLEET=", 1)[1].splitlines()[1:]
    page = [line for line in lines if line.startswith("memoir server ")]
    commands = [line for line in lines if line.startswith("memoir ") and line not in page]
    assert len(page) == 1 and len(commands) > 12
    os.symlink(os.path.join(harness.BUILD, "examples", "leaky"), tmp_path / "app")
    env = dict(fleet.env, PATH=f"{harness.BUILD}:{os.environ['PATH']}")
    for line in commands:
        run = harness.execute(["sh", "-c", line], env=env, cwd=tmp_path)
        assert run.status == 0 and run.stdout.strip(), (line, run)
        assert not line.startswith("memoir fleet") or not run.stderr, (line, run)
        if re.match("memoir fleet (top|tree|diff|leaks)", line):
            assert b"session_open" in run.stdout, (line, run)
    shown = fleet.ask("show", "--json")["recordings"]
    assert sorted(r["file"] for r in shown) == [str(tmp_path / n) for n in ("new.dat", "old.dat")]
    words = shlex.split(os.path.expandvars(page[0].replace("$MEMOIR_FLEET", fleet.url)), True)[2:]
    with Server(*words, env=fleet.env) as served:
        assert [r["kind"] for r in served.json("/list")] == ["fleet"]


def test_a_database_without_a_fleet(fleet, leaky):
    assert b"memoir fleet init" in fleet("push", leaky, status=1).stderr
    assert b"memoir fleet init" in fleet("top", status=1).stderr


def test_nobody_answers(fleet):
    [port] = clickhouse.free_ports(1)
    run = fleet("top", "--fleet", f"clickhouse://127.0.0.1:{port}/x", status=1)
    assert b"onnection refused" in run.stderr and run.stderr.count(b"\n") == 1
