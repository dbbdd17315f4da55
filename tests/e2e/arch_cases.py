# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is tested on other processors: cases for one boot of a Machine (emulated.py).

A case is a generator: it adds its jobs to the machine, yields, gets the jobs' results, and looks at
them, with the reader that was built for this computer.
"""
import contextlib
import json
import os
import re
import shutil
import struct
import subprocess

import pytest

import emulated
import harness
from test_oracle import CHAINS, KEYS, innermost

PARANOID = "libmemoir-paranoid.so"
TARGETS = ("libmemoir.so", PARANOID, "memoir-collector")
LEVELS = ("-O0", "-O2", "-O3")

# Ordinary programs, for make test-arch.
PACKAGES = """bash perl python3 sqlite3 git redis-server gawk sed grep bc diffutils tar gzip xz-utils
bzip2 zstd jq file openssl lua5.4 tcl findutils coreutils libjemalloc2""".split()

CONDITION = "(eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?"

QUICK, FULL = {}, {}


def case(function):
    """One that every boot has."""
    QUICK[function.__name__] = FULL[function.__name__] = function
    return function


def full_case(function):
    FULL[function.__name__] = function
    return function


def run(machine, cases):
    """Boots once with all of them; gives {name: what is left to do, a function}."""
    started = {name: function(machine) for name, function in cases.items()}
    for generator in started.values():
        next(generator)
    results = machine.boot()

    def finish(generator):
        try:
            generator.send(results)
        except StopIteration:
            pass
    return {name: lambda g=generator: finish(g) for name, generator in started.items()}


def booted(arch, folder, cases, targets=TARGETS, **keywords):
    """The same for a new machine; skips where its system cannot be had, and says what took how
    long."""
    try:
        machine = emulated.Machine(arch, folder, targets, **keywords)
        machine.prepare()
    except emulated.Unavailable as why:
        pytest.skip(str(why))
    checks = run(machine, cases)
    print(f"\n{arch}: " + ", ".join(f"{what} {s:.0f} s" for what, s in machine.seconds.items()))
    return checks


def left_out(m, what):
    """Is it something that is not done on this processor?  Then its case ends as skipped."""
    return what in m.processor.lacks


def skip(m, what):
    pytest.skip(f"not done on {m.processor.name}: {what}")


def complete(info):
    assert info["lost_events"] == 0
    assert info["unknown_frees"] == 0
    assert not info["truncated"] and not info["damaged"]


def same(plain, recorded):
    """The recorder has changed nothing that the program shows."""
    assert recorded.stdout == plain.stdout, recorded
    assert recorded.own_stderr == plain.own_stderr, recorded
    assert recorded.status == plain.status, recorded


@case
def oracle_one_thread(m):
    m.add("oracle1", [m.compile("oracle", "-O2"), 1, 20000])
    m.add("pages", ["grep", "-m1", "KernelPageSize", "/proc/self/smaps"], record=False)
    results = yield
    r, pages = results["oracle1"], int(results["pages"].stdout.split()[1])
    assert pages == int((m.pages or "4k")[:-1])
    counted, info = json.loads(r.stdout), r.recording.info
    complete(info)
    assert info["arch"] == m.processor.name
    assert {k: info[k] for k in KEYS} == {k: counted[k] for k in KEYS}
    assert info["leaked_bytes"] == counted["leaked_bytes"]
    assert info["peak_bytes"] == counted["peak_bytes"]
    made, again = (r.recording.total(f"oracle_{name}") for name in ("alloc", "realloc"))
    assert made["allocated_bytes"] + again["allocated_bytes"] == counted["allocated_bytes"]
    assert again["allocations"] == counted["reallocations"]
    assert any((frame.get("line") or 0) > 0 for s in r.recording.stacks for frame in s["frames"]
               if frame.get("function") == "oracle_alloc"), "no lines"


@case
def oracle_eight_threads(m):
    """Most blocks are freed on another thread; reallocs chain across threads."""
    m.add("oracle8", [m.compile("oracle", "-O2"), 8, 5000])
    r = (yield)["oracle8"]
    counted, info = json.loads(r.stdout), r.recording.info
    complete(info)
    made, again = (r.recording.total(f"oracle_{name}") for name in ("alloc", "realloc"))
    for key in ("allocations", "allocated_bytes"):
        assert made[key] + again[key] == counted[key]
    assert again["allocations"] == counted["reallocations"] == info["reallocations"]
    assert made["leaked_bytes"] + again["leaked_bytes"] == counted["leaked_bytes"]


def stacks(m, level, *flags, name=None):
    name = name or "stacks" + level
    m.add(name, [m.compile(name, level, *flags, source="stacks")], library=PARANOID)
    r = (yield)[name]
    assert r.status == 0, r
    sizes = r.recording.by_size()
    for size, chain in CHAINS.items():
        assert len(sizes.get(size, [])) == 1, (size, sizes.get(size))
        assert innermost(sizes[size][0])[:len(chain)] == chain, (size, sizes[size])
    assert innermost(sizes[1007][0])[:2] == ["inner", "compare"]
    assert "main" in sizes[1007][0], sizes[1007]
    assert innermost(sizes[1009][0])[:2] == ["inner", "handler"]
    assert "main" in sizes[1009][0], sizes[1009]
    assert r.recording.info["stacks_broken"] == 0


@case
def stacks_o0(m):
    yield from stacks(m, "-O0")


@case
def stacks_o2(m):
    yield from stacks(m, "-O2")


@full_case
def stacks_o3(m):
    yield from stacks(m, "-O3")


@full_case
def stacks_o2_no_frame_pointers(m):
    yield from stacks(m, "-O2", "-fomit-frame-pointer", name="stacks-nofp")


@case
def stacks_signed(m):
    """Return addresses are signed (pointer authentication): stripped, and named as the others."""
    if left_out(m, "signed addresses"):
        yield
        skip(m, "signed addresses")
    yield from stacks(m, "-O2", "-mbranch-protection=standard", name="stacks-signed")


@full_case
def stacks_a32(m):
    """The other instructions of ARM, which have another frame register."""
    if m.processor.name != "armhf":
        yield
        return
    generators = [stacks(m, level, "-marm", name="stacks-a32" + level) for level in LEVELS]
    for generator in generators:
        next(generator)
    results = yield
    for generator in generators:
        with contextlib.suppress(StopIteration):
            generator.send(results)


@case
def stacks_without_tables(m):
    """Code without unwind tables is followed by its frame records."""
    if left_out(m, "frame records"):
        yield
        skip(m, "frame records")
    m.add("bare", [m.compile("bare", "-O2", "-fno-omit-frame-pointer",
                             "-fno-asynchronous-unwind-tables", "-fno-unwind-tables",
                             source="stacks")], library=PARANOID)
    sizes = (yield)["bare"].recording.by_size()
    for size in (1001, 1002, 1003, 1004, 1006):
        assert innermost(sizes[size][0])[:len(CHAINS[size])] == CHAINS[size], (size, sizes[size])


@case
def cxx_stacks(m):
    m.add("cxx", [m.compile("stacks_cxx", "-O1")], library=PARANOID)
    r = (yield)["cxx"]
    assert r.status == 0, r
    assert any("shop::Derived::make" in f for f in r.recording.by_size()[2001])
    names = {name for stack in r.recording.stacks for name in stack["functions"]}
    assert any(name.endswith("shop::one<long>") for name in names), names
    assert r.recording.total("main")["leaked_count"] == 2


@full_case
def operators_of_jemalloc(m):
    """It has operator new of its own, whose name depends on how wide size_t is."""
    m.add("cxx-jemalloc", [m.compile("stacks_cxx", "-O1")], env={
        "LD_PRELOAD": "/memoir/libmemoir.so:"
        f"/usr/lib/{m.processor.triplet}/libjemalloc.so.2"})
    r = (yield)["cxx-jemalloc"]
    assert r.status == 0, r
    assert "jemalloc" in r.recording.info["allocator"]
    made, = r.recording.by_size()[2001]
    assert made[0].startswith("operator new") and any("Derived::make" in f for f in made), made


@case
def needs_libc_alone(m):
    """The library that is loaded into every program brings no other."""
    yield
    table = subprocess.run([m.processor.triplet + "-readelf", "-dW", os.path.join(
        m.processor.build, "libmemoir.so")], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", table)
    known = "libc.so", "ld-linux", "ld.so"
    assert needed and all(name.startswith(known) for name in needed), needed


def hazard(m, source, *arguments, level="-O2"):
    """A program that does what is hard for a recorder: as without it, and every stack that was
    reused is the one that a whole walk gives (else it ends with a trap)."""
    program = m.compile(source, level)
    m.add(source + "-plain", [program, *arguments], record=False)
    m.add(source, [program, *arguments], library=PARANOID)
    results = yield
    same(results[source + "-plain"], results[source])
    return results[source].recording


@case
def exceptions(m):
    yield from hazard(m, "throw")


@case
def longjmp(m):
    yield from hazard(m, "longjmp")


@case
def fibers(m):
    """ucontext, and stacks that are switched by hand."""
    yield from hazard(m, "fibers")


@case
def deep_recursion(m):
    yield from hazard(m, "deep", 500)


@full_case
def profiling_signals(m):
    """Not compared with a plain run, which now and then crashes there: libgcc looks at the stack
    in a handler, and may read what is not mapped."""
    m.add("sigprof", [m.compile("sigprof", "-O2")], library=PARANOID)
    r = (yield)["sigprof"]
    assert r.status == 0 and r.stdout == b"ticked 1, bad 0\n", r


@full_case
def cancelled_threads(m):
    yield from hazard(m, "cancel")


@full_case
def many_threads(m):
    yield from hazard(m, "many_threads")


@full_case
def forks(m):
    yield from hazard(m, "forks")


@case
def libraries_at_one_address(m):
    """They take turns there, and keep their names."""
    a, b = (m.compile(f"plugin_{x}.so", "-O2", f"-DNAME=plugin_{x}", source="plugin", shared=True)
            for x in "ab")
    recording = yield from hazard(m, "plugins_in_turn", a, b)
    assert recording.status == 0
    for size, name in ((1111, "plugin_a"), (2222, "plugin_b")):
        made = [s for s in recording.stacks if s["allocations"]
                and s["allocated_bytes"] == size * s["allocations"]]
        assert sum(s["allocations"] for s in made) == 50
        for stack in made:
            assert innermost(stack["functions"])[0] == name


@full_case
def libraries_in_threads(m):
    a, b = (m.compile(f"plugin_{x}.so", "-O2", f"-DNAME=plugin_{x}", source="plugin", shared=True)
            for x in "ab")
    yield from hazard(m, "dlopens", a, b, 30)


@case
def interrupted_anywhere(m):
    """A handler allocates while the recorder is interrupted at any instruction of its own."""
    bump = m.compile("bumplib.so", "-O2", source="bumplib", shared=True)
    m.add("interrupts", [m.compile("interrupts", "-O2")],
          env={"LD_PRELOAD": "/memoir/libmemoir.so:" + bump})
    r = (yield)["interrupts"]
    assert r.status == 0, r
    counted, info = json.loads(r.stdout), r.recording.info
    assert info["lost_events"] == 0
    assert info["allocations"] == counted["allocations"]
    assert info["deallocations"] == counted["deallocations"]
    assert r.recording.total("in_handler")["allocations"] == 2 * counted["ticks"]


@case
def every_end(m):
    program = m.compile("exits", "-O2")
    ends = ["return", "_exit", "segfault", "kill", "exec", "thread"]
    for end in ends:
        m.add("exits-plain-" + end, [program, end], record=False)
        m.add("exits-" + end, [program, end])
    results = yield
    for end in ends:
        r = results["exits-" + end]
        same(results["exits-plain-" + end], r)
        assert r.recording.total("make") == {
            "allocations": 1000, "allocated_bytes": 123000, "leaked_count": 500,
            "leaked_bytes": 61500}, end


def killed(m, times):
    """SIGKILL at a random instant, in a storm of eight threads."""
    program = m.compile("storm", "-O2")
    m.add("kill", [], record=False, limit=600, script=f"""
