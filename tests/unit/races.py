#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""races.py PROGRAM: succeeds if ThreadSanitizer finds a race in it, as it must without barriers.

Which accesses meet is chance, and little of it where one processor has all threads: it is run until
they do, a hundred times at most."""
import os
import subprocess
import sys
import time

END = time.monotonic() + 90
for attempt in range(100):
    done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, TSAN_OPTIONS="halt_on_error=1:exitcode=66"))
    if b"ThreadSanitizer: data race" in done.stdout:
        print(f"a race, as there should be, in run {attempt + 1}")
        sys.exit(0)
    if time.monotonic() > END:
        break
print("no race in the last run: ", done.stdout.decode(errors="replace")[-1500:])
sys.exit(1)
