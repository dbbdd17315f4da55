/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Groups, their order, and pages of allocations, against brute force. */
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "brute.h"
#include "query/group.h"
#include "query/responsible.h"
#include "query/sort.h"
#include "random_recording.h"
#include "recording_writer.h"

#define ROUNDS 10
#define GROUPS_MAX 2000
#define LABEL_MAX 300

int group_alpha(int x);
int group_beta(int x);
int xmalloc_gamma(int x);
#define LONG_ENOUGH(name)                                                                          \
	__attribute__((noinline)) int name(int x)                                                  \
	{                                                                                          \
		__asm__ volatile("" : "+r"(x));                                                    \
		for (int i = 0; i < x; i++)                                                        \
			__asm__ volatile("" : "+r"(x));                                            \
		return x * 3;                                                                      \
	}
LONG_ENOUGH(group_alpha)
LONG_ENOUGH(group_beta)
LONG_ENOUGH(xmalloc_gamma)

static struct self self;
static uint64_t state = 7;

static uint32_t below(uint32_t n)
{
	return random_below(&state, n);
}

static struct model *round_model(unsigned round)
{
	/* Two addresses of one function: it recurs in stacks, and its lines differ. */
	uint64_t addresses[] = { (uint64_t)group_alpha + 4, (uint64_t)group_alpha + 9,
				 (uint64_t)group_beta + 4, (uint64_t)xmalloc_gamma + 4 };
	struct random_options o = { .seed = round + 100,
				    .events = 30 + round * 60,
				    .nodes = 10 + round * 5,
				    .rich = round % 2 };

	if (round % 4 != 1) {
		o.self = &self;
		o.addresses = addresses;
		o.address_count = 4;
	}
	return random_recording(&o);
}

static const char *const filters[] = {
	"", "size >= 64", "leaked", "thread = 100 or lifetime < 20ns", "size < 0", "backtrace != 0",
};

struct due {
	char label[LABEL_MAX];
	struct brute_sums matched, self, all;
};

struct dues {
	struct due rows[GROUPS_MAX];
	unsigned count;
};

static struct due *due_called(struct dues *d, const char *label)
{
	for (unsigned i = 0; i < d->count; i++)
		if (!strcmp(d->rows[i].label, label))
			return &d->rows[i];
	assert_true(d->count < GROUPS_MAX);
	memset(&d->rows[d->count], 0, sizeof(d->rows[0]));
	snprintf(d->rows[d->count].label, LABEL_MAX, "%s", label);
	return &d->rows[d->count++];
}

/* The labels of a stack's frames, each once; and whose it is. */
struct labels {
	const struct brute *b;
	enum group_kind kind;
	char texts[200][LABEL_MAX];
	unsigned count;
	unsigned frames, responsible; /* met so far; which one of them is responsible */
	unsigned self;		      /* its label */
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool add_label(void *context, const char *function, const char *file, uint32_t line,
		      uint32_t module)
{
	struct labels *l = context;
	const char *path = locations_module_path(l->b->p, module);
	char text[LABEL_MAX];
	unsigned i;

	if (l->kind == GROUP_FUNCTION)
		snprintf(text, sizeof(text), *function ? "%s" : "unknown function in %s",
			 *function ? function : base_name(path));
	else if (l->kind == GROUP_MODULE)
		snprintf(text, sizeof(text), "%s", path);
	else if (!*file)
		snprintf(text, sizeof(text), "unknown source in %s", base_name(path));
	else
		snprintf(text, sizeof(text), "%s:%u", file, line);
	for (i = 0; i < l->count && strcmp(l->texts[i], text) != 0; i++)
		;
	if (i == l->count)
		strcpy(l->texts[l->count++], text);
	if (l->frames++ == l->responsible) {
		assert_true(strncmp(function, "xmalloc", 7) != 0 || !l->responsible);
		l->self = i;
	}
	return false;
}

static void labels_of(struct labels *l, const struct brute *b, const struct view *v,
		      enum group_kind kind, uint32_t stack)
{
	l->b = b;
	l->kind = kind;
	l->count = 0;
	l->self = l->frames = 0;
	l->responsible = responsible_depth(responsible_of_view(v), stack);
	brute_frames(b, stack, add_label, l);
	if (!l->count)
		strcpy(l->texts[l->count++], kind == GROUP_FUNCTION ? "unknown function"
					     : kind == GROUP_MODULE ? "no module"
								    : "unknown source");
}

static void sums_add(struct brute_sums *to, const struct brute_sums *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (!to->count || from->max > to->max)
		to->max = from->max;
	if (!to->count || from->first < to->first)
		to->first = from->first;
	if (!to->count || from->last > to->last)
		to->last = from->last;
	to->count += from->count;
	to->bytes += from->bytes;
	to->slack += from->slack;
	to->leaked_count += from->leaked_count;
	to->leaked_bytes += from->leaked_bytes;
}

/* By the frames of stacks. */
static void due_frames(const struct brute *b, const struct view *v, enum group_kind kind,
		       struct dues *d)
{
	struct labels *l = malloc(sizeof(*l));

