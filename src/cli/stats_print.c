/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is said about a snapshot beside its tables: totals, where memory went, what to do about it,
 * what grows.  See stats_tables.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "cli/stats_tables.h"
#include "jemalloc/advice.h"
#include "jemalloc/fields.h"
#include "jemalloc/waterfall.h"

#define BAR 24
#define BINS_SHOWN 5
#define GROWTH_SHOWN 10

static void line(struct buf *out, const struct term *t, const char *name, const char *raw,
		 const char *human)
{
	buf_printf(out, "  %-24s %18s", name, raw);
	if (human)
		buf_printf(out, "  %s%10s%s", term_style(t, STYLE_NUMBER), human,
			   term_style(t, STYLE_PLAIN));
	buf_char(out, '\n');
}

static void print_profiling(struct buf *out, const struct term *t, const struct stats *s)
{
	const char *rate = stats_setting(s, "opt.lg_prof_sample");
	const char *prof = stats_setting(s, "opt.prof");
	struct human h;

	if (rate && prof)
		line(out, t, "profiling interval",
		     human_count(&h, UINT64_C(1) << (strtoul(rate, NULL, 10) & 63)),
		     strcmp(prof, "true") ? "(off)" : NULL);
}

static void print_corrections(struct buf *out, const struct term *t, const struct stats *s)
{
	char text[STATS_CORRECTION_MAX];

	for (unsigned i = 0; stats_correction(s, i, text); i++)
		if (*text)
			buf_printf(out, "  %s%s%s\n", term_style(t, STYLE_DIM), text,
				   term_style(t, STYLE_PLAIN));
}

void stats_print_summary(struct buf *out, const struct stats_tables *t, const struct stats *s,
			 const struct stats_arena *whole)
{
	uint64_t allocated = s->total[STATS_TOTAL_ALLOCATED], active = s->total[STATS_TOTAL_ACTIVE];
	uint64_t dirty = whole ? whole->value[STATS_ARENA_PDIRTY] : STATS_NONE;
	uint64_t page = s->shape[STATS_SHAPE_PAGE];
	struct human a, b;

	for (unsigned i = 0; i < STATS_TOTAL_COUNT; i++) {
		char name[64];

		if (s->total[i] >= STATS_NONE)
			continue;
		snprintf(name, sizeof(name), "%s%s",
			 i < STATS_TOTAL_BACKGROUND_THREADS ? "" : "background ",
			 stats_total_fields[i].name);
		line(out, t->term, name, human_count(&a, s->total[i]),
		     fields_bytes(stats_total_fields[i].name) ? human_size(&b, s->total[i]) : NULL);
	}
	if (allocated < STATS_NONE && active < STATS_NONE && active >= allocated && active)
		line(out, t->term, "fragmentation", human_count(&a, active - allocated),
		     human_share(&b, active - allocated, active));
	if (dirty < STATS_NONE)
		line(out, t->term, "dirty pages", human_count(&a, dirty),
		     page < STATS_NONE ? human_size(&b, dirty * page) : NULL);
	for (unsigned i = 0; i < STATS_SHAPE_COUNT; i++)
		if (s->shape[i] != STATS_NONE) {
			snprintf(a.text, sizeof(a.text), "%" PRId64, (int64_t)s->shape[i]);
			line(out, t->term, stats_shape_fields[i].name, a.text, NULL);
		}
	print_profiling(out, t->term, s);
	print_corrections(out, t->term, s);
}

