/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Code with what its instructions hold: each function of the symbol table in which the pattern
 * knows a frame, with its source lines between the instructions.
 *
 * An amount belongs to the call that a stack goes through, so inlined functions count for the
 * function that their code is in.  An instruction that is in a stack twice counts once. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/code.h"
#include "heap/instructions.h"
#include "heap/report.h"

struct row {
	struct instruction in;
	uint64_t address;
	struct dump_amounts flat, cum;
	size_t seen;	     /* in this sample, plus one */
	uint32_t file, line; /* file: of texts */
};

struct routine {
	struct row *rows; /* by address; none if the code cannot be read */
	size_t count, room;
	struct dump_amounts flat, cum;
	size_t seen;
};

struct disasm {
	const struct profile *p;
	const struct heap_report_options *o;
	struct sink *out;
	struct json json;
	struct sources *sources; /* NULL: none are read */
	struct code *code;
	struct strings texts;
	struct routine *routines; /* as the code's functions */
	size_t *function_of;	  /* locations; SIZE_MAX: none */
	uint32_t without;	  /* a module that a wanted location is in and that has no code */
};

static int location_known(const struct disasm *d, const struct heap_location *location,
			  struct err *err)
{
	int known = 0;

	for (size_t k = location->frame; k < location->frame + location->frame_count && !known; k++)
		known = profile_knows(d->p, d->o->about, location, &d->p->locations.frames[k], err);
	return known;
}

/* The function among those that were found that holds a location, or SIZE_MAX. */
static size_t around(const struct disasm *d, const struct heap_location *location)
{
	for (size_t i = 0; i < code_function_count(d->code); i++) {
		const struct code_function *f = code_function(d->code, i);

		if (f->module == location->module && location->address >= f->start &&
		    location->address < f->end)
			return i;
	}
	return SIZE_MAX;
}

/* Functions of all locations that the pattern knows; other locations may be in them, too. */
static int find_routines(struct disasm *d, struct err *err)
{
	const struct heap_locations *locations = &d->p->locations;

	d->function_of = xcalloc(locations->count + 1, sizeof(*d->function_of));
	d->without = HEAP_NO_MODULE;
	for (size_t i = 0; i < locations->count; i++) {
		int known = location_known(d, &locations->locations[i], err);

		if (known < 0)
			return known;
		d->function_of[i] =
			known ? code_function_of(d->code, &locations->locations[i]) : SIZE_MAX;
		if (known && d->function_of[i] == SIZE_MAX)
			d->without = locations->locations[i].module;
	}
	for (size_t i = 0; i < locations->count; i++)
		if (d->function_of[i] == SIZE_MAX)
			d->function_of[i] = around(d, &locations->locations[i]);
	d->routines = xcalloc(code_function_count(d->code) + 1, sizeof(*d->routines));
	return 0;
}

static void read_code(struct disasm *d, size_t function)
{
	const struct code_function *f = code_function(d->code, function);
	struct routine *r = &d->routines[function];
	size_t size;
	const struct instruction_set *set;
	auto_free bool *constant = NULL;
	auto_free uint8_t *bytes = code_bytes(d->code, function, &size, &set, &constant);

	for (size_t at = 0; bytes && at < size; at += r->rows[r->count++].in.size) {
		struct row *row;
		struct symbol s;

		r->rows = xgrow(r->rows, r->count, &r->room, sizeof(*r->rows));
		row = &r->rows[r->count];
		*row = (struct row){ .address = f->start + at };
		if (constant && constant[at])
			instruction_constant(&row->in, bytes + at, constant + at, size - at);
		else
			set->read(&row->in, bytes + at, size - at, row->address);
		code_resolve(d->code, f->module, row->address, &s);
		row->file = strings_add(&d->texts, s.frames[0].file);
		row->line = s.frames[0].line;
		symbol_release(&s);
	}
}

static struct row *row_at(struct routine *r, uint64_t address)
{
	size_t low = FIRST_WHERE(i, r->count, r->rows[i].address > address);

	return low ? &r->rows[low - 1] : NULL;
}

