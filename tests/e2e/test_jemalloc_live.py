# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc record and metrics: statistics of running processes."""
import http.server
import json
import os
import pathlib
import re
import signal
import socketserver
import subprocess
import sys
import threading
import time

import pytest

import harness
import prometheus

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
FULL = (DATA / "json_full.json").read_bytes()
LONG = 90  # seconds until something has failed


def jemalloc(*words, **keywords):
    return subprocess.run([harness.MEMOIR, "jemalloc", *map(str, words)], capture_output=True,
                          text=True, timeout=LONG,
                          check=False, **keywords)


def start(*words, **keywords):
    return subprocess.Popen([harness.MEMOIR, "jemalloc", *map(str, words)], stderr=subprocess.PIPE,
                            text=True, **keywords)


def snapshots(*paths):
    done = jemalloc("stats", "--json", *paths)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["snapshots"]


def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.02)


class Stub:
    """An agent that answers with what `answers` gives, in turn; the last one for ever."""

    def __init__(self, *answers, unix=None, chunked=False):
        stub = self
        self.answers, self.requests = list(answers), []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                stub.requests.append(self.path)
                status, body = stub.answers.pop(0) if len(stub.answers) > 1 else stub.answers[0]
                self.send_response(status)
                if chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                    self.end_headers()
                    for at in range(0, len(body), 50000):
                        piece = body[at:at + 50000]
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                    self.wfile.write(b"0\r\n\r\n")
                else:
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_):
                pass

        if unix:
            class Server(socketserver.ThreadingUnixStreamServer):
                def get_request(self):
                    request, _ = super().get_request()
                    return request, ("local", 0)
            self.server = Server(str(unix), Handler)
            self.address = f"unix:{unix}"
        else:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Lateness:
    """How late this machine wakes a thread that sleeps, at worst: a measure of what anybody can
    do."""

    def __enter__(self):
        self.worst, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.over.is_set():
            start = time.monotonic()
            time.sleep(0.02)
            self.worst = max(self.worst, time.monotonic() - start - 0.02)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def test_ten_snapshots_a_second_apart(tmp_path):
    for attempt in range(3):
        path = tmp_path / f"{attempt}.log"
        with Stub((200, FULL)) as stub, Lateness() as lateness:
            done = jemalloc("record", "-n", 10, "-o", path, f"{stub.address}/stats")
        assert done.returncode == 0 and stub.requests == ["/stats?J"] * 10
        found = snapshots(path)
        assert len(found) == 10 and all(s["stats"]["allocated"] == 34247808 for s in found)
        times = [s["time"] for s in found]
        assert times == sorted(times)
        # No drift: the last one is nine intervals behind the first.
        if all(abs(b - a - 1) <= 0.1 for a, b in zip(times, times[1:])) and abs(
                times[9] - times[0] - 9) <= 0.1:
            return
        # A machine that is busy elsewhere wakes nobody in time.
        assert lateness.worst > 0.02, times


