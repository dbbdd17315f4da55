/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording that needs no other file: names are looked up and put in (wire/symbols.h), the
 * binaries that they came from are taken out, and what is nobody's business with them
 * (anonymize.h). */
#include <stdint.h>

#include "model/locations.h"
#include "rewrite/anonymize.h"
#include "rewrite/output.h"
#include "rewrite/source.h"

struct postprocess_options {
	struct locations_options locations;
	enum anonymity anonymity;
	model_progress progress;
	void *context;
};

struct postprocess_result {
	uint32_t locations, named; /* distinct code addresses, and those that have a name */
	uint64_t file_bytes;	   /* of embedded files that were left out */
	struct loss loss;	   /* of the input */
};

/* Writes the recording at `path` (which `s` has open) to `o`; the caller finishes that.  0, or
 * -errno with `err` about the input. */
int postprocess(struct source *s, const char *path, struct output *o,
		const struct postprocess_options *options, struct postprocess_result *ret_result,
		struct err *err);
