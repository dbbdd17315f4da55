/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /dumps/{id}/flame: a heap profile as a call tree in flat arrays, of the shape of
 * /data/{id}/flame; also the difference of two dumps. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer/flame_layout.h"
#include "base/xalloc.h"
#include "server/dump_question.h"

#define LIMIT_MAX 200000

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

/* One dump's stacks. */
static int add_dump(struct growing *g, struct request *r, const struct loaded_dump *d)
{
	struct profile_walk walk = { 0 };
	struct profile p;
	int error = dump_question_ask(g->q, r, d, NULL, &p);

	g->p = &p;
	g->bytes = g->objects = 0;
	g->names = xcalloc(p.locations.frame_count + 1, sizeof(*g->names));
	for (size_t i = 0; !error && i < p.sample_count; i++)
		if (profile_walk(&p, i, &walk))
			add_stack(g, &walk);
	profile_walk_release(&walk);
	free(g->names);
	profile_release(&p);
	return error;
}

static void write_flame(struct request *r, struct sink *out, const struct growing *g)
{
	const struct flame_layout_node *root = &g->f->nodes[0];
	struct json j;

	request_json(&j, out);
	json_object(&j, NULL);
	dump_question_json(&j, g->q, "against");
	json_text(&j, "weight", g->f->by_count ? "count" : "bytes");
	json_text(&j, "direction", g->up ? "up" : "down");
	json_bool(&j, "threads", g->q->options.by_thread);
	json_object(&j, "total");
	json_number(&j, "bytes", root->total[0].bytes);
	json_number(&j, "count", root->total[0].count);
	if (g->q->base) {
		json_number(&j, "before_bytes", root->total[1].bytes);
		json_number(&j, "before_count", root->total[1].count);
	}
	json_end_object(&j);
	flame_layout_json(&j, g->f, g->q->base != NULL, out);
	json_end_object(&j);
}

static int answer(struct request *r, struct sink *out)
{
	struct dump_question q;
	struct flame_layout f;
	struct growing g = { .f = &f,
			     .q = &q,
			     .up = !strcmp(ask_text(&r->ask, "direction"), "up") };
	int error = dump_question_init(&q, r);

	q.options.by_thread = ask_bool(&r->ask, "threads");
	flame_layout_init(&f, q.measure == HEAP_INUSE_OBJECTS || q.measure == HEAP_ALLOC_OBJECTS);
	flame_layout_child(&f, 0, flame_layout_name(&f, FLAME_LAYOUT_ROOT, "all", "", "", 0));
	if (!error)
		error = add_dump(&g, r, r->ask.snapshot->heap);
	if (!error && q.base) {
		g.side = 1;
		error = add_dump(&g, r, q.base->heap);
	}
	if (!error) {
		flame_layout_order(&f, ask_count(&r->ask, "limit"));
		write_flame(r, out, &g);
	}
	flame_layout_release(&f);
	dump_question_release(&q);
	return error;
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

const struct route routes_dump_flame[] = {
	{ "/dumps/{id}/flame", METHOD_GET, "a heap profile as a call tree, for drawing",
	  .kind = "heap", .params = params, .answer = answer },
	{ 0 },
};
