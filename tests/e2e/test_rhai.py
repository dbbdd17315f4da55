# SPDX-License-Identifier: MIT OR Apache-2.0
"""memoir script FILE.rhai: scripts of tests/data/rhai print what is written beside them, or are
refused where it says; and analyses in the manner of Bytehound's give what the commands give."""
import os
import re

import pytest

import harness

DATA = os.path.join(harness.ROOT, "tests", "data", "rhai")
NAMES = sorted(name[:-5] for name in os.listdir(DATA) if name.endswith(".rhai"))


def run(path, *arguments, **keywords):
    return harness.execute([harness.MEMOIR, "script", path, *arguments], **keywords)


def test_scripts_are_there():
    assert len(NAMES) > 60
    assert sorted(os.listdir(DATA)) == sorted(n + e for n in NAMES for e in (".out", ".rhai"))


@pytest.mark.parametrize("name", NAMES)
def test_script(name):
    """What an error_… script prints ends with the line and text of its error; a syntax_… script
    is refused before anything runs, with line and column."""
    with open(os.path.join(DATA, name + ".out"), encoding="utf-8") as file:
        expected = file.read()
    done = run(name + ".rhai", cwd=DATA)
    said = done.stderr.decode()
    if name.startswith("error_"):
        *lines, last = expected.splitlines(True)
        expected = "".join(lines)
        assert (done.status, said) == (1, f"memoir script: {name}.rhai:{last}")
    elif name.startswith("syntax_"):
        assert (done.status, said) == (2, f"memoir script: {name}.rhai:{expected}")
        expected = ""
    else:
        assert (done.status, said) == (0, "")
    assert done.stdout.decode() == expected


@pytest.fixture(scope="module")
def choosing(compile_program, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("rhai") / "choosing.dat")
    program = compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))
    assert harness.record([program], path).status == 0
    return path


@pytest.fixture
def analyse(choosing, tmp_path):
    """Runs a script about the recording; what it prints."""

    def analyse_it(text, *arguments, status=0):
        path = tmp_path / "analysis.rhai"
        path.write_text(text, encoding="utf-8")
        done = harness.execute([harness.MEMOIR, "script", "-d", choosing, str(path), *arguments],
                               cwd=str(tmp_path))
        assert done.status == status, done
        return (done.stderr if status else done.stdout).decode()

    return analyse_it


def count(path, *options):
    return len(harness.ask("ask", "allocations", "--stacks", "false", path,
                           *options)["allocations"])


def test_filters_are_the_commands(analyse, choosing):
    said = analyse("""
        let all = allocations();
        let leaked = all.only_leaked();
        println(all.len());
        println("{}", leaked.len());
        println(all.only_larger_or_equal(1000).only_smaller(kb(2)).len());
        println((leaked + all.only_larger(4000)).len());
        println((all - leaked).len());
        println((leaked & all.only_larger(1500)).len());
        println(all.only_passing_through_function("recurse").len());
        println(all.only_not_passing_through_function("recurse").len());
        println(all.only_alive_for_at_least(ms(5) + us(10) * 2).len());
        println(all.only_allocated_after_at_least(data().runtime() * 0.5).len());
    """).split()
    wanted = [[], ["-F", "leaked"], ["-F", "size >= 1000 and size < 2k"],
              ["-F", "leaked or size > 4000"], ["-F", "not leaked"],
              ["-F", "leaked and size > 1500"], ["-F", "function ~ recurse"],
              ["-F", "function !~ recurse"], ["-F", "lifetime >= 5020us"]]
    assert [int(n) for n in said[:-1]] == [count(choosing, *w) for w in wanted]
    assert 0 < int(said[-1]) < int(said[0])


def test_groups(analyse, choosing):
    said = analyse("""
        // Which stacks leak most, and how much of what they allocate.
        const TOP = 3;

        fn share(part, whole) {
            if whole == 0 { return 0.0; }
            part * 100.0 / whole
        }

        fn describe(group, number) {
            let all = allocations().only_matching_backtraces(group);
            let leaked = all.only_leaked();
            println("{}: {} of {}, {}%", number, leaked.len(), all.len(),
                share(leaked.len(), all.len()));
            println(group[0].backtrace());
        }

        let groups = allocations()
            .only_leaked()
            .group_by_backtrace()
            .sort_by_size();

        println(groups.len());
        for (group, i) in groups.take(global::TOP) {
            describe(group, i);
        }
        let total = 0;
        for group in groups { total += group.len(); }
        println("total {}", total);
        println(groups[0].len() >= 1 && groups[-1].len() >= 1);
        println(groups.ungroup().len());
    """)
    lines = said.splitlines()
    leaked = count(choosing, "-F", "leaked")
    assert int(lines[0]) > 3
    shares = re.findall(r"^(\d): (\d+) of (\d+), ([\d.]+)%$", said, flags=re.M)
    assert [s[0] for s in shares] == ["0", "1", "2"]
    for _, part, whole, percent in shares:
        assert 0 < int(part) <= int(whole)
        assert float(percent) == int(part) * 100 / int(whole)
    assert re.search(r"#00 \[\w+.*\] ", said) and "main" in said
    assert lines[-3:] == [f"total {leaked}", "true", str(leaked)]


