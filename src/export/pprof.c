/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto: blocks and bytes allocated, and still in use at the end.
 *
 * One sample for each stack of each thread, with the thread as a label; one pprof location for each
 * location, its inlined functions as lines of it.  Tables follow the samples, the strings come
 * last: readers take the fields in any order. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "model/stats.h"
#include "query/weigh.h"

enum profile {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
};
enum value_type { TYPE_TYPE = 1, TYPE_UNIT };
enum sample { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum label { LABEL_KEY = 1, LABEL_STRING };
enum mapping {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINES,
};
enum pprof_location { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum line { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum function { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_RAW_NAME, FUNCTION_FILE };

struct pprof {
	const struct export *x;
	struct sink *out;
	uint32_t *of_location_string; /* index of a string of locations; 0: not given out yet */
	char **strings;
	size_t string_count, string_room;
	uint8_t *used_locations; /* a location was referred to */
	uint8_t *used_modules;
	bool without_stack;   /* there is a sample that has none */
	struct map functions; /* function << 32 | file to id */
	struct {
		uint32_t function, raw, file;
	} * function_rows;
	size_t function_count, function_room;
	struct buf message, part;
};

static uint32_t add_string(struct pprof *p, const char *text)
{
	p->strings = xgrow(p->strings, p->string_count, &p->string_room, sizeof(*p->strings));
	p->strings[p->string_count] = utf8_copy(text);
	return (uint32_t)p->string_count++;
}

static uint32_t location_string(struct pprof *p, uint32_t id)
{
	if (!id)
		return 0;
	if (!p->of_location_string[id])
		p->of_location_string[id] =
			add_string(p, locations_string(p->x->view->locations, id));
	return p->of_location_string[id];
}

static void put_type(struct pprof *p, unsigned field, const char *type, const char *unit)
{
	proto_number(&p->message, TYPE_TYPE, add_string(p, type));
	proto_number(&p->message, TYPE_UNIT, add_string(p, unit));
	proto_message(&p->out->buf, field, &p->message);
}

static uint32_t function_id(struct pprof *p, const struct location_frame *f)
{
	uint64_t key = (uint64_t)f->function << 32 | f->file, id;

	if (!f->function)
		return 0;
	if (map_get(&p->functions, key, &id))
		return (uint32_t)id;
	p->function_rows = xgrow(p->function_rows, p->function_count, &p->function_room,
				 sizeof(*p->function_rows));
	p->function_rows[p->function_count].function = f->function;
	p->function_rows[p->function_count].raw = f->raw_function;
	p->function_rows[p->function_count].file = f->file;
	map_set(&p->functions, key, ++p->function_count);
	return (uint32_t)p->function_count;
}

static void put_sample(struct pprof *p, const struct stack_weight *w, const struct weight *in_use,
		       uint32_t thread_key, uint32_t thread_name)
{
	const struct view *v = p->x->view;
	const struct nodes *n = &v->model->tables.nodes;

	buf_clear(&p->part);
	for (uint32_t id = w->stack; node_is_known(n, id); id = n->parent[id]) {
		uint32_t location = locations_of_node(v->locations, id);

		p->used_locations[location] = 1;
		proto_varint(&p->part, (uint64_t)location + 1);
	}
	/* What has none is dropped by readers. */
	if (!p->part.size) {
		p->without_stack = true;
		proto_varint(&p->part, (uint64_t)locations_count(v->locations) + 1);
	}
	proto_message(&p->message, SAMPLE_LOCATION, &p->part);
	proto_varint(&p->part, w->weight.count);
	proto_varint(&p->part, w->weight.bytes);
	proto_varint(&p->part, in_use->count);
	proto_varint(&p->part, in_use->bytes);
	proto_message(&p->message, SAMPLE_VALUE, &p->part);
	if (thread_name) {
		proto_number(&p->part, LABEL_KEY, thread_key);
		proto_number(&p->part, LABEL_STRING, thread_name);
		proto_message(&p->message, SAMPLE_LABEL, &p->part);
	}
	proto_message(&p->out->buf, PROFILE_SAMPLE, &p->message);
}

/* What was removed from the recording counts where all of it is exported.  Which thread allocated
 * it is not known. */
static void put_removed(struct pprof *p)
{
	const struct removed *r = &p->x->view->model->tables.removed;
	const struct weight none = { 0 };

	for (size_t i = 0; !p->x->view->bits && i < r->count && !sink_turn(p->out); i++) {
		struct stack_weight w = { .stack = r->rows[i].stack,
					  .weight = { r->rows[i].bytes, r->rows[i].count } };

		if (w.weight.count)
			put_sample(p, &w, &none, 0, 0);
	}
}

/* Both lists are ordered by thread and stack, and what is in use was allocated. */
static void put_samples(struct pprof *p)
{
	const struct threads *threads = &p->x->view->model->tables.threads;
	struct measuring all = measuring_of(p->x->view->model, MEASURE_ALLOCATED, 0);
	struct measuring leaked = measuring_of(p->x->view->model, MEASURE_LEAKED, 0);
	struct stack_weights allocated, in_use;
	uint32_t key = add_string(p, "thread"), name = 0, thread = UINT32_MAX, next = 0;

	weigh_stacks(&allocated, p->x->view, &all, true);
	weigh_stacks(&in_use, p->x->view, &leaked, true);
	for (uint32_t i = 0; i < allocated.count && !sink_turn(p->out); i++) {
		const struct stack_weight *w = &allocated.rows[i];
		const struct stack_weight *u = next < in_use.count ? &in_use.rows[next] : NULL;
		struct weight none = { 0 };
		bool same = u && u->thread == w->thread && u->stack == w->stack;

		if (!i || w->thread != thread) {
			char text[sizeof(threads->rows->name) + 24];

			thread = w->thread;
			snprintf(text, sizeof(text), "%s (%" PRIu64 ")", threads->rows[thread].name,
				 threads->rows[thread].tid);
			name = add_string(p, text);
		}
		put_sample(p, w, same ? &u->weight : &none, key, name);
		next += same;
		export_progress(p->x, i, allocated.count);
	}
	stack_weights_release(&allocated);
	stack_weights_release(&in_use);
}

static void put_location(struct pprof *p, uint32_t id)
{
	const struct view *v = p->x->view;
	const struct location *location = locations_at(v->locations, id);
	unsigned count;
	const struct location_frame *frames = locations_frames(v->locations, id, &count);
	uint64_t bias = location->module ? v->model->tables.modules[location->module].bias : 0;

	p->used_modules[location->module] = 1;
	proto_number(&p->message, LOCATION_ID, (uint64_t)id + 1);
	proto_number(&p->message, LOCATION_MAPPING, location->module);
	proto_number(&p->message, LOCATION_ADDRESS, location->address + bias);
	for (unsigned i = 0; i < count; i++) {
		if (!frames[i].function)
			continue;
		proto_number(&p->part, LINE_FUNCTION, function_id(p, &frames[i]));
		proto_number(&p->part, LINE_LINE, frames[i].line);
		proto_number(&p->part, LINE_COLUMN, frames[i].column);
		proto_message(&p->message, LOCATION_LINE, &p->part);
	}
	proto_message(&p->out->buf, PROFILE_LOCATION, &p->message);
}

/* A location of its own, after all others. */
static void put_no_stack(struct pprof *p)
{
	proto_number(&p->message, FUNCTION_ID, UINT32_MAX);
	proto_number(&p->message, FUNCTION_NAME, add_string(p, "(no stack)"));
	proto_message(&p->out->buf, PROFILE_FUNCTION, &p->message);
	proto_number(&p->part, LINE_FUNCTION, UINT32_MAX);
	proto_number(&p->message, LOCATION_ID,
		     (uint64_t)locations_count(p->x->view->locations) + 1);
	proto_message(&p->message, LOCATION_LINE, &p->part);
	proto_message(&p->out->buf, PROFILE_LOCATION, &p->message);
}

static void put_mapping(struct pprof *p, uint32_t id)
{
	const struct view *v = p->x->view;
	const struct module *m = &v->model->tables.modules[id];
	enum symbols_level level = locations_level(v->locations, id);
	struct buf build_id = { 0 };

	buf_hex(&build_id, m->build_id, m->build_id_size);
	proto_number(&p->message, MAPPING_ID, id);
	proto_number(&p->message, MAPPING_START, m->start);
	proto_number(&p->message, MAPPING_LIMIT, m->end);
	/* A module's first segment starts with its file: offset 0. */
	proto_number(&p->message, MAPPING_FILE,
		     add_string(p, locations_module_path(v->locations, id)));
	proto_number(&p->message, MAPPING_BUILD_ID,
		     build_id.size ? add_string(p, build_id.data) : 0);
	proto_number(&p->message, MAPPING_HAS_FUNCTIONS, level != SYMBOLS_NONE);
	proto_number(&p->message, MAPPING_HAS_FILES, level == SYMBOLS_LINES);
	proto_number(&p->message, MAPPING_HAS_LINES, level == SYMBOLS_LINES);
	proto_number(&p->message, MAPPING_HAS_INLINES, level == SYMBOLS_LINES);
	proto_message(&p->out->buf, PROFILE_MAPPING, &p->message);
	buf_release(&build_id);
}

static bool is_program(const struct pprof *p, uint32_t module)
{
	const char *path = model_info(p->x->view->model, "executable");

	return path && !strcmp(locations_module_path(p->x->view->locations, module), path);
}

static void put_tables(struct pprof *p)
{
	const struct view *v = p->x->view;

	for (uint32_t i = 0; i < locations_count(v->locations) && !sink_turn(p->out); i++)
		if (p->used_locations[i])
			put_location(p, i);
	if (p->without_stack)
		put_no_stack(p);
	/* The first mapping is taken for the program. */
	for (int others = 0; others < 2; others++)
		for (uint32_t i = 1; i < v->model->tables.module_count; i++)
			if (p->used_modules[i] && is_program(p, i) != others)
				put_mapping(p, i);
	for (size_t i = 0; i < p->function_count && !sink_turn(p->out); i++) {
		uint32_t name = location_string(p, p->function_rows[i].function);
		uint32_t raw = location_string(p, p->function_rows[i].raw);

		proto_number(&p->message, FUNCTION_ID, i + 1);
		proto_number(&p->message, FUNCTION_NAME, name);
		proto_number(&p->message, FUNCTION_RAW_NAME, raw ? raw : name);
		proto_number(&p->message, FUNCTION_FILE,
			     location_string(p, p->function_rows[i].file));
		proto_message(&p->out->buf, PROFILE_FUNCTION, &p->message);
	}
}

static void put_head(struct pprof *p)
{
	const struct model *m = p->x->view->model;
	struct buf *out = &p->out->buf;

	add_string(p, ""); /* must be the first */
	put_type(p, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	put_type(p, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	put_type(p, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	put_type(p, PROFILE_PERIOD_TYPE, "space", "bytes");
	proto_number(out, PROFILE_PERIOD, 1); /* every allocation was recorded */
	proto_number(out, PROFILE_DEFAULT_TYPE, add_string(p, "inuse_space"));
	proto_number(out, PROFILE_TIME, model_start_ns(m));
	proto_number(out, PROFILE_DURATION, model_runtime_ns(m));
	proto_varint(out, PROFILE_COMMENT << 3 | PROTO_VARINT);
	proto_varint(out, add_string(p, p->x->title));
}

static int write_pprof(const struct export *x, struct sink *out, struct err *err)
{
	const struct view *v = x->view;
	struct pprof p = { .x = x, .out = out };

	p.of_location_string =
		xcalloc(locations_string_count(v->locations) + 1, sizeof(*p.of_location_string));
	p.used_locations = xcalloc(locations_count(v->locations) + 1, 1);
	p.used_modules = xcalloc(v->model->tables.module_count + 1, 1);
	put_head(&p);
	put_samples(&p);
	put_removed(&p);
	put_tables(&p);
	for (size_t i = 0; i < p.string_count; i++) {
		proto_bytes(&out->buf, PROFILE_STRING, p.strings[i], strlen(p.strings[i]));
		free(p.strings[i]);
		sink_turn(out);
	}
	free(p.strings);
	free(p.of_location_string);
	free(p.used_locations);
	free(p.used_modules);
	free(p.function_rows);
	map_release(&p.functions);
	buf_release(&p.message);
	buf_release(&p.part);
	return out->error;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.extension = "pb.gz",
	.mime = "application/octet-stream",
	.viewer = "go tool pprof, Parca, Pyroscope, Perfetto, speedscope",
	.help = "allocated and leaked, with mappings, inlined functions and threads",
	.binary = true,
	.gzip = true,
	.write = write_pprof,
};
