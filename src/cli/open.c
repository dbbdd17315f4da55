/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening a recording for a command.  See open.h. */
#include "cli/open.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/folder.h"
#include "answer/kind.h"
#include "answer/kind_fleet.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/xalloc.h"
#include "cli/filtering.h"
#include "cli/naming.h"
#include "cli/processes.h"
#include "cli/waiting.h"
#include "heap/loaded_dump.h"
#include "model/cache.h"

#define CLEAR_LINE "\r\033[K"

static void progress(void *context, uint64_t done, uint64_t total)
{
	progress_update(context, done, total);
}

/* What takes one recording was given many. */
static void fail_folder(const char *path)
{
	struct folder *f = folder_read(path, NULL);

	if (f && f->count)
		fprintf(stderr,
			"memoir: %s: it is a folder of %zu recording%s: name one of them, or "
			"memoir report %s shows all as one\n",
			path, f->count, f->count == 1 ? "" : "s", path);
	else
		fprintf(stderr, "memoir: %s: there is no recording in this folder\n", path);
	folder_free(f);
}

static struct model *fail(const char *path, const struct err *err, int *ret_status)
{
	if (processes_is_folder(path))
		fail_folder(path);
	else if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, "memoir: %s: %s\n", path, err->text);
	else
		fprintf(stderr, "memoir: %s: at offset %" PRIu64 ": %s\n", path, err->offset,
			err->text);
	*ret_status = 1;
	return NULL;
}

static void load(struct model *m)
{
	struct progress bar;
	struct model_options options = { .workers = MODEL_WORKERS_AUTO,
					 .progress = progress,
					 .context = &bar };

	progress_start(&bar, "reading");
	model_load(m, &options);
	progress_end(&bar);
}

/* --follow: one line that is written over on a terminal, and added to elsewhere. */
static void show_totals(const struct model *m, bool first)
{
	static uint64_t shown;
	const struct totals *t = &m->totals;
	auto_buf struct buf line = { 0 };

	if (!first && shown == t->events)
		return;
	shown = t->events;
	buf_printf(&line, "%s%s events  %s allocations  %s live  %s peak%s",
		   isatty(1) ? CLEAR_LINE : "", count_text(t->events), count_text(t->allocations),
		   size_text(t->live_bytes), size_text(t->peak_bytes), isatty(1) ? "" : "\n");
	fflush(stdout);
	buf_flush(&line, STDOUT_FILENO);
}

/* The lock is looked at before the file, so what was read without it is all there will be. */
static bool load_all(struct model *m, const char *path, const struct open_options *o)
{
	bool shown = false, written;
	struct waiting waiting;

	waiting_start(&waiting, path);

	for (;;) {
		written = reader_is_being_written(&m->reader);
		load(m);
		if (!written || m->reader.ended || m->loss.kind == LOSS_DAMAGED)
			return false;
		if (!waiting_goes_on(&waiting, &m->reader, o->follow))
			return true;
		if (o->follow && !o->quiet)
			show_totals(m, !shown);
		shown = true;
	}
}

static void say_loss(const char *path, const struct model *m, bool written)
{
	const struct err *err = &m->loss.err;

	if (m->loss.kind == LOSS_NONE)
		return;
	if (written && m->loss.kind == LOSS_CUT)
		fprintf(stderr,
			"memoir: %s: still being written; --wait waits for its end, --live does "
			"without\n",
			path);
	else
		fprintf(stderr,
			"memoir: %s: %s at offset %" PRIu64 ": %s; everything before it is used\n",
			path, m->loss.kind == LOSS_CUT ? "the end is missing" : "damaged",
			err->offset, err->text);
}

/* The next opening takes as long again, so who can change that should know. */
static void say_uncached(const char *path, const struct model *m)
{
	if (m->cache_needs)
		fprintf(stderr,
			"memoir: %s: not cached, since it needs %s and the cache may have %s: "
			"MEMOIR_CACHE_LIMIT=%" PRIu64 "G allows it\n",
			path, size_text(m->cache_needs), size_text(m->cache_limit),
			(m->cache_needs >> 30) * 5 / 4 + 1);
}

