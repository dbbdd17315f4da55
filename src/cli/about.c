/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program, the totals, what was lost.  See about.h. */
#include "cli/about.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/human.h"
#include "base/xalloc.h"
#include "model/words.h"

#define NAME_WIDTH 13

static const struct info_pair *pair_named(const struct model *m, const char *key)
{
	for (size_t i = 0; i < m->tables.info_count; i++)
		if (!strcmp(m->tables.info[i].key, key))
			return &m->tables.info[i];
	return NULL;
}

/* A value that is many words, each with a NUL behind it. */
static void json_words(struct json *j, const struct model *m, const char *key)
{
	const struct info_pair *words = pair_named(m, key);
	const char *end = words ? words->value + words->size : NULL;

	json_array(j, key);
	for (const char *p = words ? words->value : NULL; p < end; p += strlen(p) + 1)
		json_text(j, NULL, p);
	json_end_array(j);
}

static void json_info_number(struct json *j, const struct model *m, const char *key)
{
	if (model_info(m, key))
		json_number(j, key, model_info_number(m, key, 0));
}

/* What it has to do with other recordings. */
static void json_family(struct json *j, const struct model *m)
{
	json_info_number(j, m, "ppid");
	json_text(j, "origin", model_info(m, "origin"));
	if (!model_info(m, "parent_id"))
		return;
	json_info_number(j, m, "parent_pid");
	json_text(j, "parent_id", model_info(m, "parent_id"));
	if (!model_info(m, "forked_at"))
		return;
	json_info_number(j, m, "forked_at");
	json_info_number(j, m, "inherited_blocks");
	json_info_number(j, m, "inherited_bytes");
	json_text(j, "inherited_incomplete", model_info(m, "inherited_incomplete"));
}

void about_json_program(struct json *j, const struct model *m)
{
	uint64_t start = model_start_ns(m);
	char id[2 * sizeof(m->reader.header.id) + 1];

	for (unsigned i = 0; i < sizeof(m->reader.header.id); i++)
		snprintf(id + (size_t)2 * i, 3, "%02x", m->reader.header.id[i]);
	json_text(j, "id", id);
	json_text(j, "executable", model_info(m, "executable"));
	json_words(j, m, "cmdline");
	if (pair_named(m, "environ"))
		json_words(j, m, "environ");
	json_number(j, "pid", model_info_number(m, "pid", 0));
	json_family(j, m);
	json_text(j, "arch", model_info(m, "arch"));
	json_text(j, "hostname", model_info(m, "hostname"));
	json_text(j, "allocator", model_info(m, "allocator"));
	if (model_info(m, "not_hooked"))
		json_text(j, "not_hooked", model_info(m, "not_hooked"));
	json_text(j, "recorded_by", model_info(m, "version"));
	json_text(j, "end_reason", model_info(m, "end_reason"));
	json_info_number(j, m, "exit_status");
	json_info_number(j, m, "exit_signal");
	if (start)
		json_real(j, "start", (double)start / 1e9, 6);
	else
		json_null(j, "start");
	json_number(j, "runtime_ns", model_runtime_ns(m));
	json_number(j, "threads", m->tables.threads.count);
}

void about_json_totals(struct json *j, const struct model *m)
{
	const struct totals *t = &m->totals;
	const char *removed_below = model_info(m, INFO_REMOVED_BELOW);

	json_number(j, "events", t->events);
	json_number(j, "allocations", t->allocations);
	json_number(j, "deallocations", t->deallocations);
	json_number(j, "reallocations", t->reallocations);
	json_number(j, "allocated_bytes", t->allocated_bytes);
	json_number(j, "peak_bytes", t->peak_bytes);
	json_number(j, "peak_count", t->peak_count);
	json_number(j, "peak_at_ns", t->peak_bytes ? model_ns(m, t->peak_at) : 0);
	json_number(j, "leaked_count", t->live_count);
	json_number(j, "leaked_bytes", t->live_bytes);
	json_number(j, "temporary", t->temporary);
	json_number(j, "heaptrack_temporary", t->heaptrack_temporary);
	json_number(j, "unknown_frees", t->unknown_frees);
	json_number(j, "implicit_frees", t->implicit_frees);
	json_number(j, "mended", t->mended);
	json_number(j, "realloc_failures", t->realloc_failures);
	json_number(j, "removed_allocations", t->allocations - m->recorded.allocations);
	if (removed_below && !strcmp(removed_below, REMOVED_BELOW_ALL))
		json_text(j, INFO_REMOVED_BELOW, removed_below);
	else
		json_info_number(j, m, INFO_REMOVED_BELOW);
}

void about_json_loss(struct json *j, const struct model *m)
{
	struct loss loss = model_loss(m);

	json_number(j, "lost_events", model_counters(m, "dropped_"));
	json_bool(j, "truncated", !m->reader.ended || loss.kind != LOSS_NONE);
	json_bool(j, "damaged", loss.kind == LOSS_DAMAGED);
	if (loss.kind == LOSS_NONE) {
		json_null(j, "loss");
		return;
	}
	json_object(j, "loss");
	json_number(j, "offset", loss.err.offset);
	json_text(j, "reason", loss.err.text);
	json_end_object(j);
}

static void name(struct buf *out, const struct term *t, const char *text)
{
	buf_printf(out, "  %s%-*s%s", term_style(t, STYLE_DIM), NAME_WIDTH, text,
		   term_style(t, STYLE_PLAIN));
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
	struct buf line = { 0 };
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
	buf_release(&line);
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
	uint64_t start = model_start_ns(m), pid = model_info_number(m, "pid", 0);
	size_t threads = m->tables.threads.count;
	struct buf end = { 0 };
	struct human a, b;

	about_line(out, t, "program", "%s", executable ? executable : "not known");
	text_command(out, t, m);
	if (start)
		about_line(out, t, "started", "%s, process %" PRIu64 "%s%s",
			   human_time(&a, (int64_t)(start / 1000000000)), pid, host ? " on " : "",
			   host ? host : "");
	if (allocator && strstr(allocator, " inside "))
		about_line(out, t, "allocator", "%s", allocator);
	words_end(&end, m);
	about_line(out, t, "ran", "%s, %s thread%s%s", human_duration(&a, model_runtime_ns(m)),
		   human_count(&b, threads), threads == 1 ? "" : "s", end.data ? end.data : "");
	buf_release(&end);
	text_family(out, t, m);
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

void about_text_totals(struct buf *out, const struct term *t, const struct model *m)
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
	buf_printf(out, "  %s%-*s%s", term_style(t, STYLE_WARNING), NAME_WIDTH, "missing",
		   term_style(t, STYLE_PLAIN));
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
	struct buf text = { 0 };
	struct human a, b, c;

	filter_print(v->filter, &text);
	about_line(out, t, "filter", "%s", text.data);
	about_line(out, t, "matching", "%s of %s allocations, %s", human_count(&a, v->count),
		   human_count(&b, v->model->allocations.count), human_size(&c, v->bytes));
	buf_release(&text);
}
