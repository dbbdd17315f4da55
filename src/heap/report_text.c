/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The columns of jeprof --text: flat, its share, the shares so far, cumulative, its share, name. */
#include <string.h>

#include "base/buf_text.h"
#include "base/sink.h"
#include "heap/report.h"

extern const struct heap_report heap_report_json, heap_report_csv;

static double share(double part, double whole)
{
	return heap_is_nothing(whole) || heap_is_nothing(part) ? 0 : part * 100 / whole;
}

static int write_text(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	double total = heap_amount(&p->total, o->measure), running = 0;
	struct heap_text flat, cum;
	struct top t;

	if (o->form != HEAP_TEXT)
		return (o->form == HEAP_JSON ? heap_report_json : heap_report_csv)
			.write(p, o, out, err);
	top_make(&t, p, o->measure, o->by_cum);
	heap_put_total(&out->buf, p, o);
	for (size_t i = 0, shown = 0; i < t.count && shown < o->rows && !sink_turn(out); i++) {
		double f = heap_amount(&t.rows[i].flat, o->measure);
		double c = heap_amount(&t.rows[i].cum, o->measure);
		const char *name = strings_at(&p->names, t.rows[i].name);

		if (heap_is_nothing(f) &&
		    heap_is_nothing(c)) /* of a difference, or of objects that are all gone */
			continue;
		shown++;
		running += f;
		buf_printf(&out->buf, "%8s %5.1f%% %5.1f%% %8s %5.1f%% ",
			   heap_amount_text(&flat, f, o), share(f, total), share(running, total),
			   heap_amount_text(&cum, c, o), share(c, total));
		buf_printable(&out->buf, name, strlen(name));
		buf_char(&out->buf, '\n');
	}
	top_release(&t);
	return out->error;
}

const struct heap_report heap_report_text = {
	.name = "text",
	.help = "a table of functions (this is what is done)",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.has_forms = true,
	.write = write_text,
};
