/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Culling against a reader that sees everything: random streams of several threads, with lost
 * frees, frees of unknown blocks, nested reallocs and stamps that are the wrong way round, are
 * paired directly, and again from the file that culling left.  All sums must agree. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "collector/collector.h"
#include "collector/cull.h"
#include "collector/naming.h"
#include "collector/python.h"
#include "model/model.h"
#include "pairing/merge.h"
#include "unit.h"

#define RINGS 4
#define STACKS 20
#define LIVE 300
#define PASS 500

struct block {
	uint64_t address, size;
};

struct world {
	uint64_t random, now;
	struct block live[LIVE];
	size_t count;
	struct event events[RINGS][4096]; /* of this pass */
	uint32_t counts[RINGS];
	bool started;
	bool odd; /* frees are lost, unknown, or stamped too late */
};

struct reference {
	struct columns columns;
	struct threads threads;
	struct markers markers;
	struct pair pair;
	struct merge merge;
	struct event *copies[512]; /* the merge looks at them until its pass is over */
	size_t copy_count;
};

static uint32_t draw(struct world *w, uint32_t limit)
{
	w->random = w->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(w->random >> 33) % limit;
}

static void put(struct world *w, uint32_t ring, enum event_op op, uint64_t stamp, uint64_t address,
		uint64_t size, unsigned call)
{
	w->events[ring][w->counts[ring]++] = (struct event){
		.stamp = stamp,
		.word1 = address | (uint64_t)op << 56,
		.word2 = size | (uint64_t)call << 48,
		.word3 = op == OP_REALLOC_FROM || op == OP_REALLOC_FAILED ? 0 : 1 + draw(w, STACKS),
	};
}

static uint64_t later(struct world *w)
{
	/* Mostly close together, now and then a long time. */
	w->now += draw(w, 40) ? 1 + draw(w, 300) : 1 + draw(w, 400000);
	return w->now;
}

static void allocate(struct world *w, uint32_t ring, uint64_t address)
{
	struct block *b = &w->live[w->count++];

	*b = (struct block){ address, draw(w, 5000) };
	put(w, ring, OP_ALLOC, later(w), b->address, b->size, CALL_malloc);
	/* Another thread frees it at once, and had read its clock before. */
	if (w->odd && !draw(w, 20))
		put(w, (ring + 1) % RINGS, OP_FREE, w->now - 1 - draw(w, 50),
		    w->live[--w->count].address, 0, CALL_free);
}

static void release(struct world *w, uint32_t ring, size_t i)
{
	struct block b = w->live[i];
	uint64_t stamp = later(w);

	w->live[i] = w->live[--w->count];
	if (w->odd && !draw(w, 50))
		return; /* lost */
	put(w, ring, OP_FREE, stamp, b.address, 0, CALL_free);
	if (!w->odd || draw(w, 20))
		return;
	/* Another thread is given the address at once, and had read its clock before. */
	w->live[w->count++] = b;
	put(w, (ring + 1) % RINGS, OP_ALLOC, stamp - 1 - draw(w, 50), b.address, b.size,
	    CALL_malloc);
}

static void reallocate(struct world *w, uint32_t ring, size_t i)
{
	struct block *b = &w->live[i];

	put(w, ring, OP_REALLOC_FROM, later(w), b->address, 0, CALL_realloc);
	/* A signal handler in the middle of it. */
	if (!draw(w, 10)) {
		put(w, ring, OP_ALLOC, later(w), 1ull << 40, 10, CALL_malloc);
		put(w, ring, OP_FREE, later(w), 1ull << 40, 0, CALL_free);
	}
	switch (draw(w, 8)) {
	case 0:
		put(w, ring, OP_REALLOC_FAILED, later(w), b->address, 0, CALL_realloc);
		break;
	case 1:
		put(w, ring, OP_REALLOC_FREED, later(w), b->address, 0, CALL_realloc);
		w->live[i] = w->live[--w->count];
		break;
	default:
		b->address += (uint64_t)draw(w, 2) << 30;
		b->size = draw(w, 9000);
		put(w, ring, OP_REALLOC_TO, later(w), b->address, b->size, CALL_realloc);
	}
}

