/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A loaded file as questions see it: it never changes, and stays until the last of them lets go.
 *
 * The server has one for each file and state of it (a recording that is still being written gets a
 * new one each time that it was read again), a command has one for each file that it was given.
 * Any thread. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "answer/views.h"
#include "base/json.h"
#include "model/locations.h"
#include "model/model.h"
#include "query/verdict.h"

struct answer;

#define ID_SIZE 33 /* 32 hexadecimal digits and a NUL */

struct folder;
struct history;
struct loaded_dump;
struct tally;
struct kind;
struct opened_fleet;

struct snapshot {
	_Atomic unsigned refs;
	char id[ID_SIZE];
	char *name;	 /* of the file, without its folder */
	uint64_t number; /* of all there ever were: no two have the same */
	uint64_t version;
	uint64_t file_size;
	int64_t changed_at; /* modification time of the file, seconds since 1970 */
	bool live;	    /* its program still runs */
	bool uploaded;
	const struct kind *kind;
	struct model *model; /* of recordings */
	struct locations *locations;
	/* Of a recording that somebody follows (answer/follow.h), and asks `top` about; else NULL.
	 */
	struct tally *tally;
	struct history *statistics; /* of files of jemalloc's statistics */
	struct loaded_dump *heap;   /* of heap profiles */
	struct folder *folder;	    /* of folders of recordings */
	struct opened_fleet *fleet; /* of fleets (kind_fleet.h), whose model is an empty one */
	/* Of other files than recordings: frees what it is made of; adds rows of "warnings".  May
	 * be NULL. */
	void (*release)(struct snapshot *s);
	void (*warn)(struct json *j, const struct snapshot *s);
	struct views views;
	pthread_mutex_t lock; /* of the next two */
	uint64_t *location_counts, *call_counts;
	pthread_mutex_t judging; /* of the next two: it takes longest of all */
	struct verdicts verdicts, held_verdicts;
	bool judged;
};

struct snapshot *snapshot_new(void);
/* A recording's own id as digits. */
void snapshot_id(char ret_id[ID_SIZE], const uint8_t id[16]);
struct snapshot *snapshot_hold(struct snapshot *s);
/* NULL always. */
struct snapshot *snapshot_drop(struct snapshot *s);

/* answer_init() and answer_release() with the counts that are the same for all. */
void snapshot_answer(struct snapshot *s, struct answer *a, const struct view *v);
void snapshot_answer_release(struct answer *a);

/* Those on everything, found out once; `held`: also of what was freed at exit. */
const struct verdicts *snapshot_verdicts(struct snapshot *s, bool held);
/* Computes what the first requests need, before they come. */
void snapshot_prepare(struct snapshot *s);

/* "warnings": […]: what is to be known before anything is believed. */
void snapshot_warnings(struct snapshot *s, struct json *j);
