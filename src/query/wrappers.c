/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Wrappers found by shape.  See wrappers.h. */
#include "query/wrappers.h"

#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "model/stats.h"

#define ROUNDS 8      /* wrappers around wrappers */
#define CALLERS_MIN 5 /* that get most of their memory through it */
#define SIZES_MIN 4
/* Blocks that are all as large as that are cut up by who takes them: a pool, of which one size is
 * enough. */
#define POOL_SIZE_MIN 4096
#define POOL_CALLERS_MIN 4
/* A tower: functions that call each other and are called by few, up to the one that many call. */
#define LEVELS 3
#define NARROW_MAX 3
#define INSIDE_FRAMES 3 /* of an allocator or a wrapper, from its name to the allocating call */
#define SITES_MAX 3	/* calls of the allocator inside it */
#define SITES_ANY_CALLERS 24 /* get most through it: then it is one, however it is made */
#define LINES_MAX (1u << 31)
/* One that few call, but that much of the program gets its memory through: the innermost of several
 * wrappers. */
#define STACKS_MIN 20
#define REACH_MIN 12 /* different functions within so many frames outside it */
#define REACH_FRAMES 4
#define STACKS_SHARE 4 /* of all stacks, one in so many */
/* A name with "alloc" or the like in it needs less to be believed, and so does a function without a
 * name that has room for little else than a call. */
#define SMALL_CODE 128 /* bytes */
#define LIKELY_CALLERS_MIN 2
#define LIKELY_SIZES_MIN 2

/* Who is so many functions further out. */
struct level {
	uint32_t callers, faithful; /* different ones; those that get most through the suspect */
};

/* What was seen of a function that may be one. */
struct suspect {
	uint32_t unit;
	struct level levels[LEVELS];
	uint64_t count; /* allocations */
	uint32_t stacks, reach;
	uint64_t apart;	    /* those that have something else between it and the allocator */
	uint64_t inside;    /* those that an allocator or a wrapper called it for */
	uint64_t contained; /* those that a container of the language called it for */
	bool is_runtime;    /* an interpreter's */
	uint64_t min_size;
	uint64_t sizes[SIZES_MIN];
	unsigned size_count;
	uint32_t sites[SITES_MAX + 1];
	unsigned site_count;
};

/* A function and one that calls it. */
struct call_pair {
	uint32_t suspect, caller;
	uint64_t count;
};

/* Calls through so many functions. */
struct level_calls {
	struct map pair_of;
	struct call_pair *pairs;
	size_t pair_count, pair_room;
	/* Unit to allocations that it makes, itself or through that many others at most. */
	struct map count_of;
};

struct wrapper_search {
	struct responsible *r;
	const struct location_function *functions; /* by location */
	struct map suspect_of;			   /* unit to position */
	struct suspect *suspects;
	size_t suspect_count, suspect_room;
	struct level_calls levels[LEVELS];
	struct map reached; /* suspect and unit that is near it outwards */
	uint32_t stacks;    /* whose responsible frame may be a wrapper's */
};

/* As responsible_unit(), but of a function without a name all places are one. */
static uint32_t unit_of(const struct wrapper_search *s, const struct responsible_frame *f)
{
	uint32_t unit = responsible_unit(s->r, f);
	uint32_t location = responsible_unit_location(s->r, unit);

	return location ? unit - location + s->functions[location].first : unit;
}

static struct suspect *suspect_of(struct wrapper_search *s, uint32_t unit)
{
	uint64_t at;

	if (map_number(&s->suspect_of, unit, &at))
		*xpush(s->suspects, s->suspect_count, s->suspect_room) =
			(struct suspect){ .unit = unit, .min_size = UINT64_MAX };
	return &s->suspects[at];
}

static void add_pair(struct level_calls *c, uint32_t suspect, uint32_t caller, uint64_t count)
{
	uint64_t key = (uint64_t)suspect << 32 | caller, at;

	if (map_number(&c->pair_of, key, &at))
		*xpush(c->pairs, c->pair_count, c->pair_room) =
			(struct call_pair){ suspect, caller, 0 };
	c->pairs[at].count += count;
}

