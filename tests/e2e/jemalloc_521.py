# SPDX-License-Identifier: MIT OR Apache-2.0
"""jemalloc 5.2.1, the version before Debian's: what many programs still carry inside.

Debian's source of redis has it.  It is built once on a machine, as a library with the plain names
and one with je_ before them, and kept in the user's cache; without a network, or a compiler, there
is none and a reason."""
import concurrent.futures
import fcntl
import glob
import os
import shutil
import subprocess

import harness

FOLDER = os.path.join(os.environ.get("MEMOIR_TESTS_CACHE") or os.path.expanduser("~/.cache"),
                      "memoir-tests", "jemalloc-5.2.1")
LIBRARIES = {"": "libjemalloc.so.2", "je_": "libjemalloc-je.so.2"}
TIME = 300  # seconds for each step on a busy machine


class Missing(Exception):
    pass


def run(words, folder=None):
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace",
                          timeout=TIME)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise Missing(f"{os.path.basename(words[0])}: {said[0] if said else done.returncode}")
    return done.stdout


def compile_library(source, folder, prefix, library):
    """Its make compiles each file twice to rename what nobody sees of a library: this does not."""
    os.mkdir(folder)
    # The second configuration takes from the first what it found out about the machine.
    run([f"{source}/configure", f"--cache-file={folder}/../found", "--enable-prof", "--disable-cxx",
         f"--with-jemalloc-prefix={prefix}"], folder)
    command = ["gcc", "-std=gnu11", "-O1", "-w", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE",
               "-D_REENTRANT",
               "-DJEMALLOC_NO_PRIVATE_NAMESPACE", "-Iinclude", f"-I{source}/include"]
    files = [f for f in glob.glob(f"{source}/src/*.c") if os.path.basename(f) != "zone.c"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda file: run([*command, "-c", file], folder), files))
    objects = [os.path.basename(f)[:-2] + ".o" for f in files]
    run(["gcc", "-shared", f"-Wl,-soname,{LIBRARIES[prefix]}", *objects, "-lm", "-pthread", "-o",
         library], folder)


def build(part):
    for program in ("gcc", "make", "apt-get"):
        if not shutil.which(program):
            raise Missing(f"no {program}")
    source = run([os.path.join(harness.ROOT, "scripts/debian-source"), "redis",
                  f"{part}/source"]).splitlines()[-1]
    source += "/deps/jemalloc"
    with open(f"{source}/VERSION", encoding="ascii") as file:
        if not file.read().startswith("5.2.1-"):
            raise Missing("redis has another jemalloc by now")
    for prefix, name in LIBRARIES.items():
        compile_library(source, f"{part}/build{prefix}", prefix, f"{part}/{name}")
    for name in LIBRARIES.values():
        os.rename(f"{part}/{name}", f"{FOLDER}/{name}")


def libraries():
    """The two, by prefix.  Whoever comes first builds them, others wait."""
    found = {prefix: os.path.join(FOLDER, name) for prefix, name in LIBRARIES.items()}
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all(map(os.path.exists, found.values())):
            part = os.path.join(FOLDER, "part")
            shutil.rmtree(part, ignore_errors=True)
            os.mkdir(part)
            try:
                build(part)
            finally:
                shutil.rmtree(part)
    return found
