/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* "Did you mean …?": which of some words is most like a mistyped one. */

struct nearest {
	const char *word, *best;
	unsigned distance;
};

struct nearest nearest_to(const char *word);
void nearest_consider(struct nearest *n, const char *word);
/* The best one if it is near enough to be meant, or NULL. */
const char *nearest_found(const struct nearest *n);
