/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fragmentation: memory that is not in use and cannot be given back, and who keeps it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "cli/about.h"
#include "cli/report.h"
#include "cli/shape.h"
#include "cli/waiting.h"
#include "query/fragmentation.h"
#include "query/series.h"

static bool as_json, full;
static uint64_t top = 5, buckets;
static const char *color, *at_text, *region;

static const char *const region_names[LEVELS] = { "4k", "64k", "2m" };

static const struct command_option options[] = {
	{ "at", 0, "TIME", "look then (at the peak): 1.5s after the start, 50%, a date",
	  COMMAND_TEXT, &at_text },
	{ "region", 'r', "SIZE", "what stacks hold: 4k, 64k (the default) or 2m", COMMAND_TEXT,
	  &region },
	{ "top", 'n', "N", "stacks to show (5)", COMMAND_NUMBER, &top },
	{ "over-time", 't', "N", "regions in use at N moments of the run, too", COMMAND_NUMBER,
	  &buckets },
	{ "full", 0, NULL, "show every frame, and whole paths", COMMAND_FLAG, &full },
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	WAITING_ROWS,
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

struct shown {
	struct report r;
	struct fragmentation f;
	struct fragmentation_point *points;
	uint32_t *calls; /* by holder: the call of its first block */
	enum fragmentation_level level;
};

static void title(struct buf *out, const struct shown *s, const char *text)
{
	buf_printf(out, "\n%s%s%s", term_style(&s->r.term, STYLE_TITLE), text,
		   term_style(&s->r.term, STYLE_PLAIN));
}

static void print_regions(struct buf *out, const struct shown *s)
{
	struct human a, b, c, d, e;

	title(out, s, "REGIONS");
	buf_printf(out, "  with at least one block in them\n\n%s%12s %11s %10s %10s %8s %13s%s\n",
		   term_style(&s->r.term, STYLE_DIM), "size", "regions", "in use", "empty", "used",
		   "nearly empty", term_style(&s->r.term, STYLE_PLAIN));
	for (unsigned i = 0; i < LEVELS; i++) {
		const struct occupancy *o = &s->f.levels[i];

		buf_printf(out, "%12s %11s %10s %10s ", level_rows[i].name,
			   human_count(&a, o->regions), human_size(&b, o->live_bytes),
			   human_size(&c, o->empty_bytes));
		buf_printf(out, "%8s %13s\n",
			   human_share(&d, o->live_bytes, o->live_bytes + o->empty_bytes),
			   human_count(&e, o->nearly_empty));
	}
}

static void print_occupancy(struct buf *out, const struct shown *s)
{
	const struct occupancy *o = &s->f.levels[s->level];
	unsigned columns = s->r.term.width > 70 ? s->r.term.width - 48 : 22;
	struct human a, b;
	uint64_t most = 0;

	title(out, s, "HOW FULL");
	buf_printf(out, "  regions of %s\n\n%s%12s %11s %10s%s\n", level_rows[s->level].name,
		   term_style(&s->r.term, STYLE_DIM), "in use", "regions", "empty",
		   term_style(&s->r.term, STYLE_PLAIN));
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++)
		most = o->bins[i].regions > most ? o->bins[i].regions : most;
	for (unsigned i = 0; i < OCCUPANCY_BINS; i++) {
		buf_printf(out, "%4u \xe2\x80\xa6 %3u %% %11s %10s  %s", i * 10, i * 10 + 10,
			   human_count(&a, o->bins[i].regions),
			   human_size(&b, o->bins[i].empty_bytes),
			   term_style(&s->r.term, STYLE_NUMBER));
		shape_bar(out, most ? (double)o->bins[i].regions / (double)most : 0, columns);
		buf_printf(out, "%s\n", term_style(&s->r.term, STYLE_PLAIN));
	}
}

static void print_slack(struct buf *out, const struct shown *s)
{
	struct human a, b, c, d;

	title(out, s, "SLACK");
	buf_printf(out, "  usable, but not asked for: %s\n\n%s%21s %11s %10s %10s%s\n",
		   human_size(&a, s->f.slack), term_style(&s->r.term, STYLE_DIM), "size", "blocks",
		   "bytes", "slack", term_style(&s->r.term, STYLE_PLAIN));
	for (unsigned i = 0; i < SLACK_CLASSES; i++) {
		const struct slack_class *k = &s->f.classes[i];

		if (!k->weight.count)
			continue;
		human_size(&a, k->from);
		human_size(&b, k->to);
		if (k->to - k->from <= 1)
			buf_printf(out, "%21s", a.text);
		else
			buf_printf(out, "%9s \xe2\x80\xa6 %9s", a.text, b.text);
		buf_printf(out, " %11s %10s ", human_count(&c, k->weight.count),
			   human_size(&d, k->weight.bytes));
		buf_printf(out, "%10s %8s\n", human_size(&a, k->slack),
			   human_share(&b, k->slack, s->f.slack ? s->f.slack : 1));
	}
}

