# SPDX-License-Identifier: MIT OR Apache-2.0
"""examples/scripts: each runs on recordings of real programs, and says what is known of programs
that were made for it."""
import os
import re
import shutil
import subprocess

import pytest

import harness

SCRIPTS = os.path.join(harness.ROOT, "examples", "scripts")
NAMES = sorted(os.listdir(SCRIPTS))
# What each writes into its folder.
FILES = {"leak_hunt.lua": {"memory.svg", "left.svg"}, "temporary.lua": {"temporary.svg"},
         "module_rates.lua": {"rates.svg"}, "html_report.lua": {"report.html"},
         "leaks.rhai": {"leaks.svg"}}


def run(name, folder, *arguments, status=0):
    """What a script prints, run in a folder that it may write to."""
    done = harness.execute([harness.MEMOIR, "script", os.path.join(SCRIPTS, name), *arguments],
                           cwd=folder)
    assert (done.status, done.stderr) == (status, b""), (name, done)
    return done.stdout.decode()


def rows(text, first):
    """Rows of the table whose first column has that name: {column: value}, without blanks."""
    lines = text.splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith(first))
    names = re.split(r"  +", lines[head])
    found = []
    for line in lines[head + 1:]:
        cells = re.split(r"  +", line.strip())
        if len(cells) < len(names):
            break
        found.append(dict(zip(names, cells)))
    return found


@pytest.fixture(scope="module")
def made(compile_program, tmp_path_factory):
    """made(scenario, …) is a recording of it."""
    program = compile_program("scripted", flags=("-O1", "-fno-optimize-sibling-calls"))
    folder = tmp_path_factory.mktemp("examples")

    def record(*arguments):
        path = str(folder / ("_".join(arguments) + ".dat"))
        if not os.path.exists(path):
            assert harness.record([program, *arguments], path).status == 0
        return path
    return record


@pytest.fixture(scope="module", params=["sqlite3", "python3", "git"])
def real(request, tmp_path_factory):
    """A recording of a program of Debian's."""
    folder = tmp_path_factory.mktemp("real")
    path = str(folder / "real.dat")
    command, stdin = {
        "sqlite3": (["sqlite3", ":memory:"], b"create table t (a, b);\n" + b"".join(
            b"insert into t values (%d, hex(randomblob(100)));\n" % i for i in range(300))
            + b"create index i on t (b);\nselect count(*), max(length(b)) from t;\n"),
        "python3": (["/usr/bin/python3", "-I", "-c", "import json\nkeep = [json.loads(json.dumps("
                     "{str(k): [k] * 10 for k in range(100)})) for i in range(30)]"], b""),
        "git": (["git", "log", "--stat", "-n", "5"], b""),
    }[request.param]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    if request.param == "git":
        repository = folder / "repository"
        for words in (["init", "-q", str(repository)],
                      *[["-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b",
                         "commit", "-q", "--allow-empty", "-m", str(i)] for i in range(5)]):
            subprocess.run(["git", *words], check=True, env={**harness.ENVIRONMENT,
                                                             "HOME": str(folder)})
        recorded = harness.record(command, path, stdin=stdin, cwd=str(repository))
    else:
        recorded = harness.record(command, path, stdin=stdin)
    assert recorded.status == 0, recorded.run
    return path


def test_first_line_is_a_title():
    """The page lists them by it."""
    assert len(NAMES) >= 11
    for name in NAMES:
        with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
            line = file.readline()
        assert re.match(r"(--|//) [A-Z].{10,90}[^.]\n$", line), (name, line)


@pytest.mark.parametrize("name", NAMES)
def test_on_real_programs(name, real, tmp_path):
    """Says something, writes what it should, and does the same where there are no files."""
    status = 1 if name == "thread_budget.lua" else 0
    arguments = ("1k",) if status else ()
    said = run(name, tmp_path, "-d", real, *arguments, status=status)
    assert said.count("\n") >= 1 and set(os.listdir(tmp_path)) == FILES.get(name, set())
    for file in FILES.get(name, ()):
        assert (tmp_path / file).stat().st_size > 1000
        if file.endswith(".svg"):
            assert (tmp_path / file).read_text().startswith("<svg ")
    done = harness.execute([harness.MEMOIR, "script", "--sandbox", os.path.join(SCRIPTS, name),
                            "-d", real, *arguments], cwd=tmp_path)
    assert done.status == status and done.stdout.decode() == said, done


