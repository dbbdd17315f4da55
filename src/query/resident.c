/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Terms of resident memory.  See resident.h.
 *
 * Blocks are followed through time by the pages that they cover (cover.h), regions by the samples
 * (seen_regions.h); at a sample, the two are put together.  A page that is resident and that no
 * block was ever in is the allocator's own data, or was rounded up to a huge page; one that had
 * blocks and has none now is free. */
#include "query/resident.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/seen_regions.h"
#include "model/stats.h"
#include "query/allocator.h"
#include "query/cover.h"
#include "query/event_iterator.h"
#include "query/map_owner.h"
#include "query/resident_blocks.h"

#define GLIBC_HEAD 8
#define GLIBC_MMAPPED_HEAD 16
#define HUGE_PAGE (2u << 20)
#define OUR_LIBRARY "libmemoir"

const struct resident_term_row resident_terms[RESIDENT_TERMS] = {
	[RESIDENT_REQUESTED] = { "requested", "asked for", "bytes of live blocks" },
	[RESIDENT_ROUNDING] = { "rounding", "rounding",
				"usable in live blocks, but not asked for" },
	[RESIDENT_FREE_PARTS] = { "free_parts", "free, beside blocks",
				  "in pages of the allocator that have a live block, too" },
	[RESIDENT_FREE_PAGES] = { "free_pages", "free pages",
				  "pages that had blocks, have none, and were not given back" },
	[RESIDENT_HUGE] = { "huge", "huge pages",
			    "never in use; there because the kernel gave a whole huge page" },
	[RESIDENT_ALLOCATOR] = { "allocator", "allocator's data",
				 "heads of blocks, and pages that the allocator writes to itself" },
	[RESIDENT_STACKS] = { "stacks", "stacks", "of the threads" },
	[RESIDENT_CODE] = { "code", "code", "of the program and its libraries, as in the files" },
	[RESIDENT_DATA] = { "data", "data of code",
			    "variables of the program and its libraries, and the loader's memory" },
	[RESIDENT_FILES] = { "files", "files, shared", "mapped files and shared memory" },
	[RESIDENT_ANONYMOUS] = { "anonymous", "own maps", "memory that the program mapped itself" },
	[RESIDENT_MEMOIR] = { "memoir", "Memoir", "what recording takes" },
	[RESIDENT_UNKNOWN] = { "unknown", "unknown", "nobody is known to have mapped it" },
};

struct explaining {
	const struct model *m;
	const struct map_history *maps;
	struct seen_regions seen;
	struct cover cover;
	struct event_iterator events;
	bool event_waits;
	size_t calls; /* map calls that were taken */
	uint64_t live;
	bool glibc, culled;
	uint32_t *alive; /* regions of `maps` at the moment, by address */
	size_t alive_count;
	struct map_owner owner;
	const struct view *view;
	/* Of the moment that is being explained. */
	struct resident_moment *moment;
	struct resident *parts; /* NULL: nobody asks */
	size_t part_room;
	struct resident_runs runs; /* of the allocator's memory; with `parts` only */
};

/* What the allocator keeps in front of a block. */
static unsigned head_of(const struct explaining *e, uint32_t row)
{
	unsigned flags = tags_flags(columns_tags(&e->m->allocations, row));

	if (!e->glibc || flags_are_inside(flags))
		return 0;
	return flags & TAG_MMAPPED ? GLIBC_MMAPPED_HEAD : GLIBC_HEAD;
}

static void take_event(struct explaining *e)
{
	const struct columns *c = &e->m->allocations;
	uint32_t row = e->events.row;
	uint64_t size = columns_size(c, row), slack = columns_slack_of(c, row);
	bool is_end = e->events.is_free;
	unsigned head = head_of(e, row);

	e->live += is_end ? 0 - size : size;
	if (columns_address(c, row) >= REGION_ADDRESS_MAX || size + slack >= REGION_ADDRESS_MAX)
		return;
	cover_block(&e->cover, columns_address(c, row), size, slack, head, is_end);
	/* The pages are gone, too. */
	if (is_end && head == GLIBC_MMAPPED_HEAD)
		cover_forget(&e->cover, columns_address(c, row) - head,
			     columns_address(c, row) + size + slack);
}