/* What a function gets counts for as many functions further out as are looked at. */
static void add_count(struct wrapper_search *s, unsigned level, uint32_t unit, uint64_t count)
{
	for (; level < LEVELS; level++) {
		uint64_t before = 0;

		map_get(&s->levels[level].count_of, unit, &before);
		map_set(&s->levels[level].count_of, unit, before + count);
	}
}

static void add_size(struct suspect *u, uint64_t size)
{
	for (unsigned i = 0; i < u->size_count; i++)
		if (u->sizes[i] == size)
			return;
	if (u->size_count < SIZES_MIN)
		u->sizes[u->size_count++] = size;
}

/* A place in the source, else in the code: what is inlined into many is in many places. */
static void add_site(const struct responsible *r, struct suspect *u,
		     const struct responsible_frame *at)
{
	unsigned count;
	const struct location_frame *f = locations_frames(r->locations, at->location, &count);
	uint32_t line = f[at->index].line, site = line ? line : LINES_MAX + at->location;

	for (unsigned i = 0; i < u->site_count; i++)
		if (u->sites[i] == site)
			return;
	if (u->site_count <= SITES_MAX)
		u->sites[u->site_count++] = site;
}

/* A frame of a stack, on the way outwards. */
struct outward {
	uint32_t node;
	struct responsible_frame at;
};

/* The next frame outwards of another function; false at the end of the stack. */
static bool go_outwards(const struct wrapper_search *s, struct outward *o)
{
	const struct responsible *r = s->r;
	const struct nodes *nodes = &r->model->tables.nodes;
	uint32_t unit = unit_of(s, &o->at);

	o->at.index++;
	for (; node_is_known(nodes, o->node); o->node = nodes->parent[o->node], o->at.index = 0) {
		unsigned count;

		o->at.location = locations_of_node(r->locations, o->node);
		locations_frames(r->locations, o->at.location, &count);
		for (; o->at.index < count; o->at.index++) {
			if (unit_of(s, &o->at) == unit)
				continue;
			o->at.kind = responsible_kind(r, o->at.location, o->at.index);
			return o->at.kind != FRAME_START;
		}
	}
	return false;
}

/* Who called it: functions of the program's own and of others. */
static void add_callers(struct wrapper_search *s, uint32_t suspect, struct outward at,
			uint64_t count)
{
	struct suspect *u = &s->suspects[suspect];
	bool among_suspects = true;

	for (unsigned n = 0; n < LEVELS && go_outwards(s, &at); n++) {
		uint32_t caller = unit_of(s, &at.at);

		if (among_suspects && n < INSIDE_FRAMES &&
		    (at.at.kind == FRAME_ALLOCATOR || at.at.kind == FRAME_WRAPPER)) {
			u->inside += count;
			among_suspects = false;
		}
		among_suspects &= at.at.kind >= FRAME_RUNTIME;
		if (!n && at.at.kind == FRAME_LIBRARY)
			u->contained += count;
		add_count(s, n, caller, count);
		add_pair(&s->levels[n], suspect, caller, count);
	}
}

/* Functions near a suspect, outwards from its frame. */
static void add_reach(struct wrapper_search *s, uint32_t suspect, uint32_t node)
{
	const struct responsible *r = s->r;
	const struct nodes *nodes = &r->model->tables.nodes;
	struct responsible_frame f = { 0 };

	node = nodes->parent[node];
	for (unsigned n = 0; n < REACH_FRAMES && node_is_known(nodes, node);
	     n++, node = nodes->parent[node]) {
		uint64_t key, seen;

		if (s->suspects[suspect].reach >= REACH_MIN)
			return;
		f.location = locations_of_node(r->locations, node);
		key = (uint64_t)suspect << 32 | unit_of(s, &f);
		s->suspects[suspect].reach += map_number(&s->reached, key, &seen);
	}
}

