/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The same recording, encoded and compressed anew; what is whole of a cut or damaged one. */
#include <stdint.h>

#include "rewrite/output.h"
#include "rewrite/source.h"

struct repack_result {
	uint64_t chunks, events; /* taken over */
	struct loss loss;	 /* of the input */
};

/* Copies everything to `o`; the caller finishes that. */
void repack(struct source *s, struct output *o, struct repack_result *ret_result);
