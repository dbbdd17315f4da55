/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Answers as JSON.  See answer.h. */
#include "query/answer.h"

#include <string.h>

#include "base/buf_type.h"
#include "base/json_quick.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/allocator.h"
#include "query/fields.h"
#include "query/nested.h"
#include "query/responsible.h"
#include "query/steps.h"

void answer_init(struct answer *a, const struct view *v)
{
	*a = (struct answer){ .view = v,
			      .clock = model_clock(v->model),
			      .start_ns = model_start_ns(v->model) };
	a->runtime_ns = clock_ns(&a->clock, a->clock.end);
	if (!a->runtime_ns)
		a->runtime_ns = 1;
	a->glibc = allocator_is_glibc(v->model);
	a->jemalloc_inside = allocator_inside_is_jemalloc(v->model);
	for (unsigned i = 0; i < ANSWER_CALLS; i++)
		a->jemalloc_calls[i] =
			allocator_is_jemalloc(v->model, locations_call(v->locations, i));
}

void answer_release(struct answer *a)
{
	free(a->location_counts);
	free(a->call_counts);
	free(a->node_texts);
	buf_release(&a->texts);
}

uint32_t answer_stack(const struct model *m, uint32_t stack)
{
	return node_is_known(&m->tables.nodes, stack) ? stack : 0;
}

/* Rows come by the million: keys are literals to whatever writes one of their fields. */
JSON_QUICK void timeval(struct json *j, const char *key, uint64_t ns)
{
	json_quick_object(j, key);
	json_quick_number(j, "secs", ns / 1000000000);
	json_quick_number(j, "fract_nsecs", ns % 1000000000);
	json_quick_end_object(j);
}

JSON_QUICK void moment_named(const struct answer *a, struct json *j, uint64_t stamp,
			     const char *name, const char *relative, const char *part)
{
	uint64_t ns = clock_ns(&a->clock, stamp);

	timeval(j, name, a->start_ns + ns);
	timeval(j, relative, ns);
	json_quick_part(j, part, (double)ns / (double)a->runtime_ns);
}

/* "name", "name_relative" and "name_relative_p" of a literal. */
#define moment(a, j, name, stamp)                                                                  \
	moment_named(a, j, stamp, name, name "_relative", name "_relative_p")

/* "name" and "name_s" of a literal. */
#define address_as(j, name, value)                                                                 \
	do {                                                                                       \
		uint64_t value_ = value;                                                           \
                                                                                                   \
		json_quick_number(j, name, value_);                                                \
		json_quick_hex(j, name "_s", value_);                                              \
	} while (0)

static void address(struct json *j, uint64_t value)
{
	address_as(j, "address", value);
}

/* While allocations are counted by location. */
struct counting {
	const struct locations *locations;
	uint64_t *below;  /* by node: allocations of its stack and of those inside it */
	uint32_t *within; /* by location: how often the node that is looked at is inside it */
	uint64_t *counts; /* by location */
};

/* What is inside a location twice was counted with the outermost. */
static void enter_location(void *context, uint32_t node)
{
	struct counting *c = context;
	uint32_t location = locations_of_node(c->locations, node);

	if (!c->within[location]++)
		c->counts[location] += c->below[node];
}

static void leave_location(void *context, uint32_t node)
{
	struct counting *c = context;

	c->within[locations_of_node(c->locations, node)]--;
}

/* In how many allocations' stacks is each location? Each stack counts once. */
void answer_count(struct answer *a)
{
	const struct model *m = a->view->model;
	const struct nodes *nodes = &m->tables.nodes;
	const struct summary *s = model_summary(m);
	uint32_t count = locations_count(a->view->locations) + 1;
	struct counting c = { .locations = a->view->locations,
			      .below = xcalloc((size_t)nodes->count + 1, sizeof(*c.below)),
			      .within = xcalloc(count, sizeof(*c.within)) };

	c.counts = a->location_counts = xcalloc(count, sizeof(*a->location_counts));
	a->call_counts = xcalloc(CALLS_MAX, sizeof(*a->call_counts));
	for (uint32_t i = 0; i < s->count; i++)
		if (node_is_known(nodes, s->rows[i].stack))
			c.below[s->rows[i].stack] = s->rows[i].sums.count;
	/* A node's number is larger than its caller's. */
	for (uint32_t i = nodes->count; i-- > 1;)
		if (node_is_known(nodes, i))
			c.below[nodes->parent[i]] += c.below[i];
	nested_walk(nodes, &(struct nested_visitor){ enter_location, leave_location, &c });
	for (uint32_t i = 0; i < m->allocations.count; i++)
		a->call_counts[tags_call(columns_tags(&m->allocations, i))]++;
	free(c.below);
	free(c.within);
}

