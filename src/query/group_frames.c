/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sums of stacks handed on to the functions, lines or modules that they go through.
 *
 * Every location gets the list of its groups once.  Then the trie is walked (nested.h): a node's
 * sums are those of its stack and of all inside it, and when it is left they are added to the
 * groups of which it is the outermost. */
#include "query/group_frames.h"

#include <string.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/nested.h"
#include "query/responsible.h"

struct location_groups {
	uint32_t first, count; /* in `lists`; the innermost frame's first */
	bool known;
};

/* A node while the walk is inside it. */
struct level {
	struct summary_sums all, matched; /* of what was left inside it */
};

struct spreading {
	struct groups *out;
	size_t room;
	struct locations *p;
	struct map ids; /* what a group is, to its position plus one */
	struct location_groups *locations;
	uint32_t *lists;
	size_t list_count, list_room;
	const struct responsible *responsible;
	uint32_t *within; /* by group: how many frames of it the walk is inside */
	size_t within_room;
	const struct summary *sum;
	const struct summary_sums *matched; /* by row of it */
	struct level *path;		    /* the nodes that the walk is inside, outermost first */
	size_t depth, path_room;
};

static uint32_t group_of(struct spreading *s, struct group what)
{
	uint64_t key = (uint64_t)what.id << 32 | what.line, position;

	if (!what.id && s->out->key->kind != GROUP_MODULE)
		key = (uint64_t)UINT32_MAX << 32 | what.module;
	if (map_number(&s->ids, key, &position)) {
		s->within = xgrow(s->within, s->out->count, &s->within_room, sizeof(*s->within));
		s->within[s->out->count] = 0;
		what.matched = what.self = what.all = SUMMARY_NOTHING;
		*xpush(s->out->rows, s->out->count, s->room) = what;
	}
	return (uint32_t)position;
}

static struct group what_of(const struct spreading *s, const struct location *at,
			    const struct location_frame *f)
{
	uint32_t function = f->function ? f->function : f->raw_function;

	switch (s->out->key->kind) {
	case GROUP_FUNCTION:
		return (struct group){ .id = function, .module = function ? 0 : at->module };
	case GROUP_SOURCE:
		return (struct group){ .id = f->file,
				       .line = f->file ? f->line : 0,
				       .module = f->file ? 0 : at->module };
	default:
		return (struct group){ .id = at->module };
	}
}

static struct location_groups *groups_of_location(struct spreading *s, uint32_t location)
{
	struct location_groups *g = &s->locations[location];
	const struct location_frame *f;
	const struct location *at;
	unsigned count;

	if (g->known)
		return g;
	at = locations_at(s->p, location);
	f = locations_frames(s->p, location, &count);
	*g = (struct location_groups){ .first = (uint32_t)s->list_count,
				       .count = count,
				       .known = true };
	for (unsigned i = 0; i < count; i++) {
		uint32_t id = group_of(s, what_of(s, at, &f[i]));

		*xpush(s->lists, s->list_count, s->list_room) = id;
	}
	return g;
}

static void enter_node(void *context, uint32_t node)
{
	struct spreading *s = context;
	struct location_groups *g = groups_of_location(s, locations_of_node(s->p, node));
	struct level here = { .all = SUMMARY_NOTHING, .matched = SUMMARY_NOTHING };

	for (uint32_t i = 0; i < g->count; i++)
		s->within[s->lists[g->first + i]]++;
	*xpush(s->path, s->depth, s->path_room) = here;
}

static void add_to_group(struct group *to, const struct level *from)
{
	summary_add(&to->matched, &from->matched);
	summary_add(&to->all, &from->all);
}

/* The group of a stack's responsible frame, which is of the node or outside it. */
static uint32_t self_of(struct spreading *s, uint32_t stack)
{
	struct responsible_frame f;

	responsible_find(s->responsible, stack, &f);
	return s->lists[groups_of_location(s, f.location)->first + f.index];
}

