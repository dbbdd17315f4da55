# SPDX-License-Identifier: MIT OR Apache-2.0
"""The token and a browser: from the address into a cookie."""
import http.server
import threading
import urllib.parse

import pytest

import harness
from test_page import run_walk
from web import Server

pytestmark = pytest.mark.xdist_group("browser")


def test_the_token_becomes_a_cookie(tmp_path):
    recording = str(tmp_path / "true.dat")
    assert harness.record(["true"], recording).status == 0

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = f'<a href="{first.address}">there</a>'.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    with Server("-i", "127.0.0.1", recording, env={"MEMOIR_TOKEN": "first-token"}) as first, \
            Server(recording, env={"MEMOIR_TOKEN": "second-token"}) as second, \
            http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        seen = run_walk("token_walk.mjs", {"first": first.address, "second": second.address,
                                           "elsewhere": f"http://localhost:{elsewhere.server_port}/"}, tmp_path)
        elsewhere.shutdown()
        assert seen["without"] == 401
        assert "token" not in urllib.parse.urlsplit(seen["address"]).query and seen["list"] == 200
        assert (seen["script"] == "" and seen["cookies"] ==
                [{"name": f"memoir_token_{first.port}", "httpOnly": True, "sameSite": "Strict"}])
        assert seen["both"] == [200, 200] and seen["from_elsewhere"] == 200
