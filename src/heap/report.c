/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of reports, and how they write amounts. */
#include "heap/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/json.h"

#define REPORT(word) extern const struct heap_report heap_report_##word;
#include "heap/reports.inc"
#undef REPORT

const struct heap_report *const heap_reports[] = {
#define REPORT(word) &heap_report_##word,
#include "heap/reports.inc"
#undef REPORT
	NULL,
};

const struct heap_report *heap_report_find(const char *name)
{
	for (const struct heap_report *const *h = heap_reports; *h; h++)
		if (!strcmp((*h)->name, name))
			return *h;
	return NULL;
}

bool heap_counts_objects(enum heap_measure m)
{
	return m == HEAP_INUSE_OBJECTS || m == HEAP_ALLOC_OBJECTS;
}

const char *heap_amount_text(struct heap_text *out, double value,
			     const struct heap_report_options *o)
{
	if (heap_counts_objects(o->measure) || o->show_bytes)
		snprintf(out->text, sizeof(out->text), "%.0f", trunc(value) + 0.0);
	else
		snprintf(out->text, sizeof(out->text), "%.1f", value / 1048576);
	return out->text;
}

bool heap_is_nothing(double value)
{
	return fabs(value) < 1e-6;
}

void heap_put_total(struct buf *out, const struct profile *p, const struct heap_report_options *o)
{
	double whole = heap_amount(&p->whole, o->measure);
	double shown = heap_amount(&p->total, o->measure);
	bool patterns =
		p->options.focus || p->options.ignore || p->options.retain || p->options.exclude;
	struct heap_text h;

	if (p->options.thread == PROFILE_ALL_THREADS)
		buf_text(out, "Total: ");
	else
		buf_printf(out, "Total (t%" PRIu64 "): ", p->options.thread);
	buf_printf(out, "%s %s", heap_amount_text(&h, whole, o), heap_unit(o));
	if (patterns)
		buf_printf(out, ", of which %s %s", heap_amount_text(&h, shown, o), heap_unit(o));
	buf_char(out, '\n');
}

static const char *amount_or_dot(struct heap_text *h, double value,
				 const struct heap_report_options *o)
{
	return heap_is_nothing(value) ? "." : heap_amount_text(h, value, o);
}

void heap_put_pair(struct buf *out, const struct dump_amounts *flat, const struct dump_amounts *cum,
		   const struct heap_report_options *o)
{
	struct heap_text f, c;

	buf_printf(out, "%6s %6s", amount_or_dot(&f, heap_amount(flat, o->measure), o),
		   amount_or_dot(&c, heap_amount(cum, o->measure), o));
}

void heap_put_source(struct buf *out, const char *line, size_t size)
{
	while (size) {
		const char *tab = memchr(line, '\t', size);
		size_t part = tab ? (size_t)(tab - line) : size;

		buf_printable(out, line, part);
		if (tab)
			buf_char(out, '\t');
		part += tab != NULL;
		line += part;
		size -= part;
	}
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

static const enum heap_measure measures[] = { HEAP_INUSE_SPACE, HEAP_INUSE_OBJECTS,
					      HEAP_ALLOC_SPACE, HEAP_ALLOC_OBJECTS };
#define MEASURE_COUNT (sizeof(measures) / sizeof(*measures))

const char *heap_measure_name(enum heap_measure m)
{
	static const char *const names[] = { "inuse_space", "inuse_objects", "alloc_space",
					     "alloc_objects" };

	return names[m];
}

void heap_json_amounts(struct json *j, const char *key, const struct dump_amounts *a)
{
	json_object(j, key);
	for (size_t i = 0; i < MEASURE_COUNT; i++)
		json_real(j, heap_measure_name(measures[i]), heap_amount(a, measures[i]), 2);
	json_end_object(j);
}

void heap_json_begin(struct json *j, struct buf *out, const struct profile *p,
		     const struct heap_report_options *o, const char *rows)
{
	*j = (struct json){ .out = out };
	json_object(j, NULL);
	json_text(j, "measure", heap_measure_name(o->measure));
	heap_json_amounts(j, "total", &p->total);
	json_array(j, rows);
}

void heap_json_end(struct json *j)
{
	json_end_array(j);
	json_end_object(j);
}

void heap_csv_begin(struct buf *out, const char *names)
{
	buf_text(out, names);
	heap_csv_head(out, "flat");
	heap_csv_head(out, "cum");
	csv_end(out);
}

void heap_csv_amounts(struct buf *out, const struct dump_amounts *a)
{
	for (size_t i = 0; i < MEASURE_COUNT; i++)
		csv_real(out, heap_amount(a, measures[i]), 2);
}

void heap_csv_head(struct buf *out, const char *prefix)
{
	for (size_t i = 0; i < MEASURE_COUNT; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s%s%s", prefix ? prefix : "", prefix ? "_" : "",
			 heap_measure_name(measures[i]));
		csv_cell(out, name);
	}
}
