/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Random traffic.  See random_recording.h. */
#include "random_recording.h"

#include <stdlib.h>
#include <string.h>

#include "recording_writer.h"
#include "wire/statistics.h"

#define SLOTS 700u
#define SMALL_SLOTS 600u /* of 256 bytes; the others have 256 KiB */
#define THREADS 3
#define PASS 20000u /* steps after which a chunk is written */
#define BASE 0x7f0000000000ull

uint32_t random_below(uint64_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (uint32_t)(((*state * 0x2545f4914f6cdd1dull >> 32) * n) >> 32);
}

struct traffic {
	struct writer w;
	uint64_t state, now;
	bool used[SLOTS];
	uint32_t nodes;
	bool rich;
};

static uint64_t address_of(uint32_t slot)
{
	return slot < SMALL_SLOTS ? BASE + slot * 256ull
				  : BASE + (1 << 24) + (slot - SMALL_SLOTS) * (256ull << 10);
}

static uint32_t find_slot(struct traffic *t, bool used, bool large)
{
	uint32_t first = large ? SMALL_SLOTS : 0, n = large ? SLOTS - SMALL_SLOTS : SMALL_SLOTS;
	uint32_t from = random_below(&t->state, n);

	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = first + (from + i) % n;

		if (t->used[slot] == used)
			return slot;
	}
	return SLOTS;
}

/* Other calls, and what glibc says about its blocks. */
static void enrich(struct traffic *t, struct event *e)
{
	static const enum event_call calls[] = { CALL_malloc, CALL_calloc, CALL_memalign,
						 CALL_mallocx };
	enum event_call call = calls[random_below(&t->state, 4)];
	uint64_t flags = random_below(&t->state, 8);

	if (event_op(e) == OP_ALLOC)
		e->word2 = event_size(e) | (uint64_t)call << 48 | flags << 56;
	if (event_op(e) == OP_ALLOC && !random_below(&t->state, 20))
		e->word3 |= 70000ull << 32; /* more slack than a column has room for */
}

static void emit_marker(struct traffic *t)
{
	struct event e = make_marker(++t->now, random_below(&t->state, 4), "", 0);

	writer_run(&t->w, random_below(&t->state, THREADS), &e, 1);
}

/* What a strip would leave: sums of stacks, some of which have nothing else. */
static void write_removed(struct traffic *t)
{
	uint8_t bytes[STATISTICS_ROW_MAX];

	for (uint32_t stack = 1; stack < t->nodes; stack += 1 + random_below(&t->state, 4)) {
		struct statistics s = { .stack = stack, .call = CALL_malloc };
		uint32_t n = random_below(&t->state, 5);

		for (uint32_t i = 0; i < n; i++)
			statistics_count(&s, random_below(&t->state, 3000),
					 random_below(&t->state, 16),
					 1000 + random_below(&t->state, (uint32_t)(t->now - 999)),
					 random_below(&t->state, 5));
		s.frees = n;
		s.own_peak_bytes = 1 + random_below(&t->state, 1000000);
		s.own_peak_count = 1 + random_below(&t->state, 100);
		s.own_peak_at = 1000 + random_below(&t->state, (uint32_t)(t->now - 999));
		writer_chunk(&t->w, CHUNK_STATISTICS, bytes,
			     (size_t)(statistics_put(bytes, &s) - bytes), 0);
	}
}

static void emit(struct traffic *t, enum event_op op, enum event_call call, uint32_t ring,
		 uint32_t slot, uint64_t size)
{
	uint32_t stack = random_below(&t->state, t->nodes);
	struct event e;

	/* Few stacks do most; one of 50 has none. */
	if (random_below(&t->state, 2))
		stack = random_below(&t->state, t->nodes / 8 + 2);
	if (!random_below(&t->state, 50))
		stack = 0;
	if (t->rich && !random_below(&t->state, 40))
		stack = t->nodes + random_below(&t->state, 3); /* not in the recording */
	t->now += 1 + random_below(&t->state, random_below(&t->state, 100) ? 20 : 3000);
	e = make_event(op, call, t->now, address_of(slot), size, stack);
	e.word3 |= (uint64_t)random_below(&t->state, 16) << 32;
	if (t->rich)
		enrich(t, &e);
	writer_run(&t->w, ring, &e, 1);
}