/* Is there nothing but allocator and wrappers between a stack's end and its responsible frame,
 * which is in the node that is returned? */
static uint32_t node_of_responsible(const struct responsible *r, uint32_t stack,
				    const struct responsible_frame *at, bool *ret_direct)
{
	const struct nodes *nodes = &r->model->tables.nodes;
	uint32_t id = stack;

	*ret_direct = true;
	for (;; id = nodes->parent[id]) {
		uint32_t location = locations_of_node(r->locations, id);
		unsigned count;

		locations_frames(r->locations, location, &count);
		if (location == at->location)
			count = at->index;
		for (unsigned i = 0; i < count; i++)
			*ret_direct &= responsible_kind(r, location, i) <= FRAME_WRAPPER;
		if (location == at->location)
			return id;
	}
}

static bool has_word(const struct responsible *r, uint32_t unit, const char *const *words)
{
	const char *name = locations_string(r->locations, responsible_unit_function(r, unit));

	for (; *words; words++)
		if (strcasestr(name, *words))
			return true;
	return false;
}

static bool is_named_so(const struct responsible *r, uint32_t unit)
{
	static const char *const words[] = { "alloc",	"strdup",  "memdup", "dupstr",
					     "savestr", "strsave", NULL };

	return has_word(r, unit, words);
}

/* What has another name may have the beginning of a pool inlined, as LLVM's functions do. */
static bool may_be_pool(const struct responsible *r, uint32_t unit)
{
	static const char *const words[] = { "alloc", "pool",  "slab", "arena",
					     "block", "chunk", NULL };

	return !responsible_unit_function(r, unit) || has_word(r, unit, words);
}

/* What an interpreter calls a function of its own by is not to be lost: it is the best that there
 * is. */
static bool is_suspicious(const struct responsible *r, const struct responsible_frame *at)
{
	uint32_t unit = responsible_unit(r, at);

	if (responsible_is_told(r, at))
		return false;
	return at->kind == FRAME_PROGRAM ||
	       (at->kind == FRAME_RUNTIME &&
		(!responsible_unit_function(r, unit) || is_named_so(r, unit)));
}

static void look_at_stack(struct wrapper_search *s, const struct stack_traffic *row)
{
	struct responsible_frame at;
	struct suspect *u;
	uint32_t unit, node;
	bool direct;

	if (!responsible_find(s->r, row->stack, &at) || !is_suspicious(s->r, &at))
		return;
	unit = unit_of(s, &at);
	u = suspect_of(s, unit);
	node = node_of_responsible(s->r, row->stack, &at, &direct);
	u->is_runtime = at.kind == FRAME_RUNTIME;
	s->stacks++;
	u->stacks++;
	u->count += row->count;
	if (!direct)
		u->apart += row->count;
	if (row->min_size < u->min_size)
		u->min_size = row->min_size;
	add_size(u, row->min_size);
	add_size(u, row->max_size);
	add_site(s->r, u, &at);
	add_count(s, 0, unit, row->count);
	add_reach(s, (uint32_t)(u - s->suspects), node);
	add_callers(s, (uint32_t)(u - s->suspects), (struct outward){ node, at }, row->count);
}

static void count_callers(struct wrapper_search *s, unsigned level)
{
	const struct level_calls *c = &s->levels[level];

	for (size_t i = 0; i < c->pair_count; i++) {
		const struct call_pair *p = &c->pairs[i];
		struct level *to = &s->suspects[p->suspect].levels[level];
		uint64_t all = 0;

		map_get(&c->count_of, p->caller, &all);
		to->callers++;
		to->faithful += p->count * 2 >= all;
	}
}

/* What is asked of the callers of a function. */
struct demand {
	uint32_t least;
	bool faithful; /* that they get most of their memory through it, most of them */
};

