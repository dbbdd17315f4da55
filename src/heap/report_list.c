/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sources with what their lines hold: each function that the pattern knows, whole, with its own and
 * the cumulative amount before each line.
 *
 * A routine is a function in a source file, inlined or not.  Its lines are those that frames of the
 * dump are at; where it begins and ends is what the line tables of the code around them say.  A
 * line that is in a stack twice counts once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/map.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/code.h"
#include "heap/report.h"

#define AROUND 5 /* lines before and behind */

struct row {
	uint32_t line;
	struct dump_amounts flat, cum;
	size_t seen; /* in this sample, plus one */
};

struct routine {
	uint32_t function, file; /* of the locations' texts */
	struct dump_amounts flat, cum;
	size_t seen;
	struct row *rows;
	size_t count, room;
	struct map by_line;
	uint32_t first, last; /* lines that it has */
};

struct list {
	const struct profile *p;
	const struct heap_report_options *o;
	struct sink *out;
	struct json json;
	struct sources *sources; /* NULL: none are read */
	struct routine *routines;
	size_t count, room;
	struct map by_name; /* function << 32 | file, to routine */
};

static const char *text(const struct list *l, uint32_t id)
{
	return strings_at(&l->p->locations.texts, id);
}

static struct routine *routine_of(const struct list *l, const struct heap_location_frame *f)
{
	uint64_t at;

	return map_get(&l->by_name, (uint64_t)f->function << 32 | f->file, &at) ? &l->routines[at]
										: NULL;
}

static struct row *row_of(struct routine *r, uint32_t line)
{
	uint64_t at;

	if (map_number(&r->by_line, line, &at))
		*xpush(r->rows, r->count, r->room) = (struct row){ .line = line };
	return &r->rows[at];
}

static void extend(struct routine *r, uint32_t line)
{
	if (!line)
		return;
	if (!r->first || line < r->first)
		r->first = line;
	r->last = MAX(r->last, line);
}

/* The routines that the pattern knows any frame of. */
static int find_routines(struct list *l, struct err *err)
{
	const struct heap_locations *locations = &l->p->locations;

	for (size_t i = 0; i < locations->count; i++) {
		const struct heap_location *location = &locations->locations[i];

		for (size_t k = location->frame; k < location->frame + location->frame_count; k++) {
			const struct heap_location_frame *f = &locations->frames[k];
			int known;

			if (!f->function || routine_of(l, f))
				continue;
			known = profile_knows(l->p, l->o->about, location, f, err);
			if (known < 0)
				return known;
			if (!known)
				continue;
			map_set(&l->by_name, (uint64_t)f->function << 32 | f->file, l->count);
			*xpush(l->routines, l->count, l->room) =
				(struct routine){ .function = f->function, .file = f->file };
		}
	}
	return 0;
}

static void add_sample(struct list *l, const struct profile_walk *w, size_t sample)
{
	for (size_t k = 0; k < w->count; k++) {
		const struct heap_location_frame *f = &l->p->locations.frames[w->frames[k]];
		struct routine *r = routine_of(l, f);
		struct row *row;

		if (!r)
			continue;
		row = row_of(r, f->line);
		extend(r, f->line);
		if (!k) {
			dump_amounts_add(&r->flat, &w->amounts, 1);
			dump_amounts_add(&row->flat, &w->amounts, 1);
		}
		if (row->seen != sample + 1)
			dump_amounts_add(&row->cum, &w->amounts, 1);
		if (r->seen != sample + 1)
			dump_amounts_add(&r->cum, &w->amounts, 1);
		row->seen = r->seen = sample + 1;
	}
}

static void add_samples(struct list *l)
{
	auto_release(profile_walk_release) struct profile_walk w = { 0 };

	for (size_t i = 0; i < l->p->sample_count; i++)
		if (profile_walk(l->p, i, &w))
			add_sample(l, &w, i);
}