static uint64_t size_for(struct traffic *t, bool large)
{
	if (large)
		return 1 + random_below(&t->state, (256u << 10) - 64);
	return random_below(&t->state, 4) ? random_below(&t->state, 200)
					  : 16u << random_below(&t->state, 4);
}

static void step(struct traffic *t, bool filling)
{
	uint32_t ring = random_below(&t->state, THREADS);
	bool large = !random_below(&t->state, 12);
	unsigned what = random_below(&t->state, 10);
	uint32_t slot;

	if (what < (filling ? 6u : 4u)) {
		slot = find_slot(t, false, large);
		if (slot == SLOTS)
			return;
		t->used[slot] = true;
		emit(t, OP_ALLOC, CALL_malloc, ring, slot, size_for(t, large));
		if (random_below(&t->state, 3))
			return;
		/* Temporary. */
		t->used[slot] = false;
		emit(t, OP_FREE, CALL_free, ring, slot, 0);
		return;
	}
	slot = find_slot(t, true, large);
	if (slot == SLOTS)
		return;
	if (what < 9) {
		t->used[slot] = false;
		emit(t, OP_FREE, CALL_free, ring, slot, 0);
		return;
	}
	emit(t, OP_REALLOC_FROM, CALL_realloc, ring, slot, 0);
	if (random_below(&t->state, 2)) {
		uint32_t other = find_slot(t, false, large);

		if (other < SLOTS) {
			t->used[slot] = false;
			t->used[other] = true;
			slot = other;
		}
	}
	emit(t, OP_REALLOC_TO, CALL_realloc, ring, slot, size_for(t, large));
}

static void write_head(struct traffic *t, const struct random_options *o)
{
	struct writer *w = &t->w;

	writer_header(w, FORMAT_VERSION);
	writer_info(w, "clock", "tsc", 3);
	writer_info(w, "start_stamp", "900", 3);
	writer_info(w, "start_monotonic_ns", "5000000000", 10);
	for (const char *(*fact)[2] = o->facts; fact && (*fact)[0]; fact++)
		writer_info(w, (*fact)[0], (*fact)[1], strlen((*fact)[1]));
	writer_clock(w, 900, 5000000000, 1760000000000000000);
	if (o->self)
		writer_module(w, 1, o->self->bias, o->self->bias, o->self->bias + (1 << 24),
			      o->self->build_id, o->self->build_id_size, o->self->path);
	else
		writer_module(w, 1, 0, 0x1000, 0x80000000, NULL, 0, "/bin/imaginary");
	for (uint32_t i = 1; i < t->nodes; i++) {
		struct writer_node node = { .parent = random_below(&t->state, i), .module = 1 };

		node.address = o->addresses
				       ? o->addresses[random_below(&t->state, o->address_count)]
				       : 0x1000 + 16 * random_below(&t->state, 30);
		writer_nodes(w, i, &node, 1);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		static const char *const names[] = { "worker", "main thread", "" };
		struct event e = make_thread(++t->now, 100 + i, t->rich ? names[i % 3] : "worker");

		writer_run(w, i, &e, 1);
	}
}

struct model *random_recording(const struct random_options *o)
{
	struct traffic *t = calloc(1, sizeof(*t));
	struct model_options options = { .workers = 0 };
	struct model *m;
	struct err err;

	t->state = o->seed * 0x9e3779b97f4a7c15ull + 1;
	t->now = 1000;
	t->nodes = o->nodes ? o->nodes : 40;
	t->rich = o->rich;
	writer_init(&t->w, -1);
	write_head(t, o);
	for (uint32_t i = 0; i < o->events; i++) {
		step(t, i < o->events * 2 / 3);
		if (t->rich && !random_below(&t->state, 60))
			emit_marker(t);
		if (i % PASS == PASS - 1)
			writer_events(&t->w, t->now);
	}
	writer_events(&t->w, UINT64_MAX);
	if (t->rich)
		write_removed(t);
	/* A third of a nanosecond each, as clocks are. */
	writer_clock(&t->w, t->now + 600, 5000000000 + (t->now + 600 - 900) / 3,
		     1760000000000000000 + (t->now + 600 - 900) / 3);
	writer_end(&t->w, true);
	if (model_open_memory(&m, t->w.out.data, t->w.out.size, &err))
		abort();
	model_load(m, &options);
	if (m->loss.kind != LOSS_NONE)
		abort();
	model_finish(m);
	writer_release(&t->w);
	free(t);
	return m;
}
