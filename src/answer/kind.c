/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Kinds of files.  See kind.h. */
#include "answer/kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/cache.h"
#include "model/stats.h"

#define JUDGED_ROWS 1000000u /* allocations, of which verdicts are made while loading */

static bool is_recording(const struct kind_file *f, char ret_id[ID_SIZE])
{
	struct format_header h;

	if (f->size < sizeof(h))
		return false;
	memcpy(&h, f->head, sizeof(h));
	if (memcmp(h.magic, FORMAT_MAGIC, sizeof(h.magic)) != 0)
		return false;
	snapshot_id(ret_id, h.id);
	return true;
}

/* Reading is most of the work, names are the rest. */
struct parts {
	const struct loading *l;
	unsigned from, to; /* percent */
};

static void part_done(void *context, uint64_t done, uint64_t total)
{
	const struct parts *p = context;
	double share = total ? (double)done / (double)total : 1;

	p->l->progress(p->l->context, p->from + (uint64_t)(share * (p->to - p->from)), 100);
}

static void no_progress(void *context, uint64_t done, uint64_t total)
{
}

/* Names are looked for as long as the locations live, the loading is over before. */
static void find_names(struct snapshot *s, const struct loading *l)
{
	struct parts naming = { l, 85, 95 };
	struct locations_options names = l->names;
	struct cache_options cache;

	cache_options_init(&cache);
	names.cache = &cache;
	names.progress = no_progress;
	s->locations = locations_new(s->model, &names);
	cache_options_release(&cache);
	locations_on_progress(s->locations, part_done, &naming);
	locations_resolve_all(s->locations);
	locations_on_progress(s->locations, no_progress, NULL);
}

static int load_recording(struct snapshot *s, const struct loading *l, struct err *err)
{
	struct parts reading = { l, 0, 80 };
	struct model_options options = { .workers = MODEL_WORKERS_AUTO,
					 .progress = part_done,
					 .context = &reading };
	struct cache_options cache;
	bool written;
	int error;

	cache_options_init(&cache);
	error = model_open_cached(&s->model, l->path, &cache, err);
	cache_options_release(&cache);
	if (error) {
		s->model = NULL;
		return error;
	}
	/* The lock is looked at first, so what is read without it is all there will be. */
	written = reader_is_being_written(&s->model->reader);
	model_load(s->model, &options);
	s->live = written && !s->model->reader.ended && s->model->loss.kind != LOSS_DAMAGED;
	if (!s->model->chunk_count && s->model->loss.kind != LOSS_NONE && !s->live) {
		*err = s->model->loss.err;
		return -EINVAL;
	}
	model_finish(s->model);
	l->progress(l->context, 85, 100);
	find_names(s, l);
	l->progress(l->context, 95, 100);
	/* What every first question needs, so that none has to wait for it. */
	model_summary(s->model);
	if (!s->model->derived)
		stats_derive(s->model);
	/* What grows takes longest of all; of a small recording nobody notices, and of one that
	 * still grows it is soon another. */
	if (!s->live && s->model->allocations.count >= JUDGED_ROWS)
		snapshot_verdicts(s, false);
	return 0;
}

const struct kind kind_processes = { .name = "processes" };

static const struct kind kind_recording = {
	.name = "recording",
	.is = is_recording,
	.load = load_recording,
};

/* Statistics last: they are looked for through whole logs. */
static const struct kind *const kinds[] = { &kind_recording, &kind_heap, &kind_statistics };

const struct kind *kind_of(const char *path, bool named, char ret_id[ID_SIZE], struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char head[KIND_HEAD];
	struct kind_file f = { .fd = fd, .head = head, .named = named };
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0) {
		err_set(err, -errno, "%s", strerror(errno));
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		err_set(err, -EINVAL, "it is not a file");
		return NULL;
	}
	n = pread(fd, head, sizeof(head), 0);
	f.size = n > 0 ? (size_t)n : 0;
	f.device = st.st_dev;
	f.inode = st.st_ino;
	for (size_t i = 0; f.size && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i]->is(&f, ret_id))
			return kinds[i];
	err_set(err, -EINVAL,
		"it is neither a recording nor a heap profile, and holds no jemalloc statistics: "
		"%s",
		kind_guess_statistics(&f));
	return NULL;
}
