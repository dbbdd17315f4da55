# SPDX-License-Identifier: MIT OR Apache-2.0
"""A pseudo terminal with a command of memoir's in it that has the screen to itself."""
import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios

import harness

LONG = 60


class Screen:
    def __init__(self, *words, rows=24, columns=90, env=None):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "", "LC_ALL": "C.UTF-8",
                       **(env or {})}
        self.process = subprocess.Popen([harness.MEMOIR, *map(str, words)], stdin=slave,
                                        stdout=slave, stderr=subprocess.PIPE,
                                        start_new_session=True, env=environment)
        self.slave, self.text = slave, ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")  # a character may be cut

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.master], [], [], 0.02)[0]:
            self.text += self.decoder.decode(os.read(self.master, 65536))

    def frame(self, colours=False):
        """The last whole screen, as lines, without colours."""
        self.read()
        whole = [f for f in self.text.split("\033[H")[1:] if "\033[J" in f]
        last = whole[-1].split("\033[J")[0].replace("\r", "") if whole else ""
        return (last if colours else re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", last)).split("\n")

    def wait(self, condition, what="the screen"):
        def holds():
            assert self.process.poll() is None, self.process.stderr.read().decode()
            frame = self.frame()
            return frame != [""] and condition(frame)
        try:
            harness.wait_for(holds, LONG, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n" + "\n".join(self.frame())) from None
        return self.frame()

    def key(self, key):
        os.write(self.master, key.encode())

    def is_restored(self):
        self.read()
        return (termios.tcgetattr(self.slave) == self.before
                and self.text.rstrip().endswith("\033[?25h\033[?1049l"))

    def end(self):
        """Waits for its end: the exit status, and what it said."""
        harness.wait_for(lambda: self.read() or self.process.poll() is not None, LONG, "its end")
        err = self.process.stderr.read().decode()
        self.process.stderr.close()
        restored = self.is_restored()
        os.close(self.master)
        os.close(self.slave)
        assert restored, "the terminal is not as it was"
        return self.process.returncode, err
