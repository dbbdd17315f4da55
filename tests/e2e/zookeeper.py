# SPDX-License-Identifier: MIT OR Apache-2.0
"""A ZooKeeper of a test's own: Debian's package, own folder, own port, ends with the test."""
import os
import re
import shutil
import socket
import subprocess
import time

from clickhouse import free_ports

ENVIRONMENT = "/etc/zookeeper/conf/environment"
PROGRAM = shutil.which("java") if os.path.exists(ENVIRONMENT) else None


def class_path():
    with open(ENVIRONMENT, encoding="utf-8") as file:
        found = re.search(r'CLASSPATH="?([^"\n]+)', file.read())[1]
    return found


class ZooKeeper:
    def __init__(self, folder):
        [self.port] = free_ports(1)
        self.folder = str(folder)

    def __enter__(self):
        config = os.path.join(self.folder, "zoo.cfg")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"tickTime=500\ndataDir={self.folder}/data\nclientPort={self.port}\n"
                       "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
                       "4lw.commands.whitelist=srvr\n")
        with open(os.path.join(self.folder, "output"), "ab") as output:
            self.process = subprocess.Popen(
                [PROGRAM, "-Xmx128m", "-Dzookeeper.log.dir=" + self.folder,
                 "-cp", class_path().replace("$ZOOCFGDIR", "/etc/zookeeper/conf"),
                 "org.apache.zookeeper.server.quorum.QuorumPeerMain", config],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.folder)
        end = time.monotonic() + 60
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < end, self.log()
            time.sleep(0.1)
        return self

    def answers(self):
        """It has a port, and says that it is well, before it takes any sessions."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as s:
                s.sendall(b"srvr")
                return b"Mode:" in b"".join(iter(lambda: s.recv(4096), b""))
        except OSError:
            return False

    def log(self):
        with open(os.path.join(self.folder, "output"), errors="replace", encoding="utf-8") as f:
            return f.read()[-3000:]

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
