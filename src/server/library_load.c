/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The library's two threads: one loads, one looks for what is new.  See library.h.
 *
 * What is still being written is loaded again when it has grown, from the start: a snapshot never
 * changes under those who hold it.  So that this never takes more than a part of one core, the time
 * between two loads is at least three times what the last one took. */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/xalloc.h"
#include "export/stacks.h"
#include "server/library_internal.h"

#define SECOND_NS 1000000000ull
#define LOOK_NS SECOND_NS /* between two looks into folders and at files */
#define REST 3		  /* times what a load took, before the next one of the same file */
#define FOLDER_MAX 10000  /* files of one folder that are looked at */

static void progress(void *context, uint64_t done, uint64_t total)
{
	struct library *l = context;

	pthread_mutex_lock(&l->lock);
	if (l->loading)
		l->loading->progress = total ? (double)done / (double)total : 0;
	pthread_mutex_unlock(&l->lock);
}

static struct entry *next_waiting(const struct library *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i]->state == ENTRY_WAITING)
			return l->entries[i];
	return NULL;
}

/* With the lock held: what a load gave becomes what requests see. */
static void take_in(struct library *l, struct entry *e, struct snapshot *s, int error,
		    const struct err *err, uint64_t took_ns)
{
	struct snapshot *old = NULL;

	e->look_ns = clock_now_ns() + (took_ns * REST > LOOK_NS ? took_ns * REST : LOOK_NS);
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
static void warm(struct library *l, struct snapshot *s)
{
	snapshot_hold(s);
	pthread_mutex_unlock(&l->lock);
	snapshot_warm(s);
	if (l->ready)
		l->ready(l->ready_context, s);
	snapshot_drop(s);
	pthread_mutex_lock(&l->lock);
}

static void load(struct library *l, struct entry *e)
{
	struct loading how = { .names = l->names, .progress = progress, .context = l };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct snapshot *s = snapshot_new();
	uint64_t began = clock_now_ns();
	int error = 0;

	e->state = ENTRY_LOADING;
	e->progress = 0;
	l->loading = e;
	pthread_mutex_unlock(&l->lock);
	how.path = e->path;
	how.name = e->name;
	s->kind = e->kind;
	/* Before it is read: what is written later shows up as a change. */
	if (!file_look(e->path, &e->file))
		error = err_set(&err, -errno, "%s", strerror(errno));
	s->file_size = (uint64_t)e->file.size;
	s->changed_at = e->file.mtime_ns / 1000000000;
	if (!error)
		error = e->kind->load(s, &how, &err);
	pthread_mutex_lock(&l->lock);
	take_in(l, e, s, error, &err, clock_now_ns() - began);
	if (!error && !s->live && !l->stopping && !next_waiting(l))
		warm(l, s);
	l->loading = NULL;
	if (e->gone)
		library_forget(l, e);
}

void *library_loader(void *library)
{
	struct library *l = library;
	struct entry *e;

	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		e = next_waiting(l);
		if (e)
			load(l, e);
		else
			pthread_cond_wait(&l->changed, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* With the lock held: a file of a folder; what is no recording is passed over. */
static void meet(struct library *l, const char *path)
{
	struct err err;
	size_t before = l->count;
	struct entry *e = library_open(l, path, false, &err);

	if (e && l->count > before)
		e->watched = true;
}

static void look_into(struct library *l, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.' && i < FOLDER_MAX && !l->stopping) {
			auto_free char *file = xasprintf("%s/%s", path, names[i]->d_name);

			pthread_mutex_lock(&l->lock);
			meet(l, file);
			pthread_mutex_unlock(&l->lock);
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
	for (size_t i = 0; i < found.gl_pathc && i < FOLDER_MAX; i++) {
		pthread_mutex_lock(&l->lock);
		meet(l, found.gl_pathv[i]);
		pthread_mutex_unlock(&l->lock);
	}
	globfree(&found);
}

/* With the lock held: has a file grown, been replaced, or gone? */
static void look_again(struct library *l)
{
	uint64_t now = clock_now_ns();
	struct file_state file;

	for (size_t i = 0; i < l->count; i++) {
		struct entry *e = l->entries[i];
		bool live = e->snapshot && e->snapshot->live;

		if (e->state < ENTRY_READY || now < e->look_ns)
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
		next = clock_now_ns() + LOOK_NS;
		while (!l->stopping && clock_now_ns() < next)
			pthread_cond_timedwait(
				&l->changed, &l->lock,
				&(struct timespec){ .tv_sec = (time_t)(next / SECOND_NS),
						    .tv_nsec = (long)(next % SECOND_NS) });
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}
