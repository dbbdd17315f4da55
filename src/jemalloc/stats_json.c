/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* JSON of malloc_stats_print(), 4.3 and later.
 *
 * One pass over the bytes, no tree: each object is handed to who knows its keys, and everything
 * else is skipped.  Keys come in the same order every time, so a key is nearly always the one
 * behind the last (stats_find's hint).
 *
 * 5.2.0 to 5.3.0 print a mutex's counters one column too early where rates were put between them:
 * what they call num_spin_acq is the number of waits, total_wait_time is that of spins, and owner
 * switches and waiting times are not printed at all.  That is put right here.  Of builds between
 * releases, and where the version was left out, nobody can tell: what may be wrong is dropped. */
#include <errno.h>
#include <string.h>

#include "base/order.h"
#include "jemalloc/notations.h"

#define DEPTH_MAX 64

enum { FINE, MORE, BROKEN };
enum mutexes { MUTEXES_RIGHT, MUTEXES_SHIFTED, MUTEXES_UNKNOWN };

struct parser {
	const char *at, *end;
	int status;
	const char *wrong;
	struct stats *s;
	enum mutexes mutexes;
};

struct key {
	const char *text;
	size_t size;
};

static bool broken(struct parser *p, const char *why)
{
	if (p->status == FINE) {
		p->status = BROKEN;
		p->wrong = why;
	}
	return false;
}

/* The next byte that is no blank, or 0 at the end. */
static inline char peek(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || (*p->at >= '\t' && *p->at <= '\r')))
		p->at++;
	if (p->at < p->end)
		return *p->at ? *p->at : '?';
	if (p->status == FINE)
		p->status = MORE;
	return 0;
}

static bool expect(struct parser *p, char c, const char *why)
{
	char found = peek(p);

	if (found != c)
		return found ? broken(p, why) : false;
	p->at++;
	return true;
}

/* Escapes are left as they are: no name or value that matters has any. */
static bool string(struct parser *p, struct key *k)
{
	if (!expect(p, '"', "a text was expected"))
		return false;
	for (k->text = p->at; p->at < p->end; p->at++) {
		if (*p->at == '"') {
			k->size = (size_t)(p->at++ - k->text);
			return true;
		}
		if (*p->at == '\n')
			return broken(p, "a line ends inside a text");
		if (*p->at == '\\')
			p->at++;
	}
	p->at = p->end;
	p->status = MORE;
	return false;
}

/* The next key of an object, whose { was read; false at its end, or if something is wrong. */
static bool next_key(struct parser *p, bool *inside, struct key *k)
{
	char c = peek(p);

	if (c == '}') {
		p->at++;
		return false;
	}
	if (*inside && !expect(p, ',', "a comma or a brace was expected"))
		return false;
	*inside = true;
	return string(p, k) && expect(p, ':', "a colon was expected");
}

static bool next_element(struct parser *p, bool *inside)
{
	char c = peek(p);

	if (c == ']') {
		p->at++;
		return false;
	}
	if (*inside && !expect(p, ',', "a comma or a bracket was expected"))
		return false;
	*inside = true;
	return c != 0;
}

static bool key_is(struct key k, const char *name)
{
	return k.size == strlen(name) && !memcmp(k.text, name, k.size);
}

static bool is_value(struct key k)
{
	return k.size && (*k.text == '-' || (*k.text >= '0' && *k.text <= '9') ||
			  key_is(k, "true") || key_is(k, "false") || key_is(k, "null"));
}

/* A number, true or false as it is written. */
static bool word(struct parser *p, struct key *k)
{
	if (!peek(p))
		return false;
	for (k->text = p->at; p->at < p->end; p->at++) {
		char c = *p->at;

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '+' ||
		      c == '.' || c == 'E')) {
			k->size = (size_t)(p->at - k->text);
			if (is_value(*k))
				return true;
			p->at = k->text;
			return broken(p, "a value was expected");
		}
	}
	p->status = MORE;
	return false;
}

static bool skip_value(struct parser *p)
{
	unsigned depth = 0;
	struct key k;

	do {
		switch (peek(p)) {
		case '{':
		case '[':
			if (++depth > DEPTH_MAX)
				return broken(p, "nested too deeply");
			p->at++;
			break;
		case '}':
		case ']':
			if (!depth)
				return broken(p, "a value was expected");
			depth--;
			p->at++;
			break;
		case ',':
		case ':':
			if (!depth)
				return broken(p, "a value was expected");
			p->at++;
			break;
		case '"':
			if (!string(p, &k))
				return false;
			break;
		default:
			if (!word(p, &k))
				return false;
		}
	} while (depth);
	return true;
}

