/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What may stand at the end of a command line: `memoir --complete WORD…`, which the scripts in
 * docs/completion ask, for every key.  Made from the tables of commands, so it knows every option,
 * every question and what each takes.
 *
 * A line is a word, and behind a tab what it means; or it is what the shell itself completes:
 *
 *	:files [PATTERN…]	names of files; those that match a pattern are meant
 *	:folders		names of folders
 *	:programs		names of programs
 *	:command N		the Nth word of the line, which begins with memoir as the 0th,
 *				and what follows is a command of its own */
#include "cli/command.h"

struct buf;

/* Adds a line for each word that may take the place of the last of argv, which may be empty.  argv
 * begins behind the program's name. */
void completion_list(const struct command *const *commands, int argc, char **argv, struct buf *out);