	for (uint32_t row = 0; row < b->count; row++) {
		if (!view_has(v, row))
			continue;
		labels_of(l, b, v, kind, brute_stack(b, row));
		for (unsigned i = 0; i < l->count; i++)
			brute_add(b, &due_called(d, l->texts[i])->matched, row);
		brute_add(b, &due_called(d, l->texts[l->self])->self, row);
	}
	for (uint32_t stack = 0; stack < b->m->tables.nodes.count; stack++) {
		struct brute_sums all = brute_group(b, stack);

		if (!all.count)
			continue;
		labels_of(l, b, v, kind, stack);
		for (unsigned i = 0; i < l->count; i++)
			sums_add(&due_called(d, l->texts[i])->all, &all);
	}
	free(l);
}

static void class_label(const struct brute *b, enum group_kind kind, uint32_t row, char *text)
{
	static const char *const decades[] = { "less than 1 \xc2\xb5s",
					       "1 \xc2\xb5s to 10 \xc2\xb5s",
					       "10 \xc2\xb5s to 100 \xc2\xb5s",
					       "100 \xc2\xb5s to 1 ms" };
	const struct columns *c = &b->m->allocations;
	const struct thread *t = &b->m->tables.threads.rows[tags_thread(columns_tags(c, row))];
	uint64_t size = columns_size(c, row), low = 1, limit = 1000;
	unsigned decade = 0;

	switch (kind) {
	case GROUP_STACK:
		snprintf(text, LABEL_MAX, "stack %u", brute_stack(b, row));
		return;
	case GROUP_THREAD:
		if (*t->name)
			snprintf(text, LABEL_MAX, "%s (%" PRIu64 ")", t->name, t->tid);
		else
			snprintf(text, LABEL_MAX, "thread %" PRIu64, t->tid);
		return;
	case GROUP_CALL:
		snprintf(text, LABEL_MAX, "%s",
			 locations_call(b->p, tags_call(columns_tags(c, row))));
		return;
	case GROUP_LIFETIME:
		if (brute_leaked(b, row)) {
			strcpy(text, "never freed");
			return;
		}
		while (brute_span_ns(b, brute_lifetime_ticks(b, row)) >= limit) {
			limit *= 10;
			decade++;
		}
		strcpy(text, decades[decade]);
		return;
	default: /* powers of two */
		while (low * 2 <= size)
			low *= 2;
		snprintf(text, LABEL_MAX, "%" PRIu64, size ? low : 0);
	}
}

static void due_classes(const struct brute *b, const struct view *v, enum group_kind kind,
			struct dues *d)
{
	char text[LABEL_MAX];

