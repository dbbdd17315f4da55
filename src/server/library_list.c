/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is open, as JSON.  See library.h. */
#include <string.h>
#include <time.h>

#include "answer/words.h"
#include "base/buf_type.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "heap/loaded_dump.h"
#include "model/stats.h"
#include "model/words.h"
#include "query/answer.h"
#include "server/library_internal.h"

#define FLEET_AGAIN_S 60

static const char *state_name(const struct entry *e, const struct snapshot *s)
{
	if (!s)
		return e->state == ENTRY_FAILED ? "error" : "loading";
	return s->live ? "live" : "ready";
}

/* Never null: clients read these into texts and numbers. */
static void known_text(struct json *j, const char *key, const char *text)
{
	json_text(j, key, text ? text : "");
}

/* What Bytehound's clients need of every row.  `m` may be NULL: it is being loaded, could not be,
 * or is no recording; then they are empty and 0. */
static void list_program(struct json *j, const struct model *m, const char *executable)
{
	struct stack_counts stacks = { 0 };
	struct totals totals = { 0 };
	auto_buf struct buf line = { 0 };

	if (m) {
		stats_count_stacks(m, &stacks);
		words_command(&line, m);
		totals = m->totals;
	}
	known_text(j, "executable", m ? model_info(m, "executable") : executable);
	known_text(j, "cmdline", line.data);
	known_text(j, "architecture", m ? model_info(m, "arch") : NULL);
	json_number(j, "final_allocated", totals.live_bytes);
	json_number(j, "final_allocated_count", totals.live_count);
	answer_timeval(j, "runtime", m ? model_runtime_ns(m) : 0);
	json_number(j, "unique_backtrace_count", stacks.stacks);
	json_number(j, "maximum_backtrace_depth", stacks.deepest);
	answer_timeval(j, "timestamp", m ? model_start_ns(m) : 0);
}

/* What is left out where it is not known. */
static void list_more(struct json *j, const struct model *m)
{
	json_number(j, "peak_allocated", m->totals.peak_bytes);
	json_number(j, "peak_allocated_count", m->totals.peak_count);
	json_number(j, "allocated_count", m->totals.allocations);
	json_number(j, "pid", model_info_number(m, "pid", 0));
	json_text(j, "hostname", model_info(m, "hostname"));
}

/* What is needed of an entry without the lock. */
struct listed {
	char id[ID_SIZE], *name;
	const char *kind, *state;
	double progress;
	struct err err;
	bool failed, uploaded;
	uint64_t size, version;
	struct snapshot *snapshot;
	size_t recordings; /* of a folder; 0: it is none */
	bool live, naming;
	double named;
};

static void list_one(struct json *j, struct listed *e)
{
	json_object(j, NULL);
	JSON_MEMBERS(j, e, id, name, kind, state);
	json_real(j, "progress", e->progress, 2);
	json_number(j, "version", e->version);
	json_text(j, "error", e->failed ? e->err.text : NULL);
	json_number(j, "file_size", e->size);
	JSON_MEMBERS(j, e, live, uploaded);
	list_program(j, e->snapshot ? e->snapshot->model : NULL,
		     e->snapshot && e->snapshot->heap ? loaded_dump_program(e->snapshot->heap)
						      : NULL);
	if (e->snapshot) {
		snapshot_warnings(e->snapshot, j);
		if (e->snapshot->model)
			list_more(j, e->snapshot->model);
		if (e->snapshot->kind->summarize)
			e->snapshot->kind->summarize(j, e->snapshot);
	} else {
		json_array(j, "warnings");
		json_end_array(j);
	}
	if (e->naming)
		json_real(j, "naming_progress", e->named, 2);
	if (e->recordings)
		json_number(j, "recordings", e->recordings);
	json_end_object(j);
}

/* Folders whose recordings belong together are rows, too.  With the lock held: how many. */
static size_t list_folders(const struct library *l, struct listed *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < l->watched_count; i++) {
		const struct watched *w = &l->watched[i];
		struct folder_state s = library_folder_state(l, w);

		if (!s.is_family)
			continue;
		rows[count] = (struct listed){
			.name = xstrdup(path_base(w->path)),
			.kind = kind_processes.name,
			.state = s.done < s.recordings ? "loading"
				 : s.live	       ? "live"
						       : "ready",
			.progress = (double)s.done / (double)s.recordings,
			.recordings = s.recordings,
			.live = s.live,
			.version = s.version >> 11, /* as much as a number of JSON holds */
		};
		memcpy(rows[count++].id, w->id, ID_SIZE);
	}
	return count;
}

/* So is a fleet. */
static size_t list_fleet(const struct library *l, struct listed *row)
{
	if (!l->fleet)
		return 0;
	*row = (struct listed){
		.name = xstrdup(l->fleet->name),
		.kind = l->fleet->kind->name,
		.state = "ready",
		.progress = 1,
		/* Another one now and then, so that the page asks again. */
		.version = (uint64_t)time(NULL) / FLEET_AGAIN_S,
	};
	memcpy(row->id, l->fleet->id, ID_SIZE);
	return 1;
}

void library_list(struct library *l, struct json *j)
{
	auto_free struct listed *rows = NULL;
	size_t count, folders;

	pthread_mutex_lock(&l->lock);
	count = l->count;
	rows = xcalloc(count + l->watched_count + 2, sizeof(*rows));
	folders = list_folders(l, rows);
	folders += list_fleet(l, rows + folders);
	for (size_t i = 0; i < count; i++) {
		struct entry *e = l->entries[i];

		rows[folders + i] = (struct listed){
			.name = xstrdup(e->name),
			.kind = e->kind->name,
			.state = state_name(e, e->snapshot),
			.progress = e->snapshot ? 1 : e->progress,
			.err = e->err,
			.failed = !e->snapshot && e->state == ENTRY_FAILED,
			.uploaded = e->uploaded,
			.size = e->snapshot ? e->snapshot->file_size : (uint64_t)e->file.size,
			.version = e->version,
			.snapshot = e->snapshot ? snapshot_hold(e->snapshot) : NULL,
			.live = e->snapshot && e->snapshot->live,
			.naming = e->naming,
			.named = e->held ? e->progress : 0,
		};
		memcpy(rows[folders + i].id, e->id, ID_SIZE);
	}
	count += folders;
	pthread_mutex_unlock(&l->lock);
	JSON_EACH(j, NULL, i, count) {
		list_one(j, &rows[i]);
		snapshot_drop(rows[i].snapshot);
		free(rows[i].name);
	}
}
