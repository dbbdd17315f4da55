/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table as JSON: every row's own and cumulative amounts, in all four measures. */
#include "base/json.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

static int write_json(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	struct json j;
	auto_release(top_release) struct top t = { 0 };

	top_make(&t, p, o->measure, o->by_cum);
	heap_json_begin(&j, &out->buf, p, o, "rows");
	for (size_t i = 0; i < t.count && i < o->rows && !sink_turn(out); i++) {
		json_object(&j, NULL);
		json_text(&j, "name", strings_at(&p->names, t.rows[i].name));
		heap_json_amounts(&j, "flat", &t.rows[i].flat);
		heap_json_amounts(&j, "cum", &t.rows[i].cum);
		json_end_object(&j);
	}
	heap_json_end(&j);
	return out->error;
}

const struct heap_report heap_report_json = {
	.name = "json",
	.help = "the table as JSON; also of --tree, --peek, --list, --disasm",
	.mime = "application/json",
	.extension = "json",
	.form = HEAP_JSON,
	.write = write_json,
};