static void add_sample(struct disasm *d, const struct profile_walk *w, size_t sample)
{
	for (size_t k = 0; k < w->count; k++) {
		size_t location = (size_t)(w->locations[k] - d->p->locations.locations);
		size_t function = d->function_of[location];
		struct routine *r;
		struct row *row;

		if (k && w->locations[k] == w->locations[k - 1] &&
		    w->frames[k] > w->frames[k - 1]) /* inlined into the same */
			continue;
		if (function == SIZE_MAX)
			continue;
		r = &d->routines[function];
		row = row_at(r, w->locations[k]->address);
		if (!k) {
			dump_amounts_add(&r->flat, &w->amounts, 1);
			if (row)
				dump_amounts_add(&row->flat, &w->amounts, 1);
		}
		if (row && row->seen != sample + 1) {
			dump_amounts_add(&row->cum, &w->amounts, 1);
			row->seen = sample + 1;
		}
		if (r->seen != sample + 1)
			dump_amounts_add(&r->cum, &w->amounts, 1);
		r->seen = sample + 1;
	}
}

static void add_samples(struct disasm *d)
{
	auto_release(profile_walk_release) struct profile_walk w = { 0 };

	for (size_t i = 0; i < d->p->sample_count; i++)
		if (profile_walk(d->p, i, &w))
			add_sample(d, &w, i);
}

/* "1320 <leaf_small>" behind a jump has its name; what memory is called is not known. */
static void put_instruction(struct disasm *d, uint32_t module, const struct row *row)
{
	struct buf *out = &d->out->buf;

	buf_text(out, row->in.text);
	if (row->in.jumps) {
		auto_free char *name = code_target(d->code, module, row->in.target);

		if (name) {
			buf_text(out, " <");
			buf_printable(out, name, strlen(name));
			buf_char(out, '>');
		}
	} else if (row->in.refers) {
		buf_printf(out, "  # %" PRIx64, row->in.target);
	}
}

/* The line that the next instructions belong to, with their sum. */
static size_t put_source(struct disasm *d, const struct routine *r, size_t from)
{
	const struct row *first = &r->rows[from];
	const char *file = strings_at(&d->texts, first->file), *line = NULL;
	struct dump_amounts flat = { 0 }, cum = { 0 };
	const struct source *s = NULL;
	size_t end = from, size;

	for (;
	     end < r->count && r->rows[end].file == first->file && r->rows[end].line == first->line;
	     end++) {
		dump_amounts_add(&flat, &r->rows[end].flat, 1);
		dump_amounts_add(&cum, &r->rows[end].cum, 1);
	}
	if (*file && d->sources)
		s = sources_open(d->sources, file);
	if (*file && (!from || r->rows[from - 1].file != first->file)) {
		buf_text(&d->out->buf, "-------------------- ");
		buf_printable(&d->out->buf, file, strlen(file));
		buf_text(&d->out->buf,
			 s && !s->text ? " (not there; --source says where)\n" : "\n");
	}
	if (!*file || !first->line)
		return end;
	heap_put_pair(&d->out->buf, &flat, &cum, d->o);
	buf_printf(&d->out->buf, " %5" PRIu32 ": ", first->line);
	if (s)
		line = source_line(s, first->line, &size);
	while (line && size && (*line == ' ' || *line == '\t')) {
		line++;
		size--;
	}
	if (line)
		heap_put_source(&d->out->buf, line, size);
	buf_char(&d->out->buf, '\n');
	return end;
}

static void put_text(struct disasm *d, size_t function)
{
	const struct code_function *f = code_function(d->code, function);
	const struct routine *r = &d->routines[function];
	double total = heap_amount(&d->p->total, d->o->measure);
	struct buf *out = &d->out->buf;

	buf_text(out, "ROUTINE ====================== ");
	buf_printable(out, f->name, strlen(f->name));
	buf_char(out, '\n');
	heap_put_pair(out, &r->flat, &r->cum, d->o);
	buf_printf(out, " %s (flat, cumulative) %.1f%% of total\n", heap_unit(d->o),
		   total ? heap_amount(&r->cum, d->o->measure) * 100 / total : 0);
	if (!r->count)
		buf_text(out, "(its code cannot be read, or is another processor's)\n");
	for (size_t i = 0, end = 0; i < r->count && !sink_turn(d->out); i++) {
		if (i == end)
			end = put_source(d, r, i);
		heap_put_pair(out, &r->rows[i].flat, &r->rows[i].cum, d->o);
		buf_printf(out, " %11" PRIx64 ": ", r->rows[i].address);
		put_instruction(d, f->module, &r->rows[i]);
		buf_char(out, '\n');
	}
}

