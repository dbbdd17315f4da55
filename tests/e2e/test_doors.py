# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every question gives the same bytes through every door: HTTP, `memoir ask`, the command that
shows it, and a script.

What is asked is drawn at random from the rows that /api lists, so a new question is asked here
without a word about it."""
import json
import os
import random
import re
import subprocess

import pytest

import harness
from test_api import GENERATE, TABLE, random_filter
from web import Server, all_done

QUESTIONS = [e for e in TABLE if "question" in e]
OF_FILES = [e for e in QUESTIONS if e["kind"] != "fleet"]  # those: test_fleet_groups.py
# What a server has besides questions: files as a whole, other tools' formats and names, streams.
RESOURCES = re.compile(r"/data/{id}/(export/.*|dynamic_(constants|statics)(_ascii_tree)?(/.*)?|"
                       r"allocation_ascii_tree|allocation_groups|backtrace/.*|backtraces|mallopts|raw_allocations|"
                       r"timeline_leaked|tree|statistics_report|(map_)?graph|find_names|"
                       r"script|execute_script|script_files/.*|"
                       r"(allocation|map)_filter_to_script)")
# Words of a command's line that are parameters.
WORDS = {"histogram": ("of", "FILE"), "diff": ("FILE", "b")}
ANSWERS = 5  # of each question and recording


def usage(*words):
    return harness.execute([harness.MEMOIR, *words, "--help"]).stdout.decode()


COMMANDS = re.findall(r"^  (\w[\w-]*) ", usage() if QUESTIONS else "", flags=re.M)


@pytest.fixture(scope="module", params=["made", "recorded"])
def recordings(request, compile_program, tmp_path_factory):
    """Two, so that one can be compared with the other; the first may be of a real program, with
    source files."""
    folder = tmp_path_factory.mktemp("doors")
    rng = random.Random(request.param)
    files = [str(folder / name) for name in ("a.dat", "b.dat")]
    for file in files:
        subprocess.run([GENERATE, file, str(rng.randrange(500, 4000)), str(rng.randrange(1, 6)),
                        str(rng.randrange(1000))], check=True, stdout=subprocess.DEVNULL)
        with open(file, "r+b") as header:
            header.seek(16)
            header.write(rng.randbytes(16))  # the generator gives every file the same id
    if request.param == "recorded":
        program = compile_program("choosing", flags=("-O1", "-fno-optimize-sibling-calls"))
        assert harness.record([program], files[0]).status == 0
    return files


@pytest.fixture(scope="module")
def server(recordings, family):
    """files[kind]: ids of files of each kind that questions are about; paths[id]: where they
    are."""
    others = [os.path.join(harness.ROOT, "tests/data/jemalloc", name)
              for name in ("out.heap", "out2.heap", "json_small.json", "json_full.json")]
    with Server(*recordings, *others, family) as running:
        found = running.wait(lambda all: len(all) > 8 and all_done(all), "all files")
        running.ids = [r["id"] for r in found[1:7]]
        running.paths = dict(zip(running.ids, [*recordings, *others]))
        folder, = [r["id"] for r in found if r["kind"] == "processes"]
        running.paths[folder] = family
        running.files = {"recording": running.ids[:2], "heap": running.ids[2:4],
                         "statistics": running.ids[4:], "processes": [folder]}
        sources = running.json(f"/data/{running.ids[0]}/sources", measure="allocated")["sources"]
        running.source = sources[0]["file"] if sources else None
        yield running


def texts(server, name):
    """Values of parameters that are any text; some of them are refused for other questions."""
    api = server.json("/api")
    known = {"sort_by": [row["name"] for row in api["sorts"]] + api["group_sorts"],
             "group_by": [row["name"] for row in api["groups"]],
             "file": [server.source or "none.c"],
             "text": ["size > 1 and fun", "leaked or ", "", "call = "],
             "fail_on": ["+1% peak", "+0 leaks per function,+5 allocations"],
             **{"max_" + name: ["10k", "0"] for name in ("peak", "leaked", "leaks", "allocations",
                                                        "allocated", "temporary")},
             "number": ["0"], "against": ["20%", server.ids[1]]}
    return known.get(name, ["main", "x"])


def draw(rng, server, rows, kind):
    """A value for each of the rows."""
    drawn = {}
    for row in rows:
        drawn[row["name"]] = str({
            "choice": lambda row: rng.choice(row["values"]),
            "bool": lambda _: rng.choice(["true", "false"]),
            "count": lambda row: rng.choice(
                [n for n in (0, 1, 3, 20, 100) if n <= row.get("max", n)]),
            "number": lambda _: rng.randrange(20),
            "real": lambda _: rng.choice([0, 0.5, 10, 99.5]),
            "time": lambda _: rng.choice([f"{rng.randrange(101)}%", f"{rng.randrange(10**6)}ns"]),
            "duration": lambda _: rng.choice(["10us", "1ms", "2s"]),
            "recording": lambda _: rng.choice(server.files[kind]),
            "text": lambda row: rng.choice(texts(server, row["name"])),
        }[row["type"]](row))
    if drawn.get("measure") in ("alive", "alive_at") and any(r["name"] == "at" for r in rows):
        drawn["at"] = "40%"
    return drawn


def chosen(rng, endpoint):
    """Some of its rows, with those that it cannot do without."""
    rows = endpoint["parameters"]
    some = rng.sample(rows, rng.randrange(min(len(rows), 4) + 1))
    return some + [row for row in rows if row["required"] and row not in some]


def as_paths(server, drawn):
    """On the command line a recording is a file."""
    return {name: server.paths.get(value, value) for name, value in drawn.items()}


def path_words(endpoint):
    """Parameters that are part of the path, behind the file's id."""
    return re.findall(r"{(\w+)}", endpoint["path"])[1:]


