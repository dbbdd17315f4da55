/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Histograms.  See histogram.h. */
#include "query/histogram.h"

#include <string.h>

#include "base/map.h"
#include "base/order.h"
#include "base/parallel.h"
#include "base/xalloc.h"

#define BLOCK 65536
#define SMALL 16384u /* sizes below have a place of their own */
#define DECADES 13   /* 10 ns … 10,000 s; a bin before, one after */
#define LENGTHS 65   /* of numbers, in bits */
#define LANES                                                                                      \
	4 /* rows next to each other add to different bins: they need not wait for each other */

const char *const histogram_kinds[HISTOGRAM_KINDS] = { "size", "lifetime" };

struct tally {
	struct weight weight;
	uint64_t slack;
};

struct counts {
	struct tally bins[LANES][HISTOGRAM_BINS];
	struct tally *small; /* by size */
	struct size_row *large;
	size_t large_count, large_room;
	struct map large_index;
};

struct counting {
	const struct view *v;
	struct measuring how;
	enum histogram_kind kind;
	uint64_t decades[DECADES + 1]; /* ticks of 10 ns, 100 ns …; and of no lifetime */
	uint8_t bin_of[LENGTHS];       /* of the smallest number of a length */
	struct counts *counts;	       /* by worker */
};

static void tally(struct tally *t, const struct tally *more)
{
	t->weight.bytes += more->weight.bytes;
	t->weight.count += more->weight.count;
	t->slack += more->slack;
}

/* 0 in bin 0, 1 in bin 1, 2 and 3 in bin 2 … */
static unsigned size_bin(uint64_t size)
{
	return size ? 64 - (unsigned)__builtin_clzll(size) : 0;
}

/* From one power of two to the next there is at most one decade. */
static void find_decades(struct counting *n)
{
	uint64_t ns = 10;

	for (unsigned i = 0; i < DECADES; i++, ns *= 10)
		n->decades[i] = measure_ticks(n->v->model, ns);
	n->decades[DECADES] = NEVER;
	for (unsigned length = 0; length < LENGTHS; length++) {
		uint64_t smallest = length ? 1ull << (length - 1) : 0;

		while (n->bin_of[length] < DECADES && n->decades[n->bin_of[length]] <= smallest)
			n->bin_of[length]++;
	}
}

static unsigned lifetime_bin(const struct counting *n, const struct columns *c, uint32_t row)
{
	uint64_t lifetime = columns_freed_at(c, row) - columns_allocated_at(c, row);
	unsigned bin = n->bin_of[size_bin(lifetime)];

	bin += lifetime >= n->decades[bin];
	return columns_freed_at(c, row) == NEVER ? DECADES + 1 : bin;
}

static void tally_large(struct counts *k, uint64_t size, const struct tally *more)
{
	uint64_t index;

	if (map_number(&k->large_index, size, &index))
		*xpush(k->large, k->large_count, k->large_room) = (struct size_row){ .size = size };
	k->large[index].weight.bytes += more->weight.bytes;
	k->large[index].weight.count += more->weight.count;
	k->large[index].slack += more->slack;
}

static void count_window(const struct counting *n, struct counts *k, const struct columns *c,
			 uint32_t first, uint32_t count)
{
	VIEW_EACH(n->v, first, count, row)
	{
		uint64_t size = columns_size(c, row);
		struct tally one = { { size, 1 }, columns_slack_of(c, row) };

		if (!measuring_takes(&n->how, c, row))
			continue;
		if (n->kind == HISTOGRAM_LIFETIME)
			tally(&k->bins[row % LANES][lifetime_bin(n, c, row)], &one);
		else if (size < SMALL)
			tally(&k->small[size], &one);
		else
			tally_large(k, size, &one);
	}
}

static void count_block(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct counting *n = context;
	struct counts *k = &n->counts[worker];
	struct columns_window w;

	if (!k->small)
		k->small = xcalloc(SMALL, sizeof(*k->small));
	EACH_WINDOW(at, rows, first, count)
	count_window(n, k,
		     view_window(n->v, &w, at, rows,
				 WANT_size | WANT_allocated_at | WANT_freed_at |
					 measuring_wants(&n->how)),
		     at, rows);
}

ORDER(by_bytes, struct size_row, FALLING(weight.bytes) ?: RISING(size))