static void optional_text(struct json *j, const char *key, const char *text)
{
	if (*text)
		json_text(j, key, text);
}

static void function_name(const struct answer *a, struct json *j, const char *name)
{
	auto_buf struct buf shorter = { 0 };

	if (a->shorten && *name) {
		a->shorten(name, &shorter);
		name = shorter.data;
	}
	optional_text(j, "function", name);
}

void answer_frames(const struct answer *a, struct json *j, uint32_t node)
{
	const struct responsible *r =
		a->responsible ? a->responsible : responsible_of_view(a->view);
	struct locations *p = a->view->locations;
	uint64_t at = a->view->model->tables.nodes.frame[node] & NODE_ADDRESS_MASK;
	uint32_t id = locations_of_node(p, node);
	const struct location *location = locations_at(p, id);
	auto_buf struct buf unnamed = { 0 };
	unsigned count;
	const struct location_frame *f = locations_frames(p, id, &count);

	while (count--) {
		json_object(j, NULL);
		address(j, at);
		json_number(j, "count", a->location_counts[id]);
		optional_text(j, "library", path_base(locations_module_path(p, location->module)));
		function_name(a, j, locations_string(p, f[count].function));
		if (!f[count].function) {
			buf_clear(&unnamed);
			locations_unnamed(p, location->module, location->address, &unnamed);
			json_text(j, "name", unnamed.data);
		}
		optional_text(j, "raw_function", locations_string(p, f[count].raw_function));
		optional_text(j, "source", locations_string(p, f[count].file));
		if (f[count].line)
			json_number(j, "line", f[count].line);
		if (f[count].column)
			json_number(j, "column", f[count].column);
		json_bool(j, "is_inline", f[count].inlined);
		json_text(j, "kind", frame_kind_names[responsible_kind(r, id, count)]);
		json_end_object(j);
	}
}

/* The same, out of what was written before. */
static void node_text(struct answer *a, struct json *j, uint32_t node)
{
	struct answer_text *t = &a->node_texts[node];

	if (!t->size) {
		struct json once = { .out = &a->texts, .compact = true };

		once.depth = 1;
		t->offset = a->texts.size;
		answer_frames(a, &once, node);
		t->size = a->texts.size - t->offset;
	}
	json_written(j, NULL, a->texts.data + t->offset, t->size);
}

void answer_call(const struct answer *a, struct json *j, unsigned call)
{
	json_object(j, NULL);
	address(j, 0);
	json_number(j, "count", a->call_counts[call % CALLS_MAX]);
	json_text(j, "function", locations_call(a->view->locations, call));
	optional_text(j, "raw_function", locations_raw_call(call));
	json_bool(j, "is_inline", false);
	json_text(j, "kind", frame_kind_names[FRAME_ALLOCATOR]);
	json_end_object(j);
}

void answer_backtrace(struct answer *a, struct json *j, const char *key, uint32_t stack,
		      unsigned call)
{
	const struct nodes *nodes = &a->view->model->tables.nodes;
	uint32_t *path = NULL;
	size_t n = 0, room = 0;

	if (a->no_stacks)
		return;
	if (!a->location_counts)
		answer_count(a);
	if (!a->responsible)
		a->responsible = responsible_of_view(a->view);
	if (j->compact && !a->node_texts)
		a->node_texts = xcalloc(nodes->count + 1, sizeof(*a->node_texts));
	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		*xpush(path, n, room) = id;
	}
	json_array(j, key);
	while (n--) {
		if (j->compact)
			node_text(a, j, path[n]);
		else
			answer_frames(a, j, path[n]);
	}
	answer_call(a, j, call);
	json_end_array(j);
	free(path);
}

