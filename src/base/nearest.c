/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The nearest word.  See nearest.h. */
#include "base/nearest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define WORD_MAX 64
#define FAR 99

bool nearest_same(const char *word, const char *name)
{
	for (; *word || *name; word++, name++)
		if (*word != *name && !(*word == '-' && *name == '_'))
			return false;
	return true;
}

struct nearest nearest_to(const char *word)
{
	return (struct nearest){ .word = word, .distance = FAR };
}

/* Edits that make one word of the other: a letter more, less or another one, or two neighbours the
 * wrong way round; FAR when a word is too long to care. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2];
	size_t m = strlen(a), n = strlen(b);

	if (n > WORD_MAX || m > WORD_MAX)
		return FAR;
	for (unsigned j = 0; j <= n; j++)
		last[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			row[j] = best;
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[n];
}

void nearest_consider(struct nearest *n, const char *word)
{
	unsigned d = distance(n->word, word);
	size_t size = strlen(n->word);
	bool same_length = strlen(word) == size;

	if (size && !strncmp(n->word, word, size))
		d = 1; /* it was only begun */
	/* Of two that are as near, fingers that are too fast mean the one with as many letters. */
	if (d < n->distance || (d == n->distance && same_length && !n->same_length)) {
		n->distance = d;
		n->same_length = same_length;
		n->best = word;
	}
}

const char *nearest_found(const struct nearest *n)
{
	return n->best && n->distance <= 2 && n->distance < strlen(n->best) ? n->best : NULL;
}

const char *nearest_hint(struct nearest *n, const char *otherwise)
{
	if (!nearest_found(n))
		return otherwise;
	snprintf(n->hint, sizeof(n->hint), "; did you mean '%.*s'?", WORD_MAX, n->best);
	return n->hint;
}

const char *nearest_in_list(const char *word, const char *list, char *room, size_t size)
{
	struct nearest n = nearest_to(word);
	char item[2][WORD_MAX + 1]; /* the best one so far keeps its place */
	unsigned next = 0;

	for (const char *c = word; *c; c++)
		if (!isalpha((unsigned char)*c) && *c != '-' && *c != '_')
			return NULL; /* a number, a path: not a word that was mistyped */
	while (*list) {
		size_t length = strcspn(list, " ,;:|'()");

		if (length && length <= WORD_MAX && strncmp(list, "or ", 3) != 0) {
			memcpy(item[next], list, length);
			item[next][length] = 0;
			if (strcmp(item[next], word) != 0) /* the text may quote it */
				nearest_consider(&n, item[next]);
			if (n.best == item[next])
				next = !next;
		}
		list += length;
		list += strspn(list, " ,;:|'()");
	}
	if (!nearest_found(&n))
		return NULL;
	snprintf(room, size, "%s", n.best);
	return room;
}
