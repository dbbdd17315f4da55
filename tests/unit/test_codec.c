/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wire/codec.c: what was encoded is decoded, and nothing else is believed. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "recording_writer.h"
#include "wire/mips64/map_flags.h"

static uint64_t state = 88172645463325252ull;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Any number of bits: small and extreme values are equally likely. */
static uint64_t any_number(unsigned bits)
{
	uint64_t v = next_random() >> (next_random() % 64);

	return next_random() % 16 ? v & (~0ull >> (64 - bits)) : ~0ull >> (64 - bits);
}

static struct event any_event(void)
{
	enum event_op op = 1 + next_random() % (OP_COUNT - 1);
	struct event e;

	if (op == OP_THREAD)
		return make_thread(any_number(64), any_number(56), "a thread");
	if (op == OP_MARKER)
		return make_marker(any_number(64), (uint32_t)any_number(32), "a long enough marker",
				   next_random() % 2);
	e = make_event(op, (enum event_call)any_number(8), any_number(64), any_number(56), 0,
		       (uint32_t)any_number(next_random() % 2 ? 4 : 32));
	/* A plain free has no size, slack or flags; others may. */
	if (next_random() % 3) {
		e.word2 |= any_number(48) | any_number(8) << 56;
		e.word3 |= any_number(32) << 32;
	}
	return e;
}

struct encoded {
	struct codec_encoder encoder;
	void *scratch;
	uint8_t *payload;
	size_t size;
};

static void start(struct encoded *e)
{
	e->scratch = xmalloc(codec_scratch_size());
	e->payload = xcalloc(1, codec_payload_bound() + CODEC_PAD);
	codec_start(&e->encoder, e->scratch);
}

static void stop(struct encoded *e)
{
	free(e->scratch);
	free(e->payload);
	free(e);
}

static void check_round(const struct event *events, const uint32_t *runs, uint32_t run_count)
{
	struct encoded *e = xcalloc(1, sizeof(*e));
	struct codec_decoder *d = xcalloc(1, sizeof(*d));
	uint32_t at = 0, ring, count;

	start(e);
	for (uint32_t i = 0; i < run_count; at += runs[i++])
		codec_add(&e->encoder, i % 7, events + at, runs[i]);
	e->size = codec_finish(&e->encoder, 12345, e->payload);
	assert_true(e->size <= codec_payload_bound());
	assert_true(codec_open(d, e->payload, e->size));
	assert_int_equal(d->horizon, 12345);
	assert_int_equal(d->event_count, at);
	at = 0;
	for (uint32_t i = 0; i < run_count; i++) {
		struct event *out;

		if (!runs[i])
			continue; /* such a run is not stored */
		assert_true(codec_next_run(d, &ring, &count));
		assert_int_equal(ring, i % 7);
		assert_int_equal(count, runs[i]);
		out = xcalloc(count, sizeof(*out));
		assert_true(codec_read(d, out, count));
		assert_memory_equal(out, events + at, count * sizeof(*out));
		free(out);
		at += count;
	}
	assert_false(codec_next_run(d, &ring, &count));
	free(d);
	stop(e);
}

static void every_event_comes_back(void **context)
{
	struct event *events = xcalloc(CODEC_CHUNK_EVENTS, sizeof(*events));

	for (unsigned round = 0; round < 30; round++) {
		uint32_t runs[40], total = 0;

		for (unsigned i = 0; i < 40; i++) {
			runs[i] = (uint32_t)(next_random() % 700);
			total += runs[i];
		}
		for (uint32_t i = 0; i < total; i++)
			events[i] = any_event();
		check_round(events, runs, 40);
	}
	free(events);
}

static void largest_chunk(void **context)
{
	struct event *events = xcalloc(CODEC_CHUNK_EVENTS, sizeof(*events));
	uint32_t runs[1] = { CODEC_CHUNK_EVENTS };

	for (uint32_t i = 0; i < CODEC_CHUNK_EVENTS; i++)
		events[i] = make_event(OP_REALLOC_TO, (enum event_call)any_number(7), next_random(),
				       next_random(), next_random(), (uint32_t)next_random());
	check_round(events, runs, 1);
	free(events);
}

static void empty_chunk(void **context)
{
	uint32_t runs[1] = { 0 };

	struct event none[1] = { 0 };

	check_round(none, runs, 1);
}

/* Reads a payload to its end; whether that works is not the question, only that it ends well. */
static void read_all(const uint8_t *payload, size_t size)
{
	struct codec_decoder *d = xcalloc(1, sizeof(*d));
	uint8_t *copy = xmalloc(size + CODEC_PAD);
	uint32_t ring, count;

	if (size)
		memcpy(copy, payload, size);
	memset(copy + size, 0xee, CODEC_PAD);
	if (codec_open(d, copy, size)) {
		while (codec_next_run(d, &ring, &count)) {
			struct event *out = xcalloc(count, sizeof(*out));
			bool fine = codec_read(d, out, count);

			for (uint32_t i = 0; fine && i < count; i++)
				assert_in_range(event_op(&out[i]), OP_ALLOC, OP_COUNT - 1);
			free(out);
			if (!fine)
				break;
		}
	}
	free(copy);
	free(d);
}

static void broken_payloads_are_survived(void **context)
{
	struct encoded *e = xcalloc(1, sizeof(*e));
	struct event events[60];

	for (unsigned i = 0; i < 60; i++)
		events[i] = any_event();
	start(e);
	codec_add(&e->encoder, 1, events, 20);
	codec_add(&e->encoder, 2, events + 20, 40);
	e->size = codec_finish(&e->encoder, 1, e->payload);
	for (size_t n = 0; n <= e->size; n++)
		read_all(e->payload, n);
	for (size_t i = 0; i < e->size; i++) {
		uint8_t was = e->payload[i];

		for (unsigned v = 0; v < 256; v += 5) {
			e->payload[i] = (uint8_t)v;
			read_all(e->payload, e->size);
		}
		e->payload[i] = was;
	}
	for (unsigned round = 0; round < 5000; round++) {
		uint8_t *copy = (uint8_t *)xmemdup0(e->payload, e->size);

		for (unsigned k = 0; k < 3; k++)
			copy[next_random() % e->size] = (uint8_t)next_random();
		read_all(copy, e->size);
		free(copy);
	}
	stop(e);
}

/* Those of MIPS in the numbers of x86-64. */
static void flags_of_maps(void **unused)
{
	(void)unused;
	assert_int_equal(map_flags_common(0x802), 0x22);	/* private, anonymous */
	assert_int_equal(map_flags_common(0x40802), 0x20022);	/* the same, a stack */
	assert_int_equal(map_flags_common(0x100812), 0x100032); /* fixed, no replacing */
	assert_int_equal(map_flags_common(0xffc00), 0x7f920);	/* one of each */
}

UNIT(codec)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_comes_back),
		cmocka_unit_test(largest_chunk),
		cmocka_unit_test(empty_chunk),
		cmocka_unit_test(broken_payloads_are_survived),
		cmocka_unit_test(flags_of_maps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
