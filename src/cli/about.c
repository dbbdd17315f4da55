/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program, the totals, what was lost.  See about.h. */
#include "cli/about.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "model/successor.h"
#include "model/words.h"

#define NAME_WIDTH 13

static void name(struct buf *out, const struct term *t, const char *text)
{
	term_printf(t, out, "  {dim}%-*s{}", NAME_WIDTH, text);
}

void about_line(struct buf *out, const struct term *t, const char *label, const char *format, ...)
{
	va_list args;
	auto_free char *text = NULL;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	name(out, t, label);
	if (text)
		buf_printable(out, text, strlen(text));
	buf_char(out, '\n');
}

static void text_command(struct buf *out, const struct term *t, const struct model *m)
{
	auto_buf struct buf line = { 0 };
	size_t room = t->width > NAME_WIDTH + 8 ? t->width - NAME_WIDTH - 2 : 40;

	words_command(&line, m);
	if (!line.size)
		return;
	name(out, t, "command");
	if (line.size <= room) {
		buf_printable(out, line.data, line.size);
	} else {
		size_t n = room - 1;

		while (n && ((unsigned char)line.data[n] & 0xc0) == 0x80)
			n--;
		buf_printable(out, line.data, n);
		buf_text(out, "\xe2\x80\xa6");
	}
	buf_char(out, '\n');
}

static void text_family(struct buf *out, const struct term *t, const struct model *m)
{
	const char *origin = model_info(m, "origin"), *parent = model_info(m, "parent_pid");
	const char *incomplete = model_info(m, "inherited_incomplete");
	struct human blocks, bytes;

	if (!parent || !origin)
		return;
	if (!strcmp(origin, "fork"))
		about_line(out, t, "parent", "process %s, which forked it", parent);
	else if (model_info_number(m, "pid", 0) == model_info_number(m, "parent_pid", 0))
		about_line(out, t, "parent", "itself, as another program before");
	else
		about_line(out, t, "parent", "process %s, which executed it", parent);
	if (model_info(m, "inherited_blocks"))
		about_line(out, t, "inherited", "%s in %s blocks%s%s",
			   human_size(&bytes, model_info_number(m, "inherited_bytes", 0)),
			   human_count(&blocks, model_info_number(m, "inherited_blocks", 0)),
			   incomplete ? "; not all: " : "", incomplete ? incomplete : "");
}

void about_text_program(struct buf *out, const struct term *t, const struct model *m)
{
	const char *executable = model_info(m, "executable"), *host = model_info(m, "hostname");
	const char *allocator = model_info(m, "allocator");
	const char *libc_maps = model_info(m, INFO_LIBC_MAPS);
	uint64_t start = model_start_ns(m), pid = model_info_number(m, "pid", 0);
	size_t threads = m->tables.threads.count;
	auto_buf struct buf end = { 0 };
	struct successor successor;
	struct human a, b;

	about_line(out, t, "program", "%s", executable ? executable : "not known");
	text_command(out, t, m);
	if (model_info(m, "title"))
		about_line(out, t, "title", "%s", model_info(m, "title"));
	if (start)
		about_line(out, t, "started", "%s, process %" PRIu64 "%s%s",
			   human_time(&a, (int64_t)(start / 1000000000)), pid, host ? " on " : "",
			   host ? host : "");
	if (allocator && strstr(allocator, " inside "))
		about_line(out, t, "allocator", "%s", allocator);
	if (libc_maps && strcmp(libc_maps, INFO_LIBC_MAPS_SEEN) != 0)
		about_line(out, t, "libc's maps", "are seen from outside only: %s", libc_maps);
	words_end(&end, m);
	about_line(out, t, "ran", "%s, %s thread%s%s", human_duration(&a, model_runtime_ns(m)),
		   human_count(&b, threads), threads == 1 ? "" : "s", end.data ? end.data : "");
	text_family(out, t, m);
	if (successor_find(m, &successor)) {
		about_line(out, t, "went on as", "%s, recorded in %s", successor.executable,
			   successor.path);
		successor_release(&successor);
	}
}

