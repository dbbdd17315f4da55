/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What a page says of the program, in figures and warnings.  See html.h. */
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "export/html.h"
#include "model/cost.h"
#include "model/words.h"

void html_program(struct html *p)
{
	const struct model *m = p->model;
	uint64_t start = model_start_ns(m);

	json_text(p->j, "title", p->x->title);
	json_text(p->j, "version", MEMOIR_VERSION);
	json_text(p->j, "executable", model_info(m, "executable"));
	buf_clear(&p->text);
	words_command(&p->text, m);
	json_text(p->j, "command", p->text.size ? p->text.data : NULL);
	json_text(p->j, "host", model_info(m, "hostname"));
	json_number(p->j, "pid", model_info_number(m, "pid", 0));
	json_text(p->j, "allocator", model_info(m, "allocator"));
	json_text(p->j, "arch", model_info(m, "arch"));
	if (start)
		json_real(p->j, "start", (double)start / 1e9, 3);
	json_number(p->j, "runtime_ns", model_runtime_ns(m));
	json_number(p->j, "threads", m->tables.threads.count);
	buf_clear(&p->text);
	words_end(&p->text, m);
	json_text(p->j, "end", p->text.size > 2 ? p->text.data + 2 : NULL);
}

void html_totals(struct html *p)
{
	const struct totals *t = &p->model->totals;
	struct cost cost = cost_of(p->model);

	json_object(p->j, "totals");
	JSON_MEMBERS(p->j, t, events, allocations, allocated_bytes, reallocations);
	json_number(p->j, "frees", t->deallocations);
	JSON_MEMBERS(p->j, t, peak_bytes, peak_count);
	json_number(p->j, "peak_at_ns", t->peak_bytes ? model_ns(p->model, t->peak_at) : 0);
	json_number(p->j, "leaked_bytes", t->live_bytes);
	json_number(p->j, "leaked_count", t->live_count);
	JSON_MEMBERS(p->j, t, temporary, heaptrack_temporary);
	json_end_object(p->j);
	if (model_counters(p->model, "setup_ns")) {
		json_object(p->j, "cost");
		if (cost.known)
			json_real(p->j, "percent", cost.percent, 1);
		json_number(p->j, "ns", cost.total_ns);
		json_number(p->j, "memory", cost.memory);
		json_end_object(p->j);
	}
	if (p->x->view->bits && p->x->view->filter) {
		buf_clear(&p->text);
		filter_print(p->x->view->filter, &p->text);
		json_object(p->j, "filter");
		json_text(p->j, "expression", p->text.data);
		JSON_MEMBERS(p->j, p->x->view, count, bytes);
		json_end_object(p->j);
	}
}

static void warn(void *context, const char *text)
{
	struct html *p = context;

	json_text(p->j, NULL, text);
}

/* Modules with functions in the page that have no name. */
static void put_nameless(struct html *p)
{
	auto_free uint32_t *count = xcalloc(p->model->tables.module_count + 1, sizeof(*count));

	for (uint32_t i = 0; i < p->flame.functions.count; i++) {
		const struct functions_row *row = &p->flame.functions.rows[i];

		if (!row->function && row->module < p->model->tables.module_count)
			count[row->module]++;
	}
	json_array(p->j, "nameless");
	for (size_t i = 1; i < p->model->tables.module_count; i++)
		if (count[i]) {
			json_array(p->j, NULL);
			json_text(p->j, NULL,
				  locations_module_path(p->x->view->locations, (uint32_t)i));
			json_number(p->j, NULL, count[i]);
			json_end_array(p->j);
		}
	json_end_array(p->j);
}

void html_warnings(struct html *p)
{
	json_array(p->j, "losses");
	words_losses(p->model, warn, p);
	json_end_array(p->j);
	json_bool(p->j, "unfinished", !p->model->reader.ended);
	json_number(p->j, "removed", p->model->totals.allocations - p->model->recorded.allocations);
	json_number(p->j, "removed_below_ns", model_info_number(p->model, INFO_REMOVED_BELOW, 0));
	put_nameless(p);
}
