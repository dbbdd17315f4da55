/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Figures of a run.  See run_figures.h. */
#include "check/run_figures.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "check/suppressions.h"
#include "model/stats.h"
#include "query/responsible.h"
#include "query/series.h"
#include "query/stacks.h"
#include "query/weigh.h"

#define NO_STACK "(no stack)"

/* The two rows that a stack counts in. */
struct row_pair {
	struct run_figure *rows[FIGURE_KINDS];
};

/* The same while rows are added and move; from 1, and 0 is a stack that has no name yet. */
struct row_numbers {
	uint32_t of[FIGURE_KINDS];
};

struct figuring {
	struct run_figures *f;
	const struct view *v;
	const struct responsible *r;
	const struct suppressions *suppressions;
	uint8_t *suppressed;	   /* by location: 1: no, 2: yes; 0: not looked at */
	struct row_numbers *known; /* by stack: naming takes longest */
	struct stack_frames frames;
	struct buf key, name;
};

void run_figures_init(struct run_figures *f)
{
	*f = (struct run_figures){ 0 };
	strings_init(&f->texts);
}

void run_figures_release(struct run_figures *f)
{
	strings_release(&f->texts);
	for (unsigned i = 0; i < FIGURE_KINDS; i++) {
		map_release(&f->tables[i].row_of);
		free(f->tables[i].rows);
	}
	*f = (struct run_figures){ 0 };
}

/* "[libz.so]": a version behind that would make another stack of each. */
static void name_module(struct buf *out, const char *path)
{
	const char *name = path_base(path), *version = strstr(name, ".so.");

	buf_text(out, "[");
	buf_add(out, name, version ? (size_t)(version - name) + 3 : strlen(name));
	buf_text(out, "]");
}

static void name_frame(struct figuring *g, const struct stack_frame *f)
{
	struct locations *p = g->v->locations;

	buf_clear(&g->name);
	if (f->function)
		buf_text(&g->name, locations_string(p, f->function));
	else
		name_module(&g->name, f->module ? locations_module_path(p, f->module) : "?");
	text_in_line(&g->name, 0);
}

/* What g->frames are known by, from the responsible one on. */
static void name_frames(struct figuring *g, size_t first)
{
	size_t last = 0, last_size = 0; /* where its name is in the key */
	unsigned named = 0;

	buf_clear(&g->key);
	for (size_t i = first; i < g->frames.count && named < FIGURE_FRAMES; i++) {
		const struct stack_frame *f = &g->frames.rows[i];

		if (named && responsible_kind(g->r, f->location, f->index) == FRAME_START)
			continue;
		name_frame(g, f);
		if (named && last_size == g->name.size &&
		    !memcmp(g->key.data + last, g->name.data, last_size))
			continue;
		if (named++)
			buf_text(&g->key, FIGURE_BETWEEN);
		last = g->key.size;
		last_size = g->name.size;
		buf_add(&g->key, g->name.data, g->name.size);
	}
}

/* What a stack is known by. */
static void name_stack(struct figuring *g, uint32_t stack)
{
	size_t first = responsible_depth(g->r, stack);

	stack_frames_inner(&g->frames, g->v, stack, first + FIGURE_REACH);
	if (first >= g->frames.count) {
		buf_clear(&g->key);
		buf_text(&g->key, NO_STACK);
		return;
	}
	name_frames(g, first);
}

static uint32_t row_of(struct run_figures *f, enum figure_kind kind, uint32_t key)
{
	struct run_table *t = &f->tables[kind];
	uint64_t index;

	if (map_number(&t->row_of, key, &index))
		*xpush(t->rows, t->count, t->room) = (struct run_figure){ .key = key };
	return (uint32_t)index + 1;
}

static void number_rows(struct figuring *g, uint32_t stack)
{
	struct row_numbers *known = &g->known[stack];
	struct run_figures *f = g->f;
	char *between;

	name_stack(g, stack);
	between = strstr(g->key.data, FIGURE_BETWEEN);
	known->of[BY_STACK] = row_of(f, BY_STACK, strings_add(&f->texts, g->key.data));
	if (between)
		*between = '\0';
	known->of[BY_RESPONSIBLE] = row_of(f, BY_RESPONSIBLE, strings_add(&f->texts, g->key.data));
}

/* The source line of a row is that of its heaviest stack. */
static void rows_of(struct figuring *g, uint32_t stack, uint64_t bytes, struct row_pair *ret)
{
	struct responsible_frame at;
	const struct location_frame *frame;
	unsigned count;

	if (!g->known[stack].of[BY_STACK])
		number_rows(g, stack);
	for (unsigned i = 0; i < FIGURE_KINDS; i++) {
		struct run_figure *row = &g->f->tables[i].rows[g->known[stack].of[i] - 1];

		ret->rows[i] = row;
		if ((row->heaviest && bytes <= row->heaviest) ||
		    !responsible_find(g->r, stack, &at))
			continue;
		frame = &locations_frames(g->v->locations, at.location, &count)[at.index];
		row->file =
			strings_add(&g->f->texts, locations_string(g->v->locations, frame->file));
		row->line = frame->line;
		row->heaviest = bytes;
	}
}

static void add_value(const struct row_pair *p, enum check_measure m, uint64_t value)
{
	for (unsigned i = 0; i < FIGURE_KINDS; i++)
		p->rows[i]->values[m] += value;
}

