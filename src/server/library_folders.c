/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Folders of the library that can be asked as one file: what `memoir run --children` wrote.  See
 * library.h, and answer/folder.h for what a folder is to questions.
 *
 * A snapshot of a folder holds one of each recording in it.  It is made when somebody asks, and
 * anew once one of them has become another. */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "answer/folder.h"
#include "base/order.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "server/library_internal.h"

/* FNV-1a. */
static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (const unsigned char *p = bytes; size--; p++)
		hash = (hash ^ *p) * 0x100000001b3ull;
	return hash;
}

void library_folder_id(const char *path, char ret_id[ID_SIZE])
{
	uint64_t high = hash_bytes(0xcbf29ce484222325ull, path, strlen(path));
	uint64_t low = hash_bytes(high, "folder", 6);

	snprintf(ret_id, ID_SIZE, "%016llx%016llx", (unsigned long long)high,
		 (unsigned long long)low);
}

static bool belongs(const struct watched *w, const struct entry *e)
{
	size_t n = strlen(w->path);

	if (e->uploaded || strcmp(e->kind->name, "recording") != 0)
		return false;
	if (w->pattern)
		return !fnmatch(w->path, e->path, FNM_PATHNAME);
	return !strncmp(e->path, w->path, n) && e->path[n] == '/' && !strchr(e->path + n + 1, '/');
}

/* Did a recording come from another one? */
static bool has_parent(const struct entry *e)
{
	return e->snapshot && e->snapshot->model && model_info(e->snapshot->model, "parent_id");
}

struct folder_state library_folder_state(const struct library *l, const struct watched *w)
{
	struct folder_state s = { .version = 0xcbf29ce484222325ull };
	size_t children = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = l->entries[i];
		uint64_t number = e->snapshot ? e->snapshot->number : 0;

		if (!belongs(w, e))
			continue;
		s.recordings++;
		s.done += e->snapshot || e->state == ENTRY_FAILED;
		s.live |= e->snapshot && e->snapshot->live;
		s.version = hash_bytes(s.version, &number, sizeof(number));
		children += has_parent(e);
	}
	s.is_family = children && s.recordings > 1;
	return s;
}

ORDER(by_name, struct folder_member, strcmp(x->name, y->name))

static struct snapshot *make_snapshot(const struct library *l, const struct watched *w)
{
	struct folder *f = xcalloc(1, sizeof(*f));
	struct snapshot *s = folder_snapshot(f, &kind_processes);

	f->path = xstrdup(w->path);
	for (size_t i = 0; i < l->count; i++) {
		const struct entry *e = l->entries[i];
		struct folder_member *m;

		if (!belongs(w, e))
			continue;
		m = folder_add(f);
		m->name = xstrdup(e->name);
		m->err = e->err;
		m->snapshot = e->snapshot ? snapshot_hold(e->snapshot) : NULL;
		memcpy(m->id, e->id, ID_SIZE);
	}
	SORT(f->members, f->count, by_name);
	memcpy(s->id, w->id, ID_SIZE);
	s->name = xstrdup(path_base(w->path));
	return s;
}

enum library_found library_take_folder(struct library *l, const char *id,
				       struct snapshot **ret_snapshot, double *ret_progress)
{
	for (size_t i = 0; i < l->watched_count; i++) {
		struct watched *w = &l->watched[i];
		struct folder_state now;

		if (strcmp(w->id, id) != 0)
			continue;
		now = library_folder_state(l, w);
		if (!now.recordings)
			return LIBRARY_NONE;
		*ret_progress = (double)now.done / (double)now.recordings;
		if (now.done < now.recordings)
			return LIBRARY_LOADING;
		if (!w->snapshot || w->version != now.version) {
			snapshot_drop(w->snapshot);
			w->snapshot = make_snapshot(l, w);
			w->version = now.version;
		}
		*ret_snapshot = snapshot_hold(w->snapshot);
		return LIBRARY_READY;
	}
	return LIBRARY_NONE;
}
