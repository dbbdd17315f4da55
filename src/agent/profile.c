/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dumps as stacks.  See profile.h. */
#include "agent/profile.h"

#include <stdlib.h>
#include <string.h>

#include "agent/jemalloc.h"

#define DEPTH_MAX 4096u

/* exp(-x) for x >= 0, to the last few bits: libm is a library that we would bring along. */
static double exp_minus(double x)
{
	const double ln2 = 0.693147180559945309417;
	double sum = 1, term = 1, r;
	unsigned halvings;

	if (x > 700)
		return 0;
	halvings = (unsigned)(x / ln2);
	r = -(x - halvings * ln2);
	for (int i = 1; i < 25; i++) {
		term *= r / i;
		sum += term;
	}
	while (halvings >= 32) {
		sum /= 4294967296.0;
		halvings -= 32;
	}
	return sum / (double)(1ull << halvings);
}

/* One line's numbers as estimates: each block was sampled with a chance that its size gives. */
static void scale(uint64_t objects, uint64_t bytes, uint64_t rate, double *ret)
{
	double factor = 1, share;

	if (!objects || !bytes) {
		ret[0] = ret[1] = 0;
		return;
	}
	if (rate > 1) {
		share = (double)bytes / (double)objects / (double)rate;
		/* Where a block is next to nothing the difference would be nothing at all. */
		factor = 1 / (share < 1e-9 ? share : 1 - exp_minus(share));
	}
	ret[0] = (double)objects * factor;
	ret[1] = (double)bytes * factor;
}

static bool take_number(const char **at, const char *end, uint64_t *ret)
{
	uint64_t v = 0;
	const char *start;

	while (*at < end && (**at == ' ' || **at == ':' || **at == '['))
		(*at)++;
	start = *at;
	for (; *at < end && **at >= '0' && **at <= '9'; (*at)++)
		v = v * 10 + (uint64_t)(**at - '0');
	*ret = v;
	return *at > start;
}

/* "  t*: OBJECTS: BYTES [OBJECTS: BYTES]" */
static bool take_counts(const char *line, const char *end, uint64_t *n)
{
	if (end - line < 6 || memcmp(line, "  t*:", 5))
		return false;
	line += 5;
	for (unsigned i = 0; i < 4; i++)
		if (!take_number(&line, end, &n[i]))
			return false;
	return true;
}

/* "@ 0x1 0x2 …"; how many were kept. */
static size_t take_stack(struct profile *p, const char *line, const char *end, bool strip)
{
	size_t count = 0;
	uint64_t last = 0;

	line++;
	while (line < end && count < DEPTH_MAX) {
		uint64_t pc = 0;

		while (line < end && *line == ' ')
			line++;
		if (end - line < 3 || line[0] != '0' || line[1] != 'x')
			break;
		for (line += 2; line < end && *line != ' '; line++) {
			int c = *line | 32, v = c >= 'a' ? c - 'a' + 10 : c - '0';

			pc = pc << 4 | (unsigned)(v & 15);
		}
		last = pc;
		if (strip && !count && pc >= jemalloc.start && pc < jemalloc.end)
			continue;
		text_add(&p->pcs, &pc, sizeof(pc));
		count++;
	}
	if (!count && last) {
		text_add(&p->pcs, &last, sizeof(last));
		count = 1;
	}
	return count;
}

static void add_sample(struct profile *p, size_t pc, size_t pc_count, const uint64_t *n)
{
	struct profile_sample s = { .pc = pc, .pc_count = pc_count };

	scale(n[0], n[1], p->rate, &s.value[2]);
	scale(n[2], n[3], p->rate, &s.value[0]);
	s.block = n[0] ? n[1] / n[0] : n[2] ? n[3] / n[2] : 0;
	p->accum = p->accum || n[2] || n[3];
	text_add(&p->samples, &s, sizeof(s));
}

