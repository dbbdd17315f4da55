/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Rules.  See advice.h.
 *
 * Each looks at one snapshot and says nothing below a size that anybody would act on: 8 MiB and a
 * twentieth of what it is a part of.  "do" is for what one snapshot proves; where it only hints,
 * the rule says "maybe", and what to measure.  A setting is named only if the version has it, if it
 * would change something, and if what it is to give back is where the setting works.
 * tests/unit/test_advice.c has snapshots for each rule in which it is right and in which it is not.
 */
#include "jemalloc/advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/human.h"
#include "base/order.h"

#define WORTH (UINT64_C(8) << 20)
#define LIVE_ARENAS_MANY 8
#define WAITS_MANY 1000
#define WAIT_SHARE 1000		     /* of its age that a process waited for one lock is felt */
#define DECAY_SHORT 1000u	     /* ms */
#define FIRST_OBLIVIOUS_OPTION 50300 /* releases that have an option of that name */
#define FIRST_TCACHE_MAX 50300

const char *const advice_weights[] = { "info", "maybe", "do" };

struct facts {
	const struct stats *s;
	const struct stats_arena *a;
	const struct waterfall *w;
	uint64_t page;
	bool background; /* jemalloc's own threads purge */
	bool background_known;
};

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

static bool worth(uint64_t bytes, uint64_t of, unsigned share)
{
	return bytes >= WORTH && bytes >= of / share;
}

static uint64_t largest(const struct facts *f)
{
	uint64_t of = stats_known(f->w->resident);

	return of ? of : stats_known(f->w->active);
}

static bool dirty(const struct facts *f, struct advice *r)
{
	uint64_t pages = stats_known(f->a->value[STATS_ARENA_PDIRTY]), bytes = pages * f->page;
	uint64_t decay = f->s->shape[STATS_SHAPE_DIRTY_DECAY_MS];
	bool waits =
		f->background && decay < STATS_NONE; /* they are purged by then, at the latest */
	char time[64] = "";

	if (!worth(bytes, largest(f), 20))
		return false;
	r->weight = waits ? ADVICE_MAYBE : ADVICE_DO;
	r->bytes = bytes;
	if (decay != STATS_NONE)
		SAY(time, ", dirty_decay_ms is %" PRId64, (int64_t)decay);
	SAY(r->what, "Freed pages stay resident: %s of dirty pages wait to be reused or purged.",
	    size_text(bytes));
	SAY(r->evidence, "%s dirty pages, %s of %s%s%s", count_text(pages),
	    share_text(bytes, largest(f)),
	    f->w->resident != STATS_NONE ? "what is resident" : "what is active", time,
	    f->background_known ? f->background ? ", background_thread is on"
						: ", background_thread is off: an idle process "
						  "never purges"
				: "");
	if (!waits || decay > DECAY_SHORT)
		SAY(r->setting, "%sdirty_decay_ms:%u",
		    f->background ? "" : "background_thread:true,", DECAY_SHORT);
	if (waits)
		SAY(r->control,
		    "measure whether they are still there after %" PRIu64
		    " ms without frees: what the program reuses by then costs nothing",
		    decay);
	else
		SAY(r->control, "arena.4096.purge gives them back now; arenas.dirty_decay_ms and "
				"background_thread can be set while it runs");
	return true;
}

static bool muzzy(const struct facts *f, struct advice *r)
{
	uint64_t bytes = stats_known(f->a->value[STATS_ARENA_PMUZZY]) * f->page;
	uint64_t decay = f->s->shape[STATS_SHAPE_MUZZY_DECAY_MS];

	if (!worth(bytes, largest(f), 20))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what,
	    "%s of muzzy pages: the kernel may take them, and counts them as the process's "
	    "until then.",
	    size_text(bytes));
	SAY(r->evidence, "%s muzzy pages, muzzy_decay_ms is %" PRId64,
	    count_text(bytes / (f->page ? f->page : 1)), (int64_t)stats_known(decay));
	if (decay)
		SAY(r->setting, "muzzy_decay_ms:0");
	SAY(r->control, "arena.4096.purge; arenas.muzzy_decay_ms. Harmless where nobody judges the "
			"process by its resident size");
	return true;
}

static bool never_purged(const struct facts *f, struct advice *r)
{
	uint64_t bytes = stats_known(f->a->value[STATS_ARENA_PDIRTY]) * f->page;

	if (f->s->shape[STATS_SHAPE_DIRTY_DECAY_MS] != UINT64_MAX)
		return false;
	r->weight = worth(bytes, largest(f), 20) ? ADVICE_DO : ADVICE_INFO;
	SAY(r->what, "Freed pages are never given back to the kernel.");
	SAY(r->evidence, "dirty_decay_ms is -1, %s of dirty pages now", size_text(bytes));
	if (r->weight == ADVICE_DO)
		SAY(r->setting, "dirty_decay_ms:10000");
	SAY(r->control,
	    "arenas.dirty_decay_ms and arena.<i>.dirty_decay_ms can be set while it runs");
	return true;
}

