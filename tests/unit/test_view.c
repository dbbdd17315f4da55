/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Filters against brute force: every field with every comparison at and around values that really
 * occur, every row of the table, and random expressions over all of them. */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "brute.h"
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
static uint64_t state = 42;

static uint32_t below(uint32_t n)
{
	return random_below(&state, n);
}

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

/* One condition: its text, and which rows it holds for. */
struct claim {
	char text[2000];
	bool *rows;
};

enum { EQ, NE, LT, LE, GT, GE, OPS };
static const char *const op_texts[OPS] = { "=", "!=", "<", "<=", ">", ">=" };

static bool compare(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case EQ:
		return a == b;
	case NE:
		return a != b;
	case LT:
		return a < b;
	case LE:
		return a <= b;
	case GT:
		return a > b;
	default:
		return a >= b;
	}
}

/* Numbers as they are shown: bytes, pieces, ns. */
static const char *const numbers[] = {
	"size",
	"usable_size",
	"slack",
	"address",
	"first_size",
	"last_size",
	"chain_length",
	"position_in_chain",
	"marker",
	"allocated",
	"deallocated",
	"lifetime",
	"chain_lifetime",
	"backtrace_depth",
	"group_allocations",
	"group_leaked_allocations",
	"group_interval",
	"group_size",
	"group_leaked_size",
	"group_peak_size",
	"group_max_total_usage_first_seen",
};
#define NUMBERS_COUNT (sizeof(numbers) / sizeof(*numbers))
#define FIRST_NS 9   /* from here on in ns … */
#define BEHIND_NS 13 /* … to here, and: */
static bool is_ns(unsigned i)
{
	return (i >= FIRST_NS && i < BEHIND_NS) || i == 16 || i == 20;
}

/* False: it has none. */
static bool number(const struct brute *b, unsigned i, uint32_t row, uint64_t *ret)
{
	const struct columns *c = &b->m->allocations;
	struct brute_sums s = { 0 };

	if (i >= 14 && i <= 18)
		s = brute_group(b, brute_stack(b, row));
	switch (i) {
	case 0:
		*ret = columns_size(c, row);
		return true;
	case 1:
		*ret = columns_size(c, row) + columns_slack(c, row);
		return true;
	case 2:
		*ret = columns_slack(c, row);
		return true;
	case 3:
		*ret = c->address[row];
		return true;
	case 4:
		*ret = columns_size(c, brute_chain_first(b, row));
		return true;
	case 5:
		*ret = columns_size(c, brute_chain_last(b, row));
		return true;
	case 6:
		*ret = brute_chain_length(b, row);
		return true;
	case 7:
		*ret = brute_position(b, row);
		return true;
	case 8:
		*ret = brute_marker(b, row);
		return true;
	case 9:
		*ret = brute_ns(b, c->allocated_at[row]);
		return true;
	case 10:
		*ret = brute_ns(b, c->freed_at[row]);
		return !brute_leaked(b, row);
	case 11:
		*ret = brute_span_ns(b, brute_lifetime_ticks(b, row));
		return true;
	case 12:
		*ret = brute_span_ns(b, brute_chain_lifetime_ticks(b, row));
		return true;
	case 13:
		*ret = brute_depth(b, row);
		return true;
	case 14:
		*ret = s.count;
		return true;
	case 15:
		*ret = s.leaked_count;
		return true;
	case 16:
		*ret = brute_span_ns(b, s.last - s.first);
		return true;
	case 17:
		*ret = s.bytes;
		return true;
	case 18:
		*ret = s.leaked_bytes;
		return true;
	case 19:
		*ret = brute_peak(b, brute_stack(b, row)).bytes;
		return true;
	default:
		*ret = brute_ns(b, brute_peak(b, brute_stack(b, row)).at);
		return true;
	}
}

static void claim_number(const struct brute *b, struct claim *c, unsigned i, unsigned op,
			 uint64_t value)
{
	snprintf(c->text, sizeof(c->text), "%s %s %" PRIu64 "%s", numbers[i], op_texts[op], value,
		 is_ns(i) ? "ns" : "");
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t here;
		bool has = number(b, i, row, &here);

		/* What has no value fits no comparison, and so `not equal`. */
		c->rows[row] = has ? compare(op, here, value) : op == NE;
	}
}

