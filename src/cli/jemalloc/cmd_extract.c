/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc extract: what extract-jem-stats made of a log, jemdata.py, to the byte.
 *
 * Text is taken line by line as that did: a line with Begin in it is a new iteration, whatever else
 * it says, and the first number of the lines that matter is kept.  JSON, which it did not know, is
 * read and written as the lines that the same process's text would have given. */
#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "jemalloc/snapshots.h"

#define NAME "memoir jemalloc extract"
#define FIRST_LOOK (1u << 20)
#define LINE_MAX_KEPT 4096 /* of a line that matters; others are passed over however long */

static const char *output = "jemdata.py";

static const struct command_option options[] = {
	{ "output", 'o', "FILE", "write this (jemdata.py)", COMMAND_TEXT, &output },
	{ 0 },
};

struct lines {
	struct sink *out;
	struct buf line; /* its beginning */
	bool begin;	 /* it has the word */
};

static const char *const words[] = { "arenas", "total:", "active:", "mapped:" };

/* The first number of a line. */
static void call(struct sink *out, const char *name, size_t size, const char *line)
{
	const char *number = line + strcspn(line, "0123456789");

	if (!*number)
		return;
	buf_printf(&out->buf, "  %.*s(%.*s)\n", (int)size, name, (int)strspn(number, "0123456789"),
		   number);
	sink_turn(out);
}

static void end_line(struct lines *l)
{
	const char *line = l->line.size ? l->line.data : "";

	if (l->begin) {
		buf_text(&l->out->buf, "  arenas('sum')\n");
	} else {
		for (unsigned i = 0; i < 4; i++) {
			size_t n = strlen(words[i]);

			if (!strncmp(line, words[i], n))
				call(l->out, line, words[i][n - 1] == ':' ? n - 1 : n, line + n);
		}
	}
	buf_clear(&l->line);
	l->begin = false;
}

static void take_text(struct lines *l, const char *text, size_t size)
{
	const char *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const char *stop = newline ? newline : end;
		size_t kept = l->line.size, room = LINE_MAX_KEPT - kept;
		size_t n = (size_t)(stop - text);

		if (n)
			buf_add(&l->line, text, n < room ? n : room);
		l->begin = l->begin ||
			   (l->line.size && memmem(l->line.data, l->line.size, "Begin", 5));
		if (n > room)
			l->begin = l->begin || memmem(text + room, n - room, "Begin", 5);
		if (newline)
			end_line(l);
		text = stop + (newline != NULL);
	}
}

static void value(struct sink *out, const char *name, uint64_t number)
{
	if (number < STATS_NONE)
		buf_printf(&out->buf, "  %s(%" PRIu64 ")\n", name, number);
}

static void take_arena(struct sink *out, const struct stats_arena *a)
{
	if (a->id >= 0)
		buf_printf(&out->buf, "  arenas(%" PRId64 ")\n", a->id);
	value(out, "total", a->value[STATS_ARENA_TOTAL_ALLOCATED]);
	value(out, "active", a->value[STATS_ARENA_ACTIVE]);
	value(out, "mapped", a->value[STATS_ARENA_MAPPED]);
}

/* The sum first, as in text. */
static void take_stats(struct sink *out, const struct stats *s)
{
	buf_text(&out->buf, "  arenas('sum')\n");
	for (int live = 0; live < 2; live++)
		for (size_t i = 0; i < s->arena_count; i++)
			if (live ? s->arenas[i].id >= 0 : s->arenas[i].id == STATS_MERGED)
				take_arena(out, &s->arenas[i]);
	sink_turn(out);
}

/* What the first document is; its bytes are in the window. */
static int first_look(struct snapshots *r, bool *ret_json, struct err *err)
{
	const char *json, *text;
	ssize_t n = 1;

	buf_reserve(&r->window, FIRST_LOOK);
	while (n > 0 && r->window.size < FIRST_LOOK) {
		n = unpack_read(&r->in, r->window.data + r->window.size,
				FIRST_LOOK - r->window.size, err);
		if (n > 0)
			r->window.size += (size_t)n;
	}
	if (n < 0)
		return (int)n;
	json = memmem(r->window.data, r->window.size, "\"jemalloc\"", 10);
	text = memmem(r->window.data, r->window.size, "___ Begin jemalloc", 18);
	*ret_json = json && (!text || json < text);
	return 0;
}

static int extract(struct snapshots *r, struct sink *out, struct err *err)
{
	struct lines l = { .out = out };
	bool json = false;
	int e = first_look(r, &json, err);

	buf_text(&out->buf, "def load(arenas,total,active,mapped):\n");
	if (e)
		return e;
	if (json) {
		while ((e = snapshots_next(r, err)) == 1)
			take_stats(out, &r->stats);
		return e;
	}
	while (r->window.size) {
		ssize_t n;

		take_text(&l, r->window.data, r->window.size);
		n = unpack_read(&r->in, r->window.data, FIRST_LOOK, err);
		if (n < 0)
			e = (int)n;
		r->window.size = n > 0 ? (size_t)n : 0;
	}
	if (l.line.size)
		end_line(&l);
	buf_release(&l.line);
	return e;
}

/* The log that was written to last, as the server names them. */
static char *newest(void)
{
	struct timespec best = { 0 };
	char *found = NULL;
	glob_t g;

	if (glob("/tmp/aerospike-console.*", GLOB_NOSORT, NULL, &g))
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		struct stat st;

		if (stat(g.gl_pathv[i], &st) || st.st_mtim.tv_sec < best.tv_sec ||
		    (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec <= best.tv_nsec))
			continue;
		best = st.st_mtim;
		free(found);
		found = xstrdup(g.gl_pathv[i]);
	}
	globfree(&g);
	return found;
}

static int run(int argc, char **argv)
{
	auto_free char *found = argc ? NULL : newest();
	const char *path = argc ? argv[0] : found;
	struct err err = { .text = "" };
	struct snapshots r;
	struct sink out;
	int e;

	if (argc > 1) {
		fprintf(stderr, NAME ": one file, not %d; - is standard input\n", argc);
		return 2;
	}
	if (!path) {
		fprintf(stderr, NAME ": of which file? There is no /tmp/aerospike-console.*\n");
		return 2;
	}
	if (snapshots_open(&r, path, &err)) {
		fprintf(stderr, "Error!  File %s not found!  (%s)\n", path, err.text);
		return 1;
	}
	e = sink_to_file(&out, output, SINK_PLAIN, &err);
	if (e) {
		fprintf(stderr, NAME ": %s: %s\n", output, err.text);
		snapshots_close(&r);
		return 1;
	}
	printf("Extracting data from %s....", path);
	fflush(stdout);
	e = extract(&r, &out, &err);
	snapshots_close(&r);
	if (e)
		fprintf(stderr, "\n" NAME ": %s, offset %" PRIu64 ": %s\n", path, err.offset,
			err.text);
	/* What was before the damage is kept. */
	if (sink_finish(&out, &err)) {
		fprintf(stderr, "\n" NAME ": %s: %s\n", output, err.text);
		return 1;
	}
	puts("Done.");
	return e ? 1 : 0;
}

const struct command command_jemalloc_extract = {
	.name = "jemalloc extract",
	.args = "[FILE]",
	.help = "jemdata.py for the old tools, as extract-jem-stats",
	.examples = "  memoir jemalloc extract server.log\n"
		    "  memoir jemalloc extract -o other.py series.json.gz\n",
	.options = options,
	.run = run,
	.link = "extract-jem-stats",
};
