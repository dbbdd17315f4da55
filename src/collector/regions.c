/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Looks at the program's memory maps.  See regions.h. */
#include "collector/regions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/order.h"
#include "base/strings.h"
#include "base/xalloc.h"
#include "collector/clock.h"
#include "collector/collector.h"
#include "collector/log.h"
#include "collector/pages.h"
#include "collector/smaps.h"
#include "pairing/map_calls.h"
#include "pairing/ranges.h"

#define SHARED_NAME "/memfd:memoir "
#define MS 1000000ull
#define EVERY_NS (1000 * MS)
#define FIRST_NS (20 * MS) /* after the start; then twice that, until they are a second apart */
#define SHARE 160	   /* of a core, at most one part in so many: with all else below a 100th */
#define DRAIN_NS (5 * MS)  /* in a long sample the rings are emptied in between */
#define CALLS_WAITING 65536u
#define ADD_BYTES (10 * VARINT_MAX + SMAPS_NAME_MAX)
#define USAGE_BYTES (9 * VARINT_MAX)

struct piece {
	uint64_t start, end, offset, inode;
	uint32_t major, minor, name;
	uint32_t map; /* which of the program's maps it is in; 0: in none that is known */
	uint8_t flags;
	struct region_usage usage; /* KiB */
	uint64_t huge;		   /* KiB in huge pages */
	uint64_t number;
};

struct pieces {
	struct piece *list; /* by address */
	size_t count, room;
};

struct regions_sampler {
	struct collector *collector;
	char *text; /* of smaps */
	size_t text_size, text_room;
	struct map_calls waiting; /* that are not in `known` yet */
	struct ranges known;	  /* the program's maps, by number */
	uint32_t last_map;
	struct ranges own; /* the recorder's memory */
	uint32_t own_count;
	struct strings names;
	struct pieces now, before;
	uint64_t last_number;
	uint64_t began, ended; /* stamps of this sample */
	uint64_t started_ns, last_ns, every_ns, drained_ns;
	struct pages_writer *pages;
	uint64_t events; /* that there were at the last sample */
	size_t page_size;
};

struct regions_sampler *regions_sampler_new(struct collector *c)
{
	struct regions_sampler *w;

	if (!c->control->options.gather_maps)
		return NULL;
	w = xcalloc(1, sizeof(*w));
	w->collector = c;
	w->page_size = (size_t)sysconf(_SC_PAGESIZE);
	strings_init(&w->names);
	w->pages = pages_writer_new(c);
	return w;
}

struct regions_sampler *regions_sampler_free(struct regions_sampler *w)
{
	if (!w)
		return NULL;
	free(w->text);
	map_calls_release(&w->waiting);
	ranges_release(&w->known);
	ranges_release(&w->own);
	strings_release(&w->names);
	free(w->now.list);
	free(w->before.list);
	pages_writer_free(w->pages);
	free(w);
	return NULL;
}

/* Makes the calls up to a stamp known. */
static void apply_calls(struct regions_sampler *w, uint64_t until)
{
	struct map_calls *calls = &w->waiting;
	size_t i;

	map_calls_sort(calls);
	for (i = 0; i < calls->count && calls->rows[i].at <= until; i++) {
		const struct map_call *c = &calls->rows[i];

		if (c->address >= REGION_ADDRESS_MAX || c->length > REGION_ADDRESS_MAX)
			continue;
		ranges_cut(&w->known, c->address, c->address + c->length);
		if (map_call_maps(c))
			ranges_add(&w->known, c->address, c->address + c->length, ++w->last_map);
	}
	if (i)
		memmove(calls->rows, calls->rows + i, (calls->count - i) * sizeof(*calls->rows));
	calls->count -= i;
}

void regions_take(struct regions_sampler *w, const struct event *events, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct map_call call = { .at = events[i].stamp,
					 .address = event_address(&events[i]),
					 .length = event_size(&events[i]),
					 .kind = event_op(&events[i]) == OP_UNMAP ? MAP_CALL_UNMAPS
										  : MAP_CALL_MAPS };

		if (event_op(&events[i]) == OP_MAP || event_op(&events[i]) == OP_UNMAP)
			map_calls_add(&w->waiting, &call);
	}
	/* A program that maps and unmaps all the time: nobody else's calls wait so long. */
	if (w->waiting.count > CALLS_WAITING)
		apply_calls(w, UINT64_MAX);
}

/* A program of many gigabytes takes the kernel a while; its threads must not wait for that. */
static void keep_up(struct regions_sampler *w)
{
	uint64_t now = now_ns();

	if (now - w->drained_ns < DRAIN_NS)
		return;
	drain_pass(w->collector);
	w->drained_ns = now_ns();
}

