/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* "Did you mean …?": which of some words is most like a mistyped one. */
#include <stdbool.h>
#include <stddef.h>

struct nearest {
	const char *word, *best;
	unsigned distance;
	bool same_length; /* the best one has as many letters */
	char hint[100];
};

/* Is a word that somebody typed this name?  A dash may stand for an underline. */
bool nearest_same(const char *word, const char *name);

struct nearest nearest_to(const char *word);
void nearest_consider(struct nearest *n, const char *word);
/* The best one if it is near enough to be meant, or NULL. */
const char *nearest_found(const struct nearest *n);
/* "; did you mean 'x'?", or `otherwise` where none is near enough. */
const char *nearest_hint(struct nearest *n, const char *otherwise);
/* The same for a text that lists the words: "auto, always or never".  Copied to `room`, or NULL;
 * what is no word (a number, a path) is never a mistyped one. */
const char *nearest_in_list(const char *word, const char *list, char *room, size_t size);
