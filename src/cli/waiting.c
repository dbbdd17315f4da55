/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Waiting for a recording's end.  See waiting.h. */
#include "cli/waiting.h"

#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/lives.h"
#include "base/now.h"

#define MS 1000000ull
#define FIRST_NS (2 * MS) /* twice as long each time, */
#define LONGEST_NS (100 * MS)
#define SAY_AFTER_NS (1000 * MS)
#define STUCK_NS (10000 * MS) /* without a byte: a collector that was stopped, or hangs */
/* A program that has just been killed is one that lives until its collector has looked. */
#define DEATH_NS (100 * MS)

bool waiting_wait, waiting_live;

static uint64_t size_of(const struct reader *r)
{
	struct stat st;

	return fstat(r->fd, &st) ? 0 : (uint64_t)st.st_size;
}

void waiting_start(struct waiting *w, const char *path)
{
	*w = (struct waiting){ .path = path, .begun_ns = now_ns() };
	w->grown_ns = w->begun_ns;
}

static void say(struct waiting *w, bool lives)
{
	if (!w->said && now_ns() - w->begun_ns >= SAY_AFTER_NS)
		fprintf(stderr, "memoir: %s: waiting for %s\n", w->path,
			lives ? "the program's end" : "its collector, which is still writing");
	w->said |= now_ns() - w->begun_ns >= SAY_AFTER_NS;
}

bool waiting_goes_on(struct waiting *w, const struct reader *r, bool in_any_case)
{
	uint64_t pause = FIRST_NS << w->polls, size = size_of(r);
	bool lives = lives_look(r->fd);

	if (lives && waiting_live)
		return false;
	if (!in_any_case && !waiting_wait) {
		if (lives && now_ns() - w->begun_ns >= DEATH_NS)
			return false;
		w->gave_up = !lives && size == w->size && now_ns() - w->grown_ns >= STUCK_NS;
		if (w->gave_up)
			return false;
	}
	if (size != w->size)
		w->grown_ns = now_ns();
	w->size = size;
	if (pause < LONGEST_NS)
		w->polls++;
	else
		pause = LONGEST_NS;
	if (!in_any_case && (!lives || waiting_wait))
		say(w, lives);
	nanosleep(&(struct timespec){ .tv_nsec = (long)pause }, NULL);
	return true;
}

void waiting_for_file(const char *path)
{
	struct waiting w;
	struct reader r;
	struct err err;

	if (reader_open(&r, path, &err))
		return;
	waiting_start(&w, path);
	while (reader_is_being_written(&r) && waiting_goes_on(&w, &r, false))
		;
	reader_release(&r);
}
