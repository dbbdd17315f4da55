/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Finding jemalloc.  See jemalloc.h.
 *
 * The loaded files' dynamic symbols are asked first: a library, or a program that exports them.
 * Then the symbol tables in the files, for a jemalloc that was linked statically.  dlsym() is not
 * used: it would find what comes first, and this must be the allocator itself. */
#include "agent/jemalloc.h"

#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "agent/objects.h"
#include "target/elf.h"

struct jemalloc jemalloc;

static const char *const prefixes[] = { "", "je_", "_rjem_" };
#define FIRST_WITH_THREADS_OF_ITS_OWN                                                              \
	40000			    /* that makes what profiling keeps of a thread on demand */
#define FIRST_WITH_ALL_ARENAS 50000 /* that has a number for them */
#define ALL_ARENAS 4096u
#define ARENAS_MAX 4096u

static unsigned long long looked_at; /* how many files had ever been loaded then */

static void *lookup(const struct object *o, const char *prefix, const char *name, bool in_file)
{
	char full[64];
	struct link_map map = { .l_addr = o->bias, .l_name = (char *)o->path, .l_ld = o->dynamic };
	struct elf_image image;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	if (in_file)
		return objects_symbol(o, full);
	return o->dynamic && elf_read(&map, &image) ? elf_find(&image, full) : NULL;
}

static unsigned release_of(const char *version)
{
	unsigned part[3] = { 0 };

	for (unsigned i = 0; i < 3 && *version >= '0' && *version <= '9'; i++) {
		while (*version >= '0' && *version <= '9')
			part[i] = part[i] * 10 + (unsigned)(*version++ - '0');
		version += *version == '.';
	}
	return part[0] * 10000 + part[1] * 100 + part[2];
}

static bool try_object(const struct object *o, bool in_file)
{
	for (unsigned i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		void *ctl = lookup(o, prefixes[i], "mallctl", in_file), *print, *to_mib, *by_mib;
		const char *version;

		if (!ctl)
			continue;
		print = lookup(o, prefixes[i], "malloc_stats_print", in_file);
		to_mib = lookup(o, prefixes[i], "mallctlnametomib", in_file);
		by_mib = lookup(o, prefixes[i], "mallctlbymib", in_file);
		if (!print || !to_mib || !by_mib)
			continue;
		jemalloc.mallctl = (int (*)(const char *, void *, size_t *, void *, size_t))ctl;
		/* Others have a function of this name too. */
		if (jemalloc_get("version", &version) || !version) {
			jemalloc.mallctl = NULL;
			continue;
		}
		jemalloc.name_to_mib = (int (*)(const char *, size_t *, size_t *))to_mib;
		jemalloc.by_mib =
			(int (*)(const size_t *, size_t, void *, size_t *, void *, size_t))by_mib;
		jemalloc.stats_print =
			(void (*)(void (*)(void *, const char *), void *, const char *))print;
		snprintf(jemalloc.prefix, sizeof(jemalloc.prefix), "%s", prefixes[i]);
		snprintf(jemalloc.version, sizeof(jemalloc.version), "%s", version);
		jemalloc.release = release_of(version);
		if (jemalloc.release < FIRST_WITH_THREADS_OF_ITS_OWN) {
			jemalloc.malloc =
				(void *(*)(size_t))lookup(o, prefixes[i], "malloc", in_file);
			jemalloc.free = (void (*)(void *))lookup(o, prefixes[i], "free", in_file);
		}
		snprintf(jemalloc.file, sizeof(jemalloc.file), "%s", o->main ? "" : o->path);
		jemalloc.start = o->code_start;
		jemalloc.end = o->code_end;
		return true;
	}
	return false;
}

/* jemalloc gives every thread an arena at its first call of whatever, before any setting can be
 * made: a new one while there are any, and a cache.  So there is no such call until somebody asks;
 * then the agent's thread goes to the first arena, so that the program's next thread takes what it
 * would have taken, and keeps no cache. */
