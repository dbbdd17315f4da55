/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of reports, and how they write amounts. */
#include "heap/report.h"

#include <math.h>
#include <stdio.h>

#define REPORT(word) extern const struct heap_report heap_report_##word;
#include "heap/reports.inc"
#undef REPORT

const struct heap_report *const heap_reports[] = {
#define REPORT(word) &heap_report_##word,
#include "heap/reports.inc"
#undef REPORT
	NULL,
};

bool heap_counts_objects(enum heap_measure m)
{
	return m == HEAP_INUSE_OBJECTS || m == HEAP_ALLOC_OBJECTS;
}

const char *heap_amount_text(struct heap_text *out, double value,
			     const struct heap_report_options *o)
{
	if (heap_counts_objects(o->measure) || o->show_bytes)
		snprintf(out->text, sizeof(out->text), "%.0f", trunc(value));
	else
		snprintf(out->text, sizeof(out->text), "%.1f", value / 1048576);
	return out->text;
}

const char *heap_unit(const struct heap_report_options *o)
{
	if (heap_counts_objects(o->measure))
		return "objects";
	return o->show_bytes ? "B" : "MB";
}

uint64_t heap_weight(const struct dump_amounts *a, enum heap_measure m)
{
	double value = heap_amount(a, m);

	return value > 0 ? (uint64_t)llround(fmin(value, 0x1p62)) : 0;
}
