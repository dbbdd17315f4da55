/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir leaks: what was not freed, and whether it grows, is a cache, a saw, or the start. */
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "cli/about.h"
#include "cli/report.h"
#include "cli/shape.h"
#include "cli/waiting.h"
#include "query/verdict.h"

static uint64_t top = 10;
static bool as_json, held, full;
static const char *color, *class_name;

static const struct command_option options[] = {
	{ "top", 'n', "N", "stacks to show (10)", COMMAND_NUMBER, &top },
	{ "class", 'c', "CLASS", "only growing, unclear, bounded, sawtooth or start-up",
	  COMMAND_TEXT, &class_name },
	{ "held", 0, NULL, "also what was freed only when the program ended", COMMAND_FLAG, &held },
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	WAITING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

static void print_verdict(struct report *r, struct buf *out, const struct verdict *v)
{
	const struct term *t = &r->term;
	struct human a, b;
	uint64_t bytes = v->freed_at_exit ? v->kept_bytes : v->leaked_bytes;

	buf_printf(out, "\n%s%-9s%s ",
		   term_style(t, v->class == VERDICT_GROWING ? STYLE_WARNING : STYLE_NUMBER),
		   verdict_rows[v->class].title, term_style(t, STYLE_PLAIN));
	buf_printf(out, "%s%s%s", term_style(t, STYLE_STRONG), human_size(&a, bytes),
		   term_style(t, STYLE_PLAIN));
	if (v->freed_at_exit)
		buf_text(out, ", freed at exit");
	else
		buf_printf(out, " in %s block%s", human_count(&b, v->leaked_count),
			   v->leaked_count == 1 ? "" : "s");
	if (v->class != VERDICT_UNCLEAR)
		buf_printf(out, "%s, %.0f %% sure%s", term_style(t, STYLE_DIM), v->confidence * 100,
			   term_style(t, STYLE_PLAIN));
	buf_text(out, "\n          ");
	verdict_evidence(out, v, model_runtime_ns(r->model));
	buf_char(out, '\n');
	report_stack(r, out, v->stack, v->call);
}

/* How much of each class there is. */
static void print_summary(const struct report *r, struct buf *out, const struct verdicts *all)
{
	uint64_t bytes[VERDICTS] = { 0 }, count[VERDICTS] = { 0 };
	struct human a, b;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct verdict *v = &all->rows[i];

		bytes[v->class] += v->freed_at_exit ? v->kept_bytes : v->leaked_bytes;
		count[v->class]++;
	}
	buf_printf(out, "\n%sLEAK VERDICTS%s\n", term_style(&r->term, STYLE_TITLE),
		   term_style(&r->term, STYLE_PLAIN));
	if (!all->count)
		buf_text(out, "  everything was freed\n");
	for (unsigned i = 0; i < VERDICTS; i++) {
		if (!count[i])
			continue;
		buf_printf(out, "  %-9s %10s in %s stack%s", verdict_rows[i].title,
			   human_size(&a, bytes[i]), human_count(&b, count[i]),
			   count[i] == 1 ? "" : "s");
		buf_printf(out, "%s  %s%s\n", term_style(&r->term, STYLE_DIM), verdict_rows[i].help,
			   term_style(&r->term, STYLE_PLAIN));
	}
}

static bool is_shown(const struct verdict *v, unsigned class)
{
	return class == VERDICTS || v->class == class;
}

static void print_text(struct report *r, struct buf *out, const struct verdicts *all,
		       unsigned class)
{
	uint64_t shown = 0, more = 0;
	struct human a;

	about_text_program(out, &r->term, r->model);
	about_text_loss(out, &r->term, r->model);
	print_summary(r, out, all);
	for (uint32_t i = 0; i < all->count; i++) {
		if (!is_shown(&all->rows[i], class))
			continue;
		if (shown < top)
			print_verdict(r, out, &all->rows[i]);
		*(shown < top ? &shown : &more) += 1;
	}
	if (more)
		buf_printf(out, "\n%s%s more stack%s; --top shows them%s\n",
			   term_style(&r->term, STYLE_DIM), human_count(&a, more),
			   more == 1 ? "" : "s", term_style(&r->term, STYLE_PLAIN));
}

static void json_verdict(struct report *r, struct json *j, const struct verdict *v)
{
	json_object(j, NULL);
	verdict_json(j, v, model_runtime_ns(r->model));
	json_number(j, "stack", v->stack);
	report_json_frames(r, j, v->stack, v->call);
	json_end_object(j);
}

static void print_json(struct report *r, struct buf *out, const struct verdicts *all,
		       unsigned class)
{
	struct json j;
	uint64_t shown = 0;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, r->model);
	about_json_loss(&j, r->model);
	json_number(&j, "work_end_ns", all->end_ns);
	json_array(&j, "verdicts");
	for (uint32_t i = 0; i < all->count && shown < top; i++)
		if (is_shown(&all->rows[i], class)) {
			json_verdict(r, &j, &all->rows[i]);
			shown++;
		}
	json_end_array(&j);
	json_end_object(&j);
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json };
	const char *names[VERDICTS];
	struct report r = { .full = full };
	unsigned class = VERDICTS;
	struct verdicts all;
	struct buf out = { 0 };
	struct opened o;

	for (unsigned i = 0; i < VERDICTS; i++)
		names[i] = verdict_rows[i].name;
	term_init(&r.term, 1, color);
	if (class_name &&
	    (class = shape_word("leaks", "class", class_name, names, VERDICTS)) == VERDICTS)
		return 2;
	if (!open_view("leaks", argc, argv, &how, &o))
		return o.status;
	r.model = o.model;
	r.locations = o.locations;
	r.view = o.view;
	verdicts_init(&all, o.view, held);
	if (as_json)
		print_json(&r, &out, &all, class);
	else
		print_text(&r, &out, &all, class);
	if (buf_flush(&out, 1))
		o.status = 1;
	buf_release(&out);
	verdicts_release(&all);
	free(r.frames);
	opened_release(&o);
	return o.status;
}

const struct command command_leaks = {
	.name = "leaks",
	.args = "FILE",
	.help = "what was not freed: does it grow, is it a cache, or the start?",
	.examples = "  memoir leaks app.dat\n"
		    "  memoir leaks --class growing --full app.dat\n"
		    "  memoir leaks --json app.dat | jq '.verdicts[] | select(.class == "
		    "\"growing\")'\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
