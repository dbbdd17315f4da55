/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Events by thread against all events in order, with budgets for all threads, for some, for none.
 */
#include "unit.h"

#include <stdlib.h>

#include "export/thread_events.h"
#include "random_recording.h"

#define ROUNDS 20

static bool next_of(struct event_iterator *t, const struct view *v, uint32_t thread)
{
	const struct columns *c = &v->model->allocations;

	while (event_iterator_next(t))
		if (view_has(v, t->row) && columns_size(c, t->row) &&
		    tags_thread(columns_tags(c, t->row)) == thread)
			return true;
	return false;
}

static void check_thread(struct thread_events *events, const struct view *v, uint32_t thread)
{
	struct event_iterator due = event_iterator_between(v->model, 0, NEVER);
	struct thread_walk w = thread_events_walk(events, thread);
	uint64_t count = 0;

	while (next_of(&due, v, thread)) {
		assert_true(thread_walk_next(&w));
		assert_int_equal(w.row, due.row);
		assert_int_equal(w.is_free, due.is_free);
		count++;
	}
	assert_false(thread_walk_next(&w));
	assert_int_equal(count, events->counts[thread]);
}

static void check_budget(const struct view *v, uint64_t budget)
{
	struct thread_events events;
	uint64_t total = 0;

	thread_events_init(&events, v);
	if (budget)
		events.budget = budget;
	/* Twice each, as columns do, then backwards. */
	for (uint32_t i = 0; i < events.thread_count; i++) {
		check_thread(&events, v, i);
		check_thread(&events, v, i);
		total += events.counts[i];
	}
	for (uint32_t i = events.thread_count; i-- > 0;)
		check_thread(&events, v, i);
	assert_int_equal(total, events.total);
	thread_events_release(&events);
}

static void every_event_once(void **state)
{
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct random_options o = { .seed = round + 1, .events = 600, .rich = round % 2 };
		struct model *m = random_recording(&o);
		struct view v = { .model = m };
		uint64_t chance = round + 77;

		if (round % 3) {
			v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
			for (uint32_t i = 0; i < m->allocations.count; i++)
				v.bits[i / 64] |= (uint64_t)random_below(&chance, 2) << i % 64;
		}
		check_budget(&v, 0);
		check_budget(&v, 1);
		check_budget(&v, 100);
		check_budget(&v, 200);
		free(v.bits);
		model_free(m);
	}
}

UNIT(thread_events)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
