/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The parts of a report, and the report as JSON.  See report.h; the text is in report_text.c. */
#include "cli/report.h"

#include "base/json.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "wire/shm.h"

const struct report_part report_parts[REPORT_PARTS] = {
	{ "peak", "PEAK", BY_PEAK_BYTES, "block", "blocks", "nothing was ever alive" },
	{ "leaks", "LEAKS", BY_LEAKED_BYTES, "block", "blocks", "everything was freed" },
	{ "most_allocations", "MOST ALLOCATIONS", BY_COUNT, "call", "calls", "there were none" },
	{ "temporary_allocations", "TEMPORARY ALLOCATIONS", BY_TEMPORARY, "call", "calls",
	  "there were none" },
};

bool report_counts_calls(enum stack_order order)
{
	return order == BY_COUNT || order == BY_TEMPORARY;
}

struct report_figures report_of_stack(const struct stack_sum *s, enum stack_order order)
{
	switch (order) {
	case BY_PEAK_BYTES:
		return (struct report_figures){ s->peak_bytes, s->peak_count };
	case BY_LEAKED_BYTES:
		return (struct report_figures){ s->leaked_bytes, s->leaked_count };
	case BY_TEMPORARY:
		return (struct report_figures){ s->temporary_bytes, s->temporary };
	case BY_COUNT:
	case STACK_ORDERS:
		break;
	}
	return (struct report_figures){ s->bytes, s->count };
}

struct report_figures report_of_all(const struct report *r, enum stack_order order)
{
	const struct totals *t = &r->model->totals;
	struct report_figures sum = { 0 };

	if (!r->view->bits && order == BY_PEAK_BYTES)
		return (struct report_figures){ t->peak_bytes, t->peak_count };
	if (!r->view->bits && order == BY_LEAKED_BYTES)
		return (struct report_figures){ t->live_bytes, t->live_count };
	if (!r->view->bits && order == BY_COUNT)
		return (struct report_figures){ t->allocated_bytes, t->allocations };
	for (uint32_t i = 0; i < r->sums.count; i++) {
		struct report_figures one = report_of_stack(&r->sums.rows[i], order);

		sum.bytes += one.bytes;
		sum.count += one.count;
	}
	return sum;
}

static void add(struct report *r, struct report_frame frame)
{
	r->frames = xgrow(r->frames, r->frame_count, &r->frame_room, sizeof(*r->frames));
	r->frames[r->frame_count++] = frame;
}

static const char *known(const struct report *r, uint32_t string)
{
	return string ? locations_string(r->locations, string) : NULL;
}

static void add_location(struct report *r, uint32_t id)
{
	const struct location *location = locations_at(r->locations, id);
	unsigned count;
	const struct location_frame *f = locations_frames(r->locations, id, &count);

	for (unsigned i = 0; i < count; i++)
		add(r, (struct report_frame){
			       .function = known(r, f[i].function),
			       .file = known(r, f[i].file),
			       .line = f[i].line,
			       .module = location->module ? locations_module_path(r->locations,
										  location->module)
							  : NULL,
			       .address = location->address,
			       .inlined = f[i].inlined,
		       });
}

void report_frames(struct report *r, uint32_t stack, unsigned call)
{
	const struct nodes *n = &r->model->tables.nodes;
	unsigned flags = 0;

	r->frame_count = 0;
	add(r, (struct report_frame){ .function = locations_call(r->locations, call) });
	if (!node_is_known(n, stack)) {
		r->frames[0].note = "no stack was recorded";
		return;
	}
	for (uint32_t id = stack; node_is_known(n, id); id = n->parent[id]) {
		flags = n->flags[id];
		add_location(r, locations_of_node(r->locations, id));
	}
	if (flags & NODE_TRUNCATED)
		r->frames[r->frame_count - 1].note = "deeper than the limit: cut here";
	else if (flags & NODE_BROKEN)
		r->frames[r->frame_count - 1].note = "no usable unwind information from here on";
}

void report_json_frames(struct report *r, struct json *j, uint32_t stack, unsigned call)
{
	struct buf unnamed = { 0 };

	report_frames(r, stack, call);
	json_array(j, "frames");
	for (size_t i = 0; i < r->frame_count; i++) {
		const struct report_frame *f = &r->frames[i];

		json_object(j, NULL);
		json_text(j, "function", f->function);
		if (!f->function) {
			buf_clear(&unnamed);
			frame_unnamed(f->module, f->address, &unnamed);
			json_text(j, "name", unnamed.data);
		}
		json_text(j, "file", f->file);
		if (f->line)
			json_number(j, "line", f->line);
		else
			json_null(j, "line");
		json_text(j, "module", f->module);
		json_number(j, "address", f->address);
		json_bool(j, "inlined", f->inlined);
		if (f->note)
			json_text(j, "note", f->note);
		json_end_object(j);
	}
	json_end_array(j);
	buf_release(&unnamed);
}

static void json_part(struct report *r, struct json *j, const struct report_part *part)
{
	struct report_figures all = report_of_all(r, part->order);
	uint32_t n = stack_sums_top(&r->sums, part->order, r->top);

	json_object(j, part->key);
	json_number(j, "bytes", all.bytes);
	json_number(j, "count", all.count);
	if (part->order == BY_PEAK_BYTES)
		json_number(j, "at_ns",
			    all.bytes ? model_ns(r->model, r->model->totals.peak_at) : 0);
	json_array(j, "stacks");
	for (uint32_t i = 0; i < n; i++) {
		const struct stack_sum *s = &r->sums.rows[i];
		struct report_figures here = report_of_stack(s, part->order);
		bool calls = report_counts_calls(part->order);
		uint64_t whole = calls ? all.count : all.bytes;

		json_object(j, NULL);
		json_number(j, "stack", s->stack);
		json_number(j, "bytes", here.bytes);
		json_number(j, "count", here.count);
		json_real(j, "share",
			  whole ? (double)(calls ? here.count : here.bytes) / (double)whole : 0, 6);
		report_json_frames(r, j, s->stack, s->call);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void json_filter(struct json *j, const struct view *v)
{
	struct buf text = { 0 };

	filter_print(v->filter, &text);
	json_object(j, "filter");
	json_text(j, "expression", text.data);
	json_number(j, "count", v->count);
	json_number(j, "bytes", v->bytes);
	json_end_object(j);
	buf_release(&text);
}

void report_json(struct report *r, struct buf *out)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, r->model);
	about_json_totals(&j, r->model);
	about_json_loss(&j, r->model);
	if (r->view->bits)
		json_filter(&j, r->view);
	for (unsigned i = 0; i < REPORT_PARTS; i++)
		json_part(r, &j, &report_parts[i]);
	json_end_object(&j);
}