/* Blocks, and calls that unmap or give back, up to a stamp. */
static void follow(struct explaining *e, uint64_t to)
{
	const struct map_calls *calls = &e->maps->calls;

	for (;;) {
		uint64_t next;

		if (!e->event_waits)
			e->event_waits = event_iterator_next(&e->events);
		next = e->event_waits ? e->events.at : NEVER;
		for (; e->calls < calls->count && calls->rows[e->calls].at <= MIN(next, to);
		     e->calls++) {
			const struct map_call *call = &calls->rows[e->calls];

			if (map_call_gives_back(call) && call->address < REGION_ADDRESS_MAX &&
			    call->length < REGION_ADDRESS_MAX)
				cover_forget(&e->cover, call->address,
					     call->address + call->length);
		}
		if (next > to)
			return;
		take_event(e);
		e->event_waits = false;
	}
}

static int by_address(const void *x, const void *y, void *context)
{
	const struct map_region *regions = context;
	const struct map_region *a = &regions[*(const uint32_t *)x],
				*b = &regions[*(const uint32_t *)y];

	return COMPARE(a->address, b->address);
}

static void find_alive(struct explaining *e, uint64_t at)
{
	e->alive_count = 0;
	for (uint32_t i = 0; i < e->maps->region_count; i++)
		if (e->maps->regions[i].begun <= at && e->maps->regions[i].ended > at)
			e->alive[e->alive_count++] = i;
	SORT_WITH(e->alive, e->alive_count, by_address, e->maps->regions);
}

/* The call that mapped what is at an address now, or NULL. */
static const struct map_call *call_at(const struct explaining *e, uint64_t address)
{
	const struct map_region *regions = e->maps->regions, *r;
	size_t next = FIRST_WHERE(i, e->alive_count, regions[e->alive[i]].address > address);
	uint32_t call;

	if (!next)
		return NULL;
	r = &regions[e->alive[next - 1]];
	call = e->maps->rows[r->map].call;
	if (address - r->address >= r->length || call == NO_CALL)
		return NULL;
	return &e->maps->calls.rows[call];
}

static const char *name_of(const struct explaining *e, const struct seen_region *r)
{
	return regions_name(e->seen.from, r->found->name);
}

static bool is_code_file(const struct explaining *e, const struct seen_region *r)
{
	return ANY(i, e->seen.count,
		   e->seen.list[i].found->inode == r->found->inode &&
			   e->seen.list[i].found->major == r->found->major &&
			   e->seen.list[i].found->minor == r->found->minor &&
			   e->seen.list[i].found->flags & MAP_CAN_EXECUTE);
}

/* The region just below, without a gap. */
static const struct seen_region *below(const struct explaining *e, const struct seen_region *r)
{
	return r > e->seen.list && r[-1].end == r->start ? r - 1 : NULL;
}

/* Variables that are zero at first follow those of the file. */
static bool is_behind_file(const struct explaining *e, const struct seen_region *r)
{
	const struct seen_region *b = below(e, r);

	return b && b->found->inode && b->found->flags & MAP_CAN_READ &&
	       !(b->found->flags & MAP_IS_SHARED) && is_code_file(e, b);
}

/* libc makes the pages below a thread's stack inaccessible. */
static bool is_behind_guard(const struct explaining *e, const struct seen_region *r)
{
	const struct seen_region *b = below(e, r);
	const unsigned any = MAP_CAN_READ | MAP_CAN_WRITE | MAP_CAN_EXECUTE;

	return b && !b->found->inode && !(b->found->flags & any) && r->found->flags & MAP_CAN_WRITE;
}

static bool is_our_file(const struct explaining *e, const struct seen_region *r)
{
	const char *slash = strrchr(name_of(e, r), '/');

	return r->found->inode && slash && !strncmp(slash + 1, OUR_LIBRARY, strlen(OUR_LIBRARY));
}

static bool is_ours(const struct explaining *e, const struct seen_region *r)
{
	const struct seen_region *b = below(e, r);

	if (r->found->flags & MAP_IS_OWN || is_our_file(e, r))
		return true;
	return b && !r->found->inode && is_our_file(e, b);
}

