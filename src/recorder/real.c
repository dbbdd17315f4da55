/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding the allocator underneath.
 *
 * The first hook that runs, usually in the loader before any constructor, looks them all up in the
 * tables of the loaded files.  Nothing is allocated and no lock is taken for that. */
#include "recorder/real.h"
#include "recorder/sys.h"
#include "target/elf.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

bool real_comes_first, real_own;
const struct link_map *real_map;
void *const *real_break;
void *(*real_dlopen)(const char *, int);
void *(*real_dlsym)(void *, const char *);

/* What the table holds until then.  A handler in the middle of the search gets nothing. */

static void *boot_malloc(size_t size)
{
	real_init();
	return real.malloc == boot_malloc ? NULL : real.malloc(size);
}

static void *boot_calloc(size_t n, size_t size)
{
	real_init();
	return real.calloc == boot_calloc ? NULL : real.calloc(n, size);
}

static void *boot_realloc(void *p, size_t size)
{
	real_init();
	return real.realloc == boot_realloc ? NULL : real.realloc(p, size);
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
	return real.memalign == boot_memalign ? NULL : real.memalign(alignment, size);
}

static void *boot_aligned_alloc(size_t alignment, size_t size)
{
	real_init();
	return real.aligned_alloc == boot_aligned_alloc ? NULL
							: real.aligned_alloc(alignment, size);
}

static int boot_posix_memalign(void **ret, size_t alignment, size_t size)
{
	real_init();
	return real.posix_memalign == boot_posix_memalign
		       ? ENOMEM
		       : real.posix_memalign(ret, alignment, size);
}

/* A program may map memory before it allocates any. */

static void *boot_mmap(void *hint, size_t length, int prot, int flags, int fd, off_t offset)
{
	real_init();
	if (real.mmap == boot_mmap) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return real.mmap(hint, length, prot, flags, fd, offset);
}

static void *boot_mmap64(void *hint, size_t length, int prot, int flags, int fd, off64_t offset)
{
	real_init();
	if (real.mmap64 == boot_mmap64) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return real.mmap64(hint, length, prot, flags, fd, offset);
}

static int boot_munmap(void *p, size_t length)
{
	real_init();
	if (real.munmap == boot_munmap) {
		errno = EINVAL;
		return -1;
	}
	return real.munmap(p, length);
}

static int boot_mprotect(void *p, size_t length, int protection)
{
	real_init();
	if (real.mprotect == boot_mprotect) {
		errno = ENOMEM;
		return -1;
	}
	return real.mprotect(p, length, protection);
}

static int boot_madvise(void *p, size_t length, int advice)
{
	real_init();
	if (real.madvise == boot_madvise) {
		errno = EAGAIN;
		return -1;
	}
	return real.madvise(p, length, advice);
}

static void *boot_mremap(void *p, size_t old_length, size_t length, int flags, ...)
{
	void *to = NULL;
	va_list list;

	va_start(list, flags);
	if (flags & MREMAP_FIXED)
		to = va_arg(list, void *);
	va_end(list);
	real_init();
	if (real.mremap == boot_mremap) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return real.mremap(p, old_length, length, flags, to);
}

/* A handler in the middle of the search gets what the kernel says. */
static long boot_syscall(long number, ...)
{
	long a[6], result;
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	real_init();
	if (real.syscall != boot_syscall)
		return real.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	result = sys_call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!sys_failed(result))
		return result;
	errno = (int)-result;
	return -1;
}

struct real real = {
	.syscall = boot_syscall,
	.mmap = boot_mmap,
	.mmap64 = boot_mmap64,
	.munmap = boot_munmap,
	.mprotect = boot_mprotect,
	.madvise = boot_madvise,
	.mremap = boot_mremap,
	.malloc = boot_malloc,
	.calloc = boot_calloc,
	.realloc = boot_realloc,
	.free = boot_free,
	.memalign = boot_memalign,
	.aligned_alloc = boot_aligned_alloc,
	.posix_memalign = boot_posix_memalign,
};

/* For an allocator that lacks them, or has them only on top of others. */

static void *plain_reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return real.realloc(p, bytes);
}

static void (*own_free)(void *); /* the executable's, if it has one */

static void plain_free_sized(void *p, size_t size)
{
	(void)size;
	if (own_free)
		own_free(p);
	else
		real.free(p);
}

