/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/dynamic_constants, /dynamic_statics: blocks that initialisers of static objects
 * allocated, and that are never freed, by source line.
 *
 * Compilers put all such initialisers of a file into one function; a copy of it that was split off
 * for constant arguments has .constprop in its name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/weigh.h"
#include "server/request.h"

#define INITIALISER "__static_initialization_and_destruction_0"
#define CONSTANT ".constprop"

struct initialised {
	const char *file;
	uint32_t line;
	struct weight weight;
};

struct statics {
	struct initialised *rows;
	size_t count, room;
	struct weight total;
};

/* The frame of a stack's initialiser; NULL: it has none of this kind. */
static const struct location_frame *find_static_frame(const struct model *m, struct locations *p,
						      uint32_t stack, bool constants)
{
	const struct nodes *nodes = &m->tables.nodes;

	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		unsigned count;
		const struct location_frame *f =
			locations_frames(p, locations_of_node(p, id), &count);

		for (unsigned i = 0; i < count; i++) {
			const char *name = locations_string(p, f[i].raw_function);

			if (strstr(name, INITIALISER))
				return !strstr(name, CONSTANT) == !constants ? &f[i] : NULL;
		}
	}
	return NULL;
}

/* Compilers that run elsewhere leave the path of their temporary folder: only what follows its
 * name stays. */
static const char *normal_path(const char *path)
{
	const char *at = strstr(path, "/distccd_");

	if (!at)
		return path;
	at = strchr(at + 1, '/');
	return at ? at : path;
}

static int compare(const void *a, const void *b)
{
	const struct initialised *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static void collect(struct statics *s, const struct view *v, bool constants)
{
	struct measuring how = measuring_of(v->model, MEASURE_LEAKED, 0);
	struct stack_weights w;
	size_t n = 0;

	weigh_stacks(&w, v, &how, false);
	for (uint32_t i = 0; i < w.count; i++) {
		const struct location_frame *f =
			find_static_frame(v->model, v->locations, w.rows[i].stack, constants);

		if (!f)
			continue;
		s->rows = xgrow(s->rows, s->count, &s->room, sizeof(*s->rows));
		s->rows[s->count++] = (struct initialised){
			.file = f->file ? normal_path(locations_string(v->locations, f->file))
					: "?",
			.line = f->line,
			.weight = w.rows[i].weight,
		};
		s->total.bytes += w.rows[i].weight.bytes;
		s->total.count += w.rows[i].weight.count;
	}
	stack_weights_release(&w);
	if (s->count > 1)
		qsort(s->rows, s->count, sizeof(*s->rows), compare);
	for (size_t i = 0; i < s->count; i++) {
		if (n && !compare(&s->rows[n - 1], &s->rows[i])) {
			s->rows[n - 1].weight.bytes += s->rows[i].weight.bytes;
			s->rows[n - 1].weight.count += s->rows[i].weight.count;
		} else {
			s->rows[n++] = s->rows[i];
		}
	}
	s->count = n;
}

/* The rows of one file, from `first` on: how many, and their sum. */
static size_t file_rows(const struct statics *s, size_t first, struct weight *ret_sum)
{
	size_t end = first;

	*ret_sum = (struct weight){ 0 };
	for (; end < s->count && !strcmp(s->rows[end].file, s->rows[first].file); end++) {
		ret_sum->bytes += s->rows[end].weight.bytes;
		ret_sum->count += s->rows[end].weight.count;
	}
	return end - first;
}

static void write_weight(struct json *j, const struct weight *w)
{
	json_number(j, "count", w->count);
	json_number(j, "size", w->bytes);
}

static void write_json(const struct statics *s, struct sink *out)
{
	struct weight sum;
	struct json j;
	char line[16];
	size_t n;

	request_json(&j, out);
	json_object(&j, NULL);
	write_weight(&j, &s->total);
	json_object(&j, "per_file");
	for (size_t i = 0; i < s->count; i += n) {
		n = file_rows(s, i, &sum);
		json_object(&j, s->rows[i].file);
		write_weight(&j, &sum);
		json_object(&j, "per_line");
		for (size_t k = i; k < i + n; k++) {
			snprintf(line, sizeof(line), "%u", s->rows[k].line);
			json_object(&j, line);
			write_weight(&j, &s->rows[k].weight);
			json_end_object(&j);
		}
		json_end_object(&j);
		json_end_object(&j);
		sink_turn(out);
	}
	json_end_object(&j);
	json_end_object(&j);
}

static void write_text(const struct statics *s, struct sink *out)
{
	struct buf *b = &out->buf;
	struct weight sum;
	struct human size;
	size_t n;

	buf_printf(b, "%10s %10s %s\n", "SIZE", "COUNT", "SOURCE");
	buf_printf(b, "%10s %10" PRIu64 " all\n", human_size(&size, s->total.bytes),
		   s->total.count);
	for (size_t i = 0; i < s->count; i += n) {
		n = file_rows(s, i, &sum);
		buf_printf(b, "%10s %10" PRIu64 "   %s\n", human_size(&size, sum.bytes), sum.count,
			   s->rows[i].file);
		for (size_t k = i; k < i + n; k++)
			buf_printf(b, "%10s %10" PRIu64 "     line %u\n",
				   human_size(&size, s->rows[k].weight.bytes),
				   s->rows[k].weight.count, s->rows[k].line);
		sink_turn(out);
	}
}

static int answer_statics(struct request *r, struct sink *out)
{
	const char *path = r->route->path;
	const struct view *v = ask_view(&r->ask);
	struct statics s = { 0 };

	if (!v)
		return -1;
	collect(&s, v, strstr(path, "constants") != NULL);
	if (strstr(path, "ascii_tree"))
		write_text(&s, out);
	else
		write_json(&s, out);
	free(s.rows);
	return 0;
}

#define TEXT "text/plain; charset=utf-8"
#define ROW(address, words, mime)                                                                  \
	{ address, METHOD_GET, words, .type = mime, .filters = true, .answer = answer_statics },   \
	{                                                                                          \
		address "/{name}", METHOD_GET, words "; the name is for the browser",              \
			.type = mime, .filters = true, .answer = answer_statics                    \
	}

const struct route routes_statics[] = {
	ROW("/data/{id}/dynamic_constants",
	    "leaked blocks of static initialisers that were split off as constants", NULL),
	ROW("/data/{id}/dynamic_constants_ascii_tree", "the same as text", TEXT),
	ROW("/data/{id}/dynamic_statics", "leaked blocks of the other static initialisers", NULL),
	ROW("/data/{id}/dynamic_statics_ascii_tree", "the same as text", TEXT),
	{ 0 },
};
