/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dumps in a row.  See dump_series.h. */
#include "heap/dump_series.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/csv.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "heap/report.h"

/* Adds a sample to the rows that it belongs to; a name that is in a stack twice counts once. */
static void dump_series_add_sample(struct dump_series *s, const struct profile *p, size_t dump,
				   size_t sample, double value, size_t *seen)
{
	size_t number = profile_stack_of(p, sample);
	const struct profile_stack *k;

	if (number == PROFILE_NO_STACK)
		return;
	k = &p->stacks[number];
	s->total[dump] += value;
	if (s->kind == DUMP_SERIES_STACKS) {
		s->values[number * s->dump_count + dump] += value;
		return;
	}
	for (size_t i = 0; i < k->frame_count && (!i || s->kind == DUMP_SERIES_CUM); i++) {
		uint32_t name = p->frames[k->frame + i];

		if (seen[name] == sample + 1)
			continue;
		seen[name] = sample + 1;
		s->values[name * s->dump_count + dump] += value;
	}
}

static void fit_line(struct dump_series_row *r, size_t count)
{
	double n = (double)count, x_mean = (n - 1) / 2, y_mean = 0, xx = 0, xy = 0, yy = 0;

	for (size_t i = 0; i < count; i++)
		y_mean += r->values[i] / n;
	for (size_t i = 0; i < count; i++) {
		double x = (double)i - x_mean, y = r->values[i] - y_mean;

		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	r->change = r->values[count - 1] - r->values[0];
	r->slope = xx > 0 ? xy / xx : 0;
	r->fit = xx > 0 && yy > 0 ? xy * xy / (xx * yy) : 0;
}

ORDER(by_change, struct dump_series_row, FALLING(change) ?: RISING(what))

void dump_series_compute(struct dump_series *s, const struct profile *p, const char *const *names,
			 const size_t *sample_ends, size_t dump_count, enum dump_series_kind kind,
			 enum heap_measure measure)
{
	size_t rows = kind == DUMP_SERIES_STACKS ? p->stack_count : strings_count(&p->names);
	auto_free size_t *seen = xcalloc(strings_count(&p->names) + 1, sizeof(*seen));
	size_t sample = 0;

	*s = (struct dump_series){ .profile = p,
				   .kind = kind,
				   .measure = measure,
				   .names = names,
				   .dump_count = dump_count,
				   .total = xcalloc(dump_count + 1, sizeof(*s->total)),
				   .values = xcalloc(rows * dump_count + 1, sizeof(*s->values)),
				   .rows = xcalloc(rows + 1, sizeof(*s->rows)) };
	for (size_t i = 0; i < dump_count; i++)
		for (; sample < sample_ends[i]; sample++)
			dump_series_add_sample(s, p, i, sample,
					       heap_amount(profile_amounts_of(p, sample), measure),
					       seen);
	for (size_t i = 0; i < rows; i++) {
		struct dump_series_row r = { .what = i, .values = s->values + i * dump_count };
		bool any = false;

		for (size_t k = 0; k < dump_count; k++)
			any |= r.values[k] != 0;
		if (!any)
			continue;
		fit_line(&r, dump_count);
		s->rows[s->row_count++] = r;
	}
	SORT(s->rows, s->row_count, by_change);
}

void dump_series_release(struct dump_series *s)
{
	free(s->total);
	free(s->values);
	free(s->rows);
	*s = (struct dump_series){ 0 };
}

void dump_series_put_name(struct buf *out, const struct dump_series *s,
			  const struct dump_series_row *r, size_t most)
{
	const char *name;

	if (s->kind == DUMP_SERIES_STACKS) {
		profile_put_stack(out, s->profile, r->what, most);
		return;
	}
	name = strings_at(&s->profile->names, (uint32_t)r->what);
	buf_printable(out, name, strlen(name));
}

void dump_series_write_json(struct json *j, const struct dump_series *s, uint64_t top)
{
	json_object(j, NULL);
	json_text(j, "measure", heap_measure_name(s->measure));
	JSON_ROWS(j, "dumps", i, s->dump_count) {
		json_text(j, "file", s->names[i]);
		json_real(j, "total", s->total[i], 2);
	}
	JSON_ROWS(j, "rows", i, MIN(s->row_count, top)) {
		const struct dump_series_row *r = &s->rows[i];

		if (s->kind == DUMP_SERIES_STACKS)
			profile_write_frames(j, s->profile, r->what);
		else
			json_text(j, "name", strings_at(&s->profile->names, (uint32_t)r->what));
		json_real(j, "change", r->change, 2);
		json_real(j, "slope", r->slope, 2);
		json_real(j, "fit", r->fit, 4);
		JSON_EACH(j, "values", n, s->dump_count)
			json_real(j, NULL, r->values[n], 2);
	}
	json_end_object(j);
}

void dump_series_write_csv(struct buf *out, const struct dump_series *s, uint64_t top)
{
	auto_buf struct buf name = { 0 };

	buf_text(out, "change,slope,fit");
	for (size_t i = 0; i < s->dump_count; i++)
		csv_cell(out, s->names[i]);
	csv_cell(out, s->kind == DUMP_SERIES_STACKS ? "stack" : "name");
	csv_end(out);
	for (size_t i = 0; i < s->row_count && i < top; i++) {
		const struct dump_series_row *r = &s->rows[i];

		csv_real(out, r->change, 2);
		csv_real(out, r->slope, 2);
		csv_real(out, r->fit, 4);
		for (size_t n = 0; n < s->dump_count; n++)
			csv_real(out, r->values[n], 2);
		buf_clear(&name);
		dump_series_put_name(&name, s, r, SIZE_MAX);
		csv_cell(out, name.data);
		csv_end(out);
	}
}
