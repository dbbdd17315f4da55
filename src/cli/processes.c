/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A folder of recordings.  See processes.h.
 *
 * Each names the recording that it came from (its parent before fork or exec, itself before exec)
 * by its id; those that name none, or one that is not there, stand at the top. */
#include "cli/processes.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/json.h"
#include "base/progress.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/table.h"
#include "cli/waiting.h"
#include "model/model.h"
#include "model/words.h"

#define NONE SIZE_MAX

struct process {
	char *path; /* within the folder */
	char *command, *executable, *origin, *end_reason;
	char id[33], parent_id[33];
	uint64_t pid, parent_pid, start_ns, runtime_ns;
	struct totals totals;
	bool complete;
	size_t parent;
};

struct processes {
	struct process *list;
	size_t count, room;
};

bool processes_is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool is_recording(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char magic[sizeof(FORMAT_MAGIC) - 1];
	bool is;

	if (fd < 0)
		return false;
	is = read(fd, magic, sizeof(magic)) == sizeof(magic) &&
	     !memcmp(magic, FORMAT_MAGIC, sizeof(magic));
	close(fd);
	return is;
}

static char *text_of(const struct model *m, const char *key)
{
	const char *text = model_info(m, key);

	return xstrdup(text ? text : "");
}

static void describe(struct process *p, const struct model *m, const char *name)
{
	const char *parent = model_info(m, "parent_id");
	struct buf command = { 0 };

	words_command(&command, m);
	*p = (struct process){
		.path = xstrdup(name),
		.command = command.data ? command.data : text_of(m, "executable"),
		.executable = text_of(m, "executable"),
		.origin = text_of(m, "origin"),
		.end_reason = text_of(m, "end_reason"),
		.pid = model_info_number(m, "pid", 0),
		.parent_pid = model_info_number(m, "parent_pid", model_info_number(m, "ppid", 0)),
		.start_ns = model_start_ns(m),
		.runtime_ns = model_runtime_ns(m),
		.totals = m->totals,
		.complete = m->reader.ended && m->loss.kind == LOSS_NONE,
		.parent = NONE,
	};
	for (unsigned i = 0; i < sizeof(m->reader.header.id); i++)
		snprintf(p->id + (size_t)2 * i, 3, "%02x", m->reader.header.id[i]);
	if (parent)
		snprintf(p->parent_id, sizeof(p->parent_id), "%s", parent);
}

static bool add_process(struct processes *all, const char *folder, const char *name)
{
	struct model_options options = { .workers = MODEL_WORKERS_AUTO };
	char path[PATH_MAX];
	struct model *m;
	struct err err;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	waiting_for_file(path);
	if (model_open(&m, path, &err)) {
		fprintf(stderr, "memoir: %s: %s\n", path, err.text);
		return false;
	}
	model_load(m, &options);
	model_finish(m);
	all->list = xgrow(all->list, all->count, &all->room, sizeof(*all->list));
	describe(&all->list[all->count++], m, name);
	model_free(m);
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* A parent started before its child; so there is no circle, whatever the files say. */
static void link_up(struct processes *all)
{
	for (size_t i = 0; i < all->count; i++)
		for (size_t k = 0; k < i; k++)
			if (all->list[i].parent_id[0] &&
			    !strcmp(all->list[k].id, all->list[i].parent_id))
				all->list[i].parent = k;
}

static bool read_folder(struct processes *all, const char *folder)
{
	DIR *dir = opendir(folder);
	char **names = NULL;
	size_t count = 0, room = 0;
	struct progress bar;
	bool ok = true;

	if (!dir) {
		fprintf(stderr, "memoir: %s: %m\n", folder);
		return false;
	}
	for (struct dirent *e; (e = readdir(dir));) {
		if (!is_recording(dirfd(dir), e->d_name))
			continue;
		names = xgrow(names, count, &room, sizeof(*names));
		names[count++] = xstrdup(e->d_name);
	}
	closedir(dir);
	progress_start(&bar, "reading");
	for (size_t i = 0; i < count; i++) {
		ok &= add_process(all, folder, names[i]);
		progress_update(&bar, i + 1, count);
		free(names[i]);
	}
	progress_end(&bar);
	free(names);
	if (all->count)
		qsort(all->list, all->count, sizeof(*all->list), by_start);
	link_up(all);
	return ok;
}

static void json_process(struct json *j, const struct process *p, const struct processes *all)
{
	json_object(j, NULL);
	json_text(j, "file", p->path);
	json_text(j, "id", p->id);
	if (p->parent == NONE)
		json_null(j, "parent_id");
	else
		json_text(j, "parent_id", all->list[p->parent].id);
	json_text(j, "origin", p->origin);
	json_number(j, "pid", p->pid);
	json_number(j, "parent_pid", p->parent_pid);
	json_text(j, "executable", p->executable);
	json_text(j, "command", p->command);
	json_text(j, "end_reason", p->end_reason);
	json_real(j, "start", (double)p->start_ns / 1e9, 6);
	json_number(j, "runtime_ns", p->runtime_ns);
	json_number(j, "events", p->totals.events);
	json_number(j, "allocations", p->totals.allocations);
	json_number(j, "peak_bytes", p->totals.peak_bytes);
	json_number(j, "leaked_bytes", p->totals.live_bytes);
	json_number(j, "leaked_count", p->totals.live_count);
	json_bool(j, "truncated", !p->complete);
	json_end_object(j);
}

static void print_json(struct buf *out, const struct processes *all)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	json_array(&j, "recordings");
	for (size_t i = 0; i < all->count; i++)
		json_process(&j, &all->list[i], all);
	json_end_array(&j);
	json_end_object(&j);
}