static void settle(void)
{
	unsigned first = 0;
	bool off = false;

	jemalloc_set("thread.arena", &first, sizeof(first));
	jemalloc_set("thread.tcache.enabled", &off, sizeof(off));
	if (jemalloc_get("opt.prof", &jemalloc.prof))
		jemalloc.prof = false;
}

bool jemalloc_find(void)
{
	struct objects list;
	bool found = false;

	if (jemalloc.mallctl)
		return true;
	if (!objects_changed(&looked_at))
		return false;
	objects_list(&list);
	for (int in_file = 0; in_file < 2; in_file++)
		for (size_t i = 0; i < list.count && !found; i++)
			found = try_object(&list.objects[i], in_file);
	objects_release(&list);
	if (found)
		settle();
	return found;
}

void jemalloc_reset(void)
{
	jemalloc = (struct jemalloc){ 0 };
	looked_at = 0;
}

int jemalloc_read(const char *name, void *ret, size_t size)
{
	size_t n = size;
	int e = jemalloc.mallctl ? jemalloc.mallctl(name, ret, &n, NULL, 0) : ENOSYS;

	return e ? e : n == size ? 0 : EINVAL;
}

void jemalloc_number_find(struct jemalloc_number *n, const char *name, size_t size)
{
	*n = (struct jemalloc_number){ .size = size, .depth = sizeof(n->mib) / sizeof(*n->mib) };
	snprintf(n->name, sizeof(n->name), "%s", name);
	if (!jemalloc.name_to_mib || jemalloc.name_to_mib(n->name, n->mib, &n->depth))
		n->size = 0;
}

int jemalloc_number_read(struct jemalloc_number *n, unsigned place, size_t index, uint64_t *ret)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;
	bool flag = false;
	size_t size = n->size;
	void *to = size == sizeof(wide)	    ? (void *)&wide
		   : size == sizeof(narrow) ? (void *)&narrow
					    : (void *)&flag;
	int e;

	if (!size)
		return ENOENT;
	if (place)
		n->mib[place] = index;
	e = jemalloc.by_mib(n->mib, n->depth, to, &size, NULL, 0);
	*ret = n->size == sizeof(wide) ? wide : n->size == sizeof(narrow) ? narrow : flag;
	return e ? e : size == n->size ? 0 : EINVAL;
}

int jemalloc_set(const char *name, const void *value, size_t size)
{
	return jemalloc.mallctl ? jemalloc.mallctl(name, NULL, NULL, (void *)value, size) : ENOSYS;
}

unsigned jemalloc_all_arenas(void)
{
	uint32_t count = 0;

	if (jemalloc.release >= FIRST_WITH_ALL_ARENAS || jemalloc_get("arenas.narenas", &count))
		return ALL_ARENAS;
	return count;
}

bool jemalloc_has_arena(unsigned arena)
{
	static bool there[ARENAS_MAX]; /* one thread */
	uint32_t count = 0;
	char name[40];
	bool one = false;

	snprintf(name, sizeof(name), "arena.%u.initialized", arena);
	if (jemalloc.release >= FIRST_WITH_ALL_ARENAS)
		return !jemalloc_get(name, &one) && one;
	if (jemalloc_get("arenas.narenas", &count) || arena >= count || count > ARENAS_MAX ||
	    jemalloc_read("arenas.initialized", there, count * sizeof(*there)))
		return false;
	return there[arena];
}

void jemalloc_be_known(void)
{
	if (jemalloc.known || !jemalloc.malloc || !jemalloc.free)
		return;
	jemalloc.free(jemalloc.malloc(1));
	jemalloc.known = true;
}

static void stats_take_piece(void *out, const char *piece)
{
	text_str(out, piece);
}

void jemalloc_print(struct text *out, const char *letters)
{
	if (jemalloc.stats_print)
		jemalloc.stats_print(stats_take_piece, out, letters);
}
