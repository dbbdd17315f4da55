/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fragmentation: memory that is not in use and cannot be given back, and who keeps it. */
#include <stdlib.h>

#include "answer/fragmentation.h"
#include "answer/words.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/about.h"
#include "cli/answering.h"
#include "cli/report.h"
#include "cli/shape.h"

static bool full;

static const struct command_option options[] = {
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ 0 },
};

static void title(struct printing *p, const char *text)
{
	buf_printf(p->out, "\n%s%s%s", term_style(&p->term, STYLE_TITLE), text,
		   term_style(&p->term, STYLE_PLAIN));
}

static void print_regions(struct printing *p, const struct fragmentation *f)
{
	title(p, "REGIONS");
	buf_printf(p->out,
		   "  with at least one block in them\n\n%s%12s %11s %10s %10s %8s %13s%s\n",
		   term_style(&p->term, STYLE_DIM), "size", "regions", "in use", "empty", "used",
		   "nearly empty", term_style(&p->term, STYLE_PLAIN));
	for (unsigned i = 0; i < LEVELS; i++) {
		const struct occupancy *o = &f->levels[i];

		buf_printf(p->out, "%12s %11s %10s %10s ", level_rows[i].name,
			   count_text(o->regions), size_text(o->live_bytes),
			   size_text(o->empty_bytes));
		buf_printf(p->out, "%8s %13s\n",
			   share_text(o->live_bytes, o->live_bytes + o->empty_bytes),
			   count_text(o->nearly_empty));
	}
}

static void print_occupancy(struct printing *p, const struct answer_fragmentation *s)
{
	const struct occupancy *o = &s->fragmentation.levels[s->level];
	unsigned columns = p->term.width > 70 ? p->term.width - 48 : 22;
	uint64_t most = 0;

	title(p, "HOW FULL");
	buf_printf(p->out, "  regions of %s\n\n%s%12s %11s %10s%s\n", level_rows[s->level].name,
		   term_style(&p->term, STYLE_DIM), "in use", "regions", "empty",
		   term_style(&p->term, STYLE_PLAIN));
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++)
		most = o->bins[i].regions > most ? o->bins[i].regions : most;
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++) {
		buf_printf(p->out, "%4u \xe2\x80\xa6 %3u %% %11s %10s  %s", i * 10, i * 10 + 10,
			   count_text(o->bins[i].regions), size_text(o->bins[i].empty_bytes),
			   term_style(&p->term, STYLE_NUMBER));
		shape_bar(p->out, most ? (double)o->bins[i].regions / (double)most : 0, columns);
		buf_printf(p->out, "%s\n", term_style(&p->term, STYLE_PLAIN));
	}
}

static void print_slack(struct printing *p, const struct fragmentation *f)
{
	struct human a, b;

	title(p, "SLACK");
	buf_printf(p->out, "  usable, but not asked for: %s\n\n%s%21s %11s %10s %10s%s\n",
		   human_size(&a, f->slack), term_style(&p->term, STYLE_DIM), "size", "blocks",
		   "bytes", "slack", term_style(&p->term, STYLE_PLAIN));
	for (unsigned i = 0; i < SLACK_CLASSES; i++) {
		const struct slack_class *k = &f->classes[i];

		if (!k->weight.count)
			continue;
		human_size(&a, k->from);
		human_size(&b, k->to);
		if (k->to - k->from <= 1)
			buf_printf(p->out, "%21s", a.text);
		else
			buf_printf(p->out, "%9s \xe2\x80\xa6 %9s", a.text, b.text);
		buf_printf(p->out, " %11s %10s ", count_text(k->weight.count),
			   size_text(k->weight.bytes));
		buf_printf(p->out, "%10s %8s\n", human_size(&a, k->slack),
			   human_share(&b, k->slack, f->slack ? f->slack : 1));
	}
}

