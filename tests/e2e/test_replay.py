# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir replay and memoir export replay: what is repeated is what was recorded."""
import array
import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess

import pytest

import harness

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"
ALLOCATORS = ["jemalloc", "tcmalloc", "mimalloc"]
SQL = ("create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n "
       "where i < 2000) "
       "insert into t select i, hex(randomblob(20)) from n; create index x on t(b); "
       "select count(*), max(length(b)) from t order by b;")
PYTHON = ("import json; print(len(json.loads(json.dumps([{'a': i, 'b': str(i) * 5} for i in "
          "range(3000)]))))")
REPEATED = 'function ~ "^memoir_replay_calls$"'


def replay(*arguments, status=0, env=None):
    done = harness.execute([harness.MEMOIR, "replay", "--json", *map(str, arguments)], env=env)
    assert done.status == status, f"{done}"
    return json.loads(done.stdout)


def refused(*arguments, status=1):
    """The one line that it says."""
    done = harness.execute([harness.MEMOIR, "replay", *map(str, arguments)])
    lines = done.stderr.decode().splitlines()
    assert (done.status == status and len(lines) == 1
            and lines[0].startswith("memoir replay: ")), f"{done}"
    return lines[0]


def counts(answer):
    return {key: answer[key] for key in ("allocations", "deallocations", "reallocations")}


def matching(path, expression):
    return harness.ask("allocations", "--json", "-n", "0", "-F", expression, path)["total_count"]


# --- the exported file, read by a reader that knows nothing but docs/replay.md


class Player:
    """Plays an exported file, and checks each step."""

    def __init__(self, path):
        words = array.array("Q")
        with open(path, "rb") as file:
            words.frombytes(file.read())
        self.slot_count, self.blocks, self.stack = words[0], {}, []
        self.allocations = self.reallocations = self.frees = self.bytes = self.peak = self.most = 0
        self.allocated, self.freed, self.entered = [], [], {}
        now, at = 0, 1
        while words[at]:
            op, a, b, c = words[at:at + 4]
            at += 4
            if op in (1, 2, 3):
                assert a < self.slot_count and b >= now
                now = b
            getattr(self, {1: "alloc", 2: "free", 3: "realloc", 4: "down", 5: "up"}[op])(a, b, c)
        assert at == len(words) - 1

    def alloc(self, slot, at, size):
        assert slot not in self.blocks
        self.allocations += 1
        self.holds(slot, at, size)

    def realloc(self, slot, at, size):
        self.bytes -= self.blocks[slot]
        self.allocations += 1
        self.reallocations += 1
        self.holds(slot, at, size)

    def holds(self, slot, at, size):
        self.blocks[slot] = size
        self.bytes += size
        self.peak = max(self.peak, self.bytes)
        self.most = max(self.most, len(self.blocks))
        self.allocated.append((at, size, tuple(self.stack)))

    def free(self, slot, at, zero):
        assert not zero
        self.bytes -= self.blocks.pop(slot)
        self.frees += 1
        self.freed.append((at, tuple(self.stack)))

    def down(self, frame, b, c):
        assert not b and not c
        self.stack.append(frame)
        self.entered[frame] = self.entered.get(frame, 0) + 1

    def up(self, a, b, c):
        assert not a and not b and not c
        self.stack.pop()


def rows_of(path, *filters):
    done = harness.execute([harness.MEMOIR, "export", "csv", path, *filters])
    assert done.status == 0, f"{done}"
    return list(csv.DictReader(io.StringIO(done.stdout.decode(), newline="")))


def live_of(rows):
    """Bytes at the end and at the peak: ends come before beginnings, as a realloc has both at
    once."""
    moments = []
    for row in rows:
        moments.append((int(row["timestamp_ns"]), 1, int(row["id"]), int(row["size"])))
        if row["deallocated_ns"]:
            moments.append((int(row["deallocated_ns"]), 0, int(row["id"]), -int(row["size"])))
    live = peak = 0
    for *_, size in sorted(moments):
        live += size
        peak = max(peak, live)
    return live, peak


def addresses_of(path):
    """{number of a stack: its addresses, outermost first}; the last frame is the call itself."""
    done = harness.execute([harness.MEMOIR, "export", "json", path])
    assert done.status == 0, f"{done}"
    stacks = {}
    for row in json.loads(done.stdout)["allocations"]:
        for end in (row, row.get("deallocation") or {}):
            if end.get("backtrace_id"):
                stacks[str(end["backtrace_id"])] = tuple(
                    frame["address"] for frame in end["backtrace"][:-1] if not frame["is_inline"])
    return stacks


