/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What library.c, library_load.c and library_list.c share. */
#include <pthread.h>
#include <sys/stat.h>

#include "answer/kind.h"
#include "server/library.h"

#define LIBRARY_LOADERS 4

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
	bool held;		   /* by a loader, which works on it without the lock */
	bool gone;		   /* to be freed by that one */
	bool debuginfod;	   /* somebody wants names from its servers */
	bool naming;		   /* and they are being looked for */
	uint64_t began_ns;	   /* CLOCK_MONOTONIC: when the loader took it */
	uint64_t look_ns;	   /* the same: not to be loaded again before */
};

struct watched {
	char *path; /* without a '/' at its end */
	bool pattern;
	char id[ID_SIZE];	   /* of its recordings as one */
	struct snapshot *snapshot; /* of these; NULL: nobody has asked */
	uint64_t version;	   /* of it: see struct folder_state */
};

struct library {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t threads[LIBRARY_LOADERS + 1]; /* the last one looks */
	unsigned thread_count;
	_Atomic bool stopping;
	struct entry **entries;
	size_t count, room;
	struct watched *watched;
	size_t watched_count, watched_room;
	struct snapshot *fleet; /* NULL: none */
	uint64_t turns;
	struct locations_options names;
	void (*ready)(void *context, struct snapshot *s); /* NULL: nobody wants to know */
	void *ready_context;
};

void *library_loader(void *library);
void *library_looker(void *library);
/* How a file came to be opened. */
struct opening {
	const char *name;	/* what it is called; NULL: as its path says */
	bool named;		/* see kind.h */
	bool uploaded, watched; /* see struct entry */
	const char *uploader;	/* NULL: nobody */
};
/* Without the lock, since reading a file's head may take long: adds it unless it is there.  0, with
 * the id unless ret_id is NULL, or -errno with err. */
int library_open(struct library *l, const char *path, const struct opening *how,
		 char ret_id[ID_SIZE], struct err *err);
/* library_folders.c, with the lock held: what is in a folder now. */
struct folder_state {
	size_t recordings, done; /* done: loaded, or cannot be */
	bool is_family;		 /* one came from another */
	bool live;
	uint64_t version; /* another one: one of them was loaded anew */
};
void library_folder_id(const char *path, char ret_id[ID_SIZE]);
struct folder_state library_folder_state(const struct library *l, const struct watched *w);
enum library_found library_take_folder(struct library *l, const char *id,
				       struct snapshot **ret_snapshot, double *ret_progress);
/* With the lock held: removes one from the table. */
void library_forget(struct library *l, struct entry *e);
bool file_look(const char *path, struct file_state *ret_state);
bool file_same(const struct file_state *a, const struct file_state *b);
