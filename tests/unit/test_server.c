/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Parts of the server that can be looked at without a connection. */
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "answer/flame_layout.h"
#include "answer/param.h"
#include "answer/views.h"
#include "answer/words.h"
#include "base/buf_type.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "query/allocator.h"
#include "query/areas.h"
#include "query/cursor.h"
#include "query/series.h"
#include "query/spark.h"
#include "random_recording.h"
#include "server/guard.h"
#include "server/route.h"

static void decodes_addresses(void **state)
{
	struct params p;
	struct err err;

	assert_int_equal(params_decode(&p, "/a%20b/+?x=1+2%2B&y&=z&x=%c3%a4&&#rest", &err), 0);
	assert_string_equal(p.path, "/a b/+");
	assert_int_equal(p.count, 4);
	assert_string_equal(p.rows[0].name, "x");
	assert_string_equal(p.rows[0].value, "1 2+");
	assert_string_equal(p.rows[1].name, "y");
	assert_string_equal(p.rows[1].value, "");
	assert_string_equal(p.rows[2].name, "");
	assert_string_equal(p.rows[2].value, "z");
	assert_string_equal(p.rows[3].value, "\xc3\xa4");
	params_release(&p);
	for (const char *const *bad =
		     (const char *[]){ "/%", "/%1", "/?a=%1", "/?a=%zz", "/%00", "/?%00=1", NULL };
	     *bad; bad++) {
		assert_int_not_equal(params_decode(&p, *bad, &err), 0);
		params_release(&p);
	}
}

static void counts_in_units_of_browsers(void **state)
{
	const char *text = "a\xc3\xa4\xf0\x9f\x98\x80z\xff";

	assert_int_equal(param_position(text, 0), 0);
	assert_int_equal(param_position(text, 1), 1);
	assert_int_equal(param_position(text, 3), 2);
	assert_int_equal(param_position(text, 7), 4);
	assert_int_equal(param_position(text, 8), 5);
	assert_int_equal(param_position(text, 99), 6);
}

static void matches_routes(void **state)
{
	char *args[ROUTE_ARGS];

	assert_true(route_fits("/", "/", args));
	assert_true(route_fits("/data/{id}/flame", "/data/x/flame", args));
	assert_string_equal(args[0], "x");
	free(args[0]);
	for (const char *const *bad =
		     (const char *[]){ "", "/", "/data", "/data/", "/data/x", "/data/x/",
				       "/data//flame", "/data/x/flame/", "/data/x/flames",
				       "data/x/flame", NULL };
	     *bad; bad++)
		assert_false(route_fits("/data/{id}/flame", *bad, args));
	assert_false(route_fits("/", "", args));
	assert_false(route_fits("/list", "/list/", args));
}

/* Every path, parameter and choice of the table is sound. */
static void the_table_is_sound(void **state)
{
	struct err err;

	for (const struct route *const *table = routes; *table; table++)
		for (const struct route *r = *table; r->path; r++) {
			assert_true(r->answer || r->way == ROUTE_UPLOAD);
			assert_non_null(r->help);
			for (const struct param_row *p = r->params; p && p->name; p++) {
				assert_int_equal(p->type == PARAM_CHOICE, p->values != NULL);
				assert_true(!p->fallback || !strcmp(p->fallback, "all") ||
					    !param_check(p, p->fallback, &err));
				for (const struct param_row *q = p + 1; q->name; q++)
					assert_string_not_equal(p->name, q->name);
			}
		}
}

static void knows_its_hosts(void **state)
{
	struct server s = { .loopback = true, .host_name = "box", .options.address = "127.0.0.1" };

	assert_true(guard_is_our_host(&s, "localhost:80"));
	assert_true(guard_is_our_host(&s, "[::1]"));
	assert_true(guard_is_our_host(&s, "10.1.2.3:9"));
	assert_false(guard_is_our_host(&s, "box"));
	assert_false(guard_is_our_host(&s, NULL));
	assert_false(guard_is_our_host(&s, "localhost.example"));
	assert_false(guard_is_our_host(&s, "[::1]x"));
	s.loopback = false;
	assert_true(guard_is_our_host(&s, "BOX:8080"));
}

static void shortens_templates(void **state)
{
	static const char *const rows[][2] = {
		{ "main", "main" },
		{ "std::vector<int, std::allocator<int> >::push_back(int)",
		  "std::vector<...>::push_back(int)" },
		{ "bool operator< <int>(X<int>)", "bool operator< <...>(X<...>)" },
		{ "operator<<(std::ostream&)", "operator<<(std::ostream&)" },
		{ "A::operator->()", "A::operator->()" },
		{ "f<(lambda)()->int>::g", "f<...>::g" },
		{ "<alloc::vec::Vec<T> as X>::f", "<alloc::vec::Vec<...> as X>::f" },
	};
	struct buf out = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		buf_clear(&out);
		words_strip_templates(rows[i][0], &out);
		assert_string_equal(out.data, rows[i][1]);
	}
	buf_release(&out);
}