/* A field of all arenas, or what is active and not allocated: how it is spread. */
struct spread {
	unsigned arenas; /* that have some */
	uint64_t sum, most;
	unsigned many; /* arenas with at least a quarter of an equal share */
};

static uint64_t free_of(const struct stats_arena *a)
{
	uint64_t active = stats_known(a->value[STATS_ARENA_ACTIVE]);
	uint64_t allocated = stats_known(a->value[STATS_ARENA_TOTAL_ALLOCATED]);

	return active > allocated ? active - allocated : 0;
}

static uint64_t base_of(const struct stats_arena *a)
{
	return stats_known(a->value[STATS_ARENA_BASE]);
}

static uint64_t active_of(const struct stats_arena *a)
{
	return stats_known(a->value[STATS_ARENA_ACTIVE]);
}

static struct spread spread_over(const struct stats *s, uint64_t (*of)(const struct stats_arena *a))
{
	struct spread p = { 0 };

	for (size_t i = 0; i < s->arena_count; i++) {
		uint64_t bytes = s->arenas[i].id >= 0 ? of(&s->arenas[i]) : 0;

		p.arenas += bytes > 0;
		p.sum += bytes;
		p.most = bytes > p.most ? bytes : p.most;
	}
	for (size_t i = 0; i < s->arena_count && p.arenas; i++)
		if (s->arenas[i].id >= 0)
			p.many += of(&s->arenas[i]) > p.sum / p.arenas / 4;
	return p;
}

static unsigned live_arenas(const struct stats *s)
{
	return spread_over(s, active_of).arenas;
}

/* What fewer arenas would share: free memory that is not in the arena with most of it, which would
 * still have its own.  0 if it is in a few of them only. */
static uint64_t shareable(const struct facts *f)
{
	struct spread free_bytes = spread_over(f->s, free_of);

	return free_bytes.many >= LIVE_ARENAS_MANY ? free_bytes.sum - free_bytes.most : 0;
}

static bool is_contended(const struct facts *f);

static bool arenas(const struct facts *f, struct advice *r)
{
	uint64_t active = stats_known(f->w->active), bytes = shareable(f);
	unsigned live = live_arenas(f->s);

	/* Fewer arenas would make threads wait even more. */
	if (!worth(bytes, active, 4) || is_contended(f))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what, "Many arenas, each with partly filled slabs: fewer would share them.");
	SAY(r->evidence,
	    "%u arenas in use, %s (%s) of their active pages free beside the arena with most", live,
	    size_text(bytes), share_text(bytes, active));
	SAY(r->setting, "narenas:%u", live / 4);
	SAY(r->control, "only at the start of the process. Measure both runs under the same load: "
			"resident, and the waits of its mutexes");
	return true;
}

static bool slabs(const struct facts *f, struct advice *r)
{
	uint64_t active = stats_known(f->w->active), bytes;
	const struct waterfall_bin *b = f->w->bins;

	bytes = f->w->step[WATERFALL_SLABS] > 0 ? (uint64_t)f->w->step[WATERFALL_SLABS] : 0;
	if (!f->w->bin_count || !worth(bytes, active, 10) || b->bytes <= 0)
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what,
	    "Slabs are kept by a few blocks each: %s of them is free and cannot be given back.",
	    size_text(bytes));
	SAY(r->evidence,
	    "%s of what is active; most in blocks of %" PRIu64 ": %" PRIu64 " of %" PRIu64
	    " regions used in %" PRIu64 " slabs, %s free",
	    share_text(bytes, active), b->size, b->used, b->regions, b->slabs,
	    size_text((uint64_t)b->bytes));
	SAY(r->control,
	    "no control moves blocks: a heap profile (prof:true) and memoir jemalloc join name who "
	    "holds those of %" PRIu64 " bytes",
	    b->size);
	return true;
}

static bool padding(const struct facts *f, struct advice *r)
{
	uint64_t bytes = (uint64_t)f->w->step[WATERFALL_PADDING];

	if (!f->w->padded || !worth(bytes, stats_known(f->w->active), 20))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what, "Each large block takes a page more than it needs: %s.", size_text(bytes));
	SAY(r->evidence, "%s large blocks, cache_oblivious is true", count_text(f->w->large_count));
	if (f->s->release >= FIRST_OBLIVIOUS_OPTION)
		SAY(r->setting, "cache_oblivious:false");
	SAY(r->control, "only at the start of the process, from 5.3 on; before, when jemalloc is "
			"built");
	return true;
}