static bool read_text(struct regions_sampler *w)
{
	char name[40];
	ssize_t n = 1;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/smaps", (int)collector_in_proc(w->collector));
	w->text_size = 0;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (n > 0) {
		if (w->text_room - w->text_size < 65536) {
			w->text_room = w->text_room ? w->text_room * 2 : 262144;
			w->text = xreallocarray(w->text, w->text_room, 1);
		}
		do
			n = read(fd, w->text + w->text_size, w->text_room - w->text_size);
		while (n < 0 && errno == EINTR);
		w->text_size += n > 0 ? (size_t)n : 0;
		keep_up(w);
	}
	close(fd);
	if (n || !w->text_size)
		return false;
	/* The text of a process that ends just stops.  One that still has memory had all of it. */
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)collector_in_proc(w->collector));
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, &(char){ 0 }, 1);
	close(fd);
	return n == 1;
}

static void learn_own(struct regions_sampler *w)
{
	struct shm_control *control = w->collector->control;
	uint32_t count = atomic_load_explicit(&control->own_count, memory_order_relaxed);

	count = MIN(count, SHM_OWN_RANGES);
	for (; w->own_count < count; w->own_count++) {
		const struct shm_range *r = &control->own[w->own_count];
		uint64_t size = atomic_load_explicit(&r->size, memory_order_acquire);
		uint64_t start = r->start;

		if (!size)
			break;
		if (start >= REGION_ADDRESS_MAX || size > REGION_ADDRESS_MAX)
			continue;
		ranges_cut(&w->own, start, start + size);
		ranges_add(&w->own, start, start + size, 1);
	}
}

/* How far from `at` on it is the same; *ret_value is what, or 0. */
static uint64_t stretch(const struct ranges *r, uint64_t at, uint64_t end, uint32_t *ret_value)
{
	struct range found;

	*ret_value = 0;
	if (!ranges_from(r, at, &found))
		return end;
	if (found.start > at)
		return found.start < end ? found.start : end;
	*ret_value = found.value;
	return found.end < end ? found.end : end;
}

/* "[anon:mmap::12]" is what the recorder named it: the number only keeps it apart. */
static uint32_t name_of(struct regions_sampler *w, const struct smaps_entry *e)
{
	static const char named[] = "[anon:mmap::";
	char text[SMAPS_NAME_MAX + 1];

	if (e->name_size > sizeof(named) - 1 && !memcmp(e->name, named, sizeof(named) - 1))
		return strings_add(&w->names, "[anon:mmap]");
	memcpy(text, e->name, e->name_size);
	text[e->name_size] = 0;
	return strings_add(&w->names, text);
}

struct page_counts {
	uint64_t resident, swapped;
};

/* Adds up the pages of a piece; false where the kernel does not tell, or there are too many. */
static bool count_pages(struct regions_sampler *w, const struct piece *p,
			struct page_counts *ret_counts)
{
	struct pagemap *map = pages_map(w->pages);
	uint64_t page = p->start / w->page_size, end = p->end / w->page_size;

	*ret_counts = (struct page_counts){ 0 };
	if (p->end - p->start > PAGEMAP_REGION_MAX)
		return false;
	for (; map && page < end; page += map->count) {
		if (!pagemap_read(map, page, end))
			return false;
		for (size_t i = 0; i < map->count; i++) {
			ret_counts->resident += pagemap_present(map->entries[i]);
			ret_counts->swapped += pagemap_swapped(map->entries[i]);
		}
		keep_up(w);
	}
	return map != NULL;
}

/* Shares out a value, so that the sum stays what it was. */
struct sharing {
	uint64_t total, parts, used, given;
};

static uint64_t share(struct sharing *s, uint64_t part)
{
	uint64_t upto;

	s->used += part;
	upto = s->parts ? (uint64_t)((double)s->total * (double)s->used / (double)s->parts + 0.5)
			: 0;
	upto -= s->given;
	s->given += upto;
	return upto;
}

static void share_out(struct piece *pieces, size_t n, const struct page_counts *counts,
		      const struct region_usage *usage, uint64_t huge)
{
	struct sharing swap = { .total = usage->swap }, of_huge = { .total = huge };
	uint64_t resident = 0;

	for (size_t i = 0; i < n; i++) {
		resident += counts[i].resident;
		swap.parts += counts[i].swapped;
	}
	of_huge.parts = resident;
	for (size_t i = 0; i < n; i++) {
		pieces[i].usage.swap = share(&swap, counts[i].swapped);
		pieces[i].huge = share(&of_huge, counts[i].resident);
	}
#define SHARE_OUT(name)                                                                            \
	do {                                                                                       \
		struct sharing s_ = { .total = usage->name, .parts = resident };                   \
		for (size_t i_ = 0; i_ < n; i_++)                                                  \
			pieces[i_].usage.name = share(&s_, counts[i_].resident);                   \
	} while (0)
	SHARE_OUT(rss);
	SHARE_OUT(shared_clean);
	SHARE_OUT(shared_dirty);
	SHARE_OUT(private_clean);
	SHARE_OUT(private_dirty);
	SHARE_OUT(anonymous);
#undef SHARE_OUT
}

