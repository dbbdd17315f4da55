/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Small texts that several answers have. */
#include <stdint.h>

#include "base/json.h"
#include "model/locations.h"
#include "model/model.h"
#include "query/view.h"

struct buf;

/* 16 hexadecimal digits. */
void words_address(struct json *j, const char *key, uint64_t address);
/* The call that a stack's first allocation was made by, else the first free. */
unsigned words_call(const struct model *m, uint32_t stack);
/* "function", "source", "line" and "kind" of a stack's responsible frame (query/responsible.h), and
 * "frames_inside": how many are between it and the allocating call. */
void words_where(struct json *j, const struct view *v, uint32_t stack);
/* C++ template arguments become "...": std::vector<int> is std::vector<...>. */
void words_strip_templates(const char *name, struct buf *out);
/* `responsible = "name"`, as a filter. */
void words_responsible(struct buf *out, const char *name);
/* "markers": […]. */
void words_markers(struct json *j, const struct model *m);
