/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* model/places: which nodes are at one place, and what a place is called, from many threads. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "model/places.h"
#include "recording_writer.h"
#include "self.h"
#include "wire/shm.h"

#define THREADS 4

static struct self self;

static int set_up(void **context)
{
	return self_find(&self);
}

static __attribute__((noinline)) uint64_t return_address(void)
{
	return (uint64_t)__builtin_return_address(0);
}

static int inner_line;
static inline __attribute__((always_inline)) uint64_t inlined_call(void)
{
	uint64_t pc = return_address();

	inner_line = __LINE__ - 2;
	__asm__ volatile("" ::: "memory");
	return pc;
}

static __attribute__((noinline)) uint64_t outer_call(void)
{
	uint64_t pc = inlined_call();

	__asm__ volatile("" ::: "memory");
	return pc;
}

/* 1: a call; 2: the same, from elsewhere; 3: the exact address of the same place; 4: of another;
 * 5: in no module; 6: in a module that the recording does not name. */
static struct model *load(struct writer *w)
{
	uint64_t pc = outer_call();
	struct writer_node nodes[] = {
		{ 0, pc, 1, 0 },
		{ 1, pc, 1, 0 },
		{ 2, pc - 1, 1, NODE_EXACT },
		{ 3, (uint64_t)set_up, 1, NODE_EXACT },
		{ 4, 0x5001, 0, 0 },
		{ 5, 0x6001, 9, 0 },
	};
	struct model_options options = { 0 };
	struct model *m;
	struct err err;

	writer_init(w, -1);
	writer_header(w, FORMAT_VERSION);
	writer_module(w, 1, self.bias, self.bias, self.bias + (1 << 24), self.build_id,
		      self.build_id_size, self.path);
	writer_nodes(w, 1, nodes, sizeof(nodes) / sizeof(*nodes));
	writer_end(w, true);
	assert_int_equal(model_open_memory(&m, w->out.data, w->out.size, &err), 0);
	model_load(m, &options);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	model_finish(m);
	return m;
}

static void check_call(struct places *p, uint32_t place)
{
	unsigned count;
	const struct place_frame *f = places_frames(p, place, &count);

	assert_int_equal(count, 2);
	assert_string_equal(places_string(p, f[0].function), "inlined_call");
	assert_string_equal(places_string(p, f[0].raw_function), "inlined_call");
	assert_non_null(strstr(places_string(p, f[0].file), "test_places.c"));
	assert_int_equal(f[0].line, inner_line);
	assert_true(f[0].column > 0);
	assert_true(f[0].inlined);
	assert_string_equal(places_string(p, f[1].function), "outer_call");
	assert_int_equal(f[0].file, f[1].file);
	assert_false(f[1].inlined);
}

static void places_of_nodes(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct places *p = places_new(m, NULL);
	const struct place_frame *f;
	unsigned count;

	assert_int_equal(places_count(p), 5);
	assert_int_equal(places_of_node(p, 0), 0);
	assert_int_equal(places_of_node(p, 7), 0);
	assert_int_equal(places_of_node(p, UINT32_MAX), 0);
	assert_int_equal(places_of_node(p, 1), places_of_node(p, 2));
	assert_int_equal(places_of_node(p, 1), places_of_node(p, 3));
	assert_int_not_equal(places_of_node(p, 1), places_of_node(p, 4));
	check_call(p, places_of_node(p, 1));
	f = places_frames(p, places_of_node(p, 4), &count);
	assert_int_equal(count, 1);
	assert_string_equal(places_string(p, f->function), "set_up");
	assert_int_equal(places_at(p, places_of_node(p, 4))->module, 1);
	assert_string_equal(places_module_path(p, 1), self.path);
	assert_int_equal(places_level(p, 1), SYMBOLS_LINES);
	places_free(p);
	model_free(m);
	writer_release(&w);
}

static void what_is_not_known(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct places *p = places_new(m, NULL);
	const struct place_frame *f;
	unsigned count;

	for (uint32_t node = 5; node <= 6; node++) {
		const struct place *at = places_at(p, places_of_node(p, node));

		assert_int_equal(at->module, 0);
		assert_int_equal(at->address, node * 0x1000);
		f = places_frames(p, places_of_node(p, node), &count);
		assert_int_equal(count, 1);
		assert_int_equal(f->function, 0);
		assert_int_equal(f->file, 0);
	}
	f = places_frames(p, 4242, &count);
	assert_int_equal(count, 1);
	assert_int_equal(f->function, 0);
	assert_string_equal(places_string(p, 0), "");
	assert_string_equal(places_string(p, UINT32_MAX), "");
	assert_string_equal(places_module_path(p, 0), "");
	assert_string_equal(places_module_path(p, 9), "");
	assert_int_equal(places_level(p, 9), SYMBOLS_NONE);
	assert_string_equal(places_call(p, CALL_malloc), "malloc");
	assert_string_equal(places_call(p, 127), "(unknown call)");
	places_free(p);
	model_free(m);
	writer_release(&w);
}

static unsigned told;

static void tell(void *context, uint64_t done, uint64_t total)
{
	assert_true(done <= total);
	told++;
}

static void all_at_once(void **context)
{
	struct writer w;
	struct model *m = load(&w);
	struct places_options options = { .progress = tell };
	struct places *p = places_new(m, &options);
	uint32_t strings;

	told = 0;
	places_resolve_all(p);
	assert_true(told > 0);
	strings = places_string_count(p);
	check_call(p, places_of_node(p, 3));
	assert_int_equal(places_string_count(p), strings);
	places_free(p);
	model_free(m);
	writer_release(&w);
}

static void *ask(void *context)
{
	struct places *p = context;

	for (uint32_t i = 0; i < places_count(p); i++) {
		unsigned count;
		const struct place_frame *f = places_frames(p, i, &count);

		if (!count || places_frames(p, i, &count) != f)
			return p;
		for (unsigned k = 0; k < count; k++)
			if (f[k].function && !*places_string(p, f[k].function))
				return p;
	}
	return NULL;
}

static void from_many_threads(void **context)
{
	struct writer w;
	struct model *m = load(&w);

	for (unsigned round = 0; round < 8; round++) {
		struct places *p = places_new(m, NULL);
		pthread_t threads[THREADS];

		for (unsigned i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, ask, p), 0);
		for (unsigned i = 0; i < THREADS; i++) {
			void *wrong;

			pthread_join(threads[i], &wrong);
			assert_null(wrong);
		}
		check_call(p, places_of_node(p, 1));
		places_free(p);
	}
	model_free(m);
	writer_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_of_nodes),
		cmocka_unit_test(what_is_not_known),
		cmocka_unit_test(all_at_once),
		cmocka_unit_test(from_many_threads),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
