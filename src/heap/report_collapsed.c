/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Collapsed stacks: "outermost;…;innermost WEIGHT", a line each, for flame graphs.
 *
 * Readers cut a line at its last blank and a stack at each ';': one in a name becomes ':'.
 *
 * Weights are whole and those of jeprof, which has a line for each stack of addresses, cuts each to
 * a whole number, and leaves it to readers to add up lines with the same names.  Here such lines
 * are one with the sum. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/map.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

/* Samples that have the same locations once the allocator's are cut off. */
struct address_stack {
	size_t stack; /* of the profile */
	struct dump_amounts amounts;
};

static uint64_t hash_of_locations(const struct profile_walk *w, size_t stack)
{
	uint64_t h = stack;

	for (size_t i = 0; i < w->count; i++)
		h = (h << 5 ^ h >> 59 ^ (uintptr_t)w->locations[i]) * 0x9e3779b97f4a7c15ull;
	return h;
}

/* For each of the profile's stacks: the weights of its address stacks, added up.  The caller frees
 * it. */
static uint64_t *weigh_stacks(const struct profile *p, enum heap_measure measure)
{
	uint64_t *weights = xcalloc(p->stack_count + 1, sizeof(*weights)), at;
	auto_free struct address_stack *stacks = NULL;
	size_t count = 0, room = 0;
	auto_release(profile_walk_release) struct profile_walk w = { 0 };
	auto_release(map_release) struct map known = { 0 };

	for (size_t i = 0; i < p->sample_count; i++) {
		size_t stack = profile_stack_of(p, i);

		if (!profile_walk(p, i, &w))
			continue;
		if (map_number(&known, hash_of_locations(&w, stack), &at))
			*xpush(stacks, count, room) = (struct address_stack){ .stack = stack };
		dump_amounts_add(&stacks[at].amounts, &w.amounts, 1);
	}
	for (size_t i = 0; i < count; i++) {
		double weight = heap_amount(&stacks[i].amounts, measure);

		if (weight > 0)
			weights[stacks[i].stack] += (uint64_t)fmin(weight, 0x1p62);
	}
	return weights;
}

static void put_name(struct buf *out, const char *name)
{
	size_t start = out->size;

	buf_printable(out, name, strlen(name));
	for (size_t i = start; i < out->size; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
	if (out->size > start && out->data[start] == '#')
		out->data[start] = '_';
}

static int write_collapsed(const struct profile *p, const struct heap_report_options *o,
			   struct sink *out, struct err *err)
{
	auto_free uint64_t *weights = weigh_stacks(p, o->measure);

	for (size_t i = 0; i < p->stack_count && !sink_turn(out); i++) {
		const struct profile_stack *s = &p->stacks[i];

		if (!weights[i])
			continue;
		if (!s->frame_count)
			buf_text(&out->buf, "(no stack)");
		for (size_t k = s->frame_count; k-- > 0;) {
			put_name(&out->buf, strings_at(&p->names, p->frames[s->frame + k]));
			if (k)
				buf_char(&out->buf, ';');
		}
		buf_printf(&out->buf, " %" PRIu64 "\n", weights[i]);
	}
	return out->error;
}

const struct heap_report heap_report_collapsed = {
	.name = "collapsed",
	.help = "collapsed stacks, one line each with its weight",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.write = write_collapsed,
};
