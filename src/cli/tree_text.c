/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees for a terminal, and as JSON.  See tree_text.h. */
#include "cli/tree_text.h"

#include <stdlib.h>
#include <string.h>

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
		buf_printf(out, " %s%11s%s", term_style(&how->term, STYLE_DIM),
			   self->count ? own.text : "", term_style(&how->term, STYLE_PLAIN));
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
	buf_printf(out, "%s%8s%s %10s %11s", term_style(&how->term, STYLE_NUMBER), share.text,
		   term_style(&how->term, STYLE_PLAIN), bytes.text, count.text);
	print_own(out, how, t, self);
}

static void print_heads(struct buf *out, const struct tree_text *how, const struct tree *t)
{
	buf_printf(out, "%s%8s %10s %11s", term_style(&how->term, STYLE_DIM), "share", "bytes",
		   "blocks");
	if (is_wide(how))
		buf_printf(out, " %11s", t->options.by_count ? "own blocks" : "own bytes");
	buf_printf(out, "%s\n", term_style(&how->term, STYLE_PLAIN));
}

static void print_name(struct buf *out, const struct tree_text *how, const struct tree *t,
		       uint32_t name, uint32_t hidden, size_t used)
{
	size_t room = how->term.width > used + NAME_MIN ? how->term.width - used : NAME_MIN;
	enum tree_kind kind = t->names[name].kind;
	struct buf text = { 0 };
	struct human a;

	tree_name_text(t, name, &text);
	if (kind == TREE_OTHERS)
		buf_printf(&text, ": %s", human_count(&a, hidden));
	if (!how->full && text_columns(text.data) > room) {
		char *shorter = text_abbreviated(text.data);

		free(text.data);
		text.data = shorter;
	}
	buf_text(out, term_style(&how->term, kind == TREE_FRAME ? STYLE_FUNCTION : STYLE_DIM));
	text_shortened(out, text.data, how->full ? SIZE_MAX : room);
	buf_text(out, term_style(&how->term, STYLE_PLAIN));
	if (hidden && kind != TREE_OTHERS)
		buf_printf(out, "%s \xe2\x80\xa6%s", term_style(&how->term, STYLE_DIM),
			   term_style(&how->term, STYLE_PLAIN));
	buf_char(out, '\n');
	buf_release(&text);
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

void tree_text_flat(struct buf *out, const struct tree_text *how, const struct tree *t,
		    uint32_t top)
{
	uint32_t count;
	struct function_total *all = tree_functions(t, &count);
	struct human a, b;

	buf_printf(out, "%s%8s %10s %11s %11s%s\n", term_style(&how->term, STYLE_DIM), "share",
		   "bytes", "blocks", t->options.by_count ? "own blocks" : "own bytes",
		   term_style(&how->term, STYLE_PLAIN));
	for (uint32_t i = 0; i < count && i < top; i++) {
		const struct function_total *f = &all[i];

		human_share(&a, tree_weight(&t->options, &f->total),
			    tree_weight(&t->options, &t->nodes[0].total));
		buf_printf(out, "%s%8s%s", term_style(&how->term, STYLE_NUMBER), a.text,
			   term_style(&how->term, STYLE_PLAIN));
		buf_printf(out, " %10s %11s", human_size(&a, f->total.bytes),
			   human_count(&b, f->total.count));
		buf_printf(out, " %11s  ",
			   t->options.by_count ? human_count(&a, f->self.count)
					       : human_size(&a, f->self.bytes));
		print_name(out, how, t, f->name, 0, 45);
	}
	if (count > top)
		buf_printf(out, "%s         %s more; --top shows them%s\n",
			   term_style(&how->term, STYLE_DIM), human_count(&a, count - top),
			   term_style(&how->term, STYLE_PLAIN));
	free(all);
}

static void json_name(struct json *j, const struct tree *t, uint32_t name)
{
	const struct tree_name *n = &t->names[name];
	struct buf text = { 0 };

	tree_name_text(t, name, &text);
	json_text(j, "name", text.data);
	buf_release(&text);
	if (n->kind != TREE_FRAME)
		return;
	if (n->function)
		json_text(j, "function", locations_string(t->locations, n->function));
	if (n->function && n->file)
		json_text(j, "file", locations_string(t->locations, n->file));
	if (n->line)
		json_number(j, "line", n->line);
	if (n->module)
		json_text(j, "module", locations_module_path(t->locations, n->module));
	if (n->address)
		json_number(j, "address", n->address);
}

static void json_weights(struct json *j, const struct weight *total, const struct weight *self)
{
	json_number(j, "bytes", total->bytes);
	json_number(j, "count", total->count);
	json_number(j, "self_bytes", self->bytes);
	json_number(j, "self_count", self->count);
}

void tree_json_branches(struct json *j, const struct tree *t)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct tree_node *n = &t->nodes[i];

		for (; i && depth >= n->depth; depth--) {
			json_end_array(j);
			json_end_object(j);
		}
		json_object(j, i ? NULL : "tree");
		json_name(j, t, n->name);
		json_weights(j, &n->total, &n->self);
		json_number(j, "first_ns", n->total.count ? model_ns(t->model, n->first) : 0);
		json_number(j, "last_ns", n->total.count ? model_ns(t->model, n->last) : 0);
		if (n->hidden)
			json_number(j, "hidden", n->hidden);
		json_array(j, "children");
		depth = n->depth;
	}
	for (uint32_t i = 0; t->count && i <= depth; i++) {
		json_end_array(j);
		json_end_object(j);
	}
}

void tree_json_flat(struct json *j, const struct tree *t, uint32_t top)
{
	uint32_t count;
	struct function_total *all = tree_functions(t, &count);

	json_array(j, "functions");
	for (uint32_t i = 0; i < count && i < top; i++) {
		json_object(j, NULL);
		json_name(j, t, all[i].name);
		json_weights(j, &all[i].total, &all[i].self);
		json_end_object(j);
	}
	json_end_array(j);
	free(all);
}
