# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is sent to a fleet arrives once: from run, gather and record, from running programs, through
servers that are killed, networks that are cut and disks that are full."""
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import threading
import time

import pytest

import clickhouse
import harness
from agent import JEMALLOC, Target
from fleets import GENERATE, Fleet, fleet_of, with_id
from relay import Relay
from test_gather import LONG, gathering, streaming  # noqa: F401

pytestmark = [pytest.mark.skipif(not clickhouse.PROGRAM, reason="no clickhouse-server"),
              pytest.mark.xdist_group("fleet")]
DATA = os.path.join(os.path.dirname(harness.HERE), "data", "jemalloc")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with clickhouse.ClickHouse(tmp_path_factory.mktemp("clickhouse"), password="pw") as s:
        yield s


@pytest.fixture
def fleet(server, request, tmp_path):
    f = fleet_of(server, request)
    f.env["MEMOIR_FLEET_SPOOL"] = str(tmp_path / "spool")
    f("init", "--bucket", "1s")
    return f


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Recordings, and what each of them allocated."""
    folder = tmp_path_factory.mktemp("many")
    made = str(folder / "made.dat")
    subprocess.run([GENERATE, made, "3000", "3", "7", "5"], check=True, stdout=subprocess.DEVNULL)
    return [with_id(made, str(folder / f"{i}.dat"), 100 + i) for i in range(12)], total(made)


def total(path):
    return harness.ask("functions", "--json", "-m", "allocated", path)["total"]


def held(fleet):
    return fleet.ask("top", "--json", "-m", "allocated")["total"]


def times(n, weight):
    return {key: n * value for key, value in weight.items()}


def through(fleet, relay):
    return {"MEMOIR_FLEET": f"clickhouse://127.0.0.1:{relay.port}/{fleet.database}",
            "MEMOIR_FLEET_TIMEOUT": "1s"}


def waiting(run):
    found = re.search(rb"(\d+) parcels? waits? on the disk", run.stderr)
    return int(found[1]) if found else 0


def test_run_sends_what_it_recorded(fleet, compile_program, tmp_path):
    program = compile_program("choosing")
    path = str(tmp_path / "out.dat")
    run = harness.execute([harness.MEMOIR, "run", "--fleet", fleet.url, "-o", path, program],
                          env=dict(fleet.env, MEMOIR_FLEET="", MEMOIR_SERVICE="shop"))
    assert run.status == 0 and held(fleet) == total(path), run
    [row] = fleet.ask("show", "--json")["recordings"]
    assert (row["service"], row["file"]) == ("shop", path)
    wrong = harness.execute([harness.MEMOIR, "run", "--fleet", "http://x", "-o", path, program])
    assert wrong.status == 2 and b"is not the address of a fleet" in wrong.stderr


def test_the_program_does_not_wait_for_a_fleet(fleet, compile_program, tmp_path):
    """Nobody answers: the program has ended by then, and its status is what memoir run ends
    with."""
    fleet("push")  # it was reached once, so that what cannot be sent is kept
    with Relay(fleet.server.http) as relay:
        known = through(fleet, relay)
        fleet("push", env=known)
        relay.cut()
        run = harness.execute(
            [harness.MEMOIR, "run", "--fleet", known["MEMOIR_FLEET"], "-o",
             str(tmp_path / "out.dat"), "/bin/sh", "-c", "exit 7"], env=dict(fleet.env, **known))
        assert run.status == 7 and waiting(run) == 1, run
        relay.mend()
        assert b"1 parcel that waited: sent" in fleet("push", env=known).stdout
    assert fleet.ask("show", "--json")["total_count"] == 1


@contextlib.contextmanager
def in_environment(values):
    """Of what tests start by others' means."""
    harness.ENVIRONMENT.update(values)
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            harness.ENVIRONMENT.pop(name, None)
            os.environ.pop(name, None)