ORDER(by_count, struct size_row, FALLING(weight.count) ?: by_bytes(x, y))

void histogram_by_count(struct histogram *h)
{
	SORT(h->sizes, h->size_count, by_count);
}

static void add_size(struct histogram *h, size_t *room, uint64_t size, const struct tally *t)
{
	struct histogram_bin *bin = &h->bins[size_bin(size)];

	if (!t->weight.count)
		return;
	*xpush(h->sizes, h->size_count, *room) = (struct size_row){ size, t->weight, t->slack };
	bin->weight.bytes += t->weight.bytes;
	bin->weight.count += t->weight.count;
	bin->slack += t->slack;
}

/* Sums of all workers; the first one's tables take them. */
static void gather_sizes(struct histogram *h, struct counting *n)
{
	struct counts *all = &n->counts[0];
	size_t room = 0;

	if (!all->small)
		all->small = xcalloc(SMALL, sizeof(*all->small));
	for (unsigned w = 1; w < parallel_workers(); w++) {
		struct counts *k = &n->counts[w];

		for (unsigned i = 0; k->small && i < SMALL; i++)
			tally(&all->small[i], &k->small[i]);
		for (size_t i = 0; i < k->large_count; i++)
			tally_large(all, k->large[i].size,
				    &(struct tally){ k->large[i].weight, k->large[i].slack });
	}
	for (unsigned i = 0; i < SMALL; i++)
		add_size(h, &room, i, &all->small[i]);
	for (size_t i = 0; i < all->large_count; i++)
		add_size(h, &room, all->large[i].size,
			 &(struct tally){ all->large[i].weight, all->large[i].slack });
	SORT(h->sizes, h->size_count, by_bytes);
	h->count = HISTOGRAM_BINS - 1;
	for (unsigned i = 0; i < h->count; i++) {
		h->bins[i].from = i ? 1ull << (i - 1) : 0;
		h->bins[i].to = i < 64 ? 1ull << i : NEVER;
	}
}

static void gather_lifetimes(struct histogram *h, struct counting *n)
{
	uint64_t from = 0;

	h->count = DECADES + 2;
	for (unsigned i = 0; i < h->count; i++) {
		struct histogram_bin *bin = &h->bins[i];

		bin->from = from;
		bin->to = from ? from * 10 : 10;
		from = bin->to;
		bin->never = i == DECADES + 1;
		if (i >= DECADES)
			bin->to = NEVER;
		for (unsigned w = 0; w < parallel_workers(); w++)
			for (unsigned lane = 0; lane < LANES; lane++) {
				const struct tally *t = &n->counts[w].bins[lane][i];

				bin->weight.bytes += t->weight.bytes;
				bin->weight.count += t->weight.count;
				bin->slack += t->slack;
			}
	}
}

static void leave_out_empty(struct histogram *h)
{
	unsigned first = 0;

	while (h->count && !h->bins[h->count - 1].weight.count)
		h->count--;
	while (first < h->count && !h->bins[first].weight.count)
		first++;
	memmove(h->bins, h->bins + first, (h->count - first) * sizeof(*h->bins));
	h->count -= first;
}

void histogram_init(struct histogram *h, const struct view *v, const struct measuring *how,
		    enum histogram_kind kind)
{
	struct counting n = { .v = v, .how = *how, .kind = kind };

	memset(h, 0, sizeof(*h));
	h->kind = kind;
	n.counts = xcalloc(parallel_workers(), sizeof(*n.counts));
	find_decades(&n);
	parallel_for(v->model->allocations.count, BLOCK, count_block, &n);
	if (kind == HISTOGRAM_SIZE)
		gather_sizes(h, &n);
	else
		gather_lifetimes(h, &n);
	for (unsigned i = 0; i < h->count; i++) {
		h->total.bytes += h->bins[i].weight.bytes;
		h->total.count += h->bins[i].weight.count;
	}
	leave_out_empty(h);
	for (unsigned w = 0; w < parallel_workers(); w++) {
		free(n.counts[w].small);
		free(n.counts[w].large);
		map_release(&n.counts[w].large_index);
	}
	free(n.counts);
}

void histogram_release(struct histogram *h)
{
	free(h->sizes);
	memset(h, 0, sizeof(*h));
}