for i in $(seq {times}); do
	MEMORY_PROFILER_OUTPUT=/out/kill$i.dat LD_PRELOAD=/memoir/libmemoir.so {program} \\
		/out/kill$i.counts &
	while [ ! -s /out/kill$i.counts ]; do usleep 1000; done
	usleep $(($(od -An -N2 -tu2 /dev/urandom) * 8))
	kill -9 $!
	wait $!
	while pidof memoir-collector >/dev/null; do sleep 0.1; done
done
""")
    r = (yield)["kill"]
    assert r.status == 0, r
    for i in range(1, times + 1):
        recording = harness.Recording(r.path(f"kill{i}.dat"), r)
        with open(r.path(f"kill{i}.counts"), "rb") as file:
            data = file.read(512)
        complete(recording.info)
        for thread in range(8):
            allocations, frees = struct.unpack_from("2Q", data, 64 * thread)
            seen = recording.total(f"storm_{thread}")
            assert allocations <= seen["allocations"] <= allocations + 1, (i, thread)
            freed = seen["allocations"] - seen["leaked_count"]
            assert frees <= freed <= frees + 1, (i, thread)


@case
def killed_at_any_instant(m):
    yield from killed(m, m.kills)


@full_case
def other_allocators(m):
    """jemalloc before the recorder and behind it, and linked with the program: callers that were
    bound elsewhere are recorded all the same."""
    import test_allocators
    jemalloc = f"/usr/lib/{m.processor.triplet}/libjemalloc.so.2"
    ours, program = "/memoir/libmemoir.so", m.compile("oracle", "-O2")
    for name, order in (("before", (jemalloc, ours)), ("behind", (ours, jemalloc))):
        m.add("jemalloc-" + name, [program, 2, 4000], env={"LD_PRELOAD": ":".join(order)})
    m.add("mallocx", [m.compile("mallocx", "-O1", libraries=("-ljemalloc",))])
    results = yield
    for name in ("before", "behind"):
        r = results["jemalloc-" + name]
        assert r.status == 0, r
        counted, info = json.loads(r.stdout), r.recording.info
        assert info["lost_events"] == 0
        assert "jemalloc" in info["allocator"]
        made, again = (r.recording.total(f"oracle_{each}") for each in ("alloc", "realloc"))
        for key in ("allocations", "allocated_bytes"):
            assert made[key] + again[key] == counted[key], name
        assert again["allocations"] == counted["reallocations"]
    assert results["mallocx"].status == 0, results["mallocx"]
    test_allocators.check_mallocx(results["mallocx"].recording)


@case
def allocator_inside(m):
    """jemalloc linked into the program: hooked where it is, recorded exactly; or, where that is not
    done, left alone, and said."""
    library = os.path.join(m.root, "usr/lib", m.processor.triplet, "libjemalloc.a")
    for name, flags in (("pie", ("-fPIE", "-pie")), ("nopie", ("-fno-pie", "-no-pie"))):
        m.add("inside-" + name, [m.compile("inside-" + name, "-O2", *flags, source="oracle",
                                           libraries=(library, "-lstdc++", "-lm")), 4, 3000],
              library=PARANOID)
    results = yield
    for name in ("inside-pie", "inside-nopie"):
        r = results[name]
        assert r.status == 0, r
        counted, info = json.loads(r.stdout), r.recording.info
        if left_out(m, "hooks in place"):
            assert r.stderr.endswith(b"it cannot be hooked: functions are not hooked where they "
                                     b"are on this processor\n"), r
            continue
        complete(info)
        assert info["allocator"] == "jemalloc inside the executable"
        made, again = (r.recording.total(f"oracle_{each}") for each in ("alloc", "realloc"))
        for key in ("allocations", "allocated_bytes"):
            assert made[key] + again[key] == counted[key]
        assert again["allocations"] == counted["reallocations"]
        assert made["leaked_bytes"] + again["leaked_bytes"] == counted["leaked_bytes"]
        assert info["stacks_broken"] == 0


@case
def moved_instructions(m):
    """Each kind of instruction that a hook in place displaces does elsewhere what it did."""
    if left_out(m, "hooks in place"):
        yield
        skip(m, "hooks in place")
    m.add("moved", [m.compile("moved_" + m.processor.name, "-O1",
                              "-I" + os.path.join(harness.ROOT, "src"),
                              "-I" + os.path.join(m.processor.build, "src"))], record=False)
    r = (yield)["moved"]
    assert r.status == 0 and int(r.stdout.split()[0]) >= 20, r


@case
def disassembly(m):
    """`heap --disasm` of the foreign program, read here: the instructions that objdump reads, with
    the names that branches lead to."""
    program = os.path.join(m.stage, m.compile("disassembled", "-O2", "-no-pie",
                                              source="oracle")[1:])
    yield
    tools = m.processor.triplet + "-"
    start = next(int(line.split()[0], 16) for line in subprocess.run(
        [tools + "nm", program], capture_output=True, text=True, check=True).stdout.splitlines()
        if line.endswith(" oracle_alloc"))
    headers = subprocess.run([tools + "readelf", "-lW", program], capture_output=True, text=True,
                             check=True).stdout
    base, size = (int(n, 16) for n in re.search(
        r"LOAD +0x0+ (0x\w+) +0x\w+ (0x\w+) +0x\w+ R E", headers).groups())
    end = base + size + 0xfff & ~0xfff
    dump = os.path.join(m.folder, "foreign.heap")
    with open(dump, "w", encoding="ascii") as file:
        file.write(f"heap_v2/1\n  t*: 1: 100 [0: 0]\n@ {start + 9:#x}\n  t*: 1: 100 [0: 0]\n\n"
                   f"MAPPED_LIBRARIES:\n{base:08x}-{end:08x} r-xp 00000000 00:00 1 "
                   f"{program}\n")
    ours = harness.execute([harness.MEMOIR, "jemalloc", "heap", "--disasm=^oracle_alloc$", "--json",
                            dump])
    assert ours.status == 0, ours
    routine, = json.loads(ours.stdout)["routines"]
    theirs = subprocess.run([tools + "objdump", "-d", "--no-show-raw-insn",
                             "--disassemble=oracle_alloc", program], capture_output=True, text=True,
                            check=True).stdout
    # Constants come in other pieces.
    rows = [line.split("\t") for line in theirs.splitlines() if ":\t" in line
            and not re.search(r"\t\.(word|short|byte)", line)]
    instructions = [i for i in routine["instructions"] if i["text"][:5] not in (".word", ".byte")]
    assert [i["address"] for i in instructions] == [
        int(row[0].strip(" :"), 16) for row in rows]
    aliases = {"movz": "mov", "movn": "mov", "push": "stmdb", "pop": "ldmia"}

    def plain(word):
        """Without what says how long the instruction is, which one of them may leave out."""
        word = re.sub(r"\.[nw]$", "", word)
        return aliases.get(word, word)
    words = [i["text"].split()[0] for i in instructions]
    for ours, row in zip(words, rows):
        # A condition that an `it` before says is not said again.
        assert re.fullmatch(re.escape(plain(ours)) + CONDITION, plain(row[1])), (ours, row)
    text = harness.execute([harness.MEMOIR, "jemalloc", "heap", "--disasm=^oracle_alloc$",
                            dump]).stdout.decode()
    if left_out(m, "calls by name"):
        assert "<oracle_alloc+" in text, text
        return
    assert "<malloc@plt>" in text and "<calloc@plt>" in text, text


@case
def memory_maps(m):
    yield from hazard(m, "maps")


@full_case
def python_functions(m):
    """They are those that Python itself sees, at every block that the script tells about."""
    if left_out(m, "functions of Python"):
        yield
        skip(m, "functions of Python")
    import test_python
    shutil.copy(test_python.SCRIPT, os.path.join(m.stage, "memoir"))
    # As slow as this is, a signal of each millisecond would interrupt the last one's handler.
    m.add("python", ["python3", "/memoir/python_stacks.py", "/out/python.json"], limit=600,
          env={"TICK": "0.02"})
    r = (yield)["python"]
    assert r.status == 0, r
    with open(r.path("python.json"), encoding="utf-8") as file:
        kinds, _ = test_python.compare(r.path("python.dat"), json.load(file))
    assert kinds["deep"] == 402 and kinds["signal"] >= 20


@full_case
def host_tools(m):
    """`memoir` itself records and reads there, and says the same as here."""
    program = m.compile("oracle", "-O2")
    m.add("tools", [], record=False, limit=600, script=f"""
