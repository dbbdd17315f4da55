/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters on what a recording is of: each is true of all of its allocations or of none, and every
 * field has a recording that it is true of, and one that it is not. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf_type.h"
#include "query/origin.h"
#include "query/view.h"
#include "random_recording.h"

#define BUILD_ID "0011aaff"

static const struct self program = { .path = "/opt/shop/cart",
				     .build_id = { 0x00, 0x11, 0xaa, 0xff },
				     .build_id_size = 4 };
static const char *facts[][2] = { { "executable", "/opt/shop/cart" },
				  { "hostname", "web-7" },
				  { "cmdline", "cart" },
				  { NULL, NULL } };

static const struct {
	const char *field, *is, *is_not; /* as expressions go on behind the field */
} rows[] = {
	{ "service", "= cart", "= shop" },
	{ "host", "~ '^web-[0-9]$'", "= web" },
	{ "build", "= " BUILD_ID, "= 0011aafe" },
	{ "command", "= cart", "~ shop" },
	/* Only a fleet knows these: without one they are empty. */
	{ "release", "= ''", "= 1" },
	{ "label", "= ''", "= 'zone=eu'" },
};

static uint32_t count(struct model *m, struct locations *p, const char *field, const char *test)
{
	struct filter *f = filter_new();
	struct err err = { .text = "" };
	struct view *v = NULL;
	char text[256];
	uint32_t found;

	snprintf(text, sizeof(text), "%s %s", field, test);
	if (!filter_parse(f, text, &err))
		v = view_new(m, p, f, &err);
	if (!v)
		fail_msg("%s: %s", text, err.text);
	found = v->count;
	view_free(v);
	filter_free(f);
	return found;
}

static void fields_are_of_the_whole_recording(void **context)
{
	struct random_options o = { .seed = 5, .events = 200, .self = &program, .facts = facts };
	struct model *m = random_recording(&o);
	struct locations *p = locations_new(m, NULL);
	auto_buf struct buf id = { 0 };
	char is[64];

	assert_true(m->allocations.count > 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(count(m, p, rows[i].field, rows[i].is), m->allocations.count);
		assert_int_equal(count(m, p, rows[i].field, rows[i].is_not), 0);
	}
	origin_text(m, ORIGIN_RECORDING, &id);
	assert_int_equal(id.size, 2 * sizeof(m->reader.header.id));
	snprintf(is, sizeof(is), "= %s", id.data);
	assert_int_equal(count(m, p, "recording", is), m->allocations.count);
	assert_int_equal(count(m, p, "recording", "= 0"), 0);
	locations_free(p);
	model_free(m);
}

static void every_field_is_tested(void **context)
{
	for (const struct filter_field *f = filter_fields; f->name; f++) {
		bool found = f->class != FIELD_ORIGIN || !strcmp(f->name, "recording");

		for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			found |= !strcmp(rows[i].field, f->name);
		if (!found)
			fail_msg("no test of %s", f->name);
	}
}

UNIT(origin)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_of_the_whole_recording),
		cmocka_unit_test(every_field_is_tested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
