/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Profiles as trees.  See heap_flame.h. */
#include "heap/heap_flame.h"

#include <math.h>

#include "base/buf_text.h"
#include "base/xalloc.h"

/* The number of a name: behind all of them there is one for stacks without a frame. */
static void describe(const void *context, uint32_t function, struct buf *name,
		     struct flame_source *ret)
{
	const struct profile *p = context;

	if (function >= strings_count(&p->names)) {
		buf_text(name, "(no stack)");
		return;
	}
	buf_text(name, strings_at(&p->names, function));
	if (function >= p->origin_room || !p->origins[function].module)
		return;
	*ret = (struct flame_source){
		.module = p->origins[function].module,
		.file = strings_at(&p->locations.texts, p->origins[function].file),
		.first = p->origins[function].first,
		.last = p->origins[function].last,
	};
}

/* A running sum, in steps of whole numbers. */
struct steps {
	double sum;
	uint64_t given;
};

static uint64_t step_of(struct steps *s, double value)
{
	uint64_t before = s->given;

	s->sum += value;
	s->given = (uint64_t)trunc(fmin(s->sum, 0x1p62));
	return s->given - before;
}

/* What is more and what is less are summed up apart. */
struct sums {
	struct steps more_bytes, more_count, less_bytes, less_count;
};

static struct flame_change change_of(struct sums *s, double bytes, double count)
{
	return (struct flame_change){
		bytes < 0 ? -(int64_t)step_of(&s->less_bytes, -bytes)
			  : (int64_t)step_of(&s->more_bytes, bytes),
		count < 0 ? -(int64_t)step_of(&s->less_count, -count)
			  : (int64_t)step_of(&s->more_count, count),
	};
}

static uint32_t node_of(struct heap_flame *f, const struct profile_stack *s)
{
	uint32_t at = FLAME_ROOT;

	for (size_t k = s->frame_count; k-- > 0;)
		at = flame_tree_child(&f->tree, at, f->profile->frames[s->frame + k]);
	return s->frame_count ? at
			      : flame_tree_child(&f->tree, at, strings_count(&f->profile->names));
}

static double part_of(double value, enum heap_part part)
{
	switch (part) {
	case HEAP_LESS:
		return value < 0 ? -value : 0;
	case HEAP_CHANGED:
		return value;
	case HEAP_WHOLE:
	case HEAP_MORE:
		break;
	}
	return value > 0 ? value : 0;
}

void heap_flame_amounts(const struct heap_flame_measure *m, const struct profile_stack *s,
			double *bytes, double *count)
{
	*bytes = part_of(heap_bytes(&s->amounts, m->measure), m->part);
	*count = part_of(heap_objects(&s->amounts, m->measure), m->part);
}

static void add_measure(struct heap_flame *f, const uint32_t *nodes, unsigned number,
			const struct heap_flame_measure *m)
{
	const struct profile *p = f->profile;
	struct sums sums = { 0 };

	for (size_t i = 0; i < p->stack_count; i++) {
		double bytes, count;
		struct flame_change c;

		heap_flame_amounts(m, &p->stacks[i], &bytes, &count);
		c = change_of(&sums, bytes, count);
		flame_tree_add(&f->tree, nodes[i], number, (uint64_t)llabs(c.bytes),
			       (uint64_t)llabs(c.count));
		if (f->changes && !number) {
			f->changes[nodes[i]].bytes += c.bytes;
			f->changes[nodes[i]].count += c.count;
		}
	}
}

/* Stacks of which nothing counts are not in the tree. */
static bool counts(const struct profile_stack *s, const struct heap_flame_measure *measures,
		   unsigned count)
{
	for (unsigned m = 0; m < count; m++) {
		double bytes, objects;

		heap_flame_amounts(&measures[m], s, &bytes, &objects);
		if (bytes != 0 || objects != 0)
			return true;
	}
	return false;
}

void heap_flame_init(struct heap_flame *f, const struct profile *p,
		     const struct heap_flame_measure *measures, unsigned count)
{
	auto_free uint32_t *nodes = xcalloc(p->stack_count + 1, sizeof(*nodes));

	*f = (struct heap_flame){ .profile = p };
	f->names = (struct flame_names){ p, strings_count(&p->names) + 1, describe };
	flame_tree_init(&f->tree, count);
	for (size_t i = 0; i < p->stack_count; i++)
		if (counts(&p->stacks[i], measures, count))
			nodes[i] = node_of(f, &p->stacks[i]);
	if (measures[0].part == HEAP_CHANGED)
		f->changes = xcalloc(f->tree.count, sizeof(*f->changes));
	for (unsigned m = 0; m < count; m++)
		add_measure(f, nodes, m, &measures[m]);
	for (size_t i = f->tree.count; f->changes && --i > 0;) {
		f->changes[f->tree.nodes[i].parent].bytes += f->changes[i].bytes;
		f->changes[f->tree.nodes[i].parent].count += f->changes[i].count;
	}
	flame_tree_sum(&f->tree);
}

void heap_flame_release(struct heap_flame *f)
{
	flame_tree_release(&f->tree);
	free(f->changes);
}
