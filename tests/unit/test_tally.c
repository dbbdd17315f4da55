/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* query/tally: a recording that is followed piece by piece comes to the same figures as one that is
 * loaded as a whole; and what happens within the window is what a look at every row finds. */
#include "base/buf.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/locations.h"
#include "model/stats.h"
#include "query/tally.h"
#include "random_recording.h"
#include "recording_writer.h"
#include "whole_recording.h"

#define SEEDS 24

static char path[] = "/tmp/memoir-test-tally-XXXXXX";
static char growing[sizeof(path) + 8];

static int make_files(void **context)
{
	int fd = mkstemp(path);

	snprintf(growing, sizeof(growing), "%s.part", path);
	close(fd);
	return fd < 0;
}

static int remove_files(void **context)
{
	unlink(path);
	unlink(growing);
	return 0;
}

static struct model *load_whole(const char *name)
{
	struct model_options how = { .workers = 0 };
	struct model *m;
	struct err err;

	assert_int_equal(model_open(&m, name, &err), 0);
	model_load(m, &how);
	model_finish(m);
	return m;
}

/* Writes the file as a collector would, a piece at a time, and reads on after each. */
static struct model *follow(struct tally *t, uint64_t window_ns, unsigned pieces)
{
	struct model_options how = { .workers = 0,
				     .observe = tally_observe,
				     .observe_displaced = tally_observe_displaced,
				     .observer = t,
				     .recycle = true };
	int from = open(path, O_RDONLY), to = open(growing, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	off_t size = lseek(from, 0, SEEK_END), done = 0;
	struct locations *p = NULL;
	struct model *m = NULL;
	struct err err;

	for (unsigned i = 1; i <= pieces; i++) {
		off_t until = i == pieces ? size : size * i / pieces;
		auto_free char *bytes = xmalloc((size_t)(until - done) + 1);

		assert_int_equal(pread(from, bytes, (size_t)(until - done), done), until - done);
		assert_int_equal(write(to, bytes, (size_t)(until - done)), until - done);
		done = until;
		if (!m && model_open(&m, growing, &err)) {
			m = NULL; /* not even the header */
			continue;
		}
		if (!t->model)
			tally_init(t, m, window_ns);
		model_load(m, &how);
		if (!p || !locations_grow(p)) {
			locations_free(p);
			p = locations_new(m, NULL);
		}
		tally_advance(t, model_clock(m).end);
	}
	model_finish(m);
	tally_advance(t, model_clock(m).end);
	if (p && locations_grow(p)) { /* as those that are made at the end */
		struct locations *all = locations_new(m, NULL);

		assert_int_equal(locations_count(p), locations_count(all));
		for (uint32_t i = 0; i < m->tables.nodes.count; i++) {
			const struct location *a = locations_at(p, locations_of_node(p, i));
			const struct location *b = locations_at(all, locations_of_node(all, i));

			assert_int_equal(a->address, b->address);
			assert_int_equal(a->module, b->module);
		}
		locations_free(all);
	}
	locations_free(p);
	close(from);
	close(to);
	return m;
}

static int by_stack(const void *a, const void *b)
{
	const struct tally_row *x = a, *y = b;

	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

/* Rows that have anything, by stack. */
static size_t sorted(struct tally *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->count; i++)
		if (t->rows[i].allocations || t->rows[i].removed_allocations)
			t->rows[count++] = t->rows[i];
	qsort(t->rows, count, sizeof(*t->rows), by_stack);
	return count;
}

static uint64_t highest(const struct tally *t)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < t->curve_count; i++)
		most = t->curve[i] > most ? t->curve[i] : most;
	return most;
}

