# SPDX-License-Identifier: MIT OR Apache-2.0
"""What parts of bench.py do with memory before they measure, and read of it meanwhile."""
import mmap
import os


def touch_memory(size=1 << 29):
    """So that every run finds as much free memory that is really there.  A virtual machine may have
    given it back to its host: the first use of a page is then twenty times as slow, and meets
    whoever needs more than the run before."""
    # In a child: what a process has used at most is also said of those that it starts.
    child = os.fork()
    if not child:
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()
        os._exit(0)
    os.waitpid(child, 0)


def own_memory(pid):
    """RssAnon: what of a process' memory is no mapped file, so that the kernel cannot take it back.
    0 of one that has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return max([0] + [int(line.split()[1]) << 10 for line in file
                              if line.startswith("RssAnon")])
    except OSError:
        return 0
