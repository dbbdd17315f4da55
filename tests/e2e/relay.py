# SPDX-License-Identifier: MIT OR Apache-2.0
"""A TCP connection's way through a test: it can be cut, so that nobody answers any more, and have
TLS at its near end."""
import contextlib
import select
import socket
import ssl
import threading


class Relay:
    """with Relay(port) as r: r.port leads to it, until r.cut() and again from r.mend() on."""

    def __init__(self, to, tls=None, near="127.0.0.1"):
        self.to, self.tls, self.near, self.heads = to, tls, near, b""
        self.carried = None  # connections that are still carried; others end without an answer
        self.way = threading.Event()
        self.way.set()
        self.over = threading.Event()

    def __enter__(self):
        self.socket = socket.create_server((self.near, 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.accept)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.way.set()
        self.thread.join()
        self.socket.close()

    def cut(self):
        """Connections are taken, and what comes over them goes nowhere."""
        self.way.clear()

    def mend(self):
        self.way.set()

    def accept(self):
        while not self.over.is_set():
            with contextlib.suppress(TimeoutError, OSError):
                near, _ = self.socket.accept()
                threading.Thread(target=self.carry, args=(near,), daemon=True).start()

    def carry(self, near):
        with contextlib.suppress(OSError, ssl.SSLError):
            if self.carried is not None:
                self.carried -= 1
                if self.carried < 0:
                    near.recv(65536)
                    near.close()
                    return
            if self.tls:
                near = self.tls.wrap_socket(near, server_side=True)
            with near, socket.create_connection(("127.0.0.1", self.to)) as far:
                while not self.over.is_set():
                    waiting = self.tls and near.pending()
                    ready = [near] if waiting else select.select([near, far], [], [], 0.1)[0]
                    for one in ready:
                        data = one.recv(65536)
                        if not data:
                            return
                        self.way.wait()
                        if one is near and len(self.heads) < 1 << 20:
                            self.heads += data
                        (far if one is near else near).sendall(data)