	for (uint32_t row = 0; row < b->count; row++) {
		struct due *due;

		class_label(b, kind, row, text);
		due = due_called(d, text);
		if (kind != GROUP_STACK)
			brute_add(b, &due->all, row);
		else if (!due->all.count)
			due->all = brute_group(b, brute_stack(b, row));
		if (!view_has(v, row))
			continue;
		brute_add(b, &due->matched, row);
		brute_add(b, &due->self, row);
	}
}

static void responsible_label(const struct responsible *r, uint32_t stack, char *text)
{
	struct responsible_frame f;
	struct buf name = { 0 };

	if (responsible_find(r, stack, &f))
		responsible_name(r, &f, &name);
	snprintf(text, LABEL_MAX, "%s", name.data ? name.data : "(no stack)");
	buf_release(&name);
}

static void due_responsible(const struct brute *b, const struct view *v, struct dues *d)
{
	const struct responsible *r = responsible_of_view(v);
	char text[LABEL_MAX];

	for (uint32_t row = 0; row < b->count; row++) {
		if (!view_has(v, row))
			continue;
		responsible_label(r, brute_stack(b, row), text);
		brute_add(b, &due_called(d, text)->matched, row);
		brute_add(b, &due_called(d, text)->self, row);
	}
	for (uint32_t stack = 0; stack < b->m->tables.nodes.count; stack++) {
		struct brute_sums all = brute_group(b, stack);

		responsible_label(r, stack, text);
		if (all.count)
			sums_add(&due_called(d, text)->all, &all);
	}
}

static void same_sums(const struct summary_sums *is, const struct brute_sums *due)
{
	assert_int_equal(is->count, due->count);
	assert_int_equal(is->bytes, due->bytes);
	assert_int_equal(is->slack, due->slack);
	assert_int_equal(is->leaked_count, due->leaked_count);
	assert_int_equal(is->leaked_bytes, due->leaked_bytes);
	if (!due->count)
		return;
	assert_int_equal(is->min_size, due->min);
	assert_int_equal(is->max_size, due->max);
	assert_int_equal(is->first_at, due->first);
	assert_int_equal(is->last_at, due->last);
}

static void check_groups(const struct brute *b, const struct groups *g, struct dues *d)
{
	unsigned with = 0;

	for (unsigned i = 0; i < d->count; i++)
		with += d->rows[i].matched.count != 0;
	assert_int_equal(g->count, with);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct group *row = &g->rows[i];
		struct buf label = { 0 };
		uint64_t low, high;
		struct due *due;

		if (g->key->kind == GROUP_SIZE) {
			group_size_bounds(GROUP_SIZE, row->id, &low, &high);
			buf_printf(&label, "%" PRIu64, low);
			assert_true(row->matched.min_size >= low && row->matched.max_size <= high);
		} else {
			groups_label(g, row, &label);
		}
		due = due_called(d, label.data);
		if (!due->matched.count)
			fail_msg("%s: %s", g->key->name, label.data);
		same_sums(&row->matched, &due->matched);
		same_sums(&row->self, &due->self);
		same_sums(&row->all, &due->all);
		buf_release(&label);
	}
}

static void check_classes(const struct groups *g)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		uint64_t low, high;

		group_size_bounds(GROUP_SIZE_CLASS, g->rows[i].id, &low, &high);
		assert_true(g->rows[i].matched.min_size >= low);
		assert_true(g->rows[i].matched.max_size <= high);
		count += g->rows[i].matched.count;
	}
	assert_int_equal(count, g->view->count);
}

static uint64_t sort_value(const struct groups *g, const struct group *row,
			   const struct group_sort *sort)
{
	const struct summary_sums *s = sort->part == PART_ALL	 ? &row->all
				       : sort->part == PART_SELF ? &row->self
								 : &row->matched;
	const struct stack_peak *peak =
		&model_peaks(g->view->model)[g->key->kind == GROUP_STACK ? row->id : 0];
	const uint64_t values[] = { s->bytes,
				    s->bytes + s->slack,
				    s->count ? s->min_size : 0,
				    s->max_size,
				    s->first_at,
				    s->last_at,
				    s->count ? s->last_at - s->first_at : 0,
				    s->count,
				    s->leaked_count,
				    s->leaked_bytes,
				    peak->at,
				    peak->bytes,
				    peak->count };

	return values[sort->number];
}

/* Pages of any size fit together, are in order, and hold every group once. */
static void check_order(const struct groups *g)
{
	static const char *const prefixes[] = { "", "only_matched.", "all.", "self." };
	bool *seen = calloc(g->count + 1, sizeof(bool));
	bool descending = below(2);
	struct group_sort sort;
	uint64_t before = 0;
	uint32_t last = 0, n = 0;
	char name[80];

	do
		snprintf(name, sizeof(name), "%s%s", prefixes[below(4)],
			 group_numbers[below(g->key->kind == GROUP_STACK ? NUMBER_KEY
									 : NUMBER_PEAK_AT)]);
	while (!group_sort_find(g->key, name, &sort));
	for (;;) {
		struct page p = groups_page(g, sort, descending, n, 1 + below(5));

		for (uint32_t i = 0; i < p.count; i++, n++) {
			uint64_t value = sort_value(g, &g->rows[p.rows[i]], &sort);

			assert_false(seen[p.rows[i]]);
			seen[p.rows[i]] = true;
			if (n) {
				assert_true(descending ? before >= value : before <= value);
				assert_true(before != value || last < p.rows[i]);
			}
			before = value;
			last = p.rows[i];
		}
		free(p.rows);
		if (!p.count)
			break;
	}
	assert_int_equal(n, g->count);
	free(seen);
}

static void each_view(void (*work)(const struct brute *, const struct view *))
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct brute b;

		brute_init(&b, m, p);
		for (size_t k = 0; k < sizeof(filters) / sizeof(*filters); k++) {
			struct filter *f = filter_new();
			struct err err;
			struct view *v;

			assert_int_equal(filter_parse(f, filters[k], &err), 0);
			v = view_new(m, p, f, &err);
			assert_non_null(v);
			work(&b, v);
			view_free(v);
			filter_free(f);
		}
		brute_release(&b);
		locations_free(p);
		model_free(m);
	}
}

