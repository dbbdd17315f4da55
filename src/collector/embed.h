/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A file that is to be embedded: found and checked by binaries.c, written by embed.c. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "collector/binary_store.h"
#include "collector/collector.h"
#include "collector/reduce.h"

#define BUILD_ID_MAX 31

enum file_state {
	FILE_NEW,
	FILE_WAITING, /* another collector makes the same tables now */
	FILE_COPIED,  /* from tables that are there */
	FILE_MADE,    /* tables are made, and kept for others where possible */
	FILE_DONE,
};

struct collector_file {
	char *path;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size; /* what it must be; once checked, what it is */
	bool checked;
	bool wanted;		     /* a frame is in it, or it was asked for */
	bool included;		     /* asked for: whatever it is, it is embedded, whole */
	struct reduce_source source; /* fd -1: not opened yet; memory: the vdso, ours is the same */
	uint64_t start, end;	     /* a mapping of it, or 0 */
	uint64_t inode;		     /* there */

	enum file_state state;
	struct reduced image;
	uint64_t offset; /* in the image */
	char key[FORMAT_SHARED_KEY_MAX + 1];
	int stored; /* tables that are there, or -1 */
	struct pieces pieces;
	struct binary_build build;
	bool storing; /* `build` is open */
	bool beside;  /* what is made is not in the recording, but beside it */
};

/* Which of its bytes are wanted, and the key of that; false if its headers make no sense. */
bool embed_plan(const struct collector *c, struct collector_file *f, const struct stat *st);
/* Uses tables that are there, or begins to make them: whatever f->state is then. */
void embed_begin(struct collector *c, struct collector_file *f);
/* One piece of a file that is COPIED or MADE. */
void embed_piece(struct collector *c, struct collector_file *f);
/* Done with it, or given up. */
void embed_end(struct collector *c, struct collector_file *f);