/* What each of the pieces of one mapping has of its pages. */
static void divide_usage(struct regions_sampler *w, struct piece *pieces, size_t n,
			 const struct smaps_entry *e)
{
	const struct region_usage *usage = &e->usage;
	struct page_counts *counts;
	bool counted = true;

	if (!usage->rss && !usage->swap)
		return;
	counts = xcalloc(n, sizeof(*counts));
	for (size_t i = 0; i < n && counted; i++)
		counted = count_pages(w, &pieces[i], &counts[i]);
	for (size_t i = 0; i < n && !counted; i++)
		counts[i].resident = counts[i].swapped =
			(pieces[i].end - pieces[i].start) / w->page_size;
	share_out(pieces, n, counts, usage, e->huge);
	free(counts);
}

/* Cuts a mapping where one of the program's maps, or of the recorder's, begins or ends. */
static void add_entry(struct regions_sampler *w, const struct smaps_entry *e)
{
	const struct collector *c = w->collector;
	struct pieces *now = &w->now;
	size_t first = now->count;
	uint32_t name = name_of(w, e);
	/* A child has its parent's mapped too. */
	bool shm = (e->inode == c->shm_inode && makedev(e->major, e->minor) == c->shm_device) ||
		   !strncmp(strings_at(&w->names, name), SHARED_NAME, strlen(SHARED_NAME));

	for (uint64_t at = e->start, end; at < e->end; at = end) {
		struct piece p = { .start = at,
				   .offset = e->offset + (e->inode ? at - e->start : 0),
				   .inode = e->inode,
				   .major = e->major,
				   .minor = e->minor,
				   .name = name,
				   .flags = e->flags };
		uint32_t own;

		end = stretch(&w->known, at, e->end, &p.map);
		end = stretch(&w->own, at, end, &own);
		p.end = end;
		if (own || shm)
			p.flags |= MAP_IS_OWN;
		*xpush(now->list, now->count, now->room) = p;
	}
	if (now->count == first + 1) {
		now->list[first].usage = e->usage;
		now->list[first].huge = e->huge;
	} else {
		divide_usage(w, &now->list[first], now->count - first, e);
	}
}

/* All pieces; false if this is not the program that is recorded. */
static bool find_pieces(struct regions_sampler *w)
{
	struct collector *c = w->collector;
	const char *at = w->text, *end = w->text + w->text_size;
	struct smaps_entry e;
	uint64_t last = 0;
	bool owned = false;

	w->now.count = 0;
	while (smaps_next(&at, end, &e)) {
		owned |= e.inode == c->shm_inode && makedev(e.major, e.minor) == c->shm_device;
		/* Something may have changed between two parts of the text. */
		e.start = MAX(e.start, last);
		if (e.start >= e.end)
			continue;
		last = e.end;
		add_entry(w, &e);
	}
	return owned || !c->mapped;
}

static bool same_piece(const struct piece *a, const struct piece *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->inode == b->inode && a->major == b->major && a->minor == b->minor &&
	       a->name == b->name && a->map == b->map && a->flags == b->flags;
}

static void begin_chunk(struct regions_sampler *w)
{
	struct payload *p = &w->collector->payload;

	p->used = 0;
	payload_number(p, w->began);
	payload_number(p, w->ended - w->began);
}

static void end_chunk(struct regions_sampler *w)
{
	struct payload *p = &w->collector->payload;

	recording_write(&w->collector->recording, CHUNK_REGIONS, EFFORT_REST, p->data, p->used, 0);
}

static struct payload *room_for(struct regions_sampler *w, size_t bytes)
{
	if (!payload_fits(&w->collector->payload, bytes)) {
		end_chunk(w);
		begin_chunk(w);
	}
	return &w->collector->payload;
}

static void put_usage(struct regions_sampler *w, const struct piece *piece)
{
	struct payload *p = room_for(w, USAGE_BYTES);

	payload_number(p, REGIONS_USAGE);
	payload_number(p, piece->number);
#define X(name) payload_number(p, piece->usage.name);
	REGIONS_USAGES(X)
#undef X
}

