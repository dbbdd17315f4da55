/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of code that is in no file, written while the program can still be asked: what a JIT has
 * made (perf_map.h).
 *
 * They go into the recording as `memoir postprocess` writes names (wire/symbols.h), once for each
 * address: a place that the JIT uses again for another function keeps the name that it had when a
 * frame was first seen there. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collector;
struct naming;

struct naming *naming_new(struct collector *c);
struct naming *naming_free(struct naming *n);
/* A frame is there, in no module: the address to look up, as docs/format.md has it. */
void naming_meet(struct naming *n, uint64_t address);
/* A module that a frame was found in: it may be one that makes code. */
void naming_module(struct naming *n, const char *path);
/* What an address is called, if nobody has said so before; file may be NULL. */
void naming_add(struct naming *n, uint64_t address, const char *function, const char *raw_function,
		const char *file, uint32_t line);
/* A chunk of names from the recording of the process that this one was forked from: they are good
 * for addresses that are met after it.  False if it is not what it should be. */
bool naming_inherit(struct naming *n, const uint8_t *payload, size_t size);
/* What was mapped where frames were met since the last time: a JIT may unmap it soon. */
void naming_look_at_kinds(struct naming *n);
/* What was added goes into the recording. */
void naming_write(struct naming *n);
/* Looks for names that are still missing, and writes those that were found. */
void naming_look(struct naming *n);
/* The program ends, and is still there. */
void naming_look_once_more(struct naming *n);
/* The last time; what has no name by now gets its kind: "[JIT node]+0x3f2a10". */
void naming_finish(struct naming *n);
