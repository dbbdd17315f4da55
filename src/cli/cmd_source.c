/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir source: one source file with what its lines weigh. */
#include "answer/source.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/shape.h"

#define AROUND 3 /* lines before and after one that weighs something */

static bool full;

static const struct command_option options[] = {
	FLAG("full", 0, "every line, not only those around what weighs something", &full),
	{ 0 },
};

/* "  1.00 MiB  1.00 MiB      12 |" */
static void print_margin(struct printing *p, const struct source_line *row, uint32_t line)
{
	term_printf(&p->term, p->out, "{number}%11s%11s{}%8u  ",
		    row ? size_text(row->total.bytes) : "",
		    row && row->self.count ? size_text(row->self.bytes) : "", line);
}

/* The first row from `i` on whose surroundings end behind `line`. */
static size_t row_near(const struct source_lines *l, size_t i, uint32_t line)
{
	while (i < l->row_count && l->rows[i].line + AROUND < line)
		i++;
	return i;
}

static void print_text(struct printing *p, const struct answer_source *s)
{
	const struct source_lines *l = &s->lines;
	const char *at = s->text.data, *text;
	size_t n, near = 0, next = 0;
	uint32_t line = 0, last = 0;

	while (source_next_line(&at, s->text.data + s->text.size, &text, &n) && answering_turn(p)) {
		bool weighs;

		near = row_near(l, near, ++line);
		while (next < l->row_count && l->rows[next].line < line)
			next++;
		if (!full && (near == l->row_count || l->rows[near].line > line + AROUND))
			continue;
		if (last && last + 1 != line)
			buf_char(p->out, '\n');
		last = line;
		weighs = next < l->row_count && l->rows[next].line == line;
		print_margin(p, weighs ? &l->rows[next] : NULL, line);
		buf_add(p->out, text, n);
		buf_char(p->out, '\n');
	}
}

/* Where the file is not here: what its lines weigh, and the functions that they are in. */
static void print_weights(struct printing *p, const struct source_lines *l)
{
	for (size_t i = 0; i < l->row_count && answering_turn(p); i++) {
		print_margin(p, &l->rows[i], l->rows[i].line);
		for (size_t k = 0; k < l->rows[i].function_count; k++)
			term_printf(&p->term, p->out, "%s{function}%s{}", k ? ", " : "",
				    locations_string(l->locations, l->rows[i].functions[k]));
		buf_char(p->out, '\n');
	}
}

static void print_source(struct printing *p, const void *answer)
{
	const struct answer_source *s = answer;

	term_printf(&p->term, p->out, "{title}%s{}  %s in %s block%s ", s->file,
		    size_text(s->all.total.bytes), count_text(s->all.total.count),
		    s->all.total.count == 1 ? "" : "s");
	shape_measure_title(p->out, p->model, &s->measuring);
	buf_char(p->out, '\n');
	if (!s->there)
		about_line(p->out, &p->term, "not shown", "%s",
			   s->hidden ? s->hidden : "it is not on this computer");
	else if (s->newer)
		about_line(p->out, &p->term, "newer",
			   "it was changed after the recording was made");
	term_printf(&p->term, p->out, "\n{dim}%11s%11s%8s{}\n", "bytes", "self", "line");
	if (s->there)
		print_text(p, s);
	else
		print_weights(p, &s->lines);
}

static const struct answering answering = {
	.question = &question_source,
	.all_names = true,
	.print = print_source,
};

const struct command command_source = {
	.name = "source",
	.args = "FILE --file PATH",
	.help = "one source file with what each line weighs",
	.examples = "  memoir source app.dat --file /src/app/parser.c\n"
		    "  memoir source app.dat --file /src/app/parser.c -m leaked --full\n",
	.options = options,
	.answers = &answering,
};