def test_allocations_one_by_one(analyse, choosing):
    said = analyse("""
        let sizes = #{};
        let at_most = s(0);
        for a in allocations().only_leaked() {
            let key = a.size.to_string();
            sizes[key] = (sizes[key] ?? 0) + 1;
            if a.deallocated_at() != () { println("freed"); }
            if a.allocated_at() > at_most { at_most = a.allocated_at(); }
        }
        for key in sizes.keys() { println("{} {}", key, sizes[key]); }
        println(at_most <= data().runtime());
        let first = allocations()[0];
        println(first.deallocated_at()?.ms ?? "kept");
    """).split("\n")
    found = {}
    for a in harness.ask("ask", "allocations", "--stacks", "false", choosing, "-F",
                         "leaked")["allocations"]:
        found[str(a["size"])] = found.get(str(a["size"]), 0) + 1
    assert said[:len(found)] == [f"{k} {found[k]}" for k in sorted(found)]
    assert said[len(found)] == "true"


def test_graphs(analyse, tmp_path):
    said = analyse("""
        let out = argv()[0];
        mkdir_p(out);
        let leaked = allocations().only_leaked();
        let base = graph().add("leaked", leaked).add("the rest", allocations());
        base.save(`${out}/all.svg`);
        let plain = base.without_legend().trim();
        plain.save(out + "/plain.svg");
        for (group, i) in leaked.group_by_backtrace().sort_by_count().take(2) {
            graph().add(`group ${i}`, group).save(`${out}/${i}.svg`);
        }
        leaked.save_as_flamegraph(`${out}/flame.svg`);
        println(dirname(out + "/all.svg") == out);
    """, str(tmp_path / "pictures"))
    assert said == "true\n"
    pictures = {p.name: p.read_text(encoding="utf-8") for p in (tmp_path / "pictures").iterdir()}
    assert sorted(pictures) == ["0.svg", "1.svg", "all.svg", "flame.svg", "plain.svg"]
    assert all("<svg" in p and p.rstrip().endswith("</svg>") for p in pictures.values())
    assert ">the rest</text>" in pictures["all.svg"]
    assert ">the rest</text>" not in pictures["plain.svg"]
    assert "group 1" in pictures["1.svg"]


def test_maps_and_another_file(analyse, compile_program, tmp_path):
    path = str(tmp_path / "maps.dat")
    program = compile_program("maps", flags=("-O0",))
    assert harness.record([program], path, stdin=b"\n\n").status == 0
    said = analyse("""
        let other = load(argv()[0]);
        let maps = other.maps();
        let writable = maps.only_writable();
        println("{} {}", maps.len(), writable.len() + maps.only_not_writable().len());
        let count = 0;
        for map in maps { count += 1; }
        println(count);
        println(other.name != data().name);
        println(type_of(other.runtime()) + " " + type_of(maps) + " " + type_of(graph()));
    """, path)
    count = len(harness.ask("maps", "--json", path)["maps"])
    assert count > 1
    assert said.split("\n") == [f"{count} {count}", str(count), "true",
                                "duration map_list graph", ""]


@pytest.mark.parametrize("text, line, reason", [
    ("let x = 1;\nallocations().only_lekaed();\n", 2, "only_leaked"),
    ("let list = allocations();\n\nprintln(list\n    .only_leaked()\n    .only_larger());\n", 5,
     "only_larger"),
    ("println(allocations()[1000000]);\n", 1, "index 1000000 is out of bounds: the list has"),
    ("let l = allocations();\nprintln(l * 2);\n", 2, "cannot be applied"),
    ("fn f(l) {\n  l + 1\n}\nf(allocations());\n", 2, "list"),
    ("for x in data() {\n}\n", 1, "iter"),
    ("let a = allocations();\nif a {\n}\n", 2, "a condition must be true or false"),
])
def test_errors_of_the_host_have_the_scripts_line(analyse, text, line, reason):
    said = analyse(text, status=1)
    assert f"analysis.rhai:{line}: " in said and reason in said, said
    assert said.count("\n") == 1 and "memoir:" not in said


def test_it_ends_as_it_is_told(analyse):
    assert analyse("println(1); exit(3); println(2);", status=3) == ""


def test_limits_hold(tmp_path):
    path = tmp_path / "endless.rhai"
    path.write_text("let n = 0;\nloop {\n    n += 1;\n}\n", encoding="utf-8")
    done = harness.execute([harness.MEMOIR, "script", "--instructions", "1M", str(path)])
    assert done.status == 1 and b"endless.rhai:" in done.stderr and b"limit" in done.stderr
