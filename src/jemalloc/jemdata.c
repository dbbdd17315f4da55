/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* jemdata.py, read and written.  See jemdata.h.
 *
 * Text is taken line by line as the old tool did: a line with Begin in it is a new iteration,
 * whatever else it says, and the first number of the lines that matter is kept.  JSON, which it did
 * not know, is read and written as the lines that the same process's text would have given. */
#include "jemalloc/jemdata.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"

#define FIRST_LOOK (1u << 20)
#define LINE_MAX_KEPT 4096 /* of a line that matters; others are passed over however long */

static const struct {
	const char *name;
	enum stats_arena_field field;
} values[] = {
	{ "total", STATS_ARENA_TOTAL_ALLOCATED },
	{ "active", STATS_ARENA_ACTIVE },
	{ "mapped", STATS_ARENA_MAPPED },
};
#define VALUE_COUNT (sizeof(values) / sizeof(*values))

enum { NOWHERE, IN_ALL, IN_ARENA };

static int read_line(const struct jemdata_taker *to, const char *line, int where)
{
	unsigned long long value;

	line += strspn(line, " \t");
	if (!strncmp(line, "arenas('sum')", 13)) {
		to->iteration(to->context);
		return IN_ALL;
	}
	if (where != NOWHERE && sscanf(line, "arenas(%llu)", &value) == 1) {
		to->arena(to->context, value);
		return IN_ARENA;
	}
	for (unsigned i = 0; i < VALUE_COUNT && where != NOWHERE; i++) {
		size_t n = strlen(values[i].name);

		if (!strncmp(line, values[i].name, n) && sscanf(line + n, "(%llu)", &value) == 1)
			to->value(to->context, where == IN_ALL, values[i].field, value);
	}
	return where;
}

int jemdata_read(const char *path, const struct jemdata_taker *to, struct err *err)
{
	FILE *file = fopen(path, "re");
	int where = NOWHERE;
	char *line = NULL;
	size_t room = 0;

	if (!file)
		return err_set(err, -errno, "%s", strerror(errno));
	while (getline(&line, &room, file) > 0)
		where = read_line(to, line, where);
	free(line);
	fclose(file);
	return where == NOWHERE
		       ? err_set(err, -ENODATA, "it holds no iterations: arenas('sum') begins one")
		       : 0;
}

struct lines {
	struct sink *out;
	struct buf line; /* its beginning */
	bool begin;	 /* it has the word */
};

static const char *const words[] = { "arenas", "total:", "active:", "mapped:" };

/* The first number of a line. */
static void write_call(struct sink *out, const char *name, size_t size, const char *line)
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
				write_call(l->out, line, words[i][n - 1] == ':' ? n - 1 : n,
					   line + n);
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
		size_t had = l->line.size, room = LINE_MAX_KEPT - had;
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

static void write_arena(struct sink *out, const struct stats_arena *a)
{
	if (a->id >= 0)
		buf_printf(&out->buf, "  arenas(%" PRId64 ")\n", a->id);
	for (unsigned i = 0; i < VALUE_COUNT; i++)
		if (a->value[values[i].field] < STATS_NONE)
			buf_printf(&out->buf, "  %s(%" PRIu64 ")\n", values[i].name,
				   a->value[values[i].field]);
}

/* The sum first, as in text. */
static void write_stats(struct sink *out, const struct stats *s)
{
	buf_text(&out->buf, "  arenas('sum')\n");
	for (int live = 0; live < 2; live++)
		for (size_t i = 0; i < s->arena_count; i++)
			if (live ? s->arenas[i].id >= 0 : s->arenas[i].id == STATS_MERGED)
				write_arena(out, &s->arenas[i]);
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

int jemdata_write(struct snapshots *r, struct sink *out, struct err *err)
{
	struct lines l = { .out = out };
	bool json = false;
	int e = first_look(r, &json, err);

	buf_text(&out->buf, "def load(arenas,total,active,mapped):\n");
	if (e)
		return e;
	if (json) {
		while ((e = snapshots_next(r, err)) == 1)
			write_stats(out, &r->stats);
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