static void leave_node(void *context, uint32_t node)
{
	struct spreading *s = context;
	struct location_groups *g = &s->locations[locations_of_node(s->p, node)];
	struct level *here = &s->path[--s->depth];
	uint32_t row = summary_row_of(s->sum, node);

	if (row != NO_SUMMARY && s->sum->rows[row].stack == node) {
		summary_add(&here->all, &s->sum->rows[row].sums);
		summary_add(&here->matched, &s->matched[row]);
		summary_add(&s->out->rows[self_of(s, node)].self, &s->matched[row]);
	}
	for (uint32_t i = 0; i < g->count; i++)
		if (!--s->within[s->lists[g->first + i]])
			add_to_group(&s->out->rows[s->lists[g->first + i]], here);
	if (s->depth) {
		summary_add(&here[-1].all, &here->all);
		summary_add(&here[-1].matched, &here->matched);
	}
}

/* What was recorded without a stack is a group of its own. */
static void add_without_stack(struct spreading *s, const struct nodes *nodes)
{
	for (uint32_t i = 0; i < s->sum->count; i++) {
		struct level all = { .all = s->sum->rows[i].sums, .matched = s->matched[i] };
		uint32_t group;

		if (node_is_known(nodes, s->sum->rows[i].stack))
			continue;
		group = group_of(s, (struct group){ .module = 0 });
		add_to_group(&s->out->rows[group], &all);
		summary_add(&s->out->rows[group].self, &s->matched[i]);
	}
}

static void keep_matched(struct groups *out)
{
	uint32_t remaining = 0;

	for (uint32_t i = 0; i < out->count; i++)
		if (out->rows[i].matched.count)
			out->rows[remaining++] = out->rows[i];
	out->count = remaining;
}

/* Every stack belongs to one group: what has no name is told apart by its place. */
static void group_responsible(struct groups *out, const struct summary *sum,
			      const struct summary_sums *matched)
{
	const struct responsible *r = responsible_of_view(out->view);
	auto_free uint32_t *position = xcalloc(responsible_units(r), sizeof(*position));
	size_t room = 0;

	for (uint32_t i = 0; i < sum->count; i++) {
		struct responsible_frame f;
		uint32_t unit = 0;
		struct group *g;

		if (responsible_find(r, sum->rows[i].stack, &f))
			unit = responsible_unit(r, &f);
		if (!position[unit]) {
			out->rows = xgrow(out->rows, out->count, &room, sizeof(*out->rows));
			out->rows[out->count] = (struct group){
				.id = responsible_unit_function(r, unit),
				.line = responsible_unit_location(r, unit),
				.matched = SUMMARY_NOTHING,
				.self = SUMMARY_NOTHING,
				.all = SUMMARY_NOTHING,
			};
			position[unit] = ++out->count;
		}
		g = &out->rows[position[unit] - 1];
		summary_add(&g->matched, &matched[i]);
		summary_add(&g->self, &matched[i]);
		summary_add(&g->all, &sum->rows[i].sums);
	}
}

void group_frames(struct groups *out, const struct summary *sum, const struct summary_sums *matched)
{
	const struct nodes *nodes = &out->view->model->tables.nodes;
	struct spreading s = {
		.out = out, .p = out->view->locations, .sum = sum, .matched = matched
	};

	if (out->key->kind == GROUP_RESPONSIBLE) {
		group_responsible(out, sum, matched);
		keep_matched(out);
		return;
	}
	locations_resolve_all(s.p);
	s.locations = xcalloc(locations_count(s.p) + 1, sizeof(*s.locations));
	s.responsible = responsible_of_view(out->view);
	nested_walk(nodes, &(struct nested_visitor){ enter_node, leave_node, &s });
	add_without_stack(&s, nodes);
	keep_matched(out);
	map_release(&s.ids);
	free(s.locations);
	free(s.lists);
	free(s.within);
	free(s.path);
}
