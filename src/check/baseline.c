/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Baselines, in memory and as text.  See baseline.h. */
#include "check/baseline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/order.h"
#include "base/xalloc.h"

#define MAGIC "# memoir baseline 1"
#define THRESHOLD 1000 /* a part of so many */
#define ROWS_MAX 1000000u

static const char *const kind_words[FIGURE_KINDS] = { "function", "stack" };

void baseline_init(struct baseline *b)
{
	*b = (struct baseline){ 0 };
	strings_init(&b->texts);
}

void baseline_release(struct baseline *b)
{
	strings_release(&b->texts);
	for (unsigned i = 0; i < FIGURE_KINDS; i++) {
		map_release(&b->tables[i].row_of);
		free(b->tables[i].rows);
	}
	*b = (struct baseline){ 0 };
}

static struct baseline_row *row_of(struct baseline *b, enum figure_kind kind, const char *key)
{
	struct baseline_table *t = &b->tables[kind];
	uint32_t id = strings_add(&b->texts, key);
	uint64_t index;

	if (map_number(&t->row_of, id, &index))
		*xpush(t->rows, t->count, t->room) = (struct baseline_row){ .key = id };
	return &t->rows[index];
}

const struct baseline_row *baseline_find(struct baseline *b, enum figure_kind kind, const char *key)
{
	struct baseline_table *t = &b->tables[kind];
	uint64_t index;

	return map_get(&t->row_of, strings_add(&b->texts, key), &index) ? &t->rows[index] : NULL;
}

uint64_t baseline_threshold(const struct baseline *b, enum check_measure m)
{
	return m == CHECK_LEAKS || m == CHECK_LEAKED ? 0 : b->totals[m].high / THRESHOLD;
}

static void widen(struct range *r, uint64_t value, bool first)
{
	if (first || value < r->low)
		r->low = value;
	if (value > r->high)
		r->high = value;
}

static void add_table(struct baseline *b, enum figure_kind kind, const struct run_figures *f)
{
	struct baseline_table *t = &b->tables[kind];
	const struct run_table *from = &f->tables[kind];
	uint32_t known = t->count;
	auto_free bool *seen = xcalloc((size_t)known + 1, 1);

	for (uint32_t i = 0; i < from->count; i++) {
		const struct run_figure *one = &from->rows[i];
		struct baseline_row *to = row_of(b, kind, strings_at(&f->texts, one->key));
		uint32_t row = (uint32_t)(to - t->rows);

		/* A row that is new was nothing in the runs before. */
		for (unsigned m = 0; m < CHECK_MEASURES; m++)
			widen(&to->values[m], one->values[m], !b->runs);
		if (row < known)
			seen[row] = true;
		if (one->heaviest > to->heaviest) {
			to->file = strings_add(&b->texts, strings_at(&f->texts, one->file));
			to->line = one->line;
			to->heaviest = one->heaviest;
		}
	}
	for (uint32_t i = 0; i < known; i++)
		for (unsigned m = 0; !seen[i] && m < CHECK_MEASURES; m++)
			t->rows[i].values[m].low = 0;
}

void baseline_add(struct baseline *b, const struct run_figures *f)
{
	for (unsigned m = 0; m < CHECK_MEASURES; m++)
		widen(&b->totals[m], f->totals[m], !b->runs);
	for (enum figure_kind kind = 0; kind < FIGURE_KINDS; kind++)
		add_table(b, kind, f);
	b->runs++;
}

bool baseline_is_text(const char *text, size_t size)
{
	return size >= strlen(MAGIC) && !memcmp(text, MAGIC, strlen(MAGIC));
}

struct reading {
	struct baseline *b;
	const char *at, *end; /* of the line */
	unsigned line;
	struct err *err;
};

static int say_wrong(const struct reading *r, const char *what)
{
	return err_set(r->err, -EBADMSG, "line %u: %s", r->line, what);
}

static bool read_number(struct reading *r, uint64_t *ret)
{
	const char *begin = r->at;

	for (*ret = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(*r->at - '0'), ret))
			return false;
	return r->at > begin;
}

/* "12" or "12..15" */
static int read_range(struct reading *r, struct range *ret)
{
	if (!read_number(r, &ret->low))
		return say_wrong(r, "a number is expected");
	ret->high = ret->low;
	if (r->end - r->at >= 2 && !memcmp(r->at, "..", 2)) {
		r->at += 2;
		if (!read_number(r, &ret->high) || ret->high < ret->low)
			return say_wrong(r, "behind .. comes a number that is not less");
	}
	return 0;
}

/* A measure's name before `sign`; CHECK_MEASURES if there is none. */
static enum check_measure read_measure(struct reading *r, char sign)
{
	const char *stop = memchr(r->at, sign, (size_t)(r->end - r->at));
	enum check_measure m =
		stop ? check_measure_find(r->at, (size_t)(stop - r->at)) : CHECK_MEASURES;

	if (m < CHECK_MEASURES)
		r->at = stop + 1;
	return m;
}

