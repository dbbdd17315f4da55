/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /debug/pprof/heap/folded, /debug/pprof/allocs/folded: stacks as text, for flame graphs and
 * Pyroscope.  See folded.h.
 *
 * Readers cut a line at its last blank and a stack at each ';': one in a name becomes ':'. */
#include "agent/folded.h"

#include <string.h>

#include "agent/locations.h"

/* What a stack counts for. */
static uint64_t weight_of(const struct profile *p, const struct profile_sample *s, bool allocs)
{
	double value = s->value[allocs && p->accum ? 1 : 3];

	return value > 0.5 && value < 9e18 ? (uint64_t)(value + 0.5) : 0;
}

/* The innermost of its frames that is not the allocator's; pc_count if there is none. */
static size_t first_frame(const struct locations *locations, const struct profile *p,
			  const struct profile_sample *s)
{
	const uint64_t *pcs = (const uint64_t *)p->pcs.data + s->pc;

	for (size_t k = s->pc_count; k-- > 0;)
		if (locations_allocates(locations, locations_find(locations, pcs[k])))
			return k + 1;
	return 0;
}

static void put_name(struct text *out, const char *name)
{
	size_t size = strlen(name), start = out->size;

	text_add(out, name, size);
	if (out->failed)
		return;
	for (size_t i = start; i < out->size; i++) {
		unsigned char c = (unsigned char)out->data[i];

		out->data[i] = c == ';' ? ':' : c < 32 || c == 127 ? '?' : (char)c;
	}
	if (out->data[start] == '#')
		out->data[start] = '_';
}

void folded_answer(struct exchange *x, const struct profile *p, bool allocs)
{
	const struct profile_sample *samples = (const struct profile_sample *)p->samples.data;
	struct locations locations;
	char small[160];

	x->type = "text/plain; charset=utf-8";
	locations_init(&locations, p);
	for (size_t i = 0; i < p->sample_count && !locations.failed && !x->out.failed; i++) {
		const struct profile_sample *s = &samples[i];
		const uint64_t *pcs = (const uint64_t *)p->pcs.data + s->pc;
		size_t first = first_frame(&locations, p, s);
		uint64_t weight = weight_of(p, s, allocs);

		if (!weight)
			continue;
		if (first == s->pc_count)
			text_str(&x->out, "(no stack)");
		for (size_t k = s->pc_count; k-- > first;) {
			put_name(&x->out,
				 locations_name(&locations, locations_find(&locations, pcs[k]),
						small, sizeof(small)));
			if (k > first)
				text_char(&x->out, ';');
		}
		text_printf(&x->out, " %llu\n", (unsigned long long)weight);
	}
	if (locations.failed)
		x->out.failed = true;
	locations_release(&locations);
}
