/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dumps added up.  See profile.h. */
#include "heap/profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "heap/profile_filter.h"

/* A stack of locations, as a dump had it. */
struct profile_sample {
	size_t site, site_count;
	struct dump_amounts amounts;
	uint32_t thread; /* of names, or 0 */
	size_t stack;	 /* number of the stack that it is part of */
};

void profile_init(struct profile *p, const struct profile_options *options,
		  const struct heap_locations_options *where)
{
	*p = (struct profile){ .options = *options };
	heap_locations_init(&p->locations, where);
	strings_init(&p->names);
}

void profile_release(struct profile *p)
{
	heap_locations_release(&p->locations);
	strings_release(&p->names);
	free(p->stacks);
	free(p->frames);
	free(p->samples);
	free(p->sites);
	free(p->matches);
	free(p->cut);
	free(p->frame_names);
	free(p->order);
	free(p->origins);
}

/* What a stack of a dump counts for: all of it, or one thread's part. */
static bool amounts_of(const struct profile *p, const struct dump *d, const struct dump_stack *s,
		       struct dump_amounts *ret)
{
	if (p->options.thread == PROFILE_ALL_THREADS) {
		*ret = dump_scale(&s->counts, d->rate);
		return true;
	}
	for (size_t i = s->share; i < s->share + s->share_count; i++)
		if (d->shares[i].thread == p->options.thread) {
			*ret = dump_scale(&d->shares[i].counts, d->rate);
			return true;
		}
	return false;
}

static void add_sample(struct profile *p, const struct profile_sample *s, double sign)
{
	struct profile_sample copy = *s;

	copy.amounts = (struct dump_amounts){ 0 };
	dump_amounts_add(&copy.amounts, &s->amounts, sign);
	*xpush(p->samples, p->sample_count, p->sample_room) = copy;
}

static uint32_t thread_name(struct profile *p, const struct dump *d, uint64_t uid)
{
	auto_free char *number = xasprintf("t%" PRIu64, uid);

	for (size_t i = 0; i < d->thread_count; i++)
		if (d->threads[i].uid == uid && d->threads[i].name)
			return strings_add(&p->locations.texts, d->threads[i].name);
	return strings_add(&p->locations.texts, number);
}

static double part_of(double whole, double part, double sum)
{
	return sum ? whole * (part / sum) : 0;
}

static void round_amounts(struct dump_amounts *a)
{
	a->objects = round(a->objects);
	a->bytes = round(a->bytes);
	a->all_objects = round(a->all_objects);
	a->all_bytes = round(a->all_bytes);
}

/* Threads' estimates do not add up to that of their stack, since each is made of fewer samples: the
 * stack's is the better one, and is divided by theirs.  Whole numbers stay whole: each part is what
 * the parts so far are to be, less what they were. */
static void add_by_thread(struct profile *p, const struct dump *d, const struct dump_stack *s,
			  const struct profile_sample *whole, double sign)
{
	struct dump_amounts sum = { 0 }, so_far = { 0 }, given = { 0 };

	for (size_t i = s->share; i < s->share + s->share_count; i++) {
		struct dump_amounts a = dump_scale(&d->shares[i].counts, d->rate);

		dump_amounts_add(&sum, &a, 1);
	}
	for (size_t i = s->share; i < s->share + s->share_count; i++) {
		struct dump_amounts a = dump_scale(&d->shares[i].counts, d->rate);
		struct profile_sample part = *whole;

		struct dump_amounts wanted;

		part.thread = thread_name(p, d, d->shares[i].thread);
		dump_amounts_add(&so_far, &a, 1);
		wanted = (struct dump_amounts){
			.objects = part_of(whole->amounts.objects, so_far.objects, sum.objects),
			.bytes = part_of(whole->amounts.bytes, so_far.bytes, sum.bytes),
			.all_objects = part_of(whole->amounts.all_objects, so_far.all_objects,
					       sum.all_objects),
			.all_bytes =
				part_of(whole->amounts.all_bytes, so_far.all_bytes, sum.all_bytes),
		};
		if (p->options.whole)
			round_amounts(&wanted);
		part.amounts = wanted;
		dump_amounts_add(&part.amounts, &given, -1);
		given = wanted;
		add_sample(p, &part, sign);
	}
}

