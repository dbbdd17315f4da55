# SPDX-License-Identifier: MIT OR Apache-2.0
"""Heap profiles from the agent, with the clients that people have: jeprof, go tool pprof."""
import itertools
import json
import os
import re
import shutil
import subprocess
import threading
import xml.etree.ElementTree as ElementTree

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target, memoir
from pprof import Profile

pytestmark = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                                reason="no jemalloc, or no agent")
PROF = "prof:true,prof_accum:true,lg_prof_sample:12"


@pytest.fixture
def program(compile_program):
    return compile_program("agent_target")


@pytest.fixture
def target(program, tmp_path):
    with Target([program], tmp_path, PROF, env={"MEMOIR_AGENT_COMPAT": "1"}) as target:
        assert target.do("keep 5000") == "done"
        yield target


def jeprof(tmp_path, *words):
    if not shutil.which("jeprof"):
        pytest.skip("no jeprof")
    return subprocess.run(["jeprof", *words], capture_output=True, text=True, timeout=LONG,
                          env=dict(harness.ENVIRONMENT, HOME=str(tmp_path),
                                   JEPROF_TMPDIR=str(tmp_path)))


@pytest.mark.usefixtures("each_jemalloc")
def test_dumps_as_libmtev_answers(target, program, tmp_path):
    """Its bodies, byte for byte, and its dump."""
    def body(query=""):
        answer = target.get(f"/mtev/heap_profile{query}")
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/plain"
        return answer.body
    assert body() == b"opt.prof: true\nprof.active: true\nprof.thread_active_init: true\n"
    assert body("?active=false") == b"Profiling is deactivated\n"
    assert target.read("prof.active") == 0
    assert body("?active=true&trigger_dump=true") == b"Profiling is activated\n"
    assert target.read("prof.active") == 1
    assert body("?active=ture") == b"Profiling is deactivated\n"
    dump = target.get("/mtev/heap_profile?trigger_dump=true")
    assert dump.headers["Content-Type"] == "application/x-jemalloc-heap-profile"
    (tmp_path / "dump.heap").write_bytes(dump.body)
    done = jeprof(tmp_path, "--text", program, str(tmp_path / "dump.heap"))
    assert "keep_small" in done.stdout, done
    assert target.get("/mtev/memory.json").json["jemalloc"]["version"]


@pytest.mark.usefixtures("each_jemalloc")
def test_dumps_not_without_being_allowed(program, tmp_path):
    with Target([program], tmp_path, PROF) as target:
        assert target.get("/mtev/heap_profile").status == 200
        for query in ("active=false", "trigger_dump=true"):
            assert target.get(f"/mtev/heap_profile?{query}").status == 405
            assert target.post(f"/mtev/heap_profile?{query}", token=None).status == 401
        assert target.post("/mtev/heap_profile?active=false").body == b"Profiling is deactivated\n"
    with Target([program], tmp_path, env={"MEMOIR_AGENT_COMPAT": "1"}) as target:
        assert target.get("/mtev/heap_profile").text.startswith(
            'opt.prof: false\n# needs MALLOC_CONF="prof:true"\n')
        assert target.get("/mtev/heap_profile?active=true").status == 409


@pytest.mark.usefixtures("each_jemalloc")
def test_jeprof_without_a_binary(target, tmp_path):
    done = jeprof(tmp_path, "--text", f"{target.address}/pprof/heap")
    assert (re.search(r"\bkeep_small$", done.stdout, re.M)
            and re.search(r"\bmain$", done.stdout, re.M)), done
    assert target.get("/pprof/symbol").body == b"num_symbols: 1\n"
    address = re.search(rb"^@.* (0x[0-9a-f]+)$", target.get("/pprof/heap").body, re.M)[1]
    named = b"0x%016x\t_start\n" % (int(address, 16) - 1)
    asked = hex(int(address, 16) - 1).encode()
    assert target.post("/pprof/symbol", asked + b"+0x10", token=None).body == named
    assert target.get("/pprof/symbol?" + asked.decode()).body == named
    assert target.post("/pprof/symbol", b"nothing", token=None).status == 400
    assert target.get("/pprof/cmdline").text.splitlines() == [target.process.args[0]]


