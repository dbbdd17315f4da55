# SPDX-License-Identifier: MIT OR Apache-2.0
"""A fleet of made-up hosts, as rows of its tables: what `memoir fleet push` would have sent of
programs that ran all day.  Names and stacks are written here; ClickHouse's own functions multiply
them into rows.

A host runs one process of one service; a service is of one of PROGRAMS programs, and a program has
STACKS stacks.  One stack in fourteen grows in the newer release.  Each stack has one class of sizes
and a row in every minute, as a program that always has something alive.
"""
PROGRAMS = 100
STACKS = 70
LAYERS = (("main", "run_loop", "serve_connection"), ("main", "worker_start", "take_job"))
WORDS = ("session", "order", "image", "query", "index", "block", "frame", "route", "ticket",
         "price",
         "token", "cursor", "thumb", "ledger", "parcel", "offer", "draft", "batch", "shard",
         "quota")
ACTS = ("parse", "load", "copy", "cache", "encode", "merge", "append", "resize", "lookup", "intern",
        "split", "render", "hash", "queue")
ZONES = ("eu", "us", "ap")


def functions_of(program, k):
    """Innermost first."""
    word = WORDS[(program * 7 + k // 3) % len(WORDS)]
    other = WORDS[(program * 3 + k // 7) % len(WORDS)]
    inner = [f"{ACTS[(k * 5 + d * 3 + program) % len(ACTS)]}_{word if d < 2 else other}"
             for d in range(2 + k % 4)]
    return inner + [f"handle_{other}"] + list(reversed(LAYERS[k % 2])) + ["_start"]


def quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def array(values, write=quoted):
    return "[" + ",".join(map(write, values)) + "]"


def stack_rows():
    for program in range(PROGRAMS):
        for k in range(STACKS):
            names = functions_of(program, k)
            n = len(names)
            source = f"src/{WORDS[program % len(WORDS)]}.c"
            yield (f"('{100000000 + program * 1000 + k}-memoir', 'malloc', {array(names)}, "
                   f"{array([source] * n)}, "
                   f"{array([f'/usr/bin/program{program}'] * n)}, "
                   f"{array(range(10, 10 + n), str)}, {array([0] * n, str)}, "
                   f"{array([7] * (n - 1) + [0], str)}, {n}, {quoted(names[0])})")


def write_stacks(ask):
    rows = list(stack_rows())
    for i in range(0, len(rows), 200):
        ask("INSERT INTO stacks (hash, call, functions, files, modules, lines, addresses, kinds, "
            "depth, responsible) " + " UNION ALL ".join(
                "SELECT " + row[1:-1] for row in rows[i:i + 200]))


RECORDING = """SELECT {first} + number AS recording,
  lower(hex(MD5(concat('r', toString(recording))))) AS id, 'recording' AS kind,
  concat(['shop','bank','mail','video','search','maps','chat','ads','auth','feed'][number % 10 + 1],
         '-', toString(number % {services})) AS service,
  concat('web', toString(number % {hosts}), '.', ['eu','us','ap'][number % 3 + 1]) AS host,
  lower(hex(MD5(concat('b', toString(number % {programs} * 2 + number % 2))))) AS build,
  ['4.1','4.2'][number % 2 + 1] AS release,
  concat('/usr/bin/program', toString(number % {programs}), ' --serve') AS command,
  [concat('zone=', ['eu','us','ap'][number % 3 + 1]), 'tier=web'] AS labels,
  toDateTime({start}) AS started, toDateTime({start} + {minutes} * 60 - 1) AS ended,
  toDate({start_day}) AS day, toUInt32(1000 + number) AS pid,
  concat('/var/lib/memoir/app_', toString(number), '.dat') AS file,
  toUInt64(5000000000 + number * 1000) AS allocated_bytes, toUInt64(9000000) AS allocated_count,
  toUInt64(200000000 + number * 10) AS leaked_bytes, toUInt64(90000) AS leaked_count,
  toUInt64(300000000 + cityHash64(number) % 100000000) AS peak_bytes,
  toUInt64(100000) AS peak_count, now() AS pushed
FROM numbers({recordings})"""

# x: of the minute; k: of the stack; r: of the recording.
SAMPLES = """SELECT toDate({start_day}) + intDiv(m, 1440) AS day,
  toDateTime({start} + m * 60) AS bucket, toUInt64({first} + r) AS recording, toUInt64(1) AS batch,
  toFixedString(concat(toString(100000000 + r % {programs} * 1000 + k), '-memoir'), 16)
    AS stack, toUInt8(6 + k % 12) AS size_class,
  toUInt64(block * (3 + h % 5)) AS allocated_bytes, toUInt64(3 + h % 5) AS allocated_count,
  toUInt64(block * (3 + h % 5)) AS freed_bytes, toUInt64(3 + h % 5) AS freed_count,
  toUInt64(block * blocks) AS live_bytes, toUInt64(blocks) AS live_count,
  toUInt64(if(m = {last}, live_bytes, 0)) AS leaked_bytes,
  toUInt64(if(m = {last}, live_count, 0)) AS leaked_count,
  toUInt64(if(m = {last}, live_bytes, 0)) AS peak_bytes,
  toUInt64(if(m = {last}, live_count, 0)) AS peak_count,
  toUInt64(block) AS temporary_bytes, toUInt64(1) AS temporary_count,
  toFloat64(0) AS live_variance
FROM (SELECT intDiv(number, {stacks} * {recordings}) + {minute} AS m,
        intDiv(number, {stacks}) % {recordings} AS r, number % {stacks} AS k,
        cityHash64(number, {minute}) AS h, bitShiftLeft(toUInt64(1), 6 + k % 12) * 3 / 4 AS block,
        intDiv(2000000, (k + 2) * toUInt64(block)) + 5 + h % 7
          + if(k % 14 = 3 AND r % 2 = 1, m * (1 + r % 5), 0) AS blocks
      FROM numbers({rows}))"""


def write(ask, *, recordings=1000, hosts=1000, services=1000, minutes=1440, start, first=1000000,
          progress=None):
    """Rows of samples that were written; recordings have numbers from `first` on."""
    start = start // 86400 * 86400
    facts = {"recordings": recordings, "hosts": hosts, "services": services,
             "programs": PROGRAMS, "stacks": STACKS, "minutes": minutes, "start": start,
             "start_day": start // 86400, "last": minutes - 1, "first": first}
    these = f"WHERE recording >= {first} AND recording < {first + recordings}"
    write_stacks(ask)
    ask("INSERT INTO recordings (recording, id, kind, service, host, build, release, command, "
        "labels, started, ended, day, pid, file, allocated_bytes, allocated_count, leaked_bytes, "
        "leaked_count, peak_bytes, peak_count, pushed) " + RECORDING.format(**facts))
    columns = ("day, bucket, recording, batch, stack, size_class, allocated_bytes, "
               "allocated_count, freed_bytes, freed_count, live_bytes, live_count, leaked_bytes, "
               "leaked_count, peak_bytes, peak_count, temporary_bytes, temporary_count, "
               "live_variance")
    step = max(1, 4_000_000 // (recordings * STACKS))
    done = 0
    for minute in range(0, minutes, step):
        rows = min(step, minutes - minute) * recordings * STACKS
        ask(f"INSERT INTO samples ({columns}) " + SAMPLES.format(
            minute=minute, rows=rows, **facts))
        done += rows
        if progress:
            progress(done)
    ask("INSERT INTO curves SELECT day, bucket, recording, 1, sum(allocated_bytes), "
        "sum(allocated_count), sum(freed_bytes), sum(freed_count), sum(live_bytes), "
        f"sum(live_count) FROM samples {these} GROUP BY day, bucket, recording")
    ask("INSERT INTO totals SELECT day, recording, 1, stack, size_class, min(bucket), "
        "max(bucket), sum(allocated_bytes), sum(allocated_count), sum(freed_bytes), "
        "sum(freed_count), sum(leaked_bytes), sum(leaked_count), sum(peak_bytes), "
        "sum(peak_count), sum(temporary_bytes), sum(temporary_count) FROM samples "
        f"{these} GROUP BY day, recording, stack, size_class")
    ask(f"INSERT INTO parcels SELECT recording, day, now() FROM recordings {these}")
    return done
