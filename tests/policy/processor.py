#!/usr/bin/python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What knows a processor is in folders named after one (src/recorder/x86_64): its words are nowhere
else in src."""
import os
import re
import sys

root = sys.argv[1]
FOLDERS = ("x86_64", "aarch64", "arm", "mips64")
WORDS = [
    r"x86[-_]?64", r"aarch64", r"x86_", r"__(amd64|arm|mips)\w*__", r"\b(i386|amd64|armhf|mips64)",
    r"\bEM_(?!NONE)\w+", r"\bR_(X86_64|AARCH64|ARM|MIPS)_\w+", r"\bAUDIT_ARCH_\w+",
    r"rdtsc", r"cntvct", r"__builtin_(ia32|arm|aarch64|mips)_\w+", r"\bcpuid\b",
    r"\b(cfa|sp) - 8\b", r"\b(rax|rbp|rsp|rip)\b",
    r'asm__( volatile)?\("[^"]*[ %\\]',  # an instruction; a symbol's name has none of these
    r"[~|] ?\(?\w*\)?4095", r"% ?4096\b", r"\bPAGE\w* 4096",
]
# Which file may say what, and why.
ALLOWED = {
    "src/collector/program.c": r"EM_\w+|x86-64|i386|AArch64",  # names of processors in a message
    "src/symbols/elf_file.c": r"EM_ARM",  # addresses of functions whose lowest bit is no address
    "src/symbols/symbols.c": r"EM_MIPS",  # how far behind a call it returns to
    "src/wire/loadable.c": r"EM_386",  # programs of 32 bits that this system runs too
}
pattern = re.compile("|".join(WORDS), re.IGNORECASE)
bad = seen = 0
for where, folders, names in os.walk(os.path.join(root, "src")):
    folders[:] = sorted(name for name in folders if name not in FOLDERS)
    for name in sorted(names):
        if not name.endswith((".c", ".h", ".S", ".def", ".in")):
            continue
        path = os.path.relpath(os.path.join(where, name), root)
        seen += 1
        with open(os.path.join(where, name), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                for found in pattern.finditer(line):
                    if not re.fullmatch(ALLOWED.get(path, ""), found.group()):
                        print(f"{path}:{number}: {found.group()}: belongs to the folder of a "
                              "processor")
                        bad += 1
print(f"{seen} files, {bad} lines")
sys.exit(1 if bad or not seen else 0)