/* RESIDENT_REQUESTED stands for: the allocator's, to be looked at page by page. */
static enum resident_term classify(const struct explaining *e, const struct seen_region *r,
				   const struct map_call *call)
{
	const char *name = name_of(e, r);

	if (is_ours(e, r))
		return RESIDENT_MEMOIR;
	if (r->found->inode)
		return is_code_file(e, r) ? RESIDENT_CODE : RESIDENT_FILES;
	if (r->found->flags & MAP_IS_SHARED)
		return RESIDENT_FILES;
	if (!strcmp(name, "[stack]") || (call && call->given & MAP_STACK_GIVEN))
		return RESIDENT_STACKS;
	if (!strcmp(name, "[vdso]") || !strncmp(name, "[vvar", 5))
		return RESIDENT_CODE;
	if (!strcmp(name, "[heap]") || (call && map_owner_of(&e->owner, call)) ||
	    cover_ever(&e->cover, r->start, r->end))
		return RESIDENT_REQUESTED;
	if (call)
		return call->flags & MAP_BY_LIBC ? RESIDENT_DATA : RESIDENT_ANONYMOUS;
	if (is_behind_file(e, r))
		return RESIDENT_DATA;
	return is_behind_guard(e, r) ? RESIDENT_STACKS : RESIDENT_UNKNOWN;
}

static void add_term(struct explaining *e, const struct seen_region *r, enum resident_term term,
		     uint64_t bytes, const struct map_call *call)
{
	struct resident_part part = { .term = (uint8_t)term,
				      .kind = RESIDENT_PART_MAP,
				      .name = r->found->name,
				      .address = r->start,
				      .size = r->end - r->start,
				      .maps = 1,
				      .bytes = bytes };

	e->moment->terms[term] += bytes;
	/* Whose blocks they are is looked up for all regions together. */
	if (!bytes || !e->parts || term == RESIDENT_REQUESTED || term == RESIDENT_ROUNDING)
		return;
	if (call) {
		part.stack = call->stack;
		part.call = call->call;
		part.owner = map_owner_of(&e->owner, call);
	}
	if (r->found->inode)
		part.kind = RESIDENT_PART_FILE;
	else if (call && call->stack)
		part.kind = RESIDENT_PART_STACK;
	*xpush(e->parts->parts, e->parts->part_count, e->part_room) = part;
}

/* The allocator's resident pages of one region. */
struct page_sums {
	const struct explaining *e;
	struct resident_runs *runs;		     /* NULL: nobody asks */
	uint64_t live_pages, requested, used, heads; /* pages, and bytes in them */
	uint64_t free_pages, new_pages, huge_pages;
	uint64_t huge_left; /* bytes in huge pages that were not met yet */
};

static void sum_run(void *context, uint64_t start, uint64_t end)
{
	struct page_sums *s = context;

	if (s->runs)
		resident_runs_add(s->runs, start, end);
	for (uint64_t at = start; at < end; at += COVER_PAGE) {
		struct cover_page p = cover_at(&s->e->cover, at);
		uint64_t huge = at & ~(uint64_t)(HUGE_PAGE - 1);

		/* Huge pages are aligned, and resident as a whole. */
		bool is_huge = s->huge_left && huge >= start && huge + HUGE_PAGE <= end;

		if (is_huge && at + COVER_PAGE == huge + HUGE_PAGE)
			s->huge_left -= MIN(s->huge_left, HUGE_PAGE);
		if (p.used || p.heads) {
			s->live_pages++;
			s->requested += p.requested;
			s->used += p.used;
			s->heads += p.heads;
		} else if (p.ever) {
			s->free_pages++;
		} else if (is_huge) {
			s->huge_pages++;
		} else {
			s->new_pages++;
		}
	}
}

/* Nothing is known of single pages: those with blocks are taken to be resident before others. */
static void guess_pages(struct page_sums *s, const struct seen_region *r)
{
	uint64_t left = r->usage.rss / COVER_PAGE, live;
	double share;

	sum_run(s, r->start, r->end);
	live = MIN(s->live_pages, left);
	share = s->live_pages ? (double)live / (double)s->live_pages : 0;
	s->requested = (uint64_t)((double)s->requested * share);
	s->used = (uint64_t)((double)s->used * share);
	s->heads = (uint64_t)((double)s->heads * share);
	s->live_pages = live;
	left -= live;
	s->free_pages = MIN(s->free_pages, left);
	left -= s->free_pages;
	s->new_pages = left;
	s->huge_pages = 0;
}