static void put_json(struct disasm *d, size_t function)
{
	const struct code_function *f = code_function(d->code, function);
	const struct routine *r = &d->routines[function];

	json_object(&d->json, NULL);
	json_text(&d->json, "name", f->name);
	json_text(&d->json, "module", d->p->locations.modules[f->module].path);
	json_number(&d->json, "start", f->start);
	heap_json_amounts(&d->json, "flat", &r->flat);
	heap_json_amounts(&d->json, "cum", &r->cum);
	JSON_ROWS_WHILE(&d->json, "instructions", i, i < r->count && !sink_turn(d->out)) {
		const struct row *row = &r->rows[i];

		json_number(&d->json, "address", row->address);
		json_text(&d->json, "text", row->in.text);
		json_text(&d->json, "file", strings_at(&d->texts, row->file));
		json_number(&d->json, "line", row->line);
		heap_json_amounts(&d->json, "flat", &row->flat);
		heap_json_amounts(&d->json, "cum", &row->cum);
	}
	json_end_object(&d->json);
}

static void put_csv(struct disasm *d, size_t function)
{
	const struct code_function *f = code_function(d->code, function);
	const struct routine *r = &d->routines[function];
	struct buf *out = &d->out->buf;

	for (size_t i = 0; i < r->count && !sink_turn(d->out); i++) {
		const struct row *row = &r->rows[i];

		csv_cell(out, f->name);
		csv_number(out, row->address);
		csv_cell(out, row->in.text);
		csv_cell(out, strings_at(&d->texts, row->file));
		csv_number(out, row->line);
		heap_csv_amounts(out, &row->flat);
		heap_csv_amounts(out, &row->cum);
		csv_end(out);
	}
}

static double cum_of(const struct disasm *d, size_t routine)
{
	return heap_amount(&d->routines[routine].cum, d->o->measure);
}

ORDER_WITH(by_amount, size_t, struct disasm,
	   COMPARE(cum_of(context, *y), cum_of(context, *x)) ?: COMPARE(*x, *y))

static void put_all(struct disasm *d)
{
	size_t functions = code_function_count(d->code), count = 0;
	auto_free size_t *order = xcalloc(functions + 1, sizeof(*order));
	static void (*const forms[])(struct disasm *, size_t) = {
		[HEAP_TEXT] = put_text, [HEAP_JSON] = put_json, [HEAP_CSV] = put_csv
	};

	for (size_t i = 0; i < functions; i++)
		if (d->routines[i].seen) /* in a stack that is wanted */
			order[count++] = i;
	SORT_WITH(order, count, by_amount, d);
	if (d->o->form == HEAP_JSON)
		heap_json_begin(&d->json, &d->out->buf, d->p, d->o, "routines");
	else if (d->o->form == HEAP_CSV)
		heap_csv_begin(&d->out->buf, "function,address,instruction,file,line");
	for (size_t i = 0; i < count && i < d->o->rows && !d->out->error; i++)
		forms[d->o->form](d, order[i]);
	if (d->o->form == HEAP_JSON)
		heap_json_end(&d->json);
}

static int nothing(const struct disasm *d, struct err *err)
{
	if (d->without == HEAP_NO_MODULE)
		return err_set(err, -ENOENT, "no function of the dump matches '%s'",
			       pattern_text(d->o->about));
	return err_set(err, -ENOENT, "the code of what matches '%s' is not there: %s",
		       pattern_text(d->o->about), d->p->locations.modules[d->without].path);
}

static int write_disasm(const struct profile *p, const struct heap_report_options *o,
			struct sink *out, struct err *err)
{
	struct disasm d = { .p = p, .o = o, .out = out, .code = code_new(p) };
	int error = find_routines(&d, err);
	size_t functions = code_function_count(d.code);

	strings_init(&d.texts);
	if (!error && !functions)
		error = nothing(&d, err);
	if (!error) {
		d.sources = o->sources ? sources_new(o->sources) : NULL;
		for (size_t i = 0; i < functions; i++)
			read_code(&d, i);
		add_samples(&d);
		put_all(&d);
	}
	for (size_t i = 0; d.routines && i < functions; i++)
		free(d.routines[i].rows);
	free(d.routines);
	free(d.function_of);
	strings_release(&d.texts);
	sources_free(d.sources);
	code_free(d.code);
	return error ? error : out->error;
}

const struct heap_report heap_report_disasm = {
	.name = "disasm",
	.argument = "REGEX",
	.help = "code of the functions that match, with what each instruction holds",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.has_forms = true,
	.write = write_disasm,
};
