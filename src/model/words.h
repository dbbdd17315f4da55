/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a recording says about its program and about itself, in words: the same in reports, pages
 * and other tools' files. */
#include <stdbool.h>

#include "model/model.h"

struct buf;

/* One word of a command line, in quotes if a shell would not take it as it is. */
void words_quoted(struct buf *out, const char *word);
/* The command line, as it could be typed into a shell; nothing if it is not known. */
void words_command(struct buf *out, const struct model *m);
/* What the process called itself at last, else the command line. */
void words_title(struct buf *out, const struct model *m);
/* ", exit status 3", ", ended by signal 9 (Killed)", or what the collector said. */
void words_end(struct buf *out, const struct model *m);
/* Recording was switched on or off while the program ran. */
bool words_switched(const struct model *m);
/* Says each thing that is missing in the recording; nothing if nothing was lost. */
void words_losses(const struct model *m, void (*say)(void *context, const char *text),
		  void *context);
