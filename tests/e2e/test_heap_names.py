# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names in heap profile dumps: which files they come from, and which files they must not come
from."""
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import threading

import pytest

import harness
from agent import JEMALLOC, LIBRARY, LONG, Target

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
PROF = DATA / "prof"
ID = "47fb13af81a5fa68ced662a78edc8b2d681b67ff"
LOADED = "/opt/jem-study/prof"  # where the dumps' program was
live = pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY),
                          reason="no jemalloc, or no agent")


def sh(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def heap(*words, cwd=None, env=None):
    return subprocess.run([harness.MEMOIR, "jemalloc", "heap", "--show_bytes", *map(str, words)],
                          cwd=cwd,
                          capture_output=True, text=True,
                          env=dict(harness.ENVIRONMENT, **(env or {})), timeout=LONG)


def names(*words, **keywords):
    """{name: (flat, cumulative)}, and lines on stderr."""
    done = heap(*words, **keywords)
    assert done.returncode == 0, done
    rows = [line.split(None, 5) for line in done.stdout.splitlines()[1:]]
    return {row[5]: (int(row[0]), int(row[3])) for row in rows}, done.stderr.splitlines()


def is_named(found):
    return found.get("worker") == (35663084, 40255913) and found["inl"] == (4592829, 4592829)


def is_unnamed(found):
    """What is not known is called by its file and address, the same in every run."""
    return "worker" not in found and any(name.startswith("[prof+0x") for name in found)


@pytest.fixture
def dump(tmp_path):
    """out.heap in a folder of its own, with or without what the agent would have added."""
    def make(build_id=None, path=LOADED):
        text = (DATA / "out.heap").read_text().replace(LOADED, path)
        if build_id:
            start = re.search(r"^(\w+)-\w+ r--p 00000000 .*prof", text, re.M)[1]
            text += f"# build-id {build_id} {start} {start} {path}\n"
        os.makedirs(tmp_path / "dumps", exist_ok=True)
        (tmp_path / "dumps/out.heap").write_text(text)
        return tmp_path / "dumps/out.heap"
    return make


@pytest.fixture
def store(tmp_path):
    """A folder deep in which a copy of the program has another name."""
    folder = tmp_path / "store/deep"
    os.makedirs(folder)
    shutil.copy(PROF, folder / "what-was-it")
    return tmp_path / "store"


@pytest.fixture
def other(tmp_path):
    """Another program of the same name."""
    (tmp_path / "o.c").write_text("#include <stdlib.h>\nasm(\".skip 9000\");\nint worker(void) { "
                                  "return 0; }\n"
                                  "int main(void) { return worker() + !malloc(1); }\n")
    os.makedirs(tmp_path / "other")
    sh("gcc", "-O1", "-g", "-Wl,--build-id=0x0123456789abcdef", str(tmp_path / "o.c"), "-o",
       str(tmp_path / "other/prof"))
    return tmp_path / "other/prof"


def test_by_build_id(dump, store):
    """A copy in another place, whatever it is called; and only where the build id is known."""
    assert is_unnamed(names(dump(ID))[0])
    assert names("-d", store, dump(ID)) == names("-d", PROF, DATA / "out.heap")
    found, said = names("-d", store, dump(ID))
    assert is_named(found) and not said
    assert is_unnamed(names("-d", store, dump())[0])


def test_two_builds(dump, tmp_path):
    """Places without a function of one build are compared by their offsets, those of two builds are
    not."""
    first, second = tmp_path / "first.heap", tmp_path / "second.heap"
    shutil.copy(dump(ID), first)
    for build_id, same in ((ID, True), ("ab" * 20, False)):
        shutil.copy(dump(build_id), second)
        found, said = names("--base", first, second)
        own = {name: row for name, row in found.items() if name.startswith("[prof")}
        assert not said
        if same:
            assert all(row == (0, 0) for row in own.values())
        else:
            assert {name.split("+")[0] for name in own} == {f"[prof:{ID[:8]}", "[prof:abababab"}
            assert sum(row[0] for row in own.values()) == 0 and any(row[0] for row in own.values())


def test_go_passes_over_build_ids(dump, tmp_path):
    """Its reader of older dumps takes maps too."""
    if not shutil.which("go"):
        pytest.skip("no go")
    raw = []
    for build_id in (None, ID):
        text = dump(build_id).read_text()
        stacks = re.findall(r"^@(.*)\n  t\*: (.*)$", text, re.M)
        older = tmp_path / "older.heap"
        older.write_text("heap profile: 1: 2 [3: 4] @ heap_v2/4096\n" +
                         "".join(f"{counts} @{pcs}\n" for pcs, counts in stacks) +
                         text[text.index("\nMAPPED"):])
        done = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", older],
                              capture_output=True, text=True,
                              env=dict(harness.ENVIRONMENT, HOME=str(tmp_path)), timeout=LONG)
        assert done.returncode == 0 and LOADED in done.stdout, done
        raw.append(done.stdout)
    assert raw[0] == raw[1]


def test_inlined(dump, store):
    lines = heap("--peek=^worker$", "-d", store, dump(ID)).stdout.splitlines()
    assert lines[-1].split() == ["4592829", "calls", "inl"]
    assert re.search(r" inl \S*prof\.c:\d+$", heap("--lines", "-d", store, dump(ID)).stdout, re.M)


def test_wrong_build_id(dump, other, tmp_path):
    """One line that names the file, what it has and what it should have; and it is not used."""
    expected = (f"memoir jemalloc heap: {other} is not used for {LOADED}: "
                f"its build id is 0123456789abcdef, the dump has {ID}")
    for words in (["-d", other.parent], [other], ["--sysroot", tmp_path / "root"]):
        if words[0] == "--sysroot":
            os.makedirs(tmp_path / "root/opt/jem-study")
            expected = expected.replace(
                str(other), str(shutil.copy(other, tmp_path / "root/opt/jem-study/prof")))
        found, said = names(*words, dump(ID))
        assert is_unnamed(found)
        assert [line for line in said if "prof" in line] == [expected]
    # The right one is found all the same: then only a file that was meant is worth a line.
    assert names("-d", other, "-d", PROF, dump(ID)) == (names("-d", PROF, dump())[0], [])
    found, said = names("-d", PROF, other, dump(ID))
    assert is_named(found) and len(said) == 1 and str(other) in said[0]


def test_at_its_path(dump, tmp_path, other):
    where = tmp_path / "bin/prof"
    os.makedirs(where.parent)
    shutil.copy(PROF, where)
    for build_id in (None, ID):
        found, said = names(dump(build_id, str(where)))
        assert is_named(found) and not said
    shutil.copy(other, where)
    found, said = names(dump(ID, str(where)))
    assert is_unnamed(found) and said == [
        f"memoir jemalloc heap: {where} is not used: its build id is 0123456789abcdef, the dump "
        f"has {ID}"]


def test_another_build_without_a_build_id(dump, other):
    """The dump knows where code was in the file: one that has it elsewhere is not that file."""
    for words in (["-d", other.parent], [other]):
        found, said = names(*words, dump())
        assert is_unnamed(found) and said == [
            f"memoir jemalloc heap: {other} is not used for {LOADED}: its code is not where the "
            "dump has it, "
            "so it is another build"]


def test_named_program(dump, tmp_path):
    """The program may be called anything, and may be named from where we are."""
    shutil.copy(PROF, tmp_path / "prof")
    shutil.copy(PROF, tmp_path / "server.bin")
    for words in (["prof"], ["./server.bin"], [str(tmp_path / "prof")]):
        for build_id in (None, ID):
            found, said = names(*words, dump(build_id), cwd=tmp_path)
            assert is_named(found) and not said


def test_beside_the_dump(dump):
    path = dump()
    assert is_unnamed(names(path)[0])
    shutil.copy(PROF, path.parent)
    assert is_named(names(path)[0]) and is_named(names("out.heap", cwd=path.parent)[0])


def test_sysroot_and_prefixes(dump, tmp_path):
    os.makedirs(tmp_path / "root/opt/jem-study")
    shutil.copy(PROF, tmp_path / "root/opt/jem-study")
    for words in (["--sysroot", tmp_path / "root"], ["--lib_prefix", f"/nowhere,{tmp_path}/root"],
                  [f"--lib_prefix={tmp_path}/root/"]):
        for build_id in (None, ID):
            assert is_named(names(*words, dump(build_id))[0]), words


def test_deleted(dump, tmp_path, store):
    """A file that was replaced while the program ran: another one is there now, or none."""
    where = tmp_path / "bin/prof"
    os.makedirs(where.parent)
    assert is_named(names("-d", PROF, dump(None, f"{where} (deleted)"))[0])
    assert is_named(names("-d", store, dump(ID, f"{where} (deleted)"))[0])
    shutil.copy(PROF, where)
    found, said = names(dump(None, f"{where} (deleted)"))
    assert is_named(found) and said == [
        f"memoir jemalloc heap: {where} was deleted while it was loaded, and what "
                                        "is there now may be another build"]
    assert names(dump(ID, f"{where} (deleted)")) == (found, [])


def split_off(folder):
    """The program without symbols, and what was taken off."""
    os.makedirs(folder)
    stripped = folder / "prof"
    sh("objcopy", "--only-keep-debug", str(PROF), str(folder / "taken.debug"))
    sh("objcopy", "--strip-all", str(PROF), str(stripped))
    return stripped, folder / "taken.debug"


def test_debug_files(dump, tmp_path):
    """By build id from a folder, by debug link, and alone."""
    stripped, debug = split_off(tmp_path / "split")
    os.makedirs(tmp_path / "debug/.build-id" / ID[:2])
    moved = shutil.move(debug, tmp_path / "debug/.build-id" / ID[:2] / f"{ID[2:]}.debug")
    assert is_unnamed(names(stripped, dump())[0])
    for build_id in (None, ID):
        assert is_named(names("-d", tmp_path / "debug", stripped, dump(build_id))[0])
        assert is_named(names(moved, dump(build_id))[0])
    assert is_named(names("-d", tmp_path / "debug", dump(ID))[0])
    os.rename(moved, debug)
    sh("objcopy", f"--add-gnu-debuglink={debug}", str(stripped))
    for build_id in (None, ID):
        assert is_named(names(stripped, dump(build_id))[0])


class Server(http.server.BaseHTTPRequestHandler):
    """A debuginfod with one file."""

    content, asked = b"", []

    def do_GET(self):
        self.asked.append(self.path)
        known = self.path == f"/buildid/{ID}/debuginfo"
        self.send_response(200 if known else 404)
        self.send_header("Content-Length", str(len(self.content) if known else 0))
        self.end_headers()
        self.wfile.write(self.content if known else b"")

    def log_message(self, *_):
        pass


def test_debuginfod(dump, tmp_path):
    """No file here at all: names come from a server, if it is to be asked."""
    Server.content = split_off(tmp_path / "split")[1].read_bytes()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}",
           "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    try:
        assert is_unnamed(names(dump(ID), env=env)[0]) and not Server.asked
        assert is_named(names("--debuginfod", dump(ID), env=env)[0]) and Server.asked
        assert "--debuginfod: " in names("--debuginfod", dump(ID),
                                         env={"DEBUGINFOD_URLS": ""})[1][0]
    finally:
        server.shutdown()
        server.server_close()


def many_addresses(path, count):
    """A dump of stacks through so many addresses of a program's code."""
    text = sh("readelf", "-lnSW", path)
    build_id = re.search(r"Build ID: (\w+)", text)[1]
    start, size = (int(n, 16)
                   for n in re.search(r"\.text\s+PROGBITS\s+(\w+) \w+ (\w+)", text).groups())
    pcs = [0x550000000000 + start + size * i // count for i in range(count)]
    segments = ""
    for found in re.findall(r"LOAD\s+(\w+) (\w+) \w+ (\w+) \w+ R E", text):
        offset, address, length = (int(n, 16) for n in found)
        segments += f"{0x550000000000 + (address & ~4095):x}-" \
                    f"{0x550000000000 + (address + length + 4095 & ~4095):x} " \
                    f"r-xp {offset & ~4095:x} fe:00 1 {path}\n"
    return "heap_v2/1\n" + "".join(f"@ {pc:#x}\n  t*: 1: 100 [0: 0]\n" for pc in pcs) + \
        f"\nMAPPED_LIBRARIES:\n{segments}# build-id {build_id} 550000000000 550000000000 {path}\n"


def test_names_are_kept(tmp_path):
    """What took long to find is there at once; not if the file was touched, or something is wrong
    with it."""
    program = shutil.copy(harness.MEMOIR, tmp_path / "program")
    dump, cache = tmp_path / "many.heap", tmp_path / "cache/memoir"
    dump.write_text(many_addresses(str(program), 20000))
    env = {"XDG_CACHE_HOME": str(cache.parent)}

    def stored():
        return sorted(cache.glob("heap-*.places"))
    first = heap("--lines", dump, env=env)
    assert first.returncode == 0 and "buf.c:" in first.stdout
    assert len(stored()) == 1 and stored()[0].stat().st_mode & 0o777 == 0o600
    inode = stored()[0].stat().st_ino
    assert (heap("--lines", dump, env=env).stdout == first.stdout
            and stored()[0].stat().st_ino == inode)
    content = stored()[0].read_bytes()
    stored()[0].write_bytes(content[:-1] + b"x")
    assert heap("--lines", dump, env=env).stdout == first.stdout
    assert stored()[0].read_bytes() == content
    os.utime(program, (1, 1))
    assert heap("--lines", dump, env=env).stdout == first.stdout and len(stored()) == 2
    shutil.rmtree(cache)
    assert heap("--lines", dump, env=dict(env, MEMOIR_CACHE_LIMIT="0")).stdout == first.stdout
    assert not cache.exists()


def test_no_other_program(dump, store, tmp_path):
    command = [harness.MEMOIR, "jemalloc", "heap", "--lines", "-d", str(store), str(dump(ID))]
    done = subprocess.run(command, env={"PATH": "/nowhere"}, capture_output=True, text=True,
                          timeout=LONG)
    assert done.returncode == 0 and "prof.c:" in done.stdout
    log = tmp_path / "strace"
    if shutil.which("strace"):
        traced = subprocess.run(
            ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-o", log, *command],
                                capture_output=True, text=True, timeout=LONG)
        if traced.returncode == 0:  # it may be forbidden here
            assert traced.stdout == done.stdout and log.read_text().count("execve") == 1


@pytest.mark.parametrize(
    "line", ["# build-id", "# build-id 12", "# build-id xyz 1 2 /p", "# build-id 123 1 2 /p",
             "# build-id - 557244398000 0", f"# build-id {'ab' * 65} 557244398000 0 /p",
             "# build-id 12 ffffffffffffffffff 0 /p", "# build-id 12 0 0 /p"])
def test_lines_that_say_nothing(dump, line):
    path = dump()
    path.write_text(path.read_text() + line + "\n")
    assert is_named(names("-d", PROF, path)[0]) or line.endswith("000 0")


@pytest.fixture
def program(compile_program, tmp_path):
    """agent_target in a folder of the test's, so that it can be moved away."""
    return shutil.copy(compile_program("agent_target"), tmp_path / "target")


CONF = "prof:true,lg_prof_sample:12"


def jeprof(folder, *words):
    if not shutil.which("jeprof"):
        pytest.skip("no jeprof")
    return subprocess.run(["jeprof", "--text", "--show_bytes", *map(str, words)],
                          capture_output=True, text=True,
                          timeout=LONG, env=dict(harness.ENVIRONMENT, HOME=str(folder),
                                                 JEPROF_TMPDIR=str(folder)))


@live
def test_the_agent_says_build_ids(program, tmp_path):
    with Target([program], tmp_path, CONF) as target:
        assert target.do("keep 3000") == "done"
        text = target.get("/pprof/heap").text
        target.post(f"/control/prof/dump?path={tmp_path}/file.heap")
    path = tmp_path / "live.heap"
    path.write_text(text)
    said = dict(re.findall(r"^# build-id (\w+) \w+ \w+ (.*)$",
                           text[text.index("MAPPED_LIBRARIES"):], re.M))
    mine = re.search(r"Build ID: (\w+)", sh("readelf", "-n", str(program)))[1]
    assert said[mine] == str(program) and any("libc.so" in name for name in said.values())
    assert f"# build-id {mine} " in (tmp_path / "file.heap").read_text()
    there = names(path)
    assert there[0]["keep_small"][0] > 0 and not there[1]
    # jeprof takes it as if the lines were not there.
    plain = tmp_path / "plain.heap"
    plain.write_text(re.sub(r"^# build-id .*\n", "", text, flags=re.M))
    shown = jeprof(tmp_path, program, path).stdout
    assert "keep_small" in shown and shown == jeprof(tmp_path, program, plain).stdout
    # Moved away; and something else in its place.
    os.makedirs(tmp_path / "archive")
    os.rename(program, tmp_path / "archive/release-17")
    assert "keep_small" not in names(path)[0]
    assert names("-d", tmp_path / "archive", path) == there
    shutil.copy("/bin/true", program)
    found, warned = names(path)
    assert "keep_small" not in found and len(warned) == 1 and mine in warned[0]
    assert names("-d", tmp_path / "archive", path) == there


@live
def test_names_in_the_dump(program, tmp_path):
    """symbols=1: names go along, and no file of the program's machine is needed."""
    with Target([program], tmp_path, CONF) as target:
        assert target.do("keep 3000") == "done"
        plain, named = target.get("/pprof/heap"), target.get("/pprof/heap?symbols=1")
        assert target.get("/pprof/heap?symbols=x").status == 400
        assert target.get("/pprof/heap?symbols=0").text.startswith("heap_v2/")
    assert named.text.startswith("--- symbol\nbinary=" + str(program) + "\n0x")
    # The same dump behind the names; maps without a file are the agent's, and come and go.
    table, _, same = named.text.partition("---\n--- heap\n")
    assert (" keep_small\n" in table and same.partition("MAPPED")[0] == plain.text.partition(
        "MAPPED")[0])
    assert re.findall("^# build-id .*", same, re.M) == re.findall(
        "^# build-id .*", plain.text, re.M)
    path = tmp_path / "away" / "named.heap"
    os.makedirs(path.parent)
    path.write_text(named.text)
    (tmp_path / "plain.heap").write_text(plain.text)
    here = names(tmp_path / "plain.heap")[0]
    os.unlink(program)
    away, said = names("--sysroot", "/nowhere", path)
    assert not said
    for name in ("keep_small", "keep_large", "main", "_start"):
        assert away[name] == here[name]
    rows = {line.split()[-1]: line.split() for line in jeprof(tmp_path, path).stdout.splitlines()}
    assert abs(int(rows["keep_small"][0]) - away["keep_small"][0]) <= 1


def test_names_put_into_a_dump(dump, store, tmp_path):
    """--raw where the files are; read where none of them is, with all that was inlined."""
    made = tmp_path / "made"
    os.makedirs(made)
    assert heap("--raw", "-d", store, "-o", made / "raw.heap", dump(ID)).returncode == 0
    here, _ = names("-d", store, dump(ID))
    shutil.rmtree(store)
    away, said = names("--sysroot", "/nowhere", made / "raw.heap")
    assert is_named(away) and not said
    assert (away["worker"] == here["worker"] and away["main"] == here["main"]
            and away["inl"] == here["inl"])
    rows = {line.split()[5]: line.split()
            for line in jeprof(tmp_path, made / "raw.heap").stdout.splitlines()[1:]
            if len(line.split()) > 5}
    assert rows["worker"][3] == "40255913"
