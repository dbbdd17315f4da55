/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees for a terminal.  See tree_text.h. */
#include "cli/tree_text.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/text.h"

#define NAME_MIN 20 /* columns that a name has, however deep it is */
#define FIGURES 31  /* columns of the first three */
#define WIDE 110    /* from here on there is room for one column more */

static const char bar[] = "\xe2\x94\x82  ", tee[] = "\xe2\x94\x9c\xe2\x94\x80 ",
		  corner[] = "\xe2\x94\x94\xe2\x94\x80 ", blank[] = "   ";

static bool is_wide(const struct tree_text *how)
{
	return how->term.width >= WIDE;
}

static unsigned figures_width(const struct tree_text *how)
{
	return FIGURES + (is_wide(how) ? 14 : 2);
}

/* What stacks that end here weigh, where there is room for it. */
static void print_own(struct buf *out, const struct tree_text *how, const struct tree *t,
		      const struct weight *self)
{
	struct human own;

	if (is_wide(how)) {
		if (t->options.by_count)
			human_count(&own, self->count);
		else
			human_size(&own, self->bytes);
		term_printf(&how->term, out, " {dim}%11s{}", self->count ? own.text : "");
	}
	buf_text(out, "  ");
}

/* "  34.1 %  1.20 MiB      3,000", and what is its own where there is room. */
static void print_figures(struct buf *out, const struct tree_text *how, const struct tree *t,
			  const struct weight *total, const struct weight *self)
{
	const struct weight *all = &t->nodes[0].total;
	struct human share, bytes, count;

	human_share(&share, tree_weight(&t->options, total), tree_weight(&t->options, all));
	human_size(&bytes, total->bytes);
	human_count(&count, total->count);
	term_printf(&how->term, out, "{number}%8s{} %10s %11s", share.text, bytes.text, count.text);
	print_own(out, how, t, self);
}

static void print_heads(struct buf *out, const struct tree_text *how, const struct tree *t)
{
	term_printf(&how->term, out, "{dim}%8s %10s %11s", "share", "bytes", "blocks");
	if (is_wide(how))
		buf_printf(out, " %11s", t->options.by_count ? "own blocks" : "own bytes");
	term_printf(&how->term, out, "{}\n");
}

static void print_name(struct buf *out, const struct tree_text *how, const struct tree *t,
		       uint32_t name, uint32_t hidden, size_t used)
{
	size_t room = how->term.width > used + NAME_MIN ? how->term.width - used : NAME_MIN;
	enum tree_kind kind = t->names[name].kind;
	auto_buf struct buf text = { 0 };

	tree_name_text(t, name, &text);
	if (kind == TREE_OTHERS)
		buf_printf(&text, ": %s", count_text(hidden));
	if (!how->full && text_columns(text.data) > room) {
		char *shorter = text_abbreviated(text.data);

		free(text.data);
		text.data = shorter;
	}
	buf_text(out, term_style(&how->term, kind == TREE_FRAME ? STYLE_FUNCTION : STYLE_DIM));
	text_shortened(out, text.data, how->full ? SIZE_MAX : room);
	buf_text(out, term_style(&how->term, STYLE_PLAIN));
	if (hidden && kind != TREE_OTHERS)
		term_printf(&how->term, out, "{dim} \xe2\x80\xa6{}");
	buf_char(out, '\n');
}

/* Has a node nothing but this child, with the same figures? */
static bool goes_on(const struct tree *t, uint32_t node)
{
	const struct tree_node *n = &t->nodes[node];

	return n->first_child != TREE_NONE && t->nodes[n->first_child].next == TREE_NONE &&
	       !n->self.count && t->nodes[n->first_child].total.count == n->total.count;
}

void tree_text_branches(struct buf *out, const struct tree_text *how, const struct tree *t)
{
	uint32_t *level = xcalloc(t->count, sizeof(*level)); /* of indentation */
	bool *open = xcalloc(t->count + 1, sizeof(*open));   /* by level: siblings follow */

	print_heads(out, how, t);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];
		bool chained = i && goes_on(t, n->parent);
		uint32_t guides;

		level[i] = !i ? 0 : level[n->parent] + !chained;
		if (chained && t->options.by_thread && !n->parent)
			chained = false;
		guides = level[i];
		if (chained)
			buf_repeat(out, ' ', FIGURES), print_own(out, how, t, &n->self);
		else
			print_figures(out, how, t, &n->total, &n->self);
		for (uint32_t k = 1; k < guides; k++)
			buf_text(out, open[k] ? bar : blank);
		if (guides && chained)
			buf_text(out, open[guides] ? bar : blank);
		else if (guides)
			buf_text(out, n->next == TREE_NONE ? corner : tee);
		if (!chained)
			open[guides] = n->next != TREE_NONE;
		print_name(out, how, t, n->name, n->hidden,
			   figures_width(how) + (size_t)3 * guides);
	}
	free(level);
	free(open);
}

void tree_text_heading(struct buf *out, const struct tree_text *how)
{
	buf_text(out, term_style(&how->term, STYLE_DIM));
	if (how->own)
		buf_printf(out, "%10s ", "own bytes");
	term_printf(&how->term, out, "%8s %10s %11s %11s{}\n", "share", "bytes", "blocks",
		    "self bytes");
}

void tree_text_function(struct buf *out, const struct tree_text *how, const struct tree *t,
			const struct function_total *row)
{
	struct human a;

	if (how->own)
		term_printf(&how->term, out, "{strong}%10s{} ", human_size(&a, row->own.bytes));
	human_share(&a, row->total.bytes, t->nodes[0].total.bytes);
	term_printf(&how->term, out, "{number}%8s{}", a.text);
	buf_printf(out, " %10s %11s %11s  ", human_size(&a, row->total.bytes),
		   count_text(row->total.count), size_text(row->self.bytes));
	print_name(out, how, t, row->name, 0, how->own ? 56 : 45);
}

void tree_text_functions(struct buf *out, const struct tree_text *how,
			 const struct answer_functions *f)
{
	tree_text_heading(out, how);
	for (uint32_t i = 0; i < f->shown; i++)
		tree_text_function(out, how, &f->tree, &f->rows[f->order[f->skip + i]]);
}
