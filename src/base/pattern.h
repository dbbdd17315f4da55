/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Regular expressions: PCRE2, compiled to machine code, with limits.
 *
 * A match that takes too many steps ends in an error, so no pattern can hold a page or a server
 * up.  Texts need not be valid UTF-8.  A pattern may be used by several threads at once. */
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct pattern;

/* NULL with err; err->offset is where in the pattern. */
struct pattern *pattern_new(const char *text, struct err *err);
struct pattern *pattern_free(struct pattern *p);
/* 1, 0, or -ETIMEDOUT with err. */
int pattern_match(const struct pattern *p, const char *text, struct err *err);
const char *pattern_text(const struct pattern *p);
