/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Recordings that are still being written: the options --wait and --live, and the waiting.
 *
 * One whose program has ended will soon be whole: every command waits for that.  One whose program
 * runs on is waited for with --wait only; else the answer is about what is there, is said to be,
 * and the command ends with status 1, unless --live asked for just that. */
#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"
#include "recording/reader.h"

/* Rows for a command's options. */
extern bool waiting_wait, waiting_live;
#define WAITING_ROW                                                                                \
	FLAG("wait", 'w', "wait until the program has ended, if it still runs", &waiting_wait)
#define WAITING_ROWS                                                                               \
	WAITING_ROW, FLAG("live", 0, "what there is of a program that still runs is enough",       \
			  &waiting_live)
#define WAITING_COUNT 2 /* of WAITING_ROWS */

struct waiting {
	const char *path;
	uint64_t begun_ns, grown_ns, size;
	unsigned polls;
	bool said;
	bool gave_up; /* nobody goes on writing */
};

void waiting_start(struct waiting *w, const char *path);
/* After the file was found to be written to: sleeps a little, and is true, or it is not worth it.
 */
bool waiting_goes_on(struct waiting *w, const struct reader *r, bool in_any_case);
/* The same from beginning to end, for a file that is not open yet; errors are for who opens it. */
void waiting_for_file(const char *path);
