/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The nearest word.  See nearest.h. */
#include "base/nearest.h"

#include <stddef.h>
#include <string.h>

#define WORD_MAX 64
#define FAR 99

struct nearest nearest_to(const char *word)
{
	return (struct nearest){ .word = word, .distance = FAR };
}

/* Edits that make one word of the other; FAR when a word is too long to care. */
static unsigned distance(const char *a, const char *b)
{
	unsigned row[WORD_MAX + 1];
	size_t n = strlen(b);

	if (n > WORD_MAX || strlen(a) > WORD_MAX)
		return FAR;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; *a; a++, i++) {
		unsigned diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			unsigned best = diagonal + (*a != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[n];
}

void nearest_consider(struct nearest *n, const char *word)
{
	unsigned d = distance(n->word, word);
	size_t size = strlen(n->word);

	if (size && !strncmp(n->word, word, size))
		d = 1; /* it was only begun */
	if (d < n->distance) {
		n->distance = d;
		n->best = word;
	}
}

const char *nearest_found(const struct nearest *n)
{
	return n->best && n->distance <= 2 && n->distance < strlen(n->best) ? n->best : NULL;
}
