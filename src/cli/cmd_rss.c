/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir rss: where resident memory goes, as a table that adds up to the kernel's figure. */
#include <inttypes.h>
#include <string.h>

#include "answer/rss.h"
#include "answer/words.h"
#include "base/buf_text.h"
#include "base/csv.h"
#include "base/human.h"
#include "base/order.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/report.h"
#include "cli/shape.h"

static bool parts_wanted, full;

static const struct command_option options[] = {
	{ "parts", 'p', NULL, "what each term consists of: maps, files, stacks", COMMAND_FLAG,
	  &parts_wanted },
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ 0 },
};

#define TITLE_WIDTH 19

static void print_line(struct printing *p, const char *name, enum term_style style, uint64_t bytes,
		       uint64_t whole)
{
	unsigned columns = p->term.width > 90 ? 40 : p->term.width > 60 ? p->term.width - 46 : 12;

	buf_printf(p->out, "  %s%-*s%s %10s %7s  %s", term_style(&p->term, STYLE_STRONG),
		   TITLE_WIDTH, name, term_style(&p->term, STYLE_PLAIN), size_text(bytes),
		   share_text(bytes, whole), term_style(&p->term, style));
	shape_bar(p->out, whole ? (double)bytes / (double)whole : 0, columns);
	buf_printf(p->out, "%s\n", term_style(&p->term, STYLE_PLAIN));
}

static void print_part(struct printing *p, struct report *r, const struct resident_part *part)
{
	const char *name = regions_name(&p->model->tables.regions, part->name);
	const char *slash = strrchr(name, '/');

	buf_printf(p->out, "      %10s  ", size_text(part->bytes));
	if (part->kind == RESIDENT_PART_BLOCKS) {
		buf_printf(p->out, "in %s block%s of %s\n", count_text(part->blocks),
			   part->blocks == 1 ? "" : "s", size_text(part->size));
		report_stack(r, p->out, part->stack, part->call);
	} else if (part->kind == RESIDENT_PART_FILE) {
		buf_printf(p->out, "%s\n", slash && !full ? slash + 1 : name);
	} else if (part->kind == RESIDENT_PART_MAP) {
		buf_printf(p->out, "%" PRIx64 " %s of %s\n", part->address,
			   *name ? name : "anonymous", size_text(part->size));
	} else {
		buf_printf(p->out, "in %s map%s of %s%s%s\n", count_text(part->maps),
			   part->maps == 1 ? "" : "s", size_text(part->size),
			   part->owner ? ", of " : "", part->owner ? part->owner : "");
		report_stack(r, p->out, part->stack, part->call);
	}
}

static void print_parts(struct printing *p, struct report *r, const struct answer_rss *s,
			unsigned term)
{
	const struct resident *from = &s->resident;
	size_t first = FIRST_WHERE(i, from->part_count, from->parts[i].term >= term);
	size_t end = FIRST_WHERE(i, from->part_count, from->parts[i].term > term);
	size_t shown = answer_rss_parts(s, term, end - first);

	first += answer_rss_skipped(s, end - first);
	for (size_t at = first; at < first + shown; at++)
		print_part(p, r, &from->parts[at]);
	if (shown && end - first > shown)
		buf_printf(p->out, "      %s%s more%s\n", term_style(&p->term, STYLE_DIM),
			   count_text(end - first - shown), term_style(&p->term, STYLE_PLAIN));
}

static void print_terms(struct printing *p, const struct answer_rss *s)
{
	const struct resident_moment *now = &s->resident.moment;
	struct report r = { .view = s->view, .term = p->term, .full = full };

	print_line(p, "resident", STYLE_NUMBER, now->rss, now->rss);
	buf_char(p->out, '\n');
	for (unsigned i = RESIDENT_TERMS; i--;) {
		if (!now->terms[i] && i != RESIDENT_UNKNOWN)
			continue;
		print_line(p, resident_terms[i].title,
			   i == RESIDENT_UNKNOWN ? STYLE_WARNING : STYLE_FUNCTION, now->terms[i],
			   now->rss);
		if (parts_wanted || s->opened == i)
			print_parts(p, &r, s, i);
		answering_turn(p);
	}
	free(r.frames);
}

#define SERIES_COLUMN 13