/* Lines that a routine has besides those of the dump: all of the code that is around its frames. */
static void find_extents(struct list *l)
{
	const struct heap_locations *locations = &l->p->locations;
	struct code *code = code_new(l->p);
	auto_release(strings_release) struct strings names = { 0 };
	auto_release(map_release) struct map routines = { 0 };

	strings_init(&names);
	for (size_t i = 0; i < l->count; i++) {
		auto_free char *name = xasprintf("%s\n%s", text(l, l->routines[i].function),
						 text(l, l->routines[i].file));

		map_set(&routines, strings_add(&names, name), i);
	}
	for (size_t i = 0; i < locations->count; i++) {
		const struct heap_location *location = &locations->locations[i];
		bool wanted = false;

		for (size_t k = location->frame; k < location->frame + location->frame_count; k++)
			wanted |= routine_of(l, &locations->frames[k]) != NULL;
		if (wanted)
			code_function_of(code, location);
	}
	for (size_t i = 0; i < code_function_count(code); i++) {
		struct symbols_steps steps;

		code_steps(code, i, &steps);
		for (size_t n = 0; n < steps.count; n++) {
			struct symbol s;

			code_resolve(code, code_function(code, i)->module, steps.rows[n], &s);
			for (unsigned k = 0; k < s.count; k++) {
				const struct symbol_frame *f = &s.frames[k];
				auto_free char *name =
					xasprintf("%s\n%s", f->function ? f->function : "",
						  f->file ? f->file : "");
				uint64_t at;

				if (map_get(&routines, strings_add(&names, name), &at))
					extend(&l->routines[at], f->line);
			}
			symbol_release(&s);
		}
		free(steps.rows);
	}
	code_free(code);
}

ORDER(by_line, struct row, RISING(line))

ORDER_WITH(by_amount, struct routine, struct list,
	   COMPARE(heap_amount(&y->cum, context->o->measure),
		   heap_amount(&x->cum, context->o->measure))
		   ?: strcmp(text(context, x->function), text(context, y->function))
		   ?: strcmp(text(context, x->file), text(context, y->file)))

static const struct source *source_of(const struct list *l, const struct routine *r)
{
	const struct source *s =
		l->sources && r->file ? sources_open(l->sources, text(l, r->file)) : NULL;

	return s && s->text ? s : NULL;
}

static void put_line(struct list *l, const struct source *s, uint32_t line, const struct row *row)
{
	static const struct row nothing;
	size_t size = 0;
	const char *source = s ? source_line(s, line, &size) : NULL;

	heap_put_pair(&l->out->buf, row ? &row->flat : &nothing.flat,
		      row ? &row->cum : &nothing.cum, l->o);
	buf_printf(&l->out->buf, " %4" PRIu32 ": ", line);
	if (source)
		heap_put_source(&l->out->buf, source, size);
	buf_char(&l->out->buf, '\n');
}

/* All lines of a source that is there, else those with an amount. */
static void put_lines(struct list *l, const struct routine *r)
{
	const struct source *s = source_of(l, r);
	uint32_t first = r->first > AROUND ? r->first - AROUND : 1;
	size_t at = 0;

	if (!s) {
		buf_printf(&l->out->buf, "(%s)\n",
			   !r->file	? "no debug information says which source this is"
			   : l->sources ? "the source is not there; --source says where it is"
					: "sources are not read here");
		for (; at < r->count; at++)
			if (r->rows[at].line)
				put_line(l, NULL, r->rows[at].line, &r->rows[at]);
		return;
	}
	while (at < r->count && !r->rows[at].line)
		at++;
	for (uint32_t line = first; r->first && line <= r->last + AROUND && line <= s->line_count;
	     line++) {
		const struct row *row = NULL;

		if (line == r->first && line > first)
			buf_text(&l->out->buf, "---\n");
		if (at < r->count && r->rows[at].line == line)
			row = &r->rows[at++];
		put_line(l, s, line, row);
		if (line == r->last && line < s->line_count)
			buf_text(&l->out->buf, "---\n");
	}
}

