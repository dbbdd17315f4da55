/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The model of a snapshot: names of fields, room for rows, and what follows from the rest. */
#include "jemalloc/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "wire/wide.h"

#define STATS_X(what, name, text, ...) { name, text, { __VA_ARGS__ } },
const struct stats_field stats_total_fields[] = { STATS_TOTALS(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_shape_fields[] = { STATS_SHAPE(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_arena_fields[] = { STATS_ARENA(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_mutex_fields[] = { STATS_MUTEX(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_bin_fields[] = { STATS_BIN(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_large_fields[] = { STATS_LARGE(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_extent_fields[] = { STATS_EXTENT(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_hpa_fields[] = { STATS_HPA(STATS_X){ "", NULL, { NULL } } };
const struct stats_field stats_slab_fields[] = { STATS_SLAB(STATS_X){ "", NULL, { NULL } } };
#undef STATS_X

static void none(uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i] = STATS_NONE;
}

void stats_init(struct stats *s)
{
	memset(s, 0, sizeof(*s));
	s->bin_shapes.width = STATS_BIN_COUNT;
	s->large_shapes.width = STATS_LARGE_COUNT_;
	stats_clear(s);
}

void stats_release(struct stats *s)
{
	for (size_t i = 0; i < s->arena_room; i++) {
		free(s->arenas[i].bins.values);
		free(s->arenas[i].large.values);
		free(s->arenas[i].extents.values);
		free(s->arenas[i].slabs.values);
		free(s->arenas[i].mutexes.list);
	}
	free(s->arenas);
	free(s->bin_shapes.values);
	free(s->large_shapes.values);
	free(s->mutexes.list);
	free(s->settings);
	buf_release(&s->words);
}

void stats_clear(struct stats *s)
{
	*s->version = 0;
	s->release = s->duplicates = s->races = 0;
	s->json = s->mutexes_lost = s->merged_made = false;
	none(s->total, STATS_TOTAL_COUNT);
	none(s->shape, STATS_SHAPE_COUNT);
	s->bin_shapes.count = s->large_shapes.count = s->mutexes.count = 0;
	s->arena_count = s->setting_count = 0;
	buf_clear(&s->words);
}

struct stats_arena *stats_add_arena(struct stats *s, int64_t id)
{
	size_t before = s->arena_room;
	struct stats_arena *a;

	s->arenas = xgrow(s->arenas, s->arena_count, &s->arena_room, sizeof(*s->arenas));
	if (s->arena_room > before)
		memset(s->arenas + before, 0, (s->arena_room - before) * sizeof(*s->arenas));
	a = &s->arenas[s->arena_count++];
	a->id = id;
	none(a->value, STATS_ARENA_COUNT);
	a->bins.width = STATS_BIN_COUNT;
	a->large.width = STATS_LARGE_COUNT_;
	a->extents.width = STATS_EXTENT_COUNT;
	a->slabs.width = STATS_SLAB_COUNT;
	none(a->hpa, STATS_HPA_COUNT);
	a->bins.count = a->large.count = a->extents.count = a->mutexes.count = a->slabs.count = 0;
	return a;
}

uint64_t *stats_add_row(struct stats_rows *r)
{
	uint64_t *row;

	r->values = xgrow(r->values, r->count, &r->room, r->width * sizeof(*r->values));
	row = stats_row(r, r->count++);
	none(row, r->width);
	return row;
}

struct stats_mutex *stats_add_mutex(struct stats_mutexes *m, const char *name, size_t size)
{
	struct stats_mutex *x;

	x = xpush(m->list, m->count, m->room);
	if (size >= sizeof(x->name))
		size = sizeof(x->name) - 1;
	memcpy(x->name, name, size);
	x->name[size] = 0;
	none(x->value, STATS_MUTEX_COUNT);
	return x;
}

bool stats_add_setting(struct stats *s, const char *prefix, const char *name, size_t name_size,
		       const char *value, size_t value_size)
{
	struct stats_setting new = { .name = s->words.size };

	buf_text(&s->words, prefix);
	buf_add(&s->words, name, name_size);
	buf_char(&s->words, 0);
	for (size_t i = 0; i < s->setting_count; i++)
		if (!strcmp(s->words.data + s->settings[i].name, s->words.data + new.name)) {
			s->words.size = new.name;
			return false;
		}
	new.value = s->words.size;
	buf_add(&s->words, value, value_size);
	buf_char(&s->words, 0);
	*xpush(s->settings, s->setting_count, s->setting_room) = new;
	return true;
}

void stats_set_version(struct stats *s, const char *text, size_t size)
{
	unsigned part[3] = { 0 }, n = 0;

	if (size >= sizeof(s->version))
		size = sizeof(s->version) - 1;
	memcpy(s->version, text, size);
	s->version[size] = 0;
	for (const char *p = s->version; n < 3; p++) {
		if (*p >= '0' && *p <= '9' && part[n] < 100)
			part[n] = part[n] * 10 + (unsigned)(*p - '0');
		else if (*p != '.')
			break;
		else
			n++;
	}
	s->release = part[0] * 10000 + part[1] * 100 + part[2];
}

static bool is(const char *name, const char *word, size_t size)
{
	return name && strlen(name) == size && !memcmp(name, word, size);
}

int stats_find(const struct stats_field *fields, bool text, const char *word, size_t size, int hint)
{
	if (*fields[hint + 1].name &&
	    is(text ? fields[hint + 1].text : fields[hint + 1].name, word, size))
		return hint + 1;
	for (int i = 0; *fields[i].name; i++) {
		const struct stats_field *f = &fields[i];

		if (is(text ? f->text : f->name, word, size) || is(f->also[0], word, size) ||
		    is(f->also[1], word, size) || is(f->also[2], word, size))
			return i;
	}
	return -1;
}

const struct stats_arena *stats_arena(const struct stats *s, int64_t id)
{
	return FIND(it, s->arenas, s->arena_count, it->id == id);
}

const struct stats_arena *stats_whole(const struct stats *s)
{
	const struct stats_arena *a = stats_arena(s, STATS_MERGED), *only = NULL;

	for (size_t i = 0; !a && i < s->arena_count; i++) {
		if (s->arenas[i].id >= 0 && only)
			return NULL;
		if (s->arenas[i].id >= 0)
			only = &s->arenas[i];
	}
	return a ? a : only;
}

const char *stats_setting(const struct stats *s, const char *name)
{
	const struct stats_setting *setting =
		FIND(it, s->settings, s->setting_count, !strcmp(s->words.data + it->name, name));

	return setting ? s->words.data + setting->value : NULL;
}

bool stats_setting_is(const struct stats *s, const char *name, const char *value)
{
	const char *found = stats_setting(s, name);

	return found && !strcmp(found, value);
}

bool stats_correction(const struct stats *s, unsigned n, char text[STATS_CORRECTION_MAX])
{
	*text = 0;
	if (n == 0 && s->mutexes_lost)
		snprintf(text, STATS_CORRECTION_MAX,
			 "JSON of this version has mutex counters in the wrong place: waits and "
			 "spins are put right where they can be, owner switches and waiting times "
			 "are unavailable");
	else if (n == 1 && s->json && *s->version && s->duplicates)
		snprintf(text, STATS_CORRECTION_MAX, "%u keys came twice; the first of each counts",
			 s->duplicates);
	else if (n == 2 && s->merged_made)
		snprintf(text, STATS_CORRECTION_MAX,
			 "the sum of the arenas was not printed: merged is made of them");
	else if (n == 3 && s->races)
		snprintf(text, STATS_CORRECTION_MAX,
			 "%u bins have more regions in use than their slabs hold: they changed "
			 "while they were read",
			 s->races);
	return n < 4;
}

uint32_t stats_bin_util(const uint64_t *bin)
{
	uint64_t used = bin[STATS_BIN_CURREGS], regions;

	if (used >= STATS_NONE || bin[STATS_BIN_NREGS] >= STATS_NONE ||
	    bin[STATS_BIN_CURSLABS] >= STATS_NONE)
		return STATS_NO_UTIL;
	regions = bin[STATS_BIN_NREGS] * bin[STATS_BIN_CURSLABS];
	if (used > regions)
		return STATS_RACE;
	return regions ? (uint32_t)wide_scale(used, 1000, regions) : STATS_NO_UTIL;
}

const char *stats_missing(const struct stats *s)
{
	if (!s->arena_count)
		return "no arenas are in it (\"stats.arenas\"): there are only totals";
	if (s->shape[STATS_SHAPE_PAGE] == STATS_NONE)
		return "the general part is missing (it was printed with option g): neither sizes "
		       "of bins nor bytes of pages can be computed";
	if (s->total[STATS_TOTAL_ALLOCATED] == STATS_NONE)
		return "the totals are missing (\"stats\"): there are only arenas";
	return NULL;
}

const char *stats_arena_name(int64_t id, char room[24])
{
	if (id == STATS_MERGED)
		return "merged";
	if (id == STATS_DESTROYED)
		return "destroyed";
	snprintf(room, 24, "%" PRId64, id);
	return room;
}

uint64_t stats_uptime(const struct stats *s)
{
	const struct stats_arena *merged = stats_arena(s, STATS_MERGED);
	uint64_t most = STATS_NONE;

	for (size_t i = 0; i < s->arena_count; i++) {
		uint64_t age = s->arenas[i].value[STATS_ARENA_UPTIME_NS];

		if (s->arenas[i].id >= 0 && age < STATS_NONE && (most == STATS_NONE || age > most))
			most = age;
	}
	return most == STATS_NONE && merged ? merged->value[STATS_ARENA_UPTIME_NS] : most;
}

uint64_t stats_extent_size(uint64_t page, uint64_t index)
{
	uint64_t group = index >> 2, step = (index & 3) + 1;

	if (!group)
		return step * page;
	return group > 60 ? 0 : (page << (group + 1)) + step * (page << (group - 1));
}

/* Only where all of it is known. */
static void product(uint64_t *to, uint64_t a, uint64_t b)
{
	if (*to == STATS_NONE && a != STATS_NONE && b != STATS_NONE)
		*to = a * b;
}

static void complete_classes(struct stats *s, struct stats_arena *a)
{
	uint64_t page = s->shape[STATS_SHAPE_PAGE];

	for (size_t i = 0; i < a->bins.count; i++) {
		uint64_t *b = stats_row(&a->bins, i), index = b[STATS_BIN_INDEX];

		for (unsigned f = 0; index < s->bin_shapes.count && f < STATS_BIN_COUNT; f++)
			if (b[f] == STATS_NONE)
				b[f] = stats_row(&s->bin_shapes, index)[f];
		product(&b[STATS_BIN_ALLOCATED], b[STATS_BIN_CURREGS], b[STATS_BIN_SIZE]);
		if (b[STATS_BIN_CURREGS] == STATS_NONE && b[STATS_BIN_ALLOCATED] != STATS_NONE &&
		    b[STATS_BIN_SIZE] != STATS_NONE && b[STATS_BIN_SIZE])
			b[STATS_BIN_CURREGS] = b[STATS_BIN_ALLOCATED] / b[STATS_BIN_SIZE];
		if (b[STATS_BIN_CURREGS] < STATS_NONE && b[STATS_BIN_NREGS] < STATS_NONE &&
		    b[STATS_BIN_CURSLABS] < STATS_NONE &&
		    b[STATS_BIN_CURREGS] > b[STATS_BIN_NREGS] * b[STATS_BIN_CURSLABS])
			s->races++;
	}
	for (size_t i = 0; i < a->large.count; i++) {
		uint64_t *l = stats_row(&a->large, i);
		uint64_t index = l[STATS_LARGE_INDEX] - s->bin_shapes.count;

		if (l[STATS_LARGE_SIZE] == STATS_NONE && index < s->large_shapes.count)
			l[STATS_LARGE_SIZE] = stats_row(&s->large_shapes, index)[STATS_LARGE_SIZE];
		product(&l[STATS_LARGE_ALLOCATED], l[STATS_LARGE_COUNT], l[STATS_LARGE_SIZE]);
	}
	for (size_t i = 0; i < a->extents.count; i++) {
		uint64_t *e = stats_row(&a->extents, i);

		if (e[STATS_EXTENT_SIZE] == STATS_NONE && page != STATS_NONE)
			e[STATS_EXTENT_SIZE] = stats_extent_size(page, e[STATS_EXTENT_INDEX]);
	}
}

static void complete_sums(uint64_t *v)
{
	static const unsigned parts[] = { STATS_ARENA_SMALL_ALLOCATED, STATS_ARENA_LARGE_ALLOCATED,
					  STATS_ARENA_HUGE_ALLOCATED };

	for (unsigned f = 0; f < STATS_CALLS_COUNT; f++) {
		uint64_t *sum = &v[STATS_ARENA_TOTAL_ALLOCATED + f];

		if (*sum != STATS_NONE || v[parts[0] + f] == STATS_NONE)
			continue;
		*sum = 0;
		for (unsigned i = 0; i < 3; i++)
			if (v[parts[i] + f] != STATS_NONE)
				*sum += v[parts[i] + f];
	}
}

void stats_complete(struct stats *s)
{
	uint64_t page = s->shape[STATS_SHAPE_PAGE];

	for (size_t i = 0; i < s->arena_count; i++) {
		uint64_t *v = s->arenas[i].value;

		product(&v[STATS_ARENA_ACTIVE], v[STATS_ARENA_PACTIVE], page);
		if (v[STATS_ARENA_PACTIVE] == STATS_NONE && v[STATS_ARENA_ACTIVE] != STATS_NONE &&
		    page != STATS_NONE && page)
			v[STATS_ARENA_PACTIVE] = v[STATS_ARENA_ACTIVE] / page;
		complete_sums(v);
		complete_classes(s, &s->arenas[i]);
	}
}