/* Whatever is no number is passed over. */
static bool number(struct parser *p, uint64_t *ret)
{
	const char *at;
	uint64_t value = 0;
	bool minus;

	peek(p);
	at = p->at;
	minus = at < p->end && *at == '-';
	at += minus;
	if (at == p->end || *at < '0' || *at > '9')
		return skip_value(p);
	for (; at < p->end && *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	if (at == p->end) {
		p->status = MORE;
		return false;
	}
	*ret = minus ? -value : value;
	p->at = at;
	return *at == '.' || *at == 'e' || *at == 'E' ? skip_value(p) : true;
}

static bool opens(struct parser *p, char c)
{
	if (peek(p) != c) {
		if (p->status == FINE)
			skip_value(p);
		return false;
	}
	p->at++;
	return true;
}

/* A value of a key that `fields` may have; the first of several counts. */
static bool field(struct parser *p, const struct stats_field *fields, struct key k,
		  uint64_t *values, int *hint)
{
	int f = stats_find(fields, false, k.text, k.size, *hint);

	if (f < 0)
		return skip_value(p);
	*hint = f;
	if (values[f] == STATS_NONE)
		return number(p, &values[f]);
	p->s->duplicates++;
	return skip_value(p);
}

static void mend_mutex(struct parser *p, uint64_t *v)
{
	uint64_t waits = v[STATS_MUTEX_SPIN_ACQ], spins = v[STATS_MUTEX_TOTAL_WAIT];

	if (p->mutexes == MUTEXES_RIGHT)
		return;
	p->s->mutexes_lost = true;
	for (unsigned i = STATS_MUTEX_WAIT; i <= STATS_MUTEX_MAX_WAIT; i++)
		v[i] = STATS_NONE;
	if (p->mutexes == MUTEXES_SHIFTED) {
		v[STATS_MUTEX_WAIT] = waits;
		v[STATS_MUTEX_SPIN_ACQ] = spins;
	}
}

static void read_mutex(struct parser *p, uint64_t *values)
{
	bool inside = false;
	int hint = -1;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k))
		if (!field(p, stats_mutex_fields, k, values, &hint))
			return;
	mend_mutex(p, values);
}

static void read_mutexes(struct parser *p, struct stats_mutexes *m)
{
	bool inside = false;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k))
		read_mutex(p, stats_add_mutex(m, k.text, k.size)->value);
}

static bool is_unused(const uint64_t *row, unsigned width)
{
	return !ANY(i, width, row[i] && row[i] != STATS_NONE);
}

/* An array of objects, one for each size class.  `sparse`: without those that are all zero, as in
 * text.  Returns how many there were. */
static size_t read_rows(struct parser *p, struct stats_rows *rows, const struct stats_field *fields,
			int index_field, uint64_t first, bool sparse)
{
	bool outside = false, inside;
	size_t count = 0;
	struct key k;
	int hint;

	if (!opens(p, '['))
		return 0;
	for (; next_element(p, &outside); count++) {
		uint64_t *row;

		if (!opens(p, '{'))
			continue;
		row = stats_add_row(rows);
		inside = false;
		hint = -1;
		while (next_key(p, &inside, &k)) {
			if (fields == stats_bin_fields && key_is(k, "mutex"))
				read_mutex(p, row);
			else if (!field(p, fields, k, row, &hint))
				return count;
		}
		if (sparse && is_unused(row, rows->width))
			rows->count--;
		else if (first != STATS_NONE)
			row[index_field] = first + count;
	}
	return count;
}

static void read_shape(struct parser *p)
{
	struct stats *s = p->s;
	bool inside = false;
	int hint = -1;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		if (key_is(k, "bin"))
			read_rows(p, &s->bin_shapes, stats_bin_fields, STATS_BIN_INDEX, 0, false);
		else if (key_is(k, "lextent") || key_is(k, "lrun") || key_is(k, "hchunk"))
			read_rows(p, &s->large_shapes, stats_large_fields, STATS_LARGE_INDEX,
				  STATS_NONE, false);
		else if (!field(p, stats_shape_fields, k, s->shape, &hint))
			return;
	}
}

