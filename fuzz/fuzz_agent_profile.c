/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The agent's own reader of dumps, the difference of two, and its stacks as text: indices lead
 * inside, amounts are numbers, and lines are whole. */
#include <stdlib.h>
#include <string.h>

#include "agent/folded.h"
#include "agent/jemalloc.h"
#include "agent/profile.h"
#include "fuzz.h"

struct jemalloc jemalloc = { .start = 0x7f0000000000, .end = 0x7f0000100000 };

static void look_at(const struct profile *p)
{
	const struct profile_sample *s = (const struct profile_sample *)p->samples.data;

	for (size_t i = 0; i < p->sample_count; i++) {
		if (!s[i].pc_count || s[i].pc + s[i].pc_count > p->pcs.size / sizeof(uint64_t))
			abort();
		for (unsigned k = 0; k < 4; k++)
			if (s[i].value[k] != s[i].value[k])
				abort();
	}
}

/* Texts that come next are where others were. */
static void leave_behind(void)
{
	struct text used[4] = { 0 };

	for (unsigned i = 0; i < 4; i++)
		if (text_reserve(&used[i], 1))
			memset(used[i].data, 0xa5, used[i].room);
	for (unsigned i = 0; i < 4; i++)
		text_release(&used[i]);
}

static void write_lines(const struct profile *p, bool allocs)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (!x)
		return;
	folded_answer(x, p, allocs);
	if (x->out.size && (x->out.data[x->out.size - 1] != '\n' || x->out.failed))
		abort();
	text_release(&x->out);
	free(x);
}

FUZZ(agent_profile, data, size)
{
	char *exact = calloc(size + 1, 1); /* as dumps are: with a 0 behind them, and no more */
	size_t middle = size ? data[0] * size / 256 : 0;
	struct profile one = { 0 }, two = { 0 };

	if (!exact)
		return 0;
	if (size)
		memcpy(exact, data, size);
	profile_read(&one, exact, size, size & 1);
	profile_read(&two, exact + middle, size - middle, false);
	look_at(&one);
	look_at(&two);
	if (one.maps && (one.maps < exact || one.maps + one.maps_size > exact + size))
		abort();
	leave_behind();
	profile_subtract(&one, &two);
	look_at(&one);
	leave_behind();
	write_lines(&one, size & 2);
	write_lines(&two, size & 1);
	profile_release(&one);
	profile_release(&two);
	free(exact);
	return 0;
}