static bool is_suppressed_at(struct figuring *g, const struct stack_frame *f)
{
	struct locations *p = g->v->locations;

	return suppressions_match(g->suppressions, locations_string(p, f->function)) ||
	       suppressions_match(g->suppressions, locations_string(p, f->file)) ||
	       suppressions_match(g->suppressions, locations_module_path(p, f->module));
}

static bool is_suppressed(struct figuring *g, uint32_t stack)
{
	stack_frames_of(&g->frames, g->v, stack);
	for (size_t i = 0; i < g->frames.count; i++) {
		const struct stack_frame *f = &g->frames.rows[i];
		uint8_t *known = &g->suppressed[f->location];

		if (!*known) { /* of all its frames, which follow each other */
			*known = 1;
			for (size_t k = i;
			     k < g->frames.count && g->frames.rows[k].location == f->location; k++)
				if (is_suppressed_at(g, &g->frames.rows[k]))
					*known = 2;
		}
		if (*known == 2)
			return true;
	}
	return false;
}

static void add_leaks(struct figuring *g, const struct row_pair *rows, const struct stack_sum *s)
{
	struct run_figures *f = g->f;

	if (s->leaked_count && g->suppressions && g->suppressions->count &&
	    is_suppressed(g, s->stack)) {
		f->suppressed_bytes += s->leaked_bytes;
		f->suppressed_blocks += s->leaked_count;
		return;
	}
	add_value(rows, CHECK_LEAKED, s->leaked_bytes);
	add_value(rows, CHECK_LEAKS, s->leaked_count);
	f->totals[CHECK_LEAKED] += s->leaked_bytes;
	f->totals[CHECK_LEAKS] += s->leaked_count;
}

static void add_stack(struct figuring *g, const struct stack_sum *s)
{
	uint64_t *totals = g->f->totals;
	struct row_pair rows;

	rows_of(g, s->stack, s->bytes, &rows);
	add_leaks(g, &rows, s);
	add_value(&rows, CHECK_ALLOCATIONS, s->count);
	add_value(&rows, CHECK_ALLOCATED, s->bytes);
	add_value(&rows, CHECK_TEMPORARY, s->temporary);
	if (!g->v->bits)
		return; /* what the whole recording says of itself is more than its stacks */
	totals[CHECK_ALLOCATIONS] += s->count;
	totals[CHECK_ALLOCATED] += s->bytes;
	totals[CHECK_TEMPORARY] += s->temporary;
}

static void add_peak_of_stack(struct figuring *g, uint32_t stack, uint64_t bytes)
{
	struct row_pair rows;

	rows_of(g, stack, bytes, &rows);
	add_value(&rows, CHECK_PEAK, bytes);
}

/* Of a part of the allocations it is when they had most, which the whole program may not have had
 * then. */
static void add_peak(struct figuring *g, const struct stack_sums *sums)
{
	const struct model *m = g->v->model;
	struct run_figures *f = g->f;
	struct view_peak part = { .bytes = m->totals.peak_bytes };
	auto_release(stack_weights_release) struct stack_weights weights = { 0 };
	struct measuring how;

	if (g->v->bits)
		part = view_peak(g->v);
	if (part.bytes <= f->totals[CHECK_PEAK])
		return;
	f->totals[CHECK_PEAK] = part.bytes;
	for (unsigned k = 0; k < FIGURE_KINDS; k++)
		for (uint32_t i = 0; i < f->tables[k].count; i++)
			f->tables[k].rows[i].values[CHECK_PEAK] = 0;
	for (uint32_t i = 0; !g->v->bits && i < sums->count; i++)
		if (sums->rows[i].peak_bytes)
			add_peak_of_stack(g, sums->rows[i].stack, sums->rows[i].peak_bytes);
	if (!g->v->bits)
		return;
	how = (struct measuring){ MEASURE_ALIVE_AT, part.at };
	weigh_stacks(&weights, g->v, &how, false);
	for (uint32_t i = 0; i < weights.count; i++)
		add_peak_of_stack(g, weights.rows[i].stack, weights.rows[i].weight.bytes);
}

void run_figures_add(struct run_figures *f, const struct view *v, const struct suppressions *s)
{
	struct figuring g = { .f = f, .v = v, .suppressions = s };
	struct stack_sums sums;

	g.r = responsible_of_view(v);
	g.known = xcalloc((size_t)v->model->tables.nodes.count + 1, sizeof(*g.known));
	g.suppressed = xcalloc((size_t)locations_count(v->locations) + 1, 1);
	if (v->bits)
		stats_sum_selected(v->model, v->bits, &sums);
	else
		stats_sum_stacks(v->model, &sums);
	for (uint32_t i = 0; i < sums.count; i++)
		add_stack(&g, &sums.rows[i]);
	add_peak(&g, &sums);
	if (!v->bits) {
		f->totals[CHECK_ALLOCATIONS] += v->model->totals.allocations;
		f->totals[CHECK_ALLOCATED] += v->model->totals.allocated_bytes;
		f->totals[CHECK_TEMPORARY] += v->model->totals.temporary;
	}
	stack_sums_release(&sums);
	stack_frames_release(&g.frames);
	buf_release(&g.key);
	buf_release(&g.name);
	free(g.suppressed);
	free(g.known);
}
