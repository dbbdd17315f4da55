/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of sentences, and which of them are said.  See sentence.h. */
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "query/sentence_rules.h"

#define TREE(measure) "tree", "measure=" measure, "tree -m " measure, "flame"
#define LEAKS "leaks", "held=true", "leaks --held", "leaks"

/* Of two with as many bytes at stake, the first row's is said first. */
const struct sentence_rule sentence_rules[SENTENCE_KINDS] = {
	[SENTENCE_PEAK] = { "peak", TREE("peak"), find_peak },
	[SENTENCE_GROWING] = { "growing", LEAKS, find_growing },
	[SENTENCE_GROWING_TOO] = { "growing_too", LEAKS, NULL }, /* find_growing() says it */
	[SENTENCE_UNCLEAR] = { "unclear", LEAKS, find_unclear },
	[SENTENCE_LEFT] = { "left", TREE("leaked"), find_left },
	[SENTENCE_HELD] = { "held", TREE("allocated"), find_held },
	[SENTENCE_MAPPED] = { "mapped", "maps", "sort_by=size&order=dsc",
			      "maps --sort size --order dsc", "address_space", find_mapped },
	[SENTENCE_RESIDENT] = { "resident", "timeline_maps", "", "maps --timeline", "overview",
				find_resident },
	[SENTENCE_SLACK] = { "slack", TREE("peak"), find_slack },
	[SENTENCE_THREAD] = { "thread", TREE("peak"), find_thread },
	[SENTENCE_LARGE] = { "large", TREE("allocated"), find_large },
	[SENTENCE_TEMPORARY] = { "temporary", TREE("temporary"), find_temporary },
	[SENTENCE_ZERO] = { "zero", TREE("allocated"), find_zero },
};

static void sentence_release(struct sentence *s)
{
	for (size_t i = 0; i < s->part_total; i++)
		free(s->parts[i].text);
	free(s->parts);
	free(s->function);
	free(s->term);
}

struct sentence *sentence_add(struct sentence_list *to, enum sentence_kind kind)
{
	*xpush(to->rows, to->count, to->room) =
		(struct sentence){ .kind = kind, .term = xstrdup("") };
	return &to->rows[to->count - 1];
}

void sentence_about(struct sentence *s, const char *expression)
{
	char *both = *s->term ? xasprintf("%s and %s", s->term, expression) : xstrdup(expression);

	free(s->term);
	s->term = both;
}

void sentence_name(struct sentence_list *to, struct sentence *s, uint32_t stack)
{
	const struct responsible *r = to->figures->responsible;
	struct responsible_frame f;
	struct buf name = { 0 };

	s->stack = stack;
	if (responsible_find(r, stack, &f))
		responsible_name(r, &f, &name);
	else
		buf_text(&name, "(no stack)");
	s->function = name.data;
}

void sentence_about_function(struct sentence_list *to, struct sentence *s, uint32_t stack)
{
	struct responsible_frame f;
	auto_buf struct buf term = { 0 };

	sentence_name(to, s, stack);
	if (responsible_find(to->figures->responsible, stack, &f)) {
		buf_text(&term, "responsible = ");
		filter_print_text(s->function, &term);
		sentence_about(s, term.data);
	} else {
		sentence_about(s, "backtrace = 0");
	}
}

static int by_stake(const void *a, const void *b)
{
	const struct sentence *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

void sentences_init(struct sentences *s, const struct sentence_sources *from)
{
	struct figures f;
	struct sentence_list all = { .figures = &f };

	memset(s, 0, sizeof(*s));
	figures_init(&f, from);
	for (unsigned kind = 0; kind < SENTENCE_KINDS; kind++)
		if (sentence_rules[kind].find)
			sentence_rules[kind].find(&all, &f);
	if (all.count)
		qsort(all.rows, all.count, sizeof(*all.rows), by_stake);
	for (size_t i = 0; i < all.count; i++) {
		if (s->count < SENTENCES_MAX)
			s->rows[s->count++] = all.rows[i];
		else
			sentence_release(&all.rows[i]);
	}
	free(all.rows);
	figures_release(&f);
}

void sentences_release(struct sentences *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		sentence_release(&s->rows[i]);
	s->count = 0;
}