static void followed_is_whole(void **context)
{
	unsigned compared = 0;

	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tally followed = { 0 }, whole;
		struct model *m, *n;
		struct view *v;
		struct err err;
		size_t count;

		whole_recording(path, seed, 50 + (uint32_t)seed * 100, seed % 3 != 0);
		m = follow(&followed, 1000, 1 + (unsigned)seed % 7);
		n = load_whole(path);
		v = view_new(n, NULL, NULL, &err);
		tally_whole(&whole, v, 1000);
		assert_int_equal(m->recorded.live_bytes, n->recorded.live_bytes);
		assert_int_equal(followed.all.held_bytes, n->recorded.live_bytes);
		assert_int_equal(followed.all.held_count, n->recorded.live_count);
		assert_int_equal(followed.all.allocations, n->recorded.allocations);
		assert_int_equal(followed.all.temporary, n->recorded.temporary);
		/* Tables between events may name nodes of what came before: no collector does. */
		count = n->event_chunk_count == 1 ? sorted(&followed) : 0;
		compared += count != 0;
		if (count)
			assert_int_equal(count, sorted(&whole));
		for (size_t i = 0; i < count; i++) {
			const struct tally_row *a = &followed.rows[i], *b = &whole.rows[i];

			assert_int_equal(a->stack, b->stack);
			assert_int_equal(a->held_bytes, b->held_bytes);
			assert_int_equal(a->held_count, b->held_count);
			assert_int_equal(a->allocations + a->removed_allocations, b->allocations);
			assert_int_equal(a->allocated_bytes + a->removed_bytes, b->allocated_bytes);
			assert_int_equal(a->temporary + a->removed_temporary, b->temporary);
		}
		/* What was mended may have been alive for a moment more. */
		assert_true(highest(&followed) >= n->recorded.peak_bytes);
		view_free(v);
		tally_release(&followed);
		tally_release(&whole);
		model_free(m);
		model_free(n);
	}
	assert_true(compared > SEEDS / 2);
}

/* What every row says about the time from a stamp on. */
static void check_window(const struct tally *t, const struct model *m)
{
	const struct columns *c = &m->allocations;
	struct tally_recent sum = { 0 }, all = tally_recent(t, &t->all);

	for (size_t k = 0; k < t->count; k++) {
		struct tally_recent expected = { 0 }, got = tally_recent(t, &t->rows[k]);

		for (uint32_t i = 0; i < c->count; i++) {
			bool known = node_is_known(&m->tables.nodes, columns_stack(c, i));

			if ((known ? columns_stack(c, i) : STACK_NONE) != t->rows[k].stack)
				continue;
			if (columns_allocated_at(c, i) >= t->half_before_from) {
				expected.allocations++;
				expected.bytes += columns_size(c, i);
				expected.change += (int64_t)columns_size(c, i);
			}
			if (columns_freed_at(c, i) != NEVER &&
			    columns_freed_at(c, i) >= t->half_before_from)
				expected.change -= (int64_t)columns_size(c, i);
		}
		assert_int_equal(got.allocations, expected.allocations);
		assert_int_equal(got.bytes, expected.bytes);
		assert_int_equal(got.change, expected.change);
		sum.allocations += got.allocations;
		sum.change += got.change;
	}
	assert_int_equal(all.allocations, sum.allocations);
	assert_int_equal(all.change, sum.change);
}

/* One thread's blocks on 20 stacks, told of in the order in which they came. */
static void orderly_recording(uint64_t seed)
{
	struct writer_node nodes[20];
	uint64_t stamp = 100, sizes[64] = { 0 };
	struct writer w;

	for (unsigned i = 0; i < 20; i++)
		nodes[i] = (struct writer_node){ random_below(&seed, i + 1), 0x5000 + i, 0, 0 };
	writer_init(&w, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "clock", "ns", 2);
	writer_nodes(&w, 1, nodes, 20);
	for (unsigned i = 0; i < 500; i++) {
		unsigned slot = random_below(&seed, 64);
		bool allocates = !sizes[slot];
		struct event e;

		stamp += 1 + random_below(&seed, 50);
		sizes[slot] = allocates ? 1 + random_below(&seed, 1000) : 0;
		e = make_event(allocates ? OP_ALLOC : OP_FREE, allocates ? CALL_malloc : CALL_free,
			       stamp, 0x10000 + slot * 4096, sizes[slot], random_below(&seed, 21));
		writer_run(&w, 0, &e, 1);
		if (!random_below(&seed, 20))
			writer_events(&w, stamp);
	}
	writer_events(&w, stamp);
	writer_end(&w, true);
	buf_flush(&w.out, w.fd);
	close(w.fd);
	writer_release(&w);
}

static void window_is_exact(void **context)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct tally followed = { 0 }, whole;
		struct model *m, *n;
		struct view *v;
		struct err err;

		orderly_recording(seed);
		n = load_whole(path);
		v = view_new(n, NULL, NULL, &err);
		for (uint64_t window = 1; window < 1u << 20; window *= 6) {
			tally_whole(&whole, v, window);
			check_window(&whole, n);
			assert_int_equal(highest(&whole), n->totals.peak_bytes);
			tally_release(&whole);
			m = follow(&followed, window, 3);
			check_window(&followed, n);
			assert_int_equal(highest(&followed), n->totals.peak_bytes);
			assert_true(tally_window_ns(&followed) <= model_runtime_ns(m));
			tally_release(&followed);
			model_free(m);
		}
		view_free(v);
		model_free(n);
	}
}

