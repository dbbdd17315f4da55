/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Candidates for debug information.  See search.h. */
#include "symbols/search.h"

#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/hold_lock.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "symbols/debuginfod.h"

#define FILES_MAX (1u << 20)
#define DEPTH_MAX 64

struct candidate {
	char *path;
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
};

struct search {
	const char *const *paths;
	size_t path_count;
	struct debuginfod *servers; /* NULL: not wanted */
	pthread_mutex_t lock;	    /* around what follows, and the servers */
	bool scanned;
	struct candidate *files;
	size_t count, room;
};

struct search *search_new(const char *const *paths, size_t count, bool debuginfod)
{
	struct search *s = xcalloc(1, sizeof(*s));

	s->paths = paths;
	s->path_count = count;
	pthread_mutex_init(&s->lock, NULL);
	s->servers = debuginfod ? debuginfod_new() : NULL;
	return s;
}

struct search *search_free(struct search *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++)
		free(s->files[i].path);
	free(s->files);
	debuginfod_free(s->servers);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

static void search_add_file(struct search *s, const char *path)
{
	struct elf_file f;
	struct candidate c = { 0 };

	if (s->count >= FILES_MAX || !elf_file_open(&f, path))
		return;
	c.path = xstrdup(path);
	c.build_id_size = f.build_id_size;
	memcpy(c.build_id, f.build_id, sizeof(c.build_id));
	elf_file_release(&f);
	*xpush(s->files, s->count, s->room) = c;
}

/* Links to files are followed, as .build-id folders are made of them; those to folders are not, so
 * that there is an end. */
static void scan(struct search *s, const char *path)
{
	char *roots[] = { (char *)path, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
	FTSENT *e;

	while (walk && (e = fts_read(walk))) {
		struct stat st;

		if (e->fts_info == FTS_D && e->fts_level > DEPTH_MAX)
			fts_set(walk, e, FTS_SKIP);
		if (e->fts_info == FTS_F || (e->fts_info == FTS_SL &&
					     stat(e->fts_accpath, &st) == 0 && S_ISREG(st.st_mode)))
			search_add_file(s, e->fts_accpath);
	}
	if (walk)
		fts_close(walk);
}

static void scan_all(struct search *s)
{
	hold_lock(&s->lock);
	for (size_t i = 0; i < s->path_count && !s->scanned; i++)
		scan(s, s->paths[i]);
	s->scanned = true;
}

bool search_by_build_id(struct search *s, const uint8_t *id, size_t size, search_take take,
			void *context)
{
	if (!size)
		return false;
	scan_all(s);
	return ANY(i, s->count,
		   s->files[i].build_id_size == size && !memcmp(s->files[i].build_id, id, size) &&
			   take(context, s->files[i].path));
}

bool search_by_name(struct search *s, const char *name, search_take take, void *context)
{
	scan_all(s);
	for (size_t i = 0; i < s->count; i++) {
		const char *slash = strrchr(s->files[i].path, '/');

		if (!strcmp(slash ? slash + 1 : s->files[i].path, name) &&
		    take(context, s->files[i].path))
			return true;
	}
	return false;
}

char *search_system_path(const uint8_t *id, size_t size, const char *suffix)
{
	struct buf path = { 0 };

	if (size < 2)
		return NULL;
	buf_printf(&path, DEBUG_ROOT "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < size; i++)
		buf_printf(&path, "%02x", id[i]);
	buf_text(&path, suffix);
	return path.data;
}

int search_server(struct search *s, const uint8_t *id, size_t size)
{
	if (!s->servers || !size)
		return -1;
	hold_lock(&s->lock);
	return debuginfod_find(s->servers, id, size);
}
