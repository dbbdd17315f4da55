/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Responsible frames.  See responsible.h. */
#include "query/responsible.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/condition.h"
#include "query/steps.h"
#include "query/user_rules.h"
#include "query/wrappers.h"

static uint32_t function_of(const struct location_frame *f)
{
	return f->function ? f->function : f->raw_function;
}

/* What the rules say; the user's come first. */
struct judging {
	const struct frame_rules *rules[2];
	uint8_t *of_function, *of_source, *of_module; /* a kind plus one; 0: not looked at */
};

static enum frame_kind kind_of_function(struct judging *g, const struct responsible *r,
					const struct location_frame *f)
{
	uint32_t function = function_of(f);
	uint8_t *known = &g->of_function[function];
	enum frame_kind kind = FRAME_KINDS;

	if (!function)
		return FRAME_KINDS;
	for (unsigned i = 0; !*known && i < 2 && kind == FRAME_KINDS; i++)
		if (g->rules[i])
			kind = frame_kind_of_function(
				g->rules[i], locations_string(r->locations, function),
				locations_string(r->locations, f->raw_function));
	if (!*known)
		*known = (uint8_t)(kind + 1);
	return (enum frame_kind)(*known - 1);
}

/* By the path of a source file or of a module. */
static enum frame_kind kind_of_path(struct judging *g, uint8_t *known, const char *path,
				    enum frame_kind (*judge)(const struct frame_rules *r,
							     const char *path))
{
	enum frame_kind kind = FRAME_KINDS;

	for (unsigned i = 0; !*known && i < 2 && kind == FRAME_KINDS; i++)
		if (g->rules[i])
			kind = judge(g->rules[i], path);
	if (!*known)
		*known = (uint8_t)(kind + 1);
	return (enum frame_kind)(*known - 1);
}

static enum frame_kind kind_of_frame(struct judging *g, const struct responsible *r,
				     const struct location *at, const struct location_frame *f)
{
	enum frame_kind kind = kind_of_function(g, r, f);

	if (kind == FRAME_KINDS && f->file)
		kind = kind_of_path(g, &g->of_source[f->file],
				    locations_string(r->locations, f->file), frame_kind_of_source);
	if (kind == FRAME_KINDS && at->module)
		kind = kind_of_path(g, &g->of_module[at->module],
				    locations_module_path(r->locations, at->module),
				    frame_kind_of_module);
	return kind;
}

static void judge_frames(struct responsible *r, const struct frame_rules *user)
{
	struct locations *p = r->locations;
	struct judging g = {
		.rules = { user, frame_rules() },
		.of_function = xcalloc((size_t)locations_string_count(p) + 1, 1),
		.of_source = xcalloc((size_t)locations_string_count(p) + 1, 1),
		.of_module = xcalloc(r->model->tables.module_count + 1, 1),
	};

	for (uint32_t i = 0; i < locations_count(p); i++) {
		const struct location *at = locations_at(p, i);
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++) {
			enum frame_kind kind = kind_of_frame(&g, r, at, &f[k]);

			r->told[at->first_frame + k] = kind == FRAME_PROGRAM;
			r->kinds[at->first_frame + k] =
				(uint8_t)(kind == FRAME_KINDS ? FRAME_PROGRAM : kind);
		}
	}
	free(g.of_function);
	free(g.of_source);
	free(g.of_module);
}

static enum frame_kind kind_at(const struct responsible *r, uint32_t location)
{
	return responsible_kind(r, location, r->index_of_location[location]);
}

void responsible_choose(struct responsible *r)
{
	const struct nodes *nodes = &r->model->tables.nodes;
	struct locations *p = r->locations;

	for (uint32_t i = 0; i < locations_count(p); i++) {
		unsigned count, best = 0;

		locations_frames(p, i, &count);
		for (unsigned k = 1; k < count; k++)
			if (responsible_kind(r, i, k) > responsible_kind(r, i, best))
				best = k;
		r->index_of_location[i] = (uint8_t)best;
	}
	/* A node's number is larger than its caller's. */
	for (uint32_t i = 1; i < nodes->count; i++) {
		uint32_t own, outer = nodes->parent[i];

		if (!node_is_known(nodes, i))
			continue;
		own = r->location_of_node[i] = locations_of_node(p, i);
		if (node_is_known(nodes, outer) &&
		    kind_at(r, r->location_of_node[outer]) > kind_at(r, own))
			r->location_of_node[i] = r->location_of_node[outer];
	}
}

/* What the user hides is hidden whatever the rules say, but the allocator stays one; what is the
 * user's own is so whatever else is said. */
static int mark_frames(struct responsible *r, const struct condition *which, enum frame_kind kind,
		       struct err *err)
{
	auto_free uint8_t *matches = xcalloc((size_t)locations_frame_count(r->locations) + 1, 1);
	int error = which ? frames_match(r->model, r->locations, which, matches, err) : 0;

	for (uint32_t i = 0; !error && i < locations_frame_count(r->locations); i++)
		if (matches[i] && (kind == FRAME_PROGRAM || r->kinds[i] > kind)) {
			r->kinds[i] = (uint8_t)kind;
			r->told[i] = kind == FRAME_PROGRAM;
		}
	return error;
}

static void find_wrappers(struct responsible *r)
{
	const struct summary *sum = model_summary(r->model);
	auto_free struct stack_traffic *rows = xcalloc((size_t)sum->count + 1, sizeof(*rows));

	for (uint32_t i = 0; i < sum->count; i++) {
		const struct summary_sums *s = &sum->rows[i].sums;

		rows[i] = (struct stack_traffic){ sum->rows[i].stack, s->count, s->min_size,
						  s->max_size };
	}
	wrappers_find(r, rows, sum->count);
}