/* The terms with most bytes, as far as a line has room, in their own order. */
static unsigned choose_terms(const struct answer_rss *s, unsigned width, unsigned *ret_terms)
{
	unsigned room = width > 23 + SERIES_COLUMN ? (width - 23) / SERIES_COLUMN : 1, count = 0;
	uint64_t most[RESIDENT_TERMS] = { 0 };

	for (size_t k = 0; k < s->series_count; k++)
		for (unsigned i = 0; i < RESIDENT_TERMS; i++)
			most[i] = MAX(most[i], s->series[k].terms[i]);
	for (unsigned i = 0; i < RESIDENT_TERMS; i++) {
		unsigned larger = 0;

		for (unsigned k = 0; k < RESIDENT_TERMS; k++)
			larger += most[k] > most[i] || (most[k] == most[i] && k < i);
		if (larger < room && most[i])
			ret_terms[count++] = i;
	}
	return count;
}

static void print_series(struct printing *p, const struct answer_rss *s)
{
	unsigned terms[RESIDENT_TERMS];
	unsigned count = choose_terms(s, p->term.width, terms);

	buf_printf(p->out, "\n%s%12s %10s", term_style(&p->term, STYLE_DIM), "AT", "RESIDENT");
	for (unsigned i = 0; i < count; i++)
		buf_printf(p->out, " %*s", SERIES_COLUMN - 1, resident_terms[terms[i]].name);
	buf_printf(p->out, "%s\n", term_style(&p->term, STYLE_PLAIN));
	for (size_t k = 0; k < s->series_count && answering_turn(p); k++) {
		const struct resident_moment *at = &s->series[k];

		buf_printf(p->out, "%12s %10s", duration_text(model_ns(p->model, at->at)),
			   size_text(at->rss));
		for (unsigned i = 0; i < count; i++)
			buf_printf(p->out, " %*s", SERIES_COLUMN - 1,
				   size_text(at->terms[terms[i]]));
		buf_char(p->out, '\n');
	}
}

static void csv_moment(struct printing *p, const struct resident_moment *at)
{
	csv_number(p->out, model_ns(p->model, at->at));
	csv_number(p->out, at->rss);
	csv_number(p->out, at->swap);
	csv_number(p->out, at->live);
	csv_number(p->out, at->huge);
	for (unsigned i = 0; i < RESIDENT_TERMS; i++)
		csv_number(p->out, at->terms[i]);
	csv_end(p->out);
}

/* A line for each sample; without --series, for the one that is explained. */
static void csv_rss(struct printing *p, const void *answer)
{
	const struct answer_rss *s = answer;

	buf_text(p->out, "at_ns,rss,swap,live_bytes,huge_pages");
	for (unsigned i = 0; i < RESIDENT_TERMS; i++)
		buf_printf(p->out, ",%s", resident_terms[i].name);
	buf_char(p->out, '\n');
	if (!s->sampled)
		return;
	if (!ask_bool(p->ask, "series"))
		csv_moment(p, &s->resident.moment);
	for (size_t k = 0; k < s->series_count && answering_turn(p); k++)
		csv_moment(p, &s->series[k]);
}

static void print_rss(struct printing *p, const void *answer)
{
	const struct answer_rss *s = answer;
	const struct resident_moment *now = &s->resident.moment;

	about_text_program(p->out, &p->term, p->model);
	about_text_loss(p->out, &p->term, p->model);
	buf_printf(p->out, "\n%sRESIDENT MEMORY%s  ", term_style(&p->term, STYLE_TITLE),
		   term_style(&p->term, STYLE_PLAIN));
	if (!s->sampled) {
		buf_text(p->out, "the memory maps were never looked at (--no-gather-maps?)\n");
		return;
	}
	buf_printf(p->out, "%s after the start; %s of live blocks were asked for",
		   duration_text(model_ns(p->model, now->at)), size_text(now->live));
	if (now->swap)
		buf_printf(p->out, "; %s are swapped out", size_text(now->swap));
	buf_text(p->out, "\n\n");
	print_terms(p, s);
	if (s->series)
		print_series(p, s);
}

static const struct answering answering = {
	.question = &question_rss,
	.defaults = "count=5&points=20",
	.print = print_rss,
	.csv = csv_rss,
};

const struct command command_rss = {
	.name = "rss",
	.args = "FILE",
	.help = "where resident memory goes",
	.examples =
		"  memoir rss app.dat                         at the end\n"
		"  memoir rss --at 50% --parts app.dat        half-way, with maps, files, stacks\n"
		"  memoir rss --open anonymous app.dat        who mapped it\n"
		"  memoir rss --series --csv app.dat > rss.csv\n",
	.options = options,
	.answers = &answering,
};
