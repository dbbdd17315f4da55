/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Allocations, or groups of them by stack, as JSON: what the HTTP API answers, as a file. */
#include <stdlib.h>

#include "base/json.h"
#include "export/export.h"
#include "query/answer.h"
#include "query/group.h"

static void put_allocations(const struct export *x, struct sink *out, struct json *j,
			    struct answer *a)
{
	uint64_t done = 0;

	VIEW_EACH(x->view, 0, x->view->model->allocations.count, row)
	{
		if (sink_turn(out))
			break;
		answer_allocation(a, j, row);
		if (!(++done & 0xfff))
			export_progress(x, done, x->view->count);
	}
}

static uint32_t put_groups(const struct export *x, struct sink *out, struct json *j,
			   struct answer *a)
{
	struct groups *g = groups_new(x->view, group_key_find("stack"));
	uint32_t count = g->count;

	for (uint32_t i = 0; i < count && !sink_turn(out); i++) {
		answer_group(a, j, g, &g->rows[i]);
		export_progress(x, i, count);
	}
	groups_free(g);
	return count;
}

static int write_json(const struct export *x, struct sink *out, struct err *err)
{
	uint32_t total = x->view->count;
	struct answer a;
	struct json j;

	answer_init(&a, x->view);
	json_init(&j, &out->buf);
	j.compact = true;
	json_object(&j, NULL);
	json_array(&j, "allocations");
	if (x->groups)
		total = put_groups(x, out, &j, &a);
	else
		put_allocations(x, out, &j, &a);
	json_end_array(&j);
	json_number(&j, "total_count", total);
	json_end_object(&j);
	answer_release(&a);
	return out->error;
}

const struct exporter exporter_json = {
	.name = "json",
	.extension = "json",
	.mime = "application/json",
	.viewer = "jq, scripts",
	.help = "every allocation, or with --groups every stack, as the HTTP API answers",
	.events_only = true,
	.write = write_json,
};
