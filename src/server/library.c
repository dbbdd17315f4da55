/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Open files.  See library.h. */
#include "server/library.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "export/stacks.h"
#include "server/library_internal.h"

uint64_t clock_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool file_look(const char *path, struct file_state *ret_state)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	*ret_state = (struct file_state){ .device = st.st_dev,
					  .inode = st.st_ino,
					  .size = st.st_size,
					  .mtime_ns = st.st_mtim.tv_sec * 1000000000LL +
						      st.st_mtim.tv_nsec };
	return true;
}

bool file_same(const struct file_state *a, const struct file_state *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns;
}

struct library *library_new(const struct places_options *names)
{
	struct library *l = xcalloc(1, sizeof(*l));
	pthread_condattr_t attr;

	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	l->names = *names;
	return l;
}

static void free_entry(struct entry *e)
{
	snapshot_drop(e->snapshot);
	if (e->uploaded)
		unlink(e->path);
	free(e->path);
	free(e->name);
	free(e);
}

void library_stop(struct library *l)
{
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	if (l->started) {
		pthread_join(l->loader, NULL);
		pthread_join(l->looker, NULL);
	}
	l->started = false;
}

void library_on_ready(struct library *l, void (*ready)(void *context, const struct snapshot *s),
		      void *context)
{
	l->ready = ready;
	l->ready_context = context;
}

struct library *library_free(struct library *l)
{
	if (!l)
		return NULL;
	library_stop(l);
	for (size_t i = 0; i < l->count; i++)
		free_entry(l->entries[i]);
	for (size_t i = 0; i < l->watched_count; i++)
		free(l->watched[i].path);
	free(l->watched);
	free(l->entries);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

int library_start(struct library *l)
{
	int error = pthread_create(&l->loader, NULL, library_loader, l);

	if (error)
		return -error;
	error = pthread_create(&l->looker, NULL, library_looker, l);
	if (error) {
		library_stop(l);
		pthread_join(l->loader, NULL);
		return -error;
	}
	l->started = true;
	return 0;
}

static struct entry *find(const struct library *l, const char *id)
{
	struct entry *last = NULL;

	for (size_t i = 0; i < l->count; i++) {
		struct entry *e = l->entries[i];

		if (!strcmp(e->id, id))
			return e;
		if (e->snapshot && (!last || e->loaded > last->loaded))
			last = e;
	}
	return strcmp(id, "last") ? NULL : last;
}

/* A copy of a recording has its id too: then the file's place in the table is mixed in. */
static void make_id(const struct library *l, struct entry *e)
{
	for (unsigned i = 0; i < 1000 && find(l, e->id); i++) {
		uint64_t mixed = strtoull(e->id + 16, NULL, 16) * 0x9e3779b97f4a7c15ull + i + 1;

		snprintf(e->id + 16, ID_SIZE - 16, "%016llx", (unsigned long long)mixed);
	}
}

struct entry *library_open(struct library *l, const char *path, bool named, struct err *err)
{
	struct file_state file;
	const struct kind *kind;
	struct entry *e;
	char id[ID_SIZE];

	if (!file_look(path, &file)) {
		err_set(err, -errno, "%s", strerror(errno));
		return NULL;
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i]->file.device == file.device &&
		    l->entries[i]->file.inode == file.inode)
			return l->entries[i];
	kind = kind_of(path, named, id, err);
	if (!kind)
		return NULL;
	e = xcalloc(1, sizeof(*e));
	e->kind = kind;
	e->file = file;
	e->path = xstrdup(path);
	e->name = xstrdup(path_base(path));
	memcpy(e->id, id, ID_SIZE);
	make_id(l, e);
	l->entries = xgrow(l->entries, l->count, &l->room, sizeof(*l->entries));
	l->entries[l->count++] = e;
	pthread_cond_broadcast(&l->changed);
	return e;
}

void library_forget(struct library *l, struct entry *e)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i] == e) {
			l->count--;
			memmove(l->entries + i, l->entries + i + 1,
				(l->count - i) * sizeof(*l->entries));
			break;
		}
	if (l->loading == e)
		e->gone = true;
	else
		free_entry(e);
}

int library_add(struct library *l, const char *path, struct err *err)
{
	bool pattern = strpbrk(path, "*?[") && access(path, F_OK) < 0;
	struct stat st;
	int error = 0;

	if (!pattern && stat(path, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	pthread_mutex_lock(&l->lock);
	if (pattern || S_ISDIR(st.st_mode)) {
		l->watched =
			xgrow(l->watched, l->watched_count, &l->watched_room, sizeof(*l->watched));
		l->watched[l->watched_count++] =
			(struct watched){ .path = xstrdup(path), .pattern = pattern };
	} else if (!library_open(l, path, true, err)) {
		error = -EINVAL;
	}
	pthread_mutex_unlock(&l->lock);
	return error;
}

enum library_found library_take(struct library *l, const char *id, struct snapshot **ret_snapshot,
				double *ret_progress, struct err *err)
{
	enum library_found found = LIBRARY_NONE;
	struct entry *e;

	*ret_snapshot = NULL;
	pthread_mutex_lock(&l->lock);
	e = find(l, id);
	if (!e && !strcmp(id, "last") && l->count)
		e = l->entries[l->count - 1];
	if (e && e->snapshot) {
		*ret_snapshot = snapshot_hold(e->snapshot);
		found = LIBRARY_READY;
	} else if (e && e->state == ENTRY_FAILED) {
		*err = e->err;
		found = LIBRARY_FAILED;
	} else if (e) {
		*ret_progress = e->progress;
		found = LIBRARY_LOADING;
	}
	pthread_mutex_unlock(&l->lock);
	return found;
}

void library_counts(struct library *l, size_t *ret_all, size_t *ret_done)
{
	pthread_mutex_lock(&l->lock);
	*ret_all = l->count;
	*ret_done = 0;
	for (size_t i = 0; i < l->count; i++)
		*ret_done += l->entries[i]->snapshot || l->entries[i]->state == ENTRY_FAILED;
	pthread_mutex_unlock(&l->lock);
}

int library_upload(struct library *l, const char *path, const char *name, const char *uploader,
		   char ret_id[ID_SIZE], struct err *err)
{
	struct entry *e;

	pthread_mutex_lock(&l->lock);
	e = library_open(l, path, true, err);
	if (e) {
		e->uploaded = true;
		snprintf(e->uploader, sizeof(e->uploader), "%s", uploader);
		free(e->name);
		e->name = xstrdup(path_base(name));
		memcpy(ret_id, e->id, ID_SIZE);
	}
	pthread_mutex_unlock(&l->lock);
	return e ? 0 : -EINVAL;
}

int library_remove(struct library *l, const char *id, const char *by)
{
	struct entry *e;
	int error = 0;

	pthread_mutex_lock(&l->lock);
	e = find(l, id);
	if (!e)
		error = -ENOENT;
	else if (!e->uploaded)
		error = -EPERM;
	else if (by && strcmp(by, e->uploader) != 0)
		error = -EACCES;
	else
		library_forget(l, e);
	pthread_mutex_unlock(&l->lock);
	return error;
}