static const char *const flags[] = { "leaked",	   "chain_leaked",	   "group_leaked",
				     "temporary",  "reallocated",	   "mmapped",
				     "main_arena", "other_arena",	   "jemalloc",
				     "zeroed",	   "freed_by_other_thread" };
#define FLAGS_COUNT (sizeof(flags) / sizeof(*flags))

static bool flag(const struct brute *b, unsigned i, uint32_t row)
{
	const struct columns *c = &b->m->allocations;
	unsigned f = tags_flags(c->tags[row]);
	bool jemalloc = !strcmp(places_call(b->p, tags_call(c->tags[row])), "mallocx");
	struct brute_sums s;

	switch (i) {
	case 0:
		return brute_leaked(b, row);
	case 1:
		return brute_leaked(b, brute_chain_last(b, row));
	case 2:
		s = brute_group(b, brute_stack(b, row));
		return s.leaked_count == s.count;
	case 3:
		return f & TAG_TEMPORARY;
	case 4:
		return f & TAG_REALLOCATED;
	case 5:
		return !jemalloc && f & TAG_MMAPPED;
	case 6:
		return !jemalloc && !(f & TAG_NON_MAIN_ARENA);
	case 7:
		return !jemalloc && f & TAG_NON_MAIN_ARENA;
	case 8:
		return jemalloc;
	case 9:
		return f & TAG_ZEROED;
	default:
		return brute_freed_by_someone(b, row) &&
		       tags_thread(c->tags[row]) != tags_free_thread(c->tags[row]);
	}
}

static void claim_flag(const struct brute *b, struct claim *c, unsigned i)
{
	snprintf(c->text, sizeof(c->text), "%s", flags[i]);
	for (uint32_t row = 0; row < b->count; row++)
		c->rows[row] = flag(b, i, row);
}

/* alive_at(t, u) */
static void claim_alive(const struct brute *b, struct claim *c)
{
	uint64_t t = brute_ns(b, b->clock.start + below((uint32_t)(b->clock.end - b->clock.start)));
	uint64_t u = below(2) ? t : t + below(500);
	const struct columns *col = &b->m->allocations;

	snprintf(c->text, sizeof(c->text), "alive_at(%" PRIu64 "ns, %" PRIu64 " ns)", t, u);
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t from = brute_ns(b, col->allocated_at[row]);
		uint64_t to = brute_leaked(b, row) ? NEVER : brute_ns(b, col->freed_at[row]);

		c->rows[row] = from <= t && to > t && from <= u && to > u;
	}
}

static void claim_ids(const struct brute *b, struct claim *c)
{
	uint32_t one = below(b->m->tables.nodes.count), two = below(3);
	bool freed = below(2), negative = below(2);

	snprintf(c->text, sizeof(c->text), "%s %s %u, %u",
		 freed ? "deallocation_backtrace" : "backtrace", negative ? "!=" : "=", one, two);
	for (uint32_t row = 0; row < b->count; row++) {
		uint32_t stack = freed ? brute_free_stack(b, row) : brute_stack(b, row);
		bool in = (stack == one || stack == two) &&
			  (!freed || brute_freed_by_someone(b, row));

		c->rows[row] = in != negative;
	}
}

static void claim_thread(const struct brute *b, struct claim *c)
{
	static const char *const values[] = { "100",	       "101", "102",   "worker",
					      "'main thread'", "''",  "absent" };
	unsigned which = below(7);
	bool freed = below(2), negative = below(2);

	snprintf(c->text, sizeof(c->text), "%s %s %s", freed ? "deallocation_thread" : "thread",
		 negative ? "!=" : "=", values[which]);
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t tags = b->m->allocations.tags[row];
		const struct thread *t =
			&b->m->tables.threads
				 .rows[freed ? tags_free_thread(tags) : tags_thread(tags)];
		uint64_t tid = which < 6 ? 100 + which % 3 : 0;

		c->rows[row] =
			(t->tid == tid && (!freed || brute_freed_by_someone(b, row))) != negative;
	}
}