/* A block at a time for long: what is gone leaves no rows behind. */
static void memory_is_bounded(void **context)
{
	struct tally t = { 0 };
	struct writer w;
	struct model *m;
	uint64_t stamp = 10;

	writer_init(&w, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
	writer_header(&w, FORMAT_VERSION);
	for (unsigned i = 0; i < 200000; i++) {
		struct event e =
			make_event(i & 1 ? OP_FREE : OP_ALLOC, i & 1 ? CALL_free : CALL_malloc,
				   ++stamp, 0x1000, i & 1 ? 0 : 100, 0);

		writer_run(&w, 0, &e, 1);
		if (i % 10000 == 9999)
			writer_events(&w, stamp);
	}
	writer_end(&w, true);
	buf_flush(&w.out, w.fd);
	close(w.fd);
	writer_release(&w);
	m = follow(&t, 1000, 5);
	assert_int_equal(t.all.allocations, 100000);
	assert_int_equal(t.all.held_count, 0);
	assert_true(m->allocations.count < 20000);
	tally_release(&t);
	model_free(m);
}

/* Stamps that no clock gives: nothing hangs, and what is held is right. */
static void any_stamps(void **context)
{
	static const uint64_t stamps[] = {
		1, 2,	      1ull << 40, 1ull << 53, 1ull << 62, UINT64_MAX - 9, UINT64_MAX - 3,
		5, UINT64_MAX
	};
	unsigned count = sizeof(stamps) / sizeof(*stamps);

	for (unsigned bits = 0; bits <= 60; bits += 20) {
		struct tally t = { 0 };
		struct writer w;
		struct model *m;

		writer_init(&w, open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600));
		writer_header(&w, FORMAT_VERSION);
		for (unsigned i = 0; i < count; i++) {
			struct event e = make_event(OP_ALLOC, CALL_malloc, stamps[i],
						    0x1000 + i * 64, 10, 0);

			writer_run(&w, 0, &e, 1);
			writer_events(&w, stamps[i]);
		}
		writer_end(&w, true);
		buf_flush(&w.out, w.fd);
		close(w.fd);
		writer_release(&w);
		m = follow(&t, 1ull << bits, 3);
		assert_int_equal(t.all.held_bytes, 10 * count);
		assert_int_equal(highest(&t), 10 * count);
		tally_advance(&t, UINT64_MAX - 1);
		tally_release(&t);
		model_free(m);
	}
}

/* Regions come, use memory and go; the recorder's own do not count. */
static void maps_are_summed(void **context)
{
	static const struct map_sample_record records[] = {
		{ REGIONS_ADD, 1, { .found = { .start = 0x1000, .length = 8192 } } },
		{ REGIONS_ADD, 2, { .found = { .length = 4096, .flags = MAP_IS_OWN } } },
		{ REGIONS_USAGE, 1, { .usage = { .rss = 4 } } },
		{ REGIONS_USAGE, 2, { .usage = { .rss = 4 } } },
		{ REGIONS_ADD, 3, { .found = { .length = 65536 } } },
		{ REGIONS_USAGE, 3, { .usage = { .rss = 60 } } },
		{ REGIONS_USAGE, 1, { .usage = { .rss = 8 } } },
		{ REGIONS_REMOVE, 3, { .usage = { 0 } } },
		{ REGIONS_REMOVE, 3, { .usage = { 0 } } },	  /* is gone */
		{ REGIONS_USAGE, 99, { .usage = { .rss = 8 } } }, /* never was */
	};
	struct map_sample samples[] = { { 1, 2, 0, 4 }, { 3, 4, 4, 2 }, { 5, 6, 6, 4 } };
	struct regions r = { .samples = samples, .records = (void *)records };
	struct map_totals t = { 0 };

	map_totals_read_on(&t, &r);
	assert_int_equal(t.samples, 0);
	r.sample_count = 1;
	map_totals_read_on(&t, &r);
	assert_int_equal(t.rss, 4096);
	assert_int_equal(t.address_space, 8192);
	r.sample_count = 3;
	map_totals_read_on(&t, &r);
	assert_int_equal(t.rss, 8192);
	assert_int_equal(t.address_space, 8192);
	assert_int_equal(t.peak_rss, 64 * 1024);
	map_totals_release(&t);
}

UNIT(tally)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(followed_is_whole), cmocka_unit_test(window_is_exact),
		cmocka_unit_test(memory_is_bounded), cmocka_unit_test(any_stamps),
		cmocka_unit_test(maps_are_summed),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