static const char *signed_size(struct human *h, int64_t bytes)
{
	struct human size;

	human_size(&size, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	snprintf(h->text, sizeof(h->text), "%s%.40s", bytes < 0 ? "-" : "", size.text);
	return h->text;
}

static const char *signed_count(struct human *h, int64_t bytes)
{
	struct human count;

	human_count(&count, bytes < 0 ? -(uint64_t)bytes : (uint64_t)bytes);
	snprintf(h->text, sizeof(h->text), "%s%.40s", bytes < 0 ? "-" : "", count.text);
	return h->text;
}

/* A part of the bar: from `from` to `to` of `whole`. */
static void bar(struct buf *out, uint64_t from, uint64_t to, uint64_t whole, const char *mark)
{
	uint64_t first, last;

	if (!whole || to > whole || from > to)
		return;
	first = (uint64_t)((double)from / (double)whole * BAR + 0.5);
	last = (uint64_t)((double)to / (double)whole * BAR + 0.5);
	if (last == first && to > from && last < BAR)
		last++;
	else if (last == first && to > from)
		first--;
	buf_text(out, "  ");
	buf_repeat(out, ' ', first);
	for (; first < last; first++)
		buf_text(out, mark);
}

struct fall {
	struct buf *out;
	const struct term *term;
	uint64_t whole, at; /* what the bars are shares of, and what is left */
};

static void level(struct fall *f, const char *name, uint64_t bytes)
{
	struct human a, b;

	buf_printf(f->out, "  %s%-32s%s %16s  %10s", term_style(f->term, STYLE_STRONG), name,
		   term_style(f->term, STYLE_PLAIN), human_count(&a, bytes), human_size(&b, bytes));
	bar(f->out, 0, bytes, f->whole, "█");
	buf_char(f->out, '\n');
	f->at = bytes;
}

static void step(struct fall *f, const struct waterfall *w, unsigned i)
{
	struct human a, b;
	int64_t bytes = w->step[i];

	if (!bytes)
		return;
	buf_printf(f->out, "   - %-29s %16s  %s%10s%s",
		   i == WATERFALL_UNKNOWN && !w->attributed ? "free (bins were not printed)"
							    : waterfall_rows[i].label,
		   signed_count(&a, bytes), term_style(f->term, STYLE_NUMBER),
		   signed_size(&b, bytes), term_style(f->term, STYLE_PLAIN));
	if (bytes > 0 && (uint64_t)bytes <= f->at)
		bar(f->out, f->at - (uint64_t)bytes, f->at, f->whole, "░");
	buf_char(f->out, '\n');
	f->at -= (uint64_t)bytes;
}

/* What the free regions are made of. */
static void worst_bins(struct fall *f, const struct waterfall *w)
{
	struct human a, b;
	char text[96];

	for (size_t i = 0; i < w->bin_count && i < BINS_SHOWN; i++) {
		const struct waterfall_bin *bin = &w->bins[i];

		if (bin->bytes <= 0)
			break;
		snprintf(text, sizeof(text), "of %" PRIu64 ": %" PRIu64 " of %" PRIu64 " used",
			 bin->size, bin->used, bin->regions);
		buf_printf(f->out, "       %s%-29s%s  %14s  %10s\n", term_style(f->term, STYLE_DIM),
			   text, term_style(f->term, STYLE_PLAIN),
			   human_count(&a, (uint64_t)bin->bytes),
			   human_size(&b, (uint64_t)bin->bytes));
	}
	if (w->bin_count > BINS_SHOWN)
		buf_printf(f->out, "       %sand %zu bins more%s\n", term_style(f->term, STYLE_DIM),
			   w->bin_count - BINS_SHOWN, term_style(f->term, STYLE_PLAIN));
}

/* Why there are blocks of the heap profiler, and how well they are known. */
static void print_profiler(struct buf *out, const struct term *t, const struct sampled *p)
{
	struct human count, size;

	if (!p->count)
		return;
	buf_printf(out, "  %sthe heap profiler keeps %s%s small blocks out of slabs",
		   term_style(t, STYLE_DIM), p->estimated ? "about " : "",
		   human_count(&count, p->count));
	if (p->in == SAMPLED_LARGE)
		buf_printf(out, ", %s each", human_size(&size, p->home));
	buf_printf(out, "%s\n", term_style(t, STYLE_PLAIN));
	if (p->estimated)
		buf_printf(out,
			   "  %s(an estimate by the sampling interval; memoir jemalloc join counts "
			   "them)%s\n",
			   term_style(t, STYLE_DIM), term_style(t, STYLE_PLAIN));
}

void stats_print_waterfall(struct buf *out, const struct stats_tables *t, const struct stats *s,
			   const struct stats_arena *a)
{
	struct fall f = { .out = out, .term = t->term };
	struct waterfall w = { 0 };
	struct human h;

	waterfall_make(&w, s, a);
	if (w.active >= STATS_NONE || w.allocated >= STATS_NONE) {
		waterfall_release(&w);
		return;
	}
	f.whole = w.resident < STATS_NONE && w.resident > w.active ? w.resident : w.active;
	stats_print_title(out, t->term, "FROM RESIDENT TO ALLOCATED");
	if (w.resident < STATS_NONE) {
		level(&f, "resident", w.resident);
		for (unsigned i = 0; i < WATERFALL_SLABS; i++)
			step(&f, &w, i);
	}
	level(&f, "active", w.active);
	for (unsigned i = WATERFALL_SLABS; i < WATERFALL_TCACHE; i++) {
		step(&f, &w, i);
		if (i == WATERFALL_SLABS)
			worst_bins(&f, &w);
	}
	level(&f, "allocated", w.allocated);
	for (unsigned i = WATERFALL_TCACHE; i < WATERFALL_STEP_COUNT; i++)
		step(&f, &w, i);
	if (w.program != w.allocated)
		level(&f, "the program's, at most", w.program);
	print_profiler(out, t->term, &w.sampled);
	if (w.retained < STATS_NONE && w.retained)
		buf_printf(out,
			   "  %sbesides, %s of address space is retained, which is no memory%s\n",
			   term_style(t->term, STYLE_DIM), human_size(&h, w.retained),
			   term_style(t->term, STYLE_PLAIN));
	waterfall_release(&w);
}

void stats_print_advice(struct buf *out, const struct stats_tables *t, const struct stats *s,
			const struct stats_arena *whole)
{
	static const char *const marks[] = { "·", "?", "!" };
	struct advice list[ADVICE_MAX];
	struct waterfall w = { 0 };
	unsigned count;

	waterfall_make(&w, s, whole);
	count = advice_make(list, s, whole, &w);
	waterfall_release(&w);
	if (!count)
		return;
	stats_print_title(out, t->term, "ADVICE");
	for (unsigned i = 0; i < count; i++) {
		const struct advice *a = &list[i];

		buf_printf(
			out, "  %s%s %s%s\n",
			term_style(t->term, a->weight == ADVICE_DO ? STYLE_WARNING : STYLE_STRONG),
			marks[a->weight], a->what, term_style(t->term, STYLE_PLAIN));
		buf_printf(out, "    %s", term_style(t->term, STYLE_DIM));
		buf_printable(out, a->evidence, strlen(a->evidence)); /* has names from the file */
		buf_printf(out, "%s\n", term_style(t->term, STYLE_PLAIN));
		if (*a->setting)
			buf_printf(out, "    MALLOC_CONF=%s\n", a->setting);
		if (*a->control)
			buf_printf(out, "    %s\n", a->control);
	}
}

void stats_print_growth(struct buf *out, const struct stats_tables *t, struct growth *g)
{
	size_t count;
	auto_free const struct growth_class **list = growth_rank(g, &count);
	bool timed = g->clock != GROWTH_SNAPSHOTS;
	char early[GROWTH_EARLY_MAX];
	struct human a, b, c;

	if (!count || g->sample_count < 2)
		return;
	stats_print_title(out, t->term, "GROWTH BY SIZE CLASS");
	buf_printf(out, "  %s%10s %10s %10s %16s   fit%s\n", term_style(t->term, STYLE_TITLE),
		   "size", "first", "last", timed ? "bytes/hour" : "bytes/snapshot",
		   term_style(t->term, STYLE_PLAIN));
	for (size_t i = 0; i < count && i < GROWTH_SHOWN; i++) {
		double slope = list[i]->slope * (timed ? 3600.0 : 1.0);

		buf_printf(out, "  %10" PRIu64 " %10s %10s %16s  %4.2f%s%s%s\n", list[i]->size,
			   human_size(&a, list[i]->first), human_size(&b, list[i]->last),
			   signed_size(&c, slope > 9e18	   ? INT64_MAX
					   : slope < -9e18 ? -INT64_MAX
							   : (int64_t)slope),
			   list[i]->fit, term_style(t->term, STYLE_WARNING),
			   list[i]->suspect  ? "  a leak?"
			   : list[i]->steady ? "  grows steadily"
					     : "",
			   term_style(t->term, STYLE_PLAIN));
	}
	if (count > GROWTH_SHOWN)
		buf_printf(out, "  %sand %zu more%s\n", term_style(t->term, STYLE_DIM),
			   count - GROWTH_SHOWN, term_style(t->term, STYLE_PLAIN));
	growth_early_text(g, early);
	if (*early)
		buf_printf(out, "  %s%s%s\n", term_style(t->term, STYLE_DIM), early,
			   term_style(t->term, STYLE_PLAIN));
}