static void claim_call(const struct brute *b, struct claim *c)
{
	static const char *const values[] = { "malloc",	 "calloc", "memalign",
					      "realloc", "free",   "mallocx" };
	const char *value = values[below(6)];
	bool freed = below(2), matches = below(2);

	snprintf(c->text, sizeof(c->text), "%s %s \"%s%s%s\"", freed ? "deallocation_call" : "call",
		 matches ? "~" : "=", matches ? "^" : "", value, matches ? "$" : "");
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t tags = b->m->allocations.tags[row];
		const char *name =
			places_call(b->p, freed ? tags_free_call(tags) : tags_call(tags));

		c->rows[row] = !strcmp(name, value) && (!freed || brute_freed_by_someone(b, row));
	}
}

struct frame_wish {
	const char *function, *file; /* parts of names; NULL: any */
};

static bool frame_fits(void *context, const char *function, const char *file, uint32_t line,
		       uint32_t module)
{
	const struct frame_wish *w = context;

	return (!w->function || strstr(function, w->function)) &&
	       (!w->file || strstr(file, w->file));
}

static void claim_frame(const struct brute *b, struct claim *c)
{
	static const char *const functions[] = { "alpha",  "alpha_one", "beta",	 "gamma",
						 "brute_", "alloc",	"absent" };
	struct frame_wish w = { .function = functions[below(7)] };
	unsigned kind = below(4);

	if (kind == 2)
		w.file = "test_view.c";
	if (kind == 3)
		w.file = "elsewhere";
	if (w.file)
		snprintf(c->text, sizeof(c->text), "frame(function ~ '%s' and source ~ '%s')",
			 w.function, w.file);
	else
		snprintf(c->text, sizeof(c->text), "function %s '%s'", kind ? "~" : "!~",
			 w.function);
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t tags = b->m->allocations.tags[row];
		/* The call is a frame with a function and no file. */
		bool fits = brute_frames(b, brute_stack(b, row), frame_fits, &w) ||
			    (!w.file && strstr(places_call(b->p, tags_call(tags)), w.function));

		c->rows[row] = w.file ? fits : fits == (kind != 0);
	}
}

/* group_leaked_allocations in percent, with a decimal. */
static void claim_share(const struct brute *b, struct claim *c)
{
	unsigned tenths = below(3) ? below(1001) : 500, op = LT + below(4);

	snprintf(c->text, sizeof(c->text), "group_leaked_allocations %s %u.%u%%", op_texts[op],
		 tenths / 10, tenths % 10);
	for (uint32_t row = 0; row < b->count; row++) {
		struct brute_sums s = brute_group(b, brute_stack(b, row));

		c->rows[row] = compare(op, s.leaked_count * 1000, tenths * s.count);
	}
}

static void claim_random_number(const struct brute *b, struct claim *c)
{
	unsigned i = below(NUMBERS_COUNT);
	uint64_t value = 0;

	if (b->count)
		number(b, i, below(b->count), &value);
	value += below(3); /* one more, one less, or just that */
	claim_number(b, c, i, below(OPS), value ? value - 1 : 0);
}

static void claim_one(const struct brute *b, struct claim *c)
{
	switch (below(9)) {
	case 0:
		claim_flag(b, c, below(FLAGS_COUNT));
		return;
	case 1:
		claim_alive(b, c);
		return;
	case 2:
		claim_ids(b, c);
		return;
	case 3:
		claim_thread(b, c);
		return;
	case 4:
		claim_call(b, c);
		return;
	case 5:
		claim_frame(b, c);
		return;
	case 6:
		claim_share(b, c);
		return;
	default:
		claim_random_number(b, c);
	}
}

/* and, or, not over claims, to a depth. */
static void claim_tree(const struct brute *b, struct claim *c, unsigned depth)
{
	struct claim other = { .rows = calloc(b->count + 1, sizeof(bool)) };
	bool both = below(2);

	if (!depth || !below(4)) {
		claim_one(b, c);
		free(other.rows);
		return;
	}
	claim_tree(b, c, depth - 1);
	if (below(3)) {
		char text[sizeof(c->text)];

		claim_tree(b, &other, depth - 1);
		snprintf(text, sizeof(text), "(%.900s) %s (%.900s)", c->text,
			 both ? (below(2) ? "and" : "&&") : (below(2) ? "or" : "||"), other.text);
		strcpy(c->text, text);
		for (uint32_t row = 0; row < b->count; row++)
			c->rows[row] = both ? c->rows[row] && other.rows[row]
					    : c->rows[row] || other.rows[row];
	} else {
		char text[sizeof(c->text)];

		snprintf(text, sizeof(text), "%s(%.1900s)", below(2) ? "not " : "!", c->text);
		strcpy(c->text, text);
		for (uint32_t row = 0; row < b->count; row++)
			c->rows[row] = !c->rows[row];
	}
	free(other.rows);
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
		struct places *p = places_new(m, NULL);
		struct brute b;

		brute_init(&b, m, p);
		work(&b);
		brute_release(&b);
		places_free(p);
		model_free(m);
	}
}

