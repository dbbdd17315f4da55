# SPDX-License-Identifier: MIT OR Apache-2.0
"""Allocates blocks of sizes that occur once, and says for each which Python functions were running,
innermost first, as Python itself sees it."""
import asyncio
import contextlib
import ctypes
import functools
import json
import os
import random
import signal
import sys
import threading

said = {}
keep = []
lock = threading.Lock()
count = 0


def stack(frame):
    rows = []
    while frame:
        code = frame.f_code
        rows.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return rows


def number():
    global count
    with lock:
        count += 1
        return 100000 + count


def mark(kind):
    size = number()
    keep.append(bytearray(size)); said[size] = [kind, stack(sys._getframe())]
    return size


def nested():
    def inner():
        return mark("nested")
    return [inner() for _ in range(2)]


def generator():
    yield mark("generator")
    yield from (mark("generator") for _ in range(2))


@contextlib.contextmanager
def managed():
    try:
        yield mark("exception")
    finally:
        mark("exception")


def exceptions():
    try:
        with managed():
            raise ValueError(mark("exception"))
    except ValueError:
        mark("exception")
        try:
            {}["missing"]
        except KeyError:
            mark("exception")


def deep(n):
    return mark("deep") if n == 0 else deep(n - 1)


class Thing:
    here = mark("class")

    def __del__(self):
        mark("deleted")

    def __repr__(self):
        return str(mark("callback"))

    def __lt__(self, other):
        return mark("callback") > 0


def callbacks():
    functools.reduce(lambda a, b: mark("callback"), range(3))
    sorted([3, 1, 2], key=lambda n: mark("callback"))
    sorted([Thing(), Thing()])
    "%r" % Thing()
    list(map(mark, ["callback"] * 2))


async def task(n):
    mark("asyncio")
    await asyncio.sleep(0.001 * n)
    mark("asyncio")
    async for _ in ticks():
        mark("asyncio")


async def ticks():
    for i in range(2):
        await asyncio.sleep(0)
        yield mark("asyncio")


async def tasks():
    await asyncio.gather(*(task(n) for n in range(5)))


def threads():
    """The lock changes hands all the time."""
    def work():
        for _ in range(100):
            deep(random.randrange(20))

    sys.setswitchinterval(1e-6)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.setswitchinterval(0.005)


def reused():
    """Code objects that come and go, many at the same address."""
    for i in range(300):
        space = {"mark": mark}
        exec(compile("\n" * (i % 7) + f"def made_{i}():\n" + "\n" * (i % 3) +
                     "    return mark('reused')\nmade_%d()" % i, f"file_{i % 5}.py", "exec"), space)


def signals():
    def handler(number, frame):
        mark("signal")

    signal.signal(signal.SIGALRM, handler)
    tick = float(os.environ.get("TICK", "0.001"))
    signal.setitimer(signal.ITIMER_REAL, tick, tick)
    total = 0
    while sum(1 for kind, _ in list(said.values()) if kind == "signal") < 20:
        total += sum(range(1000))
    signal.setitimer(signal.ITIMER_REAL, 0)


def foreign():
    """A C library calls back."""
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda a, b: mark("foreign") and 0)
    numbers = (ctypes.c_int * 3)(3, 1, 2)
    ctypes.CDLL(None).qsort(numbers, 3, ctypes.sizeof(ctypes.c_int), compare)


def größe():
    mark("ünicode")


def main(output):
    nested()
    list(generator())
    exceptions()
    deep(30)
    callbacks()
    asyncio.run(tasks())
    threads()
    reused()
    signals()
    foreign()
    größe()
    sys.setrecursionlimit(3000)
    deep(1000)
    if len(sys.argv) > 2:
        child = os.fork()
        if not child:
            said.clear()
            mark("forked")
            nested()
            output += ".child"
        else:
            os.waitpid(child, 0)
    with open(output, "w", encoding="utf-8") as file:
        json.dump(said, file)


main(sys.argv[1])