def test_gather_sends_what_it_received(fleet, streaming, gathering):  # noqa: F811
    target = streaming("run")
    with in_environment(fleet.env):
        receiver = gathering("--fleet", fleet.url, target.where).wait_begun()
    target.do("q")
    target.end()
    path = str(receiver.end().file())
    harness.wait_for(lambda: fleet.ask("show", "--json")["total_count"] == 1, LONG, "the fleet")
    assert held(fleet) == total(path)


def test_gather_does_not_wait_for_a_fleet(fleet, streaming, gathering):  # noqa: F811
    """Nobody answers: the program and the receiver end all the same, and it is sent later."""
    target = streaming("run")
    with Relay(fleet.server.http) as relay:
        known = {**fleet.env, **through(fleet, relay), "MEMOIR_FLEET_TIMEOUT": "60s"}
        fleet("push", env=known)
        relay.cut()
        with in_environment(known):
            receiver = gathering("--fleet", known["MEMOIR_FLEET"], target.where).wait_begun()
        began = time.monotonic()
        target.do("q")
        target.end()
        receiver.process.wait(LONG)
        assert time.monotonic() - began < 9  # memoir fleet push waits ten seconds
        path = str(receiver.file())
        assert fleet.ask("show", "--json")["recordings"] == []
        relay.mend()
        harness.wait_for(lambda: fleet.ask("show", "--json")["total_count"] == 1, LONG, "it")
    assert held(fleet) == total(path)


def test_what_cannot_be_sent_waits(fleet, server, many):
    paths, one = many
    fleet("push", paths[0])
    server.kill()
    run = fleet("push", *paths[1:4])
    assert waiting(run) == 3 and run.stderr.count(b"\n") == 1
    server.start()
    assert b"3 parcels that waited: sent" in fleet("push").stdout
    assert held(fleet) == times(4, one)
    assert fleet("push", *paths[:4]).stdout.count(b"it is there already") == 4


def test_what_waits_is_kept_once(fleet, server, many):
    """A timer sends the same folder again and again: what waits does not push out others."""
    paths, one = many
    fleet("push")
    server.kill()
    try:
        assert waiting(fleet("push", *paths[:2], paths[0])) == 2
        assert waiting(fleet("push", *paths[:2])) == 2
    finally:
        server.start()
    fleet("push")
    assert held(fleet) == times(2, one)


def test_what_was_sent_is_not_read_again(fleet, many, tmp_path):
    paths, one = many
    fleet("push", paths[0])
    with open(paths[0], "rb") as file:
        head = file.read(200)
    unread = tmp_path / "unread.dat"  # nothing is in it that could be sent
    unread.write_bytes(head)
    assert b"it is there already" in fleet("push", str(unread)).stdout
    assert held(fleet) == one


