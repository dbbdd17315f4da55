/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every exporter on recordings that have little: no events, no threads, no modules, no stacks, no
 * clock, a run of a century; and on random ones, through views of all rows, of some and of none. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/sink.h"
#include "export/export.h"
#include "random_recording.h"
#include "recording_writer.h"

#define ROUNDS 12

static int count_bytes(void *context, const void *bytes, size_t size)
{
	*(uint64_t *)context += size;
	return 0;
}

static uint64_t export_one(const struct exporter *e, const struct view *v, bool by_count,
			   bool groups)
{
	struct export x = {
		.view = v,
		.measuring = measuring_of(v->model, MEASURE_PEAK, 0),
		.by_count = by_count,
		.groups = groups,
		.title = "program",
	};
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t size = 0;
	struct sink s;

	sink_to_function(&s, count_bytes, &size, SINK_PLAIN);
	assert_int_equal(e->write(&x, &s, &err), 0);
	assert_int_equal(sink_finish(&s, &err), 0);
	return size;
}

/* A format with a head has it whatever else there is; a list may be empty. */
static void export_all(const struct view *v)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		for (unsigned how = 0; how < 4; how++) {
			uint64_t size = export_one(*e, v, how & 1, how & 2);

			if (strcmp((*e)->name, "collapsed"))
				assert_true(size > 0);
		}
}

static void look(struct model *m, uint64_t seed)
{
	struct locations *locations = locations_new(m, NULL);
	struct view v = { .model = m, .locations = locations, .count = m->allocations.count };

	locations_resolve_all(locations);
	export_all(&v);
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	v.count = 0;
	export_all(&v);
	for (uint32_t i = 0; i < m->allocations.count; i++)
		if (random_below(&seed, 2)) {
			v.bits[i / 64] |= 1ull << i % 64;
			v.bytes += columns_size(&m->allocations, i);
			v.count++;
		}
	export_all(&v);
	free(v.bits);
	locations_free(locations);
	model_free(m);
}

static void random_ones(void **state)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct random_options o = {
			.seed = round + 1,
			.events = round ? 300 : 1,
			.rich = round % 2,
		};

		look(random_recording(&o), round + 5);
	}
}

static struct model *finish(struct writer *w)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct model_options how = { .workers = 0 };
	struct model *m;

	writer_end(w, true);
	assert_int_equal(model_open_memory(&m, w->out.data, w->out.size, &err), 0);
	model_load(m, &how);
	model_finish(m);
	return m;
}

static void nothing_at_all(void **state)
{
	struct writer w;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	look(finish(&w), 1);
	writer_release(&w);
}

/* A century between two blocks of terabytes, on stacks that are not there, by a ring that nobody
 * named. */
static void little_but_large(void **state)
{
	const uint64_t century = 3155760000ull * 1000000000ull, size = 0xffffffffffffull;
	struct event events[] = {
		make_event(OP_ALLOC, CALL_malloc, 10, 0x1000, size, 7),
		make_event(OP_ALLOC, CALL_malloc, century / 2, 0x7f0000000000, size, 0),
		make_event(OP_FREE, CALL_free, century, 0x1000, 0, 9),
		make_event(OP_ALLOC, CALL_malloc, century + 1, 0x1000, 0, 0),
		make_event(OP_FREE, CALL_free, century + 2, 0x1000, 0, 0),
	};
	struct model *m;
	struct writer w;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_run(&w, 0, events, sizeof(events) / sizeof(events[0]));
	writer_events(&w, century + 2);
	m = finish(&w);
	assert_int_equal(m->allocations.count, 3);
	look(m, 1);
	writer_release(&w);
}

UNIT(export)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_ones),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(little_but_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
