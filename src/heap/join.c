/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The join of a dump and statistics.  See join.h. */
#include "heap/join.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

/* A line's mean is that of one class if it is no farther from it than this, or than from what 5.3
 * makes of it: see written_mean().  Classes are at least a seventh apart. */
#define SAME_SIZE 0.005
#define COUNT_STEP 8
/* Less than this share of a line's blocks in one class is not worth a row. */
#define PART_LEAST 1e-6
/* So many standard deviations are chance. */
#define CHANCE 3
/* More than this share is not taken for chance, however few samples there are. */
#define CHANCE_MOST 0.2

ORDER(by_size, struct join_class, RISING(size))

static void add_class(struct join *j, const struct join_class *c)
{
	if (!c->size)
		return;
	*xpush(j->classes, j->class_count, j->class_room) = *c;
	j->unused = (int64_t)((uint64_t)j->unused + (uint64_t)c->unused);
}

/* A thread's cache has twice as many regions of a class as a slab has, from 20 to 200 unless that
 * was configured otherwise, and all of them together have what the statistics say. */
static uint64_t cached(const struct stats_arena *a, uint64_t size, uint64_t regions)
{
	uint64_t threads = stats_known(a->value[STATS_ARENA_NTHREADS]);
	uint64_t bytes = a->value[STATS_ARENA_TCACHE_BYTES];
	uint64_t most = regions < 10 ? 20 : regions > 100 ? 200 : 2 * regions;

	most *= threads && threads < 1u << 20 ? threads : 1;
	return size && bytes < STATS_NONE && bytes / size < most ? bytes / size : most;
}

static void take_classes(struct join *j, const struct stats *s, const struct stats_arena *a)
{
	uint64_t page = j->waterfall.padded ? stats_known(s->shape[STATS_SHAPE_PAGE]) : 0;

	for (size_t i = 0; i < a->bins.count; i++) {
		const uint64_t *b = stats_row(&a->bins, i);
		struct join_class c = { .size = stats_known(b[STATS_BIN_SIZE]),
					.live = stats_known(b[STATS_BIN_CURREGS]) };

		if (b[STATS_BIN_NREGS] >= STATS_NONE || b[STATS_BIN_CURSLABS] >= STATS_NONE)
			continue;
		c.regions = b[STATS_BIN_NREGS] * b[STATS_BIN_CURSLABS];
		c.unused = (int64_t)((c.regions - c.live) * c.size);
		c.cached = cached(a, c.size, b[STATS_BIN_NREGS]);
		add_class(j, &c);
	}
	for (size_t i = 0; i < a->large.count; i++) {
		const uint64_t *l = stats_row(&a->large, i);
		uint64_t count = stats_known(l[STATS_LARGE_COUNT]);

		add_class(j, &(struct join_class){ .size = stats_known(l[STATS_LARGE_SIZE]),
						   .large = true,
						   .live = count,
						   .regions = count,
						   .unused = (int64_t)(count * page) });
	}
	SORT(j->classes, j->class_count, by_size);
}

/* The first class of at least this size, or class_count. */
static size_t class_from(const struct join *j, double size)
{
	return FIRST_WHERE(i, j->class_count, (double)j->classes[i].size >= size);
}

/* The mean that 5.3 writes for blocks of one size.  Each sample counts for 1 / chance blocks, but
 * to an eighth only, and numbers are then written so that readers get to these: where a sample
 * stands for one block or two, the mean is up to a sixteenth off.  *ret_off: how much more it may
 * be for `samples` of them, whose number is written as a whole one. */
static double written_mean(double size, uint64_t rate, double samples, double *ret_off)
{
	double blocks = 1 / sampled_chance(size, rate);
	double mean = round(size * blocks) / (round(blocks * COUNT_STEP) / COUNT_STEP);
	double written = round(blocks * COUNT_STEP) / COUNT_STEP * sampled_chance(mean, rate);

	*ret_off = fmin(0.5 / fmax(samples, 1), fabs(1 - written));
	return mean;
}

