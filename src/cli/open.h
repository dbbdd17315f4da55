/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Opening a recording for a command: progress, waiting for one that is still being written, and
 * the lines on stderr about what is missing. */
#include <stdbool.h>

#include "answer/snapshot.h"
#include "cli/command.h"
#include "model/locations.h"
#include "model/model.h"
#include "query/view.h"

struct open_options {
	bool follow; /* waits until the writer has finished, showing the totals while it grows */
	bool quiet;  /* show nothing on stdout */
	bool no_cache;
};

/* Takes the one argument that is a recording; NULL after saying what is wrong, with the exit status
 * in *ret_status.  Otherwise *ret_status is what the command is to end with if all goes well: 1
 * when the file is damaged, or lacks what a program that still runs has not done yet. */
struct model *open_recording(const char *command, int argc, char **argv,
			     const struct open_options *options, int *ret_status);

/* A recording as questions are asked about it, with where its names are found; NULL after saying
 * what is wrong, with the exit status as above. */
struct snapshot *open_snapshot(const char *command, char *path, const struct open_options *options,
			       int *ret_status);
/* The same of a file of jemalloc's, by the name of its kind; NULL: a recording. */
struct snapshot *open_kind(const char *command, char *path, const char *kind,
			   const struct open_options *options, int *ret_status);
/* While names may be looked for: a progress bar appears if that takes long. */
void open_naming_start(void);
void open_naming_end(void);

/* A recording with its names, and the allocations that the command line's filters choose. */
struct opened {
	struct model *model;
	struct locations *locations;
	struct filter *filter; /* NULL: none was given */
	struct view *view;
	int status; /* what the command is to end with if all goes well */
};

/* For commands with `.takes_filters`; false after saying what is wrong, with the exit status in
 * ret->status.  argv holds the one recording. */
bool open_view(const char *command, int argc, char **argv, const struct open_options *options,
	       struct opened *ret_opened);
/* Finds every name at once, with a progress bar; else each is found when it is asked for. */
void opened_names(struct opened *o);
void opened_release(struct opened *o);
