# SPDX-License-Identifier: MIT OR Apache-2.0
"""A recording that is sent while it is written: memoir run --stream, memoir gather."""
import contextlib
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess

import pytest

import harness

MODES = ["run", "preload"]
GATHER = os.path.join(harness.BUILD, "memoir-gather")
LONG = 120  # seconds that anything may take on a busy machine


class Streaming:
    """stepwise.c, recorded and streamed.  Where it listens is learned from the collector's log."""

    def __init__(self, program, folder, mode, options=(), port=0, name="local.dat"):
        self.path, self.mode = str(folder / name), mode
        self.log_path = str(folder / f"{name}.log")
        env = dict(harness.ENVIRONMENT, MEMORY_PROFILER_OUTPUT=self.path,
                   MEMORY_PROFILER_LOG="info",
                   MEMORY_PROFILER_LOGFILE=self.log_path, MEMORY_PROFILER_ENABLE_SERVER="1",
                   MEMORY_PROFILER_BASE_SERVER_PORT=str(port), MEMOIR_SERVER_PATIENCE=str(LONG))
        env.update(options)
        command = [program]
        if mode == "run":
            command = [harness.MEMOIR, "run", "--", program]
        else:
            env["LD_PRELOAD"] = harness.LIBRARY
        self.process = subprocess.Popen(command, env=env, cwd=folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.expect("ready")
        except AssertionError:
            self.process.kill()
            raise AssertionError(f"{self.process.communicate(timeout=LONG)} {self.log()}") from None

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def expect(self, word):
        line = self.process.stdout.readline().decode().strip()
        assert line == word, f"{line!r} instead of {word}"

    def do(self, command):
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        if command != "q":
            self.expect("done")

    @property
    def where(self):
        found = harness.wait_for(lambda: re.search(r"sending the recording on (\S+)", self.log()),
                                 LONG, "a port")
        return found[1]

    @property
    def port(self):
        return int(self.where.rsplit(":", 1)[1])

    @property
    def pid(self):
        """The program's own, not its launcher's."""
        return int(re.search(r"recording (\d+) to ", self.log())[1])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def end(self):
        """Waits until the program has ended and its file is complete."""
        out, err = self.process.communicate(timeout=LONG)
        harness.wait_finished(self.path, LONG)
        return err.decode()

    def content(self):
        with open(self.path, "rb") as file:
            return file.read()


@pytest.fixture
def streaming(compile_program, tmp_path):
    """streaming(mode, …): the program, which is killed if the test leaves it running."""
    with contextlib.ExitStack() as stack:
        def start(mode, folder=tmp_path, **keywords):
            target = Streaming(compile_program("stepwise"), folder, mode, **keywords)

            def stop():
                if target.process.poll() is None:
                    harness.kill(target.pid)
                    target.process.kill()
                    target.process.communicate(timeout=LONG)
            stack.callback(stop)
            return target
        yield start


class Gathering:
    """memoir gather, writing into a folder of its own."""

    def __init__(self, folder, *arguments, command=(GATHER,)):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.process = subprocess.Popen([*command, *map(str, arguments)], env=harness.ENVIRONMENT,
                                        cwd=folder, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_begun(self):
        """Until something was received."""
        harness.wait_for(lambda: any(name.endswith(".part") and (self.folder / name).stat().st_size
                                     for name in os.listdir(self.folder)), LONG, "the first bytes")
        return self

    def end(self, status=0):
        out, err = self.process.communicate(timeout=LONG)
        self.out, self.err = out.decode(), err.decode()
        assert self.process.returncode == status, f"{self.process.returncode}: {out} {err}"
        return self

    def file(self):
        """The one file that there is."""
        names = os.listdir(self.folder)
        assert len(names) == 1, names
        return self.folder / names[0]

    def content(self):
        return self.file().read_bytes()


@pytest.fixture
def gathering(tmp_path):
    with contextlib.ExitStack() as stack:
        count = 0

        def start(*arguments, **keywords):
            nonlocal count
            count += 1
            receiver = Gathering(tmp_path / f"gathered{count}", *arguments, **keywords)

            def stop():
                if receiver.process.poll() is None:
                    receiver.process.kill()
                receiver.process.communicate(timeout=LONG)
            stack.callback(stop)
            return receiver
        yield start


@pytest.fixture
def reserved():
    """A port that nobody else gets and nobody listens on: a collector may still take it."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def allocations(path, *functions):
    stacks = harness.stacks_of(str(path))
    return sum(s["allocations"] for s in stacks if set(functions) & set(s["functions"]))


# What the program does once a client is there, and what is then known of it.
SCENARIOS = {
    "full": (["a", "a", "q"], 3),
    "immediate exit": (["q"], 1),
    "killed at once": (["kill"], 1),
    "partial, then killed": (["a", "kill"], 2),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios(streaming, gathering, mode, scenario):
    steps, expected = SCENARIOS[scenario]
    target = streaming(mode)
    receiver = gathering(target.where).wait_begun()
    for step in steps:
        if step == "kill":
            target.kill()
        else:
            target.do(step)
    target.end()
    receiver.end()
    assert receiver.content() == target.content()
    assert receiver.file().name == "local.dat"
    assert receiver.file().stat().st_mode & 0o777 == 0o600
    assert allocations(receiver.file(), "first", "step") == expected
    assert "the whole recording of stepwise (process " in receiver.out and receiver.err == ""


@pytest.mark.parametrize("mode", MODES)
def test_several_clients_early_and_late(streaming, gathering, mode):
    target = streaming(mode)
    early = [gathering(target.where).wait_begun() for _ in range(3)]
    target.do("m 20000")
    late = gathering(target.where, command=(harness.MEMOIR, "gather")).wait_begun()
    target.do("a")
    target.do("q")
    target.end()
    for receiver in [*early, late]:
        assert receiver.end().content() == target.content()
    assert allocations(late.file(), "first", "step", "many") == 20002


class Client:
    """The protocol as docs/stream.md has it, for clients that misbehave."""

    def __init__(self, port):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(LONG)
        self.socket.connect(("127.0.0.1", port))

    def read(self, size):
        data = b""
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            assert piece, "the stream ends early"
            data += piece
        return data

    def texts(self, data):
        while data:
            size = shift = used = 0
            for byte in data:
                size |= (byte & 0x7f) << shift
                shift += 7
                used += 1
                if byte < 0x80:
                    break
            yield data[used:used + size]
            data = data[used + size:]

    def hello(self):
        magic, version, size = struct.unpack("<8sII", self.read(16))
        assert (magic, version) == (b"MEMOIRst", 1)
        body = self.read(size)
        self.id, self.pid, self.port = struct.unpack("<16sII", body[:24])
        self.name, self.executable, self.host, self.arguments = self.texts(body[24:])

    def recording(self):
        data = b""
        while True:
            kind, size = struct.unpack("<II", self.read(8))
            body = self.read(size)
            if kind == 2:
                assert struct.unpack("<QI", body) == (len(data), 1)
                assert self.socket.recv(1) == b""
                return data
            assert kind == 1
            data += body


@pytest.mark.parametrize("mode", MODES)
def test_slow_client(streaming, gathering, mode):
    """One that does not read holds up neither the program, nor its file, nor others; then it still
    gets all."""
    target = streaming(mode)
    slow = Client(target.port)
    receiver = gathering(target.where).wait_begun()
    target.do("m 300000")
    target.do("q")
    harness.wait_finished(target.path, LONG)
    assert receiver.end().content() == target.content()
    slow.hello()
    assert slow.recording() == target.content()
    slow.socket.close()
    target.end()
    assert (slow.id == target.content()[16:32] and slow.pid == target.pid
            and slow.port == target.port)
    assert slow.name == b"local.dat" and slow.executable.endswith(b"/stepwise")
    assert slow.host.decode() == socket.gethostname()
    assert slow.arguments.endswith(b"/stepwise\0")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_process_1(compile_program, gathering, tmp_path):
    """The end of process 1 is its collector's end too: clients get the rest before it."""
    if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True).returncode:
        pytest.skip("no process namespaces")
    log, path = tmp_path / "log", tmp_path / "local.dat"
    options = {"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": path,
               "MEMORY_PROFILER_LOG": "info",
               "MEMORY_PROFILER_LOGFILE": log, "MEMORY_PROFILER_ENABLE_SERVER": "1",
               "MEMORY_PROFILER_BASE_SERVER_PORT": "0"}
    process = subprocess.Popen(["unshare", "-pf", "--kill-child", "--mount-proc", "env",
                                *(f"{name}={value}" for name, value in options.items()),
                                compile_program("stepwise")], env=harness.ENVIRONMENT,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        where = harness.wait_for(
            lambda: re.search(r"sending the recording on (\S+)", log.read_text()), LONG)[1]
        receiver = gathering(where).wait_begun()
        process.communicate(b"a\nq\n", timeout=LONG)
    finally:
        process.kill()
    receiver.end()
    assert receiver.content() == path.read_bytes()
    assert allocations(receiver.file(), "first", "step") == 2


@pytest.mark.parametrize("script", ["exec stepwise", "stepwise; exit $?"], ids=["exec", "child"])
def test_family(compile_program, gathering, udp_port, tmp_path, script):
    """Every process that is recorded is sent, on a port of its own; one that is gone at once may be
    missed."""
    receiver = gathering("--port", udp_port, "--json")
    folder = tmp_path / "here"
    command = [harness.MEMOIR, "run", "--children", "--stream", "--stream-port", "0", "--announce",
               "--announce-port", str(udp_port), "-o", f"{folder}/", "--", "bash", "-c",
               'read; ' + script.replace("stepwise", '"$0"'), compile_program("stepwise")]
    process = subprocess.Popen(command, env=harness.ENVIRONMENT, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def received(word):
        return [name for name in os.listdir(receiver.folder) if word in name]
    try:
        harness.wait_for(lambda: received("bash"), LONG, "the shell's")
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"ready\n"
        harness.wait_for(lambda: received("stepwise"), LONG, "its")
        process.communicate(b"q\n", timeout=LONG)
        harness.wait_for(lambda: not received(".part"), LONG, "all")
    finally:
        process.kill()
    receiver.process.send_signal(signal.SIGINT)
    said = [json.loads(line) for line in receiver.end().out.splitlines()]
    assert {s["outcome"] for s in said} == {"whole"}
    assert {os.path.basename(s["executable"]) for s in said} == {"bash", "stepwise"}
    for name in os.listdir(receiver.folder):
        assert (receiver.folder / name).read_bytes() == (folder / name).read_bytes()


def test_recording_that_could_not_be_written(compile_program, gathering, tmp_path):
    """A full disk: who receives it has the same as the disk, and is told."""
    log = tmp_path / "log"
    options = {"MEMORY_PROFILER_LOG": "info", "MEMORY_PROFILER_LOGFILE": str(log)}
    script = f'mount -t tmpfs -o size=256k none "{tmp_path}/small" && exec "$@"'
    if not harness.may_mount():
        pytest.skip("may not mount")
    (tmp_path / "small").mkdir()
    process = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script, "sh", harness.MEMOIR, "run", "--stream",
         "--stream-port", "0", "--no-write-binaries", "-o", f"{tmp_path}/small/full.dat",
         "--", compile_program("stepwise")], env=dict(harness.ENVIRONMENT, **options),
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"ready\n"
        where = harness.wait_for(
            lambda: re.search(r"sending the recording on (\S+)", log.read_text()), LONG)[1]
        receiver = gathering(where).wait_begun()
        _, err = process.communicate(b"m 1000000\nq\n", timeout=LONG)
    finally:
        process.kill()
    assert b"No space left on device" in err
    receiver.end(status=1)
    assert "the collector could not write its end; full.dat has " in receiver.err
    assert receiver.file().stat().st_size <= 256 << 10
    assert allocations(receiver.file(), "many") > 1000


def test_client_that_never_reads_is_given_up(streaming):
    target = streaming("run", options={"MEMOIR_SERVER_PATIENCE": "1"})
    idle = Client(target.port)
    target.do("m 300000")
    target.do("q")
    target.end()  # memoir run itself has left
    idle.socket.close()


def test_interrupt_ends_the_waiting(streaming):
    target = streaming("run")
    idle = Client(target.port)
    target.do("q")
    readable = b""
    while b"^C ends that" not in readable:
        assert select.select([target.process.stderr], [], [], LONG)[0]
        readable += os.read(target.process.stderr.fileno(), 65536)
    target.process.send_signal(signal.SIGINT)
    assert target.process.wait(LONG) == 0
    idle.socket.close()


@pytest.mark.parametrize("mode", MODES)
def test_port_taken(streaming, gathering, mode):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        target = streaming(mode, port=taken)
        assert taken < target.port <= taken + 99
        receiver = gathering(target.where).wait_begun()
        target.do("q")
        target.end()
        assert receiver.end().content() == target.content()


def test_no_port_at_all(compile_program, record):
    recording = record([compile_program("exits"), "exit"],
                       options=["--stream", "--stream-address", "192.0.2.1"])
    assert b"memoir: the recording is not sent: cannot listen on 192.0.2.1: " in recording.stderr
    assert recording.total("make")["allocations"] == 1000
    recording = record([compile_program("exits"), "exit"],
                       options=["--stream", "--stream-port", "70000"])
    assert b"memoir: the recording is not sent: there is no port 70000\n" in recording.stderr


@pytest.mark.parametrize("mode", MODES)
def test_client_killed(streaming, gathering, mode):
    target = streaming(mode)
    victim = gathering(target.where).wait_begun()
    victim.process.kill()
    victim.process.wait(LONG)
    target.do("m 20000")
    second = gathering(target.where).wait_begun()
    target.do("q")
    target.end()
    assert second.end().content() == target.content()
    assert [name for name in os.listdir(victim.folder) if not name.endswith(".part")] == []


@pytest.mark.parametrize("mode", MODES)
def test_broken_stream(streaming, gathering, mode):
    """The collector dies too: what was received is a recording that was cut."""
    target = streaming(mode)
    receiver = gathering(target.where).wait_begun()
    target.do("m 20000")
    part = harness.wait_for(
        lambda: [f for f in receiver.folder.iterdir() if b"stepwise" in f.read_bytes()],
                            LONG, "what the program is")
    assert len(part) == 1
    for pid in harness.holders(target.path):
        os.kill(pid, signal.SIGKILL)
    receiver.end(status=1)
    lines = receiver.err.splitlines()
    assert (len(lines) == 1 and "the connection ended before the recording did; local.dat has " in
            lines[0]), lines
    assert target.content().startswith(receiver.content())
    assert harness.ask("info", "--json", str(receiver.file()))
    harness.kill(target.pid)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_a_signal(streaming, gathering, number):
    target = streaming("run")
    receiver = gathering(target.where).wait_begun()
    receiver.process.send_signal(number)
    receiver.end()
    assert f"{target.where}: stopped; local.dat has " in receiver.out and receiver.err == ""
    assert target.content().startswith(receiver.content())
    harness.ask("info", "--json", str(receiver.file()))
    target.do("q")
    target.end()


def test_waits_for_a_program_to_start(streaming, gathering, reserved):
    receiver = gathering(f":{reserved}", "--wait", LONG)
    assert receiver.process.poll() is None
    target = streaming("run", port=reserved)
    assert target.port == reserved
    receiver.wait_begun()
    target.do("q")
    target.end()
    assert receiver.end().content() == target.content()


def test_nobody_there(gathering, reserved):
    receiver = gathering(f"127.0.0.1:{reserved}", "--wait", "0").end(status=1)
    assert receiver.err == f"memoir: 127.0.0.1:{reserved}: no sender there: Connection refused\n"
    assert os.listdir(receiver.folder) == []


@pytest.mark.parametrize("bytes, error", [
    (b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is not Memoir's stream"),
    (b"MEMOIRst" + struct.pack("<II", 9, 40),
     "at offset 8: version 9 of the stream is not known here"),
    (b"MEMOIRst" + struct.pack("<II", 1, 1 << 30),
     "at offset 12: a hello of 1073741824 bytes makes no sense"),
    (b"MEMOIRst" + struct.pack("<II", 1, 28) + bytes(28) + struct.pack("<II", 1, 1 << 30),
     "a frame of 1073741824 bytes is too large"),
    (b"MEMOIRst" + struct.pack("<II", 1, 28) + bytes(28) + struct.pack("<II", 1, 64) + bytes(64),
     "what comes is not a recording"),
])
def test_not_a_stream(gathering, bytes, error):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LONG)
        receiver = gathering(f"127.0.0.1:{server.getsockname()[1]}")
        client, _ = server.accept()
        client.sendall(bytes)
        receiver.end(status=1)
        client.close()
    assert error in receiver.err and len(receiver.err.splitlines()) == 1, receiver.err
    assert os.listdir(receiver.folder) == []


@pytest.fixture
def udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("", 0))
        yield held.getsockname()[1]


@pytest.mark.parametrize("mode", MODES)
def test_announcements(streaming, gathering, udp_port, mode):
    """Without an address; a second receiver hears of it too, and one recording is received once."""
    receivers = [gathering("--count", "2", "--port", udp_port) for _ in range(2)]
    options = {"MEMORY_PROFILER_ENABLE_BROADCASTS": "1", "MEMOIR_BROADCAST_PORT": str(udp_port)}
    for name in ("one.dat", "two.dat"):
        target = streaming(mode, options=options, name=name)
        for receiver in receivers:
            harness.wait_for(lambda: any(f.startswith(name) for f in os.listdir(receiver.folder)),
                             LONG, name)
        target.do("q")
        target.end()
        for receiver in receivers:
            harness.wait_for(lambda: name in os.listdir(receiver.folder), LONG, name)
            assert (receiver.folder / name).read_bytes() == target.content()
    for receiver in receivers:
        receiver.end()
        assert sorted(os.listdir(receiver.folder)) == ["one.dat", "two.dat"]


def test_names(streaming, tmp_path, gathering):
    """The recording's own name never replaces a file; the name that was asked for does."""
    target = streaming("run")
    here = Gathering(tmp_path / "same", target.where, command=(GATHER, "-o", f"{tmp_path}/"))
    folder = tmp_path / "gathered1"
    folder.mkdir()
    (folder / "x.dat").write_text("old")
    (folder / "y.dat").write_text("other")
    named = gathering(target.where, "--output", "x.dat", "--json")
    assert named.folder == folder
    harness.wait_for(lambda: any(f.startswith("x.dat.") for f in os.listdir(named.folder)), LONG)
    harness.wait_for(lambda: any(f.endswith(".part") for f in os.listdir(tmp_path)), LONG)
    busy = gathering(target.where, "-o", target.path).end(status=1)
    assert f"{target.path}: a recording is being written to it\n" in busy.err
    target.do("q")
    target.end()
    here.end()
    assert (tmp_path / "local.1.dat").read_bytes() == target.content()
    said = json.loads(named.end().out)
    assert (named.folder / "x.dat").read_bytes() == target.content()
    assert sorted(os.listdir(named.folder)) == ["x.dat", "y.dat"]
    assert said["outcome"] == "whole" and said["path"] == os.path.realpath(named.folder / "x.dat")
    assert said["size"] == len(target.content()) and said["pid"] == target.pid
    assert said["arguments"][0].endswith("/stepwise") and said["from"] == target.where


@pytest.mark.parametrize("mode", MODES)
def test_no_file_here(streaming, gathering, tmp_path, mode):
    """An empty output: only who receives it has it, under the name that it would have."""
    folder = tmp_path / "here"
    folder.mkdir()
    target = streaming(mode, folder=folder, options={"MEMORY_PROFILER_OUTPUT": ""})
    receivers = [gathering(target.where).wait_begun() for _ in range(2)]
    target.do("a")
    target.do("q")
    _, err = target.process.communicate(timeout=LONG)
    one, other = [receiver.end() for receiver in receivers]
    assert one.content() == other.content()
    assert re.fullmatch(rf"memory-profiling_stepwise_\d+_{target.pid}\.dat", one.file().name)
    assert allocations(one.file(), "first", "step") == 2
    assert os.listdir(folder) == ["local.dat.log"]
    if mode == "run":
        assert re.search(rb"memoir: recorded \d+ events \(.*\), sent to 2 clients and kept "
                         rb"nowhere else\n", err)


def test_no_file_and_no_stream(compile_program):
    run = harness.execute([harness.MEMOIR, "run", "-o", "", "--", compile_program("exits"), "exit"])
    assert run.status == 1
    assert run.stderr == b"memoir: the output has no name, and the recording is not sent either\n"
    run = harness.execute([compile_program("exits"), "exit"],
                          env={"LD_PRELOAD": harness.LIBRARY, "MEMORY_PROFILER_OUTPUT": ""})
    assert run.status == 21 and b"the output has no name" in run.stderr


def test_switched_off_at_the_start(streaming):
    """Nothing listens before there is anything to record."""
    target = streaming("preload", options={"MEMORY_PROFILER_DISABLE_BY_DEFAULT": "1"})
    target.do("a")
    assert "sending" not in target.log()
    os.kill(target.pid, signal.SIGUSR1)
    client = Client(target.port)
    target.do("a")
    target.do("q")
    client.hello()
    assert client.recording() == target.content()
    client.socket.close()
    target.end()


@pytest.mark.parametrize("arguments, error", [
    (["nonsense:port"], "'nonsense:port' is not HOST:PORT"),
    (["localhost:0"], "'localhost:0' is not HOST:PORT"),
    (["-o", ""], "an empty name for the output"),
    (["--count", "1", "localhost:1"], "--count is for senders that announce themselves"),
    (["--cuont", "1"], "there is no option --cuont; did you mean --count?"),
])
@pytest.mark.parametrize("command", [[GATHER], [harness.MEMOIR, "gather"]],
                         ids=["alone", "command"])
def test_wrong_usage(command, arguments, error):
    run = harness.execute([*command, *arguments])
    assert run.status == 2 and error in run.stderr.decode() and len(run.stderr.splitlines()) == 1


def test_standalone_needs_only_libc():
    dynamic = subprocess.run(["readelf", "-d", "-W", GATHER], capture_output=True, text=True,
                             check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    assert [name for name in needed if not name.startswith(("libc.so", "ld-linux"))] == []
    assert harness.execute([GATHER, "--help"]).stdout.startswith(b"memoir-gather [OPTION")
    assert harness.execute([GATHER, "--version"]).stdout.startswith(b"memoir-gather ")
