/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A join as JSON and as CSV, and who holds a class.  See join.h.
 *
 * What is in no stack of the dump gets rows of its own in CSV, so that columns add up to what the
 * statistics say. */
#include <inttypes.h>
#include <math.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/csv.h"
#include "base/order.h"
#include "heap/join.h"

size_t join_holders(const struct join *j, const struct join_class *c,
		    struct join_holder ret[JOIN_HOLDERS])
{
	double all = fmax((double)c->live, c->seen);
	size_t count = 0;

	for (size_t i = 0; i < c->part_count; i++) {
		const struct join_part *part = &j->parts[j->by_class[c->first + i]];
		const struct profile_stack *k = &j->profile->stacks[part->stack];
		uint32_t name = k->frame_count ? j->profile->frames[k->frame] : 0;
		size_t at = 0;

		while (at < count && ret[at].name != name)
			at++;
		if (at == JOIN_HOLDERS)
			break; /* the largest come first */
		if (at == count)
			ret[count++] = (struct join_holder){ .name = name };
		if (all > 0)
			ret[at].percent += (part->objects - part->sampled) / all * 100;
	}
	for (size_t i = 1; i < count; i++) {
		struct join_holder moved = ret[i];
		size_t to = i;

		for (; to && ret[to - 1].percent < moved.percent; to--)
			ret[to] = ret[to - 1];
		ret[to] = moved;
	}
	return count;
}

static void write_part(struct json *json, const struct join_part *p, const struct join_class *of)
{
	json_real(json, "live_objects", p->objects, 2);
	if (of)
		json_real(json, "live_bytes", p->objects * (double)of->size, 2);
	json_real(json, "unused_bytes", p->unused, 2);
	json_end_object(json);
}

static void write_stack(struct json *json, const struct join *j, const struct join_stack *k)
{
	profile_write_frames(json, j->profile, k->stack);
	json_real(json, "live_objects", k->objects, 2);
	json_real(json, "live_bytes", k->bytes, 2);
	json_real(json, "unused_bytes", k->unused, 2);
	json_bool(json, "mixed", k->mixed);
	json_array(json, "classes");
	for (size_t n = k->first; n < k->first + k->part_count; n++) {
		json_object(json, NULL);
		json_number(json, "size", j->classes[j->parts[n].class].size);
		write_part(json, &j->parts[n], &j->classes[j->parts[n].class]);
	}
	json_end_array(json);
}

static void write_class(struct json *json, const struct join *j, const struct join_class *c,
			uint64_t top)
{
	json_object(json, NULL);
	JSON_MEMBERS(json, c, size, large, regions, live);
	json_signed(json, "unused_bytes", c->unused);
	json_real(json, "seen", c->seen, 2);
	json_real(json, "sampled", c->sampled, 2);
	json_real(json, "in_stacks", c->charged, 2);
	json_real(json, "in_no_stack", (double)c->unused - c->charged, 2);
	JSON_EACH(json, "stacks", n, MIN(c->part_count, top)) {
		const struct join_part *p = &j->parts[j->by_class[c->first + n]];

		json_object(json, NULL);
		profile_write_frames(json, j->profile, p->stack);
		write_part(json, p, NULL);
	}
	json_end_object(json);
}

void join_write_json(struct json *json, const struct join *j, uint64_t top)
{
	static const struct {
		const char *name;
		enum waterfall_step step;
	} steps[] = { { "slabs", WATERFALL_SLABS },
		      { "large_padding", WATERFALL_PADDING },
		      { "sampled_pages", WATERFALL_SAMPLED_PAGES },
		      { "unexplained", WATERFALL_UNKNOWN },
		      { "tcache", WATERFALL_TCACHE } };
	const struct waterfall *w = &j->waterfall;

	json_object(json, NULL);
	json_text(json, "version", j->stats->version);
	json_number(json, "sample_interval", j->profile->rate);
	if (w->active < STATS_NONE)
		json_number(json, "active", w->active);
	if (w->allocated < STATS_NONE)
		json_number(json, "allocated", w->allocated);
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		json_signed(json, steps[i].name, w->step[steps[i].step]);
	json_signed(json, "unused", j->unused);
	json_real(json, "in_stacks", j->charged, 2);
	json_real(json, "in_no_stack", (double)j->unused - j->charged, 2);
	json_real(json, "live_bytes", j->profile->total.bytes, 2);
	json_real(json, "mixed_bytes", j->mixed, 2);
	json_real(json, "profiling_bytes", j->sampled, 2);
	JSON_ROWS(json, "stacks", i, MIN(j->stack_count, top))
		write_stack(json, j, &j->stacks[i]);
	JSON_EACH(json, "classes", i, j->class_count) {
		const struct join_class *c = &j->classes[i];

		if (c->live || c->regions || c->seen > 0)
			write_class(json, j, c, top);
	}
	json_end_object(json);
}

void join_write_csv(struct buf *out, const struct join *j, uint64_t top)
{
	auto_buf struct buf line = { 0 };

	buf_text(out, "class,large,live_objects,live_bytes,unused_bytes,stack\n");
	for (size_t i = 0; i < j->class_count; i++) {
		const struct join_class *c = &j->classes[i];
		double left = fmax((double)c->live - c->seen, 0);

		for (size_t n = 0; n < c->part_count && n < top; n++) {
			const struct join_part *p = &j->parts[j->by_class[c->first + n]];

			buf_printf(out, "%" PRIu64 ",%d,%.2f,%.2f,%.2f", c->size, c->large,
				   p->objects, p->objects * (double)c->size, p->unused);
			buf_clear(&line);
			profile_put_stack(&line, j->profile, p->stack, SIZE_MAX);
			csv_cell(out, line.data);
			csv_end(out);
		}
		if (c->live || c->unused)
			buf_printf(out, "%" PRIu64 ",%d,%.2f,%.2f,%.2f,\n", c->size, c->large, left,
				   left * (double)c->size, (double)c->unused - c->charged);
	}
}