@pytest.mark.parametrize("kind", ["port", "unix", "command", "pid", "chunked"])
def test_records_from_every_source(kind, tmp_path, monkeypatch):
    path = tmp_path / "out.log"
    words = ["record", "-i", "50ms", "-n", 3, "-o", path]
    if kind == "command":
        done = jemalloc(*words, "--", "cat", DATA / "json_full.json")
    elif kind == "unix":
        with Stub((200, FULL), unix=tmp_path / "socket") as stub:
            done = jemalloc(*words, "--text", "--options", "ab", stub.address)
        assert set(stub.requests) == {"/stats?ab"}
    elif kind == "pid":
        folder = tmp_path / "agents"
        folder.mkdir(mode=0o700)
        monkeypatch.setenv("MEMOIR_AGENT_FOLDER", str(folder))
        note = folder / f"jemalloc.{os.getpid()}"
        with Stub((200, FULL)) as stub:
            note.write_text(stub.address + "\n")
            try:
                done = jemalloc(*words, "--pid", os.getpid())
            finally:
                note.unlink()
        assert set(stub.requests) == {"/stats?J"}
    else:
        with Stub((200, FULL), chunked=kind == "chunked") as stub:
            done = jemalloc(*words, f"{stub.address}/other?Jble")
        assert set(stub.requests) == {"/other?Jble"}
    assert done.returncode == 0 and "3 snapshots" in done.stderr
    found = snapshots(path)
    assert [s["stats"]["allocated"] for s in found] == [34247808] * 3
    assert all(a["time"] < b["time"] for a, b in zip(found, found[1:]))
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_a_whole_last_record(sent, tmp_path):
    path = tmp_path / "out.log"
    # Each answer takes a while, so that most signals come in the middle of one.
    command = [sys.executable, "-c", "import sys,time; d=open(sys.argv[1]).read(); "
               "sys.stdout.write(d[:9000]); "
               "sys.stdout.flush(); time.sleep(0.1); sys.stdout.write(d[9000:])",
               DATA / "json_full.json"]
    process = start("record", "-i", "1ms", "-o", path, "--", *command)
    until(lambda: path.exists() and path.stat().st_size > 2 * len(FULL))
    process.send_signal(sent)
    err = process.communicate(timeout=LONG)[1]
    assert process.returncode == 0, err
    said = int(re.search(r"([\d,]+) snapshots", err)[1].replace(",", ""))
    assert len(snapshots(path)) == said >= 2
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("end", ["", ".zst", ".gz"])
def test_rotation_loses_nothing(end, tmp_path):
    answers = [(200, b'{"jemalloc":{"stats":{"allocated":%d}}}' % n) for n in range(1, 21)]
    path = tmp_path / f"out.log{end}"
    with Stub(*answers) as stub:
        done = jemalloc("record", "-i", "1ms", "-n", 20, "--rotate", "500", "-o", path,
                        stub.address)
    assert done.returncode == 0, done.stderr
    files = sorted(tmp_path.glob(f"out.log{end}.*"), key=lambda p: -int(p.suffix[1:])) + [path]
    assert len(files) > 3 and all(f.stat().st_size <= 500 for f in files)
    done = jemalloc("stats", "--json", *files)
    assert [s["stats"]["allocated"] for s in json.loads(done.stdout)["snapshots"]] == list(
        range(1, 21))
    with Stub(*answers) as stub:
        jemalloc("record", "-i", "1ms", "-n", 20, "--rotate", "500", "--keep", 2, "-o",
                 tmp_path / f"few{end}",
                 stub.address)
    assert {p.name for p in tmp_path.glob("few*")} == {f"few{end}", f"few{end}.1", f"few{end}.2"}


def test_record_says_what_is_wrong(tmp_path):
    path = tmp_path / "out.log"
    with Stub((503, b"no jemalloc in this process\n")) as stub:
        done = jemalloc("record", "-o", path, stub.address)
    assert (done.returncode == 1 and done.stderr.count("\n") == 1
            and "503: no jemalloc in this process" in done.stderr)
    with Stub((200, b"{}")) as stub:
        done = jemalloc("record", "-o", path, stub.address)
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "neither" in done.stderr
    # One that fails in the middle is said, and the others are kept.
    with Stub((200, FULL), (200, FULL[:-50]), (200, FULL)) as stub:
        done = jemalloc("record", "-n", 2, "-i", "20ms", "-o", path, stub.address)
    assert done.returncode == 1 and "cut off" in done.stderr and len(snapshots(path)) == 2
    for words, says, status in ((["--pid", "999999999"], "there is no process", 1),
                                (["--pid", os.getpid()], "has no agent", 1), ([], "from where?", 2),
                                (["http://:1/"], "is not an address", 2),
                                (["-i", "0", "x"], "--interval", 2),
                                (["--keep", "2", "x"], "--keep is for --rotate", 2),
                                (["--rotate", "many", "x"], "--rotate is a size", 2),
                                (["http://127.0.0.1:1/"], "Connection refused", 1),
                                (["--", "false"], "false failed with status 1", 1),
                                (["--", "/proc/nonexistent/x"], "No such file", 1)):
        done = jemalloc("record", "-o", tmp_path / "none", *words)
        assert (done.returncode == status and says in done.stderr
                and done.stderr.count("\n") == 1), done.stderr


# What the format allows: a name, labels, a value.
SAMPLE = re.compile(r'([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\n"])*",?)*)\})? '
                    r'(-?\d+(?:\.\d+)?(?:e[+-]\d+)?)')


