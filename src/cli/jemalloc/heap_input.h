/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Heap profile dumps on a command line: a file ("-" is standard input), or what an agent is asked
 * for, becomes part of a profile, and words become patterns.
 * `command` is what messages begin with. */
#include "base/buf.h"
#include "base/err.h"
#include "base/pattern.h"
#include "client/agents.h"
#include "heap/profile.h"

/* Does a word mean an agent: an address, or a process's number that is no file? */
bool heap_input_is_agent(const char *word);
/* A dump of that agent now; 0, or -errno with err. */
int heap_input_ask(struct buf *bytes, const struct agents_entry *agent, struct err *err);
/* That, or all of a file, unpacked if it is compressed; 0, or -errno with err, and what came before
 * it is there. */
int heap_input_read(struct buf *bytes, const char *path, struct err *err);
/* Adds a dump that is in memory, times `sign`.  What a damaged one has still counts; the exit
 * status (0 or 1) says so, after a line that says where it is damaged. */
int heap_input_take(struct profile *p, const char *command, const char *path,
		    const struct buf *bytes, double sign);
/* Both. */
int heap_input_add(struct profile *p, const char *command, const char *path, double sign);
/* The pattern of an option, NULL if it was not given; false after saying what is wrong with it. */
bool heap_input_pattern(const char *command, const char *option, const char *word,
			const struct pattern **ret);
