# SPDX-License-Identifier: MIT OR Apache-2.0
"""What of the program's files is in the recording, and whether names come from there."""
import json
import os
import re
import shutil
import subprocess

import pytest

from harness import MEMOIR, PROGRAMS, ask, execute


@pytest.mark.parametrize("mode", ["run", "preload"])
@pytest.mark.parametrize("how",
                         ["", "quick", "leave quick", "close quick", "unlink", "unlink quick"])
def test_library_of_a_relative_path_just_before_the_end(compile_program, record, tmp_path, how,
                                                        mode):
    """Only the program knows what a relative path means, and it is gone when the collector
    looks."""
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(compile_program("plug.so"), folder / "libplug.so")
    recording = record([compile_program("relative_plugin"), folder, how], mode=mode)
    assert recording.status == 0
    listed = [file["path"] for file in ask("extract", "--list", "--json", recording.path)]
    assert str(folder / "libplug.so") in listed
    if "unlink" not in how:
        os.rename(folder / "libplug.so", folder / "moved")
    assert recording.total("plugin_allocates")["allocated_bytes"] == 4321


def frames(path, env=None):
    """What every stack looks like: names, files, lines, inlined ones."""
    run = execute([MEMOIR, "report", "--no-cache", "--json", "--by", "stack", "--no-verdicts",
                   "--backtraces",
                   "--top", "100000", str(path)], env=env)
    assert run.status == 0, run
    stacks = json.loads(run.stdout)["top"]["allocated"]
    for frame in (frame for stack in stacks for frame in stack["backtrace"]):
        # The loader's path or the kernel's: whichever was there to be read before the program's
        # end.
        for key in ("library", "address", "address_s"):  # and where it was loaded
            frame.pop(key, None)
        if "name" in frame:
            frame["name"] = frame["name"].rpartition("+")[2]
    return sorted(json.dumps(stack["backtrace"]) for stack in stacks)


def listed(path, env=None):
    run = execute([MEMOIR, "extract", "--list", "--json", str(path)], env=env)
    assert run.status == 0, run
    return {file["path"]: file for file in json.loads(run.stdout)}


def build(folder, *flags, name="inlined", strip=None):
    path = folder / name
    subprocess.run(["g++", "-std=c++17", "-O2", *flags, os.path.join(PROGRAMS, "inlined.cpp"), "-o",
                    path],
                   check=True)
    if strip:
        subprocess.run(["strip", *strip, path], check=True)
    return path


# Flags of the compiler, of strip, and a text that frames must have.
FORMS = {
    "lines": (["-g"], None, "inlined.cpp"),
    "compressed": (["-g", "-gz"], None, "inlined.cpp"),
    "names": ([], None, "outermost("),
    "exported": (["-rdynamic"], ["--strip-all"], "outermost("),
    "no build id": (["-g", "-Wl,--build-id=none"], None, "inlined.cpp"),
    "no sections": (["-rdynamic"], ["--strip-section-headers"], None),
}


@pytest.mark.parametrize("form", FORMS)
def test_tables_are_enough_for_names(form, record, tmp_path):
    """The same frames when the program is gone, from a fraction of its bytes."""
    flags, strip, text = FORMS[form]
    try:
        program = build(tmp_path, *flags, strip=strip)
    except subprocess.CalledProcessError:
        pytest.skip("this strip cannot do it")
    recording = record([program])
    before = frames(recording.path)
    assert not text or any(text in stack for stack in before)
    file = listed(recording.path)[str(program)]
    assert file["complete"] and 0 < file["size"] < program.stat().st_size
    program.unlink()
    assert frames(recording.path) == before


