# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every stack that was reused is the stack that a full walk gives.

libmemoir-paranoid.so walks each stack twice, from what it remembers and from scratch, and traps on
a difference, which ends the program with SIGILL.
"""
import os
import shutil

import pytest

import harness

PARANOID = {"MEMOIR_LIBRARY": os.path.join(harness.BUILD, "libmemoir-paranoid.so")}

PROGRAMS = ["stacks", "stacks_cxx", "throw", "longjmp", "fibers", "bad_frames", "deep",
            "sigprof", "cancel", "many_threads", "plugins_in_turn", "forks"]
COMMANDS = {
    "python3": ["/usr/bin/python3", "-c", "import json\nd = {str(i): [i, str(i)] for i in "
                "range(20000)}\n"
                "print(len(json.loads(json.dumps(d))))"],
    "perl": ["perl", "-e", "my %h; $h{$_ % 977} .= 'x' x ($_ % 50) for 1..60000; print "
             "scalar(keys %h)"],
    "sqlite3": ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i + "
                "1 from n "
                "where i < 20000) select count(distinct i % 977), sum(length(hex(i))) from n;"],
    "gcc": ["gcc", "-x", "c", "-O2", "-S", "-o", "/dev/null", "-include", "stdio.h", "/dev/null"],
    "git": ["git", "--version"],
}


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_hazards(compile_program, compare, program, optimised):
    arguments = [compile_program("plugin.so")] if program == "plugins_in_turn" else []
    compare([compile_program(program, flags=(optimised,)), *arguments], env=PARANOID)


@pytest.mark.parametrize("name", COMMANDS)
def test_real_programs(record, name):
    command = COMMANDS[name]
    if not shutil.which(command[0]):
        pytest.skip(f"no {command[0]}")
    recording = record(command, env=dict(PARANOID, PYTHONMALLOC="malloc"))
    assert recording.status == 0
    assert recording.info["stacks_broken"] <= 3
