/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Conditions and what they must say.  See claims.h. */
#include "claims.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random_recording.h"

uint32_t claim_random(uint32_t n)
{
	static uint64_t state = 42;

	return random_below(&state, n);
}

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

const char *const claim_numbers[CLAIM_NUMBERS] = {
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
#define FIRST_NS 9   /* from here on in ns … */
#define BEHIND_NS 13 /* … to here, and: */
bool claim_is_ns(unsigned i)
{
	return (i >= FIRST_NS && i < BEHIND_NS) || i == 16 || i == 20;
}

bool claim_value(const struct brute *b, unsigned i, uint32_t row, uint64_t *ret)
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
		*ret = columns_address(c, row);
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
		*ret = brute_ns(b, columns_allocated_at(c, row));
		return true;
	case 10:
		*ret = brute_ns(b, columns_freed_at(c, row));
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

void claim_number(const struct brute *b, struct claim *c, unsigned i, unsigned op, uint64_t value)
{
	snprintf(c->text, sizeof(c->text), "%s %s %" PRIu64 "%s", claim_numbers[i], op_texts[op],
		 value, claim_is_ns(i) ? "ns" : "");
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t here;
		bool has = claim_value(b, i, row, &here);

		/* What has no value fits no comparison, and so `not equal`. */
		c->rows[row] = has ? compare(op, here, value) : op == NE;
	}
}

const char *const claim_flags[CLAIM_FLAGS] = { "leaked",     "chain_leaked",	     "group_leaked",
					       "temporary",  "reallocated",	     "mmapped",
					       "main_arena", "other_arena",	     "jemalloc",
					       "zeroed",     "freed_by_other_thread" };

static bool flag(const struct brute *b, unsigned i, uint32_t row)
{
	const struct columns *c = &b->m->allocations;
	unsigned f = tags_flags(columns_tags(c, row));
	bool jemalloc = !strcmp(locations_call(b->p, tags_call(columns_tags(c, row))), "mallocx");
	/* Both at once are never glibc's: so another allocator's blocks are marked. */
	bool inside = f & TAG_MMAPPED && f & TAG_NON_MAIN_ARENA;
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
		return !jemalloc && !inside && f & TAG_MMAPPED;
	case 6:
		return !jemalloc && !(f & TAG_NON_MAIN_ARENA);
	case 7:
		return !jemalloc && !inside && f & TAG_NON_MAIN_ARENA;
	case 8:
		return jemalloc;
	case 9:
		return f & TAG_ZEROED;
	default:
		return brute_freed_by_someone(b, row) &&
		       tags_thread(columns_tags(c, row)) != tags_free_thread(columns_tags(c, row));
	}
}

void claim_flag(const struct brute *b, struct claim *c, unsigned i)
{
	snprintf(c->text, sizeof(c->text), "%s", claim_flags[i]);
	for (uint32_t row = 0; row < b->count; row++)
		c->rows[row] = flag(b, i, row);
}

/* alive_at(t, u) */
static void claim_alive(const struct brute *b, struct claim *c)
{
	uint64_t t = brute_ns(b, b->clock.start +
					 claim_random((uint32_t)(b->clock.end - b->clock.start)));
	uint64_t u = claim_random(2) ? t : t + claim_random(500);
	const struct columns *col = &b->m->allocations;

	snprintf(c->text, sizeof(c->text), "alive_at(%" PRIu64 "ns, %" PRIu64 " ns)", t, u);
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t from = brute_ns(b, columns_allocated_at(col, row));
		uint64_t to =
			brute_leaked(b, row) ? NEVER : brute_ns(b, columns_freed_at(col, row));

		c->rows[row] = from <= t && to > t && from <= u && to > u;
	}
}

