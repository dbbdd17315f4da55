# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaks, caches, saws and start-up: programs of a known kind, and what `memoir leaks` calls
them."""
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
