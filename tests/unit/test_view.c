/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters against brute force: every field with every comparison at and around values that really
 * occur, every row of the table, and random expressions over all of them. */
#include "base/buf_type.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "claims.h"
#include "query/view.h"
#include "random_recording.h"

#define ROUNDS 12
#define EXPRESSIONS 60 /* random ones, a round */

/* Functions to find by name: they lie behind each other, each long enough for some addresses. */
#define LONG_ENOUGH(name)                                                                          \
	__attribute__((noinline)) int name(int x)                                                  \
	{                                                                                          \
		__asm__ volatile("" : "+r"(x));                                                    \
		for (int i = 0; i < x; i++)                                                        \
			__asm__ volatile("" : "+r"(x));                                            \
		return x * 3;                                                                      \
	}
int brute_alpha_one(int x);
int brute_alpha_two(int x);
int brute_beta_one(int x);
int brute_gamma(int x);
LONG_ENOUGH(brute_alpha_one)
LONG_ENOUGH(brute_alpha_two)
LONG_ENOUGH(brute_beta_one)
LONG_ENOUGH(brute_gamma)

static struct self self;
static struct model *round_model(unsigned round)
{
	uint64_t addresses[] = { (uint64_t)brute_alpha_one + 4, (uint64_t)brute_alpha_two + 4,
				 (uint64_t)brute_beta_one + 4, (uint64_t)brute_gamma + 4 };
	struct random_options o = {
		.seed = round + 1, .events = 40 + round * 45, .nodes = 12 + round * 4, .rich = true
	};

	if (round % 3) {
		o.self = &self;
		o.addresses = addresses;
		o.address_count = 4;
	}
	return random_recording(&o);
}

static void check_view(const struct brute *b, const struct view *v, const struct claim *c)
{
	uint32_t count = 0;
	uint64_t bytes = 0;

	for (uint32_t row = 0; row < b->count; row++) {
		if (view_has(v, row) != c->rows[row])
			fail_msg("%s: row %u is %s", c->text, row,
				 c->rows[row] ? "missing" : "too much");
		count += c->rows[row];
		bytes += c->rows[row] ? columns_size(&b->m->allocations, row) : 0;
	}
	assert_int_equal(v->count, count);
	assert_int_equal(v->bytes, bytes);
}

static void check_expression(const struct brute *b, const struct claim *c)
{
	struct filter *f = filter_new(), *again = filter_new();
	struct buf printed = { 0 };
	struct err err = { .text = "" };
	struct view *v;

	if (filter_parse(f, c->text, &err))
		fail_msg("%s: %s", c->text, err.text);
	v = view_new(b->m, b->p, f, &err);
	if (!v)
		fail_msg("%s: %s", c->text, err.text);
	check_view(b, v, c);
	view_free(v);
	/* What is printed means the same. */
	filter_print(f, &printed);
	if (filter_parse(again, printed.data, &err))
		fail_msg("%s: %s", printed.data, err.text);
	v = view_new(b->m, b->p, again, &err);
	assert_non_null(v);
	check_view(b, v, c);
	view_free(v);
	buf_release(&printed);
	filter_free(f);
	filter_free(again);
}

/* Adds a row with a value, and checks it against an expression's rows. */
static void check_row(const struct brute *b, const char *name, const char *value,
		      const struct claim *c)
{
	struct filter *f = filter_new();
	struct err err = { .text = "" };
	struct view *v;

	if (filter_add(f, name, value, &err))
		fail_msg("%s=%s: %s", name, value, err.text);
	v = view_new(b->m, b->p, f, &err);
	assert_non_null(v);
	check_view(b, v, c);
	view_free(v);
	filter_free(f);
}

static void every_round(void (*work)(const struct brute *))
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct brute b;

		brute_init(&b, m, p);
		work(&b);
		brute_release(&b);
		locations_free(p);
		model_free(m);
	}
}

