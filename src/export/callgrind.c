/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* callgrind's profile: what each line allocated itself, and what each call led to.
 *
 * A function that is twice in a stack is there once, as called from outside, and what was between
 * is left out: so what a function leads to is never more than there is.  Functions are told apart
 * by name and file, as the readers do it, and what is inlined is a function of its own.  Names are
 * written when they are first needed, and are known by their number from then on. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/map.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "export/export.h"
#include "export/functions.h"
#include "query/weigh.h"

enum { BYTES, ALLOCS, LEAKED_BYTES, LEAKED_ALLOCS, PEAK_BYTES, PEAK_ALLOCS, TEMP_ALLOCS, COSTS };

static const struct {
	const char *name, *title;
} events[COSTS] = {
	{ "Bytes", "allocated bytes" },
	{ "Allocs", "allocations" },
	{ "LeakedBytes", "leaked bytes" },
	{ "LeakedAllocs", "leaked blocks" },
	{ "PeakBytes", "bytes at the peak" },
	{ "PeakAllocs", "blocks at the peak" },
	{ "TempAllocs", "temporary allocations" },
};

struct cost {
	uint64_t values[COSTS];
};

/* What a line of a function allocated itself, or, with a callee, led to there. */
struct edge {
	uint32_t function, line, callee; /* NO_CALLEE: itself */
	struct cost cost;
};
#define NO_CALLEE UINT32_MAX

struct callgrind {
	const struct export *x;
	struct sink *out;
	struct functions functions;
	struct cost *stacks; /* by node */
	struct map pairs, by_pair;
	struct edge *edges;
	size_t edge_count, edge_room;
	struct cost total;
	uint8_t *known_objects, *known_functions; /* written already */
	uint8_t *known_files;
};

static void add_cost(struct cost *to, const struct cost *from)
{
	for (unsigned i = 0; i < COSTS; i++)
		to->values[i] += from->values[i];
}

static void add_edge(struct callgrind *c, uint32_t function, uint32_t line, uint32_t callee,
		     const struct cost *cost)
{
	uint64_t key = (uint64_t)function << 32 | callee, id;

	map_number(&c->pairs, key, &id);
	if (map_number(&c->by_pair, id << 32 | line, &id))
		*xpush(c->edges, c->edge_count, c->edge_room) =
			(struct edge){ .function = function, .line = line, .callee = callee };
	add_cost(&c->edges[id].cost, cost);
}

static void weigh(struct callgrind *c, enum measure measure, int bytes, int count)
{
	struct measuring how = measuring_of(c->x->view->model, measure, 0);
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };

	weigh_stacks(&weights, c->x->view, &how, false);
	for (uint32_t i = 0; i < weights.count; i++) {
		struct cost *cost = &c->stacks[weights.rows[i].stack];

		if (bytes >= 0)
			cost->values[bytes] = weights.rows[i].weight.bytes;
		cost->values[count] = weights.rows[i].weight.count;
	}
}

struct step {
	uint32_t function, line;
};

/* A path from outside to inside in which no function comes twice. */
struct path {
	struct step *steps;
	size_t count, room;
	uint32_t *at; /* by function: its position plus one */
	size_t at_room;
};

static void path_add(struct path *p, uint32_t function, uint32_t line)
{
	size_t again;

	while (function >= p->at_room) {
		size_t room = p->at_room ? 2 * p->at_room : 1024;

		p->at = xreallocarray(p->at, room, sizeof(*p->at));
		memset(p->at + p->at_room, 0, (room - p->at_room) * sizeof(*p->at));
		p->at_room = room;
	}
	again = p->at[function];
	while (again && p->count >= again)
		p->at[p->steps[--p->count].function] = 0;
	*xpush(p->steps, p->count, p->room) = (struct step){ function, line };
	p->at[function] = (uint32_t)p->count;
}

static void path_clear(struct path *p)
{
	while (p->count)
		p->at[p->steps[--p->count].function] = 0;
}

static void gather(struct callgrind *c)
{
	static const struct stack_frame none = { .address = UINT64_MAX };
	uint32_t nodes = c->x->view->model->tables.nodes.count;
	auto_release(stack_frames_release) struct stack_frames frames = { 0 };
	struct path path = { 0 };

	for (uint32_t stack = 0; stack <= nodes; stack++) {
		const struct cost *cost = &c->stacks[stack];

		if (!cost->values[ALLOCS])
			continue;
		add_cost(&c->total, cost);
		path_clear(&path);
		stack_frames_of(&frames, c->x->view, stack);
		if (!frames.count)
			path_add(&path, functions_id(&c->functions, &none), 0);
		for (size_t i = frames.count; i-- > 0;)
			path_add(&path, functions_id(&c->functions, &frames.rows[i]),
				 frames.rows[i].line);
		for (size_t i = 0; i < path.count; i++) {
			bool last = i + 1 == path.count;

			add_edge(c, path.steps[i].function, path.steps[i].line,
				 last ? NO_CALLEE : path.steps[i + 1].function, cost);
		}
		if (!(stack & 0xfff))
			export_progress(c->x, stack, nodes);
	}
	free(path.steps);
	free(path.at);
}

