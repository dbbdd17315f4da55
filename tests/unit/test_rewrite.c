/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings made of recordings: what is repacked is the same, what is stripped adds up to the
 * same, whatever was in it. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/chains.h"
#include "model/stats.h"
#include "recording_writer.h"
#include "rewrite/repack.h"
#include "rewrite/strip.h"

#define RINGS 4
#define ADDRESSES 24
#define NODES 12
#define START 1000000ull

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(((state * 0x2545f4914f6cdd1dull >> 32) * n) >> 32);
}

static char folder[64];

static char *name_in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

struct chaos {
	struct event *rings[RINGS];
	uint32_t counts[RINGS];
	uint64_t now;
	uint32_t disorder; /* ticks that a stamp may be early */
	bool used[ADDRESSES];
	uint32_t open[RINGS]; /* reallocs */
};

static void put(struct chaos *c, uint32_t ring, enum event_op op, uint32_t slot)
{
	static const enum event_call calls[] = { CALL_malloc, CALL_calloc, CALL_free, CALL_realloc,
						 CALL_memalign };
	uint32_t n = c->counts[ring];
	uint64_t stamp = c->now - (below(10) ? 0 : below(c->disorder + 1));
	struct event e;

	if (n && stamp < c->rings[ring][n - 1].stamp)
		stamp = c->rings[ring][n - 1].stamp;
	e = make_event(op, calls[below(5)], stamp, 0x10000 + slot * 0x1000, below(3000),
		       below(NODES + 2));
	e.word3 |= (uint64_t)(below(50) ? below(32) : below(1u << 20)) << 32;
	if (op == OP_ALLOC || op == OP_REALLOC_TO)
		e.word2 |= (uint64_t)below(8) << 56;
	if (op == OP_MARKER) {
		e.word1 = (uint64_t)op << 56 | slot;
		memcpy(&e.word2, "a marker\0\0\0\0\0\0\0", 16);
	}
	if (op == OP_THREAD)
		e = make_thread(stamp, 70 + slot % 6, slot % 2 ? "worker" : "");
	c->rings[ring][c->counts[ring]++] = e;
}

/* Like a program with threads whose clocks lie a little: what is used is freed or reallocated, what
 * is free is given out. */
static void tidy_step(struct chaos *c, uint32_t ring)
{
	uint32_t slot = below(ADDRESSES), to = below(ADDRESSES);

	c->now += below(200) ? 1 + below(2000) : below(3000000);
	if (!c->used[slot]) {
		put(c, ring, OP_ALLOC, slot);
		c->used[slot] = true;
		return;
	}
	if (below(3)) {
		put(c, ring, OP_FREE, slot);
		c->used[slot] = false;
		return;
	}
	put(c, ring, OP_REALLOC_FROM, slot);
	c->now += 1 + below(300);
	if (below(8) == 0) {
		put(c, ring, OP_REALLOC_FAILED, slot);
	} else if (below(8) == 0) {
		put(c, ring, OP_REALLOC_FREED, slot);
		c->used[slot] = false;
	} else {
		c->used[slot] = false;
		if (c->used[to])
			to = slot;
		put(c, ring, OP_REALLOC_TO, to);
		c->used[to] = true;
	}
}

/* Lost frees, frees of nothing, nested and broken reallocs; far enough apart that nobody takes them
 * for inverted.  A realloc that fails while its block's address is in use again is left out: there
 * is no telling what that means; and so is what is allocated and freed within one. */
static void wild_step(struct chaos *c, uint32_t ring)
{
	enum event_op op = OP_ALLOC + below(below(100) < 70 ? 2 : OP_REALLOC_FREED);

	if (c->open[ring])
		op = OP_REALLOC_FROM + below(3);
	if (op == OP_REALLOC_FROM && c->open[ring] == PAIR_PENDING)
		op = OP_REALLOC_TO;
	if (op == OP_REALLOC_FROM)
		c->open[ring]++;
	else if (op > OP_REALLOC_FROM && c->open[ring])
		c->open[ring]--;
	c->now += PAIR_INVERSION + 1 + below(3000);
	put(c, ring, op, below(ADDRESSES));
}

