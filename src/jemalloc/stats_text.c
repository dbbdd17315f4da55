/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text of malloc_stats_print(), 3.x to 5.x.
 *
 * Columns go by the names in a table's header, never by position: each version has its own, and a
 * (#/sec) belongs to the column on its left and is passed over.  So are lines that say nothing
 * here. */
#include <string.h>

#include "jemalloc/notations.h"

#define COLUMNS_MAX 64

enum table {
	TABLE_NONE,
	TABLE_CALLS,
	TABLE_DECAY,
	TABLE_MUTEXES,
	TABLE_BINS,
	TABLE_LARGE,
	TABLE_EXTENTS,
	TABLE_HPA, /* lines, not a table: see hpa_line() */
	TABLE_SLABS
};

struct span {
	const char *at, *end;
};

struct text {
	struct stats *s;
	struct stats_arena *arena; /* NULL before the first */
	enum table table;
	int columns[COLUMNS_MAX]; /* the field of each, -1: none that matters */
	unsigned column_count;
	unsigned hpa_slabs; /* the fields that lines of the huge page allocator are for */
};

/* Columns of the small:, large:, huge: and total: rows, in the order of their fields. */
#define STATS_X(what, name, text) { name, text, { NULL } },
static const struct stats_field calls_fields[] = { STATS_CALLS(STATS_X, ANY,
							       ""){ "", NULL, { NULL } } };
#undef STATS_X

/* The next word of a line; empty at its end. */
static struct span next_word(struct span *line)
{
	struct span w;

	while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r'))
		line->at++;
	w.at = line->at;
	while (line->at < line->end && *line->at != ' ' && *line->at != '\t' && *line->at != '\r')
		line->at++;
	w.end = line->at;
	return w;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool starts(struct span line, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(line.end - line.at) >= n && !memcmp(line.at, with, n);
}

static bool span_is(struct span w, const char *text)
{
	return (size_t)(w.end - w.at) == strlen(text) && starts(w, text);
}

/* The number that a word begins with; false: none. */
static bool number(struct span w, uint64_t *ret)
{
	uint64_t value = 0;
	bool minus = w.at < w.end && *w.at == '-';

	w.at += minus;
	if (w.at == w.end || !is_digit(*w.at))
		return false;
	for (; w.at < w.end && is_digit(*w.at); w.at++)
		value = value * 10 + (uint64_t)(*w.at - '0');
	*ret = minus ? -value : value;
	return true;
}

static void strip(struct span *w, const char *front, const char *back)
{
	while (w->at < w->end && strchr(front, *w->at) && *w->at)
		w->at++;
	while (w->end > w->at && strchr(back, w->end[-1]) && w->end[-1])
		w->end--;
}

/* Sets fields from a header's words; `fields` by their names in text. */
static void header(struct text *t, enum table table, const struct stats_field *fields,
		   struct span line)
{
	int hint = -1;

	t->table = table;
	t->column_count = 0;
	for (struct span w = next_word(&line); w.at < w.end && t->column_count < COLUMNS_MAX;
	     w = next_word(&line)) {
		int f = stats_find(fields, true, w.at, (size_t)(w.end - w.at), hint);

		if (f >= 0)
			hint = f;
		t->columns[t->column_count++] = f;
	}
}

/* As many values as there are columns, or it is no row of this table. */
static void values(const struct text *t, struct span line, uint64_t *row)
{
	for (unsigned i = 0; i < t->column_count; i++) {
		struct span w = next_word(&line);

		if (w.at == w.end)
			return;
		if (t->columns[i] >= 0)
			number(w, &row[t->columns[i]]);
	}
}

/* "Allocated: 1, active: 2, metadata: 3 (n_thp 0)": each number goes by the word before it. */
static void pairs(const struct stats_field *fields, struct span line, uint64_t *to)
{
	struct span before = { line.at, line.at };
	uint64_t value;

	for (struct span w = next_word(&line); w.at < w.end; w = next_word(&line)) {
		if (number(w, &value) && before.at < before.end) {
			int f = stats_find(fields, true, before.at,
					   (size_t)(before.end - before.at), -1);

			if (f >= 0)
				to[f] = value;
		}
		before = w;
		strip(&before, "(", ":,)");
	}
}

/* "Page size: 4096": everything before the colon is the name. */
static bool labelled(const struct stats_field *fields, struct span line, uint64_t *to)
{
	const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
	struct span rest;
	int f;

	if (!colon)
		return false;
	f = stats_find(fields, true, line.at, (size_t)(colon - line.at), -1);
	if (f < 0)
		return false;
	rest = (struct span){ colon + 1, line.end };
	return number(next_word(&rest), &to[f]);
}

/* "  opt.dirty_decay_ms: 10000 (arenas.dirty_decay_ms: 10000)" */
static void setting(struct text *t, struct span line)
{
	struct span name = next_word(&line), value, other;
	int f;

	strip(&name, "", ":");
	value = next_word(&line);
	if (value.at < value.end && *value.at == '"') { /* may have blanks inside */
		const char *quote = memchr(value.at + 1, '"', (size_t)(line.end - value.at - 1));

		value.at++;
		value.end = quote ? quote : line.end;
		line.at = quote ? quote + 1 : line.end;
	}
	if (!stats_add_setting(t->s, "", name.at, (size_t)(name.end - name.at), value.at,
			       (size_t)(value.end - value.at)))
		t->s->duplicates++;
	other = next_word(&line);
	strip(&other, "(", ":");
	f = stats_find(stats_shape_fields, true, other.at, (size_t)(other.end - other.at), -1);
	if (f >= 0)
		number(next_word(&line), &t->s->shape[f]);
}

/* 3.x: "dirty pages: A:D active:dirty, N sweeps, N madvises, N purged" */
static void old_dirty(struct stats_arena *a, struct span line)
{
	struct span w;
	const char *colon;

	line.at += strlen("dirty pages:");
	w = next_word(&line);
	number(w, &a->value[STATS_ARENA_PACTIVE]);
	colon = memchr(w.at, ':', (size_t)(w.end - w.at));
	if (colon)
		number((struct span){ colon + 1, w.end }, &a->value[STATS_ARENA_PDIRTY]);
	next_word(&line);
	number(next_word(&line), &a->value[STATS_ARENA_DIRTY_NPURGE]);
	next_word(&line);
	number(next_word(&line), &a->value[STATS_ARENA_DIRTY_NMADVISE]);
	next_word(&line);
	number(next_word(&line), &a->value[STATS_ARENA_DIRTY_PURGED]);
}

/* 4.1: "purging: dirty: N, sweeps: N, madvises: N, purged: N" */
static void old_purging(struct stats_arena *a, struct span line)
{
	static const unsigned fields[] = { STATS_ARENA_PDIRTY, STATS_ARENA_DIRTY_NPURGE,
					   STATS_ARENA_DIRTY_NMADVISE, STATS_ARENA_DIRTY_PURGED };
	unsigned n = 0;

	for (struct span w = next_word(&line); w.at < w.end && n < 4; w = next_word(&line))
		if (number(w, &a->value[fields[n]]))
			n++;
}

/* "   dirty: 10000  16  4  29  108": time npages sweeps madvises purged.  A long time leaves no
 * blank behind the colon. */
static void decay_row(struct stats_arena *a, struct span line, bool muzzy)
{
	static const unsigned fields[2][5] = {
		{ STATS_ARENA_DIRTY_DECAY_MS, STATS_ARENA_PDIRTY, STATS_ARENA_DIRTY_NPURGE,
		  STATS_ARENA_DIRTY_NMADVISE, STATS_ARENA_DIRTY_PURGED },
		{ STATS_ARENA_MUZZY_DECAY_MS, STATS_ARENA_PMUZZY, STATS_ARENA_MUZZY_NPURGE,
		  STATS_ARENA_MUZZY_NMADVISE, STATS_ARENA_MUZZY_PURGED },
	};

	line.at = memchr(line.at, ':', (size_t)(line.end - line.at));
	line.at++;
	for (unsigned i = 0; i < 5; i++)
		number(next_word(&line), &a->value[fields[muzzy][i]]);
}

/* small:, large:, huge: and total: below allocated nmalloc …; false: no such line. */
static bool calls_row(struct text *t, struct span line, struct span word)
{
	static const struct {
		const char *name;
		unsigned first;
	} rows[] = { { "small:", STATS_ARENA_SMALL_ALLOCATED },
		     { "large:", STATS_ARENA_LARGE_ALLOCATED },
		     { "huge:", STATS_ARENA_HUGE_ALLOCATED },
		     { "total:", STATS_ARENA_TOTAL_ALLOCATED } };

	for (unsigned i = 0; i < 4; i++)
		if (span_is(word, rows[i].name)) {
			values(t, line, &t->arena->value[rows[i].first]);
			return true;
		}
	return false;
}

static bool arena_head(struct text *t, struct span line)
{
	uint64_t id = 0;

	if (starts(line, "Merged arenas stats:"))
		t->arena = stats_add_arena(t->s, STATS_MERGED);
	else if (starts(line, "Destroyed arenas stats:"))
		t->arena = stats_add_arena(t->s, STATS_DESTROYED);
	else if (starts(line, "arenas[") && number((struct span){ line.at + 7, line.end }, &id) &&
		 id < 1000000000)
		t->arena = stats_add_arena(t->s, (int64_t)id);
	else
		return false;
	t->table = TABLE_NONE;
	return true;
}

static void class_row(struct text *t, struct span line)
{
	struct stats_arena *a = t->arena;

	if (t->table == TABLE_BINS)
		values(t, line, stats_add_row(&a->bins));
	else if (t->table == TABLE_LARGE)
		values(t, line, stats_add_row(&a->large));
	else if (t->table == TABLE_EXTENTS)
		values(t, line, stats_add_row(&a->extents));
	else if (t->table == TABLE_SLABS)
		values(t, line, stats_add_row(&a->slabs));
}

/* "  Purges: 1 (0 / sec)", "  In full slabs:", "      nactive: 1 huge, 2 nonhuge" */
static void hpa_line(struct text *t, struct span line)
{
	static const char *const words[] = { "npageslabs:", "nactive:", "ndirty:", "nretained:" };
	struct span rest = line, word = next_word(&rest);
	struct stats_arena *a = t->arena;

	line.at = word.at;
	if (starts(line, "In full slabs:"))
		t->hpa_slabs = STATS_HPA_FULL_NPAGESLABS_HUGE;
	else if (starts(line, "In empty slabs:"))
		t->hpa_slabs = STATS_HPA_EMPTY_NPAGESLABS_HUGE;
	else if (starts(line, "In ")) /* all slabs together, or of some other kind */
		t->hpa_slabs = 0;
	for (unsigned i = 0; i < 4 && t->hpa_slabs; i++)
		if (span_is(word, words[i])) {
			number(next_word(&rest), &a->hpa[t->hpa_slabs + 2 * i]);
			next_word(&rest);
			number(next_word(&rest), &a->hpa[t->hpa_slabs + 2 * i + 1]);
		}
	labelled(stats_hpa_fields, line, a->hpa);
}

static void mutex_row(struct text *t, struct span word, struct span rest)
{
	struct stats_mutexes *m = t->arena ? &t->arena->mutexes : &t->s->mutexes;

	strip(&word, "", ":");
	values(t, rest, stats_add_mutex(m, word.at, (size_t)(word.end - word.at))->value);
}

/* Lines with a blank in front: rows of tables, headers without a name, settings. */
static void indented(struct text *t, struct span line)
{
	struct span rest = line, word = next_word(&rest);

	if (word.at == word.end)
		return;
	if (is_digit(*word.at)) {
		if (t->arena)
			class_row(t, line);
	} else if (span_is(word, "n_lock_ops")) {
		header(t, TABLE_MUTEXES, stats_mutex_fields, line);
	} else if (span_is(word, "allocated")) {
		header(t, TABLE_CALLS, calls_fields, line);
	} else if (span_is(word, "size")) {
		header(t, TABLE_SLABS, stats_slab_fields, line);
	} else if (t->arena && t->table == TABLE_HPA) {
		hpa_line(t, line);
	} else if (t->arena && t->table == TABLE_DECAY &&
		   (starts(word, "dirty:") || starts(word, "muzzy:"))) {
		decay_row(t->arena, line, *word.at == 'm');
	} else if (word.end[-1] == ':' && !t->arena &&
		   memchr(word.at, '.', (size_t)(word.end - word.at))) {
		setting(t, line);
	}
}

static bool has_number(struct span rest)
{
	struct span w = next_word(&rest);

	return w.at < w.end && is_digit(*w.at);
}

static void global_line(struct text *t, struct span line)
{
	struct stats *s = t->s;

	if (starts(line, "Version:")) {
		struct span v = { line.at + strlen("Version:"), line.end };

		strip(&v, " \"", " \"\r");
		stats_set_version(s, v.at, (size_t)(v.end - v.at));
	} else if (starts(line, "Allocated:") || starts(line, "Background threads:") ||
		   starts(line, "Current active ceiling:") || starts(line, "Count of realloc(")) {
		pairs(stats_total_fields, line, s->total);
	} else {
		labelled(stats_shape_fields, line, s->shape);
	}
}

static void arena_line(struct text *t, struct span line, struct span word, struct span rest)
{
	struct stats_arena *a = t->arena;
	bool row = has_number(rest);

	if (span_is(word, "bins:") && !row)
		header(t, TABLE_BINS, stats_bin_fields, rest);
	else if ((span_is(word, "large:") || span_is(word, "huge:")) && !row)
		header(t, TABLE_LARGE, stats_large_fields, rest);
	else if (span_is(word, "extents:") && !row)
		header(t, TABLE_EXTENTS, stats_extent_fields, rest);
	else if (span_is(word, "decaying:"))
		t->table = TABLE_DECAY;
	else if (starts(line, "HPA shard stats:"))
		t->table = TABLE_HPA, t->hpa_slabs = 0;
	else if (starts(line, "dirty pages:"))
		old_dirty(a, line);
	else if (span_is(word, "purging:"))
		old_purging(a, line);
	else if (span_is(word, "metadata:"))
		pairs((const struct stats_field[]){ { "m", "mapped", { NULL } },
						    { "a", "allocated", { NULL } },
						    { "", NULL, { NULL } } },
		      rest, &a->value[STATS_ARENA_METADATA_MAPPED]);
	else if (t->table == TABLE_CALLS && row && calls_row(t, rest, word))
		return;
	else if (!labelled(stats_arena_fields, line, a->value) && t->table == TABLE_MUTEXES && row)
		mutex_row(t, word, rest);
}

static void one_line(struct text *t, struct span line)
{
	struct span rest = line, word;

	if (line.at == line.end)
		return;
	if (*line.at == ' ' || *line.at == '\t') {
		indented(t, line);
		return;
	}
	if (arena_head(t, line))
		return;
	word = next_word(&rest);
	if (t->arena)
		arena_line(t, line, word, rest);
	else if (t->table == TABLE_MUTEXES && has_number(rest))
		mutex_row(t, word, rest);
	else
		global_line(t, line);
}

void stats_read_text(struct stats *s, const char *text, size_t size)
{
	struct text t = { .s = s };
	const char *end = text + size;

	stats_clear(s);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct span line = { text, newline ? newline : end };

		one_line(&t, line);
		text = newline ? newline + 1 : end;
	}
	stats_complete(s);
}
