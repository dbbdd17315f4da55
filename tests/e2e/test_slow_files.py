# SPDX-License-Identifier: MIT OR Apache-2.0
"""A file that loads slowly does not hold up the next one in the server."""
import os
import subprocess

import harness
import web

LARGE_EVENTS = 24_000_000  # several seconds of loading on any machine
SMALL_EVENTS = 5_000


def generate(path, events, seed):
    generator = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")
    subprocess.run([generator, path, str(events), "4", str(seed), "2", "lz4"], check=True,
                   timeout=600,
                   stdout=subprocess.DEVNULL)


def by_name(listed):
    return {r["name"]: r for r in listed}


def test_a_small_file_passes_a_large_one(tmp_path):
    generate(tmp_path / "large.dat", LARGE_EVENTS, 1)
    generate(tmp_path / "small.dat", SMALL_EVENTS, 2)
    with web.Server(tmp_path / "large.dat", tmp_path / "small.dat",
                    env={"XDG_CACHE_HOME": str(tmp_path)}) as server:
        found = by_name(server.wait(lambda all: by_name(all)["small.dat"]["state"] == "ready",
                                    "the small one"))
        assert found["large.dat"]["state"] == "loading"
        # It can be asked meanwhile; of the other one it is said how far it is.
        assert server.json(f"/data/{found['small.dat']['id']}/overview")
        answer = server.ask(f"/data/{found['large.dat']['id']}/overview")
        assert answer.status == 503 and 0 <= answer.json["progress"] <= 1
