# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaks, caches, saws and start-up: programs of a known kind, and what `memoir leaks` calls
them."""
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

import harness

sys.path.insert(0, os.path.join(harness.HERE, "verdicts"))
import suite  # noqa: E402  (it is in a folder of its own)

RIGHT = 9 / 10


def test_verdicts(tmp_path):
    if not shutil.which("g++"):
        pytest.skip("no g++")
    program = str(tmp_path / "scenarios")
    subprocess.run(["g++", *suite.FLAGS, suite.SOURCE, "-o", program], check=True)
    results = suite.run(harness.MEMOIR, program, str(tmp_path))
    print("\n".join(suite.table(results)))
    right = sum(suite.is_right(s, v) for s, v in results)
    assert len(results) >= 20
    assert right >= RIGHT * len(results), f"{right} of {len(results)}"
    # A leak that is taken for a cache is worse than the other way round: the plain ones must be
    # seen.
    for scenario, verdict in results:
        if scenario[0] in ("linear", "mixed", "map_growth", "beside_large", "after_large",
                           "two_steps"):
            assert suite.is_right(scenario, verdict), (scenario, verdict)
        # What grew until the end has not stopped.
        assert (verdict["class"] != "bounded"
                or not re.search(r"\((9\d|100) % of the run\)", verdict["evidence"])), verdict


def test_classes_and_text(tmp_path):
    program = str(tmp_path / "scenarios")
    subprocess.run(["g++", *suite.FLAGS, suite.SOURCE, "-o", program], check=True)
    path = str(tmp_path / "out.dat")
    harness.record([program, "linear", "0.3"], path)
    only = harness.ask("leaks", "--json", "--class", "growing", path)["verdicts"]
    assert only and {v["class"] for v in only} == {"growing"}
    linear = only[0]
    assert linear["leaked_bytes"] == linear["leaked_count"] * 256
    assert linear["bytes_per_block"] == 256 and "256 B a block" in linear["evidence"]
    assert 0.5 < linear["bytes_per_second"] * 0.3 / linear["leaked_bytes"] < 2
    text = harness.execute([harness.MEMOIR, "leaks", path]).stdout.decode()
    assert "GROWING" in text and "site_linear" in text and "START-UP" in text
    filtered = harness.ask("leaks", "--json", "--filter", "size = 256", path)["verdicts"]
    assert [v["leaked_bytes"] for v in filtered] == [linear["leaked_bytes"]]
    wrong = harness.execute([harness.MEMOIR, "leaks", "--class", "leaking", path])
    assert wrong.status == 2 and b"sawtooth" in wrong.stderr


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A recording of matters.cpp in one of its modes."""
    if not shutil.which("g++"):
        pytest.skip("no g++")
    folder = tmp_path_factory.mktemp("matters")
    program = str(folder / "matters")
    subprocess.run(["g++", *suite.FLAGS, os.path.join(harness.HERE, "verdicts", "matters.cpp"),
                    "-o", program], check=True)

    def record(mode):
        path = str(folder / (mode + ".dat"))
        if not os.path.exists(path):
            harness.record([program, mode], path)
        return path
    return record


def text_of(path, *options, **surroundings):
    return harness.execute([harness.MEMOIR, "leaks", *options, path],
                           **surroundings).stdout.decode()


def own(answer, name):
    return [v for v in answer["verdicts"] if v["function"].split("(")[0].endswith(name)]


def test_a_function_is_one_row(recorded):
    path = recorded("recursive")
    answer = harness.ask("leaks", "--json", path)
    (row,) = own(answer, "leak_deep")
    # No stack has more than one block: none of them grows.
    assert (row["class"], row["stacks"], row["leaked_count"]) == ("growing", 200, 200)
    assert row["matters"] and answer["verdict_counts"]["growing"] == 1
    assert "leak_deep(…) in 200 stacks" in text_of(path)
    chosen = harness.ask("allocations", "--json", "-F", "leaked and " + row["filter"], "-n",
                         "1000", path)["allocations"]
    assert sum(a["size"] for a in chosen) == row["leaked_bytes"] == 200 * 3000
    alone = own(harness.ask("leaks", "--json", "--all", "--by", "stack", "--top", "1000", path),
                "leak_deep")
    assert len(alone) == 200 and {v["leaked_count"] for v in alone} == {1}


