/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the commands that make a recording of another one have in common: the two names, the bar,
 * the lines about what went wrong and what became of it. */
#include <stdint.h>

#include "base/progress.h"
#include "rewrite/output.h"
#include "rewrite/source.h"

struct save {
	const char *command;
	const char *input, *path;
	struct source source;
	struct output *output;
	struct progress bar;
	uint64_t size; /* of the finished file */
};

/* Opens both; 0, or the exit status after saying what is wrong.  `path` is what -o gave. */
int save_open(struct save *s, const char *command, int argc, char **argv, const char *path,
	      const struct output_codec *codec);
/* A progress function for model_options and source: context is the struct save. */
void save_progress(void *context, uint64_t done, uint64_t total);
/* Finishes the output, or says why not; `error` is what making it gave, with `err` about the input.
 * Says what was lost of the input; returns the exit status. */
int save_close(struct save *s, int error, const struct err *err, const struct loss *loss);
/* "out.dat: 1.20 MiB, was 3.40 MiB" and what the format adds. */
void save_say(const struct save *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One line on stderr about a file; returns 1. */
int save_error(const char *path, const struct err *err);
