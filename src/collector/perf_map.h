/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* /tmp/perf-PID.map: lines "START SIZE NAME", addresses in hexadecimal, that a JIT writes for perf
 * (node --perf-basic-prof, agents for Java, LuaJIT).  It is in the program's own /tmp, which may be
 * another one than ours, under the number that the program knows itself by.
 *
 * The file is added to while the program runs: each time only what is new is read.  It is somebody
 * else's text: only a plain file that belongs to the program's user, to us or to root is read, and
 * no more than PERF_MAP_MAX bytes of it are kept. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

struct collector;

#define PERF_MAP_MAX (64u << 20)

struct perf_map_entry {
	uint64_t start, end;
	uint32_t name, name_size; /* where in the text */
};

struct perf_map {
	int folder; /* the program's /tmp, or -1 */
	bool looked;
	char name[40];
	char parent_name[40]; /* that of the process that it was forked from, or "" */
	uid_t owner;	      /* the program's user */
	dev_t device;
	ino_t inode;
	struct buf text; /* whole lines and the beginning of one */
	size_t parsed;
	struct perf_map_entry *entries; /* in the order of the file */
	size_t count, room;
};

struct perf_map_wanted {
	uint64_t address;
	const char *name; /* that was found, not ended by a NUL; NULL: none */
	uint32_t name_size;
	uint32_t kind; /* the caller's */
};

/* A name in parts: V8 writes "JS:*hold /srv/shop.js:12:7". */
struct perf_map_name {
	char raw[1024], function[1024], file[1024]; /* "": not known */
	uint32_t line;
};

void perf_map_init(struct perf_map *m);
void perf_map_release(struct perf_map *m);
/* Reads what is new.  False: nothing was, and without `more` to look for there is nothing to do. */
bool perf_map_read(struct perf_map *m, struct collector *c, bool more);
/* Takes the lines of m->text that were not parsed yet. */
void perf_map_parse(struct perf_map *m);
/* Puts the list in order of address, and finds the newest line about each. */
void perf_map_find(const struct perf_map *m, struct perf_map_wanted *wanted, size_t count);
void perf_map_name(const char *text, size_t size, struct perf_map_name *ret);
