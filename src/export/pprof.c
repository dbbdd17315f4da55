/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto: blocks and bytes allocated, and still in use at the end.
 *
 * One sample for each stack of each thread, with the thread as a label; one pprof location for each
 * location, its inlined functions as lines of it (base/pprof.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/pprof.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "model/stats.h"
#include "query/weigh.h"

struct writer {
	const struct export *x;
	struct sink *out;
	struct pprof pprof;
	uint32_t *mappings; /* numbers of modules; 0: no sample is in it */
};

/* What has no stack is dropped by readers: it gets a location, behind all others. */
static size_t no_stack(const struct writer *w)
{
	return locations_count(w->x->view->locations);
}

static void put_sample(struct writer *w, uint32_t stack, const struct weight *all,
		       const struct weight *in_use, uint32_t thread)
{
	const struct view *v = w->x->view;
	const struct nodes *n = &v->model->tables.nodes;
	const int64_t values[] = { (int64_t)all->count, (int64_t)all->bytes, (int64_t)in_use->count,
				   (int64_t)in_use->bytes };

	if (!node_is_known(n, stack))
		pprof_frame(&w->pprof, no_stack(w));
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id])
		pprof_frame(&w->pprof, locations_of_node(v->locations, id));
	pprof_sample(&w->pprof, values, thread);
}

/* What was removed from the recording counts where all of it is exported.  Which thread allocated
 * it is not known. */
static void put_removed(struct writer *w)
{
	const struct removed *r = &w->x->view->model->tables.removed;
	const struct weight none = { 0 };

	for (size_t i = 0; !w->x->view->bits && i < r->count && !sink_turn(w->out); i++) {
		struct weight all = { r->rows[i].bytes, r->rows[i].count };

		if (all.count)
			put_sample(w, r->rows[i].stack, &all, &none, 0);
	}
}

/* Both lists are ordered by thread and stack, and what is in use was allocated. */
static void put_samples(struct writer *w)
{
	const struct threads *threads = &w->x->view->model->tables.threads;
	struct measuring all = measuring_of(w->x->view->model, MEASURE_ALLOCATED, 0);
	struct measuring leaked = measuring_of(w->x->view->model, MEASURE_LEAKED, 0);
	struct stack_weights allocated, in_use;
	uint32_t name = 0, thread = UINT32_MAX, next = 0;

	weigh_stacks(&allocated, w->x->view, &all, true);
	weigh_stacks(&in_use, w->x->view, &leaked, true);
	for (uint32_t i = 0; i < allocated.count && !sink_turn(w->out); i++) {
		const struct stack_weight *a = &allocated.rows[i];
		const struct stack_weight *u = next < in_use.count ? &in_use.rows[next] : NULL;
		struct weight none = { 0 };
		bool same = u && u->thread == a->thread && u->stack == a->stack;

		if (!i || a->thread != thread) {
			char text[sizeof(threads->rows->name) + 24];

			thread = a->thread;
			snprintf(text, sizeof(text), "%s (%" PRIu64 ")", threads->rows[thread].name,
				 threads->rows[thread].tid);
			name = pprof_string(&w->pprof, text);
		}
		put_sample(w, a->stack, &a->weight, same ? &u->weight : &none, name);
		next += same;
		export_progress(w->x, i, allocated.count);
	}
	stack_weights_release(&allocated);
	stack_weights_release(&in_use);
}

static void put_location(struct writer *w, uint32_t id)
{
	struct locations *l = w->x->view->locations;
	const struct location *location = locations_at(l, id);
	unsigned count;
	const struct location_frame *frames = locations_frames(l, id, &count);
	const struct module *m = &w->x->view->model->tables.modules[location->module];

	for (unsigned i = 0; i < count; i++) {
		const struct location_frame *f = &frames[i];

		if (f->function)
			pprof_line(&w->pprof,
				   &(struct pprof_function){
					   .key = (uint64_t)f->function << 32 | f->file,
					   .name = locations_string(l, f->function),
					   .raw = locations_string(l, f->raw_function),
					   .file = locations_string(l, f->file) },
				   f->line, f->column);
	}
	pprof_location(&w->pprof, id, w->mappings[location->module],
		       location->address + (location->module ? m->bias : 0));
}

static void put_mapping(struct writer *w, uint32_t id)
{
	const struct view *v = w->x->view;
	const struct module *m = &v->model->tables.modules[id];
	enum symbols_level level = locations_level(v->locations, id);
	auto_buf struct buf build_id = { 0 };

	buf_hex(&build_id, m->build_id, m->build_id_size);
	/* A module's first segment starts with its file: offset 0. */
	pprof_mapping(&w->pprof,
		      &(struct pprof_mapping){ .number = w->mappings[id],
					       .start = m->start,
					       .end = m->end,
					       .path = locations_module_path(v->locations, id),
					       .build_id = build_id.data,
					       .functions = level != SYMBOLS_NONE,
					       .lines = level == SYMBOLS_LINES });
}

static bool is_program(const struct writer *w, uint32_t module)
{
	const char *path = model_info(w->x->view->model, "executable");

	return path && !strcmp(locations_module_path(w->x->view->locations, module), path);
}

/* The first is taken for the program. */
static void put_mappings(struct writer *w)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < w->pprof.location_count; i++) {
		uint32_t id = w->pprof.locations[i];

		if (id != no_stack(w))
			w->mappings[locations_at(w->x->view->locations, id)->module] = 1;
	}
	w->mappings[0] = 0; /* what is in no module */
	for (int others = 0; others < 2; others++)
		for (uint32_t i = 1; i < w->x->view->model->tables.module_count; i++)
			if (w->mappings[i] && is_program(w, i) != others) {
				w->mappings[i] = ++count;
				put_mapping(w, i);
			}
}

static void put_locations(struct writer *w)
{
	for (uint32_t i = 0; i < w->pprof.location_count && !sink_turn(w->out); i++) {
		if (w->pprof.locations[i] != no_stack(w)) {
			put_location(w, w->pprof.locations[i]);
			continue;
		}
		pprof_line(&w->pprof, &(struct pprof_function){ .name = "(no stack)" }, 0, 0);
		pprof_location(&w->pprof, no_stack(w), 0, 0);
	}
}

static int write_pprof(const struct export *x, struct sink *out, struct err *err)
{
	const struct model *m = x->view->model;
	struct writer w = { .x = x, .out = out };

	w.mappings = xcalloc(m->tables.module_count + 1, sizeof(*w.mappings));
	pprof_begin(&w.pprof, out, no_stack(&w) + 1, true,
		    &(struct pprof_head){ .rate = 1, /* every allocation was recorded */
					  .default_type = "inuse_space",
					  .time_ns = model_start_ns(m),
					  .duration_ns = model_runtime_ns(m),
					  .comment = x->title });
	put_samples(&w);
	put_removed(&w);
	put_mappings(&w);
	put_locations(&w);
	pprof_end(&w.pprof);
	free(w.mappings);
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