@pytest.mark.usefixtures("each_jemalloc")
def test_go_pprof(target, program, tmp_path):
    profile = Profile(target.get("/debug/pprof/heap?gc=1&debug=0").body)
    assert profile.types == [("alloc_objects", "count"), ("alloc_space", "bytes"),
                             ("inuse_objects", "count"),
                             ("inuse_space", "bytes")]
    assert profile.default == "inuse_space" and profile.period == 4096
    assert not any("libjemalloc" in profile.strings[m[5]] for m in profile.mappings)
    dump = target.get("/pprof/heap").body
    (tmp_path / "dump.heap").write_bytes(dump)
    for column, option in (1, "--alloc_space"), (2, "--inuse_objects"), (3, "--inuse_space"):
        total = jeprof(tmp_path, "--text", "--show_bytes", option, program,
                       str(tmp_path / "dump.heap"))
        assert abs(profile.total(column) - int(re.search(r"Total: (\d+)", total.stdout)[1])) <= len(
            profile.samples) + 1
    ours = memoir(tmp_path, "heap", "--show_bytes", str(tmp_path / "dump.heap")).stdout.decode()
    assert abs(profile.total() - int(re.search(r"Total: (\d+)", ours)[1])) <= len(
        profile.samples) + 1
    assert abs(profile.total(function="keep_small") - 5000 * 1024) < 5000 * 1024 / 5
    assert Profile(target.get("/debug/pprof/allocs").body).default == "alloc_space"
    if not shutil.which("go"):
        pytest.skip("no go")
    done = subprocess.run(
        ["go", "tool", "pprof", "-top", "-unit=B", f"{target.address}/debug/pprof/heap"],
                          capture_output=True, text=True, timeout=LONG,
                          env=dict(harness.ENVIRONMENT, HOME=str(tmp_path),
                                   PPROF_TMPDIR=str(tmp_path)))
    rows = {line.split()[-1]: line.split()[0] for line in done.stdout.splitlines()
            if line.endswith(("small", "large"))}
    assert rows == {name: f"{profile.total(function=name)}B"
                    for name in ("keep_small", "keep_large")}, done
    assert f"of {profile.total()}B total" in done.stdout


@pytest.mark.usefixtures("each_jemalloc")
def test_difference_over_time(target):
    """?seconds=N: what came between two dumps; others are answered meanwhile."""
    found = []
    thread = threading.Thread(
        target=lambda: found.append(target.get("/debug/pprof/heap?seconds=4")))
    thread.start()
    harness.wait_for(lambda: target.get("/status").json["waiting"] == 1, LONG)
    assert target.do("keep 3000") == "done"
    thread.join(LONG)
    profile = Profile(found[0].body)
    assert abs(profile.total(function="keep_small") - 3000 * 1024) < 3000 * 1024 / 4
    assert profile.duration == 4_000_000_000
    assert target.get("/debug/pprof/heap?seconds=x").status == 400


SVG = "{http://www.w3.org/2000/svg}"


def folded(answer):
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/plain")
    return [(stack.split(";"), int(weight))
            for stack, weight in (line.rsplit(" ", 1) for line in answer.text.splitlines())]


def drawn(tmp_path, *words):
    """{name: bytes} of a flame graph that memoir draws of an agent, and its heading."""
    picture = tmp_path / "now.svg"
    done = memoir(tmp_path, "heap", "--flamegraph", "-o", str(picture), *map(str, words))
    assert done.status == 0 and done.stderr == b"", done
    root, sums = ElementTree.parse(picture).getroot(), {}
    for box in root.find(f"{SVG}g[@id='boxes']"):
        name, figures = box.find(SVG + "title").text.split("\n")
        name = re.sub(r" \([^()]*\)(  .*)?$", "", name)
        sums[name] = sums.get(name, 0) + int(
            re.search(r"([\d,]+) bytes", figures)[1].replace(",", ""))
    return sums, root.find(f".//{SVG}text[@id='heading']").text


def page_of(tmp_path, *words):
    """The data in the page that memoir makes of an agent."""
    page = tmp_path / "now.html"
    done = memoir(tmp_path, "heap", "--html", "-o", str(page), *map(str, words))
    assert done.status == 0 and done.stderr == b"", done
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                page.read_text("utf-8"), re.S)[1])