static void numbers_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < NUMBERS_COUNT && b->count; i++)
		for (unsigned op = 0; op < OPS; op++) {
			uint64_t value = 0;

			/* Exactly at a value, and on both sides of it. */
			number(b, i, below(b->count), &value);
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

	for (unsigned i = 0; i < FLAGS_COUNT; i++) {
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
		claim_tree(b, &c, below(4));
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

static unsigned number_called(const char *name)
{
	unsigned i = 0;

	while (strcmp(numbers[i], name) != 0)
		i++;
	return i;
}

static void rows_of(const struct brute *b)
{
	struct claim c = { .rows = calloc(b->count + 1, sizeof(bool)) };

	for (unsigned i = 0; i < BOUNDS_COUNT && b->count; i++) {
		unsigned field = number_called(bounds[i].field);
		uint64_t value = 0;

		number(b, field, below(b->count), &value);
		for (unsigned k = 0; k < 3; k++) {
			char text[64];

			if (!(value + k))
				continue;
			snprintf(text, sizeof(text), "%" PRIu64 "%s", value + k - 1,
				 is_ns(field) ? "ns" : "");
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
	{ "mmaped", "no", "not mmapped and not jemalloc" },
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
		bool found = false;

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
			     f->class == FIELD_ALIVE;

		for (unsigned i = 0; i < NUMBERS_COUNT; i++)
			found |= !strcmp(numbers[i], f->name);
		for (unsigned i = 0; i < FLAGS_COUNT; i++)
			found |= !strcmp(flags[i], f->name);
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
				 brute_frames(b, brute_stack(b, row), frame_fits, &w));
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
		claim.rows[row] = brute_ns(b, c->allocated_at[row]) < 1000000;
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

		claim_number(b, &claim, number_called("allocated"), GE, at);
		snprintf(claim.text, sizeof(claim.text), "allocated >= %u%%", percent);
		check_expression(b, &claim);
		claim_number(b, &claim, number_called("group_interval"), LE, at);
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
	struct places *p = places_new(m, NULL);
	struct claim c = { 0 };
	struct brute b;

	brute_init(&b, m, p);
	assert_true(b.count > 70000);
	c.rows = calloc(b.count, sizeof(bool));
	for (unsigned i = 0; i < 13; i++) { /* the cheap ones */
		uint64_t value;

		if (number(&b, i, below(b.count), &value)) {
			claim_number(&b, &c, i, below(OPS), value);
			check_expression(&b, &c);
		}
	}
	/* Bounds that lie just where blocks begin and end: those are taken or left as a whole. */
	for (uint32_t row = 4095; row < b.count; row += 4096)
		for (unsigned op = LT; op < OPS; op++) {
			uint64_t at = brute_ns(&b, m->allocations.allocated_at[row + (op & 1)]);

			claim_number(&b, &c, number_called("allocated"), op, at);
			check_expression(&b, &c);
			claim_number(&b, &c, number_called("allocated"), op, at - 1);
			check_expression(&b, &c);
		}
	brute_release(&b);
	free(c.rows);
	places_free(p);
	model_free(m);
}

static void hopeless_patterns_are_refused(void **context)
{
	struct model *m = round_model(1);
	struct places *p = places_new(m, NULL);
	struct filter *f = filter_new();
	struct err err = { .text = "" };

	assert_int_equal(filter_parse(f, "function ~ '(([a-z_]+)*)*[0-9]+x$'", &err), 0);
	assert_null(view_new(m, p, f, &err));
	assert_non_null(strstr(err.text, "too many steps"));
	filter_free(f);
	places_free(p);
	model_free(m);
}

static int find_self(void **context)
{
	return self_find(&self);
}

int main(void)
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
