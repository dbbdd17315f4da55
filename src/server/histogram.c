/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /data/{id}/histogram: how large blocks are, and how long they live. */
#include "query/histogram.h"

#include <string.h>

#include "server/request.h"

static void write_weight(struct json *j, const struct weight *w, uint64_t slack)
{
	json_number(j, "count", w->count);
	json_number(j, "bytes", w->bytes);
	json_number(j, "slack_bytes", slack);
}

static void write_bins(struct json *j, const struct histogram *h)
{
	json_array(j, "bins");
	for (unsigned i = 0; i < h->count; i++) {
		const struct histogram_bin *b = &h->bins[i];

		json_object(j, NULL);
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
		json_end_object(j);
	}
	json_end_array(j);
}

static void write_sizes(struct json *j, const struct histogram *h, uint32_t top)
{
	json_array(j, "sizes");
	for (uint32_t i = 0; i < h->size_count && i < top; i++) {
		json_object(j, NULL);
		json_number(j, "size", h->sizes[i].size);
		write_weight(j, &h->sizes[i].weight, h->sizes[i].slack);
		json_end_object(j);
	}
	json_end_array(j);
	json_number(j, "size_total", h->size_count);
}

static int answer(struct request *r, struct sink *out)
{
	bool sizes = !strcmp(request_text(r, "of"), "size");
	const struct view *v;
	struct measuring how;
	struct histogram h;
	struct json j;

	if (request_measuring(r, r->snapshot->model, &how) || !(v = request_view(r)))
		return -1;
	histogram_init(&h, v, &how, sizes ? HISTOGRAM_SIZE : HISTOGRAM_LIFETIME);
	if (request_by_count(r))
		histogram_by_count(&h);
	request_json(&j, out);
	json_object(&j, NULL);
	json_text(&j, "of", histogram_kinds[h.kind]);
	request_measuring_json(&j, r->snapshot->model, &how);
	json_number(&j, "count", h.total.count);
	json_number(&j, "bytes", h.total.bytes);
	write_bins(&j, &h);
	if (sizes)
		write_sizes(&j, &h, request_count(r, "top"));
	json_end_object(&j);
	histogram_release(&h);
	return 0;
}

static const struct param_row params[] = {
	{ "of", PARAM_CHOICE, "size", "what is told apart", .values = "size|lifetime" },
	PARAMS_MEASURE("allocated"),
	PARAM_WEIGHT,
	{ "top", PARAM_COUNT, "50", "of sizes", .max = 1000 },
	{ 0 },
};

const struct route routes_histogram[] = {
	{ "/data/{id}/histogram", METHOD_GET, "how large blocks are, and how long they live",
	  .params = params, .filters = true, .answer = answer },
	{ 0 },
};
