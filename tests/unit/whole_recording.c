/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Recordings that are all chance.  See whole_recording.h. */
#include "whole_recording.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "model/stats.h"
#include "recording_writer.h"
#include "unit.h"
#include "wire/statistics.h"

static uint64_t state;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((state >> 32) * n >> 32);
}

static const char *text(unsigned n)
{
	static char out[64];
	unsigned size = below(n) + 1;

	for (unsigned i = 0; i < size; i++)
		out[i] = (char)('a' + below(26));
	out[size] = 0;
	return out;
}

static void random_tables(struct writer *w)
{
	struct writer_node nodes[200] = { 0 };
	unsigned count = 1 + below(200);

	writer_info(w, "start_stamp", "5", 1);
	for (unsigned i = below(5); i-- > 0;)
		writer_info(w, text(3), text(40), below(10));
	for (unsigned i = below(4); i-- > 0;)
		writer_clock(w, below(1000), below(1000), below(1000));
	for (unsigned i = below(6); i-- > 0;)
		writer_module(w, 1 + below(9), below(99), 4096, 8192, "0123456789", below(10),
			      text(30));
	for (unsigned i = 0; i < count; i++)
		nodes[i] =
			(struct writer_node){ below(i + 1), below(1u << 30), below(9), below(4) };
	writer_nodes(w, 1 + below(5), nodes, count);
	for (unsigned i = below(5); i-- > 0;)
		writer_counter(w, text(2), below(1u << 30));
	for (unsigned i = below(5); i-- > 0;)
		writer_thread(w, below(6), text(20));
	for (unsigned i = below(4); i-- > 0;) {
		struct statistics s = { .stack = below(200),
					.count = below(9),
					.bytes = below(1000),
					.lifetimes = { below(5), 0, below(5) } };
		uint8_t row[STATISTICS_ROW_MAX];

		writer_chunk(w, CHUNK_STATISTICS, row, (size_t)(statistics_put(row, &s) - row), 0);
	}
	if (below(2))
		writer_counter(w, COUNTER_WHOLE_PEAK_BYTES, below(1u << 24));
	writer_counter(w, COUNTER_REMOVED_ALLOCATIONS, below(100));
	if (below(2)) {
		writer_chunk(w, CHUNK_FILE, "\x01\x08\x00\x02id\x02/xfour", 13, 0);
		writer_chunk(w, CHUNK_FILE, "\x01\x08\x04\x02id\x02/xmore", 13, 0);
	}
	writer_chunk(w, 200, "of a later version", 18, 0);
}

static void random_events(struct writer *w, uint32_t events)
{
	uint64_t now = 10;

	for (uint32_t i = 0; i < events; i++) {
		uint64_t address = 0x1000 + below(events / 4 + 8) * 16;
		uint32_t ring = below(3), kind = below(100);
		enum event_op op = kind < 45   ? OP_ALLOC
				   : kind < 80 ? OP_FREE
				   : kind < 89 ? OP_REALLOC_FROM
				   : kind < 97 ? OP_REALLOC_TO
				   : kind < 98 ? OP_REALLOC_FREED
				   : kind < 99 ? OP_REALLOC_FAILED
					       : OP_THREAD;
		struct event e = make_event(op, below(20), now, address, below(5000), below(250));

		if (op == OP_THREAD)
			e = make_thread(now, below(5), text(12));
		if (op == OP_THREAD && below(2))
			e.word1 = ((uint64_t)below(2) << 32 | below(1000)) | (uint64_t)OP_MARKER
										     << 56;
		if (op == OP_ALLOC && !below(50))
			e.word3 |= (uint64_t)below(1u << 20) << 32; /* slack */
		now += below(3);
		writer_run(w, ring, &e, 1);
		if (writer_room(w) < 16 || !below(5000)) {
			writer_events(w, now);
			if (!below(4))
				random_tables(w);
		}
	}
	writer_events(w, now + 1);
}

void whole_recording(const char *path, uint64_t seed, uint32_t events, bool complete)
{
	struct writer w;
	int fd;

	state = seed * 0x9e3779b97f4a7c15ull + 1;
	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	memcpy(w.out.data + offsetof(struct format_header, id), &seed, sizeof(seed));
	random_tables(&w);
	random_events(&w, events);
	if (complete)
		writer_end(&w, true);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(buf_flush(&w.out, fd), 0);
	close(fd);
	writer_release(&w);
}

