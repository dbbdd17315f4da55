/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is said about a snapshot beside its tables: totals, where memory went, what to do about it,
 * what grows.  See stats_print.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/jemalloc/stats_print.h"
#include "jemalloc/advice.h"
#include "jemalloc/fields.h"
#include "jemalloc/merge.h"
#include "jemalloc/waterfall.h"

#define BAR 24
#define BAR_AT 65	  /* where it begins */
#define NARROW BAR_AT	  /* without room for two ways to write a number */
#define GROWTH_NARROW 74u /* the same for growth, with a verdict */
#define BINS_SHOWN 5
#define GROWTH_SHOWN 10

static void line(const struct stats_print *t, const char *name, const char *raw, const char *human)
{
	buf_printf(t->out, "  %-24s %18s", name, raw);
	if (human)
		term_printf(t->term, t->out, "  {number}%10s{}", human);
	buf_char(t->out, '\n');
}

bool stats_print_wants(const struct stats_print *t, const char *table)
{
	return !t->only || !strcmp(t->only, table);
}

void stats_print_title(const struct stats_print *t, const char *text)
{
	term_printf(t->term, t->out, "\n{title}%s{}\n", text);
}

void stats_print_sentence(const struct stats_print *t, unsigned indent, enum term_style style,
			  const char *text)
{
	struct buf *out = t->out;
	size_t room = t->columns > indent + 20 ? t->columns - indent : t->columns ? 20 : SIZE_MAX;

	while (*text) {
		size_t n = strlen(text);

		if (n > room) {
			for (n = room; n && text[n] != ' '; n--)
				;
			if (!n)
				n = strcspn(text, " ");
		}
		buf_repeat(out, ' ', indent);
		buf_text(out, term_style(t->term, style));
		buf_printable(out, text, n); /* may have names from the file */
		buf_printf(out, "%s\n",
			   style == STYLE_PLAIN ? "" : term_style(t->term, STYLE_PLAIN));
		text += n + (text[n] == ' ');
	}
}

static void print_profiling(const struct stats_print *t, const struct stats *s)
{
	const char *rate = stats_setting(s, "opt.lg_prof_sample");
	const char *prof = stats_setting(s, "opt.prof");

	if (rate && prof)
		line(t, "profiling interval",
		     count_text(UINT64_C(1) << (strtoul(rate, NULL, 10) & 63)),
		     strcmp(prof, "true") ? "(off)" : NULL);
}

static void print_corrections(const struct stats_print *t, const struct stats *s)
{
	char text[STATS_CORRECTION_MAX];

	for (unsigned i = 0; stats_correction(s, i, text); i++)
		stats_print_sentence(t, 2, STYLE_DIM, text);
}

static void print_summary(const struct stats_print *t, const struct stats *s,
			  const struct stats_arena *whole)
{
	uint64_t allocated = s->total[STATS_TOTAL_ALLOCATED], active = s->total[STATS_TOTAL_ACTIVE];
	uint64_t dirty = whole ? whole->value[STATS_ARENA_PDIRTY] : STATS_NONE;
	uint64_t page = s->shape[STATS_SHAPE_PAGE];
	struct human a;

	for (unsigned i = 0; i < STATS_TOTAL_COUNT; i++) {
		char name[64];

		if (s->total[i] >= STATS_NONE)
			continue;
		snprintf(name, sizeof(name), "%s%s",
			 i < STATS_TOTAL_BACKGROUND_THREADS ? "" : "background ",
			 stats_total_fields[i].name);
		line(t, name, human_count(&a, s->total[i]),
		     fields_bytes(stats_total_fields[i].name) ? size_text(s->total[i]) : NULL);
	}
	if (allocated < STATS_NONE && active < STATS_NONE && active >= allocated && active)
		line(t, "fragmentation", human_count(&a, active - allocated),
		     share_text(active - allocated, active));
	if (dirty < STATS_NONE)
		line(t, "dirty pages", human_count(&a, dirty),
		     page < STATS_NONE ? size_text(dirty * page) : NULL);
	for (unsigned i = 0; i < STATS_SHAPE_COUNT; i++)
		if (s->shape[i] != STATS_NONE) {
			snprintf(a.text, sizeof(a.text), "%" PRId64, (int64_t)s->shape[i]);
			line(t, stats_shape_fields[i].name, a.text, NULL);
		}
	print_profiling(t, s);
	print_corrections(t, s);
}