/* Culled or stripped: the figures are whole, the single allocations are gone. */
static void text_removed(struct buf *out, const struct term *t, const struct model *m)
{
	uint64_t below = model_info_number(m, INFO_REMOVED_BELOW, 0);
	struct human a, b;

	about_line(out, t, "removed", "%s freed allocations%s%s; the totals include them",
		   human_count(&a, m->totals.allocations - m->recorded.allocations),
		   below ? " that lived no longer than " : "",
		   below ? human_duration(&b, below) : "");
}

static void text_switched(struct buf *out, const struct term *t, const struct model *m)
{
	uint64_t on = model_counters(m, "switched_on"), off = model_counters(m, "switched_off");
	struct human a, b, c;

	if (!words_switched(m))
		return;
	about_line(out, t, "recording", "switched on %s time%s and off %s time%s",
		   human_count(&a, on), on == 1 ? "" : "s", human_count(&b, off),
		   off == 1 ? "" : "s");
	if (m->totals.unknown_frees)
		about_line(out, t, "", "%s block%s of the time before, or in between, freed later",
			   human_count(&c, m->totals.unknown_frees),
			   m->totals.unknown_frees == 1 ? "" : "s");
}

/* What nobody has seen is not said. */
static void text_memory(struct buf *out, const struct term *t, const struct model *m,
			const struct process_memory *p)
{
	struct human a, b;

	if (p->sampled)
		about_line(out, t, "resident", "%s at most when sampled, %s after the start",
			   human_size(&a, p->peak.rss),
			   human_duration(&b, model_ns(m, p->peak.at)));
	if (p->most.mapped)
		about_line(out, t, "mapped",
			   "%s at most, by the program itself, %s after the start",
			   human_size(&a, p->most.mapped),
			   human_duration(&b, model_ns(m, p->most.at)));
}

void about_text_totals(struct buf *out, const struct term *t, const struct model *m,
		       const struct process_memory *memory)
{
	const struct totals *s = &m->totals;
	struct human a, b, c;

	text_switched(out, t, m);
	about_line(out, t, "allocations", "%s of %s altogether, %s of them by realloc",
		   human_count(&a, s->allocations), human_size(&b, s->allocated_bytes),
		   human_count(&c, s->reallocations));
	about_line(out, t, "frees", "%s", human_count(&a, s->deallocations));
	if (s->peak_bytes)
		about_line(out, t, "peak", "%s in %s block%s, %s after the start",
			   human_size(&a, s->peak_bytes), human_count(&b, s->peak_count),
			   s->peak_count == 1 ? "" : "s",
			   human_duration(&c, model_ns(m, s->peak_at)));
	if (memory)
		text_memory(out, t, m, memory);
	about_line(out, t, "leaked", "%s in %s block%s", human_size(&a, s->live_bytes),
		   human_count(&b, s->live_count), s->live_count == 1 ? "" : "s");
	about_line(out, t, "temporary", "%s, %s of all allocations; %s as heaptrack counts",
		   human_count(&a, s->temporary), human_share(&b, s->temporary, s->allocations),
		   human_count(&c, s->heaptrack_temporary));
	if (s->allocations != m->recorded.allocations)
		text_removed(out, t, m);
}

static void warn(struct buf *out, const struct term *t, const char *text)
{
	term_printf(t, out, "  {warning}%-*s{}", NAME_WIDTH, "missing");
	buf_printable(out, text, strlen(text));
	buf_char(out, '\n');
}

struct warning {
	struct buf *out;
	const struct term *t;
};

static void warn_each(void *context, const char *text)
{
	struct warning *w = context;

	warn(w->out, w->t, text);
}

void about_text_loss(struct buf *out, const struct term *t, const struct model *m)
{
	struct warning w = { out, t };

	words_losses(m, warn_each, &w);
}

void about_text_filter(struct buf *out, const struct term *t, const struct view *v)
{
	auto_buf struct buf text = { 0 };
	struct human a, b, c;

	filter_print(v->filter, &text);
	about_line(out, t, "filter", "%s", text.data);
	about_line(out, t, "matching", "%s of %s allocations, %s", human_count(&a, v->count),
		   human_count(&b, v->model->allocations.count), human_size(&c, v->bytes));
}
