# SPDX-License-Identifier: MIT OR Apache-2.0
"""Addresses to functions, inlined functions and lines, whatever form the debug information has.

`resolve` (tests/unit/resolve.c) goes the way that commands go: a recording, its model, its
locations.  """
import http.server
import json
import os
import random
import re
import shutil
import subprocess
import threading

import pytest

from harness import BUILD, MEMOIR, PROGRAMS, execute

RESOLVE = os.path.join(BUILD, "tests/unit/resolve")
SOURCE = os.path.join(PROGRAMS, "inlined.cpp")
COMPILERS = ["g++", "clang++"]


def line_of(comment):
    with open(SOURCE, encoding="utf-8") as file:
        return next(n for n, text in enumerate(file, 1) if f"// {comment}" in text)


def sh(*command, **keywords):
    return subprocess.run(command, check=True, capture_output=True, text=True, **keywords).stdout


def compile_program(folder, compiler, *flags, name="inlined"):
    """The program, and the addresses that it prints: of the innermost call, of the hidden one."""
    path = os.path.join(folder, name)
    sh(compiler, "-std=c++17", "-O2", "-no-pie", "-fno-pie", "-Wl,--build-id", *flags, SOURCE,
       "-o", path, cwd=folder)
    return path, [int(word, 16) for word in sh(path).split()]


def resolve(path, addresses, *options, env=None):
    """By address: the frames, innermost first, as (function, file, line, column)."""
    text = "".join(f"{address:x}\n" for address in addresses)
    run = execute([RESOLVE, *options, path], stdin=text.encode(), env=env)
    assert run.status == 0, run
    return parse(run.stdout.decode())


def parse(text):
    result, frames, lines = {}, None, text.splitlines()
    while lines:
        first = lines.pop(0)
        if re.fullmatch("0x[0-9a-f]{16}", first):
            frames = result.setdefault(int(first, 16), [])
            continue
        place = re.sub(r" \(discriminator \d+\)", "", lines.pop(0)).split(":")
        place += ["0"] * (3 - len(place))
        frames.append((re.sub(" inlined at .*", "", first), place[0],
                       *(int(n) if n.isdigit() else 0 for n in place[1:3])))
    return result


def check(path, addresses, *options, env=None):
    """All that there is to know is known."""
    found = resolve(path, addresses, *options, env=env)
    inner, hidden = (found[address] for address in addresses)
    # gcc has no linkage name for a static function, so no parameters.
    assert [re.sub(r"^first\(.*", "first", frame[0]) for frame in inner] == [
        "shapes::box::third(std::string const&)",
        "void shapes::box::second<std::string const&>(std::string const&)",
        "first",
        "outermost(std::string const&)"]
    assert [frame[2] for frame in inner] == [
        line_of("third calls"), line_of("second calls"), line_of("first calls"),
        line_of("outermost calls")]
    assert all(frame[1] == SOURCE for frame in inner)
    assert all(frame[3] > 0 for frame in inner[:1])
    assert [(frame[0], frame[2]) for frame in hidden] == [("hidden()", line_of("hidden calls"))]


def check_names_only(path, addresses, *options, env=None):
    """Functions, also static ones, but neither lines nor what was inlined."""
    found = resolve(path, addresses, *options, env=env)
    assert [found[address] for address in addresses] == [
        [("outermost(std::string const&)", "??", 0, 0)], [("hidden()", "??", 0, 0)]]


def check_nothing(path, addresses, *options, env=None):
    found = resolve(path, addresses, *options, env=env)
    assert all(found[address][0][1:] == ("??", 0, 0) and len(found[address]) == 1
               for address in addresses)
    assert found[addresses[1]][0][0] == "??"


FORMS = {
    "DWARF 4": ["-g", "-gdwarf-4"],
    "DWARF 5": ["-g", "-gdwarf-5"],
    "64-bit DWARF": ["-g", "-gdwarf64", "-gdwarf-5"],
    "zlib": ["-g", "-gz=zlib"],
    "type units": ["-g", "-fdebug-types-section"],
    "split DWARF 4": ["-g", "-gdwarf-4", "-gsplit-dwarf"],
    "split DWARF 5": ["-g", "-gdwarf-5", "-gsplit-dwarf"],
    "sections": ["-g", "-ffunction-sections", "-Wl,--gc-sections"],
    "link-time optimisation": ["-g", "-flto"],
}


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, compiler, form):
    if compiler == "clang++" and form == "link-time optimisation":
        pytest.skip("needs lld")
    path, addresses = compile_program(tmp_path, compiler, *FORMS[form])
    check(path, addresses)


