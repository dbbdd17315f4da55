# SPDX-License-Identifier: MIT OR Apache-2.0
"""What adding a thing touches: a question is one file and one word, a column is one row.

Both are added to a copy of the sources, which is built and asked through every door."""
import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

import harness
from test_api import GENERATE

pytestmark = pytest.mark.long  # a build of its own takes a minute or two
QUESTION = """\
/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question census: how many allocations match. */
#include "answer/question.h"

struct answer_census {
	uint64_t count, times;
};

static int census_compute(struct ask *a, void *answer)
{
	struct answer_census *ret = answer;
	const struct view *v = ask_view(a);

	if (!v)
		return -1;
	ret->times = ask_count(a, "times");
	ret->count = v->count * ret->times;
	return 0;
}

static void census_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_census *c = answer;

	json_number(j, "count", c->count);
}

static const struct param_row params[] = {
	{ "times", PARAM_COUNT, "1", "how often each is counted", .max = 7 },
	{ 0 },
};

const struct question question_census = {
	.name = "census",
	.help = "how many allocations match",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_census),
	.compute = census_compute,
	.write_members = census_json,
};
"""
COLUMN = """\
NUMBER(DOUBLED, "doubled", "doubled", "doubled", ARG_SIZE, 3, "TWICE", 0,
       2 * columns_size(c, row),
       "twice the bytes that were asked for")
"""


class Copy:
    def __init__(self, root):
        self.root, self.build = root, os.path.join(root, "build")
        self.memoir = os.path.join(self.build, "memoir")

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def hashes(self):
        found = {}
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ("build", "node_modules")]
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.root)] = hashlib.sha256(
                        file.read()).hexdigest()
        return found

    def say(self, *words):
        return subprocess.run([self.memoir, *words], env=harness.ENVIRONMENT, check=True,
                              capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The sources with both added, and which files that touched."""
    root = str(tmp_path_factory.mktemp("adding") / "memoir")

    def skipped(folder, names):
        return [name for name in names if name in ("node_modules", ".git", "__pycache__") or
                folder == harness.ROOT and name.startswith("build")]
    shutil.copytree(harness.ROOT, root, symlinks=True, ignore=skipped)
    os.symlink(os.path.join(harness.ROOT, "web", "node_modules"),
               os.path.join(root, "web", "node_modules"))
    copy = Copy(root)
    before = copy.hashes()
    copy.write("src/answer/census.c", QUESTION)
    copy.write("src/answer/meson.build", copy.read("src/answer/meson.build").replace(
        "question_words = [\n", "question_words = [\n  'census',\n"))
    question = copy.hashes()
    copy.write("src/query/fields.def", copy.read("src/query/fields.def") + COLUMN)
    column = copy.hashes()
    copy.touched = [sorted(name for name in new if new[name] != old.get(name))
                    for old, new in ((before, question), (question, column))]
    env = dict(os.environ, CCACHE_BASEDIR=root, CCACHE_NOHASHDIR="1")
    for words in (["meson", "setup", copy.build, root],
                  ["ninja", "-C", copy.build, "--quiet", "memoir", "docs/http-api.md"]):
        done = subprocess.run(words, env=env, cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        assert done.returncode == 0, done.stdout[-3000:]
    return copy


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    file = str(tmp_path_factory.mktemp("added") / "made.dat")
    subprocess.run([GENERATE, file, "1000", "2", "3"], check=True, stdout=subprocess.DEVNULL)
    return file


@pytest.fixture(scope="module")
def server(copy, recording):
    from web import Server
    server = Server(recording)
    server.arguments[0] = copy.memoir
    with server as running:
        running.id = running.loaded(1)[0]["id"]
        yield running


def test_what_is_touched(copy):
    assert copy.touched == [["src/answer/census.c", "src/answer/meson.build"],
                            ["src/query/fields.def"]]


def test_a_question_has_every_door(copy, server, recording):
    expected = json.loads(
        copy.say("allocations", "--json", "-F", "size > 100", recording))["total_count"]
    over_http = server.ask(f"/data/{server.id}/census", times=3, filter="size > 100")
    assert over_http.json == {"count": 3 * expected} and expected
    assert copy.say("ask", "census", "--times", "3", "-F", "size > 100",
                    recording) == over_http.text
    assert server.ask(f"/data/{server.id}/census", times=8).status == 400
    row, = (e for e in server.json("/api")["endpoints"] if e.get("question") == "census")
    assert row["filters"] and row["parameters"][0]["max"] == 7
    assert ("census" in copy.say("--complete", "ask", "cen")
            and "--times" in copy.say("--complete", "ask", "census", "--t"))
    document = copy.read("build/docs/http-api.md")
    assert re.search(r"### GET /data/\{id\}/census\n.*\| times \| count \| 1 \| how often each is "
                     r"counted; at most 7 \|", document, re.S)


def test_a_column_is_everywhere(copy, server, recording):
    found = server.json(f"/data/{server.id}/allocations", sort_by="doubled", order="dsc",
                        filter="doubled > 200")
    sizes = [(a["doubled"], 2 * a["size"]) for a in found["allocations"]]
    assert sizes and all(a == b > 200 for a, b in sizes) and sizes == sorted(sizes, reverse=True)
    assert found["total_count"] == server.json(f"/data/{server.id}/allocations",
                                               filter="size > 100")["total_count"]
    lines = copy.say("allocations", "--csv", "--sort", "doubled", recording).splitlines()
    names = lines[0].split(",")
    for line in lines[1:20]:
        row = dict(zip(names, line.split(",")))
        assert int(row["doubled"]) == 2 * int(row["size"])
    assert "doubled" in {f["name"] for f in server.json("/api")["fields"]}
    assert "doubled" in copy.say("help", "filters")
    heading, *rows = copy.say("allocations", "--sort", "doubled", recording).splitlines()[2:]
    assert "  TWICE  " in heading and all("B" in row for row in rows)