static void explain_heap(struct explaining *e, const struct seen_region *r,
			 const struct map_call *call)
{
	struct page_sums s = { .e = e, .runs = e->parts ? &e->runs : NULL, .huge_left = r->huge };
	uint64_t pages, bytes[RESIDENT_TERMS] = { 0 }, sum = 0;

	if (!seen_regions_resident(&e->seen, r, sum_run, &s))
		guess_pages(&s, r);
	pages = s.live_pages + s.free_pages + s.new_pages + s.huge_pages;
	if (e->culled) { /* what was freed soon is not there to tell */
		s.free_pages += s.new_pages;
		s.new_pages = 0;
	}
	bytes[RESIDENT_REQUESTED] = s.requested;
	bytes[RESIDENT_ROUNDING] = s.used - s.requested;
	bytes[RESIDENT_FREE_PARTS] = s.live_pages * COVER_PAGE - s.used - s.heads;
	bytes[RESIDENT_FREE_PAGES] = s.free_pages * COVER_PAGE;
	bytes[RESIDENT_HUGE] = s.huge_pages * COVER_PAGE;
	bytes[RESIDENT_ALLOCATOR] = s.new_pages * COVER_PAGE + s.heads;
	for (unsigned i = 0; i < RESIDENT_TERMS; i++) {
		/* smaps and pagemap are read one after the other: smaps is right. */
		if (pages * COVER_PAGE > r->usage.rss)
			bytes[i] = (uint64_t)((double)bytes[i] * (double)r->usage.rss /
					      (double)(pages * COVER_PAGE));
		sum += bytes[i];
		add_term(e, r, i, bytes[i], call);
	}
	if (sum < r->usage.rss)
		add_term(e, r,
			 pages * COVER_PAGE > r->usage.rss ? RESIDENT_ALLOCATOR : RESIDENT_UNKNOWN,
			 r->usage.rss - sum, call);
}

static void explain_region(struct explaining *e, const struct seen_region *r)
{
	const struct map_call *call;
	enum resident_term term;
	uint64_t own;

	e->moment->rss += r->usage.rss;
	e->moment->swap += r->usage.swap;
	e->moment->huge += r->huge;
	if (!r->usage.rss)
		return;
	call = call_at(e, r->start);
	term = classify(e, r, call);
	if (term == RESIDENT_REQUESTED) {
		explain_heap(e, r, call);
	} else if (term == RESIDENT_CODE) {
		/* Pages that were written to are the process's own. */
		own = MIN(r->usage.anonymous, r->usage.rss);
		add_term(e, r, RESIDENT_DATA, own, NULL);
		add_term(e, r, RESIDENT_CODE, r->usage.rss - own, NULL);
	} else {
		add_term(e, r, term, r->usage.rss, call);
	}
}

static void explain(struct explaining *e, size_t sample, struct resident_moment *ret)
{
	uint64_t at = e->seen.from->samples[sample].ended;

	*ret = (struct resident_moment){ .at = at };
	e->moment = ret;
	follow(e, at);
	seen_regions_advance(&e->seen, sample);
	find_alive(e, at);
	for (size_t i = 0; i < e->seen.count; i++)
		explain_region(e, &e->seen.list[i]);
	ret->live = e->live;
}

static void explaining_init(struct explaining *e, const struct view *v)
{
	const struct model *m = v->model;

	*e = (struct explaining){ .m = m,
				  .view = v,
				  .maps = model_maps(m),
				  .events = event_iterator_between(m, 0, NEVER),
				  .glibc = allocator_is_glibc(m),
				  .culled = m->totals.allocations != m->recorded.allocations };
	map_owner_init(&e->owner, m);
	e->alive = xcalloc((size_t)e->maps->region_count + 1, sizeof(*e->alive));
	seen_regions_init(&e->seen, &m->tables.regions);
}

static void explaining_release(struct explaining *e)
{
	cover_release(&e->cover);
	seen_regions_release(&e->seen);
	resident_runs_release(&e->runs);
	free(e->alive);
}

static void add_blocks(struct explaining *e, enum resident_term term,
		       const struct resident_stack *s, uint64_t bytes)
{
	struct resident_part part = { .term = (uint8_t)term,
				      .kind = RESIDENT_PART_BLOCKS,
				      .stack = s->stack,
				      .call = s->call,
				      .size = s->size,
				      .blocks = s->blocks,
				      .bytes = bytes };

	if (bytes)
		*xpush(e->parts->parts, e->parts->part_count, e->part_room) = part;
}