static int open_through_cache(struct model **ret_model, const char *path, bool no_cache,
			      struct err *err)
{
	const char *limit = getenv("MEMOIR_CACHE_LIMIT");
	struct cache_options cache;
	uint64_t size;
	int error;

	if (no_cache)
		return model_open(ret_model, path, err);
	if (limit && !cache_parse_size(limit, &size))
		fprintf(stderr,
			"memoir: MEMOIR_CACHE_LIMIT is a size such as 500M or 16G, not '%s'\n",
			limit);
	cache_options_init(&cache);
	error = model_open_cached(ret_model, path, &cache, err);
	cache_options_release(&cache);
	return error;
}

struct model *open_recording(const char *command, int argc, char **argv,
			     const struct open_options *options, int *ret_status)
{
	struct model *m;
	struct err err;
	bool written;

	if (argc != 1) {
		fprintf(stderr, "memoir %s: %s (memoir %s --help says more)\n", command,
			argc ? "one recording at a time" : "which recording?", command);
		*ret_status = 2;
		return NULL;
	}
	if (open_through_cache(&m, argv[0], options->no_cache || filtering_no_cache(), &err))
		return fail(argv[0], &err, ret_status);
	written = load_all(m, argv[0], options);
	if (options->follow && !options->quiet && isatty(1)) {
		fflush(stdout);
		(void)!write(STDOUT_FILENO, CLEAR_LINE, strlen(CLEAR_LINE));
	}
	if (!m->chunk_count && m->loss.kind != LOSS_NONE) {
		fail(argv[0], &m->loss.err, ret_status);
		return model_free(m);
	}
	model_finish(m);
	say_loss(argv[0], m, written);
	say_uncached(argv[0], m);
	*ret_status = m->loss.kind == LOSS_DAMAGED || (written && !waiting_live) ? 1 : 0;
	return m;
}

/* Names may be looked for until the locations are freed, so the bar is no local. */
static struct progress names_bar;
static bool names_shown;

static void naming(void *context, uint64_t done, uint64_t total)
{
	if (names_shown)
		progress_update(&names_bar, done, total);
}

void open_naming_start(void)
{
	progress_start(&names_bar, "finding names");
	names_shown = true;
}

void open_naming_end(void)
{
	progress_end(&names_bar);
	names_shown = false;
}

static struct locations *find_names(const struct model *m, const struct open_options *options)
{
	struct locations_options names = naming_locations();
	auto_release(cache_options_release) struct cache_options cache = { 0 };

	names.progress = naming;
	if (!options->no_cache && !filtering_no_cache()) {
		cache_options_init(&cache);
		names.cache = &cache;
	}
	return locations_new(m, &names);
}

static struct snapshot *snapshot_of(struct model *m, const char *path,
				    const struct open_options *options)
{
	struct snapshot *s = snapshot_new();

	s->model = m;
	snapshot_id(s->id, m->reader.header.id);
	s->version = 1; /* what a server has that has read it once */
	s->live = !m->reader.ended && reader_is_being_written(&m->reader);
	s->name = xstrdup(path_base(path));
	s->file_size = m->reader.size;
	open_naming_start();
	s->locations = find_names(m, options);
	open_naming_end();
	return s;
}

struct snapshot *open_snapshot(const char *command, char *path, const struct open_options *options,
			       int *ret_status)
{
	struct model *m = open_recording(command, 1, &path, options, ret_status);

	return m ? snapshot_of(m, path, options) : NULL;
}

/* A member of a folder; that its program still runs is no fault there. */
static struct snapshot *load_member(const struct folder *f, const char *path, struct err *err)
{
	struct open_options how = { .quiet = true };
	struct model *m;
	int status;

