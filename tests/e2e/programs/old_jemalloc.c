/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A library that answers mallctl() as jemalloc 3.6 and 4.5 do, as far as the agent asks, by what
 * their sources say: names that there are, numbers for all arenas, and a dump that fails in a
 * thread that never allocated (3.6).  Memory is libc's.  -DRELEASE=30600 or 40500. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *p);

#define ARENAS 4u

static __thread bool known; /* what profiling keeps of a thread is there */
static bool active = true, initialized[ARENAS] = { true, true, false, false };
static ssize_t decay_time[ARENAS + 1] = { 10, 10, 10, 10, 10 };
static unsigned purged; /* bits of arenas, and of all */
static unsigned arena_of_thread;
static uint64_t epoch;

void *malloc(size_t size)
{
	known = true;
	return __libc_malloc(size);
}

void free(void *p)
{
	__libc_free(p);
}

static int value(void *own, size_t size, void *old, size_t *old_size, const void *new, size_t n)
{
	if (old) {
		if (*old_size != size)
			return EINVAL;
		memcpy(old, own, size);
	}
	if (new) {
		if (n != size)
			return EINVAL;
		memcpy(own, new, size);
	}
	return 0;
}

static int read_only(const void *own, size_t size, void *old, size_t *old_size, const void *new)
{
	return new ? EPERM : value((void *)own, size, old, old_size, NULL, 0);
}

static int dump(const void *new, size_t n)
{
	const char *path;
	FILE *file;

	if (!new || n != sizeof(path))
		return EINVAL;
	memcpy(&path, new, sizeof(path));
	if (RELEASE < 40000 && !known)
		return EFAULT;
	file = fopen(path, "w");
	if (!file)
		return EFAULT;
	fputs("heap profile: 1: 64 [1: 64] @ heap_v2/524288\n1: 64 [1: 64] @ 0x1000 0x2000\n"
	      "\nMAPPED_LIBRARIES:\n",
	      file);
	return fclose(file) ? EFAULT : 0;
}

static int of_arena(const char *name, void *old, size_t *old_size, const void *new, size_t n)
{
	unsigned arena;
	char what[32];

	if (sscanf(name, "arena.%u.%31s", &arena, what) != 2)
		return ENOENT;
	if (arena > ARENAS)
		return EFAULT;
	if (!strcmp(what, "purge") || (RELEASE >= 40100 && !strcmp(what, "decay"))) {
		purged |= 1u << arena;
		return 0;
	}
	if (RELEASE >= 40100 && !strcmp(what, "decay_time"))
		return arena < ARENAS && initialized[arena]
			       ? value(&decay_time[arena], sizeof(ssize_t), old, old_size, new, n)
			       : EFAULT;
	return ENOENT;
}

int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t n)
{
	static const char *version = RELEASE == 30600
					     ? "3.6.0-0-g46c0af68bd248b04df75e4f92d5fb804c3d75340"
					     : "4.5.0-0-g04380e79f1e2428bd0ad000bbc6e3d2dfc6b66a5";
	static const char *purge = "decay";
	static const size_t resident = 1 << 20;
	static const bool yes = true;
	static const unsigned arenas = ARENAS;

	if (!strcmp(name, "version"))
		return read_only(&version, sizeof(version), old, old_size, new);
	if (!strcmp(name, "epoch"))
		return value(&epoch, sizeof(epoch), old, old_size, new, n);
	if (!strcmp(name, "opt.prof"))
		return read_only(&yes, sizeof(yes), old, old_size, new);
	if (!strcmp(name, "prof.active"))
		return value(&active, sizeof(active), old, old_size, new, n);
	if (!strcmp(name, "prof.dump"))
		return dump(new, n);
	if (!strcmp(name, "thread.arena"))
		return value(&arena_of_thread, sizeof(arena_of_thread), old, old_size, new, n);
	if (!strcmp(name, "arenas.narenas"))
		return read_only(&arenas, sizeof(arenas), old, old_size, new);
	if (!strcmp(name, "arenas.initialized"))
		return read_only(initialized, sizeof(initialized), old, old_size, new);
	if (!strcmp(name, "stats.allocated") ||
	    (RELEASE >= 40000 && !strcmp(name, "stats.resident")))
		return read_only(&resident, sizeof(resident), old, old_size, new);
	if (RELEASE >= 40100 && !strcmp(name, "opt.purge"))
		return read_only(&purge, sizeof(purge), old, old_size, new);
	if (RELEASE >= 40100 && !strcmp(name, "arenas.decay_time"))
		return value(&decay_time[ARENAS], sizeof(ssize_t), old, old_size, new, n);
	/* For the test: what was purged. */
	if (!strcmp(name, "arenas.page"))
		return read_only(&(size_t){ purged }, sizeof(size_t), old, old_size, new);
	return strncmp(name, "arena.", 6) ? ENOENT : of_arena(name, old, old_size, new, n);
}

int mallctlnametomib(const char *name, size_t *mib, size_t *length)
{
	return ENOENT;
}

int mallctlbymib(const size_t *mib, size_t length, void *old, size_t *old_size, void *new, size_t n)
{
	return ENOENT;
}

void malloc_stats_print(void (*write)(void *, const char *), void *context, const char *options)
{
	write(context, "___ Begin jemalloc statistics ___\n--- End jemalloc statistics ---\n");
}
