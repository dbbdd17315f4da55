/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Options that commands about heap profile dumps share: one table, of which each command has the
 * rows that are marked for it; and what they mean.  `command` is what messages begin with. */
#include "cli/command.h"
#include "client/agents.h"
#include "heap/heap_locations.h"
#include "heap/profile.h"

struct buf;

enum heap_command { OF_HEAP = 1, OF_GROWTH = 2, OF_JOIN = 4, OF_LOG = 8, OF_PUSH = 16 };

/* What the command line said. */
struct heap_options {
	bool lines, cum, inuse_space, inuse_objects, alloc_space, alloc_objects;
	const char *focus, *ignore, *program, *sysroot, *color;
	bool allocator, full, json, csv, debuginfod;
};
extern struct heap_options heap_options;

/* The rows of a command, for command.more_options: enum heap_command. */
const struct command_option *heap_options_rows(unsigned shared);
/* The pattern of an option, NULL if it was not given; false after saying what is wrong with it. */
bool heap_options_pattern(const char *command, const char *option, const char *word,
			  const struct pattern **ret);
/* Measure, detail and the patterns of --focus and --ignore; the same. */
bool heap_options_profile(const char *command, struct profile_options *ret);
void heap_options_release(struct profile_options *o);
/* Where names are looked for; `program` may be NULL.  Folders of `dumps` are looked into as well.
 * Says so, once, if servers cannot be asked. */
struct heap_locations_options heap_options_locations(const char *command, const char *program,
						     const char *const *dumps, size_t dump_count);
/* Lines on stderr about files that look right and are not. */
void heap_options_warn(const char *command, const struct heap_locations *p);

/* Does a word mean an agent: an address, or a process's number that is no file? */
bool heap_options_is_agent(const char *word);
/* A dump of that agent now; 0, or -errno with err. */
int heap_options_ask(struct buf *bytes, const struct agents_entry *agent, struct err *err);
/* That, or all of a file ("-" is standard input), unpacked if it is compressed; 0, or -errno with
 * err, and what came before it is there. */
int heap_options_read(struct buf *bytes, const char *path, struct err *err);
/* Adds a dump that is in memory, times `sign`.  What a damaged one has still counts; the exit
 * status (0 or 1) says so, after a line that says where it is damaged. */
int heap_options_take(struct profile *p, const char *command, const char *path,
		      const struct buf *bytes, double sign);
/* Both. */
int heap_options_add(struct profile *p, const char *command, const char *path, double sign);