/* Shares out a term, so that the sum stays what it was: single pages were looked at a little later
 * than the regions as a whole, or are not known at all. */
struct sharing {
	uint64_t total, parts, used, given;
};

static uint64_t next_share(struct sharing *s, uint64_t part)
{
	uint64_t upto;

	s->used += part;
	upto = s->used == s->parts
		       ? s->total
		       : (uint64_t)((double)s->total * ((double)s->used / (double)s->parts));
	upto = MAX(upto, s->given);
	part = upto - s->given;
	s->given = upto;
	return part;
}

/* Whose blocks are in the pages with blocks. */
static void add_block_parts(struct explaining *e, uint64_t at)
{
	auto_free struct resident_stack *stacks = NULL;
	size_t count = resident_blocks(e->view, at, &e->runs, &stacks);
	struct sharing requested = { .total = e->moment->terms[RESIDENT_REQUESTED] },
		       rounding = { .total = e->moment->terms[RESIDENT_ROUNDING] };

	for (size_t i = 0; i < count; i++) {
		requested.parts += stacks[i].requested;
		rounding.parts += stacks[i].rounding;
	}
	for (size_t i = 0; i < count; i++) {
		if (stacks[i].requested)
			add_blocks(e, RESIDENT_REQUESTED, &stacks[i],
				   next_share(&requested, stacks[i].requested));
		if (stacks[i].rounding)
			add_blocks(e, RESIDENT_ROUNDING, &stacks[i],
				   next_share(&rounding, stacks[i].rounding));
	}
}

ORDER(by_origin, struct resident_part,
      RISING(term) ?: RISING(kind) ?: RISING(name) ?: RISING(stack) ?: RISING(address))
ORDER(by_bytes, struct resident_part, RISING(term) ?: FALLING(bytes) ?: RISING(address))

static bool is_same(const struct resident_part *a, const struct resident_part *b)
{
	if (a->term != b->term || a->kind != b->kind)
		return false;
	return (a->kind == RESIDENT_PART_STACK && a->stack == b->stack) ||
	       (a->kind == RESIDENT_PART_FILE && a->name == b->name);
}

static void join_parts(struct resident *r)
{
	size_t remaining = 0;

	SORT(r->parts, r->part_count, by_origin);
	for (size_t i = 0; i < r->part_count; i++) {
		struct resident_part *last = remaining ? &r->parts[remaining - 1] : NULL;

		if (last && is_same(last, &r->parts[i])) {
			last->bytes += r->parts[i].bytes;
			last->size += r->parts[i].size;
			last->maps += r->parts[i].maps;
		} else {
			r->parts[remaining++] = r->parts[i];
		}
	}
	r->part_count = remaining;
	SORT(r->parts, r->part_count, by_bytes);
}

bool resident_init(struct resident *r, const struct view *v, uint64_t at)
{
	const struct regions *seen = &v->model->tables.regions;
	struct explaining e;
	size_t next = FIRST_WHERE(i, seen->sample_count, seen->samples[i].ended > at);

	*r = (struct resident){ 0 };
	if (!seen->sample_count)
		return false;
	explaining_init(&e, v);
	e.parts = r;
	explain(&e, next ? next - 1 : 0, &r->moment);
	add_block_parts(&e, r->moment.at);
	join_parts(r);
	explaining_release(&e);
	return true;
}

void resident_release(struct resident *r)
{
	free(r->parts);
	*r = (struct resident){ 0 };
}

size_t resident_series(const struct view *v, size_t count, struct resident_moment **ret_moments)
{
	const struct regions *seen = &v->model->tables.regions;
	size_t samples = seen->sample_count, n = 0;
	struct explaining e;
	double from, step;

	*ret_moments = NULL;
	if (!samples || !count)
		return 0;
	*ret_moments = xcalloc(MIN(count, samples), sizeof(**ret_moments));
	explaining_init(&e, v);
	from = (double)seen->samples[0].ended;
	step = ((double)seen->samples[samples - 1].ended - from) / (double)count;
	for (size_t i = 0; i < samples && n < count; i++) {
		/* Of those in one part of the time, the last. */
		if (i + 1 < samples && samples > count &&
		    (double)seen->samples[i + 1].ended < from + (double)(n + 1) * step)
			continue;
		explain(&e, i, &(*ret_moments)[n++]);
	}
	explaining_release(&e);
	return n;
}
