/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Opening a recording for a command: progress, waiting for one that is still being written, and
 * the lines on stderr about what is missing. */
#include <stdbool.h>

#include "cli/command.h"
#include "model/model.h"

struct open_options {
	bool wait;   /* until the writer has finished */
	bool follow; /* the same, showing the totals while it grows */
	bool quiet;  /* show nothing on stdout */
};

/* Takes the one argument that is a recording; NULL after saying what is wrong, with the exit status
 * in *ret_status.  Otherwise *ret_status is what the command is to end with if all goes well: 1
 * when the file is damaged. */
struct model *open_recording(const char *command, int argc, char **argv,
			     const struct open_options *options, int *ret_status);
