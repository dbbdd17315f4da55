/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Everything that one `memoir run` records: the program, what it becomes, and its children.
 *
 * Each recording's collector reports over a pipe (collector/family.h), which is read while the
 * program runs; at the end those whose program has ended are waited for, and a few lines say what
 * there is. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/loadable.h"

struct session_entry {
	pid_t pid, collector;
	char *path;
	char *became; /* the program that this process executed then; NULL: it ended as it was */
	uint64_t events, bytes;
	bool ended;
};

/* A program that ran without the recorder. */
struct session_unrecorded {
	pid_t pid; /* of who started it, or became it */
	enum loadable answer;
	unsigned machine;
	char *path;
};

struct session {
	int read_fd, write_fd;
	char pipe_path[64]; /* as other processes open it */
	struct session_entry *entries;
	size_t count, room;
	struct session_unrecorded *unrecorded;
	size_t unrecorded_count, unrecorded_room;
	/* How many run of which nothing was reported: forked, and nothing allocated yet.  NULL: not
	 * to be found out. */
	size_t (*count_silent)(const struct session *s);
	char line[4096];
	size_t used;
};

/* 0 or -errno. */
int session_open(struct session *s);
/* Takes what has been reported; never waits. */
void session_read(struct session *s);
/* Ends a poll on the pipe; may be called in a signal handler. */
void session_wake(const struct session *s);
/* Waits, but not for ever, until all recordings of programs that are gone are finished; where
 * `for_running` is given, also for those that still run, until it points to something else than 0.
 */
void session_wait(struct session *s, const volatile sig_atomic_t *for_running);
/* Is there a recording of this process? */
bool session_knows(const struct session *s, pid_t pid);
/* Forgets one that came to nothing. */
void session_drop(struct session *s, const char *path);
/* Says what there is, if it is more than one, or more is to come from `silent` processes. */
void session_conclude(const struct session *s, size_t silent);
/* Says which programs ran without being recorded, and why. */
void session_say_lost(const struct session *s);
void session_release(struct session *s);