static void numbers_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < CLAIM_NUMBERS && b->count; i++)
		for (unsigned op = 0; op < OPS; op++) {
			uint64_t value = 0;

			/* Exactly at a value, and on both sides of it. */
			claim_value(b, i, claim_random(b->count), &value);
			for (unsigned k = 0; k < 3; k++)
				if (value + k) {
					claim_number(b, &c, i, op, value + k - 1);
					check_expression(b, &c);
				}
		}
	free(c.rows);
}

static void numbers_have_exact_bounds(void **context)
{
	every_round(numbers_of);
}

static void flags_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < CLAIM_FLAGS; i++) {
		claim_flag(b, &c, i);
		check_expression(b, &c);
	}
	free(c.rows);
}

static void flags_are_right(void **context)
{
	every_round(flags_of);
}

static void expressions_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < EXPRESSIONS; i++) {
		claim_tree(b, &c, claim_random(4));
		check_expression(b, &c);
	}
	free(c.rows);
}

static void random_expressions_are_right(void **context)
{
	every_round(expressions_of);
}

/* The rows with one bound: name, field, comparison. */
static const struct {
	const char *name, *field;
	unsigned op;
} bounds[] = {
	{ "from", "allocated", GE },
	{ "to", "allocated", LE },
	{ "lifetime_min", "lifetime", GE },
	{ "lifetime_max", "lifetime", LE },
	{ "deallocated_after", "deallocated", GE },
	{ "deallocated_until", "deallocated", LE },
	{ "deallocated_before", "deallocated", LT },
	{ "size_min", "size", GE },
	{ "size_max", "size", LE },
	{ "size_larger", "size", GT },
	{ "size_smaller", "size", LT },
	{ "usable_size_min", "usable_size", GE },
	{ "usable_size_max", "usable_size", LE },
	{ "address_min", "address", GE },
	{ "address_max", "address", LE },
	{ "first_size_min", "first_size", GE },
	{ "first_size_max", "first_size", LE },
	{ "first_size_larger", "first_size", GT },
	{ "first_size_smaller", "first_size", LT },
	{ "last_size_min", "last_size", GE },
	{ "last_size_max", "last_size", LE },
	{ "last_size_larger", "last_size", GT },
	{ "last_size_smaller", "last_size", LT },
	{ "chain_length_min", "chain_length", GE },
	{ "chain_length_max", "chain_length", LE },
	{ "chain_lifetime_min", "chain_lifetime", GE },
	{ "chain_lifetime_max", "chain_lifetime", LE },
	{ "position_in_chain_min", "position_in_chain", GE },
	{ "position_in_chain_max", "position_in_chain", LE },
	{ "backtrace_depth_min", "backtrace_depth", GE },
	{ "backtrace_depth_max", "backtrace_depth", LE },
	{ "marker", "marker", EQ },
	{ "group_allocations_min", "group_allocations", GE },
	{ "group_allocations_max", "group_allocations", LE },
	{ "group_leaked_allocations_min", "group_leaked_allocations", GE },
	{ "group_leaked_allocations_max", "group_leaked_allocations", LE },
	{ "group_interval_min", "group_interval", GE },
	{ "group_interval_max", "group_interval", LE },
	{ "group_max_total_usage_first_seen_min", "group_max_total_usage_first_seen", GE },
	{ "group_max_total_usage_first_seen_max", "group_max_total_usage_first_seen", LE },
};
#define BOUNDS_COUNT (sizeof(bounds) / sizeof(*bounds))

static void rows_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < BOUNDS_COUNT && b->count; i++) {
		unsigned field = claim_number_called(bounds[i].field);
		uint64_t value = 0;

		claim_value(b, field, claim_random(b->count), &value);
		for (unsigned k = 0; k < 3; k++) {
			char text[64];

			if (!(value + k))
				continue;
			snprintf(text, sizeof(text), "%" PRIu64 "%s", value + k - 1,
				 claim_is_ns(field) ? "ns" : "");
			claim_number(b, &c, field, bounds[i].op, value + k - 1);
			check_row(b, bounds[i].name, text, &c);
		}
	}
	free(c.rows);
}

