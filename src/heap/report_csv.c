/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table as CSV: a line for each row, its own and cumulative amounts in all four measures. */
#include "base/csv.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

static int write_csv(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err)
{
	auto_release(top_release) struct top t = { 0 };

	top_make(&t, p, o->measure, o->by_cum);
	heap_csv_begin(&out->buf, "name");
	for (size_t i = 0; i < t.count && i < o->rows && !sink_turn(out); i++) {
		csv_cell(&out->buf, strings_at(&p->names, t.rows[i].name));
		heap_csv_amounts(&out->buf, &t.rows[i].flat);
		heap_csv_amounts(&out->buf, &t.rows[i].cum);
		csv_end(&out->buf);
	}
	return out->error;
}

const struct heap_report heap_report_csv = {
	.name = "csv",
	.help = "the table as comma-separated values; also of --tree, --peek, --list, --disasm",
	.mime = "text/csv; charset=utf-8",
	.extension = "csv",
	.form = HEAP_CSV,
	.write = write_csv,
};
