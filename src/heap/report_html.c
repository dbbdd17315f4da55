/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A dump as one HTML page that needs nothing else (draw/page.h): flame graphs in both directions,
 * stacks, functions.
 *
 * Of a difference the page has two trees, what was added and what went: in neither of them anything
 * is less than nothing. */
#include <math.h>
#include <string.h>

#include "base/buf_type.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "draw/page.h"
#include "heap/heap_flame.h"
#include "heap/report.h"

#define MEASURES 2
#define STACKS_SHOWN 50	 /* in each table */
#define FRAMES_INNER 150 /* of a stack that is longer than both */
#define FRAMES_OUTER 50

struct html {
	const struct profile *profile;
	const struct heap_report_options *options;
	struct heap_flame_measure measures[MEASURES];
	const char *names[MEASURES];
	unsigned count;
	struct heap_flame flame;
	struct page page;
};

/* A stack of the profile with its weight, for the tables. */
struct stack_row {
	double bytes, count;
	size_t stack;
};

static bool counts_all(enum heap_measure m)
{
	return m == HEAP_ALLOC_SPACE || m == HEAP_ALLOC_OBJECTS;
}

static void add_measure(struct html *h, const char *name, enum heap_measure m, enum heap_part part)
{
	h->names[h->count] = name;
	h->measures[h->count++] = (struct heap_flame_measure){ m, part };
}

static void choose_measures(struct html *h)
{
	if (h->options->base) {
		add_measure(h, "added", h->options->measure, HEAP_MORE);
		add_measure(h, "gone", h->options->measure, HEAP_LESS);
		return;
	}
	add_measure(h, "alive", HEAP_INUSE_SPACE, HEAP_WHOLE);
	/* Only where the program ran with prof_accum. */
	if (h->profile->total.all_objects > 0)
		add_measure(h, "allocated", HEAP_ALLOC_SPACE, HEAP_WHOLE);
}

static void put_about(struct html *h)
{
	const struct heap_report_options *o = h->options;
	const struct profile *p = h->profile;
	struct json *j = &h->page.j;
	bool second = o->base ? heap_amount(&p->total, o->measure) < 0
			      : h->count > 1 && counts_all(o->measure);

	json_text(j, "title", o->title);
	json_text(j, "version", MEMOIR_VERSION);
	json_object(j, "dump");
	json_text(j, "base", o->base);
	json_real(j, "bytes", trunc(p->total.bytes), 0);
	json_real(j, "count", trunc(p->total.objects), 0);
	json_real(j, "all_bytes", trunc(p->total.all_bytes), 0);
	json_real(j, "all_count", trunc(p->total.all_objects), 0);
	json_number(j, "stacks", p->stack_count);
	json_number(j, "functions", strings_count(&p->names) - 1);
	json_number(j, "rate", p->rate);
	json_end_object(j);
	json_object(j, "defaults");
	json_text(j, "measure", h->names[second]);
	json_text(j, "table", h->names[second]);
	json_text(j, "unit", heap_counts_objects(o->measure) ? "count" : "bytes");
	json_end_object(j);
}

ORDER(by_bytes, struct stack_row, FALLING(bytes) ?: RISING(stack))

/* Of each frame function and line, the innermost first; null stands for those left out.  Lines are
 * those of functions, which stacks were put together by. */
static void put_stack(struct html *h, const struct stack_row *w)
{
	const struct profile_stack *s = &h->profile->stacks[w->stack];
	struct json *j = &h->page.j;

	json_object(j, NULL);
	json_number(j, "bytes", (uint64_t)trunc(fmin(w->bytes, 0x1p62)));
	json_number(j, "count", (uint64_t)trunc(fmin(w->count, 0x1p62)));
	json_number(j, "deep", s->frame_count);
	JSON_EACH(j, "frames", i, s->frame_count) {
		if (s->frame_count > FRAMES_INNER + FRAMES_OUTER && i == FRAMES_INNER) {
			json_null(j, NULL);
			i = s->frame_count - FRAMES_OUTER - 1;
			continue;
		}
		json_number(j, NULL, page_function(&h->page, h->profile->frames[s->frame + i]));
		json_number(j, NULL, 0);
	}
	json_end_object(j);
}

static void put_table(struct html *h, unsigned measure)
{
	const struct profile *p = h->profile;
	auto_free struct stack_row *rows = xcalloc(p->stack_count + 1, sizeof(*rows));
	struct json *j = &h->page.j;
	size_t count = 0;

	for (size_t i = 0; i < p->stack_count; i++) {
		struct stack_row w = { .stack = i };

		heap_flame_amounts(&h->measures[measure], &p->stacks[i], &w.bytes, &w.count);
		if (w.bytes >= 1 || w.count >= 1)
			rows[count++] = w;
	}
	SORT(rows, count, by_bytes);
	json_object(j, h->names[measure]);
	json_number(j, "stacks", count);
	JSON_EACH(j, "rows", i, MIN(count, STACKS_SHOWN))
		put_stack(h, &rows[i]);
	json_end_object(j);
}

static int write_html(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	struct html h = { .profile = p, .options = o };
	auto_buf struct buf data = { 0 };

	choose_measures(&h);
	heap_flame_init(&h.flame, p, h.measures, h.count);
	page_init(&h.page, &h.flame.tree, &h.flame.names, &data);
	json_object(&h.page.j, NULL);
	put_about(&h);
	page_tree(&h.page, h.names);
	json_object(&h.page.j, "tables");
	for (unsigned i = 0; i < h.count; i++)
		put_table(&h, i);
	json_end_object(&h.page.j);
	page_names(&h.page);
	json_end_object(&h.page.j);
	page_write(out, o->title, &data);
	page_release(&h.page);
	heap_flame_release(&h.flame);
	return out->error;
}

const struct heap_report heap_report_html = {
	.name = "html",
	.help = "a page for any browser: flame graphs, stacks and functions",
	.mime = "text/html; charset=utf-8",
	.extension = "html",
	.write = write_html,
};