	waiting_for_file(path);
	err->offset = ERR_NO_OFFSET;
	if (open_through_cache(&m, path, filtering_no_cache(), err)) {
		fail(path, err, &status);
		return NULL;
	}
	load(m);
	if (!m->chunk_count && m->loss.kind != LOSS_NONE) {
		*err = m->loss.err;
		fail(path, err, &status);
		model_free(m);
		return NULL;
	}
	model_finish(m);
	return snapshot_of(m, path, &how);
}

static struct snapshot *open_folder(const char *path, int *ret_status)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct folder *f = folder_read(path, &err);
	struct snapshot *s;

	*ret_status = STATUS_DONE;
	if (f && !f->count)
		err_set(&err, -ENOENT, "there is no recording in this folder");
	if (!f || !f->count) {
		fail(path, &err, ret_status);
		folder_free(f);
		return NULL;
	}
	f->load = load_member;
	s = folder_snapshot(f, &kind_processes);
	s->name = xstrdup(path);
	return s;
}

/* A fleet by its address; who asks is what environment and file say. */
static struct snapshot *open_fleet(const char *command, const char *url, int *ret_status)
{
	auto_free struct fleet_settings *settings = xcalloc(1, sizeof(*settings));
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *s = NULL;

	*ret_status = STATUS_DONE;
	if (!fleet_settings_read(settings, &err))
		s = kind_fleet_open(settings, url, &err);
	if (!s) {
		fprintf(stderr, "memoir %s: %.200s: %s\n", command, url, err.text);
		*ret_status = STATUS_FAILED;
	}
	return s;
}

struct snapshot *open_kind(const char *command, char *path, const char *name,
			   const struct open_options *options, int *ret_status)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct loading loading = { .path = path,
				   .name = path_base(path),
				   .names = naming_locations(),
				   .progress = naming };
	struct stat st = { 0 };
	struct snapshot *s;
	int error;

	if (fleet_is_address(path))
		return open_fleet(command, path, ret_status);
	if (!name)
		return open_snapshot(command, path, options, ret_status);
	if (!strcmp(name, kind_processes.name))
		return open_folder(path, ret_status);
	s = snapshot_new();
	s->name = xstrdup(path_base(path));
	s->version = 1;
	s->kind = kind_of(path, true, s->id, &err);
	error = !s->kind;
	if (!error && strcmp(s->kind->name, name) != 0)
		error = err_set(&err, -EINVAL, "it is no file of that kind");
	if (!error && !stat(path, &st)) {
		s->file_size = (uint64_t)st.st_size;
		s->changed_at = st.st_mtime;
	}
	open_naming_start();
	if (!error)
		error = s->kind->load(s, &loading, &err);
	open_naming_end();
	*ret_status = STATUS_DONE;
	if (error)
		fail(path, &err, ret_status);
	else if (s->heap && s->heap->damaged)
		fail(path, &s->heap->damage, ret_status);
	return error ? snapshot_drop(s) : s;
}

bool open_view(const char *command, int argc, char **argv, const struct open_options *options,
	       struct opened *ret_opened)
{
	struct opened o = { .filter = filtering_take() };
	struct err err = { .offset = ERR_NO_OFFSET };

	*ret_opened = (struct opened){ 0 };
	o.model = open_recording(command, argc, argv, options, &ret_opened->status);
	if (!o.model) {
		filter_free(o.filter);
		return false;
	}
	o.status = ret_opened->status;
	open_naming_start();
	o.locations = find_names(o.model, options);
	o.view = view_new(o.model, o.locations, o.filter, &err);
	open_naming_end();
	if (!o.view) {
		fprintf(stderr, "memoir %s: %s\n", command, err.text);
		opened_release(&o);
		ret_opened->status = 1;
		return false;
	}
	*ret_opened = o;
	return true;
}

void opened_names(struct opened *o)
{
	open_naming_start();
	locations_resolve_all(o->locations);
	open_naming_end();
}

void opened_release(struct opened *o)
{
	view_free(o->view);
	filter_free(o->filter);
	locations_free(o->locations);
	model_free(o->model);
	*o = (struct opened){ .status = o->status };
}
