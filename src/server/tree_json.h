/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of a tree's nodes in answers. */
#include "base/json.h"
#include "query/tree.h"

/* "name", and of frames what is known of "function", "file", "line", "module", "address". */
void tree_json_name(struct json *j, const struct tree *t, uint32_t name);
