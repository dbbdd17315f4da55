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
	bool inside; /* of the object or array that is gone through: another one was before */
	int hint;    /* where its field was found; see stats_find() */
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

/* The next value of an object or array, which is begun with the first; false at its end, if it is
 * something else, which is passed over, and if something is wrong. */
static bool next_value(struct parser *p, struct key *k, char open, char close)
{
	char c = peek(p);

	if (p->status != FINE)
		return false;
	if (!k->inside && c != open) {
		skip_value(p);
		return false;
	}
	if (!k->inside) {
		p->at++;
		c = peek(p);
	}
	if (c == close) {
		p->at++;
		return false;
	}
	if (!c || (k->inside && !expect(p, ',', "a comma or the end was expected")))
		return false;
	k->inside = true;
	return true;
}

/* For each value of an array, whose key is `k`. */
#define EACH_ELEMENT(p, k) for (struct key k = { 0 }; next_value(p, &k, '[', ']');)

static bool next_key(struct parser *p, struct key *k)
{
	return next_value(p, k, '{', '}') && string(p, k) && expect(p, ':', "a colon was expected");
}

/* For each member of an object: the statement behind it reads the value of key `k`. */
#define EACH_KEY(p, k) for (struct key k = { .hint = -1 }; next_key(p, &k);)

/* A value of a key that `fields` may have; the first of several counts. */
static void field(struct parser *p, const struct stats_field *fields, struct key *k,
		  uint64_t *values)
{
	int f = stats_find(fields, false, k->text, k->size, k->hint);

	if (f >= 0)
		k->hint = f;
	if (f >= 0 && values[f] == STATS_NONE) {
		number(p, &values[f]);
		return;
	}
	p->s->duplicates += f >= 0;
	skip_value(p);
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
	EACH_KEY(p, k)
		field(p, stats_mutex_fields, &k, values);
	mend_mutex(p, values);
}

static void read_mutexes(struct parser *p, struct stats_mutexes *m)
{
	EACH_KEY(p, k)
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
	size_t count = 0;

	EACH_ELEMENT(p, element) {
		uint64_t *row;

		count++;
		if (peek(p) != '{') {
			skip_value(p);
			continue;
		}
		row = stats_add_row(rows);
		EACH_KEY(p, k) {
			if (fields == stats_bin_fields && key_is(k, "mutex"))
				read_mutex(p, row);
			else
				field(p, fields, &k, row);
		}
		if (sparse && is_unused(row, rows->width))
			rows->count--;
		else if (first != STATS_NONE)
			row[index_field] = first + count - 1;
	}
	return count;
}

static void read_shape(struct parser *p)
{
	struct stats *s = p->s;

	EACH_KEY(p, k) {
		if (key_is(k, "bin"))
			read_rows(p, &s->bin_shapes, stats_bin_fields, STATS_BIN_INDEX, 0, false);
		else if (key_is(k, "lextent") || key_is(k, "lrun") || key_is(k, "hchunk"))
			read_rows(p, &s->large_shapes, stats_large_fields, STATS_LARGE_INDEX,
				  STATS_NONE, false);
		else
			field(p, stats_shape_fields, &k, s->shape);
	}
}

static void read_settings(struct parser *p, const char *prefix)
{
	EACH_KEY(p, k) {
		char c = peek(p);
		struct key v;

		if (c == '{' || c == '[')
			skip_value(p);
		else if ((c == '"' ? string(p, &v) : word(p, &v)) &&
			 !stats_add_setting(p->s, prefix, k.text, k.size, v.text, v.size))
			p->s->duplicates++;
	}
}

static void read_totals(struct parser *p, bool outermost)
{
	EACH_KEY(p, k) {
		if (outermost && key_is(k, "background_thread"))
			read_totals(p, false);
		else if (key_is(k, "mutexes"))
			read_mutexes(p, &p->s->mutexes);
		else
			field(p, stats_total_fields, &k, p->s->total);
	}
}