/* `known`: of the dump's addresses, which most stacks have in common. */
static uint32_t add_location(struct profile *p, const struct dump *d, struct map *known,
			     uint64_t pc, bool is_return)
{
	uint64_t key = pc << 1 | is_return, at;

	if (pc >> 63) /* the kernel's: has no room in the key */
		return heap_locations_add(&p->locations, d, pc, is_return);
	if (!map_get(known, key, &at)) {
		at = heap_locations_add(&p->locations, d, pc, is_return);
		map_set(known, key, at);
	}
	return (uint32_t)at;
}

void profile_add(struct profile *p, const struct dump *d, double sign)
{
	auto_release(map_release) struct map known = { 0 };

	p->rate = d->rate;
	for (size_t i = 0; i < d->stack_count; i++) {
		const struct dump_stack *s = &d->stacks[i];
		struct profile_sample sample = { .site = p->site_count, .site_count = s->pc_count };

		if (!amounts_of(p, d, s, &sample.amounts))
			continue;
		if (p->options.whole)
			round_amounts(&sample.amounts);
		for (size_t k = 0; k < s->pc_count; k++) {
			p->sites = xgrow(p->sites, p->site_count, &p->site_room, sizeof(*p->sites));
			/* The innermost of a dump is where it was taken, all others return. */
			p->sites[p->site_count++] =
				add_location(p, d, &known, d->pcs[s->pc + k], k > 0);
		}
		if (p->options.by_thread && s->share_count &&
		    p->options.thread == PROFILE_ALL_THREADS)
			add_by_thread(p, d, s, &sample, sign);
		else
			add_sample(p, &sample, sign);
	}
}

static uint64_t sample_hash(const struct profile *p, const struct profile_sample *s)
{
	uint64_t h = s->thread;

	for (size_t i = 0; i < s->site_count; i++)
		h = (h << 5 ^ h >> 59 ^ p->sites[s->site + i]) * 0x9e3779b97f4a7c15ull;
	return h;
}

static bool same_stack(const struct profile *p, const struct profile_sample *a,
		       const struct profile_sample *b)
{
	return a->thread == b->thread && a->site_count == b->site_count &&
	       (!a->site_count ||
		!memcmp(p->sites + a->site, p->sites + b->site, a->site_count * sizeof(*p->sites)));
}

void profile_keep_since(struct profile *p, size_t from)
{
	auto_release(map_release) struct map before = { 0 };
	uint64_t key, at;

	for (size_t i = 0; i < from; i++) {
		for (key = sample_hash(p, &p->samples[i]); map_get(&before, key, &at); key++)
			;
		map_set(&before, key, i);
	}
	for (size_t i = from; i < p->sample_count; i++) {
		struct profile_sample *s = &p->samples[i];

		key = sample_hash(p, s);
		while (map_get(&before, key, &at) && !same_stack(p, s, &p->samples[at]))
			key++;
		if (!map_get(&before, key, &at))
			continue;
		s->amounts.all_objects =
			fmax(s->amounts.all_objects - p->samples[at].amounts.all_objects, 0);
		s->amounts.all_bytes =
			fmax(s->amounts.all_bytes - p->samples[at].amounts.all_bytes, 0);
	}
	p->sample_count -= from;
	if (from)
		memmove(p->samples, p->samples + from, p->sample_count * sizeof(*p->samples));
}

/* Functions that allocate for their caller, whoever made them.  Whole names, or a prefix that only
 * an allocator has: all below such a function is cut, so a program's prof_load() is not one. */