def test_leak_kinds(made, tmp_path):
    """The leak case study: each function, and no other, is called what it is."""
    said = rows(run("leak_kinds.lua", tmp_path, "-d", made("leaks")), "function")
    kinds = {row["function"]: row["kind"] for row in said if not row["function"].startswith("no ")}
    assert kinds == {"linear_leak": "linear leak", "bounded_leak": "bounded",
                     "freed_at_exit": "freed at exit",
                     "mixed_site": "mixed: some is freed, the rest leaks"}
    by_name = {row["function"]: row for row in said}
    # The work ends within a 64th of its end.
    blocks = {name: int(row["blocks"]) for name, row in by_name.items()}
    assert 390 <= blocks["linear_leak"] <= 400 and blocks["bounded_leak"] == 133
    assert int(by_name["linear_leak"]["bytes"]) == 500 * blocks["linear_leak"]
    assert 130 <= blocks["mixed_site"] <= 135
    assert 260 <= int(by_name["mixed_site"]["freed_before"]) <= 268
    # The engine's own verdicts do not say otherwise.
    verdicts = {v["function"]: v["class"] for v in harness.ask(
        "leaks", "--json", "--all", "--held", made("leaks"))["verdicts"]}
    assert verdicts["linear_leak"] == "growing" and verdicts["bounded_leak"] == "bounded"


def test_leak_hunt(made, tmp_path):
    said = run("leak_hunt.lua", tmp_path, "-d", made("leaks"), "4")
    stacks = said.split("\n\n")[1:]
    assert len(stacks) == 4
    for part, function, blocks, of in zip(stacks, ["freed_at_exit", "linear_leak", "bounded_leak",
                                                   "mixed_site"], ["400", "400", "133",
                                                                   r"1[34]\d"],
                                          [400, 400, 133, 400]):
        assert f" {function} [" in part and re.search(
            rf" in {blocks} of {of} allocations", part), said
    assert (tmp_path / "left.svg").read_text().count("<path") == 4
    assert (tmp_path / "memory.svg").read_text().count("<path") == 5


def test_leaks_in_rhai(made, tmp_path):
    said = run("leaks.rhai", tmp_path, "-d", made("leaks"))
    assert "400 of 400 leaked" in said and "0 of 400 leaked" in said
    assert "134 of 400 leaked" in said and "133 of 133 leaked" in said


def test_growth(made, tmp_path):
    said = run("growth.lua", tmp_path, "-d", made("leaks"), "20%", "80%")
    found = {row["function"]: row for row in rows(said, "function")}
    for name, bytes_ in (("linear_leak", 200000), ("freed_at_exit", 240000), ("mixed_site", 53600)):
        # Three fifths of what it has in all.
        assert 0.5 < int(found[name]["growth"]) / bytes_ < 0.7, found[name]
    assert "temporary_only" not in found
    assert int(found["bounded_leak"]["after"]) == 133 * 700


def test_thread_budget(made, tmp_path):
    said = run("thread_budget.lua", tmp_path, "-d", made("threads"), "2M", status=1)
    found = {row["thread"]: row for row in rows(said, "thread")}
    most = {name: int(row["most"]) for name, row in found.items() if "user" in name}
    assert {name[:7].strip(): m // 100000 for name, m in most.items()} == {
        "user 1": 1, "user 10": 10, "user 40": 40}
    assert sorted(row["verdict"] for row in found.values()) == ["over"] + ["within"] * 3
    assert "1 of 4 threads had more than 2000000 bytes" in said
    run("thread_budget.lua", tmp_path, "-d", made("threads"), "10M")