static uint64_t fresh_address(struct world *w)
{
	static uint64_t next = 0x10000;

	(void)w;
	return next += 64;
}

static void step(struct world *w)
{
	uint32_t ring = draw(w, RINGS), what = draw(w, 100);

	if (w->count < 3 || (what < 45 && w->count < LIVE - 4)) {
		allocate(w, ring, fresh_address(w));
	} else if (what < 80) {
		/* The youngest most of the time: that is what programs do. */
		release(w, ring, draw(w, 4) ? w->count - 1 : draw(w, (uint32_t)w->count));
	} else if (what < 98) {
		reallocate(w, ring, draw(w, (uint32_t)w->count));
	} else if (w->odd) {
		put(w, ring, OP_FREE, later(w), fresh_address(w), 0, CALL_free);
	}
}

static void pass(struct world *w, struct reference *r, struct cull *cull)
{
	uint64_t horizon;

	memset(w->counts, 0, sizeof(w->counts));
	for (uint32_t i = 0; !w->started && i < RINGS; i++)
		put(w, i, OP_THREAD, later(w), 100 + i, 0, 0);
	w->started = true;
	for (int i = 0; i < PASS; i++)
		step(w);
	horizon = later(w);
	for (uint32_t i = 0; i < RINGS; i++) {
		struct event *copy = xreallocarray(NULL, w->counts[i] + 1, sizeof(*copy));

		memcpy(copy, w->events[i], w->counts[i] * sizeof(*copy));
		merge_add(&r->merge, i, copy, w->counts[i]);
		r->copies[r->copy_count++] = copy;
		if (w->counts[i])
			cull_take(cull, i, w->events[i], w->counts[i]);
	}
	merge_run(&r->merge, horizon);
	cull_pass(cull, horizon);
	while (r->copy_count)
		free(r->copies[--r->copy_count]);
}

static void open_collector(struct collector *c, const char *path, uint64_t milliseconds)
{
	memset(c, 0, sizeof(*c));
	c->session = c->pidfd = -1;
	c->control = xcalloc(1, SHM_CONTROL_SIZE);
	options_init(&c->control->options);
	c->control->clock = CLOCK_NANOSECONDS;
	c->control->options.cull = true;
	c->control->options.cull_lifetime = milliseconds;
	c->next_node = c->next_module = 1;
	c->payload.room = codec_payload_bound();
	c->payload.data = xmalloc(c->payload.room);
	c->scratch = xmalloc(codec_scratch_size());
	codec_start(&c->encoder, c->scratch);
	assert_int_equal(recording_open(&c->recording, path, 1, "x", c->payload.room), 0);
	c->naming = naming_new(c);
	c->python = python_codes_new();
	c->cull = cull_new(c);
	assert_non_null(c->cull);
}

static void close_collector(struct collector *c)
{
	cull_finish(c->cull);
	drain_close_chunk(c);
	info_write_counters(c, true);
	assert_true(recording_finish(&c->recording));
	cull_free(c->cull);
	naming_free(c->naming);
	python_codes_free(c->python);
	free(c->control);
	free(c->payload.data);
	free(c->scratch);
}

struct sums {
	uint64_t count, bytes, leaked_count, leaked_bytes, peak_count, peak_bytes, temporary;
};

static void sum_rows(struct sums *s, const struct columns *c, uint64_t peak_at)
{
	for (uint32_t row = 0; row < c->count; row++) {
		struct sums *one = &s[columns_stack(c, row)];
		uint64_t size = columns_size(c, row);

		one->count++;
		one->bytes += size;
		one->temporary += (tags_flags(columns_tags(c, row)) & TAG_TEMPORARY) != 0;
		if (columns_freed_at(c, row) == NEVER) {
			one->leaked_count++;
			one->leaked_bytes += size;
		}
		if (columns_allocated_at(c, row) <= peak_at && columns_freed_at(c, row) > peak_at) {
			one->peak_count++;
			one->peak_bytes += size;
		}
	}
}

