/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What record, watch and metrics have in common: where the statistics come from, ticks at exact
 * intervals, and signals that are looked at between two of them. */
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
	AGENT_TOKEN_ROWS, { "pid",	  'p',                                                     \
			    "PID",	  "the process with this number, whose agent is found",    \
			    COMMAND_TEXT, &live_pid },                                             \
		{ "options",	0,                                                                 \
		  "LETTERS",	"of malloc_stats_print: sections to leave out",                    \
		  COMMAND_TEXT, &live_letters },                                                   \
	{                                                                                          \
		"text", 0, NULL, "ask for text instead of JSON", COMMAND_FLAG, &live_text          \
	}

/* Of a line's first word: it is neither an address nor a file of statistics. */
bool live_begins_command(const char *word);
/* Is the line one word, a file's name? */
bool live_is_file(int argc, char **argv);
/* From what is on the line: an address, a command, or nothing with --pid.  0, or the exit status
 * after saying what is wrong. */
int live_fetch(struct fetch *f, const char *command, int argc, char **argv);
/* "0.5", "10", "2s", "500ms", "5m" in ns; false: it is none, or 0. */
bool live_interval(const char *text, uint64_t *ret_ns);

/* Ticks at `start` + n * interval, however long the work between them takes. */
struct live_clock {
	uint64_t interval_ns, next_ns; /* of CLOCK_MONOTONIC */
	uint64_t missed;	       /* ticks that were over when their turn came */
	int signals;		       /* a descriptor: SIGTERM, SIGINT, SIGHUP, SIGWINCH */
	bool stop;		       /* one of them asks to end */
	bool resized;
	bool key; /* input came: read it */
};

int live_clock_init(struct live_clock *c, uint64_t interval_ns, struct err *err);
void live_clock_release(struct live_clock *c);
/* Waits for the next tick; true when it is time.  False: a signal or (with `input` >= 0) a key came
 * first; then c->stop, resized, key say which. */
bool live_clock_wait(struct live_clock *c, int input);
int64_t live_now(void); /* ns since 1970 */