static void write_pass(struct chaos *c, struct writer *w, uint64_t horizon)
{
	for (unsigned i = 0; i < RINGS; i++) {
		writer_run(w, i, c->rings[i], c->counts[i]);
		c->counts[i] = 0;
	}
	writer_events(w, horizon);
}

static void write_head(struct writer *w)
{
	struct writer_node nodes[NODES - 1];

	w->codec = (uint8_t)below(3);
	writer_header(w, FORMAT_VERSION);
	writer_info(w, "pid", "77", 2);
	writer_info(w, "clock", "ns", 2);
	writer_info(w, "start_stamp", "1000000", 7);
	for (uint32_t i = 0; i < NODES - 1; i++)
		nodes[i] =
			(struct writer_node){ i ? below(i + 1) : 0, 0x400000 + below(4096), 1, 0 };
	writer_nodes(w, 1, nodes, NODES - 1);
}

/* Writes a recording of random traffic. */
static char *write_chaos(const char *name, uint64_t seed, uint32_t events, bool tidy,
			 uint32_t disorder)
{
	struct chaos c = { .now = START, .disorder = tidy ? disorder : 0 };
	char *path = name_in_folder(name);
	uint64_t horizon = 0;
	struct writer w;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	state = seed * 0x9e3779b97f4a7c15ull + 1;
	assert_true(fd >= 0);
	writer_init(&w, fd);
	write_head(&w);
	/* Recording was switched on and off: what is freed may have been allocated unseen. */
	if (seed % 7 == 0)
		writer_counter(&w, "switched_on", 1);
	for (unsigned i = 0; i < RINGS; i++)
		c.rings[i] = xcalloc(2 * events + 1, sizeof(struct event));
	for (uint32_t i = 0; i < events; i++) {
		uint32_t ring = below(RINGS);

		if (below(50) == 0)
			put(&c, ring, OP_MARKER, below(100));
		else if (below(50) == 0 && !c.open[ring])
			put(&c, ring, OP_THREAD, below(100));
		else if (tidy)
			tidy_step(&c, ring);
		else
			wild_step(&c, ring);
		if (below(60) && i + 1 < events)
			continue;
		write_pass(&c, &w, horizon);
		horizon = c.now > START + disorder ? c.now - disorder : 0;
	}
	writer_chunk(&w, 200, "from the future", 15, 0);
	writer_counter(&w, "dropped_ring_full", 5);
	writer_end(&w, true);
	for (unsigned i = 0; i < RINGS; i++)
		free(c.rings[i]);
	writer_release(&w);
	close(fd);
	return path;
}

static struct model *load(const char *path)
{
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;

	assert_int_equal(model_open(&m, path, &err), 0);
	model_load(m, &options);
	model_finish(m);
	return m;
}

static void same_totals(const struct totals *a, const struct totals *b)
{
#define SAME(field) assert_int_equal(a->field, b->field)
	SAME(events);
	SAME(allocations);
	SAME(deallocations);
	SAME(reallocations);
	SAME(realloc_failures);
	SAME(allocated_bytes);
	SAME(live_count);
	SAME(live_bytes);
	SAME(peak_bytes);
	SAME(peak_count);
	SAME(peak_at);
	SAME(temporary);
	SAME(unknown_frees);
	SAME(implicit_frees);
	SAME(first_at);
	SAME(last_at);
#undef SAME
}

/* Ended by a realloc of which nothing is known but that: a stripped recording says that it was
 * freed. */
static uint64_t tags_of(const struct columns *c, uint32_t row)
{
	bool linked = columns_chain(c, row) != NO_CHAIN;

	return linked ? columns_tags(c, row)
		      : columns_tags(c, row) & ~((uint64_t)TAG_REALLOCATED << 58);
}