static bool tcache(const struct facts *f, struct advice *r)
{
	uint64_t bytes = (uint64_t)f->w->step[WATERFALL_TCACHE];

	if (!worth(bytes, stats_known(f->w->allocated), 10))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what, "Threads keep %s of freed blocks in their caches.", size_text(bytes));
	SAY(r->evidence, "%s of what is allocated, %" PRIu64 " threads, tcache_max is %" PRIu64,
	    share_text(bytes, stats_known(f->w->allocated)),
	    stats_known(f->a->value[STATS_ARENA_NTHREADS]),
	    stats_known(f->s->shape[STATS_SHAPE_TCACHE_MAX]));
	/* Without a limit that is lower than the one there is, nothing would change. */
	if (stats_known(f->s->shape[STATS_SHAPE_TCACHE_MAX]) > 4096)
		SAY(r->setting,
		    f->s->release >= FIRST_TCACHE_MAX ? "tcache_max:4096" : "lg_tcache_max:12");
	SAY(r->control, "thread.tcache.flush, called by each thread before it sleeps");
	return true;
}

static bool metadata(const struct facts *f, struct advice *r)
{
	uint64_t bytes = stats_known(f->s->total[STATS_TOTAL_METADATA]);
	const char *prof = stats_setting(f->s, "opt.prof");
	struct spread base = spread_over(f->s, base_of);

	if (!worth(bytes, largest(f), 5))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what, "jemalloc's own structures take %s.", size_text(bytes));
	SAY(r->evidence, "%s of %s, %u arenas in use%s", share_text(bytes, largest(f)),
	    f->w->resident != STATS_NONE ? "what is resident" : "what is active", live_arenas(f->s),
	    prof && !strcmp(prof, "true") ? ", with the tables of the heap profiler" : "");
	/* Each arena has some; that of a single one does not become less with their number. */
	if (base.many > 2 && base.sum - base.most >= bytes / 2 && !is_contended(f)) {
		SAY(r->setting, "narenas:%u", base.many / 2);
		SAY(r->control, "only at the start of the process");
	} else {
		SAY(r->control,
		    "it grows with what was ever mapped: retained address space and the "
		    "number of live blocks say more");
	}
	return true;
}

/* Memory of the heap profiler itself, as far as it is known or likely. */
static bool profiler(const struct facts *f, struct advice *r)
{
	const struct sampled *p = &f->w->sampled;
	uint64_t bytes = p->allocated + p->pages;
	const char *lg = stats_setting(f->s, "prof.lg_sample");

	if (!lg)
		lg = stats_setting(f->s, "opt.lg_prof_sample");
	if (!worth(bytes, stats_known(f->w->active), 20))
		return false;
	r->weight = ADVICE_MAYBE;
	r->bytes = bytes;
	SAY(r->what, "The heap profiler itself takes %s%s: the program would not without it.",
	    p->estimated ? "about " : "", size_text(bytes));
	SAY(r->evidence, "%s of what is active, %s small blocks that were sampled%s%s",
	    share_text(bytes, stats_known(f->w->active)), count_text(p->count),
	    lg ? ", lg_prof_sample is " : "", lg ? lg : "");
	if (lg)
		SAY(r->setting, "lg_prof_sample:%lu", strtoul(lg, NULL, 10) + 2);
	SAY(r->control, "prof.reset with a larger number starts over while it runs");
	return true;
}

static bool retained(const struct facts *f, struct advice *r)
{
	uint64_t bytes = stats_known(f->w->retained);

	if (!worth(bytes, largest(f), 1))
		return false;
	r->weight = ADVICE_INFO;
	r->bytes = bytes;
	SAY(r->what, "%s of address space is retained; that is not memory, and harmless.",
	    size_text(bytes));
	SAY(r->evidence, "retained %s, resident %s", size_text(bytes), size_text(largest(f)));
	SAY(r->control, "retain:false is for processes whose address space is limited (ulimit -v)");
	return true;
}

struct contention {
	const char *name;
	char bin[48];
	uint64_t ops, waits, wait_ns;
};

static void consider(struct contention *most, const char *name, uint64_t size, const uint64_t *v)
{
	uint64_t waits = stats_known(v[STATS_MUTEX_WAIT]);

	if (waits <= most->waits)
		return;
	most->waits = waits;
	most->ops = stats_known(v[STATS_MUTEX_OPS]);
	most->wait_ns = v[STATS_MUTEX_TOTAL_WAIT];
	most->name = name;
	if (!name) {
		SAY(most->bin, "of the bin of %" PRIu64 " bytes", size);
		most->name = most->bin;
	}
}