static void read_settings(struct parser *p, const char *prefix)
{
	bool inside = false;
	struct key k, v;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		char c = peek(p);

		if (c == '{' || c == '[') {
			if (!skip_value(p))
				return;
			continue;
		}
		if (!(c == '"' ? string(p, &v) : word(p, &v)))
			return;
		if (!stats_add_setting(p->s, prefix, k.text, k.size, v.text, v.size))
			p->s->duplicates++;
	}
}

static void read_totals(struct parser *p, bool outermost)
{
	bool inside = false;
	int hint = -1;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		if (outermost && key_is(k, "background_thread"))
			read_totals(p, false);
		else if (key_is(k, "mutexes"))
			read_mutexes(p, &p->s->mutexes);
		else if (!field(p, stats_total_fields, k, p->s->total, &hint))
			return;
	}
}

/* small{allocated …} as small_allocated …: the fields from `first` on, by their names in text. */
static void read_calls(struct parser *p, struct stats_arena *a, unsigned first, size_t prefix)
{
	bool inside = false;
	struct key k;
	unsigned f;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		for (f = 0; f < STATS_CALLS_COUNT; f++) {
			const char *name = stats_arena_fields[first + f].name + prefix;

			if (key_is(k, name))
				break;
		}
		if (!(f < STATS_CALLS_COUNT ? number(p, &a->value[first + f]) : skip_value(p)))
			return;
	}
}

static void read_old_metadata(struct parser *p, struct stats_arena *a)
{
	bool inside = false;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		bool fine = key_is(k, "mapped") ? number(p, &a->value[STATS_ARENA_METADATA_MAPPED])
			    : key_is(k, "allocated")
				    ? number(p, &a->value[STATS_ARENA_METADATA_ALLOCATED])
				    : skip_value(p);

		if (!fine)
			return;
	}
}

/* full_slabs{npageslabs_huge …} as full_npageslabs_huge …: the fields from `first` on. */
static void read_slabs(struct parser *p, struct stats_arena *a, unsigned first, size_t prefix)
{
	bool inside = false;
	struct key k;
	unsigned f;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		uint64_t again = STATS_NONE, *to = &again;

		for (f = 0; f < STATS_SLABS_COUNT; f++)
			if (key_is(k, stats_hpa_fields[first + f].name + prefix))
				break;
		if (f < STATS_SLABS_COUNT && a->hpa[first + f] == STATS_NONE)
			to = &a->hpa[first + f];
		else if (f < STATS_SLABS_COUNT)
			p->s->duplicates++;
		if (!(f < STATS_SLABS_COUNT ? number(p, to) : skip_value(p)))
			return;
	}
}

static void read_hpa(struct parser *p, struct stats_arena *a)
{
	bool inside = false;
	int hint = -1;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		if (key_is(k, "full_slabs"))
			read_slabs(p, a, STATS_HPA_FULL_NPAGESLABS_HUGE, 5);
		else if (key_is(k, "empty_slabs"))
			read_slabs(p, a, STATS_HPA_EMPTY_NPAGESLABS_HUGE, 6);
		else if (key_is(k, "nonfull_slabs"))
			read_rows(p, &a->slabs, stats_slab_fields, STATS_SLAB_INDEX, 0, true);
		else if (key_is(k, "sec_bytes"))
			number(p, &a->value[STATS_ARENA_SEC_BYTES]);
		else if (!field(p, stats_hpa_fields, k, a->hpa, &hint))
			return;
	}
}

