/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What finds each kind of sentence in the figures: the functions of the table in sentences.c. */
#include "query/sentence_figures.h"

struct sentence_list {
	struct sentence *rows;
	size_t count, room;
	const struct figures *figures;
};

/* One more, of a kind; what belongs to it is filled in by the caller, until the next one. */
struct sentence *sentence_add(struct sentence_list *to, enum sentence_kind kind);
/* It names the function of a stack. */
void sentence_name(struct sentence_list *to, struct sentence *s, uint32_t stack);
/* The same, and is about what that is responsible for. */
void sentence_about_function(struct sentence_list *to, struct sentence *s, uint32_t stack);
/* It is about more: what fulfils an expression, too. */
void sentence_about(struct sentence *s, const char *expression);

/* Nearly all that the function has of the peak was freed when the program ended: the sentence on
 * the peak says it. */
bool sentence_keeps_peak(const struct function_figures *g);

/* sentence_blocks.c: what is to be known of blocks without verdicts. */
void find_peak(struct sentence_list *to, const struct figures *f);
void find_slack(struct sentence_list *to, const struct figures *f);
void find_thread(struct sentence_list *to, const struct figures *f);
void find_large(struct sentence_list *to, const struct figures *f);
void find_temporary(struct sentence_list *to, const struct figures *f);
void find_zero(struct sentence_list *to, const struct figures *f);
/* sentence_growth.c: what became of them. */
void find_growing(struct sentence_list *to, const struct figures *f);
void find_unclear(struct sentence_list *to, const struct figures *f);
void find_left(struct sentence_list *to, const struct figures *f);
void find_held(struct sentence_list *to, const struct figures *f);
/* sentence_process.c: the memory of the whole process. */
void find_mapped(struct sentence_list *to, const struct figures *f);
void find_resident(struct sentence_list *to, const struct figures *f);
