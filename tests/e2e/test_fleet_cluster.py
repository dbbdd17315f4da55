# SPDX-License-Identifier: MIT OR Apache-2.0
"""A fleet on three servers: plain shards, which need no coordinator, and replicas with ZooKeeper.
Each of them is killed and started again while it is loaded; in the end the sums are what was
sent."""
import contextlib
import subprocess
import threading

import pytest

import clickhouse
import harness
import zookeeper
from fleets import GENERATE, Fleet, with_id

pytestmark = [pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server"),
              pytest.mark.xdist_group("fleet")]
LONG = 120
SERVERS = 3


def replica(port):
    return (f"<replica><host>127.0.0.1</host><port>{port}</port><user>default</user>"
            "<password></password></replica>")


def start(stack, folder, shards, more=lambda i: ""):
    """Three servers; shards: lists of their numbers."""
    ports = [clickhouse.free_ports(3) for _ in range(SERVERS)]
    cluster = "".join(
        "<shard><internal_replication>true</internal_replication>"
        + "".join(replica(ports[i][1]) for i in shard) + "</shard>" for shard in shards)
    servers = []
    for i in range(SERVERS):
        (folder / str(i)).mkdir()
        servers.append(stack.enter_context(clickhouse.ClickHouse(
            folder / str(i), ports=ports[i], memory=1_000_000_000,
            more=f"<remote_servers><main>{cluster}</main></remote_servers>" + more(i))))
        stack.callback(servers[-1].kill)  # it takes its time otherwise
    return servers


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        yield start(stack, tmp_path_factory.mktemp("plain"), [[0], [1], [2]])


@pytest.fixture(scope="module")
def replicated(tmp_path_factory):
    if not zookeeper.PROGRAM:
        pytest.skip("no zookeeperd")
    with contextlib.ExitStack() as stack:
        zoo = stack.enter_context(zookeeper.ZooKeeper(tmp_path_factory.mktemp("zookeeper")))
        shard_of = [0, 0, 1]
        yield start(stack, tmp_path_factory.mktemp("replicated"), [[0, 1], [2]], lambda i: (
            f"<zookeeper><node><host>127.0.0.1</host><port>{zoo.port}</port></node>"
            "<session_timeout_ms>3000</session_timeout_ms></zookeeper>"
            f"<macros><shard>{shard_of[i]}</shard><replica>r{i}</replica></macros>"))


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    made = str(folder / "made.dat")
    subprocess.run([GENERATE, made, "3000", "3", "7", "5"], check=True, stdout=subprocess.DEVNULL)
    one = harness.ask("functions", "--json", "-m", "allocated", made)["total"]
    return [with_id(made, str(folder / f"{i}.dat"), 100 + 7 * i) for i in range(12)], one


def fleets(servers, database, tmp_path, *options):
    """The fleet as each server shows it."""
    all_of = [Fleet(s, database) for s in servers]
    for f in all_of:
        f.env["MEMOIR_FLEET_SPOOL"] = str(tmp_path / "spool")
        f.env["MEMOIR_FLEET_TIMEOUT"] = "20s"
    run = all_of[0]("init", "--bucket", "1s", "--cluster", "main", *options,
                    *(f.url for f in all_of))
    assert run.stdout.count(b"made, version") == SERVERS
    return all_of


def held(fleet):
    return fleet.ask("top", "--json", "-m", "allocated")["total"]


def times(n, weight):
    return {key: n * value for key, value in weight.items()}


def load_while_killing(fleet, victims, paths, seconds_between=0):
    """Sends all, while the victims are killed and started again in turn."""
    done = []

    def load():
        for path in paths:
            run = harness.execute([harness.MEMOIR, "fleet", "push", path], env=fleet.env)
            done.append(run)

    thread = threading.Thread(target=load)
    thread.start()
    for n, victim in enumerate(victims):
        harness.wait_for(lambda n=n: len(done) >= 2 + 3 * n or not thread.is_alive(), LONG,
                         "loading")
        victim.kill()
        harness.wait_for(lambda n=n: len(done) >= 3 + 3 * n or not thread.is_alive(), LONG,
                         "loading without it")
        victim.start()
    thread.join()
    return done


def send_the_rest(fleet, paths):
    """What an operator would do: push again, until nothing waits."""
    def sent():
        run = harness.execute([harness.MEMOIR, "fleet", "push", *paths], env=fleet.env)
        return run.status == 0 and b"wait" not in run.stderr

    harness.wait_for(sent, LONG, "everything to be sent")


