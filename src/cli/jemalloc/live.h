/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What record, watch and metrics have in common: where the statistics come from. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/jemalloc/agent_token.h"
#include "client/fetch.h"

/* --pid, --options, --text: rows for a command's own table. */
extern const char *live_pid, *live_letters;
extern bool live_text;

#define LIVE_OPTIONS                                                                               \
	AGENT_TOKEN_ROWS,                                                                          \
		VALUE("pid", 'p', "PID", "the process with this number, whose agent is found",     \
		      &live_pid),                                                                  \
		VALUE("options", 0, "LETTERS", "of malloc_stats_print: sections to leave out",     \
		      &live_letters),                                                              \
		FLAG("text", 0, "ask for text instead of JSON", &live_text)

/* Of a line's first word: it is neither an address nor a file of statistics. */
bool live_begins_command(const char *word);
/* Is the line one word, a file's name? */
bool live_is_file(int argc, char **argv);
/* From what is on the line: an address, a command, or nothing with --pid.  0, or the exit status
 * after saying what is wrong. */
int live_fetch(struct fetch *f, const char *command, int argc, char **argv);
int64_t live_now(void); /* ns since 1970 */