static void same_row(const struct columns *a, uint32_t i, const struct columns *b, uint32_t k)
{
#define SAME(field) assert_int_equal(columns_##field(a, i), columns_##field(b, k))
	SAME(allocated_at);
	SAME(freed_at);
	SAME(address);
	SAME(sizes);
	assert_int_equal(tags_of(a, i), tags_of(b, k));
	SAME(stack);
	SAME(free_stack);
	SAME(position);
#undef SAME
	assert_int_equal(columns_slack(a, i), columns_slack(b, k));
}

static void same_stacks(const struct model *a, const struct model *b)
{
	struct stack_counts ca, cb;
	struct stack_sums sa, sb;
	uint32_t n;

	stats_count_stacks(a, &ca);
	stats_count_stacks(b, &cb);
	assert_int_equal(ca.stacks, cb.stacks);
	assert_int_equal(ca.free_stacks, cb.free_stacks);
	assert_int_equal(ca.deepest, cb.deepest);
	assert_int_equal(ca.without_stack, cb.without_stack);
	stats_sum_stacks(a, &sa);
	stats_sum_stacks(b, &sb);
	n = stack_sums_top(&sa, BY_COUNT, UINT32_MAX);
	assert_int_equal(stack_sums_top(&sb, BY_COUNT, UINT32_MAX), n);
	assert_memory_equal(sa.rows, sb.rows, n * sizeof(*sa.rows));
	stack_sums_release(&sa);
	stack_sums_release(&sb);
}

static void same_markers(const struct markers *a, const struct markers *b)
{
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++) {
		assert_int_equal(a->rows[i].stamp, b->rows[i].stamp);
		assert_int_equal(a->rows[i].value, b->rows[i].value);
		assert_string_equal(a->rows[i].name, b->rows[i].name);
	}
}

static struct loss do_repack(const char *from, const char *to, const struct output_codec *codec)
{
	struct repack_result result;
	struct source s;
	struct output *o;
	struct err err;

	assert_int_equal(source_open(&s, from, &err), 0);
	assert_int_equal(output_open(&o, to, &s.reader, codec, &err), 0);
	repack(&s, o, &result);
	assert_int_equal(output_finish(o, NULL, &err), 0);
	output_free(o);
	source_release(&s);
	return result.loss;
}