static void same_tables(const struct tables *a, const struct tables *b)
{
	assert_int_equal(a->info_count, b->info_count);
	for (size_t i = 0; i < a->info_count; i++) {
		assert_string_equal(a->info[i].key, b->info[i].key);
		assert_int_equal(a->info[i].size, b->info[i].size);
		assert_memory_equal(a->info[i].value, b->info[i].value, a->info[i].size + 1);
	}
	assert_int_equal(a->clock_count, b->clock_count);
	assert_memory_equal(&a->first_clock, &b->first_clock, sizeof(a->first_clock));
	assert_memory_equal(&a->last_clock, &b->last_clock, sizeof(a->last_clock));
	assert_int_equal(a->module_count, b->module_count);
	for (size_t i = 0; i < a->module_count; i++) {
		struct module x = a->modules[i], y = b->modules[i];

		assert_int_equal(x.known, y.known);
		if (x.path)
			assert_string_equal(x.path, y.path);
		x.path = y.path = NULL;
		assert_int_equal(x.bias, y.bias);
		assert_int_equal(x.build_id_size, y.build_id_size);
		assert_memory_equal(x.build_id, y.build_id, sizeof(x.build_id));
	}
	assert_int_equal(a->counter_count, b->counter_count);
	for (size_t i = 0; i < a->counter_count; i++) {
		assert_string_equal(a->counters[i].name, b->counters[i].name);
		assert_int_equal(a->counters[i].value, b->counters[i].value);
	}
	assert_int_equal(a->file_count, b->file_count);
	for (size_t i = 0; i < a->file_count; i++) {
		const struct embedded_file *x = &a->files[i], *y = &b->files[i];

		assert_string_equal(x->path, y->path);
		assert_int_equal(x->total_size, y->total_size);
		assert_int_equal(x->held_size, y->held_size);
		assert_int_equal(x->piece_count, y->piece_count);
		assert_memory_equal(x->pieces, y->pieces, x->piece_count * sizeof(*x->pieces));
	}
	assert_int_equal(a->threads.count, b->threads.count);
	for (size_t i = 0; i < a->threads.count; i++) {
		assert_int_equal(a->threads.rows[i].tid, b->threads.rows[i].tid);
		assert_string_equal(a->threads.rows[i].name, b->threads.rows[i].name);
	}
	assert_int_equal(a->markers.count, b->markers.count);
	for (size_t i = 0; i < a->markers.count; i++) {
		assert_int_equal(a->markers.rows[i].stamp, b->markers.rows[i].stamp);
		assert_int_equal(a->markers.rows[i].value, b->markers.rows[i].value);
		assert_string_equal(a->markers.rows[i].name, b->markers.rows[i].name);
	}
	assert_int_equal(a->removed.count, b->removed.count);
	if (a->removed.count)
		assert_memory_equal(a->removed.rows, b->removed.rows,
				    a->removed.count * sizeof(*a->removed.rows));
	assert_int_equal(a->nodes.count, b->nodes.count);
	assert_int_equal(a->nodes.known, b->nodes.known);
	assert_memory_equal(a->nodes.frame, b->nodes.frame, a->nodes.count * sizeof(uint64_t));
	assert_memory_equal(a->nodes.parent, b->nodes.parent, a->nodes.count * sizeof(uint32_t));
	assert_memory_equal(a->nodes.flags, b->nodes.flags, a->nodes.count);
}

static void same_files(const struct model *a, const struct model *b)
{
	for (size_t i = 0; i < a->tables.file_count; i++) {
		const struct embedded_file *f = &a->tables.files[i];
		struct buf x = { 0 }, y = { 0 };
		struct err err;

		assert_int_equal(model_file(a, f->build_id, f->build_id_size, f->path, &x, &err),
				 model_file(b, f->build_id, f->build_id_size, f->path, &y, &err));
		assert_int_equal(x.size, y.size);
		assert_memory_equal(x.data, y.data, x.size);
		buf_release(&x);
		buf_release(&y);
	}
}

static void same_stats(const struct model *a, const struct model *b)
{
	struct stack_counts counts_a, counts_b;
	struct stack_sums sums_a, sums_b;
	const struct summary *x = model_summary(a), *y = model_summary(b);

	assert_int_equal(x->count, y->count);
	assert_int_equal(x->node_count, y->node_count);
	assert_memory_equal(x->row_of, y->row_of, x->node_count * sizeof(*x->row_of));
	if (x->count)
		assert_memory_equal(x->rows, y->rows, x->count * sizeof(*x->rows));
	stats_count_stacks(a, &counts_a);
	stats_count_stacks(b, &counts_b);
	assert_int_equal(counts_a.stacks, counts_b.stacks);
	assert_int_equal(counts_a.free_stacks, counts_b.free_stacks);
	assert_int_equal(counts_a.deepest, counts_b.deepest);
	assert_int_equal(counts_a.without_stack, counts_b.without_stack);
	stats_sum_stacks(a, &sums_a);
	stats_sum_stacks(b, &sums_b);
	assert_int_equal(sums_a.count, sums_b.count);
	assert_memory_equal(sums_a.rows, sums_b.rows, sums_a.count * sizeof(*sums_a.rows));
	stack_sums_release(&sums_a);
	stack_sums_release(&sums_b);
}

void same_models(const struct model *a, const struct model *b)
{
	const struct columns *x = &a->allocations, *y = &b->allocations;

	assert_int_equal(x->count, y->count);
#define X(type, name)                                                                              \
	for (uint32_t i = 0; i < x->count; i++)                                                    \
		assert_int_equal(columns_##name(x, i), columns_##name(y, i));
	COLUMNS(X)
#undef X
	for (uint32_t i = 0; i < x->count; i++)
		assert_int_equal(columns_slack(x, i), columns_slack(y, i));
	assert_int_equal(a->chain_count, b->chain_count);
	if (a->chain_count)
		assert_memory_equal(a->chains, b->chains, a->chain_count * sizeof(*a->chains));
	assert_memory_equal(&a->totals, &b->totals, sizeof(a->totals));
	assert_memory_equal(&a->recorded, &b->recorded, sizeof(a->recorded));
	assert_int_equal(a->peak_is_whole, b->peak_is_whole);
	assert_int_equal(a->loss.kind, b->loss.kind);
	if (a->loss.kind != LOSS_NONE) {
		assert_string_equal(a->loss.err.text, b->loss.err.text);
		assert_int_equal(a->loss.err.offset, b->loss.err.offset);
	}
	assert_int_equal(a->chunk_count, b->chunk_count);
	assert_int_equal(a->event_chunk_count, b->event_chunk_count);
	/* Behind damage it depends on the threads how far was read. */
	if (a->loss.kind != LOSS_DAMAGED) {
		assert_int_equal(a->reader.ended, b->reader.ended);
		assert_int_equal(a->reader.offset, b->reader.offset);
		assert_int_equal(a->reader.sequence, b->reader.sequence);
	}
	assert_int_equal(model_runtime_ns(a), model_runtime_ns(b));
	same_tables(&a->tables, &b->tables);
	same_files(a, b);
	same_stats(a, b);
}