static void finds_the_cursor(void **state)
{
	static const struct {
		const char *text;
		size_t at;
		enum place_kind kind;
		size_t from, to;
	} rows[] = {
		{ "", 0, PLACE_CONDITION, 0, 0 },
		{ "si", 2, PLACE_CONDITION, 0, 2 },
		{ "size", 2, PLACE_CONDITION, 0, 4 },
		{ "size ", 5, PLACE_OPERATOR, 5, 5 },
		{ "size >= ", 8, PLACE_VALUE, 8, 8 },
		{ "size >= 1k", 10, PLACE_VALUE, 8, 10 },
		{ "size >= 1k ", 11, PLACE_JOIN, 11, 11 },
		{ "size >= 1k an", 13, PLACE_JOIN, 11, 13 },
		{ "leaked ", 7, PLACE_JOIN, 7, 7 },
		{ "leaked and ", 11, PLACE_CONDITION, 11, 11 },
		{ "not (", 5, PLACE_CONDITION, 5, 5 },
		{ "frame(", 6, PLACE_CONDITION, 6, 6 },
		{ "alive_at(", 9, PLACE_VALUE, 9, 9 },
		{ "function ~ \"a b", 15, PLACE_VALUE, 11, 15 },
		{ "function ~ \"a b\" or x", 13, PLACE_VALUE, 11, 16 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cursor c;

		cursor_find(&c, rows[i].text, rows[i].at);
		if (c.kind != rows[i].kind || c.from != rows[i].from || c.to != rows[i].to)
			fail_msg("'%s' at %zu: kind %d, %zu to %zu", rows[i].text, rows[i].at,
				 c.kind, c.from, c.to);
	}
}

static struct model *make(unsigned seed, struct locations **ret_locations)
{
	struct model *m = random_recording(
		&(struct random_options){ .seed = seed, .events = 3000, .rich = true });

	*ret_locations = locations_new(m, NULL);
	return m;
}

static struct view *view_of(const struct model *m, struct locations *p, const char *expression,
			    struct filter **ret_filter)
{
	struct err err;

	*ret_filter = filter_new();
	assert_int_equal(filter_parse(*ret_filter, expression, &err), 0);
	return view_new(m, p, *ret_filter, &err);
}

/* Areas hold exactly the units that blocks have a byte in. */
static void areas_are_exact(void **state)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		struct locations *p;
		struct model *m = make(seed, &p);
		struct filter *f;
		struct view *v = view_of(m, p, seed % 2 ? "size > 20" : "", &f);
		struct areas a, coarse;
		uint64_t last = 0;

		areas_exact(&a, v, NEVER);
		for (size_t i = 0; i < a.count; i++) {
			assert_true(a.rows[i].start < a.rows[i].end);
			assert_true(!i || a.rows[i].start > last);
			last = a.rows[i].end;
		}
		VIEW_EACH(v, 0, m->allocations.count, row)
		{
			struct area b = area_of_row(m, row, allocator_is_glibc(m));
			bool inside = false;

			for (size_t i = 0; i < a.count; i++)
				inside |= a.rows[i].start <= b.start && b.end <= a.rows[i].end;
			assert_true(inside);
		}
		areas_coarse(&coarse, v, 1 << 20);
		for (size_t i = 0; i < a.count; i++) {
			bool inside = false;

			for (size_t k = 0; k < coarse.count; k++)
				inside |= coarse.rows[k].start <= a.rows[i].start &&
					  a.rows[i].end <= coarse.rows[k].end;
			assert_true(inside);
		}
		areas_release(&a);
		areas_release(&coarse);
		view_free(v);
		filter_free(f);
		locations_free(p);
		model_free(m);
	}
}

/* The curve of everything is that of the series. */
static void curves_are_right(void **state)
{
	struct locations *p;
	struct model *m = make(5, &p);
	struct filter *f;
	struct view *v = view_of(m, p, "size > 8", &f);
	size_t threads = m->tables.threads.count;
	uint32_t *one = xcalloc(threads + 1, sizeof(*one));
	struct sparks s = {
		.view = v, .curve_of = one, .by_thread = true, .curves = 1, .points = 40
	};
	struct series all;
	uint64_t from, to;

	series_whole(m, &from, &to);
	series_init(&all, v, from, to, 40);
	sparks_draw(&s);
	assert_int_equal(s.values[39], all.points[39].bytes);
	for (unsigned i = 0; i < 40; i++)
		assert_true(s.values[i] >= 0);
	sparks_release(&s);
	series_release(&all);
	free(one);
	view_free(v);
	filter_free(f);
	locations_free(p);
	model_free(m);
}

