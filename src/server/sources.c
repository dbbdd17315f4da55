/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/sources, /source: source files with what their lines weigh.
 *
 * A file is read only if the recording's debug information names it by its whole path, and
 * source_files.h allows it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/group_frames.h"
#include "query/weigh.h"
#include "server/request.h"
#include "server/source_files.h"

struct line {
	uint32_t file, line; /* file: a string of locations */
	struct weight total, self;
	uint32_t seen; /* the last stack that was counted, plus one */
	uint32_t *functions;
	size_t function_count, function_room;
};

/* Weights by file, and by line of one file. */
struct lines {
	struct locations *locations;
	uint32_t only; /* the file whose lines are told apart; 0: none */
	struct line *files, *rows;
	size_t file_count, file_room, row_count, row_room;
	struct map file_of, row_of;
	uint8_t *wrapper; /* by string: 0 not looked at, 1 no, 2 yes */
};

static struct line *find(struct line **rows, size_t *count, size_t *room, struct map *of,
			 uint32_t file, uint32_t line)
{
	uint64_t key = (uint64_t)file << 32 | line, at;

	if (!map_get(of, key, &at)) {
		*rows = xgrow(*rows, *count, room, sizeof(**rows));
		(*rows)[*count] = (struct line){ .file = file, .line = line };
		map_set(of, key, at = (*count)++);
	}
	return &(*rows)[at];
}

static void add(struct line *l, const struct weight *w, uint32_t stack, bool self)
{
	if (l->seen != stack + 1) { /* once, however often the stack goes through it */
		l->seen = stack + 1;
		l->total.bytes += w->bytes;
		l->total.count += w->count;
	}
	if (self) {
		l->self.bytes += w->bytes;
		l->self.count += w->count;
	}
}

static void name_function(struct line *l, uint32_t function)
{
	for (size_t i = 0; i < l->function_count; i++)
		if (l->functions[i] == function)
			return;
	if (!function || l->function_count >= 16)
		return;
	l->functions =
		xgrow(l->functions, l->function_count, &l->function_room, sizeof(*l->functions));
	l->functions[l->function_count++] = function;
}

static bool is_wrapper(struct lines *l, uint32_t function)
{
	if (!function)
		return false;
	if (!l->wrapper[function])
		l->wrapper[function] =
			(uint8_t)(1 +
				  is_allocator_function(locations_string(l->locations, function)));
	return l->wrapper[function] == 2;
}

static void add_stack(struct lines *l, const struct model *m, const struct stack_weight *w,
		      uint32_t number)
{
	const struct nodes *nodes = &m->tables.nodes;
	bool self = true;

	for (uint32_t id = w->stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		unsigned count;
		const struct location_frame *f =
			locations_frames(l->locations, locations_of_node(l->locations, id), &count);

		for (unsigned i = 0; i < count; i++) {
			bool own = self && !is_wrapper(l, f[i].function);
			struct line *row;

			self = self && !own;
			if (!f[i].file)
				continue;
			add(find(&l->files, &l->file_count, &l->file_room, &l->file_of, f[i].file,
				 0),
			    &w->weight, number, own);
			if (f[i].file != l->only || !f[i].line)
				continue;
			row = find(&l->rows, &l->row_count, &l->row_room, &l->row_of, f[i].file,
				   f[i].line);
			add(row, &w->weight, number, own);
			name_function(row, f[i].function);
		}
	}
}

static void lines_init(struct lines *l, const struct view *v, const struct measuring *how,
		       uint32_t only)
{
	struct stack_weights w;

	*l = (struct lines){ .locations = v->locations, .only = only };
	weigh_stacks(&w, v, how, false);
	locations_resolve_all(v->locations);
	l->wrapper = xcalloc((size_t)locations_string_count(v->locations) + 1, 1);
	for (uint32_t i = 0; i < w.count; i++)
		add_stack(l, v->model, &w.rows[i], i);
	stack_weights_release(&w);
}

static void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->row_count; i++)
		free(l->rows[i].functions);
	free(l->rows);
	free(l->files);
	free(l->wrapper);
	map_release(&l->file_of);
	map_release(&l->row_of);
}

static void write_weights(struct json *j, const struct line *l)
{
	json_number(j, "bytes", l->total.bytes);
	json_number(j, "count", l->total.count);
	json_number(j, "self_bytes", l->self.bytes);
	json_number(j, "self_count", l->self.count);
}

static bool is_on_disk(const struct source_roots *roots, const char *path)
{
	struct stat st;
	const char *why;
	auto_close int fd = source_roots_open(roots, path, &st, &why);

	return fd >= 0;
}