static void read_arena(struct parser *p, int64_t id)
{
	struct stats_arena *a = stats_add_arena(p->s, id);
	uint64_t first = p->s->bin_shapes.count ? p->s->bin_shapes.count : STATS_NONE;
	size_t lruns = 0;
	bool inside = false;
	int hint = -1;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		if (key_is(k, "small"))
			read_calls(p, a, STATS_ARENA_SMALL_ALLOCATED, 6);
		else if (key_is(k, "large"))
			read_calls(p, a, STATS_ARENA_LARGE_ALLOCATED, 6);
		else if (key_is(k, "huge"))
			read_calls(p, a, STATS_ARENA_HUGE_ALLOCATED, 5);
		else if (key_is(k, "metadata"))
			read_old_metadata(p, a);
		else if (key_is(k, "mutexes"))
			read_mutexes(p, &a->mutexes);
		else if (key_is(k, "bins"))
			read_rows(p, &a->bins, stats_bin_fields, STATS_BIN_INDEX, 0, false);
		else if (key_is(k, "lextents") || key_is(k, "lruns"))
			lruns = read_rows(p, &a->large, stats_large_fields, STATS_LARGE_INDEX,
					  first, true);
		else if (key_is(k, "hchunks"))
			read_rows(p, &a->large, stats_large_fields, STATS_LARGE_INDEX,
				  first == STATS_NONE ? first : first + lruns, true);
		else if (key_is(k, "extents"))
			read_rows(p, &a->extents, stats_extent_fields, STATS_EXTENT_INDEX, 0, true);
		else if (key_is(k, "hpa_shard"))
			read_hpa(p, a);
		else if (!field(p, stats_arena_fields, k, a->value, &hint))
			return;
	}
	if (id < 0) /* -1 there says that there is no such value */
		a->value[STATS_ARENA_DIRTY_DECAY_MS] = a->value[STATS_ARENA_MUZZY_DECAY_MS] =
			STATS_NONE;
}

static void read_arenas(struct parser *p)
{
	bool inside = false;
	struct key k;

	if (!opens(p, '{'))
		return;
	while (next_key(p, &inside, &k)) {
		int64_t id = key_is(k, "merged") ? STATS_MERGED : STATS_DESTROYED;

		if (k.size && k.size < 10 && *k.text >= '0' && *k.text <= '9') {
			id = 0;
			for (size_t i = 0; i < k.size; i++)
				id = id * 10 + (k.text[i] & 15);
		} else if (id == STATS_DESTROYED && !key_is(k, "destroyed")) {
			if (!skip_value(p))
				return;
			continue;
		}
		read_arena(p, id);
	}
}

/* Which counters a version's JSON has in the wrong place. */
static enum mutexes mutexes_of(const struct stats *s)
{
	const char *dash = strchr(s->version, '-');
	bool between = dash && dash[1] && dash[1] != '0';

	if (!s->release)
		return MUTEXES_UNKNOWN;
	if (s->release < 50200)
		return s->release == 50100 && between ? MUTEXES_UNKNOWN : MUTEXES_RIGHT;
	if (s->release > 50300)
		return MUTEXES_RIGHT;
	return s->release == 50300 && between ? MUTEXES_UNKNOWN : MUTEXES_SHIFTED;
}

static void read_document(struct parser *p)
{
	bool inside = false;
	struct key k, v;

	while (next_key(p, &inside, &k)) {
		if (key_is(k, "version")) {
			if (!string(p, &v))
				return;
			stats_set_version(p->s, v.text, v.size);
			p->mutexes = mutexes_of(p->s);
		} else if (key_is(k, "config")) {
			read_settings(p, "config.");
		} else if (key_is(k, "opt")) {
			read_settings(p, "opt.");
		} else if (key_is(k, "prof")) {
			read_settings(p, "prof.");
		} else if (key_is(k, "system")) {
			read_settings(p, "system.");
		} else if (key_is(k, "arenas")) {
			read_shape(p);
		} else if (key_is(k, "stats")) {
			read_totals(p, true);
		} else if (key_is(k, "stats.arenas")) {
			read_arenas(p);
		} else if (!skip_value(p)) {
			return;
		}
	}
}

long stats_read_json(struct stats *s, const char *text, size_t size, struct err *err)
{
	struct parser p = { .at = text, .end = text + size, .s = s, .mutexes = MUTEXES_UNKNOWN };
	struct key k;

	stats_clear(s);
	s->json = true;
	if (expect(&p, '{', "a brace was expected") && string(&p, &k) &&
	    expect(&p, ':', "a colon was expected") && expect(&p, '{', "an object was expected"))
		read_document(&p);
	if (p.status == FINE)
		expect(&p, '}', "the end of the document was expected");
	if (p.status == MORE)
		return 0;
	if (p.status == BROKEN)
		return err_at(err, -EBADMSG, (uint64_t)(p.at - text), "%s", p.wrong);
	if (s->total[STATS_TOTAL_ALLOCATED] == STATS_NONE && !s->arena_count)
		return err_at(err, -EBADMSG, 0,
			      "no statistics in this document: \"stats\" is missing");
	stats_complete(s);
	return p.at - text;
}
