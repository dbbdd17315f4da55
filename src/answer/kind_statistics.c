/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of jemalloc's statistics: told from others and loaded.  See kind.h.  src/jemalloc reads and
 * judges; this only hands on. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "answer/kind.h"
#include "base/xalloc.h"
#include "jemalloc/history.h"

#define LOOK_BYTES (64u << 20) /* of a log, until its first snapshot begins */
#define LOOK_CHUNK (1u << 20)
#define LOOK_OVERLAP 256 /* longer than what a snapshot begins with */
#define KEPT 2000	 /* snapshots of a file that can be asked for */
#define KEPT_BYTES (64u << 20)

/* Does a snapshot begin in these bytes? */
static bool begins(const void *bytes, size_t size)
{
	auto_release(snapshots_close) struct snapshots r = { 0 };
	struct err err;
	bool found;

	snapshots_memory(&r, bytes, size);
	found = snapshots_next(&r, &err) != 0; /* whole, or cut off here */
	return found;
}

static bool is_compressed(const struct kind_file *f)
{
	return f->size >= 4 &&
	       (!memcmp(f->head, "\x1f\x8b", 2) || !memcmp(f->head, "\x28\xb5\x2f\xfd", 4));
}

static bool begins_somewhere(int fd)
{
	auto_free char *chunk = xmalloc(LOOK_CHUNK);

	for (off_t at = 0; at < LOOK_BYTES; at += LOOK_CHUNK - LOOK_OVERLAP) {
		ssize_t n = pread(fd, chunk, LOOK_CHUNK, at);

		if (n <= 0)
			break;
		if (begins(chunk, (size_t)n))
			return true;
	}
	return false;
}

static bool is_statistics(const struct kind_file *f, char ret_id[ID_SIZE])
{
	uint64_t key[2] = { f->device, f->inode };
	XXH128_hash_t hash;

	/* What is compressed is opened to see, if somebody asked for it. */
	if (!begins(f->head, f->size) &&
	    !(f->named && (is_compressed(f) || begins_somewhere(f->fd))))
		return false;
	/* A file that is still written to keeps its id. */
	hash = XXH3_128bits(key, sizeof(key));
	snprintf(ret_id, ID_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	return true;
}

const char *kind_guess_statistics(const struct kind_file *f)
{
	auto_release(snapshots_close) struct snapshots r = { 0 };

	snapshots_memory(&r, f->head, f->size);
	return snapshots_guess(&r);
}

struct reading {
	const struct loading *l;
	uint64_t size;
};

static bool go_on(void *context, uint64_t at)
{
	const struct reading *r = context;

	r->l->progress(r->l->context, at < r->size ? at : r->size, r->size);
	return true;
}

static void release_statistics(struct snapshot *s)
{
	if (s->statistics)
		history_release(s->statistics);
	free(s->statistics);
}

static void warn_of_statistics(struct json *j, const struct snapshot *s)
{
	const struct buf *texts = &s->statistics->problems;

	for (size_t at = 0; at < texts->size; at += strlen(texts->data + at) + 1) {
		json_object(j, NULL);
		json_text(j, "kind", "statistics");
		json_text(j, "text", texts->data + at);
		json_end_object(j);
	}
}

static int load_statistics(struct snapshot *s, const struct loading *l, struct err *err)
{
	struct reading reading = { l, s->file_size };
	auto_release(snapshots_close) struct snapshots r = { 0 };
	int error = snapshots_open(&r, l->path, err);

	if (!error) {
		s->release = release_statistics;
		s->warn = warn_of_statistics;
		s->statistics = xmalloc(sizeof(*s->statistics));
		history_init(s->statistics, l->name, KEPT, KEPT_BYTES);
		error = history_read(s->statistics, &r, go_on, &reading, err);
	}
	return error;
}

static void summarize_statistics(struct json *j, const struct snapshot *s)
{
	const struct history *h = s->statistics;
	const struct history_point *p = &h->last;

	json_object(j, "jemalloc");
	JSON_MEMBERS(j, h, version, snapshots);
	for (unsigned i = 0; i < HISTORY_CURVE_COUNT; i++)
		if (p->value[i] < STATS_NONE && i <= HISTORY_RESIDENT)
			json_number(j, history_curves[i], p->value[i]);
	json_end_object(j);
}

const struct kind kind_statistics = {
	.name = "statistics",
	.is = is_statistics,
	.load = load_statistics,
	.summarize = summarize_statistics,
};