/* A function's own lines first (NO_CALLEE + 1 is 0), then what it calls. */
ORDER(compare, struct edge,
      RISING(function) ?: COMPARE(x->callee + 1, y->callee + 1) ?: RISING(line))

/* "fn=(3) name" the first time, "fn=(3)" from then on. */
static void put_name(struct callgrind *c, const char *what, uint32_t number, uint8_t *known,
		     const char *name)
{
	struct buf *out = &c->out->buf;
	size_t start;

	buf_printf(out, "%s=(%u)", what, number + 1);
	if (!known[number]) {
		known[number] = 1;
		buf_char(out, ' ');
		start = out->size;
		utf8_add(out, name, strlen(name));
		text_in_line(out, start);
	}
	buf_char(out, '\n');
}

/* Object, file and name of a function. */
static void put_function(struct callgrind *c, uint32_t id, const char *object, const char *file,
			 const char *name)
{
	const struct functions_row *f = &c->functions.rows[id];
	struct locations *locations = c->x->view->locations;
	const char *path = locations_module_path(locations, f->module);
	const char *source = locations_string(locations, f->file);
	auto_buf struct buf text = { 0 };

	if (f->function)
		buf_text(&text, locations_string(locations, f->function));
	else if (f->address == UINT64_MAX)
		buf_text(&text, "(no stack)");
	else
		locations_unnamed(locations, f->module, f->address, &text);
	put_name(c, object, f->module, c->known_objects, *path ? path : "???");
	put_name(c, file, f->file, c->known_files, *source ? source : "???");
	put_name(c, name, id, c->known_functions, text.data);
}

static void put_cost(struct buf *out, const struct cost *cost)
{
	for (unsigned i = 0; i < COSTS; i++)
		buf_printf(out, " %" PRIu64, cost->values[i]);
	buf_char(out, '\n');
}

static void put_head(struct callgrind *c)
{
	struct buf *out = &c->out->buf;

	buf_text(out, "# callgrind format\nversion: 1\ncreator: memoir " MEMOIR_VERSION "\n");
	buf_printf(out, "pid: %" PRIu64 "\ncmd: ", model_info_number(c->x->view->model, "pid", 0));
	export_command(c->x, out);
	buf_text(out, "\npart: 1\npositions: line\n");
	for (unsigned i = 0; i < COSTS; i++)
		buf_printf(out, "event: %s : %s\n", events[i].name, events[i].title);
	buf_text(out, "events:");
	for (unsigned i = 0; i < COSTS; i++)
		buf_printf(out, " %s", events[i].name);
	buf_text(out, "\nsummary:");
	put_cost(out, &c->total);
}

static void put_edges(struct callgrind *c)
{
	struct buf *out = &c->out->buf;

	SORT(c->edges, c->edge_count, compare);
	for (size_t i = 0; i < c->edge_count && !sink_turn(c->out); i++) {
		const struct edge *e = &c->edges[i];

		if (!i || e->function != e[-1].function) {
			buf_char(out, '\n');
			put_function(c, e->function, "ob", "fl", "fn");
		}
		if (e->callee != NO_CALLEE) {
			put_function(c, e->callee, "cob", "cfi", "cfn");
			buf_printf(out, "calls=%" PRIu64 " %u\n", e->cost.values[ALLOCS],
				   c->functions.rows[e->callee].line);
		}
		buf_printf(out, "%u", e->line);
		put_cost(out, &e->cost);
	}
	buf_text(out, "\ntotals:");
	put_cost(out, &c->total);
}

static int write_callgrind(const struct export *x, struct sink *out, struct err *err)
{
	const struct view *v = x->view;
	struct callgrind c = { .x = x, .out = out };

	c.stacks = xcalloc(v->model->tables.nodes.count + 1, sizeof(*c.stacks));
	weigh(&c, MEASURE_ALLOCATED, BYTES, ALLOCS);
	weigh(&c, MEASURE_LEAKED, LEAKED_BYTES, LEAKED_ALLOCS);
	weigh(&c, MEASURE_PEAK, PEAK_BYTES, PEAK_ALLOCS);
	weigh(&c, MEASURE_TEMPORARY, -1, TEMP_ALLOCS);
	gather(&c);
	c.known_objects = xcalloc(v->model->tables.module_count + 1, 1);
	c.known_files = xcalloc(locations_string_count(v->locations) + 1, 1);
	c.known_functions = xcalloc(c.functions.count + 1, 1);
	put_head(&c);
	put_edges(&c);
	functions_release(&c.functions);
	free(c.stacks);
	free(c.edges);
	free(c.known_objects);
	free(c.known_files);
	free(c.known_functions);
	map_release(&c.pairs);
	map_release(&c.by_pair);
	return out->error;
}

const struct exporter exporter_callgrind = {
	.name = "callgrind",
	.extension = "callgrind.out",
	.mime = "text/plain; charset=utf-8",
	.viewer = "KCachegrind, QCachegrind, callgrind_annotate, speedscope",
	.help = "what each line allocated and each call led to, leaked, peak and temporary too",
	.write = write_callgrind,
};