/* The class that all blocks of a line are in, or class_count: there is none. */
static size_t class_of(const struct join *j, const struct dump_amounts *a, uint64_t rate)
{
	double mean = a->bytes / a->objects, samples = a->objects * sampled_chance(mean, rate);
	size_t above = class_from(j, mean), best = j->class_count;
	double least = INFINITY;

	for (size_t i = above ? above - 1 : 0; i < j->class_count && i <= above; i++) {
		double size = (double)j->classes[i].size, off = fabs(mean - size) / size, more;
		bool same = off <= SAME_SIZE;

		if (rate > 1 && !same) {
			double written = written_mean(size, rate, samples, &more);

			same = fabs(mean - written) <= (SAME_SIZE + more) * written;
		}
		if (same && off < least) {
			least = off;
			best = i;
		}
	}
	return best;
}

/* Text leaves the class out where it has no block. */
static void find_home(struct join *j, const struct stats *s, const struct stats_arena *a)
{
	uint64_t size = sampled_home(s);
	size_t at;

	j->home = SIZE_MAX;
	if (!size || !s->release)
		return;
	j->moved = true;
	if (sampled_where(s, a) == SAMPLED_PAGES)
		return;
	at = class_from(j, (double)size);
	if (at == j->class_count || j->classes[at].size != size) {
		add_class(j, &(struct join_class){ .size = size, .large = true });
		SORT(j->classes, j->class_count, by_size);
		at = class_from(j, (double)size);
	}
	j->home = at;
}

/* Are samples of this class somewhere else? */
static bool moves(const struct join *j, const struct join_class *c)
{
	return j->moved && !c->large;
}

/* Samples that are in no class: what they take beyond what the program has of them. */
static void add_apart(struct join *j, const struct join_class *c, double sampled)
{
	uint64_t page = j->waterfall.padded ? stats_known(j->stats->shape[STATS_SHAPE_PAGE]) : 0;

	j->apart += sampled;
	j->sampled += sampled * (double)(sampled_page_bytes(j->stats, c->size) - c->size + page);
}

static void add_part(struct join *j, uint64_t rate, size_t stack, size_t class, double objects)
{
	struct join_class *c = &j->classes[class];
	struct join_part part = { .stack = stack, .class = class, .objects = objects };

	if (moves(j, c))
		part.sampled = objects * sampled_chance((double)c->size, rate);
	if (part.sampled > 0 && j->home == SIZE_MAX) {
		add_apart(j, c, part.sampled);
	} else if (part.sampled > 0) {
		struct join_class *home = &j->classes[j->home];

		home->seen += part.sampled;
		home->sampled += part.sampled;
		j->sampled += part.sampled * ((double)home->size - (double)c->size);
	}
	c->seen += objects - part.sampled;
	*xpush(j->parts, j->part_count, j->part_room) = part;
}

/* How many regions `seen` may be off: n blocks of which each is a sample with a chance of p are
 * known to within sqrt(n * (1 - p) / p), and if samples are elsewhere, n is more than those here.
 */
static double by_chance(const struct join *j, const struct join_class *c, uint64_t rate)
{
	double p = sampled_chance((double)c->size, rate);

	return p > 0 ? CHANCE * sqrt(c->seen * (moves(j, c) ? 1 : 1 - p) / p) : 0;
}

/* Classes that lines of several sizes are spread over. */
struct spread {
	size_t *classes;
	double *prior; /* what is left in each */
	size_t count;
};

/* What lines of one size leave, as far as it is not chance and not in caches: `samples` are those
 * of other lines. */
static void spread_init(struct spread *s, const struct join *j, uint64_t rate, double samples)
{
	*s = (struct spread){ .classes = xcalloc(j->class_count, sizeof(*s->classes)),
			      .prior = xcalloc(j->class_count, sizeof(*s->prior)) };
	for (size_t i = 0; i < j->class_count; i++) {
		const struct join_class *c = &j->classes[i];
		double in_slabs = moves(j, c) ? 1 - sampled_chance((double)c->size, rate) : 1;
		double left = (double)c->live - c->seen - (i == j->home ? samples : 0);

		if (left > by_chance(j, c, rate) + (double)c->cached && in_slabs > 0) {
			s->classes[s->count] = i;
			s->prior[s->count++] = left / in_slabs;
		}
	}
}

static void spread_release(struct spread *s)
{
	free(s->classes);
	free(s->prior);
}

static double size_of(const struct join *j, const struct spread *s, size_t i)
{
	return (double)j->classes[s->classes[i]].size;
}

/* Shares of classes whose mean is `mean`: prior * exp(tilt * size), the tilt found by halving.
 * False if the mean is not between their sizes. */