static int by_weight(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	if (x->total.bytes != y->total.bytes)
		return x->total.bytes > y->total.bytes ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

static int by_line(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

static int answer_sources(struct request *r, struct sink *out)
{
	const char *search = ask_text(&r->ask, "search");
	uint32_t skip = ask_count(&r->ask, "skip"), most = ask_count(&r->ask, "count"), n = 0;
	const struct view *v;
	struct measuring how;
	struct source_roots roots;
	struct lines l;
	struct json j;

	if (ask_measuring(&r->ask, r->ask.snapshot->model, &how) || !(v = ask_view(&r->ask)))
		return -1;
	source_roots_init(&roots, &r->server->options, r->ask.snapshot);
	lines_init(&l, v, &how, 0);
	if (l.file_count > 1)
		qsort(l.files, l.file_count, sizeof(*l.files), by_weight);
	request_json(&j, out);
	json_object(&j, NULL);
	ask_measuring_json(&j, v->model, &how);
	json_array(&j, "sources");
	for (size_t i = 0; i < l.file_count; i++) {
		const char *path = locations_string(v->locations, l.files[i].file);

		if (search && !strcasestr(path, search))
			continue;
		if (n++ < skip || n - skip > most)
			continue;
		json_object(&j, NULL);
		json_text(&j, "file", path);
		json_bool(&j, "on_disk", is_on_disk(&roots, path));
		write_weights(&j, &l.files[i]);
		json_end_object(&j);
		sink_turn(out);
	}
	json_end_array(&j);
	json_number(&j, "total_count", n);
	json_end_object(&j);
	lines_release(&l);
	source_roots_release(&roots);
	return 0;
}

/* Is a path named by the debug information of any location? */
static uint32_t find_file(struct locations *p, const char *path)
{
	for (uint32_t i = 0; i < locations_count(p); i++) {
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++)
			if (f[k].file && !strcmp(locations_string(p, f[k].file), path))
				return f[k].file;
	}
	return 0;
}

static bool read_text(int fd, struct buf *out)
{
	ssize_t n;

	do {
		buf_reserve(out, 65536);
		n = read(fd, out->data + out->size, 65535);
		if (n > 0)
			out->size += (size_t)n;
	} while (n > 0 && out->size <= SOURCE_MAX);
	buf_text(out, "");
	return n >= 0 && !memchr(out->data, 0, out->size);
}

static void write_text(struct json *j, const struct buf *text)
{
	const char *p = text->data, *end = text->data + text->size;

	while (p && p < end) {
		const char *line = memchr(p, '\n', (size_t)(end - p));
		size_t n = line ? (size_t)(line - p) : (size_t)(end - p);

		json_bytes(j, NULL, p, n && p[n - 1] == '\r' ? n - 1 : n);
		p += n + 1;
	}
}

static void write_file(struct request *r, struct json *j, const char *path)
{
	uint64_t end_ns =
		model_start_ns(r->ask.snapshot->model) + model_runtime_ns(r->ask.snapshot->model);
	struct source_roots roots;
	struct buf text = { 0 };
	struct stat st;
	const char *why;
	bool there;
	int fd;

	source_roots_init(&roots, &r->server->options, r->ask.snapshot);
	fd = source_roots_open(&roots, path, &st, &why);
	there = fd >= 0 && read_text(fd, &text);
	if (fd >= 0 && !there)
		why = "it is not text";
	json_bool(j, "on_disk", there);
	json_text(j, "hidden", why);
	json_bool(j, "newer", there && (uint64_t)st.st_mtime > end_ns / 1000000000);
	json_array(j, "lines");
	if (there)
		write_text(j, &text);
	json_end_array(j);
	if (fd >= 0)
		close(fd);
	source_roots_release(&roots);
	buf_release(&text);
}

static void write_lines(struct json *j, const struct lines *l)
{
	json_array(j, "weights");
	for (size_t i = 0; i < l->row_count; i++) {
		const struct line *row = &l->rows[i];

		json_object(j, NULL);
		json_number(j, "line", row->line);
		write_weights(j, row);
		json_array(j, "functions");
		for (size_t k = 0; k < row->function_count; k++)
			json_text(j, NULL, locations_string(l->locations, row->functions[k]));
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static int answer_source(struct request *r, struct sink *out)
{
	const char *path = ask_text(&r->ask, "file");
	const struct view *v;
	struct measuring how;
	struct line none = { 0 }, *all = &none;
	uint32_t number;
	struct lines l;
	struct json j;

	if (ask_measuring(&r->ask, r->ask.snapshot->model, &how) || !(v = ask_view(&r->ask)))
		return -1;
	number = find_file(v->locations, path);
	if (!number)
		return ask_fail(&r->ask, 404, "file", "the recording names no file '%.200s'", path);
	lines_init(&l, v, &how, number);
	for (size_t i = 0; i < l.file_count; i++)
		if (l.files[i].file == number)
			all = &l.files[i];
	if (l.row_count > 1)
		qsort(l.rows, l.row_count, sizeof(*l.rows), by_line);
	request_json(&j, out);
	json_object(&j, NULL);
	json_text(&j, "file", path);
	ask_measuring_json(&j, v->model, &how);
	write_weights(&j, all);
	write_file(r, &j, path);
	write_lines(&j, &l);
	json_end_object(&j);
	lines_release(&l);
	return 0;
}

static const struct param_row sources_params[] = {
	PARAMS_MEASURE("peak"),
	{ "search", PARAM_TEXT, NULL, "only paths that contain it, in any case" },
	PARAMS_PAGE("200"),
	{ 0 },
};

static const struct param_row source_params[] = {
	{ "file", PARAM_TEXT, NULL, "as sources and frames name it", .required = true },
	PARAMS_MEASURE("peak"),
	{ 0 },
};

const struct route routes_sources[] = {
	{ "/data/{id}/sources", METHOD_GET, "source files that stacks go through",
	  .params = sources_params, .filters = true, .answer = answer_sources },
	{ "/data/{id}/source", METHOD_GET, "one source file with what each line weighs",
	  .params = source_params, .filters = true, .answer = answer_source },
	{ 0 },
};