static void rows_with_bounds_are_exact(void **context)
{
	every_round(rows_of);
}

/* The other rows: what they mean in other words. */
static const struct {
	const char *name, *value, *expression;
} others[] = {
	{ "lifetime", "all", "" },
	{ "lifetime", "only_leaked", "leaked" },
	{ "lifetime", "only_not_leaked", "not leaked" },
	{ "lifetime", "only_temporary", "not leaked" },
	{ "lifetime", "only_chain_leaked", "chain_leaked" },
	{ "lifetime", "only_not_chain_leaked", "not chain_leaked" },
	{ "lifetime", "only_whole_group_leaked", "group_leaked" },
	{ "temporary", "yes", "temporary" },
	{ "temporary", "no", "not temporary" },
	{ "zeroed", "yes", "zeroed" },
	{ "zeroed", "no", "not zeroed" },
	{ "mmaped", "yes", "mmapped" },
	{ "mmaped", "no", "(main_arena or other_arena) and not mmapped" },
	{ "arena", "main", "main_arena" },
	{ "arena", "non_main", "other_arena" },
	{ "jemalloc", "yes", "jemalloc" },
	{ "jemalloc", "no", "not jemalloc" },
	{ "alive_at", "50%", "alive_at(50%)" },
	{ "alive_at_2", "25%", "alive_at(25%)" },
	{ "leaked_or_deallocated_after", "40%", "not (deallocated <= 40%)" },
	{ "backtraces", "1,3, 5", "backtrace = 1 or backtrace = 3 or backtrace = 5" },
	{ "not_backtraces", "1,3,5", "not backtrace = 1 and backtrace != 3 and backtrace != 5" },
	{ "deallocation_backtraces", "2,4",
	  "deallocation_backtrace = 2 or deallocation_backtrace = 4" },
	{ "not_deallocation_backtraces", "2,4",
	  "not (deallocation_backtrace = 2 or deallocation_backtrace = 4)" },
	{ "thread", "worker", "thread = 100" },
	{ "deallocation_thread", "101", "deallocation_thread = 'main thread'" },
	{ "call", "calloc", "call ~ '^calloc$'" },
	{ "deallocation_call", "realloc", "reallocated" },
	{ "function_regex", "^brute_a",
	  "function = brute_alpha_one or function = brute_alpha_two" },
	{ "source_regex", "test_view", "source = test_view.c" },
	{ "module_regex", "imag|test", "backtrace_depth > 0" },
	{ "negative_function_regex", "beta", "not function = brute_beta_one" },
	{ "negative_source_regex", "view\\.c$", "source != test_view.c" },
	{ "negative_module_regex", ".", "backtrace_depth = 0" },
	{ "hide", "function ~ beta", "size >= 0" }, /* hides frames, no allocations */
	{ "own", "function ~ beta", "size >= 0" },
	{ "filter", "leaked or size > 64", "not (not leaked and size <= 64)" },
};
#define OTHERS_COUNT (sizeof(others) / sizeof(*others))

static void others_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < OTHERS_COUNT; i++) {
		struct filter *f = filter_new();
		struct err err = { .text = "" };
		struct view *v;

		if (filter_parse(f, others[i].expression, &err))
			fail_msg("%s: %s", others[i].expression, err.text);
		v = view_new(b->m, b->p, f, &err);
		assert_non_null(v);
		for (uint32_t row = 0; row < b->count; row++)
			c.rows[row] = view_has(v, row);
		snprintf(c.text, sizeof(c.text), "%s=%s", others[i].name, others[i].value);
		check_row(b, others[i].name, others[i].value, &c);
		view_free(v);
		filter_free(f);
	}
	free(c.rows);
}