static void put_added(struct regions_sampler *w, const struct piece *piece)
{
	struct payload *p = room_for(w, ADD_BYTES);
	static const struct region_usage nothing;

	payload_number(p, REGIONS_ADD);
	payload_number(p, piece->number);
	payload_number(p, piece->start);
	payload_number(p, piece->end - piece->start);
	payload_number(p, piece->offset);
	payload_number(p, piece->inode);
	payload_number(p, piece->major);
	payload_number(p, piece->minor);
	payload_number(p, piece->flags);
	payload_text(p, strings_at(&w->names, piece->name));
	if (memcmp(&piece->usage, &nothing, sizeof(nothing)))
		put_usage(w, piece);
}

static void put_removed(struct regions_sampler *w, const struct piece *piece)
{
	struct payload *p = room_for(w, 2 * VARINT_MAX);

	payload_number(p, REGIONS_REMOVE);
	payload_number(p, piece->number);
}

/* Gives the pieces that were there before their numbers; what is gone is written. */
static void match(struct regions_sampler *w)
{
	struct pieces *now = &w->now, *before = &w->before;
	size_t k = 0;

	for (size_t i = 0; i < now->count; i++)
		now->list[i].number = 0;
	for (size_t i = 0; i < before->count; i++) {
		struct piece *old = &before->list[i];

		while (k < now->count && now->list[k].start < old->start)
			k++;
		if (k < now->count && same_piece(&now->list[k], old))
			now->list[k].number = old->number;
		else
			put_removed(w, old);
	}
}

/* Of memory that blocks may be in. */
static void write_pages(struct regions_sampler *w)
{
	const struct pieces *now = &w->now;

	for (size_t i = 0; i < now->count; i++) {
		const struct piece *p = &now->list[i];
		struct pages_region r = { p->number, p->start, p->end, p->usage.rss, p->huge };

		if (p->inode || p->flags & (MAP_IS_OWN | MAP_IS_SHARED))
			continue;
		pages_region(w->pages, &r);
	}
}

/* Has the program done anything since the last sample? */
static bool went_on(struct regions_sampler *w)
{
	uint64_t events = w->collector->recording.event_count + w->collector->encoder.event_count;
	bool more = events != w->events;

	w->events = events;
	return more;
}

static void write_changes(struct regions_sampler *w)
{
	struct pieces *now = &w->now, *before = &w->before, swap;
	size_t head, k = 0;

	begin_chunk(w);
	head = w->collector->payload.used;
	match(w);
	for (size_t i = 0; i < now->count; i++) {
		struct piece *p = &now->list[i];

		while (k < before->count && before->list[k].start < p->start)
			k++;
		if (!p->number) {
			p->number = ++w->last_number;
			put_added(w, p);
		} else if (memcmp(&p->usage, &before->list[k].usage, sizeof(p->usage))) {
			put_usage(w, p);
		}
	}
	/* What is resident may stay while what it is used for does not: that is a sample, too. */
	if (went_on(w) || w->collector->payload.used > head)
		end_chunk(w);
	write_pages(w);
	swap = *before;
	*before = *now;
	*now = swap;
}

/* What a process is between fork and exec, or on its way into another program, is not sampled. */
static bool worth_sampling(const struct collector *c)
{
	const struct shm_family *family = &c->control->family;

	if (atomic_load_explicit(&family->exec_pending, memory_order_relaxed))
		return false;
	return family->origin == ORIGIN_START || c->recording.event_count || c->encoder.event_count;
}

void regions_sample(struct regions_sampler *w)
{
	struct collector *c = w ? w->collector : NULL;

	if (!w || c->recording.error || !worth_sampling(c))
		return;
	w->drained_ns = now_ns();
	w->began = clock_stamp(c->control->clock);
	if (!read_text(w))
		return;
	w->ended = clock_stamp(c->control->clock);
	/* The calls that made what was just seen. */
	drain_pass(c);
	apply_calls(w, w->ended);
	learn_own(w);
	pages_begin(w->pages, w->ended);
	if (find_pieces(w))
		write_changes(w);
	pages_end(w->pages);
}

void regions_sample_if_due(struct regions_sampler *w)
{
	uint64_t now, age, every, cpu;

	if (!w)
		return;
	now = w->collector->now_ns;
	if (!w->started_ns)
		w->started_ns = w->last_ns = now;
	age = w->last_ns - w->started_ns;
	every = age < FIRST_NS ? FIRST_NS : age < EVERY_NS ? age : EVERY_NS;
	every = MAX(every, w->every_ns);
	if (now - w->last_ns < every)
		return;
	cpu = now_on(CLOCK_THREAD_CPUTIME_ID);
	regions_sample(w);
	w->every_ns = (now_on(CLOCK_THREAD_CPUTIME_ID) - cpu) * SHARE;
	w->last_ns = now;
	log_line(LOG_TRACE, "a sample of %zu regions", w->before.count);
}
