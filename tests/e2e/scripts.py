# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests of scripts share."""
import json
import os
import random
import subprocess

import harness

GENERATE = os.path.join(harness.BUILD, "tests", "unit", "gen_recording")


def script(text, *arguments, status=0, **keywords):
    """What it prints."""
    done = harness.execute([harness.MEMOIR, "script", "-e", text, *arguments], **keywords)
    assert done.status == status, (text, done)
    return done.stdout.decode()


def value(text, path):
    """The value of an expression."""
    return json.loads(script(f"print(json.encode({text}))", "-d", path))


def ids(path, *options):
    """Numbers of the allocations that the command chooses."""
    return {a["id"] for a in harness.ask("ask", "allocations", "--stacks", "false", path, *options)
            ["allocations"]}


def made_recording(tmp_path_factory, seed):
    """A recording that was made up."""
    path = str(tmp_path_factory.mktemp("script") / "made.dat")
    rng = random.Random(seed)
    subprocess.run([GENERATE, path, str(rng.randrange(800, 3000)), "4", str(seed)],
                   check=True, stdout=subprocess.DEVNULL)
    return path