static bool tilt(const struct join *j, const struct spread *s, double mean, double *share)
{
	double low = -700, high = 700;

	memset(share, 0, j->class_count * sizeof(*share));
	if (!s->count || size_of(j, s, 0) >= mean || size_of(j, s, s->count - 1) <= mean)
		return false;
	for (unsigned step = 0; step < 60; step++) {
		double t = (low + high) / 2, sum = 0, size = 0;
		double top = t * size_of(j, s, t > 0 ? s->count - 1 : 0) / mean;

		for (size_t i = 0; i < s->count; i++) {
			double x = size_of(j, s, i) / mean, weight = s->prior[i] * exp(t * x - top);

			share[s->classes[i]] = weight;
			sum += weight;
			size += weight * x;
		}
		for (size_t i = 0; i < s->count; i++)
			share[s->classes[i]] /= sum;
		if (size < sum)
			low = t;
		else
			high = t;
	}
	return true;
}

/* Between the two classes around it; false: it is outside of all. */
static bool neighbours(const struct join *j, double mean, double *share)
{
	size_t above = class_from(j, mean);
	double a, b;

	if (!above || above == j->class_count)
		return false;
	a = (double)j->classes[above - 1].size;
	b = (double)j->classes[above].size;
	memset(share, 0, j->class_count * sizeof(*share));
	share[above] = b > a ? (mean - a) / (b - a) : 1;
	share[above - 1] = 1 - share[above];
	return true;
}

/* A line of the dump that counts: its stack, or PROFILE_NO_STACK. */
static size_t line_of(const struct profile *p, size_t sample, double *ret_mean)
{
	const struct dump_amounts *a = profile_amounts_of(p, sample);

	if (!(a->objects > 0 && a->bytes > 0))
		return PROFILE_NO_STACK;
	*ret_mean = a->bytes / a->objects;
	return profile_stack_of(p, sample);
}

/* Lines of one size; returns how many samples the others are made of. */
static double take_plain_lines(struct join *j, const struct profile *p, bool *mixed)
{
	double samples = 0, mean;

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct dump_amounts *a = profile_amounts_of(p, i);
		size_t stack = line_of(p, i, &mean), class;

		if (stack == PROFILE_NO_STACK)
			continue;
		class = class_of(j, a, p->rate);
		if (class < j->class_count) {
			/* By bytes: where a mean was rounded, those are what is right. */
			add_part(j, p->rate, stack, class,
				 a->bytes / (double)j->classes[class].size);
		} else {
			mixed[stack] = true;
			j->mixed += a->bytes;
			samples += a->objects * sampled_chance(mean, p->rate);
		}
	}
	return samples;
}

static void take_mixed_lines(struct join *j, const struct profile *p, double samples)
{
	auto_free double *share = xcalloc(j->class_count, sizeof(*share));
	auto_release(spread_release) struct spread left = { 0 };
	double mean;

	spread_init(&left, j, p->rate, samples);
	for (size_t i = 0; i < p->sample_count; i++) {
		const struct dump_amounts *a = profile_amounts_of(p, i);
		size_t stack = line_of(p, i, &mean);

		if (stack == PROFILE_NO_STACK || class_of(j, a, p->rate) < j->class_count ||
		    (!tilt(j, &left, mean, share) && !neighbours(j, mean, share)))
			continue;
		for (size_t k = 0; k < j->class_count; k++)
			if (share[k] > PART_LEAST)
				add_part(j, p->rate, stack, k, a->objects * share[k]);
	}
}

ORDER(by_stack, struct join_part, RISING(stack) ?: RISING(class))

/* Lines that are one stack and one class are one part. */
static void merge_parts(struct join *j)
{
	size_t remaining = 0;

	SORT(j->parts, j->part_count, by_stack);
	for (size_t i = 0; i < j->part_count; i++) {
		if (remaining && !by_stack(&j->parts[remaining - 1], &j->parts[i])) {
			j->parts[remaining - 1].objects += j->parts[i].objects;
			j->parts[remaining - 1].sampled += j->parts[i].sampled;
		} else {
			j->parts[remaining++] = j->parts[i];
		}
	}
	j->part_count = remaining;
}

/* What shares are of: the regions in use, or those that the dump has, where these are more, or
 * fewer by chance. */
static double shared(const struct join *j, const struct join_class *c, uint64_t rate)
{
	double live = (double)c->live, less = live - c->seen;

	return less <= by_chance(j, c, rate) && less <= CHANCE_MOST * live ? c->seen : live;
}

