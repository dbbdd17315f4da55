/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question groups: allocations put together. */
#include "answer/groups.h"

#include <errno.h>
#include <string.h>

#include "answer/words.h"
#include "base/nearest.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"

#define CACHED_GROUPS 2000 /* more are not kept */
#define SPARKS_MAX 1000	   /* groups with curves */

static bool groups_are_many(const struct ask *a)
{
	return ask_count(a, "count") > CACHED_GROUPS;
}

static void draw_sparks(struct answer_groups *ret, uint32_t points)
{
	const struct groups *g = ret->groups;
	uint32_t nodes = g->view->model->tables.nodes.count + 1;

	ret->curve_of = xmalloc(nodes * sizeof(*ret->curve_of));
	memset(ret->curve_of, 0xff, nodes * sizeof(*ret->curve_of));
	for (uint32_t i = 0; i < ret->page.count; i++)
		ret->curve_of[g->rows[ret->page.rows[i]].id] = i;
	ret->sparks = (struct sparks){ .view = g->view,
				       .curve_of = ret->curve_of,
				       .curves = ret->page.count,
				       .points = points };
	sparks_draw(&ret->sparks);
}

static int find_sort(struct ask *a, const struct group_key *key, struct group_sort *ret_sort)
{
	const char *by = ask_text(a, "sort_by");
	struct nearest near;

	if (!by)
		by = key->ordered ? "key" : "size";
	if (group_sort_find(key, by, ret_sort))
		return 0;
	near = nearest_to(by);
	for (unsigned i = 0; i < NUMBERS; i++)
		nearest_consider(&near, group_numbers[i]);
	return ask_fail(a, 400, "sort_by", "groups by %s cannot be sorted by '%.60s'%s", key->name,
			by, nearest_hint(&near, ""));
}

int groups_by(struct ask *a, const struct group_key *key, struct answer_groups *ret)
{
	uint32_t count = ask_count(a, "count"), points = ask_count(a, "spark");
	const struct view *v;

	if (find_sort(a, key, &ret->sort))
		return -EINVAL;
	if (points && count > SPARKS_MAX)
		return ask_fail(a, 400, "spark", "with count=%u at most", SPARKS_MAX);
	v = ask_view(a);
	if (!v)
		return -EINVAL;
	ret->descending = ask_text(a, "order") ? ask_descending(a) : ret->sort.number != NUMBER_KEY;
	ret->groups = groups_new(v, key);
	ret->page =
		groups_page(ret->groups, ret->sort, ret->descending, ask_count(a, "skip"), count);
	if (points && key->kind == GROUP_STACK)
		draw_sparks(ret, points);
	return 0;
}

static int groups_check(struct ask *a)
{
	struct group_sort sort;

	return find_sort(a, group_key_find(ask_text(a, "by")), &sort);
}

static int groups_compute(struct ask *a, void *answer)
{
	return groups_by(a, group_key_find(ask_text(a, "by")), answer);
}

static void write_spark(const struct answer_groups *g, struct json *j, uint32_t curve)
{
	const struct sparks *s = &g->sparks;

	JSON_EACH(j, "spark", i, s->points)
		json_real(j, NULL, (double)s->values[(size_t)curve * s->points + i], 0);
}

void groups_write(struct ask *a, const struct answer_groups *g, struct answer *written,
		  const char *title, struct json *j, struct sink *out)
{
	written->no_stacks = !ask_bool(a, "stacks");
	if (ask_bool(a, "strip_template_args"))
		written->shorten = words_strip_templates;
	JSON_ROWS_WHILE(j, title, i, i < g->page.count && !sink_turn(out)) {
		answer_group(written, j, g->groups, &g->groups->rows[g->page.rows[i]]);
		if (g->sparks.points)
			write_spark(g, j, i);
	}
	json_number(j, "total_count", g->groups->count);
}

static void groups_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_groups *g = answer;
	auto_release(snapshot_answer_release) struct answer written = { 0 };

	snapshot_answer(a->snapshot, &written, g->groups->view);
	groups_write(a, g, &written, "groups", j, out);
}

void groups_drop(void *answer)
{
	struct answer_groups *g = answer;

	groups_free(g->groups);
	free(g->page.rows);
	sparks_release(&g->sparks);
	free(g->curve_of);
}

static const struct param_row params[] = {
	{ "by", PARAM_CHOICE, "stack", "what makes a group",
	  .values = "stack|responsible|function|source|module|thread|call|size|size_class|lifetime",
	  .letter = 'b' },
	PARAMS_PAGE("all"),
	{ "sort_by", PARAM_TEXT, NULL,
	  "size, count, leaked_size, leaked_count, min_size, max_size, usable_size, min_timestamp, "
	  "max_timestamp, interval or key, with all. or self. in front of it too; by stack also "
	  "peak_size, peak_count and max_total_usage_first_seen_at (size; key of sizes and "
	  "lifetimes)",
	  .option = "sort", .letter = 's' },
	PARAM_ORDER(NULL),
	{ "spark", PARAM_COUNT, "0", "figures of each stack's bytes alive over the run",
	  .max = SPARK_MAX },
	{ "stacks", PARAM_BOOL, "true", "with frames" },
	PARAM_STRIP,
	{ 0 },
};

const struct question question_groups = {
	.name = "groups",
	.help = "allocations by stack, function, thread, size …",
	.params = params,
	.filters = true,
	.is_long = groups_are_many,
	.check = groups_check,
	.prefetch =
		(const struct prefetch[]){
			{ 7, "sort_by=only_matched.size&order=dsc&skip=0&count=30" },
			{ 19, "sort_by=only_matched.size&order=dsc&spark=60&stacks=false&skip=0&"
			      "count=60" },
			{ 0 } },
	.size = sizeof(struct answer_groups),
	.compute = groups_compute,
	.write_members = groups_json,
	.release = groups_drop,
};
