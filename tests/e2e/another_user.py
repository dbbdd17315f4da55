# SPDX-License-Identifier: MIT OR Apache-2.0
"""What another user of this machine gets: questions and commands as nobody, which only root can
ask."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")

ASK = """
import http.client, json, sys
for port, method, path, headers, body in json.load(sys.stdin):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body.encode() if body else None, headers)
    a = c.getresponse()
    print(json.dumps([a.status, dict(a.getheaders()), a.read().decode(errors="replace")]))
    c.close()
"""


@pytest.fixture
def nobodys_folder():
    """A folder of nobody's that nobody can reach: those of pytest are closed whenever another one
    starts."""
    path = tempfile.mkdtemp(prefix="memoir-nobody-", dir="/tmp")
    os.chown(path, NOBODY, NOBODY)
    yield path
    shutil.rmtree(path)


def command(*words):
    """The words that run a command as nobody."""
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *map(str, words)]


def ask(port, *questions):
    """[(status, headers, text)] of questions (method, path, headers, body) that nobody asks."""
    rows = [[port, method, path, *rest, *({}, "")[len(rest):]] for method, path, *rest in questions]
    done = subprocess.run(command(sys.executable, "-c", ASK), input=json.dumps(rows),
                          capture_output=True, text=True,
                          timeout=120)
    assert done.returncode == 0, done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def statuses(port, *questions):
    return [answer[0] for answer in ask(port, *questions)]