static void claim_ids(const struct brute *b, struct claim *c)
{
	uint32_t one = claim_random(b->m->tables.nodes.count), two = claim_random(3);
	bool freed = claim_random(2), negative = claim_random(2);

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
	unsigned which = claim_random(7);
	bool freed = claim_random(2), negative = claim_random(2);

	snprintf(c->text, sizeof(c->text), "%s %s %s", freed ? "deallocation_thread" : "thread",
		 negative ? "!=" : "=", values[which]);
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t tags = columns_tags(&b->m->allocations, row);
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
	const char *value = values[claim_random(6)];
	bool freed = claim_random(2), matches = claim_random(2);

	snprintf(c->text, sizeof(c->text), "%s %s \"%s%s%s\"", freed ? "deallocation_call" : "call",
		 matches ? "~" : "=", matches ? "^" : "", value, matches ? "$" : "");
	for (uint32_t row = 0; row < b->count; row++) {
		uint64_t tags = columns_tags(&b->m->allocations, row);
		const char *name =
			locations_call(b->p, freed ? tags_free_call(tags) : tags_call(tags));

		c->rows[row] = !strcmp(name, value) && (!freed || brute_freed_by_someone(b, row));
	}
}

bool claim_frame_fits(void *context, const char *function, const char *file, uint32_t line,
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
	struct frame_wish w = { .function = functions[claim_random(7)] };
	unsigned kind = claim_random(4);

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
		uint64_t tags = columns_tags(&b->m->allocations, row);
		/* The call is a frame with a function and no file. */
		bool fits = brute_frames(b, brute_stack(b, row), claim_frame_fits, &w) ||
			    (!w.file && strstr(locations_call(b->p, tags_call(tags)), w.function));

		c->rows[row] = w.file ? fits : fits == (kind != 0);
	}
}

/* group_leaked_allocations in percent, with a decimal. */
static void claim_share(const struct brute *b, struct claim *c)
{
	unsigned tenths = claim_random(3) ? claim_random(1001) : 500, op = LT + claim_random(4);

	snprintf(c->text, sizeof(c->text), "group_leaked_allocations %s %u.%u%%", op_texts[op],
		 tenths / 10, tenths % 10);
	for (uint32_t row = 0; row < b->count; row++) {
		struct brute_sums s = brute_group(b, brute_stack(b, row));

		c->rows[row] = compare(op, s.leaked_count * 1000, tenths * s.count);
	}
}

static void claim_random_number(const struct brute *b, struct claim *c)
{
	unsigned i = claim_random(CLAIM_NUMBERS);
	uint64_t value = 0;

	if (b->count)
		claim_value(b, i, claim_random(b->count), &value);
	value += claim_random(3); /* one more, one less, or just that */
	claim_number(b, c, i, claim_random(OPS), value ? value - 1 : 0);
}

static void claim_one(const struct brute *b, struct claim *c)
{
	switch (claim_random(9)) {
	case 0:
		claim_flag(b, c, claim_random(CLAIM_FLAGS));
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

void claim_tree(const struct brute *b, struct claim *c, unsigned depth)
{
	struct claim other = { .rows = calloc(b->count + 1, sizeof(bool)) };
	bool both = claim_random(2);

	if (!depth || !claim_random(4)) {
		claim_one(b, c);
		free(other.rows);
		return;
	}
	claim_tree(b, c, depth - 1);
	if (claim_random(3)) {
		char text[sizeof(c->text)];

		claim_tree(b, &other, depth - 1);
		snprintf(text, sizeof(text), "(%.900s) %s (%.900s)", c->text,
			 both ? (claim_random(2) ? "and" : "&&") : (claim_random(2) ? "or" : "||"),
			 other.text);
		strcpy(c->text, text);
		for (uint32_t row = 0; row < b->count; row++)
			c->rows[row] = both ? c->rows[row] && other.rows[row]
					    : c->rows[row] || other.rows[row];
	} else {
		char text[sizeof(c->text)];

		snprintf(text, sizeof(text), "%s(%.1900s)", claim_random(2) ? "not " : "!",
			 c->text);
		strcpy(c->text, text);
		for (uint32_t row = 0; row < b->count; row++)
			c->rows[row] = !c->rows[row];
	}
	free(other.rows);
}

unsigned claim_number_called(const char *name)
{
	unsigned i = 0;

	while (strcmp(claim_numbers[i], name) != 0)
		i++;
	return i;
}
