/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unwind information that a JIT has registered (__register_frame).
 *
 * A list of what was registered and what addresses it is about; it is looked at when a return
 * address is met for the first time, under the recorder's lock.  A registration that goes waits for
 * that lock, so its records are not read after its owner has freed them; and rules that were made
 * from it are forgotten everywhere (the generation of modules is raised), since the place may hold
 * other code next.  So are rules and guesses about code that is described anew.
 *
 * Records are read where the program has them: a page is probed first, every time. */
#include "recorder/hooks.h"
#include "recorder/sys.h"
#include "unwind/cfi.h"

#include <dlfcn.h>

struct registration {
	const uint8_t *records, *end; /* NULL: free */
	uint64_t low, high;
	uint64_t number; /* as they came */
	bool used;	 /* a rule was made from it */
};

#define BLOCK 256u
#define MAX_BLOCKS 512u

static struct registration *blocks[MAX_BLOCKS];
static uint32_t count; /* entries in use, and free ones between them */
static uint64_t last_number;
static uint64_t guessed[64]; /* addresses; more are only counted */
static uint32_t guessed_count;

static struct registration *entry(uint32_t i)
{
	return &blocks[i / BLOCK][i % BLOCK];
}

static struct registration *registered(const void *records)
{
	for (uint32_t i = 0; i < count; i++)
		if (entry(i)->records == records)
			return entry(i);
	return NULL;
}

static struct registration *take_entry(void)
{
	struct registration *free_one = registered(NULL);

	if (free_one)
		return free_one;
	if (count == BLOCK * MAX_BLOCKS)
		return NULL;
	if (!blocks[count / BLOCK] && !(blocks[count / BLOCK] = rt_map(BLOCK * sizeof(*free_one))))
		return NULL;
	return entry(count++);
}

static bool readable(const void *p)
{
	return sys_readable((const void *)(uintptr_t)((uintptr_t)p & ~7ull));
}

static void forget_rules(void)
{
	modules_changed();
	guessed_count = 0;
}

static bool was_guessed(const struct cfi_span *span)
{
	if (guessed_count > sizeof(guessed) / sizeof(guessed[0]))
		return true;
	for (uint32_t i = 0; i < guessed_count; i++)
		if (guessed[i] - span->low < span->high - span->low)
			return true;
	return false;
}

/* Was a rule made from an older registration that nobody took back? */
static bool was_used(const struct cfi_span *span)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct registration *r = entry(i);

		if (r->used && r->low < span->high && span->low < r->high)
			return true;
	}
	return false;
}

void frames_add(const void *records)
{
	static struct cfi_scratch scratch; /* under the lock */
	struct rt_lock_state lock;
	struct registration *r;
	struct cfi_span span;

	if (!rt.shm || !records)
		return;
	if (!rt_lock(&lock))
		return;
	if (cfi_span(records, readable, &scratch, &span)) {
		if (was_guessed(&span) || was_used(&span))
			forget_rules();
		r = registered(records);
		if (!r)
			r = take_entry();
		if (r)
			*r = (struct registration){ records,   span.end,      span.low,
						    span.high, ++last_number, false };
	}
	rt_unlock(&lock);
}

void frames_remove(const void *records)
{
	struct rt_lock_state lock;
	struct registration *r;

	if (!rt.shm || !records)
		return;
	if (!rt_lock(&lock))
		return;
	r = registered(records);
	if (r) {
		if (r->used)
			forget_rules();
		*r = (struct registration){ 0 };
	}
	rt_unlock(&lock);
}

static bool all_readable(const struct registration *r)
{
	for (uint64_t page = page_down((uintptr_t)r->records); page < (uintptr_t)r->end;
	     page += arch_page())
		if (!readable((const void *)(uintptr_t)page))
			return false;
	return true;
}

bool frames_find(uint64_t address, struct cfi_image *ret_image)
{
	struct registration *found = NULL;

	/* The newest counts, should one have been left behind. */
	for (uint32_t i = 0; i < count; i++) {
		struct registration *r = entry(i);

		if (r->records && address - r->low < r->high - r->low &&
		    (!found || r->number > found->number))
			found = r;
	}
	if (!found || !all_readable(found))
		return false;
	found->used = true;
	*ret_image = (struct cfi_image){ .low = found->records,
					 .high = found->end,
					 .frames = found->records };
	return true;
}

void frames_guessed(uint64_t address)
{
	if (guessed_count < sizeof(guessed) / sizeof(guessed[0]))
		guessed[guessed_count] = address;
	if (guessed_count <= sizeof(guessed) / sizeof(guessed[0]))
		guessed_count++;
}

void frames_find_real(void)
{
	void *libgcc = real_dlopen ? real_dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *add, *take;

	if (!libgcc || !real_dlsym)
		return;
	add = real_dlsym(libgcc, "__register_frame");
	take = real_dlsym(libgcc, "__deregister_frame");
	if (add && take) {
		real.__register_frame = (void (*)(void *))add;
		real.__deregister_frame = (void (*)(void *))take;
	}
}