def filter_words(filters):
    return [word for name, value in filters.items() for word in
            (["-F", value] if name == "filter" else ["--" + name.replace("_", "-"), str(value)])]


def option_of(help_text, row):
    """What a command calls a parameter: its help is made from the same row."""
    rows = re.findall(r"^  (?:-\w, |    )--([a-z-]+)( [A-Z]+)?((?:\s+(?! {0,6}-).*\n)+)",
                      help_text.partition("Options:\n")[2], flags=re.M)
    for name, argument, text in rows:
        if bool(argument) != (row["type"] == "bool") and \
                " ".join(text.split()).startswith(" ".join(row["help"].split())):
            return name
    return None


def command_line(endpoint, drawn, recording):
    """The same as options of the question's own command; None if there is none or it lacks one."""
    name = endpoint["question"].replace("_", "-")
    if name not in COMMANDS:
        return None
    help_text = usage(name)
    words = WORDS.get(name, ("FILE",))
    line = [name, "--json"]
    for row in endpoint["parameters"]:
        value = drawn.get(row["name"])
        if value is None or row["name"] in words:
            continue
        option = option_of(help_text, row)
        if not option:
            return None
        if row["type"] != "bool":
            line += ["--" + option, value]
        elif value != row["default"]:
            line.append("--" + option)
    for row in endpoint["parameters"]:
        drawn = {row["name"]: row.get("default"), **drawn}
    if any(drawn.get(word, recording) is None for word in words):
        return None
    return line + [drawn.get(word, recording) for word in words]


def by_script(question, given, filters, path):
    """The same asked by a script: status, bytes, what went wrong."""
    words = json.dumps(list({**given, **filters}.items()))
    return harness.execute([harness.MEMOIR, "script", "-d", path, "-e",
                            "io.write(data():ask_json(argv()[1], json.decode(argv()[2])))", "--",
                            question, words])


def test_every_question_has_its_doors():
    with open(os.path.join(harness.ROOT, "src/answer/meson.build"), encoding="utf-8") as file:
        listed = re.search(r"question_words = \[(.*?)\]", file.read(), flags=re.S)[1]
    words = set(re.findall(r"'(\w+)'", listed))
    assert {e["question"] for e in QUESTIONS} == words and len(words) == len(QUESTIONS) > 5
    assert set(re.findall(r"^  ask (\w+) FILE", usage("ask"), flags=re.M)) == words
    others = {e["path"] for e in TABLE if e["path"].startswith("/data/{id}/")
              and "question" not in e}
    assert not [path for path in others
                if not RESOURCES.fullmatch(path)], "these are questions, for src/answer"


