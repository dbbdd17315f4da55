/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Following a recording.  See follow.h. */
#include "answer/follow.h"

#include "base/lives.h"
#include "base/now.h"
#include "base/path.h"
#include "base/xalloc.h"

/* What happened longer ago than this is in the file, or nothing happened: a collector closes a
 * chunk after a quarter of a second, and events wait for the next one's horizon. */
#define WRITTEN_NS 1000000000ull

int follow_open(struct follow *f, const char *path, const struct locations_options *names,
		uint64_t window_ns, struct err *err)
{
	struct model *m;
	int error = model_open(&m, path, err);

	*f = (struct follow){ .names = *names };
	if (error)
		return error;
	tally_init(&f->tally, m, window_ns);
	f->snapshot = snapshot_new();
	f->snapshot->model = m;
	f->snapshot->tally = &f->tally;
	f->snapshot->name = xstrdup(path_base(path));
	snapshot_id(f->snapshot->id, m->reader.header.id);
	return 0;
}

/* The stamp up to which the file tells what happened. */
static uint64_t known_until(const struct follow *f)
{
	const struct model *m = f->snapshot->model;
	const struct clock_reading *last = &m->tables.last_clock;
	struct model_clock clock = model_clock(m);
	uint64_t now = now_ns() - WRITTEN_NS;
	double stamp;

	if (f->ended || !m->tables.clock_count || now <= last->monotonic_ns)
		return clock.end;
	stamp = (double)last->stamp + (double)(now - last->monotonic_ns) / clock.ns_per_tick;
	return stamp > (double)clock.end && stamp < 1e19 ? (uint64_t)stamp : clock.end;
}

static void find_new_names(struct follow *f)
{
	struct snapshot *s = f->snapshot;

	if (s->locations && locations_grow(s->locations))
		return;
	locations_free(s->locations);
	s->locations = locations_new(s->model, &f->names);
	tally_forget_names(&f->tally);
}

void follow_read_on(struct follow *f, model_progress progress, void *context)
{
	struct model *m = f->snapshot->model;
	struct model_options how = { .workers = MODEL_WORKERS_AUTO,
				     .progress = progress,
				     .context = context,
				     .observe = tally_observe,
				     .observe_displaced = tally_observe_displaced,
				     .observer = &f->tally,
				     .recycle = true };
	/* Before it is read: what was read without the lock is all there will be. */
	bool written = reader_is_being_written(&m->reader);

	if (f->ended)
		return;
	model_load(m, &how);
	f->ended = !written || m->reader.ended || m->loss.kind == LOSS_DAMAGED;
	if (f->ended)
		model_finish(m);
	f->snapshot->live = !f->ended && lives_look(m->reader.fd);
	f->snapshot->file_size = m->reader.size;
	find_new_names(f);
	tally_advance(&f->tally, known_until(f));
}

void follow_release(struct follow *f)
{
	snapshot_drop(f->snapshot);
	tally_release(&f->tally);
	*f = (struct follow){ 0 };
}
