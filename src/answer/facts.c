/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question facts.  See facts.h. */
#include "answer/facts.h"

#include <string.h>

#include "answer/words.h"
#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/path.h"
#include "model/cost.h"
#include "model/successor.h"

static const struct info_pair *pair_named(const struct model *m, const char *key)
{
	return FIND(it, m->tables.info, m->tables.info_count, !strcmp(it->key, key));
}

void facts_words_json(struct json *j, const struct model *m, const char *key)
{
	const struct info_pair *words = pair_named(m, key);
	const char *end = words ? words->value + words->size : NULL;

	json_array(j, key);
	for (const char *p = words ? words->value : NULL; p < end; p += strlen(p) + 1)
		json_text(j, NULL, p);
	json_end_array(j);
}

static void json_info_number(struct json *j, const struct model *m, const char *key)
{
	if (model_info(m, key))
		json_number(j, key, model_info_number(m, key, 0));
}

/* What it has to do with other recordings. */
static void json_family(struct json *j, const struct model *m)
{
	json_info_number(j, m, "ppid");
	json_text(j, "origin", model_info(m, "origin"));
	if (!model_info(m, "parent_id"))
		return;
	json_info_number(j, m, "parent_pid");
	json_text(j, "parent_id", model_info(m, "parent_id"));
	if (!model_info(m, "forked_at"))
		return;
	json_info_number(j, m, "forked_at");
	json_info_number(j, m, "inherited_blocks");
	json_info_number(j, m, "inherited_bytes");
	json_text(j, "inherited_incomplete", model_info(m, "inherited_incomplete"));
}

static void json_successor(struct json *j, const struct model *m)
{
	struct successor s;

	if (!successor_find(m, &s))
		return;
	json_object(j, "went_on_as");
	json_text(j, "executable", s.executable);
	json_text(j, "file", path_base(s.path));
	json_end_object(j);
	successor_release(&s);
}

void facts_program_json(struct json *j, const struct model *m)
{
	uint64_t start = model_start_ns(m);
	char id[ID_SIZE];

	snapshot_id(id, m->reader.header.id);
	json_text(j, "id", id);
	json_text(j, "executable", model_info(m, "executable"));
	facts_words_json(j, m, "cmdline");
	if (model_info(m, "title"))
		json_text(j, "title", model_info(m, "title"));
	json_number(j, "pid", model_info_number(m, "pid", 0));
	json_family(j, m);
	json_text(j, "arch", model_info(m, "arch"));
	json_text(j, "hostname", model_info(m, "hostname"));
	json_text(j, "allocator", model_info(m, "allocator"));
	if (model_info(m, "not_hooked"))
		json_text(j, "not_hooked", model_info(m, "not_hooked"));
	if (model_info(m, INFO_LIBC_MAPS))
		json_text(j, INFO_LIBC_MAPS, model_info(m, INFO_LIBC_MAPS));
	json_text(j, "recorded_by", model_info(m, "version"));
	json_text(j, "end_reason", model_info(m, "end_reason"));
	json_successor(j, m);
	json_info_number(j, m, "exit_status");
	json_info_number(j, m, "exit_signal");
	json_info_number(j, m, "peak_rss");
	json_real_if(j, "start", start, (double)start / 1e9, 6);
	json_number(j, "runtime_ns", model_runtime_ns(m));
	json_number(j, "threads", m->tables.threads.count);
}

static void json_totals(struct json *j, const struct model *m)
{
	const struct totals *t = &m->totals;
	const char *removed_below = model_info(m, INFO_REMOVED_BELOW);

	JSON_MEMBERS(j, t, events, allocations, deallocations, reallocations, allocated_bytes,
		     peak_bytes, peak_count);
	json_number(j, "peak_at_ns", t->peak_bytes ? model_ns(m, t->peak_at) : 0);
	json_number(j, "leaked_count", t->live_count);
	json_number(j, "leaked_bytes", t->live_bytes);
	JSON_MEMBERS(j, t, temporary, heaptrack_temporary, unknown_frees, implicit_frees, mended,
		     realloc_failures);
	json_number(j, "removed_allocations", t->allocations - m->recorded.allocations);
	if (removed_below && !strcmp(removed_below, REMOVED_BELOW_ALL))
		json_text(j, INFO_REMOVED_BELOW, removed_below);
	else
		json_info_number(j, m, INFO_REMOVED_BELOW);
}