/* A part of the bar: from `from` to `to` of `whole`. */
static void bar(const struct stats_print *t, uint64_t from, uint64_t to, uint64_t whole,
		const char *mark)
{
	unsigned room = !t->columns || t->columns >= BAR_AT + BAR ? BAR
			: t->columns > BAR_AT			  ? t->columns - BAR_AT
								  : 0;
	uint64_t first, last;

	if (!room || !whole || to > whole || from > to)
		return;
	first = (uint64_t)((double)from / (double)whole * room + 0.5);
	last = (uint64_t)((double)to / (double)whole * room + 0.5);
	if (last == first && to > from && last < room)
		last++;
	else if (last == first && to > from)
		first--;
	buf_text(t->out, "  ");
	buf_repeat(t->out, ' ', first);
	for (; first < last; first++)
		buf_text(t->out, mark);
}

struct fall {
	const struct stats_print *how;
	uint64_t whole, at; /* what the bars are shares of, and what is left */
};

/* A number to its last digit, where there is room for it. */
static void exact(const struct fall *f, const char *text, int width)
{
	if (!f->how->columns || f->how->columns >= NARROW)
		buf_printf(f->how->out, "%*s", width, text);
}

static void level(struct fall *f, const char *name, uint64_t bytes)
{
	term_printf(f->how->term, f->how->out, "  {strong}%-32s{}", name);
	exact(f, count_text(bytes), 17);
	buf_printf(f->how->out, "  %10s", size_text(bytes));
	bar(f->how, 0, bytes, f->whole, "█");
	buf_char(f->how->out, '\n');
	f->at = bytes;
}

static void step(struct fall *f, const struct waterfall *w, unsigned i)
{
	int64_t bytes = w->step[i];

	if (!bytes)
		return;
	buf_printf(f->how->out, "   - %-29s",
		   i == WATERFALL_UNKNOWN && !w->attributed ? "free (bins were not printed)"
							    : waterfall_rows[i].label);
	exact(f, signed_count_text(bytes), 17);
	term_printf(f->how->term, f->how->out, "  {number}%10s{}", signed_size_text(bytes));
	if (bytes > 0 && (uint64_t)bytes <= f->at)
		bar(f->how, f->at - (uint64_t)bytes, f->at, f->whole, "░");
	buf_char(f->how->out, '\n');
	f->at -= (uint64_t)bytes;
}

/* What the free regions are made of. */
static void worst_bins(struct fall *f, const struct waterfall *w)
{
	char text[96];

	for (size_t i = 0; i < w->bin_count && i < BINS_SHOWN; i++) {
		const struct waterfall_bin *bin = &w->bins[i];

		if (bin->bytes <= 0)
			break;
		snprintf(text, sizeof(text), "of %" PRIu64 ": %" PRIu64 " of %" PRIu64 " used",
			 bin->size, bin->used, bin->regions);
		term_printf(f->how->term, f->how->out, "       {dim}%-29s{}", text);
		exact(f, count_text((uint64_t)bin->bytes), 16);
		buf_printf(f->how->out, "  %10s\n", size_text((uint64_t)bin->bytes));
	}
	if (w->bin_count > BINS_SHOWN)
		term_printf(f->how->term, f->how->out, "       {dim}and %zu bins more{}\n",
			    w->bin_count - BINS_SHOWN);
}

/* Why there are blocks of the heap profiler, and how well they are known. */
static void print_profiler(const struct stats_print *t, const struct sampled *p)
{
	char text[160];
	int n;

	if (!p->count)
		return;
	n = snprintf(text, sizeof(text), "the heap profiler keeps %s%s small blocks out of slabs",
		     p->estimated ? "about " : "", count_text(p->count));
	if (p->in == SAMPLED_LARGE)
		snprintf(text + n, sizeof(text) - (size_t)n, ", %s each", size_text(p->home));
	stats_print_sentence(t, 2, STYLE_DIM, text);
	if (p->estimated)
		stats_print_sentence(
			t, 2, STYLE_DIM,
			"(an estimate by the sampling interval; memoir jemalloc join counts "
			"them)");
}

static void print_waterfall(const struct stats_print *t, const struct stats *s,
			    const struct stats_arena *a)
{
	struct fall f = { .how = t };
	auto_release(waterfall_release) struct waterfall w = { 0 };
	char text[128];

	waterfall_make(&w, s, a);
	if (w.active >= STATS_NONE || w.allocated >= STATS_NONE)
		return;
	f.whole = w.resident < STATS_NONE && w.resident > w.active ? w.resident : w.active;
	stats_print_title(t, "FROM RESIDENT TO ALLOCATED");
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
	print_profiler(t, &w.sampled);
	if (w.retained < STATS_NONE && w.retained) {
		snprintf(text, sizeof(text),
			 "besides, %s of address space is retained, which is not memory",
			 size_text(w.retained));
		stats_print_sentence(t, 2, STYLE_DIM, text);
	}
}