static bool is_last_child(const struct processes *all, size_t i)
{
	for (size_t k = i + 1; k < all->count; k++)
		if (all->list[k].parent == all->list[i].parent)
			return false;
	return true;
}

/* The lines that lead from the ancestors to this one. */
static void branch(struct buf *out, const struct processes *all, size_t i)
{
	const struct process *p = &all->list[i];

	if (p->parent == NONE)
		return;
	if (all->list[p->parent].parent != NONE) {
		struct buf above = { 0 };

		branch(&above, all, p->parent);
		/* What leads to the parent, without its own bend. */
		above.data[above.size - strlen("├─ ")] = 0;
		buf_text(out, above.data);
		buf_text(out, is_last_child(all, p->parent) ? "   " : "│  ");
		buf_release(&above);
	}
	buf_text(out, is_last_child(all, i) ? "└─ " : "├─ ");
}

static const struct table_column columns[] = {
	{ .title = "process", .style = STYLE_NUMBER },
	{ .title = "ran" },
	{ .title = "peak" },
	{ .title = "leaked" },
	{ .title = "events" },
	{ .title = "file", .left = true },
	{ .title = "command", .left = true },
	{ 0 },
};

static void text_process(struct table *t, const struct processes *all, size_t i)
{
	const struct process *p = &all->list[i];
	struct human ran, peak, leaked, events;
	struct buf command = { 0 };

	branch(&command, all, i);
	if (!p->complete)
		buf_text(&command, "(its end is missing) ");
	if (p->parent != NONE && all->list[p->parent].pid == p->pid)
		buf_text(&command, "became ");
	else if (!strcmp(p->origin, "fork"))
		buf_text(&command, "fork of ");
	buf_printable(&command, p->command, strlen(p->command));
	table_cellf(t, "%llu", (unsigned long long)p->pid);
	table_cell(t, human_duration(&ran, p->runtime_ns));
	table_cell(t, human_size(&peak, p->totals.peak_bytes));
	table_cell(t, human_size(&leaked, p->totals.live_bytes));
	table_cell(t, human_count(&events, p->totals.events));
	table_cell(t, p->path);
	table_cell(t, command.data ? command.data : "");
	buf_release(&command);
}

static void text_below(struct table *t, const struct processes *all, size_t parent)
{
	for (size_t i = 0; i < all->count; i++) {
		if (all->list[i].parent != parent)
			continue;
		text_process(t, all, i);
		text_below(t, all, i);
	}
}

static void print_text(struct buf *out, const struct term *term, const struct processes *all)
{
	struct table t;

	table_init(&t, columns);
	text_below(&t, all, NONE);
	table_print(&t, term, !isatty(STDOUT_FILENO), out);
	table_release(&t);
}

int processes_show(const char *folder, const struct term *term, bool as_json)
{
	struct processes all = { 0 };
	struct buf out = { 0 };
	int status = read_folder(&all, folder) ? 0 : 1;

	if (!all.count) {
		if (!status)
			fprintf(stderr, "memoir: %s: there is no recording in this folder\n",
				folder);
		return 1;
	}
	if (as_json)
		print_json(&out, &all);
	else
		print_text(&out, term, &all);
	if (buf_flush(&out, 1))
		status = 1;
	buf_release(&out);
	for (size_t i = 0; i < all.count; i++) {
		struct process *p = &all.list[i];

		free(p->path);
		free(p->command);
		free(p->executable);
		free(p->origin);
		free(p->end_reason);
	}
	free(all.list);
	return status;
}