static void compare_stacks(const struct reference *r, const struct model *m, bool odd)
{
	struct sums whole[STACKS + 1] = { 0 }, culled[STACKS + 1] = { 0 };
	const struct removed *removed = &m->tables.removed;

	sum_rows(whole, &r->columns, r->pair.totals.peak_at);
	sum_rows(culled, &m->allocations, m->totals.peak_at);
	for (size_t i = 0; i < removed->count; i++) {
		const struct statistics *row = &removed->rows[i];

		culled[row->stack].count += row->count;
		culled[row->stack].bytes += row->bytes;
		culled[row->stack].temporary += row->temporary;
		/* These are of everything. */
		culled[row->stack].peak_count = row->peak_count;
		culled[row->stack].peak_bytes = row->peak_bytes;
	}
	for (unsigned i = 0; i <= STACKS; i++) {
		assert_int_equal(culled[i].count, whole[i].count);
		assert_int_equal(culled[i].bytes, whole[i].bytes);
		assert_int_equal(culled[i].leaked_count, whole[i].leaked_count);
		assert_int_equal(culled[i].leaked_bytes, whole[i].leaked_bytes);
		if (odd)
			continue;
		assert_int_equal(culled[i].temporary, whole[i].temporary);
		assert_int_equal(culled[i].peak_count, whole[i].peak_count);
		assert_int_equal(culled[i].peak_bytes, whole[i].peak_bytes);
	}
}

static void compare(const struct reference *r, const struct model *m, bool odd)
{
	const struct totals *a = &r->pair.totals, *b = &m->totals;

	assert_int_equal(b->events, a->events);
	assert_int_equal(b->allocations, a->allocations);
	assert_int_equal(b->deallocations, a->deallocations);
	assert_int_equal(b->reallocations, a->reallocations);
	assert_int_equal(b->realloc_failures, a->realloc_failures);
	assert_int_equal(b->allocated_bytes, a->allocated_bytes);
	assert_int_equal(b->live_count, a->live_count);
	assert_int_equal(b->live_bytes, a->live_bytes);
	assert_int_equal(b->peak_bytes, a->peak_bytes);
	assert_int_equal(b->peak_count, a->peak_count);
	if (!odd)
		assert_int_equal(b->temporary, a->temporary);
	assert_int_equal(b->heaptrack_temporary, a->heaptrack_temporary);
	assert_int_equal(b->unknown_frees, a->unknown_frees);
	assert_int_equal(b->implicit_frees, a->implicit_frees);
	compare_stacks(r, m, odd);
}

static void run(uint64_t seed, bool odd, uint64_t milliseconds, int passes)
{
	char path[] = "/tmp/test_cull.XXXXXX";
	struct model_options options = { .workers = 0 };
	struct world *w = xcalloc(1, sizeof(*w));
	struct reference *r = xcalloc(1, sizeof(*r));
	struct collector *c = xcalloc(1, sizeof(*c));
	struct model *m;
	struct err err;

	close(mkstemp(path));
	w->random = seed;
	w->now = 1000000;
	w->odd = odd;
	open_collector(c, path, milliseconds);
	pair_init(&r->pair, &r->columns, &r->threads, &r->markers);
	merge_init(&r->merge, &r->pair);
	for (int i = 0; i < passes; i++)
		pass(w, r, c->cull);
	merge_finish(&r->merge);
	close_collector(c);

	assert_int_equal(model_open(&m, path, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	assert_true(m->tables.removed.count > 0);
	assert_true(m->allocations.count < r->columns.count);
	compare(r, m, odd);

	model_free(m);
	merge_release(&r->merge);
	pair_release(&r->pair);
	columns_release(&r->columns);
	threads_release(&r->threads);
	markers_release(&r->markers);
	free(r);
	free(w);
	free(c);
	unlink(path);
}

static void test_orderly(void **state)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		run(seed, false, seed % 3 ? 1 : 1000000, 40);
}

static void test_odd(void **state)
{
	for (uint64_t seed = 1; seed <= 300; seed++)
		run(seed * 7919, true, seed % 3 ? 1 : 1000000, 40);
	/* A realloc fails when its block's address was handed out again, by the clocks. */
	run(1282 * 7919, true, 1, 40);
}

/* More than the rows that wait to be used again. */
static void test_long(void **state)
{
	run(4711, false, 1, 400);
}

UNIT(cull)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_orderly),
		cmocka_unit_test(test_odd),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