static void group_view(const struct brute *b, const struct view *v)
{
	struct dues *d = malloc(sizeof(*d));

	for (const struct group_key *key = group_keys; key->name; key++) {
		struct groups *g = groups_new(v, key);

		assert_ptr_equal(group_key_find(key->name), key);
		d->count = 0;
		if (key->kind == GROUP_SIZE_CLASS) {
			check_classes(g);
		} else {
			if (key->kind == GROUP_RESPONSIBLE)
				due_responsible(b, v, d);
			else if (key->from_stack && key->kind != GROUP_STACK)
				due_frames(b, v, key->kind, d);
			else
				due_classes(b, v, key->kind, d);
			check_groups(b, g, d);
		}
		check_order(g);
		groups_free(g);
	}
	free(d);
}

static void groups_are_right(void **context)
{
	each_view(group_view);
}

static void view_of_peaks(const struct brute *b, const struct view *v)
{
	const struct stack_peak *peaks = model_peaks(b->m);

	for (uint32_t row = 0; row < b->count; row++) {
		uint32_t stack = brute_stack(b, row);
		struct brute_peak due = brute_peak(b, stack);

		assert_int_equal(peaks[stack].bytes, due.bytes);
		assert_int_equal(peaks[stack].count, due.count);
		assert_int_equal(peaks[stack].at, due.at);
	}
}

static void own_peaks_are_right(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct view v = { .model = m };
		struct brute b;

		brute_init(&b, m, p);
		view_of_peaks(&b, &v);
		brute_release(&b);
		locations_free(p);
		model_free(m);
	}
}

static uint64_t row_key(const struct brute *b, const struct filter_field *field, uint32_t row)
{
	const struct columns *c = &b->m->allocations;

	if (field->class == FIELD_THREAD)
		return b->m->tables.threads.rows[tags_thread(columns_tags(c, row))].tid;
	switch ((enum row_number)field->which) {
	case ROW_ALLOCATED:
		return columns_allocated_at(c, row);
	case ROW_FREED:
		return columns_freed_at(c, row);
	case ROW_ADDRESS:
		return columns_address(c, row);
	case ROW_SIZE:
		return columns_size(c, row);
	case ROW_USABLE_SIZE:
		return columns_size(c, row) + columns_slack(c, row);
	case ROW_SLACK:
		return columns_slack(c, row);
	case ROW_LIFETIME:
		return brute_lifetime_ticks(b, row);
	case ROW_FIRST_SIZE:
		return columns_size(c, brute_chain_first(b, row));
	case ROW_LAST_SIZE:
		return columns_size(c, brute_chain_last(b, row));
	case ROW_CHAIN_LIFETIME:
		return brute_chain_lifetime_ticks(b, row);
	case ROW_CHAIN_LENGTH:
		return brute_chain_length(b, row);
	case ROW_POSITION:
		return brute_position(b, row);
	case ROW_MARKER:
		return brute_marker(b, row);
	}
	return 0;
}

/* A stable insertion sort of the view's rows. */
static uint32_t sorted(const struct brute *b, const struct view *v,
		       const struct filter_field *field, bool descending, uint32_t *rows)
{
	uint32_t n = 0;

	for (uint32_t row = 0; row < b->count; row++) {
		uint32_t k = n;

		if (!view_has(v, row))
			continue;
		for (; k; k--) {
			uint64_t before = row_key(b, field, rows[k - 1]),
				 here = row_key(b, field, row);

			if (descending ? before >= here : before <= here)
				break;
			rows[k] = rows[k - 1];
		}
		rows[k] = row;
		n++;
	}
	return n;
}

static void page_view(const struct brute *b, const struct view *v)
{
	uint32_t *due = calloc(b->count + 1, sizeof(*due));

	for (const char *word = sort_words; *word; word += strcspn(word, "|"), word += *word == '|')
		for (unsigned descending = 0; descending < 2; descending++) {
			auto_free char *name = xmemdup0(word, strcspn(word, "|"));
			const struct filter_field *key = sort_field(name);
			uint32_t n = sorted(b, v, key, descending, due);
			uint32_t skip = below(2) ? below(n + 2) : 0, count = below(n + 5);
			struct page p = sort_page(v, key, descending, skip, count);
			uint32_t left = skip < n ? n - skip : 0;

			assert_int_equal(p.count, count < left ? count : left);
			for (uint32_t i = 0; i < p.count; i++)
				assert_int_equal(p.rows[i], due[skip + i]);
			free(p.rows);
		}
	free(due);
}