/* Many call it, or the few functions that do. */
static bool has_callers(const struct suspect *u, const struct demand *d)
{
	for (unsigned i = 0; i < LEVELS; i++) {
		const struct level *l = &u->levels[i];

		if (!d->faithful && l->callers >= d->least)
			return true;
		if (d->faithful && l->faithful >= d->least && l->faithful * 2 >= l->callers)
			return true;
		if (l->callers > NARROW_MAX)
			return false;
	}
	return false;
}

/* Is it nothing but a part of what calls it: the allocator, a container? */
static bool is_part(const struct suspect *u, bool named)
{
	return u->inside * 20 >= u->count * 19 ||
	       ((named || u->is_runtime) && u->contained * 20 >= u->count * 19);
}

static bool is_small(const struct wrapper_search *s, uint32_t unit)
{
	uint32_t location = responsible_unit_location(s->r, unit);

	return location && s->functions[location].size <= SMALL_CODE;
}

static bool is_wrapper(const struct wrapper_search *s, const struct suspect *u)
{
	bool named = is_named_so(s->r, u->unit);
	bool likely = named || is_small(s, u->unit);
	uint32_t function = responsible_unit_function(s->r, u->unit);
	bool pool = u->min_size >= POOL_SIZE_MIN && may_be_pool(s->r, u->unit);
	const char *name = locations_string(s->r->locations, function);

	if (!strcmp(name, "main") || u->apart * 20 > u->count)
		return false;
	if (is_part(u, named))
		return true;
	if ((u->site_count > SITES_MAX && u->levels[0].faithful < SITES_ANY_CALLERS) ||
	    (!pool && u->size_count < (likely ? LIKELY_SIZES_MIN : SIZES_MIN)))
		return false;
	if (u->stacks >= STACKS_MIN && u->reach >= REACH_MIN &&
	    (uint64_t)u->stacks * STACKS_SHARE >= s->stacks)
		return true;
	if (likely)
		return has_callers(u, &(struct demand){ LIKELY_CALLERS_MIN, false });
	/* Each of those who are served by a pool fills it seldom. */
	return has_callers(u, pool ? &(struct demand){ POOL_CALLERS_MIN, false }
				   : &(struct demand){ CALLERS_MIN, true });
}

/* Every frame of a function that was found, wherever it is. */
static void mark_wrappers(const struct wrapper_search *s, const uint8_t *is)
{
	struct responsible *r = s->r;

	for (uint32_t i = 0; i < locations_count(r->locations); i++) {
		struct responsible_frame f = { .location = i };
		uint32_t first = locations_at(r->locations, i)->first_frame;
		unsigned count;

		locations_frames(r->locations, i, &count);
		for (; f.index < count; f.index++)
			if (is[unit_of(s, &f)] && !responsible_is_told(r, &f))
				r->kinds[first + f.index] = FRAME_WRAPPER;
	}
}

static bool find_more(struct responsible *r, const struct location_function *functions,
		      const struct stack_traffic *rows, size_t count)
{
	struct wrapper_search s = { .r = r, .functions = functions };
	auto_free uint8_t *is = xcalloc(responsible_units(r), 1);
	bool found = false;

	for (size_t i = 0; i < count; i++)
		look_at_stack(&s, &rows[i]);
	for (unsigned i = 0; i < LEVELS; i++)
		count_callers(&s, i);
	for (size_t i = 0; i < s.suspect_count; i++)
		if (is_wrapper(&s, &s.suspects[i])) {
			is[s.suspects[i].unit] = 1;
			found = true;
		}
	if (found)
		mark_wrappers(&s, is);
	map_release(&s.suspect_of);
	map_release(&s.reached);
	for (unsigned i = 0; i < LEVELS; i++) {
		map_release(&s.levels[i].pair_of);
		map_release(&s.levels[i].count_of);
		free(s.levels[i].pairs);
	}
	free(s.suspects);
	return found;
}

void wrappers_find(struct responsible *r, const struct stack_traffic *rows, size_t count)
{
	auto_free struct location_function *functions = locations_functions(r->locations);

	for (unsigned i = 0; i < ROUNDS && find_more(r, functions, rows, count); i++)
		responsible_choose(r);
}