void facts_loss_json(struct json *j, const struct model *m)
{
	struct loss loss = model_loss(m);

	json_number(j, "lost_events", model_counters(m, "dropped_"));
	json_bool(j, "truncated", !m->reader.ended || loss.kind != LOSS_NONE);
	json_bool(j, "damaged", loss.kind == LOSS_DAMAGED);
	if (loss.kind == LOSS_NONE) {
		json_null(j, "loss");
		return;
	}
	json_object(j, "loss");
	json_number(j, "offset", loss.err.offset);
	json_text(j, "reason", loss.err.text);
	json_end_object(j);
}

static void json_stacks(struct json *j, const struct model *m, const struct stack_counts *s)
{
	JSON_MEMBERS(j, s, stacks, free_stacks);
	json_number(j, "stack_nodes", m->tables.nodes.known);
	json_number(j, "deepest_stack", s->deepest);
	json_number(j, "without_stack", s->without_stack);
}

static void json_files(struct json *j, const struct model *m)
{
	JSON_EACH(j, "files", i, m->tables.file_count) {
		const struct embedded_file *f = &m->tables.files[i];
		struct buf id = { 0 };

		buf_hex(&id, f->build_id, f->build_id_size);
		json_object(j, NULL);
		json_text(j, "path", f->path);
		json_number(j, "size", f->total_size);
		json_text(j, "build_id", id.data);
		json_bool(j, "complete", model_has_file(m, f));
		json_bool(j, "shared", f->key != NULL);
		json_end_object(j);
		buf_release(&id);
	}
}

static void json_cost(struct json *j, const struct model *m)
{
	struct cost c = cost_of(m);

	json_object(j, "cost");
	json_real_if(j, "percent", c.known, c.percent, 1);
	json_number(j, "ns", c.total_ns);
	json_number(j, "recording_ns", c.recording_ns);
	json_real(j, "event_ns", c.event_ns, 1);
	JSON_MEMBERS(j, &c, setup_ns, waits, waiting_ns);
	json_number(j, "memory_bytes", c.memory);
	json_number(j, "shared_memory_bytes", c.shared_memory);
	json_number(j, "waited_for_disk_ns", model_counters(m, "waited_for_disk_ns"));
	json_number(j, "waited_for_encoding_ns", model_counters(m, "waited_for_encoding_ns"));
	json_number(j, "waited_for_processors_ns", model_counters(m, "waited_for_processors_ns"));
	json_number(j, "collector_cpu_ns", model_counters(m, "collector_cpu_ns"));
	json_number(j, "collector_cores", model_counters(m, "collector_cores"));
	json_number(j, "stored_bytes", model_counters(m, "stored_bytes"));
	json_end_object(j);
}

void facts_json(struct json *j, const struct model *m, const struct stack_counts *s)
{
	const struct tables *t = &m->tables;

	facts_program_json(j, m);
	json_totals(j, m);
	json_stacks(j, m, s);
	facts_loss_json(j, m);
	json_number(j, "embedded_files", t->file_count);
	json_files(j, m);
	words_markers(j, m);
	json_cost(j, m);
	json_object(j, "counters");
	for (size_t i = 0; i < t->counter_count; i++)
		json_number(j, t->counters[i].name, t->counters[i].value);
	json_end_object(j);
}

static int facts_compute(struct ask *a, void *answer)
{
	stats_count_stacks(a->snapshot->model, answer);
	return 0;
}

static void facts_write(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	facts_json(j, a->snapshot->model, answer);
}

const struct question question_facts = {
	.name = "facts",
	.path = "info",
	.help = "what a recording holds, in figures",
	.size = sizeof(struct stack_counts),
	.compute = facts_compute,
	.write_members = facts_write,
};