def metrics(text):
    """{(name, labels): value}, and the grammar: HELP, TYPE, then all samples of that name."""
    found, types, current = {}, {}, None
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            current = line.split(" ")[2]
            assert current not in types
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current and kind in ("gauge", "counter")
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1] == current and current in types, line
            assert (match[1], match[2]) not in found, line
            found[match[1], match[2]] = float(match[3])
    for name, kind in types.items():
        assert (kind == "counter") == name.endswith("_total"), name
        assert re.fullmatch(r"jemalloc_[a-z0-9_]+", name)
    return found


@pytest.mark.parametrize("name",
                         ["json_full.json", "text_full.txt", "json_521.json", "text_1arena.txt",
                          "synthetic_36.log", "json_small.json", "text_merged_off.txt"])
def test_metrics(name, tmp_path):
    done = jemalloc("metrics", DATA / name)
    assert (done.returncode, done.stderr) == (0, "")
    found = metrics(done.stdout)
    prometheus.check(done.stdout)
    out = jemalloc("stats", "--json", DATA / name).stdout
    s = json.loads(out)["snapshots"][-1]
    for field in ("allocated", "active", "resident", "mapped", "retained", "metadata"):
        assert found.get((f"jemalloc_{field}_bytes", None)) == s["stats"].get(field)
    for arena in s["arenas"]:
        if arena["arena"] != "merged":
            label = f'arena="{arena["arena"]}"'
            for field in ("total_allocated", "mapped", "resident"):
                assert found.get((f"jemalloc_arena_{field}_bytes", label)) == arena.get(field)
            assert found.get(("jemalloc_arena_small_nmalloc_total", label)) == arena.get(
                "small_nmalloc")
    if s["whole"]:
        whole = next(a for a in s["arenas"] if a["arena"] == s["whole"])
        for b in whole["bins"]:
            if "size" in b:
                assert found["jemalloc_bin_curregs", f'size="{b["size"]}"'] == b["curregs"]
        for step in s["waterfall"]["steps"]:
            assert found["jemalloc_overhead_bytes", f'step="{step["name"]}"'] == step["bytes"]
    # The same from a running process, into a file.
    with Stub((200, (DATA / name).read_bytes())) as stub:
        assert jemalloc("metrics", "-o", tmp_path / "x.prom", stub.address).returncode == 0
    assert (tmp_path / "x.prom").read_text() == done.stdout


def test_the_rules_of_promtool_are_known():
    """They find the name that failed, so that what passes here passes there."""
    text = ("# HELP jemalloc_arena_sec_bytes x\n# TYPE jemalloc_arena_sec_bytes "
            "gauge\njemalloc_arena_sec_bytes 1\n")
    assert prometheus.lint(text) == ["jemalloc_arena_sec_bytes metric names should not contain "
                                     "abbreviated units"]
    assert "jemalloc_arena_small_extent_cache_bytes{" in jemalloc(
        "metrics", DATA / "json_full.json").stdout


def test_metrics_of_nothing(tmp_path):
    path = tmp_path / "x"
    path.write_text("{}")
    done = jemalloc("metrics", path)
    assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1


def test_options_may_follow_an_address_or_a_file(tmp_path):
    """A command's options are its own; whoever names a file or an address has none to come."""
    done = jemalloc("metrics", DATA / "json_full.json", "-o", tmp_path / "x.prom")
    assert (done.returncode, done.stderr) == (0, "") and (
        tmp_path / "x.prom").read_text().startswith("# HELP ")
    done = jemalloc("watch", DATA / "series_53.json", "--once", "-n", 4)
    assert done.returncode == 0 and "allocated 263 MiB" in done.stdout
    with Stub((200, FULL)) as stub:
        done = jemalloc("record", stub.address, "-n", 2, "-i", "10ms", "-o", tmp_path / "x.log")
    assert done.returncode == 0 and len(snapshots(tmp_path / "x.log")) == 2
    done = jemalloc("metrics", "sh", "-c", f"cat {DATA / 'json_full.json'}")
    assert done.returncode == 0 and done.stdout.startswith("# HELP ")