static void print_holders(struct buf *out, struct shown *s)
{
	const struct occupancy *o = &s->f.levels[s->level];
	struct human a, b, c;
	uint64_t shown = 0;

	title(out, s, "HELD");
	buf_printf(out, "  empty bytes in regions of %s that one stack alone keeps\n",
		   level_rows[s->level].name);
	for (uint32_t i = 0; i < s->f.holder_count && shown < top; i++) {
		const struct holder *h = &s->f.holders[i];

		if (!h->held[s->level].pinned_bytes)
			break;
		buf_printf(out, "\n%s%8s%s  %s%s%s", term_style(&s->r.term, STYLE_NUMBER),
			   human_share(&c, h->held[s->level].pinned_bytes, o->empty_bytes),
			   term_style(&s->r.term, STYLE_PLAIN),
			   term_style(&s->r.term, STYLE_STRONG),
			   human_size(&a, h->held[s->level].pinned_bytes),
			   term_style(&s->r.term, STYLE_PLAIN));
		buf_printf(out, " in %s region%s", human_count(&b, h->held[s->level].regions),
			   h->held[s->level].regions == 1 ? "" : "s");
		buf_printf(out, ", for %s in %s block%s\n", human_size(&a, h->weight.bytes),
			   human_count(&b, h->weight.count), h->weight.count == 1 ? "" : "s");
		report_stack(&s->r, out, h->stack, s->calls[i]);
		shown++;
	}
	if (!shown)
		buf_text(out, "\n  none\n");
}

static void print_over_time(struct buf *out, const struct shown *s)
{
	struct human a, b, c;

	title(out, s, "OVER TIME");
	buf_printf(out, "  regions in use\n\n%s%12s %10s", term_style(&s->r.term, STYLE_DIM), "at",
		   "asked for");
	for (unsigned i = 0; i < LEVELS; i++)
		buf_printf(out, "  %7s %9s", level_rows[i].name, "used");
	buf_printf(out, "%s\n", term_style(&s->r.term, STYLE_PLAIN));
	for (uint64_t k = 0; k < buckets; k++) {
		const struct fragmentation_point *p = &s->points[k];

		buf_printf(out, "%12s %10s", human_duration(&a, model_ns(s->r.model, p->at)),
			   human_size(&b, p->requested));
		for (unsigned i = 0; i < LEVELS; i++)
			buf_printf(
				out, "  %7s %9s", human_count(&a, p->regions[i]),
				human_share(&c, p->usable, p->regions[i] << level_rows[i].shift));
		buf_char(out, '\n');
	}
}

static void print_text(struct buf *out, struct shown *s)
{
	struct human a, b, c;

	about_text_program(out, &s->r.term, s->r.model);
	about_text_loss(out, &s->r.term, s->r.model);
	title(out, s, "FRAGMENTATION");
	buf_printf(
		out, "  %s after the start: %s in %s blocks\n",
		human_duration(&a, s->f.live.count || at_text ? model_ns(s->r.model, s->f.at) : 0),
		human_size(&b, s->f.live.bytes), human_count(&c, s->f.live.count));
	shape_removed(out, &s->r.term, s->r.model);
	print_regions(out, s);
	print_occupancy(out, s);
	print_slack(out, s);
	if (s->points)
		print_over_time(out, s);
	print_holders(out, s);
}