static bool allocates(const char *name)
{
	static const char *const names[] = {
		"malloc",
		"calloc",
		"realloc",
		"memalign",
		"posix_memalign",
		"valloc",
		"aligned_alloc",
		"pvalloc",
		"mallocx",
		"rallocx",
		"xallocx",
		"newImpl",
		"imalloc",
		"ialloc",
		"do_rallocx",
		"fallbackNewImpl",
		"reallocarray",
		"tc_malloc",
		"tc_calloc",
		"tc_realloc",
		"tc_memalign",
		"tc_valloc",
		"tc_pvalloc",
		"tc_new",
		"tc_posix_memalign",
		"tc_newarray",
		"do_malloc",
		"__libc_malloc",
		"__libc_calloc",
		"__libc_realloc",
		"tc_new_nothrow",
		"tc_newarray_nothrow",
	};
	static const char *const beginnings[] = { "operator new", "je_", "_rjem_", "tcmalloc::" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return ANY(i, sizeof(beginnings) / sizeof(*beginnings),
		   !strncmp(name, beginnings[i], strlen(beginnings[i])));
}

/* How many of a location's innermost frames are the allocator's.  All of them if the function that
 * the address is in is an allocator's, which is what jeprof tests; else those that were inlined
 * there: the function that they were inlined into is the program's. */
static uint32_t location_cut(const struct profile *p, const struct heap_location *location)
{
	uint32_t cut = 0;

	if (location->module != HEAP_NO_MODULE && p->locations.modules[location->module].allocator)
		return (uint32_t)location->frame_count;
	for (uint32_t i = 0; i < location->frame_count; i++)
		if (allocates(strings_at(&p->locations.texts,
					 p->locations.frames[location->frame + i].function)))
			cut = i + 1;
	return cut;
}

/* How many of a sample's innermost locations are the allocator's. */
static size_t allocator_locations(const struct profile *p, const struct profile_sample *s)
{
	for (size_t i = s->site_count; i-- > 0;) {
		uint32_t location = p->sites[s->site + i];

		if (p->cut[location] == p->locations.locations[location].frame_count)
			return i + 1;
	}
	return 0;
}

static size_t first_site(const struct profile *p, const struct profile_sample *s)
{
	return p->options.keep_allocator ? 0 : allocator_locations(p, s);
}

/* The first frame that is shown of a sample's location `i`, if first_site() was `from`. */
static size_t first_frame(const struct profile *p, const struct profile_sample *s, size_t i,
			  size_t from)
{
	uint32_t location = p->sites[s->site + i];

	return p->locations.locations[location].frame +
	       (i == from && !p->options.keep_allocator ? p->cut[location] : 0);
}

static uint32_t name_frame(struct profile *p, const struct heap_location *location,
			   const struct heap_location_frame *f)
{
	const char *function = strings_at(&p->locations.texts, f->function);
	const char *file = strings_at(&p->locations.texts, f->file);
	char other[PROFILE_UNNAMED_MAX];
	auto_free char *text = NULL;

	profile_unnamed_text(p, location, other);
	if (!*function)
		function = other;
	switch (p->options.detail) {
	case PROFILE_LINES:
		if (*file)
			text = xasprintf("%s %s:%u", function, file, f->line);
		break;
	case PROFILE_FILES:
		return strings_add(&p->names, *file ? file : function);
	case PROFILE_ADDRESSES:
		if (function != other)
			text = xasprintf("%s %s", other, function);
		break;
	case PROFILE_FUNCTIONS:
		break;
	}
	return strings_add(&p->names, text ? text : function);
}

static uint64_t hash_of(const uint32_t *frames, size_t count)
{
	uint64_t h = count;

	for (size_t i = 0; i < count; i++)
		h = (h << 5 ^ h >> 59 ^ frames[i]) * 0x9e3779b97f4a7c15ull;
	return h;
}

/* Adds a sample to the stack that has the same names; which one that is. */
static size_t merge_sample(struct profile *p, struct map *known, size_t first,
			   const struct dump_amounts *a)
{
	size_t count = p->frame_count - first;
	uint64_t key = hash_of(p->frames + first, count), at;

	for (; map_get(known, key, &at); key++) {
		struct profile_stack *s = &p->stacks[at];

		if (s->frame_count == count &&
		    !memcmp(p->frames + s->frame, p->frames + first, count * sizeof(*p->frames))) {
			dump_amounts_add(&s->amounts, a, 1);
			p->frame_count = first;
			return at;
		}
	}
	map_set(known, key, p->stack_count);
	p->stacks = xgrow(p->stacks, p->stack_count, &p->stack_room, sizeof(*p->stacks));
	p->stacks[p->stack_count] = (struct profile_stack){ first, count, *a, p->stack_count };
	return p->stack_count++;
}

static void note_origin(struct profile *p, uint32_t name, const struct heap_location *location,
			const struct heap_location_frame *f)
{
	struct profile_origin *o;

	if (name >= p->origin_room) {
		size_t room = (size_t)name * 2 + 64;

		p->origins = xreallocarray(p->origins, room, sizeof(*p->origins));
		memset(p->origins + p->origin_room, 0,
		       (room - p->origin_room) * sizeof(*p->origins));
		p->origin_room = room;
	}
	o = &p->origins[name];
	if (!o->module)
		*o = (struct profile_origin){
			.module = location->module == HEAP_NO_MODULE
					  ? ""
					  : p->locations.modules[location->module].path,
			.file = f->file,
			.first = f->line,
		};
	if (f->file != o->file || !f->line)
		return;
	if (!o->first || f->line < o->first)
		o->first = f->line;
	o->last = MAX(o->last, f->line);
}

/* The same frame is in many stacks. */
static uint32_t name_of(struct profile *p, const struct heap_location *location, size_t frame)
{
	uint32_t *name = &p->frame_names[frame];

	if (!*name) {
		*name = name_frame(p, location, &p->locations.frames[frame]);
		note_origin(p, *name, location, &p->locations.frames[frame]);
	}
	return *name;
}

static void name_sample(struct profile *p, const struct profile_sample *s, size_t from)
{
	for (size_t i = from; i < s->site_count; i++) {
		const struct heap_location *location =
			&p->locations.locations[p->sites[s->site + i]];

		if (!profile_location_wanted(p, location))
			continue;
		for (size_t k = first_frame(p, s, i, from);
		     k < location->frame + location->frame_count; k++) {
			*xpush(p->frames, p->frame_count, p->frame_room) = name_of(p, location, k);
		}
	}
}

ORDER(by_bytes, struct profile_stack, FALLING(amounts.bytes) ?: RISING(frame))

bool profile_walk(const struct profile *p, size_t sample, struct profile_walk *w)
{
	const struct profile_sample *s = &p->samples[sample];
	size_t from = first_site(p, s);

	w->count = 0;
	if (profile_stack_of(p, sample) == PROFILE_NO_STACK)
		return false;
	w->amounts = s->amounts;
	w->thread = s->thread ? strings_at(&p->locations.texts, s->thread) : NULL;
	for (size_t i = from; i < s->site_count; i++) {
		const struct heap_location *location =
			&p->locations.locations[p->sites[s->site + i]];

		if (!profile_location_wanted(p, location))
			continue;
		for (size_t k = first_frame(p, s, i, from);
		     k < location->frame + location->frame_count; k++) {
			w->frames = xgrow(w->frames, w->count, &w->frame_room, sizeof(*w->frames));
			w->locations = xgrow(w->locations, w->count, &w->location_room,
					     sizeof(*w->locations));
			w->frames[w->count] = k;
			w->locations[w->count++] = location;
		}
	}
	return w->count || !s->site_count;
}

void profile_walk_release(struct profile_walk *w)
{
	free(w->frames);
	free(w->locations);
	*w = (struct profile_walk){ 0 };
}

size_t profile_stack_of(const struct profile *p, size_t sample)
{
	size_t number = p->samples[sample].stack;

	return number == PROFILE_NO_STACK ? number : p->order[number];
}

const struct dump_amounts *profile_amounts_of(const struct profile *p, size_t sample)
{
	return &p->samples[sample].amounts;
}

/* Where stacks are, now that they have been moved. */
static void note_order(struct profile *p, size_t count)
{
	p->order = xreallocarray(NULL, count + 1, sizeof(*p->order));
	for (size_t i = 0; i < count; i++)
		p->order[i] = PROFILE_NO_STACK;
	for (size_t i = 0; i < p->stack_count; i++)
		p->order[p->stacks[i].number] = i;
}

int profile_finish(struct profile *p, struct err *err)
{
	struct map known = { 0 };
	size_t remaining = 0, made;
	int error;

	heap_locations_resolve(&p->locations);
	error = profile_match(p, err);
	if (error)
		return error;
	p->frame_names = xcalloc(p->locations.frame_count + 1, sizeof(*p->frame_names));
	p->cut = xcalloc(p->locations.count + 1, sizeof(*p->cut));
	for (size_t i = 0; i < p->locations.count; i++)
		p->cut[i] = location_cut(p, &p->locations.locations[i]);
	/* One element even if there is no sample: no pointer below is NULL. */
	p->sites = xgrow(p->sites, p->site_count, &p->site_room, sizeof(*p->sites));
	p->frames = xgrow(p->frames, 0, &p->frame_room, sizeof(*p->frames));
	p->stacks = xgrow(p->stacks, 0, &p->stack_room, sizeof(*p->stacks));
	for (size_t i = 0; i < p->sample_count; i++) {
		struct profile_sample *s = &p->samples[i];
		size_t first = p->frame_count;
		size_t from = first_site(p, s);

		s->stack = PROFILE_NO_STACK;
		if (!profile_sites_wanted(p, p->sites + s->site + from, s->site_count - from))
			continue;
		name_sample(p, s, from);
		/* A stack of which no frame is left is gone. */
		if (p->frame_count > first || !s->site_count)
			s->stack = merge_sample(p, &known, first, &s->amounts);
	}
	map_release(&known);
	made = p->stack_count;
	for (size_t i = 0; i < p->stack_count; i++) {
		struct profile_stack *s = &p->stacks[i];

		if (p->options.drop_negative && heap_amount(&s->amounts, p->options.measure) < 0)
			continue;
		dump_amounts_add(&p->total, &s->amounts, 1);
		p->stacks[remaining++] = *s;
	}
	p->stack_count = remaining;
	SORT(p->stacks, p->stack_count, by_bytes);
	note_order(p, made);
	for (size_t i = 0; i < p->sample_count; i++)
		if (p->samples[i].stack == PROFILE_NO_STACK ||
		    profile_stack_of(p, i) != PROFILE_NO_STACK)
			dump_amounts_add(&p->whole, &p->samples[i].amounts, 1);
	return 0;
}

static const char *frame_name(const struct profile *p, const struct profile_stack *s, size_t frame)
{
	return strings_at(&p->names, p->frames[s->frame + frame]);
}

void profile_put_stack(struct buf *out, const struct profile *p, size_t stack, size_t most)
{
	const struct profile_stack *s = &p->stacks[stack];

	if (!s->frame_count)
		buf_text(out, "(no stack)");
	for (size_t i = 0; i < s->frame_count && i < most; i++) {
		const char *name = frame_name(p, s, i);

		buf_text(out, i ? " ← " : "");
		buf_printable(out, name, strlen(name));
	}
	if (s->frame_count > most)
		buf_text(out, " ← …");
}

void profile_write_frames(struct json *j, const struct profile *p, size_t stack)
{
	const struct profile_stack *s = &p->stacks[stack];

	JSON_EACH(j, "frames", i, s->frame_count)
		json_text(j, NULL, frame_name(p, s, i));
}