def test_shards(plain, many, tmp_path):
    paths, one = many
    all_of = fleets(plain, "shards", tmp_path)
    all_of[0]("push", *paths[:6])
    for f in all_of:
        assert held(f) == times(6, one)
        groups = f.ask("builds", "--json", "--by", "recording")["groups"]
        assert len(groups) == 6
    local = [int(f.sql("SELECT count() FROM samples_local")) for f in all_of]
    assert sum(n > 0 for n in local) > 1, local
    assert all_of[1].ask("leaks", "--json")["rows"] == all_of[2].ask("leaks", "--json")["rows"]
    tree = all_of[0].ask("tree", "--json", "-m", "leaked", "-F", "function ~ a")
    assert tree["tree"]["bytes"] == all_of[1].ask(
        "tree", "--json", "-m", "leaked", "-F", "function ~ a")["tree"]["bytes"] > 0


def test_a_shard_is_killed_while_it_is_loaded(plain, many, tmp_path):
    paths, one = many
    all_of = fleets(plain, "killed", tmp_path)
    all_of[0]("push")
    load_while_killing(all_of[0], [plain[1], plain[2], plain[0]], paths)
    send_the_rest(all_of[0], paths)
    for f in all_of:
        assert held(f) == times(len(paths), one)
        assert f.ask("show", "--json")["total_count"] == len(paths)


def test_old_tables_of_a_cluster(plain, many, tmp_path):
    """Those of version 1, on every shard, are brought to the version of today."""
    paths, one = many
    all_of = fleets(plain, "old", tmp_path)
    all_of[0]("push", *paths[:6])
    for f in all_of:
        for table in ("jemalloc_stats", "totals"):
            f.sql(f"DROP TABLE {table}")
            f.sql(f"DROP TABLE {table}_local")
        f.sql("ALTER TABLE samples_local DROP COLUMN live_variance")
        f.sql("DROP TABLE samples")
        f.sql("CREATE TABLE samples AS samples_local ENGINE = Distributed(main, old, "
              "samples_local, recording)")
        f.sql("TRUNCATE TABLE settings")
        f.sql("INSERT INTO settings VALUES ('version', 1, now()), ('step', 1, now()), "
              "('cluster', 1, now())")
    assert b"of version 1" in all_of[1]("top", status=1).stderr
    run = all_of[0]("init", "--cluster", "main", *(f.url for f in all_of))
    assert run.stdout.count(b"from version 1 to 3") == SERVERS, run
    assert b"one copy of each row" in run.stderr
    for f in all_of:
        assert held(f) == times(6, one)
        assert f.ask("top", "--json")["total"]["bytes"] > 0
    all_of[2]("push", *paths[6:8])
    assert held(all_of[1]) == times(8, one)


def test_days_that_are_not_kept_are_dropped_everywhere(plain, many, tmp_path):
    """Each server drops its own: init, which is given all of them, sees to it."""
    all_of = fleets(plain, "kept", tmp_path, "--keep", "2d")
    for f in all_of:
        f.sql("INSERT INTO samples_local (day, bucket, recording) SELECT today() - 9, "
              "now() - 9 * 86400, 5")
    assert all_of[0].sql("SELECT count() FROM samples") == "3"
    all_of[0]("init", "--cluster", "main", *(f.url for f in all_of))
    assert all_of[0].sql("SELECT count() FROM samples") == "0"


def test_a_cluster_that_nobody_knows(plain, tmp_path):
    f = Fleet(plain[0], "unknown")
    run = f("init", "--cluster", "elsewhere", status=1)
    assert b"knows no cluster 'elsewhere'" in run.stderr and run.stderr.count(b"\n") == 1
    run = f("init", "--cluster", "a'b\\`", status=1)
    assert b"knows no cluster" in run.stderr


def test_replicas(replicated, many, tmp_path):
    """While one of two replicas is away everything is answered and taken."""
    paths, one = many
    all_of = fleets(replicated, "replicas", tmp_path, "--replicated", "/memoir/replicas")
    all_of[0]("push", *paths[:4])
    harness.wait_for(lambda: held(all_of[1]) == times(4, one), LONG, "the other replica")
    counts = [f.sql("SELECT count() FROM samples_local") for f in all_of[:2]]
    assert counts[0] == counts[1] != "0"
    replicated[0].kill()
    try:
        assert held(all_of[1]) == times(4, one)
        all_of[1]("push", *paths[4:6])
        assert held(all_of[2]) == times(6, one)
    finally:
        replicated[0].start()
    harness.wait_for(lambda: held(all_of[0]) == times(6, one), LONG, "the replica to catch up")


def test_a_replica_is_killed_while_it_is_loaded(replicated, many, tmp_path):
    paths, one = many
    all_of = fleets(replicated, "loaded", tmp_path, "--replicated", "/memoir/loaded")
    all_of[0]("push")
    load_while_killing(all_of[0], [replicated[1], replicated[0], replicated[2]], paths)
    send_the_rest(all_of[0], paths)
    for f in all_of:
        harness.wait_for(lambda f=f: held(f) == times(len(paths), one), LONG, "the same sums")
