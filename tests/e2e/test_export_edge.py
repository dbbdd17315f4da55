# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exports of recordings that have little, and of recordings that something was removed from: each
format includes that, or memoir says that it cannot."""
import gzip
import json
import re
import subprocess

import pytest

import harness

FORMATS = [line.split()[0] for line in
           subprocess.run([harness.MEMOIR, "export", "--list"], capture_output=True, text=True,
                          check=False).stdout.splitlines() if line and not line.startswith(" ")]
EVENTS_ONLY = {"csv", "firefox", "heaptrack", "json", "massif", "replay"}


def export(form, path, *arguments):
    done = harness.execute([harness.MEMOIR, "export", form, str(path), *arguments])
    assert done.status == 0, done
    return done


def varints(data):
    """The numbers of a packed field."""
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def fields(data):
    """(number, value) of a protocol buffer."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < len(data):
        key = number()
        assert key & 7 in (0, 2)
        if key & 7 == 0:
            yield key >> 3, number()
        else:
            size = number()
            yield key >> 3, data[at:at + size]
            at += size


def pprof_totals(data):
    """The sums of the four values, and how many samples name a thread."""
    sums, labelled, count = [0] * 4, 0, 0
    for field, sample in fields(gzip.decompress(data)):
        if field != 2:
            continue
        parts = list(fields(sample))
        values = list(varints(next(value for key, value in parts if key == 2)))
        sums = [a + b for a, b in zip(sums, values)]
        labelled += any(key == 3 for key, _ in parts)
        count += 1
    return sums, labelled, count


@pytest.fixture(scope="module")
def stripped(compile_program, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stripped")
    whole = harness.record([compile_program("handed_over", flags=("-O1",))],
                           str(folder / "out.dat"))
    path = str(folder / "stripped.dat")
    done = harness.execute([harness.MEMOIR, "strip", whole.path, "-o", path])
    assert done.status == 0, done
    info = harness.flatten(harness.ask("info", "--json", path))
    assert info["removed_allocations"] > 1000
    assert info["allocated_bytes"] == whole.info["allocated_bytes"]
    return path, info


def test_removed_is_in_pprof(stripped):
    path, info = stripped
    sums, labelled, count = pprof_totals(export("pprof", path).stdout)
    assert sums == [info["allocations"], info["allocated_bytes"], info["leaked_count"],
                    info["leaked_bytes"]]
    assert 0 < labelled < count  # it is not known whose the removed ones were


def test_removed_is_in_weights(stripped):
    path, info = stripped
    for measure, key in (("allocated", "allocated_bytes"), ("leaked", "leaked_bytes"),
                         ("peak", "peak_bytes")):
        lines = export("collapsed", path, "-m", measure).stdout.decode().splitlines()
        assert sum(int(line.rsplit(" ", 1)[1]) for line in lines) == info[key], measure
    profiles = json.loads(export("speedscope", path).stdout)["profiles"]
    sums = {p["name"]: sum(p["weights"]) for p in profiles}
    assert sums["allocated"] == info["allocated_bytes"]
    assert sums["peak"] == info["peak_bytes"]
    points = json.loads(export("dhat", path).stdout)["pps"]
    assert sum(p["tb"] for p in points) == info["allocated_bytes"]
    assert sum(p["tbk"] for p in points) == info["allocations"]
    assert sum(p["gb"] for p in points) == info["peak_bytes"]
    assert all(p["mb"] >= p["gb"] and p["mb"] >= p["eb"] for p in points)
    totals = re.search(rb"^totals: (\d+) (\d+) (\d+)", export("callgrind", path).stdout, re.M)
    assert [int(n) for n in totals.groups()] == [info["allocated_bytes"], info["allocations"],
                                                info["leaked_bytes"]]


@pytest.mark.parametrize("form", FORMATS)
def test_what_a_format_cannot_hold_is_said(stripped, form):
    path, info = stripped
    said = export(form, path).stderr.decode()
    count = f"{info['removed_allocations']:,}"
    if form in EVENTS_ONLY:
        assert said == (f"memoir export: {count} allocations were removed from this recording; "
                        f"{form} has events only, so it is without them\n")
    else:
        assert said == ""


@pytest.mark.parametrize("form", FORMATS)
def test_a_program_that_does_nothing(compile_program, record, form):
    """A recording with no allocation of its own, and a view of none of what there is."""
    recording = record([compile_program("empty")])
    for arguments in ((), ("--size-min", "1T"), ("--groups", "--size-min", "1T")):
        done = export(form, recording.path, *arguments)
        assert done.stderr == b""
        if form in ("json", "speedscope", "dhat", "firefox"):
            json.loads(done.stdout)