cd /memoir && ./memoir run -q -o /out/tools.dat -- {program} 2 4000 && ./memoir info --json \\
	/out/tools.dat && ./memoir report --json --no-verdicts /out/tools.dat >/out/tools.report
""")
    r = (yield)["tools"]
    assert r.status == 0, r
    counted, said = r.stdout.split(b"\n", 1)
    recording = harness.Recording(r.path("tools.dat"), r)
    infos = json.loads(said), harness.ask("info", "--json", recording.path)
    for info in infos: # there the files are still to be had
        for module in info["modules"]:
            module.pop("file")
    assert infos[0] == infos[1]
    with open(r.path("tools.report"), encoding="utf-8") as file:
        there = json.load(file)
    here = harness.ask("report", "--json", "--no-verdicts", recording.path)
    assert there["top"] == here["top"]
    assert recording.total("oracle_alloc")["allocations"] + recording.total("oracle_realloc")[
        "allocations"] == json.loads(counted)["allocations"]


@full_case
def children(m):
    """A forked child has a recording of its own, with what it inherited."""
    m.add("family", [m.compile("family", "-O2"), "fork"], env={
        "MEMORY_PROFILER_TRACK_CHILD_PROCESSES": "1",
        "MEMORY_PROFILER_OUTPUT": "/out/family-%n.dat"})
    r = (yield)["family"]
    assert r.status == 0, r
    files = [name for name in os.listdir(r.folder) if name.startswith("family-")]
    assert len(files) >= 2, files
    for name in files:
        complete(harness.ask("info", "--json", r.path(name)))


@full_case
def agent(m):
    """A running jemalloc answers through the agent, to the `memoir` there."""
    program = m.compile("agent_target", "-O2")
    jemalloc = f"/usr/lib/{m.processor.triplet}/libjemalloc.so.2"
    m.add("agent", [], record=False, limit=600, script=f"""
