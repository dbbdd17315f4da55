/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that were looked up before: taken over where the location is the same, and only there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/heap_known.h"
#include "unit.h"

#define MAPS                                                                                       \
	"\nMAPPED_LIBRARIES:\n"                                                                    \
	"1000-2000 r-xp 00000000 00:01 5 /no/such/program\n"                                       \
	"8000-9000 r-xp 00002000 00:01 6 /no/such/library.so\n"

/* The same code in another run, at other addresses. */
#define MOVED                                                                                      \
	"\nMAPPED_LIBRARIES:\n"                                                                    \
	"5000-6000 r-xp 00000000 00:01 5 /no/such/program\n"                                       \
	"c000-d000 r-xp 00002000 00:01 6 /no/such/library.so\n"

#define NAMED(pc, other)                                                                           \
	"--- symbol\nbinary=/no/such/program\n" pc " outer--inner\n" other                         \
	" helper\n---\n--- heap\n"

static void read_dump(struct dump *d, const char *head, const char *pcs, const char *maps)
{
	char text[1024];
	struct err err;

	snprintf(text, sizeof(text),
		 "%sheap_v2/4096\n  t*: 1: 8 [0: 0]\n@ %s\n  t*: 1: 8 [0: 0]\n%s", head, pcs, maps);
	assert_int_equal(dump_read(d, text, strlen(text), &err), 0);
}

static void add_all(struct heap_locations *p, const struct dump *d)
{
	for (size_t i = 0; i < d->pc_count; i++)
		heap_locations_add(p, d, d->pcs[i], false);
}

static const char *function(const struct heap_locations *p, size_t location, size_t frame)
{
	assert_true(frame < p->locations[location].frame_count);
	return strings_at(&p->texts, p->frames[p->locations[location].frame + frame].function);
}

static void is_taken_over(void **state)
{
	const struct heap_locations *known[1];
	struct heap_locations first, second;
	struct dump d;

	read_dump(&d, NAMED("0x1010", "0x8010"), "0x1010 0x8010", MAPS);
	heap_locations_init(&first, &(struct heap_locations_options){ 0 });
	add_all(&first, &d);
	assert_int_equal(heap_known_take(&first), 0); /* there is nothing to take from */
	heap_locations_resolve(&first);
	known[0] = &first;
	heap_locations_init(&second,
			    &(struct heap_locations_options){ .known = known, .known_count = 1 });
	add_all(&second, &d);
	assert_int_equal(heap_known_take(&second), 2);
	assert_string_equal(function(&second, 0, 0), "inner");
	assert_string_equal(function(&second, 0, 1), "outer");
	assert_string_equal(function(&second, 1, 0), "helper");
	assert_true(second.frames[second.locations[0].frame].inlined);
	assert_int_equal(second.locations[1].address, first.locations[1].address);
	/* Once more changes nothing. */
	heap_locations_resolve(&second);
	assert_int_equal(second.frame_count, 3);
	heap_locations_release(&second);
	heap_locations_release(&first);
	dump_release(&d);
}

static void by_file_and_offset(void **state)
{
	const struct heap_locations *known[2];
	struct heap_locations one, two, both;
	struct dump here, there;

	read_dump(&here, "", "0x1010 0x8010", MAPS);
	read_dump(&there, "", "0x5010 0xc010 0xc020", MOVED);
	heap_locations_init(&one, &(struct heap_locations_options){ 0 });
	heap_locations_init(&two, &(struct heap_locations_options){ 0 });
	add_all(&one, &here);
	add_all(&two, &there);
	heap_locations_resolve(&one);
	known[0] = &one;
	known[1] = &two;
	/* The second run's two first locations are those of the first; the third is known by
	 * nobody.
	 */
	heap_locations_init(&both,
			    &(struct heap_locations_options){ .known = known, .known_count = 2 });
	add_all(&both, &here);
	add_all(&both, &there);
	assert_int_equal(both.count, 3);
	assert_int_equal(heap_known_take(&both), 2);
	assert_int_equal(both.locations[2].frame_count, 0);
	heap_locations_resolve(&two);
	assert_int_equal(heap_known_take(&both), 3);
	heap_locations_release(&both);
	heap_locations_release(&two);
	heap_locations_release(&one);
	dump_release(&here);
	dump_release(&there);
}

/* What another dump calls an address is no name of this one's. */
static void not_other_names(void **state)
{
	const struct heap_locations *known[1];
	struct heap_locations first, second;
	struct dump named, plain;

	read_dump(&named, NAMED("0x1010", "0x8010"), "0x1010 0x8010", MAPS);
	read_dump(&plain, "", "0x1010 0x8010", MAPS);
	heap_locations_init(&first, &(struct heap_locations_options){ 0 });
	add_all(&first, &named);
	heap_locations_resolve(&first);
	known[0] = &first;
	heap_locations_init(&second,
			    &(struct heap_locations_options){ .known = known, .known_count = 1 });
	add_all(&second, &plain);
	assert_int_equal(heap_known_take(&second), 0);
	heap_locations_resolve(&second);
	assert_string_equal(function(&second, 0, 0), "");
	heap_locations_release(&second);
	heap_locations_release(&first);
	dump_release(&named);
	dump_release(&plain);
}

UNIT(heap_known)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_taken_over),
		cmocka_unit_test(by_file_and_offset),
		cmocka_unit_test(not_other_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
