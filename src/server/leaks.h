/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Verdicts in answers. */
#include "base/json.h"
#include "query/verdict.h"

/* All fields of a verdict but its stack's frames. */
void leaks_verdict(struct json *j, const struct model *m, const struct verdict *v);
