/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question histogram: how large blocks are, and how long they live. */
#include "answer/histogram.h"

#include <errno.h>

#include "base/order.h"

static void write_weight(struct json *j, const struct weight *w, uint64_t slack)
{
	JSON_MEMBERS(j, w, count, bytes);
	json_number(j, "slack_bytes", slack);
}

static void write_bins(struct json *j, const struct histogram *h)
{
	JSON_ROWS(j, "bins", i, h->count) {
		const struct histogram_bin *b = &h->bins[i];

		if (b->never)
			json_null(j, "from");
		else
			json_number(j, "from", b->from);
		if (b->never || b->to == NEVER)
			json_null(j, "to");
		else
			json_number(j, "to", b->to);
		json_bool(j, "never_freed", b->never);
		write_weight(j, &b->weight, b->slack);
	}
}

static void write_sizes(struct json *j, const struct histogram *h, uint32_t top)
{
	JSON_ROWS(j, "sizes", i, MIN(h->size_count, top)) {
		json_number(j, "size", h->sizes[i].size);
		write_weight(j, &h->sizes[i].weight, h->sizes[i].slack);
	}
	json_number(j, "size_total", h->size_count);
}

static int histogram_compute(struct ask *a, void *answer)
{
	enum histogram_kind kind = ask_choice(a, "of", histogram_kinds, HISTOGRAM_KINDS);
	struct answer_histogram *ret = answer;
	const struct view *v;

	if (ask_measuring(a, a->snapshot->model, &ret->measuring) || !(v = ask_view(a)))
		return -EINVAL;
	histogram_init(&ret->histogram, v, &ret->measuring, kind);
	if (ask_by_count(a))
		histogram_by_count(&ret->histogram);
	/* Lives are told by blocks unless somebody wants it otherwise. */
	ret->by_count = ask_has(a, "weight") ? ask_by_count(a) : kind == HISTOGRAM_LIFETIME;
	ret->top = ask_count(a, "top");
	return 0;
}

static void histogram_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	const struct answer_histogram *h = answer;

	json_text(j, "of", histogram_kinds[h->histogram.kind]);
	ask_measuring_json(j, a->snapshot->model, &h->measuring);
	JSON_MEMBERS(j, &h->histogram.total, count, bytes);
	write_bins(j, &h->histogram);
	if (h->histogram.kind == HISTOGRAM_SIZE)
		write_sizes(j, &h->histogram, h->top);
}

static void histogram_drop(void *answer)
{
	histogram_release(&((struct answer_histogram *)answer)->histogram);
}

static const struct param_row params[] = {
	{ "of", PARAM_CHOICE, "size", "what is told apart", .values = "size|lifetime" },
	PARAMS_MEASURE("allocated"),
	PARAM_WEIGHT,
	{ "top", PARAM_COUNT, "50", "of sizes", .max = 1000, .letter = 'n' },
	{ 0 },
};

const struct question question_histogram = {
	.name = "histogram",
	.help = "how large blocks are, and how long they live",
	.params = params,
	.filters = true,
	.prefetch =
		(const struct prefetch[]){
			{ 15, "measure=allocated&of=size&weight=bytes&top=1000" },
			{ 16, "measure=allocated&of=lifetime" },
			{ 0 } },
	.size = sizeof(struct answer_histogram),
	.compute = histogram_compute,
	.write_members = histogram_json,
	.release = histogram_drop,
};
