/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fragmentation: memory that is not in use and cannot be given back, and who keeps it. */
#include <stdlib.h>

#include "answer/fragmentation.h"
#include "answer/words.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "cli/answering.h"
#include "cli/blame_text.h"
#include "cli/report.h"
#include "cli/shape.h"

static bool full, blame;

static const char *set_blame(const struct command_option *row, const char *value)
{
	blame = true;
	return value ? answering_set(row, value) : NULL;
}

static const struct command_option options[] = {
	CALL("blame", 'b', NULL, "whose blocks keep how much resident memory", set_blame, NULL),
	CALL("by", 0, "UNIT",
	     "of --blame: what is kept as a whole, page, 64k, 2m or slab (jemalloc's slabs, else "
	     "pages)",
	     set_blame, .context = "by", .words = "page|64k|2m|slab"),
	CALL("group", 0, "WHAT",
	     "of --blame: by responsible function or by whole stack (responsible)", set_blame,
	     .context = "group", .words = "responsible|stack"),
	CALL("sort", 's', "WHAT", "of --blame: alone, shared, kept, bytes or count (alone)",
	     set_blame, .context = "sort_by", .words = "alone|shared|kept|bytes|count"),
	CALL("order", 0, "WORD", "of --blame: asc or dsc (dsc)", set_blame, .context = "order",
	     .words = "asc|dsc|desc"),
	FLAG("full", 0, "show every frame, and whole paths", &full),
	{ 0 },
};

static void title(struct printing *p, const char *text)
{
	term_printf(&p->term, p->out, "\n{title}%s{}", text);
}

static void print_regions(struct printing *p, const struct fragmentation *f)
{
	title(p, "REGIONS");
	term_printf(&p->term, p->out,
		    "  with at least one block in them\n\n{dim}%12s %11s %10s %10s %8s %13s{}\n",
		    "size", "regions", "in use", "empty", "used", "nearly empty");
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
	term_printf(&p->term, p->out, "  regions of %s\n\n{dim}%12s %11s %10s{}\n",
		    level_rows[s->level].name, "in use", "regions", "empty");
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++)
		most = o->bins[i].regions > most ? o->bins[i].regions : most;
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++) {
		term_printf(&p->term, p->out, "%4u \xe2\x80\xa6 %3u %% %11s %10s  {number}", i * 10,
			    i * 10 + 10, count_text(o->bins[i].regions),
			    size_text(o->bins[i].empty_bytes));
		shape_bar(p->out, most ? (double)o->bins[i].regions / (double)most : 0, columns);
		term_printf(&p->term, p->out, "{}\n");
	}
}

static void print_slack(struct printing *p, const struct fragmentation *f)
{
	struct human a, b;

	title(p, "SLACK");
	term_printf(&p->term, p->out,
		    "  usable, but not asked for: %s\n\n{dim}%21s %11s %10s %10s{}\n",
		    human_size(&a, f->slack), "size", "blocks", "bytes", "slack");
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
		term_printf(&p->term, p->out, "\n{number}%8s{}  {strong}%s{}",
			    share_text(h->held[s->level].pinned_bytes, o->empty_bytes),
			    size_text(h->held[s->level].pinned_bytes));
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
	term_printf(&p->term, p->out, "  regions in use\n\n{dim}%12s %10s", "at", "asked for");
	for (unsigned i = 0; i < LEVELS; i++)
		buf_printf(p->out, "  %7s %9s", level_rows[i].name, "used");
	term_printf(&p->term, p->out, "{}\n");
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

	answering_about(p);
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

static const struct answering *blame_instead(void)
{
	blame_print_full = full;
	return blame ? &blame_answering : NULL;
}

static const struct answering answering = {
	.question = &question_fragmentation,
	.instead = blame_instead,
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
		    "  memoir fragmentation --over-time 20 app.dat\n"
		    "  memoir fragmentation --blame app.dat       which blocks cost most memory\n"
		    "  memoir fragmentation --blame --by 2m --group stack --full app.dat\n",
	.options = options,
	.answers = &answering,
};