def test_temporary(made, tmp_path):
    said = run("temporary.lua", tmp_path, "-d", made("build", "1000"))
    first = rows(said, "function")[0]
    assert first == {"function": "temporary_only", "calls": "1000", "bytes": "3000000",
                     "largest": "3000", "at_once": "1000"}


def test_fragmentation(made, tmp_path):
    path = made("leaks")
    said = run("fragmentation.lua", tmp_path, "-d", path)
    answer = harness.ask("fragmentation", "--json", path)
    assert f"{answer['bytes']} bytes in {answer['count']} blocks; rounding up takes " \
        f"{answer['slack_bytes']} more" in said
    assert [(int(row["region"]), int(row["regions"])) for row in rows(said, "region")] == [
        (level["size"], level["regions"]) for level in answer["regions"]]


def test_compare_builds(made, tmp_path):
    said = run("compare_builds.lua", tmp_path, "-d", made("build", "1000"), "-d",
               made("build", "1030"))
    first = rows(said, "function")[0]
    assert first == {"function": "table_of", "before": "1000000", "after": "1030000",
                     "difference": "30000"}
    halves = run("compare_builds.lua", tmp_path, "-d", made("leaks"))
    found = [row["function"] for row in rows(halves, "function")]
    assert found[:3] == ["freed_at_exit", "linear_leak", "mixed_site"]
    # Which stops after a third of its steps, not always before half of the time.
    assert found[3:] in ([], ["bounded_leak"])


def test_size_advice(made, tmp_path):
    path = made("leaks")
    said = run("size_advice.lua", tmp_path, "-d", path, "1")
    all_rows = harness.ask("ask", "allocations", "--stacks", "false", path)["allocations"]
    assert f"{sum(a['size'] for a in all_rows)} bytes were asked for; " \
        f"{sum(a['extra_space'] for a in all_rows)} were given besides" in said
    found = {row["size"]: row for row in rows(said, "size")}["400"]
    slack = [a["extra_space"] for a in all_rows if a["size"] == 400]
    assert int(found["lost"]) == sum(slack) > 0 and len(slack) == int(found["blocks"]) == 400
    assert found["function"] == "mixed_site"


def test_html_report(made, tmp_path):
    run("html_report.lua", tmp_path, "-d", made("leaks"), "a.html")
    page = (tmp_path / "a.html").read_text()
    assert page.count("<iframe") == 2 and "<td>linear_leak<td class=n>200000<td class=n>400" in page
    if harness.CHROMIUM:
        picture = tmp_path / "a.png"
        subprocess.run([harness.CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
                        f"--screenshot={picture}", f"file://{tmp_path}/a.html"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        assert picture.stat().st_size > 5000


def test_a_function_without_a_name_is_a_list(real):
    """Whatever a group is called, its allocations can be told, and are as many as it says."""
    text = """
        local sum = 0
        for g in allocations():group_by("responsible"):iter() do
          local n = 0
          for a in g:iter() do n = n + 1 end
          assert(n == g.allocated_count, g.name)
          sum = sum + n
        end
        print(sum == #allocations())"""
    done = harness.execute([harness.MEMOIR, "script", "-e", text, "-d", real])
    assert done.stdout == b"true\n", done


def test_module_rates(made, tmp_path):
    path = made("build", "1000")
    found = {os.path.basename(row["module"]): row
             for row in rows(run("module_rates.lua", tmp_path, "-d", path), "module")}
    assert int(found["scripted"]["allocations"]) == 1001


def test_request_cost(made, tmp_path):
    said = run("request_cost.lua", tmp_path, "-d", made("requests"))
    found = rows(said, "request")
    # 1 + … + 20 blocks of 100 bytes, and one of 50000.
    assert f"20 requests: {(210 * 100 + 50000) // 20} bytes each on average, the median 1000; " \
        "100 bytes were left behind" in said
    assert found[0] == {"request": "13", "allocations": "14", "bytes": "51300",
                        "largest": "50000", "left": "0"}
    assert " answer_part [" in said
    assert "the program sets none" in run("request_cost.lua", tmp_path, "-d", made("leaks"))
