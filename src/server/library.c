/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Open files.  See library.h. */
#include "server/library.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hold_lock.h"
#include "base/path.h"
#include "base/timed_cond.h"
#include "base/xalloc.h"
#include "server/ending.h"
#include "server/library_internal.h"

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

struct library *library_new(const struct locations_options *names)
{
	struct library *l = xcalloc(1, sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	timed_cond_init(&l->changed);
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

bool library_stop(struct library *l, const struct timespec *deadline)
{
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	l->thread_count = ending_join_all(l->threads, l->thread_count, deadline);
	return !l->thread_count;
}

void library_unlink_uploads(struct library *l)
{
	hold_lock(&l->lock);
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i]->uploaded)
			unlink(l->entries[i]->path);
}

void library_on_ready(struct library *l, void (*ready)(void *context, struct snapshot *s),
		      void *context)
{
	l->ready = ready;
	l->ready_context = context;
}

struct library *library_free(struct library *l)
{
	if (!l)
		return NULL;
	library_stop(l, NULL);
	for (size_t i = 0; i < l->count; i++)
		free_entry(l->entries[i]);
	for (size_t i = 0; i < l->watched_count; i++) {
		snapshot_drop(l->watched[i].snapshot);
		free(l->watched[i].path);
	}
	snapshot_drop(l->fleet);
	free(l->watched);
	free(l->entries);
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

int library_start(struct library *l)
{
	for (unsigned i = 0; i <= LIBRARY_LOADERS; i++) {
		int error =
			pthread_create(&l->threads[i], NULL,
				       i < LIBRARY_LOADERS ? library_loader : library_looker, l);

		if (error) {
			library_stop(l, NULL);
			return -error;
		}
		l->thread_count++;
	}
	return 0;
}

static struct entry *find_entry(const struct library *l, const char *id)
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

/* A copy of a recording has its id too: then the file's position in the table is mixed in. */
static void make_id(const struct library *l, struct entry *e)
{
	for (unsigned i = 0; i < 1000 && find_entry(l, e->id); i++) {
		uint64_t mixed = strtoull(e->id + 16, NULL, 16) * 0x9e3779b97f4a7c15ull + i + 1;

		snprintf(e->id + 16, ID_SIZE - 16, "%016llx", (unsigned long long)mixed);
	}
}

/* With the lock held. */
static struct entry *known_file(const struct library *l, const struct file_state *file)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->entries[i]->file.device == file->device &&
		    l->entries[i]->file.inode == file->inode)
			return l->entries[i];
	return NULL;
}

/* With the lock held. */
static struct entry *add_entry(struct library *l, const char *path, const struct opening *how,
			       const struct file_state *file, const struct kind *kind,
			       const char *id)
{
	struct entry *e = xcalloc(1, sizeof(*e));

	e->kind = kind;
	e->file = *file;
	e->path = xstrdup(path);
	e->name = xstrdup(path_base(how->name ? how->name : path));
	e->uploaded = how->uploaded;
	e->watched = how->watched;
	if (how->uploader)
		snprintf(e->uploader, sizeof(e->uploader), "%s", how->uploader);
	memcpy(e->id, id, ID_SIZE);
	make_id(l, e);
	*xpush(l->entries, l->count, l->room) = e;
	pthread_cond_broadcast(&l->changed);
	return e;
}

int library_open(struct library *l, const char *path, const struct opening *how,
		 char ret_id[ID_SIZE], struct err *err)
{
	const struct kind *kind = NULL;
	struct file_state file;
	struct entry *e;
	char id[ID_SIZE];

	if (!file_look(path, &file))
		return err_set(err, -errno, "%s", strerror(errno));
	/* An uploaded file is a new one: the client that had its number is gone. */
	for (;;) {
		pthread_mutex_lock(&l->lock);
		e = how->uploaded ? NULL : known_file(l, &file);
		if (e || kind)
			break;
		pthread_mutex_unlock(&l->lock);
		kind = kind_of(path, how->named, id, err);
		if (!kind)
			return -EINVAL;
	}
	if (!e)
		e = add_entry(l, path, how, &file, kind, id);
	if (ret_id)
		memcpy(ret_id, e->id, ID_SIZE);
	pthread_mutex_unlock(&l->lock);
	return 0;
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
	if (e->held)
		e->gone = true;
	else
		free_entry(e);
}

int library_add(struct library *l, const char *path, struct err *err)
{
	bool pattern = strpbrk(path, "*?[") && access(path, F_OK) < 0;
	struct watched w = { .pattern = pattern };
	size_t n = strlen(path);
	struct stat st;

	if (!pattern && stat(path, &st) < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	if (!pattern && !S_ISDIR(st.st_mode))
		return library_open(l, path, &(struct opening){ .named = true }, NULL, err);
	while (n > 1 && path[n - 1] == '/')
		n--;
	w.path = xmemdup0(path, n);
	library_folder_id(w.path, w.id);
	hold_lock(&l->lock);
	*xpush(l->watched, l->watched_count, l->watched_room) = w;
	return 0;
}

enum library_found library_take(struct library *l, const char *id, struct snapshot **ret_snapshot,
				double *ret_progress, struct err *err)
{
	struct entry *e;

	*ret_snapshot = NULL;
	hold_lock(&l->lock);
	e = find_entry(l, id);
	if (!e && !strcmp(id, "last") && l->count)
		e = l->entries[l->count - 1];
	if (!e && l->fleet && !strcmp(l->fleet->id, id)) {
		*ret_snapshot = snapshot_hold(l->fleet);
		return LIBRARY_READY;
	}
	if (!e)
		return library_take_folder(l, id, ret_snapshot, ret_progress);
	if (e->snapshot) {
		*ret_snapshot = snapshot_hold(e->snapshot);
		return LIBRARY_READY;
	}
	if (e->state == ENTRY_FAILED) {
		*err = e->err;
		return LIBRARY_FAILED;
	}
	*ret_progress = e->progress;
	return LIBRARY_LOADING;
}

void library_add_fleet(struct library *l, struct snapshot *fleet)
{
	pthread_mutex_lock(&l->lock);
	snapshot_drop(l->fleet);
	l->fleet = fleet;
	pthread_mutex_unlock(&l->lock);
}

int library_upload(struct library *l, const char *path, const char *name, const char *uploader,
		   char ret_id[ID_SIZE], struct err *err)
{
	return library_open(
		l, path,
		&(struct opening){
			.name = name, .named = true, .uploaded = true, .uploader = uploader },
		ret_id, err);
}

int library_remove(struct library *l, const char *id, const char *by)
{
	struct entry *e;

	hold_lock(&l->lock);
	e = find_entry(l, id);
	if (!e)
		return -ENOENT;
	if (!e->uploaded)
		return -EPERM;
	if (by && strcmp(by, e->uploader) != 0)
		return -EACCES;
	library_forget(l, e);
	return 0;
}

int library_find_names(struct library *l, const char *id, const char *by)
{
	struct entry *e;

	hold_lock(&l->lock);
	e = find_entry(l, id);
	if (!e)
		return -ENOENT;
	if (e->uploaded && by && strcmp(by, e->uploader) != 0)
		return -EACCES;
	if (!e->naming) {
		e->debuginfod = e->naming = true;
		/* One that is being loaded is begun again when that is done. */
		if (e->state != ENTRY_LOADING)
			e->state = ENTRY_WAITING;
		pthread_cond_broadcast(&l->changed);
	}
	return 0;
}