def test_what_a_debug_package_has_is_not_embedded(record, tmp_path):
    """libc6-dbg is installed where tests run: of libc, what it exports is enough."""
    recording = record([build(tmp_path)])
    out = tmp_path / "out"
    assert execute([MEMOIR, "extract", "-o", str(out), recording.path]).status == 0
    taken = next(str(path) for path in out.rglob("libc.so.6"))
    notes = subprocess.run(["readelf", "-n", taken], check=True, capture_output=True, text=True)
    build_id = re.search(r"Build ID: (\w+)", notes.stdout)[1]
    if not os.path.exists(f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"):
        pytest.skip("libc6-dbg is of another build")
    sections = subprocess.run(["readelf", "-SW", taken], check=True, capture_output=True, text=True)
    kept = dict(re.findall(r"\] (\.\S+) +(\w+)", sections.stdout))
    assert kept[".dynsym"] == "DYNSYM"
    assert kept.get(".text", "NOBITS") == "NOBITS"
    assert not {".symtab", ".gnu_debugdata"} & set(kept)
    assert not any(name.startswith(".debug_") for name in kept)


def test_no_code_in_tables(record, tmp_path):
    """And what is there can be read by everybody else's tools."""
    program = build(tmp_path, "-g")
    recording = record([program])
    out = tmp_path / "out"
    assert execute([MEMOIR, "extract", "-o", str(out), recording.path]).status == 0
    taken = f"{out}{program}"
    sections = subprocess.run(["readelf", "-SW", taken], check=True, capture_output=True, text=True)
    assert not sections.stderr
    types = dict(re.findall(r"\] (\.\S+) +([A-Z_0-9]+) ", sections.stdout))
    assert types[".text"] == types[".data"] == types[".dynsym"] == "NOBITS"
    assert types[".symtab"] == "SYMTAB"
    assert {types[name] for name in (".eh_frame", ".debug_info", ".debug_line")} <= {
        "PROGBITS", "X86_64_UNWIND"}
    for tool in (["nm"], ["addr2line", "-fie"], ["readelf", "-n"]):
        command = [*tool, program] + (["0x1200"] if tool[0] == "addr2line" else [])
        shown = [subprocess.run([str(path) if word == program else word for word in command],
                                check=True,
                                capture_output=True, text=True).stdout for path in (program, taken)]
        if tool == ["nm"]:  # data without content is a bss to it
            shown = [re.sub(r"\b[dDrRbBwWtT]\b", "x", text) for text in shown]
        assert shown[0] == shown[1] and shown[0]


@pytest.mark.parametrize("value,kind",
                         [("full", "full"), ("1", "tables"), ("tables", "tables"), ("0", "none"),
                          ("none", "none")])
def test_how_much_is_embedded(record, tmp_path, value, kind):
    program = build(tmp_path, "-g")
    recording = record([program], mode="preload",
                       env={"MEMORY_PROFILER_WRITE_BINARIES_TO_OUTPUT": value})
    files = listed(recording.path)
    assert (str(program) in files) == (kind != "none")
    if kind != "none":
        size = files[str(program)]["size"]
        assert size == program.stat().st_size if kind == "full" else size < program.stat().st_size
    if kind == "full":
        out = tmp_path / "out"
        assert execute([MEMOIR, "extract", "-o", str(out), recording.path]).status == 0
        with open(f"{out}{program}", "rb") as file:
            assert file.read() == program.read_bytes()


def test_options_of_run(record, tmp_path):
    program = build(tmp_path, "-g")
    full = record([program], options=["--write-binaries", "full"])
    assert listed(full.path)[str(program)]["size"] == program.stat().st_size
    none = record([program], name="none.dat", options=["--no-write-binaries"])
    assert not listed(none.path)
    wrong = execute([MEMOIR, "run", "--write-binaries", "some", str(program)])
    assert wrong.status == 2 and b"tables (or 1, true, yes, on), full, none" in wrong.stderr


def test_tables_are_made_once(record, tmp_path):
    """The next recording copies them from the user's cache; what is wrong there costs nothing."""
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    program = build(tmp_path, "-g")
    first = record([program], env=env)
    cached = sorted((tmp_path / "cache/memoir").glob("*.tables"))
    assert len(cached) >= 3
    inodes = [path.stat().st_ino for path in cached]
    second = record([program], env=env, name="second.dat")
    assert [path.stat().st_ino for path in cached] == inodes
    content = {path: path.read_bytes() for path in cached}
    size = listed(first.path)[str(program)]["size"]
    own, = [path for path in cached if path.stem.endswith(f"-{size:x}")]
    for damage in (lambda b: b"", lambda b: b[:len(b) // 2], lambda b: bytes(len(b))):
        for path in cached:
            path.unlink()
            path.write_bytes(damage(content[path]))
        third = record([program], env=env, name="third.dat")
        assert own.read_bytes() == content[own], "made again"
    before = frames(first.path)
    program.unlink()
    assert any("inlined.cpp" in stack for stack in before)
    assert frames(first.path) == frames(second.path) == frames(third.path) == before


def test_stripping_leaves_the_build_id(record, tmp_path):
    """Tables of the stripped file do not stand for those of the one with names, nor the other way
    round."""
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    program = build(tmp_path, "-g")
    whole = program.read_bytes()
    subprocess.run(["strip", program], check=True)
    record([program], env=env)
    program.write_bytes(whole)
    recording = record([program], env=env, name="second.dat")
    before = frames(recording.path)
    program.unlink()
    assert frames(recording.path) == before and any("inlined.cpp" in stack for stack in before)


@pytest.fixture
def family(tmp_path):
    """A folder of recordings of three processes that run one program, which is gone."""
    program = build(tmp_path, "-g")
    folder = tmp_path / "family"
    run = execute([MEMOIR, "run", "--children", "-o", f"{folder}/", "--", "/bin/sh", "-c",
                   f"{program} & {program} & {program}; wait"])
    assert run.status == 0, run
    recordings = sorted(folder.glob("*inlined*.dat"))
    assert len(recordings) == 3
    before = [frames(path) for path in recordings]
    shutil.move(program, tmp_path / "away")
    return program, folder, recordings, before


def test_a_family_has_its_binaries_once(family):
    program, folder, recordings, before = family
    shared = list((folder / "memoir-binaries").iterdir())
    assert len(shared) == len(
        {path.name.split("-")[0] for path in shared}), "each build once, nothing else"
    assert all(path.name.endswith(".elf.zst") and path.stat().st_mode & 0o777 == 0o600
               for path in shared)
    assert [frames(path) for path in recordings] == before
    assert any("inlined.cpp" in stack for stack in before[0])
    for path in recordings:
        file = listed(path)[str(program)]
        assert file["shared"] and file["complete"]
        assert path.stat().st_size < file["size"]
    assert subprocess.run(["zstd", "-dqc", shared[0]], capture_output=True).stdout.startswith(
        b"\x7fELF") or \
        not shutil.which("zstd")


@pytest.mark.parametrize("command", ["repack", "strip", "postprocess"])
def test_what_is_made_of_a_recording_stands_alone(family, tmp_path, command):
    program, folder, recordings, before = family
    out = tmp_path / "alone" / "out.dat"
    out.parent.mkdir()
    arguments = {"strip": ["--threshold", "0"]}.get(command, [])
    run = execute([MEMOIR, command, *arguments, "-o", str(out), str(recordings[0])])
    assert run.status == 0, run
    shutil.rmtree(folder)
    if command != "strip":
        assert frames(out) == before[0]
    assert any("inlined.cpp" in stack for stack in frames(out))


def test_shared_binaries_that_are_gone(family, tmp_path):
    """Names are missing, and it is said which, why, and what helps."""
    program, folder, recordings, before = family
    shutil.rmtree(folder / "memoir-binaries")
    assert not any("inlined.cpp" in stack for stack in frames(recordings[0]))
    run = execute([MEMOIR, "info", str(recordings[0])])
    assert run.status == 0
    lines = [line for line in run.stdout.decode().splitlines() if "memoir-binaries" in line]
    assert (len(lines) == 1 and "--debug-symbols" in lines[0]
            and str(recordings[0].parent) in lines[0]), run
    assert not listed(recordings[0])[str(program)]["complete"]
    run = execute([MEMOIR, "extract", "-o", str(tmp_path / "out"), str(recordings[0])])
    assert run.status == 1 and b"memoir-binaries" in run.stderr
    for command in ("repack", "postprocess"):
        out = tmp_path / f"{command}.dat"
        assert execute([MEMOIR, command, "-o", str(out), str(recordings[0])]).status == 0
    # Put back, they are found again; so they are in the copy that had nothing to embed.
    run = execute([MEMOIR, "report", "--debug-symbols", str(tmp_path / "away"), str(recordings[0])])
    assert b"inlined.cpp" in run.stdout


LIBRARIES = [f"idle{number}" for number in range(12)] + ["used", "late", "other"]
MAIN = """
#include <stdio.h>
#include <unistd.h>
void *used(void), *late(void);
int main(void)
{
	void *volatile p = used();
	usleep(200000); /* the maps are looked at */
	if (rename("libother.so", "liblate.so"))
		return 2;
	p = late();
	return 0;
}
"""


@pytest.fixture
def crowd(tmp_path):
    """A program that has more libraries than it calls, one of which is replaced before it is
    called."""
    def gcc(text, *flags):
        subprocess.run(["gcc", "-O1", "-g", "-x", "c", *flags, "-"], input=text, text=True,
                       check=True, cwd=tmp_path)
    for name in LIBRARIES:
        gcc(f"#include <stdlib.h>\nvoid *{name}(void) {{ void *volatile p = malloc({len(name)}); "
            f"return p; }}\n",
            "-shared", "-fPIC", "-o", f"lib{name}.so")
    gcc(MAIN, "-o", "crowd", "-L.", "-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed",
        *(f"-l:lib{name}.so" for name in LIBRARIES if name != "other"))
    return tmp_path / "crowd"


@pytest.mark.parametrize("mode", ["run", "preload"])
def test_files_that_no_frame_is_in_are_not_embedded(crowd, record, tmp_path, mode):
    """Naming needs no tables of them: neither the recording nor the cache has any, and nothing is
    missing."""
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    recording = record([crowd], mode=mode, env=env, cwd=tmp_path)
    assert recording.status == 0
    files = listed(recording.path)
    ours = {os.path.basename(path) for path in files if path.startswith(str(tmp_path))}
    assert (ours == {"crowd", "libused.so", "liblate.so"}
            and all(file["complete"] for file in files.values()))
    modules = ask("info", "--json", recording.path)["modules"]
    assert {module["path"] for module in modules} == set(files)
    assert len(os.listdir(tmp_path / "cache/memoir")) == len(
        files), "one file of the cache for each, nothing else"
    before = frames(recording.path)
    for name in ("used", "late", "main"):
        assert any(f'"function": "{name}"' in stack for stack in before), name
    shutil.rmtree(tmp_path / "cache")
    for path in [crowd, *tmp_path.glob("lib*.so")]:
        path.unlink()
    assert frames(recording.path) == before


def test_whole_files_are_those_of_all_libraries(crowd, record, tmp_path):
    recording = record([crowd], options=["--write-binaries", "full"], cwd=tmp_path)
    assert {f"lib{name}.so" for name in LIBRARIES[:-1]} <= {
        os.path.basename(path) for path in listed(recording.path)}