@pytest.mark.parametrize("method", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_afterwards(tmp_path, method):
    path, addresses = compile_program(tmp_path, "g++", "-g")
    sh("objcopy", f"--compress-debug-sections={method}", path)
    check(path, addresses)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_lines_without_linkage_names(tmp_path, compiler):
    """-g1: the symbol table knows the function's full name, the debug information its lines."""
    path, addresses = compile_program(tmp_path, compiler, "-g1")
    found = resolve(path, addresses)
    assert found[addresses[0]][-1][0] == "outermost(std::string const&)"
    assert found[addresses[1]][-1][::2] == ("hidden()", line_of("hidden calls"))


def test_no_debug_information(tmp_path):
    path, addresses = compile_program(tmp_path, "g++")
    check_names_only(path, addresses)
    sh("strip", path)
    check_nothing(path, addresses)


def split_off(path, debug):
    """As debug packages are made."""
    os.makedirs(os.path.dirname(debug), exist_ok=True)
    sh("objcopy", "--only-keep-debug", "--compress-debug-sections", path, debug)
    sh("strip", path)


def build_id(path):
    return re.search(r"Build ID: (\w+)", sh("readelf", "-n", path))[1]


@pytest.mark.parametrize("place", ["{0}/{1}.debug", "{0}/.debug/{1}.debug"])
def test_debug_link(tmp_path, place):
    path, addresses = compile_program(tmp_path, "g++", "-g", "-Wl,--build-id=none")
    debug = place.format(tmp_path, "inlined")
    split_off(path, debug)
    sh("objcopy", f"--add-gnu-debuglink={debug}", path)
    check(path, addresses)
    # Another sum: not that file.
    with open(debug, "ab") as file:
        file.write(b"x")
    check_nothing(path, addresses)


def test_debug_link_to_another_build(tmp_path):
    path, addresses = compile_program(tmp_path, "g++", "-g")
    other, _ = compile_program(tmp_path, "g++", "-g", "-DOTHER", "-O1", name="other")
    debug = f"{tmp_path}/inlined.debug"
    sh("objcopy", "--only-keep-debug", other, debug)
    sh("strip", path)
    sh("objcopy", f"--add-gnu-debuglink={debug}", path)
    check_nothing(path, addresses)


def test_debug_link_chain(tmp_path):
    """Symbols in one file, which names another for the rest."""
    path, addresses = compile_program(tmp_path, "g++", "-g")
    split_off(path, f"{tmp_path}/whole.debug")
    shutil.copy(f"{tmp_path}/whole.debug", f"{tmp_path}/names.debug")
    sh("strip", "-g", f"{tmp_path}/names.debug")
    sh("objcopy", f"--add-gnu-debuglink={tmp_path}/whole.debug", f"{tmp_path}/names.debug")
    sh("objcopy", f"--add-gnu-debuglink={tmp_path}/names.debug", path)
    check(path, addresses)


@pytest.mark.parametrize("kind", ["file", "folder", "debug file", "build-id folder", "link name"])
def test_debug_symbols_option(tmp_path, kind):
    path, addresses = compile_program(tmp_path, "g++", "-g")
    store = tmp_path / "store" / "deep" / "deeper"
    os.makedirs(store)
    (store / "noise").write_bytes(b"\x7fELF, but not for long")
    (store / "loop").symlink_to(tmp_path / "store")
    whole = str(store / "renamed")
    shutil.copy(path, whole)
    given = str(tmp_path / "store")
    if kind == "file":
        given = whole
    elif kind != "folder":
        os.remove(whole)
        split_off(path, str(store / "inlined.debug"))
        if kind == "build-id folder":
            identity = build_id(path)
            os.makedirs(store / identity[:2])
            (store / identity[:2] / (identity[2:] + ".debug")).symlink_to(store / "inlined.debug")
        if kind == "link name":
            sh("objcopy", "--remove-section=.note.gnu.build-id", store / "inlined.debug")
            sh("objcopy", f"--add-gnu-debuglink={store}/inlined.debug", path)
    if not kind.endswith("link name"):
        sh("strip", path)
    check_nothing(path, addresses)
    check(path, addresses, "-d", given)


def test_moved_binary(tmp_path):
    """What is at the recorded path now has another build id."""
    path, addresses = compile_program(tmp_path, "g++", "-g")
    os.makedirs(tmp_path / "new place")
    moved = shutil.move(path, tmp_path / "new place" / "app")
    compile_program(tmp_path, "g++", "-g", "-O1")
    check_nothing(str(moved), addresses, "-p", path)
    check(str(moved), addresses, "-p", path, "-d", str(tmp_path / "new place"))


def test_mini_debug_info(tmp_path):
    """Fedora's way: an xz-packed symbol table in the stripped binary."""
    path, addresses = compile_program(tmp_path, "g++", "-g")
    mini = f"{tmp_path}/mini"
    sh("objcopy", "-S", "--remove-section=.comment", "--keep-symbol=_ZL6hiddenv",
       "--keep-symbol=_Z9outermostRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
       path, mini)
    sh("xz", mini)
    sh("strip", path)
    sh("objcopy", f"--add-section=.gnu_debugdata={mini}.xz", path)
    check_names_only(path, addresses)


def test_mini_debug_info_that_explodes(tmp_path):
    path, addresses = compile_program(tmp_path, "g++", "-g")
    sh("strip", path)
    with open(f"{tmp_path}/zeros", "wb") as file:
        file.truncate(1 << 29)
    sh("xz", "-0", "-T1", f"{tmp_path}/zeros")
    sh("objcopy", f"--add-section=.gnu_debugdata={tmp_path}/zeros.xz", path)
    text = "".join(f"{address:x}\n" for address in addresses)
    run = execute(["prlimit", f"--as={1 << 30}", RESOLVE, path], stdin=text.encode())
    assert run.status == 0, run


def test_shared_by_dwz(tmp_path):
    """Debian's debug packages: what several files have in common lies in another."""
    one, addresses = compile_program(tmp_path, "g++", "-g", "-gdwarf-4")
    two, _ = compile_program(tmp_path, "g++", "-g", "-gdwarf-4", "-DTWO", "-O1", name="two")
    debugs = [f"{tmp_path}/usr/one.debug", f"{tmp_path}/usr/two.debug"]
    for path, debug in zip([one, two], debugs):
        os.makedirs(os.path.dirname(debug), exist_ok=True)
        sh("objcopy", "--only-keep-debug", path, debug)
        sh("strip", path)
    sh("dwz", "-m", f"{tmp_path}/usr/common.debug", "-M", f"{tmp_path}/usr/common.debug", *debugs)
    assert ".gnu_debugaltlink" in sh("readelf", "-SW", debugs[0])
    check(one, addresses, "-d", debugs[0])
    # By build id, when it is no longer where it was.
    shutil.move(f"{tmp_path}/usr/common.debug", f"{tmp_path}/moved.debug")
    check(one, addresses, "-d", debugs[0], "-d", f"{tmp_path}/moved.debug")


def test_split_files_that_are_gone(tmp_path):
    """Lines are in the skeleton; functions come from the symbol table then."""
    path, addresses = compile_program(tmp_path, "g++", "-g", "-gsplit-dwarf")
    for name in os.listdir(tmp_path):
        if name.endswith(".dwo"):
            os.remove(tmp_path / name)
            os.mkfifo(tmp_path / name)      # must not be waited for
    found = resolve(path, addresses)
    assert [found[address][-1][::2] for address in addresses] == [
        ("outermost(std::string const&)", line_of("third calls")),
        ("hidden()", line_of("hidden calls"))]


def test_assembler(tmp_path):
    source = tmp_path / "code.s"
    source.write_text(".text\n.globl _start\n.type _start,@function\n_start:\n nop\n nop\n ret\n"
                      ".size _start,.-_start\nbare:\n nop\n nop\n ret\n")
    path = str(tmp_path / "code")
    sh("gcc", "-g", "-nostdlib", "-no-pie", "-Wl,--build-id", str(source), "-o", path)
    start = int(re.search(r"(\w+) T _start", sh("nm", path))[1], 16)
    found = resolve(path, [start + 1, start + 4])
    assert [(found[start + n][0][0], found[start + n][0][2]) for n in (1, 4)] == [
        ("_start", 6), ("bare", 11)]


def test_call_with_a_delay_slot(tmp_path):
    """On MIPS a call returns behind the instruction after it, which may be of another line."""
    source, assembly, path = (tmp_path / name for name in ("delay.c", "delay.s", "delay.so"))
    source.write_text("""void *malloc(unsigned long);
void *make(unsigned long n)
{
	void *p = malloc(n);

	__asm__ volatile("" : : "r"(p));
	return p;
}
""")
    clang = ["clang", "--target=mips64el-linux-gnuabi64", "-O2", "-g", "-fPIC"]
    sh(*clang, "-S", source, "-o", assembly)
    text, count = re.subn(r"(\.loc\t(\d+) 4 [^\n]*\n(?:.*\n)*?)(\tjalr\t\$25\n)",
                          r"\1call:\n\3\t.loc\t\2 6 2\n", assembly.read_text(), count=1)
    assert count == 1
    assembly.write_text(text)
    sh(*clang, "-nostdlib", "-shared", "-fuse-ld=lld", assembly, "-o", path,
       "-Wl,--unresolved-symbols=ignore-all")
    call = next(int(line.split()[0], 16) for line in sh("nm", path).splitlines()
                if line.endswith(" call"))
    found = resolve(path, [call, call + 4, call + 7])
    assert found[call] == found[call + 7] == [("make", str(source), 4, 12)]
    assert found[call + 4][0][2] == 6, "the instruction behind the call is of another line"


def test_units_with_and_without(tmp_path):
    (tmp_path / "bare.c").write_text("int bare(int x) { return x * 3; }\n")
    (tmp_path / "main.c").write_text(
        "int bare(int);\nint outer(int x) {\n"
        " __attribute__((noinline)) int nested(int y) { return bare(x + y); }\n"
        " return nested(1) + nested(2); }\nint main(void) { return outer(2); }\n")
    sh("gcc", "-O0", "-c", "bare.c", cwd=tmp_path)
    sh("gcc", "-O0", "-g", "-no-pie", "main.c", "bare.o", "-o", "both", cwd=tmp_path)
    path = str(tmp_path / "both")
    symbols = {m[2]: int(m[1], 16) for m in re.finditer(r"(\w+) [tT] (\S+)", sh("nm", path))}
    nested = next(name for name in symbols if name.startswith("nested"))
    found = resolve(path, [symbols["bare"] + 4, symbols["main"] + 4, symbols[nested] + 4])
    assert found[symbols["bare"] + 4] == [("bare", "??", 0, 0)]
    assert found[symbols["main"] + 4][0][:3] == ("main", str(tmp_path / "main.c"), 5)
    assert found[symbols[nested] + 4][0][:3] == ("nested", str(tmp_path / "main.c"), 3)


def test_refused_files_are_said(tmp_path):
    path, _ = compile_program(tmp_path, "g++", "-g")
    recording = str(tmp_path / "app.dat")
    run = execute([MEMOIR, "run", "--no-write-binaries", "-o", recording, "--", path])
    assert run.status == 0, run
    compile_program(tmp_path, "g++", "-g", "-O1")
    text = execute([MEMOIR, "info", recording])
    assert text.status == 0
    assert f"not used: {path}: another build: its build id is".encode() in text.stdout
    assert b"--debug-symbols" in text.stdout
    modules = json.loads(execute([MEMOIR, "info", "--json", recording]).stdout)["modules"]
    mine = next(module for module in modules if module["path"] == path)
    assert mine["symbols"] == "none" and mine["refused"][0]["path"] == path
    assert "another build" in mine["refused"][0]["reason"]
    wrong = execute([MEMOIR, "info", "-d", "/no/such/thing", recording])
    assert wrong.status == 2 and wrong.stderr.count(b"\n") == 1


def test_report_with_debug_symbols(tmp_path):
    """A stripped program, its debug file given by -d: the report has its lines then."""
    path, _ = compile_program(tmp_path, "g++", "-g")
    split_off(path, f"{tmp_path}/store/inlined.debug")
    recording = str(tmp_path / "app.dat")
    run = execute([MEMOIR, "run", "--no-write-binaries", "-o", recording, "--", path])
    assert run.status == 0, run

    def own_files(*options):
        report = execute(
            [MEMOIR, "report", "--json", "--by", "stack", "--backtraces", "-n", "100", *options,
             recording])
        assert report.status == 0, report
        stacks = json.loads(report.stdout)["top"]["allocated"]
        return {f.get("source") for s in stacks for f in s["backtrace"]
                if f.get("library") == os.path.basename(path)}
    assert own_files() == {None}
    assert SOURCE in own_files("-d", str(tmp_path / "store"))
    # The same again, through whatever was cached.
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    for _ in range(2):
        report = execute([MEMOIR, "report", "--by", "stack", "-n", "100", "--full", "-d",
                          str(tmp_path / "store"),
                          recording],
                         env=cache)
        assert SOURCE.encode() in report.stdout


class Server(http.server.BaseHTTPRequestHandler):
    """A debuginfod with one file."""

    files, asked = {}, []

    def do_GET(self):
        self.asked.append(self.path)
        data = self.files.get(self.path)
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def test_debuginfod_only_when_asked(tmp_path):
    path, addresses = compile_program(tmp_path, "g++", "-g")
    identity = build_id(path)
    split_off(path, f"{tmp_path}/store/x.debug")
    with open(f"{tmp_path}/store/x.debug", "rb") as file:
        Server.files[f"/buildid/{identity}/debuginfo"] = file.read()
    Server.asked.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"DEBUGINFOD_URLS": f"http://127.0.0.1:{server.server_port}",
           "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache")}
    try:
        check_nothing(path, addresses, env=env)
        assert not Server.asked
        check_nothing(path, addresses, "-D", env=dict(env, DEBUGINFOD_URLS=""))
        assert not Server.asked
        check(path, addresses, "-D", env=env)
        assert Server.asked
    finally:
        server.shutdown()


