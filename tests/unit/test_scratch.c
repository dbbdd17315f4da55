/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arrays in files without names: what they hold while they grow, where they are, and what happens
 * where no file can be had. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/map.h"
#include "base/scratch.h"

#define STEPS 40

static uint64_t word_at(size_t i)
{
	return i * 0x9e3779b97f4a7c15ull + 1;
}

/* From a few bytes to 40 MiB; every word that was there is, and every new one is zero. */
static void check_growing(enum scratch_place due, bool seal)
{
	struct scratch s = { 0 };
	size_t filled = 0, size = 24;

	for (unsigned step = 0; step < STEPS && size < (size_t)40 << 20; step++) {
		uint64_t *words = scratch_resize(&s, size);

		assert_ptr_equal(words, s.data);
		assert_int_equal(s.size, size);
		assert_int_equal(s.place, size < SCRATCH_FILE ? SCRATCH_HEAP : due);
		for (size_t i = 0; i < size / sizeof(*words); i++) {
			if (words[i] != (i < filled ? word_at(i) : 0))
				fail_msg("word %zu of %zu", i, size / sizeof(*words));
			words[i] = word_at(i);
		}
		filled = size / sizeof(*words);
		if (seal)
			scratch_seal(&s);
		size = size * 3 / 2 / sizeof(*words) * sizeof(*words);
	}
	/* Never smaller. */
	scratch_resize(&s, 8);
	assert_true(s.size >= filled * 8);
	scratch_release(&s);
	assert_null(s.data);
}

/* Not of this process's own memory: it is of a mapped file without a name. */
static void check_mapped(const void *data)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long from, to;

		if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)data >= from &&
		    (uintptr_t)data < to)
			found = strstr(line, "rw-s") && strstr(line, "(deleted)");
	}
	fclose(maps);
	assert_true(found);
}

static void in_a_file(void **context)
{
	struct scratch s = { 0 };

	check_growing(SCRATCH_MAPPED, false);
	check_growing(SCRATCH_MAPPED, true);
	check_mapped(scratch_resize(&s, SCRATCH_FILE));
	scratch_release(&s);
	scratch_resize(&s, 0);
	assert_non_null(s.data);
	scratch_release(&s);
	scratch_release(&s);
}

/* A file may not be so large: it is in memory then, from the start or from there on. */
static void without_room(void **context)
{
	struct rlimit before, small;

	getrlimit(RLIMIT_FSIZE, &before);
	small = before;
	small.rlim_cur = 4096;
	setrlimit(RLIMIT_FSIZE, &small);
	check_growing(SCRATCH_PAGES, false);
	small.rlim_cur = (rlim_t)5 << 20;
	setrlimit(RLIMIT_FSIZE, &small);
	{
		struct scratch s = { 0 };
		char *data = scratch_resize(&s, (size_t)4 << 20);

		assert_int_equal(s.place, SCRATCH_MAPPED);
		memset(data, 7, s.size);
		data = scratch_resize(&s, (size_t)8 << 20);
		assert_int_equal(s.place, SCRATCH_PAGES);
		for (size_t i = 0; i < s.size; i++)
			if (data[i] != (i < (size_t)4 << 20 ? 7 : 0))
				fail_msg("byte %zu", i);
		scratch_release(&s);
	}
	setrlimit(RLIMIT_FSIZE, &before);
}

static void maps_spill(void **context)
{
	struct map m = { .spill = true };
	uint64_t value = 0;

	for (uint64_t i = 0; i < 200000; i++)
		map_set(&m, word_at(i), i);
	check_mapped(m.entries);
	for (uint64_t i = 0; i < 200000; i++)
		assert_true(map_get(&m, word_at(i), &value) && value == i);
	assert_false(map_get(&m, 5, &value));
	map_release(&m);
	assert_null(m.entries);
}

UNIT(scratch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_file),
		cmocka_unit_test(without_room),
		cmocka_unit_test(maps_spill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