def test_what_is_still_written_is_sent_when_it_is_whole(fleet, compile_program, tmp_path):
    """Half a recording is not sent: the rest of it would never follow."""
    program = compile_program("choosing")
    folder = tmp_path / "recordings"
    folder.mkdir()
    path = str(folder / "out.dat")
    process = subprocess.Popen(
        [harness.MEMOIR, "run", "-o", path, "/bin/sh", "-c", f"{program}; read x"],
        env=harness.ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    harness.wait_for(lambda: os.path.exists(path) and os.path.getsize(path) > 1000, LONG)
    run = fleet("push", path, status=1)
    assert b"still being written" in run.stderr and run.stderr.count(b"\n") == 1, run
    run = fleet("push", str(folder))
    assert b"still being written" in run.stdout and not run.stderr
    assert fleet.ask("show", "--json")["recordings"] == []
    process.communicate(b"\n", timeout=LONG)
    fleet("push", "--quiet", str(folder))
    assert held(fleet) == total(path)


def test_a_server_is_killed_while_it_is_loaded(fleet, server, many):
    paths, one = many
    runs = []

    def load():
        for path in paths:
            runs.append(fleet("push", path))

    thread = threading.Thread(target=load)
    thread.start()
    for n in (2, 5, 8):
        harness.wait_for(lambda n=n: len(runs) >= n or not thread.is_alive(), LONG, "loading")
        server.kill()
        server.start()
    thread.join()
    fleet("push")
    assert held(fleet) == times(len(paths), one)
    assert fleet.ask("show", "--json")["total_count"] == len(paths)


def test_the_network_is_cut_for_a_while(fleet, many):
    paths, one = many
    with Relay(fleet.server.http) as relay:
        known = through(fleet, relay)
        fleet("push", paths[0], env=known)
        relay.cut()
        assert waiting(fleet("push", *paths[1:3], env=known)) == 2
        relay.mend()
        fleet("push", paths[3], env=known)
    assert held(fleet) == times(4, one)


@pytest.mark.long
def test_the_network_is_cut_for_a_minute(fleet, compile_program, many, tmp_path):
    """Recordings are pushed, a program is recorded and another one is polled meanwhile: nobody
    waits for long, and in the end all of it is there once."""
    if not JEMALLOC:
        pytest.skip("no libjemalloc2")
    paths, one = many
    conf = "prof:true,prof_active:true,lg_prof_sample:10"
    with (Relay(fleet.server.http) as relay,
          Target([compile_program("agent_target")], tmp_path, conf=conf) as target):
        target.wait()
        known = through(fleet, relay)
        patient = {k: v for k, v in known.items() if k != "MEMOIR_FLEET_TIMEOUT"}
        fleet("push", paths[0], env=known)
        polled = subprocess.Popen(
            [harness.MEMOIR, "fleet", "push", "--quiet", "--every", "2s", "-n", "45",
             str(target.pid)], stderr=subprocess.PIPE,
            env={**harness.ENVIRONMENT, **fleet.env, **known, "XDG_RUNTIME_DIR": str(tmp_path)})
        harness.wait_for(lambda: int(fleet.sql("SELECT count() FROM parcels")) > 2, LONG)
        relay.cut()
        cut = time.monotonic()
        for path in paths[1:6]:
            fleet("push", path, env=known)
        began = time.monotonic()
        run = harness.execute([harness.MEMOIR, "run", "--fleet", patient["MEMOIR_FLEET"], "-o",
                               str(tmp_path / "out.dat"), compile_program("choosing")],
                              env=dict(fleet.env, **patient))
        assert waiting(run) > 5 and time.monotonic() - began < 30, run
        time.sleep(max(0, 60 - (time.monotonic() - cut)))
        relay.mend()
        fleet("push", *paths[6:8], env=known)
        said = polled.communicate(timeout=LONG)[1]
        fleet("push", env=known)
    assert polled.returncode == 0 and b"dropped" not in said, said
    assert fleet.ask("show", "--json")["total_count"] == 8 + 1 + 1
    polls = int(fleet.sql("SELECT count() FROM parcels")) - 9
    assert 43 <= polls <= 45
    made = fleet.ask("top", "--json", "-m", "allocated", "-F", "not service = choosing")["total"]
    assert made == times(8, one)
    [seen, buckets, span] = map(int, fleet.sql(
        "SELECT count(), uniqExact(bucket), toUInt32(max(bucket)) - toUInt32(min(bucket)) + 1 "
        "FROM curves WHERE recording IN (SELECT recording FROM recordings WHERE kind = 'heap')"
    ).split())
    assert seen == buckets == span > 80, "a curve without a hole"


def test_an_answer_that_never_comes_is_no_reason_to_give_up(fleet, many):
    """A server that dies while parcels are sent that waited: they wait on."""
    paths, one = many
    with Relay(fleet.server.http) as relay:
        known = through(fleet, relay)
        fleet("push", env=known)
        relay.cut()
        assert waiting(fleet("push", *paths[:3], env=known)) == 3
        relay.mend()
        relay.carried = 1  # what the fleet is like is answered; after that nothing is
        run = fleet("push", env=known)
        assert waiting(run) == 3 and b"dropped" not in run.stderr, run
        relay.carried = None
        assert b"3 parcels that waited: sent" in fleet("push", env=known).stdout
    assert held(fleet) == times(3, one)


def test_the_oldest_go_where_there_is_no_room(fleet, server, many):
    """A spool that is full says how many it dropped: these are missing, and nothing else."""
    paths, one = many
    fleet("push")
    server.kill()
    size = 0
    try:
        waits = waiting(fleet("push", paths[0]))
        assert waits == 1
        [folder] = os.listdir(fleet.env["MEMOIR_FLEET_SPOOL"])
        folder = os.path.join(fleet.env["MEMOIR_FLEET_SPOOL"], folder)
        [parcel] = [n for n in os.listdir(folder) if n.endswith(".parcel")]
        size = os.path.getsize(os.path.join(folder, parcel))
        small = {"MEMOIR_FLEET_SPOOL_SIZE": str(size * 3 + 10)}
        run = fleet("push", *paths[1:6], env=small)
        assert waiting(run) == 3 and b"3 ever" in run.stderr, run
    finally:
        server.start()
    fleet("push")
    assert held(fleet) == times(3, one)
    shown = {r["id"][:16] for r in fleet.ask("show", "--json")["recordings"]}
    assert shown == {harness.ask("info", "--json", p)["id"][:16] for p in paths[3:6]}


def test_a_full_disk(fleet, server, many, tmp_path):
    """The same where the disk is full before the limit is reached."""
    paths, one = many
    disk = tmp_path / "spool"
    disk.mkdir()
    script = f"""mount -t tmpfs -o size=256k none {disk} || exit 9
        "$0" fleet push || exit 3
        touch {tmp_path}/ready; while [ ! -e {tmp_path}/away ]; do sleep 0.05; done
        "$0" fleet push "$@" 2>{tmp_path}/said
        touch {tmp_path}/kept; while [ ! -e {tmp_path}/back ]; do sleep 0.05; done
        "$0" fleet push"""
    process = subprocess.Popen(["unshare", "-rm", "sh", "-c", script, harness.MEMOIR, *paths],
                               env=dict(harness.ENVIRONMENT, **fleet.env), stdout=subprocess.PIPE)
    harness.wait_for(lambda: process.poll() is not None or (tmp_path / "ready").exists(), LONG)
    if process.poll() in (1, 9):
        pytest.skip("no disk of a test's own: unshare, mount")
    server.kill()
    (tmp_path / "away").touch()
    harness.wait_for(lambda: (tmp_path / "kept").exists(), LONG, "parcels on the disk")
    server.start()
    (tmp_path / "back").touch()
    out, _ = process.communicate(timeout=LONG)
    said = (tmp_path / "said").read_bytes()
    kept = int(re.search(rb"(\d+) parcels? wait", said)[1])
    dropped = int(re.search(rb"(\d+) ever", said)[1])
    assert kept + dropped == len(paths) and 0 < kept < len(paths), said
    assert held(fleet) == times(kept, one), out


def test_a_heap_profile(fleet):
    path = os.path.join(DATA, "out.heap")
    fleet("push", "--service", "jem", path)
    top = fleet.ask("top", "--json", "-m", "peak")
    facts = harness.ask("jemalloc", "heap", "--json", path)
    assert facts and abs(top["total"]["bytes"] - fleet.ask("show", "--json")["recordings"][0][
        "peak_bytes"]) <= 8  # each stack is rounded by itself
    assert fleet("push", "--service", "jem", path).stdout.count(b"it is there already") == 1
    variance = float(fleet.sql("SELECT sum(live_variance) FROM samples"))
    assert variance > 0


def test_statistics(fleet):
    path = os.path.join(DATA, "json_full.json")
    fleet("push", path)
    said = harness.ask("jemalloc", "stats", "--json", path)
    allocated = fleet.sql("SELECT value FROM jemalloc_stats WHERE field = 'allocated' AND "
                          "arena = '' AND size_class = 0")
    assert str(int(float(allocated))) in json.dumps(said)
    assert int(fleet.sql("SELECT uniq(size_class) FROM jemalloc_stats WHERE arena = 'merged'")) > 5
    fleet("push", path)
    assert fleet.sql("SELECT count() FROM jemalloc_stats WHERE field = 'allocated' AND arena = ''"
                     " AND size_class = 0") == "1"


@pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc2")
def test_a_running_program_is_asked_at_intervals(fleet, compile_program, tmp_path):
    program = compile_program("agent_target")
    with Target([program], tmp_path, conf="prof:true,prof_active:true,lg_prof_sample:10") as target:
        target.wait()
        env = {"XDG_RUNTIME_DIR": str(tmp_path)}
        fleet("push", "--service", "live", "--every", "1s", "-n", "4", str(target.pid), env=env)
    [row] = fleet.ask("show", "--json")["recordings"]
    assert row["kind"] == "heap" and row["service"] == "live"
    assert 1 <= row["ended"] - row["started"] <= LONG
    alive = max(map(int, fleet.sql("SELECT live_bytes FROM curves").split()))
    assert abs(row["peak_bytes"] - alive) <= alive / 1000 + 8
    trend = fleet.ask("trend", "--json")
    assert sum(1 for n in trend["all"]["recordings"] if n) >= 2
    assert fleet.sql("SELECT count() FROM parcels") in ("3", "4")  # one in a bucket


@pytest.mark.skipif(not JEMALLOC, reason="no libjemalloc2")
def test_what_is_polled_is_whole_in_every_bucket(fleet, compile_program, tmp_path):
    """Whatever the interval, a bucket has a program once; the one that is not over is not shown."""
    program = compile_program("agent_target")
    env = {"XDG_RUNTIME_DIR": str(tmp_path)}
    with Target([program], tmp_path, conf="prof:true,prof_active:true,lg_prof_sample:10") as target:
        target.wait()
        for interval, times_ in (("2.2s", "2"), ("0.4s", "6")):
            fleet("push", "--service", interval, "--every", interval, "-n", times_,
                  str(target.pid), env=env)
    for service in ("2.2s", "0.4s"):
        rows = fleet.sql(
            "SELECT toUInt32(bucket), count() FROM curves WHERE recording IN (SELECT recording "
            f"FROM recordings WHERE service = '{service}') GROUP BY bucket ORDER BY bucket")
        buckets = [tuple(map(int, row.split())) for row in rows.splitlines()]
        assert [n for _, n in buckets] == [1] * len(buckets), rows
        first, last = buckets[0][0], buckets[-1][0]
        assert [b for b, _ in buckets] == list(range(first, last + 1)) and last > first


def test_record_sends_its_file(fleet, tmp_path):
    path = str(tmp_path / "series.log")
    run = harness.execute(
        [harness.MEMOIR, "jemalloc", "record", "--fleet", fleet.url, "-i", "0.2", "-n", "3", "-o",
         path, "--", "cat", os.path.join(DATA, "json_full.json")], env=fleet.env)
    assert run.status == 0, run
    counted = ("SELECT count() FROM jemalloc_stats WHERE field = 'allocated' AND arena = '' AND "
               "size_class = 0")
    assert fleet.sql(counted) == "3"
    # Again into the same file, and each file holds one: all of them arrive, none twice.
    size = os.path.getsize(path)
    run = harness.execute(
        [harness.MEMOIR, "jemalloc", "record", "--fleet", fleet.url, "-i", "0.5", "-n", "3", "-o",
         path, "--rotate", str(size // 3), "--", "cat", os.path.join(DATA, "json_full.json")],
        env=fleet.env)
    assert run.status == 0, run
    harness.wait_for(lambda: fleet.sql(counted) == "6", LONG, "what was rotated")
    assert [os.path.exists(f"{path}.{n}") for n in (1, 2, 3, 4)] == [True, True, True, False]
    for n in (1, 2, 3):
        assert b"it is there already" in fleet("push", f"{path}.{n}").stdout
    assert fleet.sql(counted) == "6"


def test_packed(fleet, many):
    """Rows that leave this computer are packed; here by an address that does not look local."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this computer has no other address")
        address = s.getsockname()[0]
    paths, one = many
    with Relay(fleet.server.http, near=address) as relay:
        fleet("push", paths[0],
              env={"MEMOIR_FLEET": f"clickhouse://{address}:{relay.port}/{fleet.database}"})
        assert b"Content-Encoding: gzip" in relay.heads
    assert held(fleet) == one


def certify(folder):
    """An authority of the test's own, and a server's certificate by it: its certificate, and what
    the server needs."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    openssl("req", "-x509", *key, "-days", "2", "-subj",
            "/CN=an authority", "-addext", "keyUsage=critical,keyCertSign", "-keyout", "ca.key",
            "-out", "ca.pem")
    openssl("req", *key, "-subj", "/CN=localhost", "-keyout",
            "server.key", "-out", "server.csr")
    (folder / "server.ext").write_text("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", "server.ext", "-out", "server.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return str(folder / "ca.pem"), context


def test_tls(fleet, many, compile_program, tmp_path):
    """A server is who it says, by an authority that was named; else nothing is said to it."""
    paths, one = many
    authority, context = certify(tmp_path)
    (tmp_path / "other").mkdir()
    other, _ = certify(tmp_path / "other")
    with Relay(fleet.server.http, tls=context) as relay:
        url = f"clickhouses://localhost:{relay.port}/{fleet.database}"
        known = {"CURL_CA_BUNDLE": authority}
        for where, env in ((url, {}), (url.replace("localhost", "127.0.0.1"), known),
                           (url, {"SSL_CERT_FILE": other})):
            run = fleet("push", "--fleet", where, paths[0], status=1, env=env)
            assert b"ertificate" in run.stderr and run.stderr.count(b"\n") == 1, run
        assert b"POST" not in relay.heads
        fleet("push", "--fleet", url, paths[0], env=known)
        assert b"POST" in relay.heads and held(fleet) == one
        run = fleet("top", "--json", "-m", "allocated", "--fleet", url,
                    env={"SSL_CERT_FILE": authority})
        assert json.loads(run.stdout)["total"] == one
        path = str(tmp_path / "out.dat")
        harness.execute([harness.MEMOIR, "run", "--fleet", url, "-o", path,
                         compile_program("choosing")], env=dict(fleet.env, **known))
    assert fleet.ask("show", "--json")["total_count"] == 2


def test_no_password_on_a_command_line(fleet, compile_program, tmp_path):
    """Not in the processes that memoir starts, either: they are looked at while nobody answers."""
    secret, seen = "s3cr3t-of-the-fleet", set()

    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
                seen.add(file.read())
        return any(b"fleet\0push" in line and url in line for line in seen)

    with Relay(fleet.server.http) as relay:
        relay.cut()
        where = through(fleet, relay)["MEMOIR_FLEET"]
        url = where.encode()
        process = subprocess.Popen(
            [harness.MEMOIR, "run", "--fleet", where, "-o", str(tmp_path / "out.dat"),
             compile_program("choosing")], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={**harness.ENVIRONMENT, **fleet.env, "MEMOIR_FLEET_PASSWORD": secret})
        harness.wait_for(look, LONG, "memoir fleet push")
        relay.mend()
        said = process.communicate(timeout=LONG)[1]
    assert b"assword" in said  # it was sent, and is wrong
    assert not any(secret.encode() in line for line in seen)