/* By the rules alone. */
static struct responsible *judged(const struct model *m, struct locations *p)
{
	struct responsible *r = xcalloc(1, sizeof(*r));
	struct frame_rules *user;

	locations_resolve_all(p);
	r->model = m;
	r->locations = p;
	r->kinds = xcalloc((size_t)locations_frame_count(p) + 1, 1);
	r->told = xcalloc((size_t)locations_frame_count(p) + 1, 1);
	r->index_of_location = xcalloc((size_t)locations_count(p) + 1, 1);
	r->location_of_node =
		xcalloc((size_t)m->tables.nodes.count + 1, sizeof(*r->location_of_node));
	user = user_rules_read(NULL); /* ask_view() has said what is wrong with them */
	judge_frames(r, user);
	frame_rules_free(user);
	return r;
}

struct responsible *responsible_new(const struct model *m, struct locations *p,
				    const struct filter *f, struct err *err)
{
	struct responsible *r = judged(m, p);

	if (f && (mark_frames(r, f->hidden, FRAME_HIDDEN, err) ||
		  mark_frames(r, f->own, FRAME_PROGRAM, err)))
		return responsible_free(r);
	responsible_choose(r);
	find_wrappers(r);
	return r;
}

struct responsible *responsible_so_far(const struct model *m, struct locations *p,
				       const struct stack_traffic *rows, size_t count)
{
	struct responsible *r = judged(m, p);

	responsible_choose(r);
	wrappers_find(r, rows, count);
	return r;
}

struct responsible *responsible_untold(const struct model *m, struct locations *p)
{
	struct responsible *r = xcalloc(1, sizeof(*r));

	r->model = m;
	r->locations = p;
	return r;
}

void responsible_tell(struct responsible *r, const uint8_t *kinds)
{
	struct locations *p = r->locations;

	free(r->kinds);
	free(r->told);
	free(r->index_of_location);
	free(r->location_of_node);
	r->kinds = xcalloc((size_t)locations_frame_count(p) + 1, 1);
	r->told = xcalloc((size_t)locations_frame_count(p) + 1, 1);
	r->index_of_location = xcalloc((size_t)locations_count(p) + 1, 1);
	r->location_of_node =
		xcalloc((size_t)r->model->tables.nodes.count + 1, sizeof(*r->location_of_node));
	for (uint32_t i = 0; i < locations_count(p); i++)
		r->kinds[locations_at(p, i)->first_frame] = kinds[i];
	responsible_choose(r);
}

struct responsible *responsible_free(struct responsible *r)
{
	if (!r)
		return NULL;
	free(r->kinds);
	free(r->told);
	free(r->index_of_location);
	free(r->location_of_node);
	free(r);
	return NULL;
}

static void release_derived(struct locations_derived *d)
{
	responsible_free((struct responsible *)d);
}

static struct locations_derived *make_derived(const struct model *m, struct locations *p)
{
	struct responsible *r = responsible_new(m, p, NULL, NULL);

	r->derived.release = release_derived;
	return &r->derived;
}

const struct responsible *responsible_of_view(const struct view *v)
{
	if (v->responsible)
		return v->responsible;
	return (const struct responsible *)locations_derived(v->locations, make_derived);
}

enum frame_kind responsible_kind(const struct responsible *r, uint32_t location, unsigned index)
{
	return (enum frame_kind)r->kinds[locations_at(r->locations, location)->first_frame + index];
}

bool responsible_is_told(const struct responsible *r, const struct responsible_frame *f)
{
	return r->told[locations_at(r->locations, f->location)->first_frame + f->index];
}

bool responsible_find(const struct responsible *r, uint32_t stack, struct responsible_frame *ret)
{
	if (!node_is_known(&r->model->tables.nodes, stack))
		return false;
	ret->location = r->location_of_node[stack];
	ret->index = r->index_of_location[ret->location];
	ret->kind = kind_at(r, ret->location);
	return true;
}

void responsible_name(const struct responsible *r, const struct responsible_frame *f,
		      struct buf *out)
{
	const struct location *at = locations_at(r->locations, f->location);
	unsigned count;
	const struct location_frame *frames = locations_frames(r->locations, f->location, &count);
	uint32_t function = function_of(&frames[f->index]);

	if (function)
		buf_text(out, locations_string(r->locations, function));
	else
		locations_unnamed(r->locations, at->module, at->address, out);
}

unsigned responsible_depth(const struct responsible *r, uint32_t stack)
{
	const struct nodes *nodes = &r->model->tables.nodes;
	struct responsible_frame f;
	unsigned depth = 0;

	if (!responsible_find(r, stack, &f))
		return 0;
	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(r->locations, id);
		unsigned count;

		if (location == f.location)
			return depth + f.index;
		locations_frames(r->locations, location, &count);
		depth += count;
	}
	return depth;
}

uint32_t responsible_unit(const struct responsible *r, const struct responsible_frame *f)
{
	unsigned count;
	const struct location_frame *frames = locations_frames(r->locations, f->location, &count);
	uint32_t function = function_of(&frames[f->index]);

	return function ? function : locations_string_count(r->locations) + f->location;
}

uint32_t responsible_units(const struct responsible *r)
{
	return locations_string_count(r->locations) + locations_count(r->locations) + 1;
}

uint32_t responsible_unit_function(const struct responsible *r, uint32_t unit)
{
	return unit < locations_string_count(r->locations) ? unit : 0;
}

uint32_t responsible_unit_location(const struct responsible *r, uint32_t unit)
{
	uint32_t strings = locations_string_count(r->locations);

	return unit < strings ? 0 : unit - strings;
}