static void plain_free_aligned_sized(void *p, size_t alignment, size_t size)
{
	(void)alignment;
	plain_free_sized(p, size);
}

static size_t plain_usable_size(void *p)
{
	(void)p;
	return 0;
}

static bool is_us(const struct link_map *map)
{
	struct elf_image image;

	return elf_read(map, &image) && elf_find(&image, hook_rows[0].name) == hook_rows[0].hook;
}

/* The first definition of a name from `map` on, ours left out. */
static void *find_from(const struct link_map *map, const char *name,
		       const struct link_map **ret_map)
{
	struct elf_image image;
	void *p;

	for (; map; map = map->l_next) {
		if (!elf_read(map, &image) || is_us(map) || !(p = elf_find(&image, name)))
			continue;
		if (ret_map)
			*ret_map = map;
		return p;
	}
	return NULL;
}

void real_init(void)
{
	static _Atomic uint32_t started;
	const struct link_map *us = _r_debug.r_map, *from, *libc = NULL;
	struct real found = { 0 };
	struct elf_image image;
	struct dl_find_object o;
	char room[HOOK_SYMBOL_MAX];

	if (atomic_exchange(&started, 1))
		return;
	find_from(_r_debug.r_map, "malloc", &real_map);
	while (us && !is_us(us))
		us = us->l_next;
	from = us;
	/* The executable's own is hooked where it is (inplace.c).  Who comes to us has asked for
	 * the next one, or does not see the executable's. */
	real_own = real_map == _r_debug.r_map;
	if (real_own) {
		if (elf_read(real_map, &image))
			own_free = (void (*)(void *))elf_find(&image, "free");
		find_from(us, "malloc", &real_map);
	}
	for (const struct link_map *m = us; m; m = m->l_prev)
		real_comes_first |= m == real_map;
	if (real_comes_first)
		from = _r_debug.r_map;
	for (unsigned i = 0; i < hook_row_count; i++) {
		void **slot =
			(void **)((char *)&found + ((char *)hook_rows[i].real - (char *)&real));

		*slot = find_from(from, hook_symbol(&hook_rows[i], room), NULL);
	}
	find_from(_r_debug.r_map, "gnu_get_libc_version", &libc);
	rt.glibc = real_map == libc;
	if (libc && elf_read(libc, &image)) {
		real_dlopen = elf_find(&image, "dlopen");
		real_dlsym = elf_find(&image, "dlsym");
		real_break = elf_find_object(&image, "__curbrk");
	}
	/* libc's own calls realloc by name, which would be us again; or the executable's, and then
	 * that is what is recorded. */
	if (!elf_read(real_map, &image) || (rt.glibc && !real_own) ||
	    !elf_find(&image, "reallocarray"))
		found.reallocarray = plain_reallocarray;
	if (!found.free_sized)
		found.free_sized = plain_free_sized;
	if (!found.free_aligned_sized)
		found.free_aligned_sized = plain_free_aligned_sized;
	if (!found.malloc_usable_size)
		found.malloc_usable_size = plain_usable_size;
	/* Another allocator's would not know the block. */
	found.usable = plain_usable_size;
	if (elf_read(real_map, &image) && elf_find(&image, "malloc_usable_size"))
		found.usable = found.malloc_usable_size;
	rt.watch_callers = !rt.glibc;
	if (!rt.glibc && _dl_find_object && !_dl_find_object((void *)found.malloc, &o)) {
		rt.allocator_low = (uintptr_t)o.dlfo_map_start;
		rt.allocator_size = (uintptr_t)o.dlfo_map_end - rt.allocator_low;
	}
	if (libc && _dl_find_object && !_dl_find_object((void *)libc->l_ld, &o)) {
		rt.libc_low = (uintptr_t)o.dlfo_map_start;
		rt.libc_size = (uintptr_t)o.dlfo_map_end - rt.libc_low;
	}
	if (_dl_find_object && !_dl_find_object((void *)real_init, &o)) {
		rt.own_low = (uintptr_t)o.dlfo_map_start;
		rt.own_size = (uintptr_t)o.dlfo_map_end - rt.own_low;
	}
	if (_dl_find_object && !_dl_find_object((void *)_r_debug.r_ldbase, &o)) {
		rt.loader_low = (uintptr_t)o.dlfo_map_start;
		rt.loader_size = (uintptr_t)o.dlfo_map_end - rt.loader_low;
	}
	real = found;
}