/* The waterfall's estimate of samples in large blocks gives way to what the dump counts. */
static void take_sampled(struct join *j)
{
	struct waterfall *w = &j->waterfall;
	int64_t pages = (int64_t)fmin(fmax(j->pages, 0), 0x1p62);

	w->step[WATERFALL_PADDING] += w->step[WATERFALL_SAMPLED_PAGES] - pages;
	w->step[WATERFALL_SAMPLED_PAGES] = pages;
	w->sampled.estimated = false;
}

static void charge(struct join *j, uint64_t rate)
{
	if (j->home != SIZE_MAX) {
		const struct join_class *home = &j->classes[j->home];
		double all = shared(j, home, rate);

		j->pages = all > 0 ? (double)home->unused * (home->sampled / all) : 0;
		/* Statistics that are not of the same moment may know of fewer. */
		if (home->sampled > (double)home->live)
			j->sampled *= (double)home->live / home->sampled;
		j->sampled += j->pages;
		take_sampled(j);
	}
	for (size_t i = 0; i < j->part_count; i++) {
		struct join_part *part = &j->parts[i];
		struct join_class *c = &j->classes[part->class];
		double whole = shared(j, c, rate);

		if (c->unused > 0 && whole > 0)
			part->unused =
				(double)c->unused * ((part->objects - part->sampled) / whole);
		c->charged += part->unused;
		c->part_count++;
		j->charged += part->unused;
	}
}

ORDER(parts_by_unused, struct join_part, FALLING(unused) ?: FALLING(objects) ?: RISING(class))

ORDER(stacks_by_unused, struct join_stack, FALLING(unused) ?: RISING(stack))

static void make_stacks(struct join *j, const struct profile *p, const bool *mixed)
{
	size_t at = 0;

	j->stacks = xcalloc(p->stack_count + 1, sizeof(*j->stacks));
	for (size_t i = 0; i < p->stack_count; i++) {
		struct join_stack s = { .stack = i,
					.objects = p->stacks[i].amounts.objects,
					.bytes = p->stacks[i].amounts.bytes,
					.mixed = mixed[i],
					.first = at };

		for (; at < j->part_count && j->parts[at].stack == i; at++)
			s.unused += j->parts[at].unused;
		s.part_count = at - s.first;
		SORT(j->parts + s.first, s.part_count, parts_by_unused);
		if (s.objects > 0)
			j->stacks[j->stack_count++] = s;
	}
	SORT(j->stacks, j->stack_count, stacks_by_unused);
}

static int by_class_then_unused(const void *a, const void *b, void *context)
{
	const struct join *j = context;
	const struct join_part *x = &j->parts[*(const size_t *)a];
	const struct join_part *y = &j->parts[*(const size_t *)b];

	if (x->class != y->class)
		return x->class < y->class ? -1 : 1;
	if (x->objects != y->objects)
		return x->objects < y->objects ? 1 : -1;
	return (x->stack > y->stack) - (x->stack < y->stack);
}

static void order_by_class(struct join *j)
{
	size_t first = 0;

	j->by_class = xcalloc(j->part_count + 1, sizeof(*j->by_class));
	for (size_t i = 0; i < j->part_count; i++)
		j->by_class[i] = i;
	SORT_WITH(j->by_class, j->part_count, by_class_then_unused, j);
	for (size_t i = 0; i < j->class_count; i++) {
		j->classes[i].first = first;
		first += j->classes[i].part_count;
	}
}

int join_compute(struct join *j, const struct profile *p, const struct stats *s,
		 const struct stats_arena *a, struct err *err)
{
	auto_free bool *mixed = xcalloc(p->stack_count + 1, sizeof(*mixed));

	*j = (struct join){ .stats = s, .profile = p };
	waterfall_make(&j->waterfall, s, a);
	take_classes(j, s, a);
	if (!j->class_count)
		return err_set(err, -ENODATA,
			       "the statistics have no size classes: print them without b and l");
	find_home(j, s, a);
	take_mixed_lines(j, p, take_plain_lines(j, p, mixed));
	merge_parts(j);
	charge(j, p->rate);
	make_stacks(j, p, mixed);
	order_by_class(j);
	return 0;
}

void join_release(struct join *j)
{
	waterfall_release(&j->waterfall);
	free(j->classes);
	free(j->parts);
	free(j->by_class);
	free(j->stacks);
	*j = (struct join){ 0 };
}