def code_of(path):
    sections = re.findall(r"\.text\s+PROGBITS\s+(\w+) \w+ (\w+)", sh("readelf", "-SW", path))
    return int(sections[0][0], 16), int(sections[0][1], 16)


def same(mine, theirs):
    """Paths are compared by their last part: ours are absolute and without detours."""
    def brief(frames):
        return [(f[0], os.path.basename(f[1]), f[2], f[3]) for f in frames]
    return brief(mine) == brief(theirs)


def explained(mine, theirs):
    """Why we may differ from eu-addr2line.

    It has no function: padding between functions, where it shows inlined calls that end there.
    An assembler label has aliases, of which we show the exported one.  Where inlined ranges
    overlap, the innermost place is the same, and either chain is right.
    """
    return theirs[0][0] == "??" or mine[0][1].endswith(".S") or (
        theirs[0][1] == "??" and mine[0][1] == "??") or mine[0][2:] == theirs[0][2:]


@pytest.mark.parametrize("what", ["memoir", "libc", "templates", "clang", "libstdc++"])
def test_agrees_with_elfutils(tmp_path, what):
    path = {"memoir": MEMOIR, "libc": "/lib/x86_64-linux-gnu/libc.so.6",
            "libstdc++": "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"}.get(what)
    if not path:
        # eu-addr2line needs .debug_aranges.
        path = compile_program(tmp_path, *(["clang++", "-gdwarf-aranges"] if what == "clang"
                                           else ["g++"]), "-g")[0]
    chance = random.Random(what)
    start, size = code_of(path)
    addresses = sorted({start + chance.randrange(size) for _ in range(1500)})
    text = "".join(f"{address:#x}\n" for address in addresses)
    # Its status is 1 if an address is in no function.
    theirs = parse(subprocess.run(["eu-addr2line", "-a", "-f", "-i", "-e", path], input=text,
                                  check=False, capture_output=True, text=True).stdout)
    mine = resolve(path, addresses, "-r")
    different = [a for a in addresses if not same(mine[a], theirs[a])]
    wrong = [a for a in different if not explained(mine[a], theirs[a])]
    assert not wrong, [(hex(a), mine[a], theirs[a]) for a in wrong[:5]]
    assert len(different) < len(addresses) * 0.03 or what in ("libc", "libstdc++")
