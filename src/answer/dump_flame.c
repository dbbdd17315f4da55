/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question dump_flame: a heap profile as a call tree in flat arrays, of the shape of the
 * question flame; also the difference of two dumps. */
#include <math.h>
#include <string.h>

#include "answer/dump_question.h"
#include "answer/flame_layout.h"
#include "base/xalloc.h"
#include "heap/report.h"

#define LIMIT_MAX 200000

struct answer_dump_flame {
	struct dump_question question;
	struct flame_layout layout;
	bool up;
};

/* One dump's stacks, while they become a tree. */
struct growing {
	struct flame_layout *f;
	const struct dump_question *q;
	const struct profile *p;
	unsigned side;
	bool up;
	double bytes, objects; /* of all stacks until now */
	uint32_t *names;       /* by frame of the locations, plus one; 0: not asked for yet */
};

/* Amounts are estimates with a part behind the point, boxes are whole.  Each stack gets what the
 * sum grows by: so that all together are the sum, and none is wrong by more than one. */
static uint64_t whole(double *sum, double amount)
{
	double before = floor(*sum);

	*sum += amount > 0 ? amount : 0;
	return (uint64_t)(floor(*sum) - before);
}

static uint32_t make_name(struct growing *g, const struct heap_location *location,
			  const struct heap_location_frame *frame)
{
	const struct strings *texts = &g->p->locations.texts;
	const char *file = strings_at(texts, frame->file);
	const char *module = location->module == HEAP_NO_MODULE
				     ? ""
				     : g->p->locations.modules[location->module].path;
	auto_free char *unnamed = profile_unnamed(g->p, location);
	auto_free char *address = NULL;
	const char *text = strings_at(texts, frame->function);
	enum flame_layout_kind kind = *text ? FLAME_LAYOUT_FUNCTION : FLAME_LAYOUT_ADDRESS;
	uint32_t line = 0;

	if (!*text)
		text = unnamed;
	switch (g->q->options.detail) {
	case PROFILE_LINES:
		line = frame->line;
		break;
	case PROFILE_FILES:
		if (*file)
			text = file;
		break;
	case PROFILE_ADDRESSES:
		if (kind == FLAME_LAYOUT_FUNCTION)
			text = address = xasprintf("%s %s", unnamed, text);
		break;
	case PROFILE_FUNCTIONS:
		break;
	}
	return flame_layout_name(g->f, kind, text, module, file, line);
}

static uint32_t name_of(struct growing *g, const struct heap_location *location, size_t frame)
{
	if (!g->names[frame])
		g->names[frame] = make_name(g, location, &g->p->locations.frames[frame]) + 1;
	return g->names[frame] - 1;
}

static void add_stack(struct growing *g, const struct profile_walk *w)
{
	struct weight weight = { whole(&g->bytes, heap_bytes(&w->amounts, g->q->measure)),
				 whole(&g->objects, heap_objects(&w->amounts, g->q->measure)) };
	uint32_t at = 0;

	if (!weight.bytes && !weight.count)
		return;
	flame_layout_weigh(g->f, at, g->side, &weight);
	if (g->q->options.by_thread)
		at = flame_layout_child(g->f, at,
					flame_layout_name(g->f, FLAME_LAYOUT_THREAD,
							  w->thread ? w->thread : "no thread", "",
							  "", 0));
	if (at)
		flame_layout_weigh(g->f, at, g->side, &weight);
	if (!w->count) {
		at = flame_layout_child(
			g->f, at,
			flame_layout_name(g->f, FLAME_LAYOUT_NO_STACK, "no stack", "", "", 0));
		flame_layout_weigh(g->f, at, g->side, &weight);
	}
	for (size_t i = 0; i < w->count; i++) {
		size_t k = g->up ? i : w->count - 1 - i;

		at = flame_layout_child(g->f, at, name_of(g, w->locations[k], w->frames[k]));
		flame_layout_weigh(g->f, at, g->side, &weight);
	}
	g->f->nodes[at].self[g->side].bytes += weight.bytes;
	g->f->nodes[at].self[g->side].count += weight.count;
}

static int add_dump(struct answer_dump_flame *ret, struct ask *a, const struct loaded_dump *d,
		    unsigned side)
{
	auto_release(profile_walk_release) struct profile_walk walk = { 0 };
	auto_release(profile_release) struct profile p = { 0 };
	struct growing g = { &ret->layout, &ret->question, &p, side, ret->up };
	int error = dump_question_ask(&ret->question, a, d, NULL, &p);

	g.names = xcalloc(p.locations.frame_count + 1, sizeof(*g.names));
	for (size_t i = 0; !error && i < p.sample_count; i++)
		if (profile_walk(&p, i, &walk))
			add_stack(&g, &walk);
	free(g.names);
	return error;
}

static int dump_flame_compute(struct ask *a, void *answer)
{
	struct answer_dump_flame *ret = answer;
	struct dump_question *q = &ret->question;
	struct flame_layout *f = &ret->layout;
	int error = dump_question_init(q, a);

	q->options.by_thread = ask_bool(a, "threads");
	ret->up = !strcmp(ask_text(a, "direction"), "up");
	flame_layout_init(f, heap_counts_objects(q->measure));
	flame_layout_child(f, 0, flame_layout_name(f, FLAME_LAYOUT_ROOT, "all", "", "", 0));
	if (!error)
		error = add_dump(ret, a, a->snapshot->heap, 0);
	if (!error && q->base)
		error = add_dump(ret, a, q->base->heap, 1);
	if (!error)
		flame_layout_order(f, ask_count(a, "limit"));
	return error;
}

static void dump_flame_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_dump_flame *f = answer;

	dump_question_json(j, &f->question, "against");
	json_text(j, "weight", f->layout.by_count ? "count" : "bytes");
	json_text(j, "direction", f->up ? "up" : "down");
	json_bool(j, "threads", f->question.options.by_thread);
	flame_layout_total(j, &f->layout, f->question.base != NULL);
	flame_layout_json(j, &f->layout, f->question.base != NULL, out);
}

static void dump_flame_drop(void *answer)
{
	struct answer_dump_flame *f = answer;

	flame_layout_release(&f->layout);
	dump_question_release(&f->question);
}

static const struct param_row params[] = {
	PARAMS_DUMP,
	{ "direction", PARAM_CHOICE, "down",
	  "down: from where threads start; up: from the innermost functions", .values = "down|up" },
	{ "threads", PARAM_BOOL, "false", "the first level are threads" },
	{ "limit", PARAM_COUNT, "20000", "nodes at most, the lightest are summed",
	  .max = LIMIT_MAX },
	{ 0 },
};

const struct question question_dump_flame = {
	.name = "dump_flame",
	.path = "flame",
	.help = "a heap profile as a call tree, for drawing",
	.kind = "heap",
	.params = params,
	.size = sizeof(struct answer_dump_flame),
	.compute = dump_flame_compute,
	.write_members = dump_flame_json,
	.release = dump_flame_drop,
};