void profile_read(struct profile *p, const char *dump, size_t size, bool strip)
{
	static const char maps[] = "MAPPED_LIBRARIES:";
	const char *at = dump, *end = dump + size;
	size_t pc = 0, pc_count = 0;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at)), *line = at;
		uint64_t n[4];

		if (!stop)
			stop = end;
		at = stop < end ? stop + 1 : end;
		if (stop - line > 8 && !memcmp(line, "heap_v2/", 8)) {
			line += 8;
			take_number(&line, stop, &p->rate);
		} else if (line < stop && *line == '@') {
			pc = p->pcs.size / sizeof(uint64_t);
			pc_count = take_stack(p, line, stop, strip);
		} else if (pc_count && take_counts(line, stop, n)) {
			add_sample(p, pc, pc_count, n);
			pc_count = 0;
		} else if (stop - line >= (ptrdiff_t)sizeof(maps) - 1 &&
			   !memcmp(line, maps, sizeof(maps) - 1)) {
			p->maps = at;
			p->maps_size = (size_t)(end - at);
			break;
		}
	}
	p->failed = p->pcs.failed || p->samples.failed;
	p->sample_count = p->failed ? 0 : p->samples.size / sizeof(struct profile_sample);
}

static uint64_t hash(const uint64_t *pcs, size_t count)
{
	uint64_t h = count;

	for (size_t i = 0; i < count; i++)
		h = (h ^ pcs[i]) * 0x9e3779b97f4a7c15ull, h ^= h >> 29;
	return h;
}

static bool same(const struct profile *a, const struct profile_sample *x, const struct profile *b,
		 const struct profile_sample *y)
{
	return x->pc_count == y->pc_count &&
	       !memcmp((uint64_t *)a->pcs.data + x->pc, (uint64_t *)b->pcs.data + y->pc,
		       x->pc_count * sizeof(uint64_t));
}

void profile_subtract(struct profile *p, const struct profile *before)
{
	struct text table = { 0 }; /* numbers of samples of p, from 1 */
	struct profile_sample *samples;
	size_t slots = 16;
	uint32_t *index;

	while (slots < 2 * p->sample_count)
		slots *= 2;
	if (!text_reserve(&table, slots * sizeof(*index))) {
		p->failed = true;
		return;
	}
	index = (uint32_t *)table.data;
	memset(index, 0, slots * sizeof(*index)); /* another text may have been there */
	samples = (struct profile_sample *)p->samples.data;
	for (size_t i = 0; i < p->sample_count; i++) {
		size_t at = hash((uint64_t *)p->pcs.data + samples[i].pc, samples[i].pc_count);

		while (index[at & (slots - 1)])
			at++;
		index[at & (slots - 1)] = (uint32_t)i + 1;
	}
	for (size_t i = 0; i < before->sample_count; i++) {
		const struct profile_sample *b =
			(const struct profile_sample *)before->samples.data + i;
		const uint64_t *pcs = (const uint64_t *)before->pcs.data + b->pc;
		size_t at = hash(pcs, b->pc_count);
		struct profile_sample gone = { .pc = p->pcs.size / sizeof(uint64_t),
					       .pc_count = b->pc_count,
					       .block = b->block };
		struct profile_sample *s = &gone;
		uint32_t n;

		samples = (struct profile_sample *)p->samples.data;
		while ((n = index[at & (slots - 1)]) && !same(p, &samples[n - 1], before, b))
			at++;
		if (n)
			s = &samples[n - 1];
		for (unsigned k = 0; k < 4; k++)
			s->value[k] -= b->value[k];
		if (n)
			continue;
		text_add(&p->pcs, pcs, b->pc_count * sizeof(uint64_t));
		text_add(&p->samples, &gone, sizeof(gone));
	}
	p->failed = p->failed || p->pcs.failed || p->samples.failed;
	p->sample_count = p->failed ? 0 : p->samples.size / sizeof(struct profile_sample);
	text_release(&table);
}

void profile_release(struct profile *p)
{
	text_release(&p->pcs);
	text_release(&p->samples);
	memset(p, 0, sizeof(*p));
}
