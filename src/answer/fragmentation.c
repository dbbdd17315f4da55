/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question fragmentation: memory that is not in use and cannot be given back. */
#include "answer/fragmentation.h"

#include <errno.h>
#include <string.h>

#include "answer/words.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "query/answer.h"
#include "query/series.h"

#define POINTS_MAX 2000

static void write_levels(struct json *j, const struct fragmentation *f)
{
	JSON_ROWS(j, "regions", i, LEVELS) {
		const struct occupancy *o = &f->levels[i];

		json_number(j, "size", 1ull << level_rows[i].shift);
		JSON_MEMBERS(j, o, regions, live_bytes, empty_bytes, nearly_empty);
		JSON_ROWS(j, "occupancy", k, OCCUPANCY_BINS) {
			json_number(j, "from_percent", k * 10);
			JSON_MEMBERS(j, &o->bins[k], regions, live_bytes, empty_bytes);
		}
	}
}

static void write_slack(struct json *j, const struct fragmentation *f)
{
	JSON_EACH(j, "slack", i, SLACK_CLASSES) {
		const struct slack_class *c = &f->classes[i];

		if (!c->weight.count)
			continue;
		json_object(j, NULL);
		JSON_MEMBERS(j, c, from, to);
		JSON_MEMBERS(j, &c->weight, count, bytes);
		json_number(j, "slack_bytes", c->slack);
		json_end_object(j);
	}
}

static void write_holders(struct ask *a, struct json *j, const struct answer_fragmentation *shown,
			  struct sink *out)
{
	const struct fragmentation *f = &shown->fragmentation;
	const struct view *v = shown->view;
	auto_release(snapshot_answer_release) struct answer names = { 0 };

	snapshot_answer(a->snapshot, &names, v);
	json_number(j, "holder_total", f->holder_count);
	JSON_PAGE(j, "holders", i, shown->skip, shown->most, f->holder_count) {
		const struct holder *h = &f->holders[i];

		json_number(j, "backtrace_id", h->stack);
		JSON_MEMBERS(j, &h->weight, bytes, count);
		json_number(j, "slack_bytes", h->slack);
		JSON_ROWS(j, "held", k, LEVELS) {
			json_number(j, "size", 1ull << level_rows[k].shift);
			JSON_MEMBERS(j, &h->held[k], regions, pinned_bytes, shared_bytes);
		}
		answer_backtrace(&names, j, "backtrace", h->stack, words_call(v->model, h->stack));
		sink_turn(out);
	}
}

static void write_over_time(struct json *j, const struct model *m,
			    const struct fragmentation_point *points, uint32_t count)
{
	JSON_ROWS(j, "over_time", i, count) {
		json_number(j, "at_ns", model_ns(m, points[i].at));
		json_number(j, "bytes", points[i].requested);
		json_number(j, "usable_bytes", points[i].usable);
		JSON_EACH(j, "regions", k, LEVELS)
			json_number(j, NULL, points[i].regions[k]);
		JSON_EACH(j, "most_regions", k, LEVELS)
			json_number(j, NULL, points[i].most_regions[k]);
	}
}

static enum fragmentation_level level_of(const char *word)
{
	if (!strcmp(word, "page") || !strcmp(word, "4k"))
		return LEVEL_PAGE;
	return *word == '6' ? LEVEL_64K : LEVEL_2M;
}

static int fragmentation_compute(struct ask *a, void *answer)
{
	const struct model *m = a->snapshot->model;
	struct answer_fragmentation *ret = answer;
	uint64_t at = ask_moment(a, &ret->at_ns), from, to;

	ret->view = ask_view(a);
	if (!ret->view)
		return -EINVAL;
	ret->level = level_of(ask_text(a, "level"));
	ret->skip = ask_count(a, "skip");
	ret->most = ask_count(a, "count");
	ret->point_count = ask_count(a, "points");
	fragmentation_init(&ret->fragmentation, ret->view, at);
	fragmentation_sort(&ret->fragmentation, ret->level);
	if (!ret->point_count)
		return 0;
	series_whole(m, &from, &to);
	ret->points = xcalloc(ret->point_count, sizeof(*ret->points));
	fragmentation_series(m, from, to, ret->point_count, ret->points);
	return 0;
}

static void fragmentation_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_fragmentation *shown = answer;
	const struct fragmentation *f = &shown->fragmentation;

	json_number(j, "at_ns", shown->at_ns);
	JSON_MEMBERS(j, &f->live, bytes, count);
	json_number(j, "slack_bytes", f->slack);
	write_levels(j, f);
	write_slack(j, f);
	write_holders(a, j, shown, out);
	if (shown->points)
		write_over_time(j, a->snapshot->model, shown->points, shown->point_count);
}

static void fragmentation_drop(void *answer)
{
	struct answer_fragmentation *a = answer;

	fragmentation_release(&a->fragmentation);
	free(a->points);
}

static const struct param_row params[] = {
	{ "at", PARAM_TIME, NULL, "the moment; the peak if it is not given" },
	{ "level", PARAM_CHOICE, "page", "what orders holders", .values = "page|4k|64k|64K|2m|2M",
	  .option = "region", .letter = 'r' },
	{ "skip", PARAM_COUNT, "0", "holders that are left out" },
	{ "count", PARAM_COUNT, "20", "holders at most", .option = "top", .letter = 'n' },
	{ "points", PARAM_COUNT, "0", "steps of over_time", .max = POINTS_MAX,
	  .option = "over-time", .letter = 't' },
	{ 0 },
};

const struct question question_fragmentation = {
	.name = "fragmentation",
	.help = "slack in blocks, and regions that a few blocks keep",
	.params = params,
	.filters = true,
	.size = sizeof(struct answer_fragmentation),
	.compute = fragmentation_compute,
	.write_members = fragmentation_json,
	.release = fragmentation_drop,
};