static void pages_are_right(void **context)
{
	each_view(page_view);
}

/* Further than a heap goes: all is selected, then sorted. */
static void far_pages(void **context)
{
	struct model *m = random_recording(
		&(struct random_options){ .seed = 3, .events = 150000, .nodes = 30 });
	struct locations *p = locations_new(m, NULL);
	struct view v = { .model = m, .locations = p, .count = m->allocations.count };
	const struct filter_field *key = sort_field("size");
	struct page all = sort_page(&v, key, true, 0, UINT32_MAX), one;

	assert_true(v.count > 70000);
	assert_int_equal(all.count, v.count);
	for (uint32_t i = 1; i < all.count; i++) {
		uint64_t a = columns_size(&m->allocations, all.rows[i - 1]);
		uint64_t z = columns_size(&m->allocations, all.rows[i]);

		assert_true(a > z || (a == z && all.rows[i - 1] < all.rows[i]));
	}
	for (unsigned i = 0; i < 6; i++) {
		uint32_t skip = below(v.count);

		one = sort_page(&v, key, true, skip, 50);
		for (uint32_t k = 0; k < one.count; k++)
			assert_int_equal(one.rows[k], all.rows[skip + k]);
		free(one.rows);
	}
	free(all.rows);
	locations_free(p);
	model_free(m);
}

static void size_classes_touch(void **context)
{
	uint64_t low, high, before = 0;

	for (uint32_t class = 1; class < 200; class ++) {
		group_size_bounds(GROUP_SIZE_CLASS, class, &low, &high);
		assert_int_equal(low, before + 1);
		assert_true(high >= low);
		before = high;
	}
	for (uint32_t class = 1; class < 64; class ++) {
		group_size_bounds(GROUP_SIZE, class, &low, &high);
		assert_int_equal(high, low * 2 - 1);
	}
	group_size_bounds(GROUP_SIZE, 64, &low, &high);
	assert_true(high == UINT64_MAX);
}

/* Lifetimes of exactly a decade belong to the next one. */
static void decades_begin_where_they_say(void **context)
{
	static const uint64_t lifetimes[] = {
		999, 1000, 9999, 10000, 99999, 100000, 999999, 1000000
	};
	static const uint32_t decades[] = { 0, 1, 1, 2, 2, 3, 3, 4 };
	struct model_options options = { .workers = 0 };
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "clock", "ns", 2);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t at = 1000 + i * 2000000ull;
		struct event events[] = {
			make_event(OP_ALLOC, CALL_malloc, at, 0x1000, i, 0),
			make_event(OP_FREE, CALL_free, at + lifetimes[i], 0x1000, 0, 0),
		};

		writer_run(&w, 0, events, 2);
	}
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
	model_load(m, &options);
	model_finish(m);
	assert_int_equal(m->allocations.count, 8);
	for (unsigned i = 0; i < 8; i++) {
		uint64_t bits = 1ull << i;
		struct view v = { .model = m, .bits = &bits, .count = 1 };
		struct groups *g = groups_new(&v, group_key_find("lifetime"));

		assert_int_equal(g->count, 1);
		assert_int_equal(g->rows[0].id, decades[i]);
		groups_free(g);
	}
	model_free(m);
	writer_release(&w);
}

static void wrong_orders_are_refused(void **context)
{
	struct group_sort sort;
	bool descending;

	assert_false(group_sort_find(group_key_find("function"), "peak_size", &sort));
	assert_false(group_sort_find(group_key_find("stack"), "colour", &sort));
	assert_true(group_sort_find(group_key_find("stack"), "all.max_total_usage_first_seen_at",
				    &sort));
	assert_true(group_sort_find(group_key_find("size"), "key", &sort));
	assert_null(group_key_find("colour"));
	assert_null(sort_field("colour"));
	assert_null(sort_field("deallocation_thread"));
	assert_false(sort_order("down", &descending));
	assert_true(sort_order("dsc", &descending) && descending);
}

static int find_self(void **context)
{
	return self_find(&self);
}

UNIT(group)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_right),
		cmocka_unit_test(own_peaks_are_right),
		cmocka_unit_test(pages_are_right),
		cmocka_unit_test(far_pages),
		cmocka_unit_test(size_classes_touch),
		cmocka_unit_test(decades_begin_where_they_say),
		cmocka_unit_test(wrong_orders_are_refused),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
