/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Encoding a recording anew.  See repack.h.
 *
 * Chunks stay what they are, with their horizons: two of them put together could bring events of
 * different rings with one stamp into another order. */
#include "rewrite/repack.h"

#include <string.h>

struct repacking {
	struct output *output;
	struct repack_result *result;
};

static void copy_events(struct output *o, const struct source_events *e)
{
	const struct event *at = e->events;

	for (uint32_t i = 0; i < e->run_count; at += e->runs[i++].count)
		output_run(o, e->runs[i].ring, at, e->runs[i].count);
	output_horizon(o, e->horizon);
	output_flush(o);
}

static bool repack_visit(void *visitor, const struct chunk *c, struct source_events *events)
{
	struct repacking *r = visitor;

	r->result->chunks++;
	if (events) {
		r->result->events += events->event_count;
		copy_events(r->output, events);
	} else {
		output_chunk(r->output, c->head.type, c->payload, c->payload_size);
	}
	return !output_failed(r->output);
}

void repack(struct source *s, struct output *o, struct repack_result *ret_result)
{
	struct repacking r = { o, ret_result };

	memset(ret_result, 0, sizeof(*ret_result));
	s->visit = repack_visit;
	s->visitor = &r;
	s->embed = true;
	ret_result->loss = source_each(s);
	output_loss(o, &ret_result->loss);
}
