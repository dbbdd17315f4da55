/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's threads: some load, one looks for what is new.  See library.h.
 *
 * Files are loaded one after the other, so that the first can be asked soon and `last` is the last
 * that was named.  But where every load under way has taken SLOW_NS, another thread begins with the
 * next file; and the last thread loads small files only, so that no number of large ones holds up a
 * small one.
 *
 * What is still being written is loaded again when it has grown, from the start: a snapshot never
 * changes under those who hold it.  So that this never takes more than a part of one core, the time
 * between two loads is at least three times what the last one took. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hold_lock.h"
#include "base/now.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"
#include "server/library_internal.h"

#define SECOND_NS 1000000000ull
#define LOOK_NS SECOND_NS /* between two looks into folders and at files */
#define REST 3		  /* times what a load took, before the next one of the same file */
#define FOLDER_MAX 10000  /* files of one folder that are looked at */
#define SLOW_NS (SECOND_NS / 2)
#define SMALL_BYTES (64 << 20)

struct load_progress {
	struct library *library;
	struct entry *entry;
};

static void progress(void *context, uint64_t done, uint64_t total)
{
	struct load_progress *p = context;

	hold_lock(&p->library->lock);
	p->entry->progress = total ? (double)done / (double)total : 0;
}

static struct entry *next_waiting(const struct library *l, bool only_small)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i]->state == ENTRY_WAITING && !l->entries[i]->held &&
		    (!only_small || l->entries[i]->file.size <= SMALL_BYTES))
			return l->entries[i];
	return NULL;
}

/* With the lock held: the file to begin with.  NULL: none, and then ret_when is when to look again,
 * UINT64_MAX: not before something changes. */
static struct entry *next_to_load(const struct library *l, uint64_t *ret_when)
{
	uint64_t now = now_ns();
	struct entry *next;
	unsigned busy = 0;

	*ret_when = 0;
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = l->entries[i];

		if (e->held && e->began_ns + SLOW_NS > *ret_when)
			*ret_when = e->began_ns + SLOW_NS;
		busy += e->held;
	}
	next = next_waiting(l, busy == LIBRARY_LOADERS - 1);
	if (next && *ret_when <= now)
		return next;
	if (!next)
		*ret_when = UINT64_MAX;
	return NULL;
}

/* With the lock held: what a load gave becomes what requests see. */
static void take_in(struct library *l, struct entry *e, struct snapshot *s, int error,
		    const struct err *err, uint64_t took_ns)
{
	struct snapshot *old = NULL;

	e->look_ns = now_ns() + (took_ns * REST > LOOK_NS ? took_ns * REST : LOOK_NS);
	if (!error) {
		s->version = ++e->version;
		s->uploaded = e->uploaded;
		s->name = xstrdup(e->name);
		memcpy(s->id, e->id, ID_SIZE);
		old = e->snapshot;
		e->snapshot = s;
		e->state = ENTRY_READY;
		e->progress = 1;
		e->loaded = old ? e->loaded : ++l->turns;
	} else {
		e->state = ENTRY_FAILED;
		e->err = *err;
		snapshot_drop(s);
	}
	pthread_mutex_unlock(&l->lock);
	snapshot_drop(old); /* may take a while */
	pthread_mutex_lock(&l->lock);
}

/* With the lock held: it can be asked already, and soon everything of it is quick. */
static void prepare(struct library *l, struct snapshot *s)
{
	snapshot_hold(s);
	pthread_mutex_unlock(&l->lock);
	if (l->ready)
		l->ready(l->ready_context, s);
	snapshot_prepare(s);
	snapshot_drop(s);
	pthread_mutex_lock(&l->lock);
}

static void load(struct library *l, struct entry *e)
{
	struct load_progress where = { l, e };
	struct loading how = { .names = l->names, .progress = progress, .context = &where };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *s = snapshot_new();
	struct file_state file = e->file;
	bool naming = e->debuginfod;
	int error = 0;

	how.names.debuginfod |= naming;
	e->state = ENTRY_LOADING;
	e->progress = 0;
	e->held = true;
	e->began_ns = now_ns();
	pthread_mutex_unlock(&l->lock);
	how.path = e->path;
	how.name = e->name;
	s->kind = e->kind;
	/* Before it is read: what is written later shows up as a change. */
	if (!file_look(e->path, &file))
		error = err_set(&err, -errno, "%s", strerror(errno));
	s->file_size = (uint64_t)file.size;
	s->changed_at = file.mtime_ns / 1000000000;
	if (!error)
		error = e->kind->load(s, &how, &err);
	pthread_mutex_lock(&l->lock);
	e->file = file;
	take_in(l, e, s, error, &err, now_ns() - e->began_ns);
	if (naming)
		e->naming = false;
	else if (e->naming)
		e->state = ENTRY_WAITING; /* names were wanted meanwhile */
	if (!error && !s->live && !l->stopping && !next_waiting(l, false))
		prepare(l, s);
	e->held = false;
	if (e->gone)
		library_forget(l, e);
	pthread_cond_broadcast(&l->changed); /* threads that wait for a loader */
}

/* With the lock held: until something changes, or until a moment. */
static void wait_until(struct library *l, uint64_t ns)
{
	if (ns == UINT64_MAX)
		pthread_cond_wait(&l->changed, &l->lock);
	else
		timed_cond_wait(&l->changed, &l->lock, ns);
}

void *library_loader(void *library)
{
	struct library *l = library;

	hold_lock(&l->lock);
	while (!l->stopping) {
		uint64_t when;
		struct entry *e = next_to_load(l, &when);

		if (e)
			load(l, e);
		else
			wait_until(l, when);
	}
	return NULL;
}

/* A file of a folder; what is no recording is passed over. */
static void meet(struct library *l, const char *path)
{
	struct err err;

	library_open(l, path, &(struct opening){ .watched = true }, NULL, &err);
}

static void look_into(struct library *l, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && i < FOLDER_MAX && !l->stopping) {
			auto_free char *file = xasprintf("%s/%s", path, names[i]->d_name);

			meet(l, file);
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void look_for(struct library *l, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc && i < FOLDER_MAX && !l->stopping; i++)
		meet(l, found.gl_pathv[i]);
	globfree(&found);
}

/* With the lock held: has a file grown, been replaced, or gone? */
static void look_again(struct library *l)
{
	uint64_t now = now_ns();
	struct file_state file;

	for (size_t i = 0; i < l->count; i++) {
		struct entry *e = l->entries[i];
		bool live = e->snapshot && e->snapshot->live;

		if (e->state < ENTRY_READY || e->held || now < e->look_ns)
			continue;
		if (!file_look(e->path, &file)) {
			if (e->watched) {
				library_forget(l, e);
				i--;
			}
			continue;
		}
		/* A live one is looked at once more when its writer has gone. */
		if (live || !file_same(&file, &e->file)) {
			e->state = ENTRY_WAITING;
			pthread_cond_broadcast(&l->changed);
		}
	}
}

void *library_looker(void *library)
{
	struct library *l = library;
	uint64_t next;

	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		size_t count = l->watched_count;

		pthread_mutex_unlock(&l->lock);
		for (size_t i = 0; i < count; i++) {
			if (l->watched[i].pattern)
				look_for(l, l->watched[i].path);
			else
				look_into(l, l->watched[i].path);
		}
		pthread_mutex_lock(&l->lock);
		look_again(l);
		next = now_ns() + LOOK_NS;
		while (!l->stopping && now_ns() < next)
			wait_until(l, next);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}