/* Which of `count` fields has a name that is this key behind `prefix` letters; `count`: none. */
static unsigned field_behind(const struct stats_field *fields, unsigned count, size_t prefix,
			     struct key k)
{
	unsigned f = 0;

	while (f < count && !key_is(k, fields[f].name + prefix))
		f++;
	return f;
}

/* small{allocated …} as small_allocated …: the fields from `first` on, by their names in text. */
static void read_calls(struct parser *p, struct stats_arena *a, unsigned first, size_t prefix)
{
	EACH_KEY(p, k) {
		unsigned f = field_behind(&stats_arena_fields[first], STATS_CALLS_COUNT, prefix, k);

		if (f < STATS_CALLS_COUNT)
			number(p, &a->value[first + f]);
		else
			skip_value(p);
	}
}

static void read_old_metadata(struct parser *p, struct stats_arena *a)
{
	EACH_KEY(p, k) {
		if (key_is(k, "mapped"))
			number(p, &a->value[STATS_ARENA_METADATA_MAPPED]);
		else if (key_is(k, "allocated"))
			number(p, &a->value[STATS_ARENA_METADATA_ALLOCATED]);
		else
			skip_value(p);
	}
}

/* full_slabs{npageslabs_huge …} as full_npageslabs_huge …: the fields from `first` on. */
static void read_slabs(struct parser *p, struct stats_arena *a, unsigned first, size_t prefix)
{
	EACH_KEY(p, k) {
		unsigned f = field_behind(&stats_hpa_fields[first], STATS_SLABS_COUNT, prefix, k);
		bool is_new = f < STATS_SLABS_COUNT && a->hpa[first + f] == STATS_NONE;

		if (is_new)
			number(p, &a->hpa[first + f]);
		else
			skip_value(p);
		p->s->duplicates += f < STATS_SLABS_COUNT && !is_new;
	}
}

static void read_hpa(struct parser *p, struct stats_arena *a)
{
	EACH_KEY(p, k) {
		if (key_is(k, "full_slabs"))
			read_slabs(p, a, STATS_HPA_FULL_NPAGESLABS_HUGE, 5);
		else if (key_is(k, "empty_slabs"))
			read_slabs(p, a, STATS_HPA_EMPTY_NPAGESLABS_HUGE, 6);
		else if (key_is(k, "nonfull_slabs"))
			read_rows(p, &a->slabs, stats_slab_fields, STATS_SLAB_INDEX, 0, true);
		else if (key_is(k, "sec_bytes"))
			number(p, &a->value[STATS_ARENA_SEC_BYTES]);
		else
			field(p, stats_hpa_fields, &k, a->hpa);
	}
}

static void read_arena(struct parser *p, int64_t id)
{
	struct stats_arena *a = stats_add_arena(p->s, id);
	uint64_t first = p->s->bin_shapes.count ? p->s->bin_shapes.count : STATS_NONE;
	size_t lruns = 0;

	EACH_KEY(p, k) {
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
		else
			field(p, stats_arena_fields, &k, a->value);
	}
	if (id < 0) /* -1 there says that there is no such value */
		a->value[STATS_ARENA_DIRTY_DECAY_MS] = a->value[STATS_ARENA_MUZZY_DECAY_MS] =
			STATS_NONE;
}

static void read_arenas(struct parser *p)
{
	EACH_KEY(p, k) {
		int64_t id = 0;

		if (key_is(k, "merged")) {
			id = STATS_MERGED;
		} else if (key_is(k, "destroyed")) {
			id = STATS_DESTROYED;
		} else if (k.size && k.size < 10 && *k.text >= '0' && *k.text <= '9') {
			for (size_t i = 0; i < k.size; i++)
				id = id * 10 + (k.text[i] & 15);
		} else {
			skip_value(p);
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
	EACH_KEY(p, k) {
		struct key v;

		if (key_is(k, "version") && string(p, &v)) {
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
		} else {
			skip_value(p);
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
	    expect(&p, ':', "a colon was expected") &&
	    (peek(&p) == '{' || broken(&p, "an object was expected")))
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