export XDG_RUNTIME_DIR=/tmp/agent/run
mkdir -m 700 $XDG_RUNTIME_DIR
mkfifo orders
exec 3<>orders
LD_PRELOAD=/memoir/libmemoir-jemalloc.so:{jemalloc} {program} <&3 >said &
echo grow >&3
while ! grep -q done said || [ ! -e $XDG_RUNTIME_DIR/memoir/jemalloc.$! ]; do sleep 0.1; done
/memoir/memoir jemalloc ps >&2 || exit 1
/memoir/memoir jemalloc record -n 1 --pid $! -o stats >&2 && /memoir/memoir jemalloc stats --json \\
	stats || exit 1
echo quit >&3
wait $!; [ $? = 7 ]
""")
    r = (yield)["agent"]
    assert r.status == 0, r
    assert b"agent_target" in r.stderr, r
    json.loads(r.stdout)
    assert max(map(int, re.findall(rb'"allocated": (\d+)', r.stdout))) >= 80 << 20, r


TEXT = "for i in $(seq 2000); do echo line $i foo $((i * 7919 % 1000)); done >text.txt; "
# What each prints, on both ways, must be the same: 20 programs and more, from the foreign Debian.
PROGRAMS = {
    "busybox": "busybox awk 'BEGIN { for (i = 0; i < 999; i++) a[i] = i * i; print a[998] }'",
    "bash": "bash -c 'a=(1 2 3); for i in ${a[@]}; do echo $((i*i)); done; echo {a..e} | tr "
    "a-z A-Z'",
    "perl": "perl -e 'my %h; $h{$_ % 97} .= $_ for 1..9999; print join(\",\", map length $h{$_}, "
            "sort keys %h)'",
    "python3": "python3 -I -c 'import json; print(len(json.dumps({str(i): [i] for i in "
               "range(3000)})))'",
    "python3-fork": "python3 -I -c 'import os; p = os.fork(); p or os._exit(3); "
                    "print(os.waitpid(p, 0)[1])'",
    "sqlite3": "sqlite3 :memory: 'with recursive c(x) as (select 1 union all select x+1 from "
    "c where "
               "x<5000) select count(distinct x*x%997), sum(x) from c;'",
    "git": "git init -q r; cd r; cp ../text.txt .; git add .; GIT_AUTHOR_DATE=@0+0000 "
           "GIT_COMMITTER_DATE=@0+0000 git -c user.name=a -c user.email=a@b commit -qm x; git log "
           "--stat; git grep -c foo",
    "redis-server": "redis-server --port 7777 --save '' --daemonize no >log 2>&1 & "
                    "for i in $(seq 100); do redis-cli -p 7777 ping >/dev/null 2>&1 && break; "
                    "sleep 0.2; done; redis-benchmark -p 7777 -n 2000 -q -t set,get >/dev/null; "
                    "redis-cli -p 7777 dbsize; redis-cli -p 7777 shutdown nosave; wait $!; echo $?",
    "gawk": "gawk '{ n[$4 % 10] += $2 } END { for (k = 0; k < 10; k++) print k, n[k] }' text.txt",
    "sed": "sed -e 's/line/LINE/g;5,1990d' text.txt",
    "grep": "grep -cE '(foo|line).*[05]$' text.txt",
    "sort": "sort -k4 -n text.txt | tail -3",
    "bc": "echo 'scale=60; 4*a(1)' | bc -l",
    "diff": "sed s/7/8/ text.txt >other.txt; diff -u0 text.txt other.txt | tail -3",
    "tar": "tar --sort=name --mtime=@0 -cf - text.txt | tar -tvf -",
    "gzip": "gzip -nc text.txt | gzip -dc | md5sum",
    "xz": "xz -T2 -0 -c text.txt | xz -dc | md5sum",
    "bzip2": "bzip2 -c text.txt | md5sum",
    "zstd": "zstd -q -c -T2 text.txt | zstd -qdc | md5sum",
    "jq": "echo '[{\"n\":1},{\"n\":41}]' | jq 'map(.n)|add'",
    "file": "file -b /usr/bin/perl | cut -d, -f1-2",
    "openssl": "openssl dgst -sha256 text.txt",
    "lua": "lua5.4 -e 't = {} for i = 1, 5000 do t[i] = tostring(i) end print(#table.concat(t))'",
    "tclsh": "echo 'for {set i 0} {$i<1000} {incr i} {lappend l [expr $i*$i]}; puts "
    "[llength $l]' | "
             "tclsh8.6",
    "find": "find /usr/share/perl -name '*.pm' | sort | head -3",
    "segfault": "sh -c 'kill -SEGV $$'; echo $?",
}


@full_case
def ordinary_programs(m):
    """As without the recorder, which is in every process that they start."""
    m.add("programs-plain", [], record=False, limit=300, script=program_script("plain", ""))
    m.add("programs", [], record=False, limit=900, script=program_script(
        "recorded", "export LD_PRELOAD=/memoir/libmemoir.so "
        "MEMORY_PROFILER_TRACK_CHILD_PROCESSES=1 "
        "MEMORY_PROFILER_OUTPUT=/tmp/programs/%p-%e.dat\n"))
    results = yield
    plain, recorded = ({name: text for name, text in zip(PROGRAMS, results[job].stdout.split(
        b"== ")[1:])} for job in ("programs-plain", "programs"))
    assert len(plain) == len(PROGRAMS) == len(recorded), results["programs"]
    for name in PROGRAMS:
        assert recorded[name] == plain[name], name
        assert len(plain[name]) > len(name) + 3, plain[name]
    files = int(results["programs"].stderr.split()[-1])
    assert files > len(PROGRAMS), "some were not recorded"


WALKED = {
    "perl": ["perl", "-e", "my %h; $h{$_ % 97} .= $_ for 1..999; print scalar keys %h"],
    "python3": ["python3", "-I", "-c", "import json; print(json.dumps({str(i): i for i in "
                "range(300)}))"],
    "sqlite3": ["sqlite3", ":memory:", "select sum(value) from json_each('[1, 2, 3]')"],
    "bash": ["bash", "-c", "for i in {1..50}; do a[i]=$((i * i)); done; echo ${a[@]}"],
    "jq": ["jq", "-n", "[range(50)] | map(. * 2) | add"],
    "openssl": ["openssl", "dgst", "-sha256", "/init"],
    "redis": ["redis-server", "--version"],
    "tar": ["tar", "-cf", "/dev/null", "/init"],
}


@full_case
def stacks_of_programs(m):
    """Stripped programs: every stack that was reused is the one that a whole walk gives (else they
    end with a trap), and they lead to where programs start."""
    for name, command in WALKED.items():
        m.add("walked-" + name, command, library=PARANOID)
    results = yield
    for name in WALKED:
        r = results["walked-" + name]
        assert r.status == 0, r
        info = r.recording.info
        assert info["stacks"] and info["lost_events"] == 0, name
        if left_out(m, "frame records"):
            continue # most of them end where there are no tables
        assert info["stacks"] > 10, name
        assert info["stacks_broken"] <= info["stacks"] // 50, (name, info["stacks_broken"])


def program_script(where, setup):
    lines = [f"mkdir -p /tmp/programs/{where}; cd /tmp/programs/{where}\n", TEXT + "\n"]
    for name, command in PROGRAMS.items():
        lines.append(f"echo '== {name}'\n(\n{setup}exec 2>&1\n{command}\n)\n")
    lines.append("ls /tmp/programs/*.dat 2>/dev/null | wc -l >&2\n")
    return "".join(lines)
