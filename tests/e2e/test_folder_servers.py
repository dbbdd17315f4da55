# SPDX-License-Identifier: MIT OR Apache-2.0
"""Servers of many processes, recorded as a tree: their processes are known by the titles that they
took."""
import glob
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

import harness


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def titles(folder):
    answer = harness.ask("processes", "--json", "--wait", str(folder))
    assert answer["total"]["running"] == 0 and not answer["failed"]
    return [row["title"] for row in answer["recordings"]], answer


def recorded(folder, *command, options=(), **keywords):
    return subprocess.Popen(
        [harness.MEMOIR, "run", "--children", *options, "-o", f"{folder}/", "--", *command],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env=keywords.pop("env", harness.ENVIRONMENT), **keywords)


def test_redis_saves_in_the_background(tmp_path):
    if not shutil.which("redis-server"):
        pytest.skip("no redis-server")
    port = str(free_port())

    def ask(*words):
        return subprocess.run(["redis-cli", "-p", port, *words], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False).stdout.strip()
    with recorded(tmp_path / "r", "redis-server", "--port", port, "--dir", str(tmp_path),
                  "--save", "") as server:
        harness.wait_for(lambda: ask("ping") == "PONG", what="redis")
        ask("eval", "for i = 1, 100000 do redis.call('set', i, 'value') end", "0")
        ask("bgsave")
        harness.wait_for(lambda: "rdb_bgsave_in_progress:0" in ask("info", "persistence"),
                         what="the end of saving")
        ask("shutdown", "nosave")
        server.communicate(timeout=60)
    found, answer = titles(tmp_path / "r")
    assert found == [f"redis-server *:{port}", f"redis-rdb-bgsave *:{port}"]
    parent, child = answer["recordings"]
    assert child["inherited_bytes"] > 100_000 and parent["inherited_bytes"] == 0


def test_nginx_is_a_daemon_with_workers(tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("no nginx")
    port, pid = free_port(), tmp_path / "pid"
    (tmp_path / "n.conf").write_text(
        f"worker_processes 2; pid {pid}; error_log {tmp_path}/error; events {{}}\n"
        f"http {{ access_log off; server {{ listen 127.0.0.1:{port}; return 200 x; }} }}\n")
    with recorded(tmp_path / "r", "nginx", "-p", str(tmp_path), "-c",
                  str(tmp_path / "n.conf")) as run:
        stderr = run.communicate(timeout=60)[1].decode()
    try:
        assert run.returncode == 0 and f"recorded on in {tmp_path}/r\n" in stderr, stderr
        harness.wait_for(lambda: len(glob.glob(f"{tmp_path}/r/*.dat")) >= 3, what="the workers")
        time.sleep(1.5)  # a title that comes late is looked for every second
    finally:
        os.kill(int(pid.read_text(encoding="ascii")), signal.SIGQUIT)
    harness.wait_for(lambda: not pid.exists(), what="the end of nginx")
    found, _ = titles(tmp_path / "r")
    workers = [title for title in found if title.startswith("nginx: worker process")]
    assert len(workers) == 2 and len(found) >= 3, found


@pytest.fixture
def short_folder():
    """One whose path is short enough for a socket, and that others may enter."""
    with tempfile.TemporaryDirectory(prefix="memoir-", dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_postgres(short_folder):
    binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
    if not binaries or not shutil.which("psql"):
        pytest.skip("no postgres")
    folder, user = short_folder, {}
    if os.getuid() == 0:  # which it refuses to be
        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    env = {**harness.ENVIRONMENT, "HOME": str(folder), "PGUSER": "me", "PGHOST": str(folder),
           "PGDATABASE": "postgres"}
    subprocess.run([os.path.join(os.path.dirname(binaries[-1]), "initdb"), "-D", f"{folder}/db",
                    "-A", "trust", "-U", "me", "-N"], env=env, check=True,
                   stdout=subprocess.DEVNULL, **user)
    with recorded(folder / "r", binaries[-1], "-D", f"{folder}/db", "-k", str(folder), "-c",
                  "listen_addresses=", env=env, **user) as server:
        def ask(statement):
            return subprocess.run(["psql", "-Atc", statement], env=env, capture_output=True,
                                  text=True, check=False).stdout.strip()
        harness.wait_for(lambda: ask("select 1") == "1", what="postgres")
        assert ask("select count(*) from generate_series(1, 20000) group by 1 > 0") == "20000"
        with open(f"{folder}/db/postmaster.pid", encoding="ascii") as file:
            os.kill(int(file.readline()), signal.SIGINT)
        server.communicate(timeout=60)
    found, answer = titles(folder / "r")
    assert {f"postgres: {what}" for what in (
        "checkpointer", "background writer", "walwriter", "autovacuum launcher")} <= set(found)
    assert [t for t in found if t.startswith("postgres: me postgres [local]")], found
    assert all(row["depth"] == 1 for row in answer["recordings"][1:])
    text = harness.execute([harness.MEMOIR, "report", str(folder / "r")]).stdout.decode()
    assert "postgres: checkpointer" in text and "(postgres)" in text
