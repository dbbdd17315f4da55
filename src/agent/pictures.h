/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Profiles for people: stacks as text, as a flame graph, as a page.
 *
 * Weights are bytes that are alive, or for `allocs` all bytes ever, where the program keeps that;
 * of a difference what was added.  Frames of the allocator are left out. */
#include "agent/answer.h"
#include "agent/locations.h"
#include "agent/profile.h"

/* folded.c: "main;run;make 4096", a line for each stack. */
void folded_answer(struct exchange *x, const struct profile *p, bool allocs);
/* flame.c: a still picture; and the same without what a file begins with. */
void flame_answer(struct exchange *x, const struct profile *p, bool allocs);
void flame_draw(struct exchange *x, const struct profile *p, bool allocs);
/* html.c: that picture and a table of functions. */
void html_answer(struct exchange *x, const struct profile *p, bool allocs);

/* Nothing is fetched and nothing runs. */
#define PICTURE_POLICY "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"

/* "redis-server (1234): alive, by bytes" */
void picture_heading(struct exchange *x, const struct profile *p, bool allocs);
/* At most `columns` characters of a text, escaped; what is not ASCII is not shown. */
void picture_text(struct text *out, const char *text, size_t columns);
/* "38.4 MiB (40342092 bytes)" */
void picture_size(struct text *out, uint64_t bytes);

/* What a stack counts for. */
uint64_t folded_weight(const struct profile *p, const struct profile_sample *s, bool allocs);
/* The innermost of its frames that is not the allocator's; pc_count if there is none. */
size_t folded_first(const struct locations *locations, const struct profile *p,
		    const struct profile_sample *s);
