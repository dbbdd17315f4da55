/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The command line, read and explained from the rows of command.h. */

#include "cli/command.h"

struct buf;

enum args_result {
	ARGS_RUN,  /* go on: *argc and *argv are what is left */
	ARGS_HELP, /* --help was asked for */
	ARGS_WRONG /* `out` says what is wrong, in one line */
};

/* Takes the options of `command` out of argv, which starts behind the command's name. */
enum args_result args_parse(const struct command *command, int *argc, char ***argv,
			    struct buf *out);
/* Calls visit() for every row of a command, or every one that --help shows, until it returns true;
 * returns that row. */
const struct command_option *args_each_row(const struct command *command, bool shown,
					   bool (*visit)(const struct command_option *, void *),
					   void *context);
/* Adds what --help prints about one command. */
void args_help(const struct command *command, struct buf *out);
/* Adds "; did you mean 'x'?" if `list`, a text, has a word that is like this one. */
void args_suggest(const char *word, const char *list, struct buf *out);
/* The one of `words` (NULL at the end) that is most like `word`, or NULL. */
const char *args_nearest(const char *word, const char *const *words);