@pytest.mark.usefixtures("each_jemalloc")
def test_folded(target, tmp_path):
    """Stacks as text add up to the profile's total, without a frame of the allocator."""
    for path, column in ("heap", 3), ("allocs", 1):
        profile = Profile(target.get(f"/debug/pprof/{path}").body)
        stacks = folded(target.get(f"/debug/pprof/{path}/folded"))
        near = len(profile.samples) + 1
        assert abs(sum(weight for _, weight in stacks) - profile.total(column)) <= near
        small = sum(weight for names, weight in stacks if "keep_small" in names)
        assert (abs(small - profile.total(column, "keep_small")) <= near
                and small > 5000 * 1024 * 4 / 5)
        assert all(names[0] in ("_start", "clone3", "__clone3") or names[0].startswith("[")
                   for names, _ in stacks), stacks
        assert not any(name in ("malloc", "calloc") or "jemalloc" in name for names, _ in stacks
                       for name in names)
    (tmp_path / "dump.heap").write_bytes(target.get("/pprof/heap").body)
    ours = memoir(tmp_path, "heap", "--collapsed", str(tmp_path / "dump.heap")).stdout.decode()
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in ours.splitlines()) - Profile(
        target.get("/debug/pprof/heap").body).total()) <= near
    head = target.ask("/debug/pprof/heap/folded", method="HEAD")
    assert head.status == 200 and not head.body


@pytest.mark.usefixtures("each_jemalloc")
def test_memoir_draws_a_running_process(target, tmp_path):
    """By its number and by its address, also where it is not known here: what its own profile
    says."""
    for words, path, column, kind in ([], "heap", 3, "alive"), (
            ["--alloc_space"], "allocs", 1, "allocated"):
        profile = Profile(target.get(f"/debug/pprof/{path}").body)
        near = len(profile.samples) + 1
        small = profile.total(column, "keep_small")
        for who in (target.pid, target.address, f"{target.address}/pprof/heap"):
            sums, heading = drawn(tmp_path, *words, who)
            assert (abs(sums["all"] - profile.total(column)) <= near
                    and abs(sums["keep_small"] - small) <= near)
            assert not {"malloc", "calloc"} & sums.keys()
            name = who if str(who).endswith("/pprof/heap") else f"agent_target ({target.pid})"
            assert heading == f"{name}: {kind}, by bytes"
        weights = {w["name"]: w["bytes"]
                   for w in page_of(tmp_path, *words, target.pid)["tree"]["weights"]}
        assert abs(sum(weights[kind]) - profile.total(column)) <= near
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = harness.execute([harness.MEMOIR, "jemalloc", "heap", target.address], timeout=LONG,
                           env={"XDG_RUNTIME_DIR": str(elsewhere),
                                "MEMOIR_AGENT_TOKEN": target.token})
    assert done.status == 0 and b"keep_small" in done.stdout, done


def test_flamegraph_of_what_was_added(target, tmp_path):
    found = []
    threads = [threading.Thread(
        target=lambda: found.append(folded(target.get("/debug/pprof/heap/folded?seconds=4")))),
               threading.Thread(
                   target=lambda: found.append(drawn(tmp_path, "--seconds", 4, target.pid)))]
    threads[0].start()
    harness.wait_for(lambda: target.get("/status").json["waiting"] == 1, LONG)
    ours = itertools.count(target.get("/status").json["requests"] + 1)
    threads[1].start()
    harness.wait_for(lambda: target.get("/status").json["requests"] > next(ours), LONG,
                     "the first dump")
    assert target.do("keep 3000") == "done"
    for thread in threads:
        thread.join(LONG)
    lines, (sums, heading) = sorted(found, key=lambda one: isinstance(one, tuple))
    added = sum(weight for names, weight in lines if "keep_small" in names)
    for amount in added, sums["keep_small"]:
        assert abs(amount - 3000 * 1024) < 3000 * 1024 / 4
    assert heading == f"agent_target ({target.pid}), compared with 4 s before: alive, by bytes"
    assert target.get("/debug/pprof/allocs/folded?seconds=x").status == 400
    assert target.get("/debug/pprof/heap/other").status == 404
    for words in (["--seconds", "1", "x.heap"],
                  ["--seconds", "1", "--base", "x.heap", str(target.pid)],
                  ["--seconds", "1", str(target.pid), str(target.pid)]):
        done = memoir(tmp_path, "heap", *words)
        assert done.status == 2 and b"--seconds is for one agent" in done.stderr, done