/* However few nodes there may be, sums stay, and parents come first. */
static void flame_layouts_add_up(void **state)
{
	struct locations *p;
	struct model *m = make(9, &p);
	struct filter *f;
	struct view *v = view_of(m, p, "", &f);
	struct tree_options o = { .measuring = measuring_of(m, MEASURE_ALLOCATED, 0) };

	for (uint32_t limit = 1; limit < 4000; limit = limit * 3 + 1) {
		struct flame_layout d;
		struct tree t;
		uint64_t remaining = 0;

		tree_init(&t, v, &o);
		flame_layout_init(&d, false);
		flame_layout_add(&d, &t, 0, false, 0);
		flame_layout_order(&d, limit);
		for (size_t i = 0; i < d.count; i++) {
			uint64_t below = d.nodes[i].self[0].bytes;

			for (size_t k = i + 1; k < d.count; k++)
				below += d.nodes[k].parent == i ? d.nodes[k].total[0].bytes : 0;
			assert_int_equal(below, d.nodes[i].total[0].bytes);
			assert_true(!i || d.nodes[i].parent < i);
			remaining += d.names[d.nodes[i].name].kind != FLAME_LAYOUT_OTHERS;
		}
		assert_true(remaining <= limit);
		assert_int_equal(remaining + d.hidden, t.count);
		assert_int_equal(d.nodes[0].total[0].bytes, t.nodes[0].total.bytes);
		flame_layout_release(&d);
		tree_release(&t);
	}
	view_free(v);
	filter_free(f);
	locations_free(p);
	model_free(m);
}

/* The same filter is applied once; one that is not used makes room. */
static void views_are_shared(void **state)
{
	struct locations *p;
	struct model *m = make(3, &p);
	struct held_view *first, *again, *held[2 * VIEWS_KEPT];
	struct views all;
	struct err err;

	views_init(&all);
	first = views_take(&all, m, p, NULL, &err);
	again = views_take(&all, m, p, filter_new(), &err);
	assert_ptr_equal(first, again);
	for (unsigned i = 0; i < 2 * VIEWS_KEPT; i++) {
		struct filter *f = filter_new();
		char text[32];

		snprintf(text, sizeof(text), "size > %u", i);
		assert_int_equal(filter_parse(f, text, &err), 0);
		held[i] = views_take(&all, m, p, f, &err);
		assert_non_null(held[i]->view);
		if (i % 2)
			views_give(&all, held[i]);
	}
	for (unsigned i = 0; i < 2 * VIEWS_KEPT; i += 2)
		views_give(&all, held[i]);
	views_give(&all, first);
	views_give(&all, again);
	views_release(&all);
	locations_free(p);
	model_free(m);
}

/* Threads that take the same views; every second one is given up now and then. */
struct taker {
	struct model *model;
	struct locations *names;
	struct views *views;
	const uint32_t *expected; /* by filter: rows */
	atomic_bool given_up;
	bool gives_up;
	unsigned wrong, cut;
};

#define TAKEN_FILTERS 40u

static void *take_views(void *context)
{
	struct taker *t = context;

	if (t->gives_up)
		parallel_stop_when(&t->given_up);
	for (unsigned i = 0; i < TAKEN_FILTERS; i++) {
		struct filter *f = filter_new();
		struct held_view *h;
		struct err err;
		char text[32];

		snprintf(text, sizeof(text), "size > %u", i);
		filter_parse(f, text, &err);
		t->given_up = i % 3 == 1; /* no loop of this thread's is at work */
		h = views_take(t->views, t->model, t->names, f, &err);
		if (!h) {
			t->cut++;
			t->wrong += !t->gives_up;
			continue;
		}
		t->wrong += h->view->count != t->expected[i];
		views_give(t->views, h);
	}
	parallel_stop_when(NULL);
	return NULL;
}

/* Half a view is given to nobody: whoever still wants it has all of it. */
static void half_a_view_is_nobodys(void **state)
{
	struct locations *p;
	struct model *m = make(5, &p);
	uint32_t expected[TAKEN_FILTERS];
	unsigned cut = 0;

	for (unsigned i = 0; i < TAKEN_FILTERS; i++) {
		struct filter *f;
		char text[32];
		struct view *v;

		snprintf(text, sizeof(text), "size > %u", i);
		v = view_of(m, p, text, &f);
		expected[i] = v->count;
		view_free(v);
		filter_free(f);
	}
	for (unsigned turn = 0; turn < 50; turn++) {
		struct taker takers[6];
		pthread_t threads[6];
		struct views all;

		views_init(&all);
		for (unsigned i = 0; i < 6; i++) {
			takers[i] = (struct taker){ m, p, &all, expected, .gives_up = i % 2 };
			pthread_create(&threads[i], NULL, take_views, &takers[i]);
		}
		for (unsigned i = 0; i < 6; i++) {
			pthread_join(threads[i], NULL);
			assert_int_equal(takers[i].wrong, 0);
			cut += takers[i].cut;
		}
		views_release(&all);
	}
	assert_true(cut > 0);
	locations_free(p);
	model_free(m);
}

UNIT(server)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decodes_addresses), cmocka_unit_test(counts_in_units_of_browsers),
		cmocka_unit_test(matches_routes),    cmocka_unit_test(the_table_is_sound),
		cmocka_unit_test(knows_its_hosts),   cmocka_unit_test(shortens_templates),
		cmocka_unit_test(finds_the_cursor),  cmocka_unit_test(areas_are_exact),
		cmocka_unit_test(curves_are_right),  cmocka_unit_test(flame_layouts_add_up),
		cmocka_unit_test(views_are_shared),  cmocka_unit_test(half_a_view_is_nobodys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
