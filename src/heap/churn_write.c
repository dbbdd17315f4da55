/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What logs add up to, as JSON and as CSV.  See churn.h. */
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/csv.h"
#include "base/order.h"
#include "heap/churn.h"

void churn_put_stack(struct buf *out, const struct churn *c, const struct churn_stack *s,
		     size_t most, const char *between)
{
	const struct profile_stack *k = &c->profile.stacks[s->stack];

	buf_clear(out);
	buf_text(out, "");
	for (size_t i = 0; i < k->frame_count && i < most; i++) {
		const char *name = strings_at(&c->profile.names, c->profile.frames[k->frame + i]);

		buf_text(out, i ? between : "");
		buf_printable(out, name, strlen(name));
	}
	if (k->frame_count > most)
		buf_printf(out, "%s…", between);
}

static void write_lifetimes(struct json *j, const struct churn_stack *s)
{
	if (!s->freed) {
		json_null(j, "lifetime_ns");
		return;
	}
	json_object(j, "lifetime_ns");
	json_real(j, "mean", s->mean_ns, 1);
	json_number(j, "min", s->least_ns);
	json_number(j, "p50", s->half_ns);
	json_number(j, "p90", s->p90_ns);
	json_number(j, "p99", s->p99_ns);
	json_number(j, "max", s->most_ns);
	json_end_object(j);
}

static void write_amounts(struct json *j, const struct churn_stack *s)
{
	JSON_MEMBERS(j, s, objects, bytes, freed);
	json_number(j, "freed_by_another_thread", s->elsewhere);
	json_real(j, "estimated_objects", s->all_objects, 2);
	json_real(j, "estimated_bytes", s->all_bytes, 2);
	write_lifetimes(j, s);
}

static void write_stack(struct json *j, const struct churn *c, const struct churn_stack *s)
{
	const struct heap_locations *p = &c->profile.locations;
	const struct profile_stack *k = &c->profile.stacks[s->stack];
	struct profile_walk w = { 0 };

	write_amounts(j, s);
	json_array(j, "frames");
	profile_walk(&c->profile, s->sample, &w);
	for (size_t i = 0; i < w.count; i++) {
		const struct heap_location_frame *f = &p->frames[w.frames[i]];

		json_object(j, NULL);
		json_text(j, "name",
			  strings_at(&c->profile.names, c->profile.frames[k->frame + i]));
		if (f->file) {
			json_text(j, "file", strings_at(&p->texts, f->file));
			json_number(j, "line", f->line);
		}
		json_bool(j, "inlined", f->inlined);
		json_end_object(j);
	}
	profile_walk_release(&w);
	json_end_array(j);
}

static void write_logs(struct json *j, const struct churn *c)
{
	JSON_ROWS(j, "logs", i, c->log_count) {
		const struct churn_log *a = &c->logs[i];

		json_text(j, "path", a->path);
		json_text(j, "kind", a->recent ? "recent" : "log");
		JSON_MEMBERS(j, a, objects, threads, traces);
		json_number(j, "sample_bytes", a->rate);
		if (a->recent)
			json_number(j, "recent_max", a->recent_max);
		else
			json_number(j, "duration_ns", a->duration_ns);
		if (a->pid)
			json_number(j, "pid", a->pid);
		if (*a->version)
			json_text(j, "version", a->version);
		if (*a->resolution)
			json_text(j, "time_resolution", a->resolution);
	}
}

void churn_write_json(struct json *j, const struct churn *c, uint64_t top)
{
	json_object(j, NULL);
	write_logs(j, c);
	json_object(j, "total");
	write_amounts(j, &c->total);
	json_end_object(j);
	JSON_ROWS(j, "lifetimes", i, CHURN_LIVES) {
		json_number(j, "from_ns", c->lives[i].from_ns);
		json_number_if(j, "to_ns", c->lives[i].to_ns != UINT64_MAX, c->lives[i].to_ns);
		JSON_MEMBERS(j, &c->lives[i], objects, bytes);
	}
	JSON_ROWS(j, "threads", i, c->thread_count) {
		JSON_MEMBERS(j, &c->threads[i], log, uid, name, objects, bytes, freed);
		json_number(j, "freed_of_others", c->threads[i].freed_others);
	}
	JSON_ROWS(j, "stacks", i, MIN(c->stack_count, top))
		write_stack(j, c, &c->stacks[i]);
	json_end_object(j);
}

void churn_write_csv(struct buf *out, const struct churn *c, uint64_t top)
{
	auto_buf struct buf text = { 0 };

	buf_text(out,
		 "objects,bytes,freed,freed_by_another_thread,estimated_objects,estimated_bytes,"
		 "mean_ns,p50_ns,p90_ns,p99_ns,max_ns,stack\n");
	for (size_t i = 0; i < c->stack_count && i < top; i++) {
		const struct churn_stack *s = &c->stacks[i];
		const uint64_t numbers[] = { s->objects,
					     s->bytes,
					     s->freed,
					     s->elsewhere,
					     (uint64_t)(s->all_objects + .5),
					     (uint64_t)(s->all_bytes + .5),
					     (uint64_t)s->mean_ns,
					     s->half_ns,
					     s->p90_ns,
					     s->p99_ns,
					     s->most_ns };

		for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++)
			csv_number(out, numbers[k]);
		churn_put_stack(&text, c, s, SIZE_MAX, ";");
		csv_cell(out, text.data);
		csv_end(out);
	}
}