static void json_levels(struct json *j, const struct shown *s)
{
	json_array(j, "regions");
	for (unsigned i = 0; i < LEVELS; i++) {
		const struct occupancy *o = &s->f.levels[i];

		json_object(j, NULL);
		json_number(j, "size", 1ull << level_rows[i].shift);
		json_number(j, "regions", o->regions);
		json_number(j, "live_bytes", o->live_bytes);
		json_number(j, "empty_bytes", o->empty_bytes);
		json_number(j, "nearly_empty", o->nearly_empty);
		json_array(j, "occupancy");
		for (unsigned k = 0; k < OCCUPANCY_BINS; k++) {
			json_object(j, NULL);
			json_number(j, "from_percent", k * 10);
			json_number(j, "regions", o->bins[k].regions);
			json_number(j, "live_bytes", o->bins[k].live_bytes);
			json_number(j, "empty_bytes", o->bins[k].empty_bytes);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_holders(struct json *j, struct shown *s)
{
	json_array(j, "holders");
	for (uint32_t i = 0; i < s->f.holder_count && i < top; i++) {
		const struct holder *h = &s->f.holders[i];

		json_object(j, NULL);
		json_number(j, "stack", h->stack);
		json_number(j, "bytes", h->weight.bytes);
		json_number(j, "count", h->weight.count);
		json_number(j, "slack_bytes", h->slack);
		json_array(j, "held");
		for (unsigned k = 0; k < LEVELS; k++) {
			json_object(j, NULL);
			json_number(j, "size", 1ull << level_rows[k].shift);
			json_number(j, "regions", h->held[k].regions);
			json_number(j, "pinned_bytes", h->held[k].pinned_bytes);
			json_number(j, "shared_bytes", h->held[k].shared_bytes);
			json_end_object(j);
		}
		json_end_array(j);
		report_json_frames(&s->r, j, h->stack, s->calls[i]);
		json_end_object(j);
	}
	json_end_array(j);
}

static void print_json(struct buf *out, struct shown *s)
{
	struct json j;

	json_init(&j, out);
	json_object(&j, NULL);
	about_json_program(&j, s->r.model);
	about_json_loss(&j, s->r.model);
	json_number(&j, "at_ns", model_ns(s->r.model, s->f.at));
	json_number(&j, "bytes", s->f.live.bytes);
	json_number(&j, "count", s->f.live.count);
	json_number(&j, "slack_bytes", s->f.slack);
	json_levels(&j, s);
	json_array(&j, "slack");
	for (unsigned i = 0; i < SLACK_CLASSES; i++) {
		const struct slack_class *k = &s->f.classes[i];

		if (!k->weight.count)
			continue;
		json_object(&j, NULL);
		json_number(&j, "from", k->from);
		json_number(&j, "to", k->to);
		json_number(&j, "count", k->weight.count);
		json_number(&j, "bytes", k->weight.bytes);
		json_number(&j, "slack_bytes", k->slack);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_holders(&j, s);
	json_array(&j, "over_time");
	for (uint64_t k = 0; k < buckets; k++) {
		const struct fragmentation_point *p = &s->points[k];

		json_object(&j, NULL);
		json_number(&j, "at_ns", model_ns(s->r.model, p->at));
		json_number(&j, "bytes", p->requested);
		json_number(&j, "usable_bytes", p->usable);
		json_array(&j, "regions");
		for (unsigned i = 0; i < LEVELS; i++)
			json_number(&j, NULL, p->regions[i]);
		json_end_array(&j);
		json_array(&j, "most_regions");
		for (unsigned i = 0; i < LEVELS; i++)
			json_number(&j, NULL, p->most_regions[i]);
		json_end_array(&j);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
}

/* The calls that the stacks to be shown allocated with. */
static void find_calls(struct shown *s)
{
	const struct columns *c = &s->r.model->allocations;
	uint32_t n = s->f.holder_count < top ? s->f.holder_count : (uint32_t)top;

	s->calls = xcalloc(s->f.holder_count + 1, sizeof(*s->calls));
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t row = 0; row < c->count; row++)
			if (c->stack[row] == s->f.holders[i].stack) {
				s->calls[i] = tags_call(c->tags[row]);
				break;
			}
}

static void look(struct shown *s, const struct view *v, uint64_t at)
{
	uint64_t from, to;

	fragmentation_init(&s->f, v, at);
	fragmentation_sort(&s->f, s->level);
	find_calls(s);
	if (!buckets)
		return;
	series_whole(v->model, &from, &to);
	s->points = xcalloc(buckets, sizeof(*s->points));
	fragmentation_series(v->model, from, to, (uint32_t)buckets, s->points);
}

static int run(int argc, char **argv)
{
	struct open_options how = { .quiet = as_json };
	struct shown s = { .r = { .full = full }, .level = LEVEL_64K };
	struct buf out = { 0 };
	struct opened o;
	uint64_t at_ns, at;

	term_init(&s.r.term, 1, color);
	if (region && (s.level = shape_word("fragmentation", "region", region, region_names,
					    LEVELS)) == LEVELS)
		return 2;
	if (buckets > 100000) {
		fprintf(stderr, "memoir fragmentation: --over-time is at most 100,000\n");
		return 2;
	}
	if (!open_view("fragmentation", argc, argv, &how, &o))
		return o.status;
	s.r.model = o.model;
	s.r.locations = o.locations;
	s.r.view = o.view;
	at = o.model->totals.peak_at;
	if (at_text) {
		if (!shape_time("fragmentation", "at", o.model, at_text, &at_ns)) {
			opened_release(&o);
			return 2;
		}
		at = measure_stamp(o.model, at_ns);
	}
	look(&s, o.view, at);
	if (as_json)
		print_json(&out, &s);
	else
		print_text(&out, &s);
	if (buf_flush(&out, 1))
		o.status = 1;
	buf_release(&out);
	fragmentation_release(&s.f);
	free(s.points);
	free(s.calls);
	free(s.r.frames);
	opened_release(&o);
	return o.status;
}

const struct command command_fragmentation = {
	.name = "fragmentation",
	.args = "FILE",
	.help = "memory that is not in use and cannot be given back",
	.examples = "  memoir fragmentation app.dat               at the peak\n"
		    "  memoir fragmentation --at 100% app.dat     at the end\n"
		    "  memoir fragmentation -r 4k -n 20 app.dat   who keeps single pages\n"
		    "  memoir fragmentation --over-time 20 app.dat\n",
	.options = options,
	.takes_filters = true,
	.run = run,
};
