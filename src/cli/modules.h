/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A recording's modules: how much is known of each, which files were refused, and what to do about
 * those without names. */
#include "base/json.h"
#include "base/term.h"
#include "model/locations.h"

struct buf;

void modules_text(struct buf *out, const struct term *term, const struct model *m,
		  struct locations *locations);
void modules_json(struct json *j, const struct model *m, struct locations *locations);