static void print_advice(const struct stats_print *t, const struct stats *s,
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
	stats_print_title(t, "ADVICE");
	for (unsigned i = 0; i < count; i++) {
		const struct advice *a = &list[i];

		char text[sizeof(a->what) + 8];

		snprintf(text, sizeof(text), "%s %s", marks[a->weight], a->what);
		stats_print_sentence(t, 2, a->weight == ADVICE_DO ? STYLE_WARNING : STYLE_STRONG,
				     text);
		stats_print_sentence(t, 4, STYLE_DIM, a->evidence);
		if (*a->setting)
			buf_printf(t->out, "    MALLOC_CONF=%s\n", a->setting);
		stats_print_sentence(t, 4, STYLE_PLAIN, a->control);
	}
}

/* One class; a terminal without room for all has shorter columns. */
static void print_grown(const struct stats_print *t, const struct growth *g,
			const struct growth_class *c)
{
	double slope = c->slope * (g->clock != GROWTH_SNAPSHOTS ? 3600.0 : 1.0);
	bool narrow = t->columns && t->columns < GROWTH_NARROW;
	int wide = narrow ? 9 : 10;
	struct human rate;

	human_signed_size(&rate, slope > 9e18	 ? INT64_MAX
				 : slope < -9e18 ? -INT64_MAX
						 : (int64_t)slope);
	term_printf(t->term, t->out, "  %*" PRIu64 " %*s %*s %*s  %4.2f{warning}%s{}\n", wide,
		    c->size, wide, size_text(c->first), wide, size_text(c->last), narrow ? 14 : 16,
		    rate.text, c->fit,
		    c->suspect	? narrow ? " leak?" : "  a leak?"
		    : c->steady ? narrow ? " grows" : "  grows steadily"
				: "");
}

static void print_growth(const struct stats_print *t, struct growth *g)
{
	size_t count;
	auto_free const struct growth_class **list = growth_rank(g, &count);
	bool narrow = t->columns && t->columns < GROWTH_NARROW;
	char early[GROWTH_EARLY_MAX];
	int wide = narrow ? 9 : 10;

	if (!count || g->sample_count < 2)
		return;
	stats_print_title(t, "GROWTH BY SIZE CLASS");
	term_printf(t->term, t->out, "  {title}%*s %*s %*s %*s   fit{}\n", wide, "size", wide,
		    "first", wide, "last", narrow ? 14 : 16,
		    g->clock != GROWTH_SNAPSHOTS ? "bytes/hour" : "bytes/snapshot");
	for (size_t i = 0; i < count && i < GROWTH_SHOWN; i++)
		print_grown(t, g, list[i]);
	if (count > GROWTH_SHOWN)
		term_printf(t->term, t->out, "  {dim}and %zu more{}\n", count - GROWTH_SHOWN);
	growth_early_text(g, early);
	stats_print_sentence(t, 2, STYLE_DIM, early);
}

static void print_settings(const struct stats_print *t, const struct stats *s)
{
	stats_print_title(t, "SETTINGS");
	for (size_t i = 0; i < s->setting_count; i++) {
		const char *name = s->words.data + s->settings[i].name;
		const char *value = s->words.data + s->settings[i].value;

		buf_text(t->out, "  ");
		buf_printable(t->out, name, strlen(name));
		buf_text(t->out, ": ");
		buf_printable(t->out, value, strlen(value));
		buf_char(t->out, '\n');
	}
}

void stats_print(const struct stats_print *t, struct stats *s, const struct stats_arena *a,
		 struct growth *growth)
{
	const struct stats_arena *whole = stats_merge(s);

	if (stats_print_wants(t, "summary"))
		print_summary(t, s, whole);
	if (a && stats_print_wants(t, "waterfall"))
		print_waterfall(t, s, a);
	if (whole && stats_print_wants(t, "advice"))
		print_advice(t, s, whole);
	if (stats_print_wants(t, "growth"))
		print_growth(t, growth);
	stats_print_tables(t, s, a);
	if (s->setting_count && stats_print_wants(t, "settings") && (t->only || t->settings))
		print_settings(t, s);
}