static void repacked_is_the_same(void **context)
{
	static const struct output_codec codecs[] = {
		{ CODEC_RAW, 0 }, { CODEC_LZ4, 0 }, { CODEC_ZSTD, 1 }, { CODEC_ZSTD, 19 }
	};
	char *to = name_in_folder("repacked");

	for (unsigned seed = 1; seed < 40; seed++) {
		char *from = write_chaos("chaos", seed, 1 + seed * 100, seed % 3 == 0, seed * 50);
		struct model *a = load(from), *b;
		struct stat st;

		assert_int_equal(do_repack(from, to, seed % 5 ? &codecs[seed % 5 - 1] : NULL).kind,
				 LOSS_NONE);
		b = load(to);
		assert_int_equal(b->loss.kind, LOSS_NONE);
		assert_int_equal(model_loss(b).kind, LOSS_NONE);
		assert_int_equal(stat(to, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		same_totals(&a->totals, &b->totals);
		assert_int_equal(a->allocations.count, b->allocations.count);
		for (uint32_t i = 0; i < a->allocations.count; i++)
			same_row(&a->allocations, i, &b->allocations, i);
		same_stacks(a, b);
		same_markers(&a->tables.markers, &b->tables.markers);
		assert_int_equal(model_counters(b, "dropped_"), 5);
		assert_int_equal(a->tables.threads.count, b->tables.threads.count);
		model_free(a);
		model_free(b);
		free(from);
	}
	free(to);
}

static struct strip_result do_strip(const char *from, const char *to, uint64_t threshold_ns)
{
	struct strip_options options = { .threshold_ns = threshold_ns };
	struct strip_result result;
	struct source s;
	struct output *o;
	struct err err;

	assert_int_equal(source_open(&s, from, &err), 0);
	assert_int_equal(output_open(&o, to, &s.reader, NULL, &err), 0);
	assert_int_equal(strip(&s, from, o, &options, &result, &err), 0);
	assert_int_equal(output_finish(o, NULL, &err), 0);
	output_free(o);
	source_release(&s);
	return result;
}

/* By the words of strip.h, one row at a time. */
static bool *brute_force(const struct model *m, uint64_t threshold)
{
	const struct columns *c = &m->allocations;
	bool *remaining = xcalloc(c->count + 1, sizeof(*remaining)), more = true;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t first = i, last = i;

		while (columns_previous(c, first) != NO_ALLOCATION)
			first = columns_previous(c, first);
		for (uint32_t k = i; k < c->count; k++)
			if (columns_previous(c, k) == last)
				last = k;
		remaining[i] =
			columns_freed_at(c, last) == NEVER ||
			columns_freed_at(c, last) - columns_allocated_at(c, first) > threshold;
		/* Ended by a realloc that lost what it made. */
		if (tags_flags(columns_tags(c, last)) & TAG_REALLOCATED)
			remaining[i] = false;
		/* Its end came first, and was believed later. */
		if (model_counters(m, "switched_o") &&
		    columns_freed_at(c, last) == columns_allocated_at(c, last) + 1)
			remaining[i] = false;
	}
	/* What ends a kept row only by taking its address stays, and its chain. */
	while (more) {
		more = false;
		for (uint32_t i = 0; i < c->count; i++)
			for (uint32_t k = 0; k < c->count; k++) {
				bool joined =
					columns_previous(c, k) == i ||
					columns_previous(c, i) == k ||
					(tags_flags(columns_tags(c, i)) & TAG_FREE_LOST &&
					 columns_allocated_at(c, k) == columns_freed_at(c, i));

				if (remaining[i] && !remaining[k] && joined)
					remaining[k] = more = true;
			}
	}
	return remaining;
}

static void check_statistics(const struct model *m, const bool *remaining, const struct removed *r)
{
	const struct columns *c = &m->allocations;
	uint64_t rows = 0;

	for (uint32_t i = 0; i < c->count; i++)
		rows += !remaining[i];
	for (size_t i = 0; i < r->count; i++) {
		const struct statistics *s = &r->rows[i];
		struct statistics want = { .stack = s->stack, .call = s->call };

		for (uint32_t k = 0; k < c->count; k++) {
			uint64_t t = columns_allocated_at(c, k), bytes = 0, count = 0;

			if (columns_stack(c, k) != s->stack)
				continue;
			if (!remaining[k]) {
				statistics_count(&want, columns_size(c, k), columns_slack(c, k), t,
						 statistics_bucket(columns_freed_at(c, k) - t));
				want.reallocs += columns_previous(c, k) != NO_ALLOCATION;
				want.frees += !(tags_flags(columns_tags(c, k)) &
						(TAG_REALLOCATED | TAG_FREE_LOST));
				if (tags_flags(columns_tags(c, k)) & TAG_TEMPORARY) {
					want.temporary++;
					want.temporary_bytes += columns_size(c, k);
				}
			}
			for (uint32_t n = 0; n < c->count; n++)
				if (columns_stack(c, n) == s->stack &&
				    columns_allocated_at(c, n) <= t && columns_freed_at(c, n) > t) {
					bytes += columns_size(c, n);
					count++;
				}
			if (!want.own_peak_at || bytes > want.own_peak_bytes) {
				want.own_peak_bytes = bytes;
				want.own_peak_count = count;
				want.own_peak_at = t;
			}
			if (t <= m->totals.peak_at && columns_freed_at(c, k) > m->totals.peak_at) {
				want.peak_bytes += columns_size(c, k);
				want.peak_count++;
			}
		}
		assert_true(s->count);
		assert_memory_equal(&want, s, sizeof(want));
		rows -= s->count;
	}
	assert_int_equal(rows, 0);
}

static void check_rows(const struct model *a, const bool *remaining, const struct model *b)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < a->allocations.count; i++) {
		uint32_t previous = columns_previous(&a->allocations, i);

		if (!remaining[i])
			continue;
		assert_true(at < b->allocations.count);
		same_row(&a->allocations, i, &b->allocations, at);
		if (previous == NO_ALLOCATION)
			assert_int_equal(columns_previous(&b->allocations, at), NO_ALLOCATION);
		else
			assert_int_equal(
				columns_allocated_at(&b->allocations,
						     columns_previous(&b->allocations, at)),
				columns_allocated_at(&a->allocations, previous));
		at++;
	}
	assert_int_equal(at, b->allocations.count);
}

