# SPDX-License-Identifier: MIT OR Apache-2.0
"""The page Live of memoir server, used in a browser on programs that run with the agent in them.

MEMOIR_SHOTS=DIR keeps the screenshots; MEMOIR_WALKS="gauges purge" walks nothing else.
"""
import http.server
import os
import re
import threading
import urllib.parse

import pytest

from agent import JEMALLOC, LIBRARY, Target
from test_page import run_walk, walked
from web import Server

pytestmark = [pytest.mark.xdist_group("browser"),
              pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                 reason="no jemalloc, or no agent")]
MIB = 1 << 20
CONF = "prof:true,prof_active:false,lg_prof_sample:12,dirty_decay_ms:-1,muzzy_decay_ms:-1"


class Hand(http.server.HTTPServer):
    """Does what the walk asks for: lines for the program, and the end of the other one."""

    def __init__(self, target, plain):
        self.target, self.plain = target, plain
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path == "/kill":
            self.server.plain.process.kill()
            self.server.plain.process.wait()
            body = b"done"
        else:
            body = self.server.target.do(urllib.parse.unquote(query)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def seen(compile_program, tmp_path_factory):
    folder, empty = tmp_path_factory.mktemp("live"), tmp_path_factory.mktemp("empty")
    out = os.environ.get("MEMOIR_SHOTS") or folder
    program = compile_program("agent_target", flags=("-O1", "-g"))
    with Target([program], folder, CONF) as target, Target([program], folder) as plain, \
            Server(env={"XDG_RUNTIME_DIR": str(folder)}) as server, Server(
                env={"XDG_RUNTIME_DIR": str(empty)}) as other, \
            Hand(target, plain) as hand:
        found = run_walk("live_walk.mjs", {
            "address": server.address.rstrip("/"), "empty": other.address.rstrip("/"),
            "id": str(target.pid), "plain": str(plain.pid),
            "hand": f"http://127.0.0.1:{hand.server_address[1]}", "folder": str(folder),
            "only": os.environ.get("MEMOIR_WALKS", "").split() or None}, out)
        hand.shutdown()
        return {**found, "pid": target.pid, "plain_pid": plain.pid, "folder": folder}


def test_column(seen):
    """The view is there where a program runs with the agent, and only there."""
    is_ = walked(seen, "column")
    assert (is_["current"] == "Live" and is_["views"][0] == "Recordings"
            and "Flame graph" not in is_["views"])
    assert sorted(is_["programs"]) == sorted(f"agent_target ({pid})"
                                             for pid in (seen["pid"], seen["plain_pid"]))
    assert "Live" not in is_["without"] and "Statistics" in is_["without"]
    assert is_["nothing"] == "No program of yours runs with the agent"


def test_gauges(seen):
    """Within 1 % of what the program itself reads (the walk compares), with exact numbers for the
    pointer."""
    is_ = walked(seen, "gauges")
    assert is_["labels"] == ["Allocated", "Active", "Resident", "Mapped", "Retained",
                             "Fragmentation", "Dirty", "Metadata"]
    assert all(re.fullmatch(r"[\d.]+ ([KMG]i)?B|[\d.]+ %", text)
               for text in is_["values"]), is_["values"]
    shown, computed = is_["fragmentation"]
    assert abs(shown - computed) < 0.01 and re.fullmatch(r"[\d,]+ bytes", is_["title"])
    assert (f"process {seen['pid']} · http://127.0.0.1:" in is_["head"]
            and "jemalloc 5." in is_["head"])
    assert is_["arenas"] and is_["arenas"][0].startswith("0")


def test_moving(seen):
    """A point each second; a pause holds the picture and loses nothing; what is chosen is in the
    address."""
    is_ = walked(seen, "moving")
    assert is_["points"] == 1 and is_["paused"] == "true" and is_["stays"]
    assert (re.fullmatch(
        rf"#/live/{seen['pid']}\?curves=allocated\+active\+resident\+mapped&window=300&arena=0",
        is_["hash"]))
    assert is_["arena"] == "0" and is_["back"] == ""
    assert re.fullmatch(r"Memory: allocated .*B, active .*B, resident .*B, mapped .*B now",
                        is_["image"])


def test_purge(seen):
    is_ = walked(seen, "purge")
    assert re.fullmatch(r"✓ resident [\d.]+ MiB → [\d.]+ MiB", is_["said"])
    shown, own = is_["resident"]
    assert abs(shown - own) <= own / 100 + MIB


def test_switches(seen):
    is_ = walked(seen, "switches")
    assert len(is_) == 8
    for name, (said, value) in is_.items():
        assert (said.startswith("✓ ") and said.endswith("true" if name.endswith(" on") else "false")
                and value == name.endswith(" on")), (name, said, value)


def test_controls(seen):
    is_ = walked(seen, "controls")
    assert (is_["prof/reset"] == "✓ prof.lg_sample = 11"
            and "a sample every 2.00 KiB" in is_["profiling"])
    assert is_["prof/dump"].startswith(f"✓ path = {seen['folder']}/there.heap, size = ")
    assert is_["dirty_decay_ms"] == "✓ dirty_decay_ms = -1, arenas = 1, default = false"
    assert (is_["max_background_threads"] == "✓ max_background_threads = 3"
            and is_["mutexes/reset"] == "✓ done")
    assert (is_["mallctl"] == "✓ arena.0.muzzy_decay_ms = -1"
            and is_["decay"].startswith("✓ resident "))
    assert (is_["prof/recent"] == "✓ experimental.prof_recent.alloc_max = 20"
            and is_["prof/log/start"].startswith("✓ "))
    assert re.match(rf"✓ saved as agent_target\.{seen['pid']}\.prof-log-stop\.json, ",
                    is_["prof/log/stop"])
    assert (len(is_["all"]) == 17 and set(is_) - {"profiling", "all", "wrong", "missing"} < set(
        is_["all"]))
    assert (is_["wrong"] == ["lg_sample is a number from 0 to 63", "alert"]
            and is_["missing"] is True)


def test_snapshot_and_open(seen):
    is_ = walked(seen, "snapshot")
    assert re.fullmatch(r"#/statistics/[0-9a-f]{32}", is_["hash"])
    assert (re.fullmatch(rf"agent_target\.{seen['pid']}\.\d+\.json", is_["title"])
            and is_["allocated"].endswith("B"))


def test_dump_and_open(seen):
    """One click: the heap profile, with the functions of the program."""
    is_ = walked(seen, "dump")
    assert re.match(r"#/heap/[0-9a-f]{32}", is_["hash"])
    assert {"main", "keep_small", "keep_large"} <= set(is_["names"])


def test_without_profiling(seen):
    """409: what to do is said where it was asked."""
    is_ = walked(seen, "unprofiled")
    for text in (is_["said"], is_["active"], is_["dump"]):
        assert "MALLOC_CONF=prof:true" in text, is_
    assert is_["hash"] == f"#/live/{seen['plain_pid']}" and is_["other"] == f"#/live/{seen['pid']}"


def test_the_program_ends(seen):
    is_ = walked(seen, "death")
    assert re.match(rf"It cannot be followed any more: process {seen['plain_pid']} has ended\. "
                    r"What is shown is of \d\d:\d\d:\d\d\.", is_["said"])
    assert is_["disabled"] > 10 and is_["value"] > 0
    assert "there is no agent '1'" in is_["nobody"]


def test_looks(seen):
    """Nothing wider than the window, nothing that axe finds serious, nothing on the console but
    refusals."""
    walked(seen, "looks")
    assert seen["overflow"] == []
    assert set(seen["violations"]) == {"live-1280", "live-2560", "death"}
    assert {where: found for where, found in seen["violations"].items() if found} == {}
    assert [text for text in seen["problems"] if not re.search(r"status of (400|404|409|502)",
                                                               text)] == []