@pytest.mark.parametrize("path,words", [("heap/flamegraph", "--flamegraph"),
                                        ("allocs/flamegraph", "--flamegraph --alloc_space"),
                                        ("heap/html", "--html"),
                                        ("allocs/html", "--html --alloc_space")])
def test_the_agent_says_who_draws(target, tmp_path, path, words):
    """And that command does."""
    answer = target.get(f"/debug/pprof/{path}?seconds=1")
    assert answer.status == 404
    assert (answer.text == f"the agent draws nothing: memoir jemalloc heap {words} "
            f"{target.pid} does\n")
    command = re.search(r"memoir jemalloc (.*) does", answer.text)[1].split()
    done = memoir(tmp_path, *command)
    assert done.status == 0 and b"keep_small" in done.stdout, done


def test_hostile_names(program, tmp_path):
    """A name is text, whatever it is made of: neither the picture nor the lines come apart."""
    with open(program, "rb") as file:
        image = file.read()
    assert b"keep_small\0" in image
    odd = tmp_path / "odd"
    odd.write_bytes(image.replace(b"keep_small\0", b'#<b>&"\xff;\n \0'))
    odd.chmod(0o755)
    with Target([str(odd)], tmp_path, PROF) as target:
        target.do("keep 2000")
        sums, _ = drawn(tmp_path, target.pid)
        assert any(name.startswith('#<b>&"') and size > 1 << 20
                   for name, size in sums.items()), sums
        assert (page_of(tmp_path, target.pid)
                and "<b>" not in (tmp_path / "now.html").read_text("utf-8"))
        lines = target.get("/debug/pprof/heap/folded").body.split(b"\n")
        assert (any(b';_<b>&"\xff:?  ' in line for line in lines)
                and all(re.search(rb" \d+$", line) for line in lines[:-1]))


@pytest.mark.usefixtures("each_jemalloc")
def test_pprof_without_sums(program, tmp_path):
    with Target([program], tmp_path, "prof:true,lg_prof_sample:12") as target:
        target.do("keep 100")
        profile = Profile(target.get("/debug/pprof/allocs").body)
        assert ([t[0] for t in profile.types] == ["inuse_objects", "inuse_space"]
                and profile.default == "inuse_space")


@pytest.mark.usefixtures("each_jemalloc")
def test_dumps_at_the_same_time(target, tmp_path):
    """All whole, none left behind, and no link followed."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    guesses = [f"/tmp/heap_profile.{target.pid}", f"{target.file}.dump",
               f"/tmp/jeprof.{target.pid}.0.m0.heap"]
    for guess in guesses:
        os.symlink(victim, guess)
    before = set(os.listdir(tmp_path)) | {"memoir"}
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(target.get("/pprof/heap")))
               for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LONG)
        assert len(answers) == 8
        for answer in answers:
            assert answer.status == 200 and answer.body.startswith(b"heap_v2/4096\n")
            assert answer.body.count(b"MAPPED_LIBRARIES:\n") == 1 and answer.body.endswith(b"\n")
        assert victim.read_text() == "untouched" and set(os.listdir(tmp_path)) == before
        assert not [f for f in harness.open_files(target.pid) if "memoir-dump" in f]
        assert not [f for f in os.listdir(tmp_path / "memoir") if f.endswith(".heap")]
    finally:
        for guess in guesses:
            if os.path.lexists(guess):
                os.unlink(guess)


@pytest.mark.usefixtures("each_jemalloc")
def test_profiling_was_not_enabled(program, tmp_path):
    with Target([program], tmp_path) as target:
        for path in ("/pprof/heap", "/debug/pprof/heap", "/debug/pprof/allocs?seconds=1",
                     "/debug/pprof/heap/folded"):
            answer = target.get(path)
            assert answer.status == 409 and "start with MALLOC_CONF=prof:true" in answer.text


def test_not_too_many_wait(target):
    """Each that waits keeps a dump; one whose client has gone gives its place back."""
    waiting = []
    for n in range(4):
        s = target.connection_socket()
        s.sendall(b"GET /debug/pprof/heap?seconds=600 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        waiting.append(s)
        harness.wait_for(lambda: target.get("/status").json["waiting"] == n + 1, LONG)
    assert target.get("/debug/pprof/heap?seconds=1").status == 429
    assert target.get("/debug/pprof/heap").status == 200
    for s in waiting:
        s.close()
    harness.wait_for(lambda: target.get("/status").json["waiting"] == 0, LONG)