static void put_stack(struct answer *a, struct json *j, const char *key, uint32_t stack,
		      unsigned call)
{
	if (a->put_stack)
		a->put_stack(a->put_stack_context, j, key, stack, call);
	else
		answer_backtrace(a, j, key, stack, call);
}

void answer_timeval(struct json *j, const char *key, uint64_t ns)
{
	timeval(j, key, ns);
}

void answer_moment_named(const struct answer *a, struct json *j, uint64_t stamp, const char *name,
			 const char *relative, const char *part)
{
	moment_named(a, j, stamp, name, relative, part);
}

void answer_address(struct json *j, uint64_t value)
{
	address(j, value);
}

void answer_put_stack(struct answer *a, struct json *j, const char *key, uint32_t stack,
		      unsigned call)
{
	put_stack(a, j, key, stack, call);
}

static void deallocation(struct answer *a, struct json *j, const char *key, uint32_t row)
{
	const struct model *m = a->view->model;
	const struct columns *c = &m->allocations;
	uint64_t tags = columns_tags(c, row);
	bool known = !(tags_flags(tags) & TAG_FREE_LOST);

	json_object(j, key);
	moment(a, j, "timestamp", columns_freed_at(c, row));
	if (known) { /* else only that its address was given out again */
		json_quick_number(j, "thread", m->tables.threads.rows[tags_free_thread(tags)].tid);
		json_quick_text(j, "call",
				locations_call(a->view->locations, tags_free_call(tags)));
		json_quick_number(j, "backtrace_id", answer_stack(m, columns_free_stack(c, row)));
		put_stack(a, j, "backtrace", columns_free_stack(c, row), tags_free_call(tags));
	}
	json_end_object(j);
}

/* A number of fields.def, by what it is compared with. */
#define WRITE_ARG_TIME(key, value) moment(a, j, key, value)
#define WRITE_ARG_DURATION_OR_PERCENT(key, value) timeval(j, key, clock_duration_ns(clock, value))
#define WRITE_ARG_ADDRESS(key, value) address_as(j, key, value)
#define WRITE_ARG_SIZE(key, value) json_quick_number(j, key, value)
#define WRITE_ARG_COUNT(key, value) json_quick_number(j, key, value)
#define WRITE_ARG_NUMBER(key, value) json_quick_number(j, key, value)

void answer_allocation(struct answer *a, struct json *j, uint32_t row)
{
	const struct model *m = a->view->model;
	const struct columns *c = &m->allocations;
	const struct model_clock *clock = &a->clock;
	uint64_t tags = columns_tags(c, row);
	struct chain chain = chain_of(m, row);
	const char *call = locations_call(a->view->locations, tags_call(tags));
	unsigned flags = tags_flags(tags);
	bool inside = flags_are_inside(flags);
	bool jemalloc = a->jemalloc_calls[tags_call(tags)] || (inside && a->jemalloc_inside);
	bool glibc = !jemalloc && !inside && a->glibc;

	json_object(j, NULL);
	json_quick_number(j, "id", row);
#define NUMBER(id, name, column, key, type, cost, heading, from, value, help)                      \
	if (*key)                                                                                  \
		WRITE_##type(key, value);
#include "query/fields.def"
#undef NUMBER
	json_quick_number(j, "thread", m->tables.threads.rows[tags_thread(tags)].tid);
	json_quick_text(j, "thread_name", m->tables.threads.rows[tags_thread(tags)].name);
	json_quick_text(j, "call", call);
	json_quick_number(j, "backtrace_id", answer_stack(m, columns_stack(c, row)));
	if (columns_freed_at(c, row) != NEVER)
		deallocation(a, j, "deallocation", row);
	if (chain.last != row && columns_freed_at(c, chain.last) != NEVER)
		deallocation(a, j, "chain_deallocation", chain.last);
	put_stack(a, j, "backtrace", columns_stack(c, row), tags_call(tags));
	json_quick_bool(j, "is_mmaped", glibc && flags & TAG_MMAPPED);
	json_quick_bool(j, "is_jemalloc", jemalloc);
	json_quick_bool(j, "in_main_arena", glibc && !(flags & TAG_NON_MAIN_ARENA));
	json_quick_bool(j, "is_zeroed", flags & TAG_ZEROED);
	json_quick_bool(j, "is_temporary", flags & TAG_TEMPORARY);
	json_quick_bool(j, "is_reallocated", flags & TAG_REALLOCATED);
	json_quick_number(j, "chain_first", chain.first);
	json_quick_number(j, "chain_last", chain.last);
	json_end_object(j);
}

