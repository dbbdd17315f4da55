# SPDX-License-Identifier: MIT OR Apache-2.0
"""A ClickHouse server of a test's own: own folder, own ports on the loopback, few threads, little
memory.  Nothing of it is left when it ends."""

import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

PROGRAM = shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")

CONFIG = """<yandex>
  <logger><level>error</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
  <listen_host>127.0.0.1</listen_host>
  <http_port>{http}</http_port>
  <tcp_port>{tcp}</tcp_port>
  <interserver_http_port>{inter}</interserver_http_port>
  <interserver_http_host>127.0.0.1</interserver_http_host>
  <max_concurrent_queries>20</max_concurrent_queries>
  <path>{folder}/data/</path>
  <tmp_path>{folder}/tmp/</tmp_path>
  <format_schema_path>{folder}/formats/</format_schema_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
  {more}
</yandex>
"""

USERS = """<yandex>
  <profiles><default>
    <max_memory_usage>{memory}</max_memory_usage>
    <max_threads>2</max_threads>
    <background_pool_size>2</background_pool_size>
    <background_schedule_pool_size>2</background_schedule_pool_size>
  </default></profiles>
  <users><default>
    <password>{password}</password>
    <networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile>
    <quota>default</quota>
  </default></users>
  <quotas><default></default></quotas>
</yandex>
"""


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class ClickHouse:
    def __init__(self, folder, password="", memory=2_000_000_000, ports=None, more=""):
        self.folder = str(folder)
        self.password = password
        self.http, self.tcp, self.inter = ports or free_ports(3)
        self.process = None
        for name in ("data", "tmp", "formats"):
            os.makedirs(f"{self.folder}/{name}", exist_ok=True)
        with open(f"{self.folder}/config.xml", "w") as f:
            f.write(
                CONFIG.format(
                    folder=self.folder, http=self.http, tcp=self.tcp, inter=self.inter, more=more
                )
            )
        with open(f"{self.folder}/users.xml", "w") as f:
            f.write(USERS.format(password=password, memory=memory))
        self.start()

    def start(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("MEMOIR", "LD_"))}
        with open(f"{self.folder}/output", "ab") as output:
            self.process = subprocess.Popen(
                [PROGRAM, f"--config-file={self.folder}/config.xml"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                env=env,
                start_new_session=True,
            )
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                if self.ask("SELECT 1").strip() == "1":
                    return
            except (OSError, urllib.error.URLError):
                pass
            assert self.process.poll() is None, self.log()
            time.sleep(0.05)
        raise AssertionError("it does not answer: " + self.log())

    def log(self):
        text = ""
        for name in ("output", "errors"):
            try:
                with open(f"{self.folder}/{name}", errors="replace") as f:
                    text += f.read()[-4000:]
            except OSError:
                pass
        return text

    def url(self, database="memoir"):
        return f"clickhouse://127.0.0.1:{self.http}/{database}"

    def ask(self, sql, database="default", timeout=60):
        query = urllib.parse.urlencode({"database": database})
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}/?{query}",
            data=sql.encode(),
            headers={"X-ClickHouse-User": "default", "X-ClickHouse-Key": self.password},
        )
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as e:
            raise AssertionError(f"{sql[:500]}\n{e.read().decode(errors='replace')[:1000]}") from e

    def kill(self):
        self.end(signal.SIGKILL)

    def end(self, number=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(number)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