static void put_text(struct list *l, const struct routine *r)
{
	struct buf *out = &l->out->buf;
	const char *name = text(l, r->function), *file = text(l, r->file);

	buf_text(out, "ROUTINE ====================== ");
	buf_printable(out, name, strlen(name));
	if (*file) {
		buf_text(out, " in ");
		buf_printable(out, file, strlen(file));
	}
	buf_char(out, '\n');
	heap_put_pair(out, &r->flat, &r->cum, l->o);
	buf_printf(out, " Total %s (flat / cumulative)\n", heap_unit(l->o));
	put_lines(l, r);
}

static void put_json(struct list *l, const struct routine *r)
{
	const struct source *s = source_of(l, r);

	json_object(&l->json, NULL);
	json_text(&l->json, "name", text(l, r->function));
	json_text(&l->json, "file", text(l, r->file));
	JSON_MEMBERS(&l->json, r, first, last);
	heap_json_amounts(&l->json, "flat", &r->flat);
	heap_json_amounts(&l->json, "cum", &r->cum);
	JSON_ROWS(&l->json, "lines", i, r->count) {
		const struct row *row = &r->rows[i];
		size_t size;
		const char *source = s ? source_line(s, row->line, &size) : NULL;

		json_number(&l->json, "line", row->line);
		if (source)
			json_bytes(&l->json, "source", source, size);
		heap_json_amounts(&l->json, "flat", &row->flat);
		heap_json_amounts(&l->json, "cum", &row->cum);
	}
	json_end_object(&l->json);
}

static void put_csv(struct list *l, const struct routine *r)
{
	struct buf *out = &l->out->buf;

	for (size_t i = 0; i < r->count; i++) {
		csv_cell(out, text(l, r->function));
		csv_cell(out, text(l, r->file));
		csv_number(out, r->rows[i].line);
		heap_csv_amounts(out, &r->rows[i].flat);
		heap_csv_amounts(out, &r->rows[i].cum);
		csv_end(out);
	}
}

static void put_all(struct list *l)
{
	static void (*const forms[])(struct list *, const struct routine *) = {
		[HEAP_TEXT] = put_text, [HEAP_JSON] = put_json, [HEAP_CSV] = put_csv
	};
	uint64_t shown = 0;

	if (l->o->form == HEAP_JSON)
		heap_json_begin(&l->json, &l->out->buf, l->p, l->o, "routines");
	else if (l->o->form == HEAP_CSV)
		heap_csv_begin(&l->out->buf, "function,file,line");
	for (size_t i = 0; i < l->count && shown < l->o->rows && !sink_turn(l->out); i++) {
		struct routine *r = &l->routines[i];

		if (!r->count) /* in no stack that is wanted */
			continue;
		SORT(r->rows, r->count, by_line);
		forms[l->o->form](l, r);
		shown++;
	}
	if (l->o->form == HEAP_JSON)
		heap_json_end(&l->json);
}

static void release(struct list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->routines[i].rows);
		map_release(&l->routines[i].by_line);
	}
	free(l->routines);
	map_release(&l->by_name);
	sources_free(l->sources);
}

static int write_list(const struct profile *p, const struct heap_report_options *o,
		      struct sink *out, struct err *err)
{
	struct list l = { .p = p, .o = o, .out = out };
	int error = find_routines(&l, err);

	if (!error && !l.count)
		error = err_set(err, -ENOENT, "no function of the dump matches '%s'",
				pattern_text(o->about));
	if (!error) {
		l.sources = o->sources ? sources_new(o->sources) : NULL;
		add_samples(&l);
		find_extents(&l);
		SORT_WITH(l.routines, l.count, by_amount, &l);
		put_all(&l);
	}
	release(&l);
	return error ? error : out->error;
}

const struct heap_report heap_report_list = {
	.name = "list",
	.argument = "REGEX",
	.help = "sources of the functions that match, with what each line holds",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.has_forms = true,
	.write = write_list,
};