static int read_row(struct reading *r, enum figure_kind kind)
{
	struct range values[CHECK_MEASURES] = { 0 };
	auto_free char *key = NULL;
	struct baseline_row *row;

	while (r->at < r->end && *r->at == ' ') {
		enum check_measure m;

		r->at++;
		m = read_measure(r, '=');
		if (m == CHECK_MEASURES)
			return say_wrong(r, "there is no such measure");
		if (read_range(r, &values[m]))
			return -EBADMSG;
	}
	if (r->end - r->at < 3 || memcmp(r->at, ": ", 2) != 0)
		return say_wrong(r, "behind the measures come ':' and functions");
	key = xmemdup0(r->at + 2, (size_t)(r->end - r->at) - 2);
	if (baseline_find(r->b, kind, key))
		return say_wrong(r, "these functions were there before");
	if (r->b->tables[kind].count == ROWS_MAX)
		return say_wrong(r, "there are more lines than a baseline has");
	row = row_of(r->b, kind, key);
	memcpy(row->values, values, sizeof(values));
	return 0;
}

/* Moves behind a word that a line begins with, if it does. */
static bool skip_word(struct reading *r, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(r->end - r->at) <= size || memcmp(r->at, word, size) != 0 ||
	    r->at[size] != ' ')
		return false;
	r->at += size;
	return true;
}

static int read_line(struct reading *r)
{
	enum check_measure m;
	uint64_t count;

	if (memchr(r->at, 0, (size_t)(r->end - r->at)))
		return say_wrong(r, "it is no text");
	if (r->at == r->end || *r->at == '#')
		return 0;
	for (enum figure_kind kind = 0; kind < FIGURE_KINDS; kind++)
		if (skip_word(r, kind_words[kind]))
			return read_row(r, kind);
	if (skip_word(r, "runs")) {
		r->at++;
		if (!read_number(r, &count) || !count || count > UINT32_MAX / 2)
			return say_wrong(r, "the number of runs is expected");
		r->b->runs = (uint32_t)count;
	} else {
		m = read_measure(r, ' ');
		if (m == CHECK_MEASURES)
			return say_wrong(r, "it is no measure, function or stack");
		if (read_range(r, &r->b->totals[m]))
			return -EBADMSG;
	}
	return r->at == r->end ? 0 : say_wrong(r, "there is more than one number");
}

int baseline_read(struct baseline *b, const char *text, size_t size, struct err *err)
{
	const char *end = text + size;
	struct reading r = { .b = b, .at = text, .err = err };

	if (!baseline_is_text(text, size))
		return err_set(err, -EBADMSG, "it does not begin with '%s'", MAGIC);
	while (r.at < end) {
		const char *next = memchr(r.at, '\n', (size_t)(end - r.at));

		next = next ? next : end;
		r.line++;
		r.end = next > r.at && next[-1] == '\r' ? next - 1 : next;
		if (read_line(&r))
			return -EBADMSG;
		r.at = next + 1;
	}
	return b->runs ? 0 : err_set(err, -EBADMSG, "the line 'runs' is missing");
}

static void write_range(struct buf *out, const struct range *r)
{
	buf_decimal(out, r->low);
	if (r->high == r->low)
		return;
	buf_text(out, "..");
	buf_decimal(out, r->high);
}

static bool matters(const struct baseline *b, const struct baseline_row *row)
{
	return ANY(m, CHECK_MEASURES,
		   row->values[m].high && row->values[m].high >= baseline_threshold(b, m));
}

struct sorting {
	const struct strings *texts;
	const struct baseline_row *rows;
};

ORDER_WITH(by_text, uint32_t, struct sorting,
	   strcmp(strings_at(context->texts, context->rows[*x].key),
		  strings_at(context->texts, context->rows[*y].key)))

static void write_table(const struct baseline *b, enum figure_kind kind, struct buf *out)
{
	const struct baseline_table *t = &b->tables[kind];
	auto_free uint32_t *order = xcalloc((size_t)t->count + 1, sizeof(*order));
	struct sorting sorting = { &b->texts, t->rows };

	for (uint32_t i = 0; i < t->count; i++)
		order[i] = i;
	SORT_WITH(order, t->count, by_text, &sorting);
	for (uint32_t i = 0; i < t->count; i++) {
		const struct baseline_row *row = &t->rows[order[i]];

		if (!matters(b, row))
			continue;
		buf_text(out, kind_words[kind]);
		for (unsigned m = 0; m < CHECK_MEASURES; m++)
			if (row->values[m].high) {
				buf_printf(out, " %s=", check_measure_rows[m].name);
				write_range(out, &row->values[m]);
			}
		buf_printf(out, ": %s\n", strings_at(&b->texts, row->key));
	}
}

void baseline_write(const struct baseline *b, struct buf *out)
{
	buf_text(out, MAGIC "\n"
			    "# Made by memoir check --update-baseline; docs/ci.md explains it.  "
			    "LOW..HIGH of the runs.\n");
	buf_printf(out, "runs %" PRIu32 "\n", b->runs);
	for (unsigned m = 0; m < CHECK_MEASURES; m++) {
		buf_printf(out, "%s ", check_measure_rows[m].name);
		write_range(out, &b->totals[m]);
		buf_char(out, '\n');
	}
	for (enum figure_kind kind = 0; kind < FIGURE_KINDS; kind++)
		write_table(b, kind, out);
}
