/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir tree: who called whom, and what it weighs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/shape.h"
#include "cli/tree_text.h"
#include "cli/waiting.h"

static struct shape_measure measure;
static bool bottom_up, by_thread, by_count, flat, as_json, full;
static uint64_t depth, children, top = 40;
static const char *color, *by, *min_share;

static const struct command_option options[] = {
	SHAPE_MEASURE_OPTIONS(measure),
	{ "bottom-up", 'u', NULL, "from the innermost functions to their callers", COMMAND_FLAG,
	  &bottom_up },
	{ "by", 'b', "KEY", "a node is a function (the default), a line or a module", COMMAND_TEXT,
	  &by },
	{ "threads", 't', NULL, "each thread by itself", COMMAND_FLAG, &by_thread },
	{ "count", 0, NULL, "order and shares by blocks, not bytes", COMMAND_FLAG, &by_count },
	{ "min-share", 's', "PERCENT", "lighter branches are put together as others (1)",
	  COMMAND_TEXT, &min_share },
	{ "depth", 0, "N", "levels at most", COMMAND_NUMBER, &depth },
	{ "children", 0, "N", "branches of a node at most; the rest is others", COMMAND_NUMBER,
	  &children },
	{ "flat", 0, NULL, "a list of functions instead, each with all that is below it",
	  COMMAND_FLAG, &flat },
	{ "top", 'n', "N", "lines of that list (40)", COMMAND_NUMBER, &top },
	{ "full", 0, NULL, "names as long as they are", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	WAITING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

static bool read_share(double *ret_share)
{
	char *end;
	double percent;

	*ret_share = as_json ? 0 : 0.01;
	if (!min_share)
		return true;
	percent = strtod(min_share, &end);
	if (end != min_share && (!*end || !strcmp(end, "%")) && percent >= 0 && percent <= 100) {
		*ret_share = percent / 100;
		return true;
	}
	fprintf(stderr, "memoir tree: --min-share is a percentage (0.5), not '%s'\n", min_share);
	return false;
}

static uint32_t limited(uint64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void print_text(struct buf *out, const struct tree_text *how, const struct tree *t)
{
	const struct weight *all = &t->nodes[0].total;
	struct human a, b;

	about_text_program(out, &how->term, t->model);
	about_text_loss(out, &how->term, t->model);
	buf_printf(out, "\n%s%s%s  ", term_style(&how->term, STYLE_TITLE),
		   flat	       ? "FUNCTIONS"
		   : bottom_up ? "CALLERS"
			       : "CALLS",
		   term_style(&how->term, STYLE_PLAIN));
	if (!all->count) {
		buf_text(out, "nothing was ");
		shape_measure_title(out, t->model, &t->options.measuring);
		buf_char(out, '\n');
		return;
	}
	buf_printf(out, "%s in %s block%s ", human_size(&a, all->bytes),
		   human_count(&b, all->count), all->count == 1 ? "" : "s");
	shape_measure_title(out, t->model, &t->options.measuring);
	buf_text(out, "\n\n");
	if (flat)
		tree_text_flat(out, how, t, limited(top));
	else
		tree_text_branches(out, how, t);
}

static void print_json(struct buf *out, const struct tree *t)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, t->model);
	about_json_loss(&j, t->model);
	shape_measure_json(&j, t->model, &t->options.measuring);
	json_text(&j, "by", tree_keys[t->options.key]);
	json_bool(&j, "bottom_up", t->options.bottom_up);
	if (flat)
		tree_json_flat(&j, t, limited(top));
	else
		tree_json_branches(&j, t);
	json_end_object(&j);
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json };
	struct tree_options o = { .bottom_up = bottom_up && !flat,
				  .by_thread = by_thread,
				  .by_count = by_count };
	struct tree_text text = { .full = full };
	struct buf out = { 0 };
	struct opened opened;
	struct tree t;

	term_init(&text.term, 1, color);
	if (!shape_measure_check("tree", &measure) || !read_share(&o.min_share))
		return 2;
	if (by && (o.key = shape_word("tree", "by", by, tree_keys, TREE_KEYS)) == TREE_KEYS)
		return 2;
	if (!open_view("tree", argc, argv, &how, &opened))
		return opened.status;
	opened_names(&opened);
	o.measuring = shape_measuring(opened.model, &measure, MEASURE_PEAK);
	o.max_depth = flat ? 0 : limited(depth);
	o.max_children = flat ? 0 : limited(children);
	if (flat)
		o.min_share = 0;
	tree_init(&t, opened.view, &o);
	if (as_json)
		print_json(&out, &t);
	else
		print_text(&out, &text, &t);
	if (buf_flush(&out, 1))
		opened.status = 1;
	buf_release(&out);
	tree_release(&t);
	opened_release(&opened);
	return opened.status;
}

const struct command command_tree = {
	.name = "tree",
	.args = "FILE",
	.help = "call tree of the peak, of leaks, of any moment",
	.examples =
		"  memoir tree app.dat                          what made up the peak\n"
		"  memoir tree -m leaked --bottom-up app.dat    who leaks, and who called that\n"
		"  memoir tree --at 50% --by module app.dat\n"
		"  memoir tree --flat -m allocated app.dat      functions, with what is below "
		"them\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