static void print_holders(struct printing *p, const struct answer_fragmentation *s)
{
	const struct fragmentation *f = &s->fragmentation;
	struct report r = { .view = p->ask->held->view, .term = p->term, .full = full };
	const struct occupancy *o = &s->fragmentation.levels[s->level];
	uint64_t shown = 0;

	title(p, "HELD");
	buf_printf(p->out, "  empty bytes in regions of %s that one stack alone keeps\n",
		   level_rows[s->level].name);
	for (uint32_t i = s->skip; i < f->holder_count && shown < s->most; i++) {
		const struct holder *h = &f->holders[i];

		if (!h->held[s->level].pinned_bytes)
			break;
		buf_printf(p->out, "\n%s%8s%s  %s%s%s", term_style(&p->term, STYLE_NUMBER),
			   share_text(h->held[s->level].pinned_bytes, o->empty_bytes),
			   term_style(&p->term, STYLE_PLAIN), term_style(&p->term, STYLE_STRONG),
			   size_text(h->held[s->level].pinned_bytes),
			   term_style(&p->term, STYLE_PLAIN));
		buf_printf(p->out, " in %s region%s", count_text(h->held[s->level].regions),
			   h->held[s->level].regions == 1 ? "" : "s");
		buf_printf(p->out, ", for %s in %s block%s\n", size_text(h->weight.bytes),
			   count_text(h->weight.count), h->weight.count == 1 ? "" : "s");
		report_stack(&r, p->out, h->stack, words_call(p->model, h->stack));
		shown++;
	}
	if (!shown)
		buf_text(p->out, "\n  none\n");
	free(r.frames);
}

static void print_over_time(struct printing *p, const struct answer_fragmentation *s)
{
	title(p, "OVER TIME");
	buf_printf(p->out, "  regions in use\n\n%s%12s %10s", term_style(&p->term, STYLE_DIM), "at",
		   "asked for");
	for (unsigned i = 0; i < LEVELS; i++)
		buf_printf(p->out, "  %7s %9s", level_rows[i].name, "used");
	buf_printf(p->out, "%s\n", term_style(&p->term, STYLE_PLAIN));
	for (uint32_t k = 0; k < s->point_count; k++) {
		const struct fragmentation_point *at = &s->points[k];

		buf_printf(p->out, "%12s %10s", duration_text(model_ns(p->model, at->at)),
			   size_text(at->requested));
		for (unsigned i = 0; i < LEVELS; i++)
			buf_printf(p->out, "  %7s %9s", count_text(at->regions[i]),
				   share_text(at->usable, at->regions[i] << level_rows[i].shift));
		buf_char(p->out, '\n');
	}
}

static void print_fragmentation(struct printing *p, const void *answer)
{
	const struct answer_fragmentation *s = answer;

	about_text_program(p->out, &p->term, p->model);
	about_text_loss(p->out, &p->term, p->model);
	title(p, "FRAGMENTATION");
	buf_printf(p->out, "  %s after the start: %s in %s blocks\n", duration_text(s->at_ns),
		   size_text(s->fragmentation.live.bytes), count_text(s->fragmentation.live.count));
	shape_removed(p->out, &p->term, p->model);
	print_regions(p, &s->fragmentation);
	print_occupancy(p, s);
	print_slack(p, &s->fragmentation);
	if (s->points)
		print_over_time(p, s);
	print_holders(p, s);
}

static const struct answering answering = {
	.question = &question_fragmentation,
	.defaults = "count=5&level=64k",
	.print = print_fragmentation,
};

const struct command command_fragmentation = {
	.name = "fragmentation",
	.args = "FILE",
	.help = "memory that is not in use and cannot be given back",
	.examples = "  memoir fragmentation app.dat               at the peak\n"
		    "  memoir fragmentation --at 100% app.dat     at the end\n"
		    "  memoir fragmentation -r 4k -n 20 app.dat   who keeps single pages\n"
		    "  memoir fragmentation --over-time 20 app.dat\n",
	.options = options,
	.answers = &answering,
};