/* Where the curve of a stack, or of what of it matches, is to be had. */
static void graphs(const struct answer *a, struct json *j, const struct group *stack, bool matched)
{
	if (a->graph && stack)
		a->graph(a, j, stack->id, matched);
}

/* `stack`: of groups by stack, else NULL. */
static void sums(const struct answer *a, struct json *j, const char *key,
		 const struct summary_sums *s, const struct stack_peak *peak,
		 const struct group *stack)
{
	json_object(j, key);
#define WRITE_BYTES(name, value) json_number(j, name, value);
#define WRITE_COUNT(name, value) json_number(j, name, value);
#define WRITE_STAMP(name, value)                                                                   \
	if (s->count)                                                                              \
		moment(a, j, name, value);
#define WRITE_TICKS(name, value) timeval(j, name, clock_duration_ns(&a->clock, value));
#define SUM(id, name, type, heading, place, from, value, help) WRITE_##type(name, value)
#include "query/group_fields.def"
#undef SUM
	graphs(a, j, stack, !peak);
	if (peak && peak->at) {
		json_number(j, "peak_size", peak->bytes);
		json_number(j, "peak_count", peak->count);
		moment(a, j, "max_total_usage_first_seen_at", peak->at);
	} else {
		json_null(j, "max_total_usage_first_seen_at");
	}
	json_end_object(j);
}

/* What tells a group apart from the others of its kind. */
static void identity(struct answer *a, struct json *j, const struct groups *g,
		     const struct group *group)
{
	const struct threads *t = &g->view->model->tables.threads;
	struct buf label = { 0 };
	uint64_t low, high;

	groups_label(g, group, &label);
	json_text(j, "name", label.data ? label.data : "");
	buf_release(&label);
	switch (g->key->kind) {
	case GROUP_SOURCE:
		optional_text(j, "source", locations_string(g->view->locations, group->id));
		if (group->line)
			json_number(j, "line", group->line);
		return;
	case GROUP_THREAD:
		json_number(j, "thread", t->rows[group->id].tid);
		return;
	case GROUP_SIZE:
	case GROUP_SIZE_CLASS:
		group_size_bounds(g->key->kind, group->id, &low, &high);
		json_number(j, "from_size", low);
		json_number(j, "to_size", high);
		return;
	case GROUP_LIFETIME:
		json_number(j, "decade", group->id);
		json_bool(j, "leaked", group->id == GROUP_NEVER_FREED);
		return;
	default:
		return;
	}
}

void answer_group(struct answer *a, struct json *j, const struct groups *g,
		  const struct group *group)
{
	bool stacks = g->key->kind == GROUP_STACK;
	const struct stack_peak *peaks = stacks ? model_peaks(a->view->model) : NULL;

	if (!stacks)
		identity(a, j, g, group);
	sums(a, j, "all", &group->all, stacks ? &peaks[group->id] : NULL, stacks ? group : NULL);
	sums(a, j, "only_matched", &group->matched, NULL, stacks ? group : NULL);
	if (g->key->from_stack && !stacks)
		sums(a, j, "self", &group->self, NULL, NULL);
	if (stacks) {
		json_number(j, "backtrace_id", group->id);
		put_stack(a, j, "backtrace", group->id, group->call);
	}
}
