/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What library.c, library_load.c and library_list.c share. */
#include <pthread.h>
#include <sys/stat.h>

#include "server/kind.h"
#include "server/library.h"

enum entry_state { ENTRY_WAITING, ENTRY_LOADING, ENTRY_READY, ENTRY_FAILED };

/* What a file was when it was looked at: another one means that it changed. */
struct file_state {
	dev_t device;
	ino_t inode;
	off_t size;
	int64_t mtime_ns;
};

struct entry {
	char id[ID_SIZE];
	char *path, *name;
	const struct kind *kind;
	enum entry_state state;
	double progress;
	struct err err;
	struct snapshot *snapshot; /* the newest; NULL: none yet */
	uint64_t version;	   /* of it */
	uint64_t loaded;	   /* turn in which it became ready: `last` has the highest */
	struct file_state file;	   /* as it was when the last load began */
	bool uploaded, watched;	   /* from a folder or a pattern */
	char uploader[64];	   /* who sent it: see struct visitor; "": this server itself */
	bool gone;		   /* to be freed by the loader */
	uint64_t look_ns;	   /* CLOCK_MONOTONIC: not to be loaded again before */
};

struct watched {
	char *path;
	bool pattern;
};

struct library {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t loader, looker;
	bool started, stopping;
	struct entry **entries;
	size_t count, room;
	struct entry *loading; /* the loader's, without the lock */
	struct watched *watched;
	size_t watched_count, watched_room;
	uint64_t turns;
	struct places_options names;
	void (*ready)(void *context, const struct snapshot *s); /* NULL: nobody wants to know */
	void *ready_context;
};

void *library_loader(void *library);
void *library_looker(void *library);
/* With the lock held: adds a file unless it is there; NULL with err.  `named`: see kind.h. */
struct entry *library_open(struct library *l, const char *path, bool named, struct err *err);
/* With the lock held: removes one from the table. */
void library_forget(struct library *l, struct entry *e);
bool file_look(const char *path, struct file_state *ret_state);
bool file_same(const struct file_state *a, const struct file_state *b);
uint64_t clock_now_ns(void);