static void stripped_adds_up(void **context)
{
	static const uint64_t thresholds[] = { STRIP_ALL, 0, 5000, 50000, 1000000 };
	char *to = name_in_folder("stripped"), *again = name_in_folder("again");

	for (unsigned seed = 1; seed < 150; seed++) {
		uint64_t threshold = thresholds[seed % 5], more = thresholds[below(5)];
		char *from = write_chaos("chaos", seed, 1 + seed % 60 * 12, seed % 3 == 0,
					 seed % 4 ? seed % 60 * 20 : 0);
		struct model *a = load(from), *b, *c;
		bool *remaining = brute_force(a, threshold);
		struct strip_result result = do_strip(from, to, threshold);

		b = load(to);
		assert_int_equal(b->loss.kind, LOSS_NONE);
		assert_int_equal(result.allocations, a->allocations.count);
		check_rows(a, remaining, b);
		check_statistics(a, remaining, &b->tables.removed);
		same_totals(&a->totals, &b->totals);
		same_stacks(a, b);
		same_markers(&a->tables.markers, &b->tables.markers);
		assert_int_equal(a->tables.threads.count, b->tables.threads.count);
		assert_int_equal(a->tables.nodes.known, b->tables.nodes.known);
		assert_int_equal(model_counters(b, "dropped_"), 5);
		free(remaining);

		/* Once more, with the same or another threshold. */
		do_strip(to, again, more);
		c = load(again);
		same_totals(&a->totals, &c->totals);
		same_stacks(a, c);
		same_markers(&a->tables.markers, &c->tables.markers);
		if (threshold == more)
			assert_int_equal(c->allocations.count, b->allocations.count);
		if (more == STRIP_ALL || (threshold != STRIP_ALL && more >= threshold)) {
			remaining = brute_force(a, more);
			check_statistics(a, remaining, &c->tables.removed);
			check_rows(a, remaining, c);
			free(remaining);
		}
		model_free(a);
		model_free(b);
		model_free(c);
		free(from);
	}
	free(to);
	free(again);
}

/* A cut file gives a whole one that says that it was cut, and where. */
static void loss_is_remembered(void **context)
{
	char *from = write_chaos("chaos", 5, 3000, true, 0), *to = name_in_folder("out");
	char *again = name_in_folder("again");
	struct stat st;
	struct model *a, *b;
	struct loss loss;

	assert_int_equal(stat(from, &st), 0);
	assert_int_equal(truncate(from, st.st_size / 2), 0);
	a = load(from);
	assert_int_equal(a->loss.kind, LOSS_CUT);
	for (unsigned round = 0; round < 3; round++) {
		if (round == 0)
			loss = do_repack(from, to, NULL);
		else if (round == 1)
			loss = do_strip(from, to, STRIP_ALL).loss;
		else
			do_repack(to, again, NULL);
		assert_int_equal(loss.kind, LOSS_CUT);
		assert_int_equal(loss.err.offset, a->loss.err.offset);
		b = load(round == 2 ? again : to);
		assert_int_equal(b->loss.kind, LOSS_NONE);
		assert_int_equal(model_loss(b).kind, LOSS_CUT);
		assert_int_equal(model_loss(b).err.offset, a->loss.err.offset);
		assert_string_equal(model_loss(b).err.text, a->loss.err.text);
		same_totals(&a->totals, &b->totals);
		model_free(b);
	}
	model_free(a);
	free(from);
	free(to);
	free(again);
}

