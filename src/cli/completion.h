/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What may stand at the end of a command line: `memoir --complete WORD…`, which
 * docs/completion.bash asks.  Made from the tables of commands, so it knows every option and every
 * question. */
#include "cli/command.h"

struct buf;

/* Adds a line for each word that may take the place of the last of argv, which may be empty. */
void completion_list(const struct command *const *commands, int argc, char **argv, struct buf *out);