static struct contention most_contended(const struct facts *f)
{
	struct contention most = { .name = NULL };

	for (size_t i = 0; i < f->a->mutexes.count; i++)
		consider(&most, f->a->mutexes.list[i].name, 0, f->a->mutexes.list[i].value);
	for (size_t i = 0; i < f->a->bins.count; i++) {
		const uint64_t *b = stats_row(&f->a->bins, i);

		consider(&most, NULL, stats_known(b[STATS_BIN_SIZE]), b);
	}
	return most;
}

/* Often enough, and where it is known for how long, long enough to be felt. */
static bool is_contention(const struct facts *f, const struct contention *most)
{
	uint64_t age = stats_uptime(f->s);

	if (most->waits < WAITS_MANY || most->waits < most->ops / 100)
		return false;
	return most->wait_ns >= STATS_NONE || age >= STATS_NONE ||
	       most->wait_ns >= age / WAIT_SHARE;
}

static bool is_contended(const struct facts *f)
{
	struct contention most = most_contended(f);

	return is_contention(f, &most);
}

static bool contended(const struct facts *f, struct advice *r)
{
	struct contention most = most_contended(f);
	const char *percpu = stats_setting(f->s, "opt.percpu_arena");
	const char *narenas = stats_setting(f->s, "opt.narenas");
	unsigned long now = narenas ? strtoul(narenas, NULL, 10) : 0;
	bool timed = most.wait_ns < STATS_NONE;

	if (!is_contention(f, &most))
		return false;
	r->weight = timed ? ADVICE_DO : ADVICE_MAYBE;
	SAY(r->what, "Threads wait for each other in jemalloc: more arenas would keep them apart.");
	SAY(r->evidence, "the lock %s was waited for %s times in %s uses (%s)%s%s", most.name,
	    count_text(most.waits), count_text(most.ops), share_text(most.waits, most.ops),
	    timed ? ", together " : "", timed ? duration_text(most.wait_ns) : "");
	if (percpu && !strcmp(percpu, "disabled"))
		SAY(r->setting, "percpu_arena:percpu");
	else
		SAY(r->setting, "narenas:%lu", now && now < 1000 ? now * 2 : 16);
	if (timed)
		SAY(r->control, "only at the start of the process; stats.mutexes.reset begins "
				"counting from zero");
	else
		SAY(r->control, "measure for how long: this version's JSON does not say, its text "
				"does (total_wait_ns); a setting is for the start of the process");
	return true;
}

static bool abandoned(const struct facts *f, struct advice *r)
{
	uint64_t bytes = stats_known(f->a->value[STATS_ARENA_ABANDONED_VM]);

	if (!bytes)
		return false;
	r->weight = ADVICE_INFO;
	r->bytes = bytes;
	SAY(r->what, "%s of address space was given up since nothing could be kept about it.",
	    size_text(bytes));
	SAY(r->evidence, "abandoned_vm is %" PRIu64, bytes);
	return true;
}

static const struct {
	const char *id;
	bool (*applies)(const struct facts *, struct advice *);
} rules[] = {
	{ "dirty", dirty },	     { "never-purged", never_purged },
	{ "contention", contended }, { "arenas", arenas },
	{ "slabs", slabs },	     { "tcache", tcache },
	{ "muzzy", muzzy },	     { "large-padding", padding },
	{ "metadata", metadata },    { "profiler", profiler },
	{ "retained", retained },    { "abandoned", abandoned },
};
_Static_assert(sizeof(rules) / sizeof(*rules) <= ADVICE_MAX, "room for all rules");

ORDER(heavier, struct advice, FALLING(weight) ?: FALLING(bytes))

/* What is so now, where that was printed beside the option. */
static void find_background(struct facts *f)
{
	uint64_t threads = f->s->total[STATS_TOTAL_BACKGROUND_THREADS];
	const char *value = stats_setting(f->s, "opt.background_thread");

	f->background_known = threads < STATS_NONE || value;
	f->background = threads < STATS_NONE ? threads > 0 : value && !strcmp(value, "true");
}

unsigned advice_make(struct advice list[ADVICE_MAX], const struct stats *s,
		     const struct stats_arena *a, const struct waterfall *w)
{
	struct facts f = {
		.s = s, .a = a, .w = w, .page = stats_known(s->shape[STATS_SHAPE_PAGE])
	};
	unsigned count = 0;

	find_background(&f);
	for (unsigned i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		memset(&list[count], 0, sizeof(*list));
		list[count].id = rules[i].id;
		count += rules[i].applies(&f, &list[count]);
	}
	SORT(list, count, heavier);
	return count;
}
