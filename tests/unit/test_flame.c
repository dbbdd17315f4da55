/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees for flame graphs, the text of pictures and pages, and every exporter on recordings that are
 * all chance. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "draw/xml.h"
#include "export/export.h"
#include "export/flame.h"
#include "query/weigh.h"
#include "random_recording.h"

#define ROUNDS 12
#define ADDRESSES 60

static struct self self;
static uint64_t addresses[ADDRESSES];

static int set_up(void **context)
{
	for (unsigned i = 0; i < ADDRESSES; i++)
		addresses[i] = (uint64_t)(uintptr_t)flame_init + 23 + i * 41;
	return self_find(&self);
}

static struct model *round_model(unsigned i)
{
	struct random_options o = { .seed = i + 1, .events = i * 80, .nodes = 30 + i * 9 };

	o.rich = i % 3 == 2;
	if (i % 2) {
		o.self = &self;
		o.addresses = addresses;
		o.address_count = ADDRESSES;
	}
	return random_recording(&o);
}

/* Some rows, or all. */
static struct view random_view(const struct model *m, struct locations *p, unsigned i)
{
	struct view v = { .model = m, .locations = p };
	uint64_t state = i + 1;

	if (i % 4 < 2)
		return v;
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t row = 0; row < m->allocations.count; row++)
		v.bits[row / 64] |= (uint64_t)random_below(&state, 2) << row % 64;
	return v;
}

static void check_tree(const struct flame_tree *f, unsigned measure, const struct weight *all)
{
	struct weight *below = xcalloc(f->count, sizeof(*below));

	assert_int_equal(flame_tree_amount(f, FLAME_ROOT, measure)->bytes, all->bytes);
	assert_int_equal(flame_tree_amount(f, FLAME_ROOT, measure)->count, all->count);
	for (size_t i = f->count; --i > 0;) {
		uint32_t parent = f->nodes[i].parent;

		assert_true(parent < i);
		assert_int_equal(f->nodes[i].depth, f->nodes[parent].depth + 1);
		assert_true(flame_tree_share(f, i) <= flame_tree_share(f, parent));
		below[parent].bytes += flame_tree_amount(f, i, measure)->bytes;
		below[parent].count += flame_tree_amount(f, i, measure)->count;
	}
	for (size_t i = 0; i < f->count; i++) {
		assert_true(below[i].bytes <= flame_tree_amount(f, i, measure)->bytes);
		assert_true(below[i].count <= flame_tree_amount(f, i, measure)->count);
	}
	free(below);
}

static void check_cut(const struct flame_tree *f, size_t limit)
{
	double cut = flame_tree_cut(f, limit);
	size_t remaining = 0;

	for (size_t i = 0; i < f->count; i++)
		remaining += flame_tree_share(f, i) > cut;
	assert_true(remaining <= limit || (cut == 0 && f->count <= limit));
	if (f->count <= limit)
		assert_true(cut == 0);
}

static void test_trees(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct view v = random_view(m, p, i);
		const struct measuring how[] = { measuring_of(m, MEASURE_ALLOCATED, 0),
						 measuring_of(m, MEASURE_LEAKED, 0) };
		struct flame f;

		flame_init(&f, &v, how, 2);
		for (unsigned k = 0; k < 2; k++) {
			struct stack_weights w;

			weigh_stacks(&w, &v, &how[k], false);
			check_tree(&f.tree, k, &w.total);
			stack_weights_release(&w);
		}
		for (size_t limit = 1; limit < 300; limit = limit * 3)
			check_cut(&f.tree, limit);
		flame_release(&f);
		free(v.bits);
		locations_free(p);
		model_free(m);
	}
}

static int take(void *context, const void *bytes, size_t size)
{
	buf_add(context, bytes, size);
	return 0;
}

/* The way that an exporter is used by callers that are not commands. */
static void check_exporter(const struct exporter *e, const struct view *v, unsigned i)
{
	struct buf text = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct export x = {
		.view = v,
		.measuring = measuring_of(v->model, i % MEASURE_TEMPORARY, 0),
		.by_count = i % 2,
		.title = "<a & \"b\">",
	};
	struct sink sink;

	sink_to_function(&sink, take, &text, SINK_PLAIN);
	assert_int_equal(e->write(&x, &sink, &err), 0);
	assert_int_equal(sink_finish(&sink, &err), 0);
	if (!strcmp(e->name, "html") || !strcmp(e->name, "flamegraph")) {
		assert_non_null(strstr(text.data, "&lt;a &amp; &quot;b&quot;&gt;"));
		assert_null(strstr(text.data, "<a &"));
	}
	buf_release(&text);
}

static void test_exporters(void **context)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct model *m = round_model(i);
		struct locations *p = locations_new(m, NULL);
		struct view v = random_view(m, p, i);

		locations_resolve_all(p);
		for (const struct exporter *const *e = exporters; *e; e++)
			check_exporter(*e, &v, i);
		free(v.bits);
		locations_free(p);
		model_free(m);
	}
}

static void check_text(const char *text, size_t columns, const char *middle, const char *end)
{
	struct buf out = { 0 };

	xml_text(&out, text, columns);
	assert_string_equal(out.data ? out.data : "", middle);
	buf_clear(&out);
	xml_text_cut(&out, text, columns);
	assert_string_equal(out.size ? out.data : "", end);
	buf_release(&out);
}

static void test_text(void **context)
{
	check_text("", 5, "", "");
	check_text("main", 4, "main", "main");
	check_text("abcdefgh", 5, "ab…gh", "abcd…");
	check_text("<a>&\"'", 20, "&lt;a&gt;&amp;&quot;'", "&lt;a&gt;&amp;&quot;'");
	check_text("a\nb\t\x7f", 20, "a␊b␉␡", "a␊b␉␡");
	check_text("\xff\xc3(\xed\xa0\x80", 20, "��(���", "��(���");
	check_text("\xef\xbf\xbf\xef\xbf\xbe", 20, "��", "��");
	check_text("日本語日本語", 7, "日…語", "日本語…");
}

static void test_json(void **context)
{
	struct buf json = { 0 }, out = { 0 };

	buf_text(&json, "[\"</script>&amp;]]>\",\"\xef\xbf\xbf\xef\xbf\xbd\xef\"]");
	xml_json(&out, &json);
	assert_string_equal(
		out.data,
		"[\"\\u003c/script\\u003e\\u0026amp;]]\\u003e\",\"\\uffff\xef\xbf\xbd\xef\"]");
	buf_release(&json);
	buf_release(&out);
}

UNIT(flame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees),
		cmocka_unit_test(test_exporters),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