static void other_rows_mean_what_they_say(void **context)
{
	every_round(others_of);
}

static void every_row_is_tested(void **context)
{
	for (const struct filter_row *row = filter_rows; row->name; row++) {
		bool found = !strcmp(row->name, "from_map"); /* in test_map_history.c */

		for (unsigned i = 0; i < BOUNDS_COUNT; i++)
			found |= !strcmp(bounds[i].name, row->name);
		for (unsigned i = 0; i < OTHERS_COUNT; i++)
			found |= !strcmp(others[i].name, row->name);
		if (!found)
			fail_msg("no test of %s", row->name);
	}
	for (const struct filter_field *f = filter_fields; f->name; f++) {
		bool found = f->class == FIELD_FRAME || f->class == FIELD_THREAD ||
			     f->class == FIELD_CALL || f->class == FIELD_BACKTRACE ||
			     f->class == FIELD_ALIVE || f->class == FIELD_MAP ||
			     f->class == FIELD_ORIGIN ||    /* in test_origin.c */
			     f->class == FIELD_RESPONSIBLE; /* in test_responsible.c */

		for (unsigned i = 0; i < CLAIM_NUMBERS; i++)
			found |= !strcmp(claim_numbers[i], f->name);
		for (unsigned i = 0; i < CLAIM_FLAGS; i++)
			found |= !strcmp(claim_flags[i], f->name);
		if (!found)
			fail_msg("no test of the field %s", f->name);
	}
}

/* function_regex and source_regex given together are about one frame; in an expression any frames
 * will do. */
static void rows_about_one_frame(const struct brute *b)
{
	struct frame_wish w = { .function = "alpha_two", .file = "test_view.c" };
	struct filter *f = filter_new();
	struct err err;
	struct view *v;

	assert_int_equal(filter_add(f, "function_regex", "alpha_two", &err), 0);
	assert_int_equal(filter_add(f, "source_regex", "test_view\\.c$", &err), 0);
	assert_int_equal(filter_add(f, "function_regex", "brute", &err), 0); /* another frame */
	v = view_new(b->m, b->p, f, &err);
	assert_non_null(v);
	for (uint32_t row = 0; row < b->count; row++)
		assert_int_equal(view_has(v, row),
				 brute_frames(b, brute_stack(b, row), claim_frame_fits, &w));
	view_free(v);
	filter_free(f);
}

static void frame_rows_join(void **context)
{
	every_round(rows_about_one_frame);
}

/* Dates and milliseconds since 1970 reach to the end of what they name. */
static void dates_of(const struct brute *b)
{
	static const uint64_t start_ms = 1760000000000;
	const struct columns *c = &b->m->allocations;
	struct claim claim = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (uint32_t row = 0; row < b->count; row++)
		claim.rows[row] = brute_ns(b, columns_allocated_at(c, row)) < 1000000;
	snprintf(claim.text, sizeof(claim.text), "allocated <= %" PRIu64, start_ms);
	check_expression(b, &claim);
	check_row(b, "to", "1760000000000", &claim);
	snprintf(claim.text, sizeof(claim.text), "allocated = 2025-10-09T08:53:20.000Z");
	check_expression(b, &claim);
	for (uint32_t row = 0; row < b->count; row++)
		claim.rows[row] = true;
	snprintf(claim.text, sizeof(claim.text), "allocated >= %" PRIu64, start_ms);
	check_expression(b, &claim);
	snprintf(claim.text, sizeof(claim.text), "allocated = \"2025-10-09 10:53:20+02:00\"");
	check_expression(b, &claim);
	for (uint32_t row = 0; row < b->count; row++)
		claim.rows[row] = false;
	snprintf(claim.text, sizeof(claim.text), "allocated < 2025-10-09T08:53:20Z");
	check_expression(b, &claim);
	snprintf(claim.text, sizeof(claim.text), "allocated > 2025-10-09T08:53:20Z");
	check_expression(b, &claim);
	snprintf(claim.text, sizeof(claim.text), "allocated >= 2025-10-09T08:53:21Z");
	check_expression(b, &claim);
	snprintf(claim.text, sizeof(claim.text), "allocated <= %" PRIu64, start_ms - 1);
	check_expression(b, &claim);
	free(claim.rows);
}