def same_stacks(addresses, numbers, stacks):
    """Frame for frame: one number is one address, in every stack."""
    found = set()
    for number, stack in set(zip(numbers, stacks)):
        assert len(stack) == len(addresses[number])
        found.update(zip(stack, addresses[number]))
    assert found and len(found) == len({f for f, _ in found}) == len({a for _, a in found})


@pytest.fixture(scope="module")
def recordings(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("replay")
    env = {"PYTHONMALLOC": "malloc"}
    return {
        "python": harness.record(["/usr/bin/python3", "-c", PYTHON], str(folder / "python.dat"),
                                 env=env),
        "sqlite": harness.record(["sqlite3", ":memory:", SQL], str(folder / "sqlite.dat")),
        "threads": harness.record([compile_program("oracle"), "8", "2000"],
                                  str(folder / "threads.dat")),
    }


@pytest.mark.parametrize("program", ["sqlite", "threads"])
def test_exported_file(recordings, tmp_path, program):
    recording = recordings[program]
    harness.execute([harness.MEMOIR, "export", "replay", recording.path, "-o",
                     str(tmp_path / "out")])
    player, info, rows = Player(tmp_path / "out"), recording.info, rows_of(recording.path)
    assert (player.allocations, player.reallocations, player.frees) == \
        (info["allocations"], info["reallocations"], info["deallocations"])
    assert (player.bytes, player.peak) == (info["leaked_bytes"], info["peak_bytes"])
    assert player.slot_count == player.most
    # Each block at its own time, from its own stack.
    assert [(at, size) for at, size, _ in player.allocated] == \
        [(int(row["timestamp_ns"]) // 1000, int(row["size"])) for row in rows]
    addresses = addresses_of(recording.path)
    same_stacks(addresses, [row["backtrace_id"] for row in rows],
                [stack for *_, stack in player.allocated])
    chained = matching(recording.path, "position_in_chain > 0")
    assert chained == player.reallocations
    # Frees have their own times and stacks, not their blocks'.
    freed = rows_of(recording.path, "-F", 'deallocation_call ~ "free"')
    ends = sorted((int(row["deallocated_ns"]), row["deallocation_backtrace_id"]) for row in freed)
    assert [at for at, _ in player.freed] == [at // 1000 for at, _ in ends]
    # Which of two came first is not known here if they have the same nanosecond.
    times = collections.Counter(at for at, _ in ends)
    alone = [i for i, (at, stack) in enumerate(ends) if times[at] == 1 and stack != "0"]
    assert len(alone) > len(ends) * 0.9
    same_stacks(addresses, [ends[i][1] for i in alone], [player.freed[i][1] for i in alone])
    # The frames that are entered most have the lowest numbers.
    entered = [player.entered[frame] for frame in sorted(player.entered)]
    assert (entered == sorted(entered, reverse=True)
            and set(player.entered) == set(range(len(entered))))


@pytest.mark.parametrize("expression", ["size < 200", "size >= 200", "position_in_chain == 1",
                                        "size > 100000000"])
def test_exported_file_with_a_filter(recordings, tmp_path, expression):
    """Reallocs lose one half, and every slot is still used in turn: the player checks that."""
    recording = recordings["threads"]
    done = harness.execute(
        [harness.MEMOIR, "export", "replay", recording.path, "-o", str(tmp_path / "out"),
         "-F", expression])
    assert done.status == 0, f"{done}"
    player, rows = Player(tmp_path / "out"), rows_of(recording.path, "-F", expression)
    assert player.allocations == len(rows)
    assert (player.bytes, player.peak) == live_of(rows)
    assert player.frees + player.reallocations == sum(bool(row["deallocated_ns"]) for row in rows)
    answer = replay(recording.path, "-F", expression, "-r", "1")
    assert counts(answer["allocators"][0]) == {"allocations": player.allocations,
                                               "deallocations": player.frees,
                                               "reallocations": player.reallocations}
    assert answer["calls"]["peak_bytes"] == player.peak


# --- memoir replay


@pytest.mark.parametrize("program", ["python", "sqlite", "threads"])
def test_counts(recordings, tmp_path, program):
    """With every allocator: the replay says that it made the calls, and a recording of it does
    too."""
    recording = recordings[program]
    options = [o for name in ALLOCATORS for o in ("-a", name)]
    done = harness.execute([harness.MEMOIR, "run", "--children", "-o", str(tmp_path / "%e.%p.dat"),
                            "--",
                            harness.MEMOIR, "replay", "--json", "-r", "1", recording.path,
                            *options])
    assert done.status == 0, f"{done}"
    answer, expected = json.loads(done.stdout), counts(recording.info)
    assert [a["allocator"] for a in answer["allocators"]] == ["glibc", *ALLOCATORS]
    for one in answer["allocators"]:
        assert counts(one) == expected
        assert one["end_bytes"] == recording.info["leaked_bytes"]
    made = [str(tmp_path / name) for name in os.listdir(tmp_path)
            if name.startswith("memoir-replay.")]
    assert len(made) == 4
    for path in made:
        harness.wait_finished(path)
        assert matching(path, REPEATED) == expected["allocations"]
        assert matching(path, f"{REPEATED} and position_in_chain > 0") == expected["reallocations"]
        assert matching(path,
                        f'{REPEATED} and deallocation_call ~ "free"') == expected["deallocations"]


def test_recorded_again(recordings, tmp_path):
    """Calls, sizes and order, on one thread: the recording of the replay is the recording."""
    recording = recordings["sqlite"]
    harness.record([harness.MEMOIR, "replay", "--one-thread", "-r", "1", "--json", recording.path],
                   str(tmp_path / "%e.%p.dat"), options=["--children"], finished=False)
    again, = [str(tmp_path / name) for name in os.listdir(tmp_path)
              if name.startswith("memoir-replay.")]
    harness.wait_finished(again)
    assert [(row["call"], row["size"]) for row in rows_of(again, "-F", REPEATED)] == \
        [(row["call"], row["size"]) for row in rows_of(recording.path)]


def test_counting_library(recordings, compile_program, tmp_path):
    """An allocator that counts what reaches it: the recording's calls and no other, on one
    thread."""
    library, recording, path = compile_program(
        "countlib.so"), recordings["threads"], tmp_path / "counted"
    nothing = replay("--no-glibc", "-1", "-r", "1", "-a", f"COUNT_FILE={path} {library}",
                     recording.path,
                     "-F", "size > 100000000")
    assert nothing["calls"]["allocations"] == 0 and not path.exists()
    answer = replay("--no-glibc", "-1", "-r", "1", "-a", f"COUNT_FILE={path} {library}",
                    recording.path)
    assert answer["allocators"][0]["library"] == library
    with open(path, "rb") as file:
        counted = list(array.array("Q", file.read(48)))
    info = recording.info
    assert counted == [info["allocations"], info["deallocations"], info["reallocations"], 0,
                       info["allocated_bytes"], 0]


def test_threads_again_and_again(recordings):
    """Blocks wander between eight threads; the order on each is kept and nothing waits for ever."""
    answer = replay("-r", "15", "-a", "mimalloc", recordings["threads"].path)
    assert answer["calls"]["threads"] == recordings["threads"].info["threads"]
    for one in answer["allocators"]:
        assert len(one["runs"]) == 15
        assert {tuple(counts(run).values()) for run in one["runs"]} == {
            tuple(counts(recordings["threads"].info).values())}
        assert sorted(run["time_ns"] for run in one["runs"])[7] == one["time_ns"]


def test_threads_stay_together(compile_program, record):
    """Threads that had their memory one after the other do not have it all at once."""
    recording = record([compile_program("replayed"), "phases"])
    answer = replay("-r", "1", recording.path)
    live = answer["allocators"][0]["peak_bytes"]
    assert answer["calls"]["threads"] == 9
    assert recording.info["peak_bytes"] * 0.9 < live < recording.info["peak_bytes"] * 2.5


def test_many_threads(compile_program, record):
    recording = record([compile_program("many_threads"), "304"])
    answer = replay("-r", "1", "-a", "jemalloc", recording.path)
    assert answer["calls"]["threads"] == 305
    for one in answer["allocators"]:
        assert counts(one) == counts(recording.info)


def test_no_races(recordings, tmp_path):
    """The helper under ThreadSanitizer, which sees a block that is used before it was handed
    over."""
    shutil.copy(harness.MEMOIR, tmp_path / "memoir")
    subprocess.run(["gcc", "-O1", "-g", "-D_GNU_SOURCE", "-fno-builtin", "-fsanitize=thread",
                    "-pthread",
                    "-I", os.path.join(harness.ROOT, "src"), "-I",
                    os.path.join(harness.BUILD, "src"),
                    os.path.join(harness.ROOT, "src/replay/runner.c"),
                    "-o", str(tmp_path / "memoir-replay"), "-ldl"], check=True)
    done = harness.execute(
        [str(tmp_path / "memoir"), "replay", "-r", "1", "--json", recordings["threads"].path])
    assert done.status == 0 and not done.stderr, f"{done}"
    assert counts(json.loads(done.stdout)["allocators"][0]) == counts(recordings["threads"].info)


def test_prediction(record):
    """The peak that a replay has is that of the program, but for what is no allocator's: files,
    stacks."""
    command = ["sqlite3", ":memory:", SQL.replace("2000", "60000")]
    answer = replay("-r", "1", "-a", "jemalloc", record(command).path)
    for one in answer["allocators"]:
        env = {"LD_PRELOAD": one["library"]} if one["allocator"] != "glibc" else {}
        real = peak_of(command, env)
        assert real - (12 << 20) < one["peak_rss"] < real * 1.02


def peak_of(command, env):
    """A process starts with what its parent had, as far as ru_maxrss goes: pytest is too large for
    one."""
    program = ("import os, sys; pid = os.spawnvpe(os.P_NOWAIT, sys.argv[1], sys.argv[1:], "
               "os.environ); "
               "print(os.wait4(pid, 0)[2].ru_maxrss * 1024, file=sys.stderr)")
    done = harness.execute(
        ["/usr/bin/python3", "-S", "-c", program, "env", *(f"{k}={v}" for k, v in env.items()),
         *command])
    return int(done.stderr)


def test_touch(compile_program, record):
    """Pages are resident when they are written to."""
    recording = record([compile_program("replayed"), "large"])
    rss = {how: replay("-r", "1", "--touch", how, recording.path)["allocators"][0]
           for how in ("none", "pages", "all")}
    assert rss["none"]["peak_rss"] < 8 << 20 and rss["none"]["fragmentation_bytes"] < 0
    for how in ("pages", "all"):
        assert 64 << 20 <= rss[how]["peak_rss"] < 72 << 20
        assert rss[how]["end_rss"] >= 64 << 20 and rss[how]["page_faults"] > 0
        assert rss[how]["fragmentation_bytes"] == rss[how]["peak_rss"] - rss[how]["peak_bytes"]


def heap_of(path):
    """What was resident of the allocator's memory when the program had done its work."""
    answer = harness.ask("rss", "--json", path)
    return sum(t["bytes"] for t in answer["terms"]
               if t["name"] in ("requested", "rounding", "free_parts", "free_pages", "allocator"))


def test_what_if_comes_true(compile_program, record, tmp_path):
    """Six threads keep what they freed, each in an arena of its own.  What a replay says that trim
    and one arena give back, they give back when the program does it."""
    program = [compile_program("kept", flags=("-O1",)), LIBC, "1200"]
    recording = record(program)
    plain = heap_of(recording.path)
    changes = ["trim", "arena-max=1", "arena-max=1,trim"]
    options = [o for change in changes for o in ("--what-if", change)]
    base, *changed = replay("-r", "1", *options, recording.path)["allocators"]
    assert "what_if" not in base and base["allocator"] == "glibc"
    assert base["end_rss"] == pytest.approx(plain, rel=0.1) and plain > 40 << 20
    assert [c["what_if"] for c in changed] == changes
    for change in changed:
        assert change["gives_back_at_end"] == base["end_rss"] - change["end_rss"]
        assert change["gives_back_at_peak"] == base["peak_rss"] - change["peak_rss"]
    trim, arena, both = (c["gives_back_at_end"] for c in changed)
    assert trim > 0.8 * plain and 0.7 * plain < arena < both
    assert min(c["gives_back_at_peak"] for c in changed) > 0.5 * plain
    done = harness.record([*program, "trim"], str(tmp_path / "trim.dat"))
    assert plain - heap_of(done.path) == pytest.approx(trim, rel=0.1)
    done = harness.record(program, str(tmp_path / "arena.dat"),
                          env={"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"})
    assert plain - heap_of(done.path) == pytest.approx(arena, rel=0.1)


def test_what_if_other_allocators(compile_program, record):
    """Each knows a way to give memory back, and jemalloc's decay is asked about in the program's
    time."""
    recording = record([compile_program("kept", flags=("-O1",))])
    changes = [f"allocator={name},trim" for name in ALLOCATORS]
    options = [o for change in changes for o in ("-W", change)]
    answer = replay("-r", "1", *options, "-W", "decay=0,allocator=jemalloc", recording.path)
    base, *changed, soon = answer["allocators"]
    for change, name in zip(changed, ALLOCATORS):
        assert name in change["library"]
        assert change["gives_back_at_end"] > 0.5 * base["end_rss"]
    assert "jemalloc" in soon["library"] and answer["decay_divided_by"] >= 1
    assert soon["peak_rss"] < 0.6 * base["peak_rss"]
    # What is changed may be another allocator than the program's.
    never, at_once = replay("-r", "1", "-a", "MALLOC_CONF=dirty_decay_ms:-1 jemalloc",
                            "-W", "decay=0", recording.path)["allocators"]
    assert "jemalloc" in never["library"] and never["peak_rss"] > 3 * at_once["peak_rss"]


def test_what_if_text(compile_program, record):
    recording = record([compile_program("kept", flags=("-O1",))])
    done = harness.execute([harness.MEMOIR, "replay", "-r", "1", recording.path, "--what-if",
                            "trim", "-W", "arena-max=2"])
    text = done.stdout.decode()
    assert done.status == 0 and not done.stderr, f"{done}"
    head, *rows = [line.split() for line in text.splitlines() if re.search(
        r"what if$|as it is: glibc$| trim$| arena-max=2$", line)]
    assert " ".join(head).startswith("RSS at end gives back peak RSS gives back")
    assert [row[-1] for row in rows] == ["glibc", "trim", "arena-max=2"]
    assert all(row.count("%") == 2 for row in rows[1:])
    assert "all that is free is given back" in text


def test_what_if_refusals(recordings, compile_program):
    path = recordings["sqlite"].path
    assert "'shrink' is not trim" in refused(path, "--what-if", "shrink")
    assert "decay is jemalloc's" in refused(path, "-W", "decay=1s")
    assert "arena-max is 1 to" in refused(path, "-W", "arena-max=0")
    assert "not libmimalloc" in refused(path, "-W", "arena-max=1,allocator=mimalloc")
    assert "'nosuchmalloc'" in refused(path, "-W", "allocator=nosuchmalloc")
    assert "one allocator" in refused(path, "-W", "trim", "-a", "jemalloc", "-a", "mimalloc",
                                      status=2)
    library = compile_program("countlib.so")
    done = harness.execute([harness.MEMOIR, "replay", "--json", "-r", "1", path, "-W",
                            f"trim,allocator={library}"])
    assert done.status == 1 and b"no way to give memory back" in done.stderr


def test_text(recordings):
    done = harness.execute([harness.MEMOIR, "replay", recordings["sqlite"].path, "-r", "1", "-a",
                            "jemalloc"])
    text = done.stdout.decode()
    assert done.status == 0 and not done.stderr, f"{done}"
    assert f"{recordings['sqlite'].info['allocations']:,} allocations" in text
    assert "peak RSS" in text and "--touch pages" in text
    assert [line.split()[-1] for line in text.splitlines() if line.endswith(
        (" glibc", " jemalloc"))] == \
        ["glibc", "jemalloc"]


def test_too_large(compile_program, record):
    recording = record([compile_program("replayed"), "huge"])
    if recording.status:
        pytest.skip("this machine gives out no more memory than it has")
    assert "available" in refused(recording.path)
    assert counts(replay("-r", "1", "--touch", "none", recording.path)["allocators"][0]) == counts(
        recording.info)


def test_faulty_allocators(compile_program, record):
    recording = record([compile_program("replayed"), "odd"])
    library = compile_program("badlib.so")
    assert "signal" in replay_says(recording.path, "-a", f"BAD=abort {library}")
    assert "1 allocation failed" in replay_says(recording.path, "-a", f"BAD=none {library}")
    assert "no malloc" in replay_says(recording.path, "-a", "/lib/x86_64-linux-gnu/libm.so.6")


def replay_says(*arguments):
    """One line about the one that failed, and the others are there nevertheless."""
    done = harness.execute([harness.MEMOIR, "replay", "--json", "-r", "2", *arguments])
    assert done.status == 1 and done.stderr.count(b"\n") == 1, f"{done}"
    assert [a["failed"] for a in json.loads(done.stdout)["allocators"]] == [False, True]
    return done.stderr.decode()


def test_refusals(recordings):
    path = recordings["sqlite"].path
    assert "'nosuchmalloc'" in refused(path, "-a", "nosuchmalloc")
    assert "/no/such.so: No such file" in refused(path, "-a", "/no/such.so")
    assert "settings come before" in refused(path, "-a", "jemalloc MALLOC_CONF=x")
    assert "--touch is" in refused(path, "--touch", "some", status=2)
    assert "--repeat is" in refused(path, "--repeat", "0", status=2)
    assert "--no-glibc needs" in refused(path, "--no-glibc")