def test_only_recordings_and_folders_of_them_are_waited_for():
    waiting = {e["question"]: {option for option in ("--wait", "--live", "--follow")
                               if option in usage("ask", e["question"])} for e in QUESTIONS}
    assert {name: len(options) for name, options in waiting.items()} == {
        e["question"]: {"recording": 3, "processes": 2}.get(e["kind"], 0) for e in QUESTIONS}


@pytest.mark.parametrize("endpoint", OF_FILES, ids=lambda e: e["question"])
def test_the_same_bytes(server, endpoint):
    file = server.files[endpoint["kind"]][0]
    path = server.paths[file]
    rng = random.Random(endpoint["question"])
    answers = commands = 0
    for _ in range(20 * ANSWERS):
        drawn = draw(rng, server, chosen(rng, endpoint), endpoint["kind"])
        filters = random_filter(rng) if endpoint["filters"] and rng.random() < 0.5 else {}
        filters = {name: value for name, value in filters.items()
                   if name not in {row["name"] for row in endpoint["parameters"]}}
        in_path = {name: rng.choice(["0", "0", "5", "x"]) for name in path_words(endpoint)}
        over_http = server.ask(endpoint["path"].format(id=file, **in_path), **drawn, **filters)
        given = {**as_paths(server, drawn), **in_path}
        words = [word for name, value in given.items()
                 for word in ("--" + name.replace("_", "-"), value)]
        done = harness.execute(
            [harness.MEMOIR, "ask", endpoint["question"], *words, *filter_words(filters), path])
        if over_http.status != 200:
            assert (over_http.status in (400, 404) and done.status in (1, 2) and not done.stdout), (
                over_http, done)
            assert (over_http.json["error"] in done.stderr.decode() or over_http.status == 404), (
                over_http, done)
            scripted = by_script(endpoint["question"], given, filters, path)
            assert scripted.status == 1 and not scripted.stdout, scripted
            continue
        assert done.status == 0, (over_http, done)
        assert done.stdout == over_http.text.encode(), (drawn, filters)
        scripted = by_script(endpoint["question"], given, filters, path)
        assert scripted.stdout == done.stdout, (given, filters, scripted.stderr)
        answers += 1
        line = command_line(endpoint, given, path)
        if line:
            shown = harness.execute([harness.MEMOIR, *line, *filter_words(filters)])
            assert shown.status == 0 and shown.stdout == done.stdout, (line, filters, shown.stderr)
            commands += 1
        if answers == ANSWERS:
            break
    if endpoint["question"] == "source" and not server.source:
        assert not answers
        return
    assert answers == ANSWERS, "nearly every parameter is refused"
    if endpoint["question"].replace("_", "-") in COMMANDS:
        assert commands, "its command was never asked"


@pytest.mark.parametrize("endpoint", OF_FILES, ids=lambda e: e["question"])
def test_a_file_of_another_kind(server, endpoint):
    given = {name: "0" for name in [row["name"] for row in endpoint["parameters"]
                                    if row["required"]] + path_words(endpoint)}
    words = [word for name, value in given.items()
             for word in ("--" + name.replace("_", "-"), value)]
    for kind, ids in server.files.items():
        if kind != endpoint["kind"]:
            done = harness.execute(
                [harness.MEMOIR, "ask", endpoint["question"], *words, server.paths[ids[0]]])
            assert (done.status in (1, 2) and not done.stdout
                    and len(done.stderr.splitlines()) == 1), (kind, done)


def test_a_damaged_heap_profile(tmp_path):
    """What is before the damage is the answer, and the exit status tells."""
    with open(os.path.join(harness.ROOT, "tests/data/jemalloc/out.heap"), encoding="utf-8") as file:
        text = file.read()
    (tmp_path / "cut.heap").write_text(
        text.replace("MAPPED_LIBRARIES", "@ nonsense\nMAPPED_LIBRARIES"))
    done = harness.execute([harness.MEMOIR, "ask", "dump_facts", tmp_path / "cut.heap"])
    assert (done.status == 1 and b'"kind":"damaged"' in done.stdout
            and len(done.stderr.splitlines()) == 1), done