static void dates_are_understood(void **context)
{
	every_round(dates_of);
}

static void percents_of(const struct brute *b)
{
	struct claim claim = { .rows = calloc(b->count + 1, sizeof(bool)) };
	uint64_t run = brute_ns(b, b->clock.end);

	for (unsigned percent = 0; percent <= 100; percent += 20) {
		uint64_t at = run * percent / 100;

		claim_number(b, &claim, claim_number_called("allocated"), GE, at);
		snprintf(claim.text, sizeof(claim.text), "allocated >= %u%%", percent);
		check_expression(b, &claim);
		claim_number(b, &claim, claim_number_called("group_interval"), LE, at);
		snprintf(claim.text, sizeof(claim.text), "group_interval <= %u%%", percent);
		check_expression(b, &claim);
	}
	free(claim.rows);
}

static void percents_are_of_the_run_time(void **context)
{
	every_round(percents_of);
}

/* More rows than a block has, with words that are full, sparse and empty. */
static void many_rows(void **context)
{
	struct model *m = random_recording(
		&(struct random_options){ .seed = 5, .events = 150000, .nodes = 60, .rich = true });
	struct locations *p = locations_new(m, NULL);
	struct claim c = { 0 };
	struct brute b;

	brute_init(&b, m, p);
	assert_true(b.count > 70000);
	c.rows = calloc(b.count, sizeof(bool));
	for (unsigned i = 0; i < 13; i++) { /* the cheap ones */
		uint64_t value;

		if (claim_value(&b, i, claim_random(b.count), &value)) {
			claim_number(&b, &c, i, claim_random(OPS), value);
			check_expression(&b, &c);
		}
	}
	/* Bounds that lie just where blocks begin and end: those are taken or left as a whole. */
	for (uint32_t row = 4095; row < b.count; row += 4096)
		for (unsigned op = LT; op < OPS; op++) {
			uint64_t at =
				brute_ns(&b, columns_allocated_at(&m->allocations, row + (op & 1)));

			claim_number(&b, &c, claim_number_called("allocated"), op, at);
			check_expression(&b, &c);
			claim_number(&b, &c, claim_number_called("allocated"), op, at - 1);
			check_expression(&b, &c);
		}
	brute_release(&b);
	free(c.rows);
	locations_free(p);
	model_free(m);
}

static void hopeless_patterns_are_refused(void **context)
{
	struct model *m = round_model(1);
	struct locations *p = locations_new(m, NULL);
	struct filter *f = filter_new();
	struct err err = { .text = "" };

	assert_int_equal(filter_parse(f, "function ~ '(([a-z_]+)*)*[0-9]+x$'", &err), 0);
	assert_null(view_new(m, p, f, &err));
	assert_non_null(strstr(err.text, "too many steps"));
	filter_free(f);
	locations_free(p);
	model_free(m);
}

static int find_self(void **context)
{
	return self_find(&self);
}

UNIT(view)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_exact_bounds),
		cmocka_unit_test(flags_are_right),
		cmocka_unit_test(random_expressions_are_right),
		cmocka_unit_test(rows_with_bounds_are_exact),
		cmocka_unit_test(other_rows_mean_what_they_say),
		cmocka_unit_test(every_row_is_tested),
		cmocka_unit_test(frame_rows_join),
		cmocka_unit_test(dates_are_understood),
		cmocka_unit_test(percents_are_of_the_run_time),
		cmocka_unit_test(many_rows),
		cmocka_unit_test(hopeless_patterns_are_refused),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
