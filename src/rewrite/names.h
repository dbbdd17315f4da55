/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Writes the names of all places as chunks of type SYMBOLS. */
#include <stdint.h>

#include "model/places.h"
#include "rewrite/anonymize.h"
#include "rewrite/output.h"

/* Returns how many places have a name. */
uint32_t names_write(struct output *o, const struct model *m, struct places *p,
		     struct anonymizer *a);
