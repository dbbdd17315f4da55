/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the allocator underneath.
 *
 * The first hook that runs, usually in the loader before any constructor, resolves them all with
 * dlsym.  dlsym may allocate: what it asks for meanwhile comes from a small static area, and a
 * block from there is never freed, only remembered by its address. */
#include "recorder/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

char real_early_area[EARLY_SIZE] __attribute__((aligned(64)));
static _Atomic size_t early_used;
bool real_comes_first;

struct early_head {
	size_t size;
	size_t pad;
};

static void *early_alloc(size_t alignment, size_t size)
{
	size_t at, start;

	if (size > EARLY_SIZE)
		return NULL;
	alignment = alignment < 16 ? 16 : alignment;
	at = atomic_load(&early_used);
	do {
		start = (at + sizeof(struct early_head) + alignment - 1) & ~(alignment - 1);
		if (start + size > EARLY_SIZE)
			return NULL;
	} while (!atomic_compare_exchange_weak(&early_used, &at, start + size));
	((struct early_head *)(real_early_area + start))[-1].size = size;
	rt_count(COUNTER_early_blocks, 1);
	return real_early_area + start;
}

size_t real_early_size(const void *p)
{
	return ((const struct early_head *)p)[-1].size;
}

/* What the table holds until it is resolved. */

static void *boot_malloc(size_t size)
{
	real_init();
	return real.malloc == boot_malloc ? early_alloc(16, size) : real.malloc(size);
}

static void *boot_calloc(size_t n, size_t size)
{
	size_t bytes;

	real_init();
	if (real.calloc != boot_calloc)
		return real.calloc(n, size);
	return __builtin_mul_overflow(n, size, &bytes) ? NULL : early_alloc(16, bytes);
}

static void *boot_realloc(void *p, size_t size)
{
	real_init();
	if (real.realloc != boot_realloc)
		return real.realloc(p, size);
	/* Early blocks never come here: the hook moves them itself. */
	return p ? NULL : early_alloc(16, size);
}

static void boot_free(void *p)
{
	real_init();
	if (real.free != boot_free)
		real.free(p);
}

static void *boot_memalign(size_t alignment, size_t size)
{
	real_init();
	return real.memalign == boot_memalign ? early_alloc(alignment, size) :
						real.memalign(alignment, size);
}

static void *boot_aligned_alloc(size_t alignment, size_t size)
{
	real_init();
	return real.aligned_alloc == boot_aligned_alloc ? early_alloc(alignment, size) :
							  real.aligned_alloc(alignment, size);
}

static int boot_posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p;

	real_init();
	if (real.posix_memalign != boot_posix_memalign)
		return real.posix_memalign(ret, alignment, size);
	p = early_alloc(alignment, size);
	if (p)
		*ret = p;
	return p ? 0 : ENOMEM;
}

struct real real = {
	.malloc = boot_malloc,
	.calloc = boot_calloc,
	.realloc = boot_realloc,
	.free = boot_free,
	.memalign = boot_memalign,
	.aligned_alloc = boot_aligned_alloc,
	.posix_memalign = boot_posix_memalign,
};

/* For an allocator that lacks them. */

static void *plain_reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return real.realloc(p, bytes);
}

static void plain_free_sized(void *p, size_t size)
{
	(void)size;
	real.free(p);
}

static void plain_free_aligned_sized(void *p, size_t alignment, size_t size)
{
	(void)alignment;
	(void)size;
	real.free(p);
}

static size_t plain_usable_size(void *p)
{
	(void)p;
	return 0;
}

static bool needed(const char *name, bool comes_first, bool foreign)
{
	/* Asking for what is not there makes dlsym build an error text: the ones that only other
	 * allocators have are asked for only then. */
	if (comes_first || foreign)
		return true;
	for (unsigned i = 0; i < hook_row_count; i++)
		if (!strcmp(hook_rows[i].name, name))
			return hook_rows[i].exported && strncmp(name, "free_", 5) != 0;
	return true;
}

void real_init(void)
{
	static _Atomic uint32_t started;
	struct real found = { 0 };
	void *first, *libc;
	struct dl_find_object o;
	bool foreign;

	if (atomic_exchange(&started, 1))
		return;
	first = dlsym(RTLD_DEFAULT, "malloc");
	libc = dlsym(RTLD_DEFAULT, "__libc_malloc");
	real_comes_first = first && first != hook_rows[0].hook;
	found.malloc = real_comes_first ? first : dlsym(RTLD_NEXT, "malloc");
	foreign = !libc || (void *)found.malloc != libc;
	for (unsigned i = 0; i < hook_row_count; i++) {
		const struct hook_row *row = &hook_rows[i];
		void **slot = (void **)((char *)&found + ((char *)row->real - (char *)&real));
		void *f;

		if (!needed(row->name, real_comes_first, foreign))
			continue;
		f = dlsym(real_comes_first ? RTLD_DEFAULT : RTLD_NEXT, row->name);
		*slot = f == row->hook ? dlsym(RTLD_NEXT, row->name) : f;
	}
	dlerror(); /* the program's first call must not see ours */
	if (!found.reallocarray)
		found.reallocarray = plain_reallocarray;
	if (!found.free_sized)
		found.free_sized = plain_free_sized;
	if (!found.free_aligned_sized)
		found.free_aligned_sized = plain_free_aligned_sized;
	if (!found.malloc_usable_size)
		found.malloc_usable_size = plain_usable_size;
	rt.glibc = !foreign;
	if (foreign && _dl_find_object && !_dl_find_object((void *)found.malloc, &o)) {
		rt.allocator_low = (uint64_t)o.dlfo_map_start;
		rt.allocator_size = (uint64_t)o.dlfo_map_end - rt.allocator_low;
	}
	real = found;
}
