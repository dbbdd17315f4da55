/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What scripts saved.  See script_files.h. */
#include "server/script_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/hold_lock.h"
#include "base/now.h"
#include "base/xalloc.h"

struct script_file {
	struct script_file *next; /* by last use, the latest first */
	char hash[SCRIPT_FILES_HASH_SIZE];
	int64_t used_ms;
	size_t size;
	char bytes[];
};

struct script_files {
	pthread_mutex_t lock;
	uint64_t seed;
	struct script_file *first;
};

struct script_files *script_files_new(uint64_t seed)
{
	struct script_files *l = xcalloc(1, sizeof(*l));

	pthread_mutex_init(&l->lock, NULL);
	l->seed = seed;
	return l;
}

struct script_files *script_files_free(struct script_files *l)
{
	if (!l)
		return NULL;
	while (l->first) {
		struct script_file *f = l->first;

		l->first = f->next;
		free(f);
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

/* With the lock held: those behind what there is room for, and those that are too old. */
static void drop_oldest(struct script_files *l)
{
	int64_t since = now_ms() - SCRIPT_FILES_AGE_S * 1000ll;
	struct script_file **at = &l->first;
	size_t room = SCRIPT_FILES_MAX;

	while (*at && (*at)->size + sizeof(**at) <= room && (*at)->used_ms >= since) {
		room -= (*at)->size + sizeof(**at);
		at = &(*at)->next;
	}
	while (*at) {
		struct script_file *gone = *at;

		*at = gone->next;
		free(gone);
	}
}

/* With the lock held: takes it out of the list; NULL: there is none. */
static struct script_file *take_file(struct script_files *l, const char *hash)
{
	struct script_file *f = NULL;

	for (struct script_file **at = &l->first; *at; at = &(*at)->next)
		if (!strcmp((*at)->hash, hash)) {
			f = *at;
			*at = f->next;
			break;
		}
	return f;
}

/* With the lock held. */
static void put_file_first(struct script_files *l, struct script_file *f)
{
	f->used_ms = now_ms();
	f->next = l->first;
	l->first = f;
}

void script_files_put(struct script_files *l, const void *bytes, size_t size,
		      char ret_hash[SCRIPT_FILES_HASH_SIZE])
{
	struct script_file *f = xmalloc(sizeof(*f) + size);
	XXH128_hash_t hash = XXH3_128bits_withSeed(bytes, size, l->seed);

	snprintf(f->hash, sizeof(f->hash), "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	strcpy(ret_hash, f->hash);
	f->size = size;
	memcpy(f->bytes, bytes, size);
	hold_lock(&l->lock);
	free(take_file(l, f->hash));
	put_file_first(l, f);
	drop_oldest(l);
}

bool script_files_get(struct script_files *l, const char *hash, struct buf *out)
{
	struct script_file *f;

	hold_lock(&l->lock);
	drop_oldest(l);
	f = take_file(l, hash);
	if (f) {
		put_file_first(l, f);
		buf_add(out, f->bytes, f->size);
	}
	return f != NULL;
}
