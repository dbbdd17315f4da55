/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Writes the names of all locations as chunks of type SYMBOLS. */
#include <stdint.h>

#include "model/locations.h"
#include "rewrite/anonymize.h"
#include "rewrite/output.h"

/* Returns how many locations have a name. */
uint32_t names_write(struct output *o, const struct model *m, struct locations *p,
		     struct anonymizer *a);
