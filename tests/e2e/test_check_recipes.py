# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipes of docs/ci.md, as they are printed there: each passes for the build that the baseline
was made of, and fails for one with a regression, with reports that can be read."""
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as tree

import pytest
import yaml

import harness

with open(os.path.join(harness.ROOT, "docs", "ci.md"), encoding="utf-8") as file:
    PAGE = file.read()
RULES = """
limit("peak", "200M")
baseline("memory.txt")
growth("+1% peak")
growth("+0 leaks per function")
local large = allocations():only_larger("16M")
expect("no block is larger than 16 MB", #large == 0, large)
"""


def recipe(language, first):
    """The block whose first line is that comment."""
    found = [block for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)
             if kind == language and block.split("\n")[0][2:].strip(" -#") == first]
    assert len(found) == 1, (language, first)
    return found[0]


@pytest.fixture(scope="module")
def program(compile_program):
    return compile_program("requirements", flags=("-O1",))


@pytest.fixture
def project(program, tmp_path):
    """project(leaks) is a folder as recipes expect it, whose program leaks so much more than its
    baseline."""
    def make(leaks=0):
        folder = tmp_path / f"project-{leaks}"
        folder.mkdir()
        (folder / "rules.lua").write_text(RULES)
        recording = folder / "first.dat"
        assert harness.record([program, "0", "0"], recording).status == 0
        subprocess.run([harness.MEMOIR, "check", "--update-baseline", recording, "rules.lua"],
                       check=True, cwd=folder, stdout=subprocess.DEVNULL)
        recording.unlink()
        shutil.copy(os.path.join(harness.HERE, "programs", "requirements.c"), folder / "app.c")
        text = (folder / "app.c").read_text()
        head = "int main(int argc, char **argv)\n{\n"
        assert head in text
        text = text.replace("int hold = argc > 1 ? atoi(argv[1]) : 0, leaks = argc > 2 ? "
                            "atoi(argv[2]) : 0;", f"int hold = 0, leaks = {leaks};")
        text = text.replace(head, head + "\tif (argc != 2 || strcmp(argv[1], \"--self-test\"))\n"
                            "\t\treturn 9;\n").replace("argc > 3 ? atoi(argv[3]) : 0", "0")
        (folder / "app.c").write_text(text)
        (folder / "Makefile").write_text("app: app.c\n\tcc -g -o app app.c\n")
        return folder
    return make


def environment(folder, **more):
    return {**harness.ENVIRONMENT, "HOME": str(folder), **more,
            "PATH": f"{os.path.dirname(harness.MEMOIR)}:{os.environ['PATH']}"}


def execute(command, folder, **more):
    return subprocess.run(command, cwd=folder, env=environment(folder, **more), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)


@pytest.mark.parametrize("leaks", [0, 2])
def test_github(project, leaks):
    folder = project(leaks)
    job = yaml.safe_load(recipe("yaml", ".github/workflows/memory.yml"))["jobs"]["memory"]
    steps = [step for step in job["steps"] if "run" in step and step["name"] != "install"]
    assert [step["name"] for step in steps] == ["build", "record", "check"]
    summary = folder / "summary.md"
    for step in steps:
        # As the runner starts it.
        done = execute(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
                       folder, GITHUB_STEP_SUMMARY=str(summary), GITHUB_WORKSPACE=str(folder))
        assert done.returncode == (1 if leaks and step["name"] == "check" else 0), done.stdout
    annotations = re.findall(r"^::error .*$", done.stdout, re.M)
    assert len(annotations) == (1 if leaks else 0)
    assert all("file=app.c,line=" in line and "forget_session" in line for line in annotations)
    assert f"Memory: {'does not hold' if leaks else 'holds'}" in summary.read_text()
    kept = [step for step in job["steps"] if step.get("if") == "failure()"]
    assert kept[0]["with"]["path"] == "run*.dat" and len(list(folder.glob("run*.dat"))) == 3


@pytest.mark.parametrize("leaks", [0, 2])
def test_gitlab(project, leaks):
    folder = project(leaks)
    job = yaml.safe_load(recipe("yaml", ".gitlab-ci.yml"))["memory"]
    # The runner makes one script of the lines, which ends with the first that fails.
    done = execute(["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])], folder)
    assert done.returncode == (1 if leaks else 0), done.stdout
    suite = tree.parse(folder / job["artifacts"]["reports"]["junit"]).getroot().find("testsuite")
    assert suite.get("failures") == ("1" if leaks else "0") and suite.get("tests") == "4"
    assert len(list(folder.glob(job["artifacts"]["paths"][0]))) == 3


@pytest.mark.parametrize("leaks", [0, 2])
@pytest.mark.skipif(not shutil.which("cmake"), reason="no cmake")
def test_ctest(project, leaks):
    folder = project(leaks)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(app C)\nenable_testing()\n"
        "set(CMAKE_C_FLAGS \"-g\")\nadd_executable(app app.c)\n"
        + recipe("cmake", "CMakeLists.txt"))
    done = execute(["sh", "-ec", "cmake -S . -B build >/dev/null && cmake --build build >/dev/null "
                    "&& ctest --test-dir build --output-on-failure"], folder)
    assert done.returncode == (8 if leaks else 0), done.stdout
    assert ("forget_session" in done.stdout) == bool(leaks)
    assert "1 tests failed out of 1" in done.stdout or "100% tests passed" in done.stdout


@pytest.mark.parametrize("leaks", [0, 2])
@pytest.mark.skipif(not shutil.which("meson"), reason="no meson")
def test_meson(project, leaks):
    folder = project(leaks)
    (folder / "meson.build").write_text(
        "project('app', 'c', default_options: ['optimization=0', 'debug=true'])\n"
        "app = executable('app', 'app.c')\n" + recipe("meson", "meson.build"))
    done = execute(["sh", "-ec", "meson setup build >/dev/null && meson test -C build "
                    "--print-errorlogs"], folder)
    assert done.returncode == (1 if leaks else 0), done.stdout
    assert ("forget_session" in done.stdout) == bool(leaks)


@pytest.mark.parametrize("leaks", [0, 2])
def test_pytest(project, leaks):
    folder = project(leaks)
    (folder / "test_memory.py").write_text(recipe("python", "test_memory.py"))
    execute(["make", "app"], folder)
    done = execute([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                    "test_memory.py"], folder)
    assert done.returncode == (1 if leaks else 0), done.stdout
    assert ("forget_session" in done.stdout) == bool(leaks)


def test_rules_of_the_page_are_rules(program, tmp_path):
    """The script that the page shows runs, and says what it says there."""
    path = tmp_path / "app.dat"
    assert harness.record([program, "0", "0"], path).status == 0
    (tmp_path / "rules.lua").write_text(recipe("lua", "rules.lua"))
    subprocess.run([harness.MEMOIR, "check", "--update-baseline", path, "rules.lua"], check=True,
                   cwd=tmp_path, stdout=subprocess.DEVNULL)
    done = execute([harness.MEMOIR, "check", path, "rules.lua"], tmp_path)
    # A third of the program's allocations is temporary.
    assert done.returncode == 1 and re.search(r"✗ +temporary at most 20% +50 +30", done.stdout)
    assert re.search(r"✓ +no block is larger than 16 MB", done.stdout), done.stdout
    assert re.search(r"✓ +\S+/requirements leaves at most 1 MB", done.stdout), done.stdout