def test_small_ones_are_counted(recorded):
    path = recorded("small")
    answer = harness.ask("leaks", "--json", path)
    little = sum(200 * (100 + n) for n in range(200))
    assert not own(answer, "leak_little<0>") and answer["verdict_counts"]["growing"] == 0
    assert answer["small"]["functions"] >= 200 and answer["small"]["bytes"] >= little
    assert all(v["matters"] for v in answer["verdicts"] if v["class"] != "pool")
    everything = harness.ask("leaks", "--json", "--all", "--top", "1000", path)
    rows = [v for v in everything["verdicts"] if "leak_little" in v["function"]]
    assert len(rows) == 200 and {v["class"] for v in rows} == {"growing"}
    assert not any(v["matters"] for v in rows)
    assert sum(v["leaked_bytes"] for v in rows) == little
    # The same figures, whoever is shown.
    for key in ("verdict_counts", "verdict_bytes", "small"):
        assert everything[key] == answer[key], key
    text = text_of(path)
    assert "no single function that matters grows" in text and "GROWING" not in text
    # Two hundred small ones are a large one.
    assert answer["small"]["grows"] and "together they grow: " in text
    assert 0.4 < answer["small"]["late_bytes"] / little < 0.6
    calm = harness.ask("leaks", "--json", recorded("recursive"))
    assert not calm["small"]["grows"]
    assert "nothing that matters grows" in text_of(recorded("interned"))
    assert "--all shows them" in text
    assert "GROWING" in text_of(path, "--all") and "--all shows" not in text_of(path, "--all")
    # Nor is anything red.
    colours = ["--color", "always"]
    assert "\033[1;31m" not in text_of(path, *colours)
    assert "\033[1;31mGROWING" in text_of(recorded("recursive"), *colours)


def test_another_place_of_a_function(recorded):
    rows = own(harness.ask("leaks", "--json", recorded("beside")), "fill")
    assert {(v["class"], v["leaked_bytes"]) for v in rows} == {
        ("start-up", 100 * 20000), ("growing", 199 * 5000)}
    assert {v["stacks"] for v in rows} == {1}


def test_kept_on_purpose(recorded, tmp_path):
    rules = tmp_path / "frames"
    rules.write_text("# my own\npool function intern_* : names that are interned\n")
    given = {"MEMOIR_FRAMES": str(rules)}
    (plain,) = own(harness.ask("leaks", "--json", "--all", recorded("interned")), "intern_name")
    assert plain["class"] == "start-up" and "pool" not in plain
    found = harness.execute([harness.MEMOIR, "leaks", "--json", recorded("interned")], env=given)
    (row,) = own(json.loads(found.stdout), "intern_name")
    assert (row["class"], row["pool"]) == ("pool", "names that are interned")
    assert row["evidence"] == "kept on purpose: names that are interned"
    text = text_of(recorded("interned"), env=given)
    assert re.search(r"POOL +\S+ KiB in \d pools? .*names that are interned", text)
    assert "intern_name" not in text
    assert "intern_name" in text_of(recorded("interned"), "--class", "pool", env=given)
    # What grows is never hidden.
    found = harness.execute([harness.MEMOIR, "leaks", "--json", recorded("interning")], env=given)
    (row,) = own(json.loads(found.stdout), "intern_name")
    assert row["class"] == "growing" and row["matters"]
    rules.write_text("pool functions intern_*\n")
    wrong = harness.execute([harness.MEMOIR, "leaks", recorded("interned")], env=given)
    assert (wrong.status == 1 and b"line 1: after 'pool' comes function, below, module "
            b"or loading" in wrong.stderr)


def test_libraries_keep_on_purpose(recorded):
    """libstdc++'s emergency pool is 72,704 bytes in every program."""
    rows = harness.ask("leaks", "--json", recorded("interned"))["verdicts"]
    pools = {v["pool"]: v for v in rows if v["class"] == "pool"}
    assert pools["libstdc++'s emergency pool for exceptions"]["leaked_bytes"] in (72704, 73728)


def test_held_until_the_end(recorded):
    path = recorded("held")
    answer = harness.ask("leaks", "--json", path)
    assert answer["held"]["matters"] and answer["held"]["bytes"] >= 190 * 4000
    text = text_of(path)
    assert re.search(r"were held until the end and freed at exit: memoir leaks --held \S", text)
    assert "held until the end" not in text_of(path, "--held")
    (row,) = own(harness.ask("leaks", "--json", "--held", path), "main")
    assert row["class"] == "growing" and row["freed_at_exit"] and row["kept_bytes"] >= 190 * 4000
    assert "held until the end" not in text_of(recorded("recursive"))
