# SPDX-License-Identifier: MIT OR Apache-2.0
"""A memoir server for a test: started on a port that the system chooses, ended with the block."""
import json
import signal
import subprocess
import urllib.request

import harness


class Server:
    def __init__(self, *files, options=()):
        self.command = [harness.MEMOIR, "server", "-p", "0", *options, *map(str, files)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline().strip()
        if not line.startswith("http"):
            self.__exit__()
            raise AssertionError(f"memoir server said {line!r}")
        self.address = line.rstrip("/")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def get(self, path, timeout=120):
        with urllib.request.urlopen(self.address + path, timeout=timeout) as answer:
            return json.load(answer)

    def ready(self, timeout=300):
        """All recordings, when none is being read any more."""
        found = []

        def loaded():
            found[:] = self.get("/list")
            return all(r["state"] != "loading" for r in found)
        harness.wait_for(loaded, timeout=timeout, what="the recordings to be read")
        return found
