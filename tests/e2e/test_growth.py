# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir jemalloc growth: heap profile dumps in a row."""
import csv
import glob
import json
import os
import pathlib
import shutil

import pytest

from agent import JEMALLOC, LIBRARY, Target, memoir

DATA = pathlib.Path(__file__).parent.parent / "data/jemalloc"
SERIES = ["ivl_i0", "ivl_i3", "out", "out2", "second_run"]


def growth(tmp_path, *words, status=0):
    done = memoir(tmp_path, "growth", "-d", str(DATA / "prof"), *map(str, words))
    assert done.status == status and (status or not done.stderr), done
    return done.stdout.decode() if not status else done.stderr.decode()


def alone(tmp_path, name, *words):
    """{function: flat amount} that memoir jemalloc heap says of one dump, and the total."""
    done = memoir(tmp_path, "heap", "--show_bytes", "-d", str(DATA / "prof"), *words,
                  str(DATA / f"{name}.heap"))
    total, *lines = done.stdout.decode().splitlines()
    cells = [line.split(None, 5) for line in lines]
    return {c[5]: (int(c[0]), int(c[3])) for c in cells}, int(total.split()[1])


@pytest.fixture
def files(tmp_path):
    """The samples, written in this order."""
    for i, name in enumerate(SERIES):
        shutil.copy(DATA / f"{name}.heap", tmp_path)
        os.utime(tmp_path / f"{name}.heap", (1000000000 + i, 1000000000 + i))
    return [tmp_path / f"{name}.heap" for name in SERIES]


@pytest.mark.parametrize("words,column", [([], 0), (["--cum"], 1)])
def test_each_dump_is_what_it_is_alone(words, column, files, tmp_path):
    """Of three runs and two programs, at other addresses: by name."""
    answer = json.loads(growth(tmp_path, "--json", *words, *reversed(files)))
    assert [pathlib.Path(d["file"]).stem for d in answer["dumps"]] == SERIES
    rows = {row["name"]: row for row in answer["rows"]}
    for i, name in enumerate(SERIES):
        expected, total = alone(tmp_path, name)
        assert int(answer["dumps"][i]["total"]) == total
        assert {n: int(r["values"][i]) for n, r in rows.items() if int(r["values"][i])} == {
            n: v[column] for n, v in expected.items() if v[column]}
    changes = [row["change"] for row in answer["rows"]]
    assert changes == sorted(changes, reverse=True)
    for row in answer["rows"]:
        assert abs(row["change"] - (row["values"][-1] - row["values"][0])) < 0.02
        # Least squares over five dumps.
        assert abs(row["slope"] - sum((i - 2) * v for i, v in enumerate(row["values"])) / 10) < 0.02
    assert not [name for name in rows if name.startswith("0x")]


def test_two_runs(tmp_path):
    """Stacks of one program, loaded elsewhere the second time: the difference of two dumps."""
    words = ["--as-given", DATA / "out.heap", DATA / "second_run.heap"]
    answer = json.loads(growth(tmp_path, "--json", "--cum", *words))
    worker = next(row for row in answer["rows"] if row["name"] == "worker")
    assert abs(worker["change"] + 195883) <= 2
    assert abs(sum(d["total"] * s for d, s in zip(answer["dumps"], (-1, 1))) + 200142) <= 2
    stacks = json.loads(growth(tmp_path, "--json", "--stacks", *words))["rows"]
    assert abs(sum(row["change"] for row in stacks) + 200142) <= 2
    assert all(row["frames"] and not row["frames"][0].startswith("0x") for row in stacks)
    # from main and from thr
    assert len([row for row in stacks if row["frames"][0] == "worker"]) == 2
    objects = json.loads(growth(tmp_path, "--json", "--inuse_objects", "--focus=^thr$", *words))
    assert (objects["measure"] == "inuse_objects"
            and not [r for r in objects["rows"] if r["name"] == "main"])


def test_csv_and_text(files, tmp_path):
    rows = list(csv.DictReader(growth(tmp_path, "--csv", *files).splitlines()))
    worker = next(row for row in rows if row["name"] == "worker")
    assert int(float(worker[str(files[2])])) == 35663084 and float(worker[str(files[0])]) == 0
    lines = growth(tmp_path, "-n", "2", *files).splitlines()
    assert lines[0] == "5 dumps, in the order in which they were written"
    at = next(i for i, line in enumerate(lines) if line.startswith("GROWTH"))
    assert len(lines) == at + 5 and lines[at + 3].endswith("worker") and "█▅▇" in lines[at + 3]


def test_order_of_names(files, tmp_path):
    """Numbers count, not digits; a process that began earlier comes first."""
    names = ["a.900.0.i0.heap", "a.900.2.m0.heap", "a.900.10.i9.heap", "a.900.11.f.heap",
             "a.31.0.u0.heap"]
    for i, (source, name) in enumerate(zip(files, names)):
        os.rename(source, tmp_path / name)
    os.utime(tmp_path / "a.900.2.m0.heap", (2000000000, 2000000000))
    answer = json.loads(growth(tmp_path, "--json", *(tmp_path / name for name in sorted(names))))
    assert [os.path.basename(d["file"]) for d in answer["dumps"]] == names
    given = json.loads(
        growth(tmp_path, "--json", "--as-given", *(tmp_path / name for name in sorted(names))))
    assert [os.path.basename(d["file"]) for d in given["dumps"]] == sorted(names)


@pytest.mark.parametrize("words,status,reason", [
    (["out.heap"], 2, "two dumps or more"),
    (["--json", "--csv", "out.heap", "out2.heap"], 2, "JSON or CSV"),
    (["--cum", "--stacks", "out.heap", "out2.heap"], 2, "--cum is for functions"),
    (["--focus=(", "out.heap", "out2.heap"], 2, "--focus: "),
    (["out.heap", "nothing.heap"], 1, "nothing.heap: No such file"),
    (["out.heap", "leak_error_empty.heap"], 1, "leak_error_empty.heap: the dump is empty")])
def test_what_cannot_be(words, status, reason, tmp_path):
    error = growth(tmp_path, *[DATA / w if w.endswith(".heap") else w for w in words],
                   status=status)
    assert (error.startswith("memoir jemalloc growth: ") and reason in error
            and error.count("\n") == 1)


@pytest.mark.skipif(not JEMALLOC or not os.path.exists(LIBRARY), reason="no jemalloc, or no agent")
def test_a_program_that_leaks(compile_program, tmp_path):
    """jemalloc writes a dump for every 4 MiB; what grows is named first, and by how much."""
    conf = f"prof:true,lg_prof_sample:12,lg_prof_interval:22,prof_prefix:{tmp_path}/leak"
    with Target([compile_program("agent_target")], tmp_path, conf) as target:
        for _ in range(12):
            assert target.do("keep 2000") == "done"
    dumps = glob.glob(f"{tmp_path}/leak.*.heap")
    assert len(dumps) > 5
    answer = json.loads(growth(tmp_path, "--json", *sorted(dumps)))
    numbers = [int(os.path.basename(d["file"]).split(".")[2]) for d in answer["dumps"]]
    assert numbers == list(range(len(dumps)))
    first = answer["rows"][0]
    assert first["name"] == "keep_small" and first["fit"] > 0.9
    totals = [d["total"] for d in answer["dumps"]]
    assert totals[-1] > 3 * totals[0]
    # 2,000 blocks of 1,024 bytes for ten of 114,688: 64 % of each dump's 4 MiB.
    assert abs(first["slope"] - 0.64 * 4194304) < 0.25 * 0.64 * 4194304
