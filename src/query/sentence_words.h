/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The words of sentences: templates with figures in braces. */
#include "query/sentence.h"

/* "{bytes} of {whole} at the peak is from {function}": the words between braces are rows of a table
 * in sentence_words.c; "{count|block}" is "1 block" or "2 blocks".  Behind what was said before. */
void sentence_say(struct sentence *s, const char *template);
/* The same of a text that is none of this folder's. */
void sentence_say_plain(struct sentence *s, const char *text);
/* Would two numbers of bytes read the same? */
bool sentence_reads_same(uint64_t a, uint64_t b);