/* Whatever byte is wrong, what comes out can be read, and holds what was before it. */
static void damage_ends_it(void **context)
{
	char *from = write_chaos("chaos", 6, 300, true, 0), *to = name_in_folder("out");
	struct stat st;

	assert_int_equal(stat(from, &st), 0);
	for (off_t at = 32; at < st.st_size; at += 7) {
		int fd = open(from, O_RDWR);
		uint8_t byte, wrong;
		struct model *a, *b;
		struct loss loss;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		wrong = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &wrong, 1, at), 1);
		a = load(from);
		loss = do_repack(from, to, NULL);
		assert_int_equal(loss.kind, a->loss.kind);
		b = load(to);
		assert_int_equal(b->loss.kind, LOSS_NONE);
		same_totals(&a->totals, &b->totals);
		model_free(b);
		if (a->chunk_count) { /* else there is nothing to strip */
			assert_int_equal(do_strip(from, to, 1000).loss.kind, a->loss.kind);
			b = load(to);
			assert_int_equal(b->loss.kind, LOSS_NONE);
			same_totals(&a->totals, &b->totals);
			model_free(b);
		}
		model_free(a);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	free(from);
	free(to);
}

static int try_output(const char *path, const struct reader *input)
{
	struct output *o;
	struct err err;
	int error = output_open(&o, path, input, NULL, &err);

	if (error)
		return error;
	output_free(o);
	return 0;
}

static void names_that_are_refused(void **context)
{
	char *from = write_chaos("chaos", 7, 100, true, 0), *link = name_in_folder("link");
	char *inside = name_in_folder("none/such"), *to = name_in_folder("new");
	struct source s;
	struct err err;

	assert_int_equal(source_open(&s, from, &err), 0);
	unlink(link);
	assert_int_equal(symlink(from, link), 0);
	assert_int_not_equal(try_output(from, &s.reader), 0);
	assert_int_not_equal(try_output(link, &s.reader), 0);
	assert_int_not_equal(try_output(folder, &s.reader), 0);
	assert_int_not_equal(try_output("/dev/null", &s.reader), 0);
	assert_int_not_equal(try_output("", &s.reader), 0);
	assert_int_equal(try_output(inside, &s.reader), -ENOENT);
	/* What was not finished leaves nothing behind. */
	assert_int_equal(try_output(to, &s.reader), 0);
	assert_int_not_equal(access(to, F_OK), 0);
	source_release(&s);
	free(from);
	free(link);
	free(inside);
	free(to);
}

/* A limit on the size of files is as good as a full disk. */
static void full_disk(void **context)
{
	char *from = write_chaos("chaos", 8, 5000, true, 0), *to = name_in_folder("full");
	struct rlimit old, limit;
	struct repack_result result;
	struct output *o;
	struct source s;
	struct err err;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = 2000;
	assert_int_equal(source_open(&s, from, &err), 0);
	assert_int_equal(output_open(&o, to, &s.reader, NULL, &err), 0);
	setrlimit(RLIMIT_FSIZE, &limit);
	repack(&s, o, &result);
	assert_int_equal(output_finish(o, NULL, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(output_failed(o));
	output_free(o);
	source_release(&s);
	assert_int_not_equal(access(to, F_OK), 0);
	free(from);
	free(to);
}

static int make_folder(void **context)
{
	strcpy(folder, "/tmp/memoir-test-rewrite-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **context)
{
	static const char *const names[] = {
		"chaos", "repacked", "stripped", "again", "out", "link"
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		auto_free char *path = name_in_folder(names[i]);

		unlink(path);
	}
	/* Fails when a test left something behind. */
	return rmdir(folder);
}

UNIT(rewrite)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repacked_is_the_same),	  cmocka_unit_test(stripped_adds_up),
		cmocka_unit_test(loss_is_remembered),	  cmocka_unit_test(damage_ends_it),
		cmocka_unit_test(names_that_are_refused), cmocka_unit_test(full_disk),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
