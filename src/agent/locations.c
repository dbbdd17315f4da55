/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses with names.  See locations.h. */
#include "agent/locations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* START-END PERMISSIONS OFFSET DEVICE INODE PATH: those with code of files. */
static void read_mappings(struct locations *p, const char *at, const char *end)
{
	while (at < end) {
		const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at)), *path;
		unsigned long long from, to, offset;
		char *next;

		if (!stop)
			stop = end;
		at = stop + 1;
		from = strtoull(line, &next, 16);
		if (*next != '-')
			continue;
		to = strtoull(next + 1, &next, 16);
		if (stop - next < 6 || next[3] != 'x')
			continue;
		offset = strtoull(next + 6, &next, 16);
		if (next >= stop)
			continue;
		path = memchr(next, '/', (size_t)(stop - next));
		if (!path)
			continue;
		text_add(&p->mappings,
			 &(struct mapping){ from, to, offset, path, (size_t)(stop - path), 0 },
			 sizeof(struct mapping));
	}
	p->mapping_count = p->mappings.failed ? 0 : p->mappings.size / sizeof(struct mapping);
}

/* Every address once, in order; a location's number is its index. */
static void collect(struct locations *p, const struct profile *profile)
{
	const uint64_t *pcs = (const uint64_t *)profile->pcs.data;
	size_t count = profile->pcs.size / sizeof(*pcs), remaining = 0;
	struct object_name *list;

	for (size_t i = 0; i < count; i++)
		text_add(&p->list, &(struct object_name){ .address = pcs[i] - 1 },
			 sizeof(struct object_name));
	if (p->list.failed)
		return;
	list = (struct object_name *)p->list.data;
	objects_sort(list, count);
	for (size_t i = 0; i < count; i++)
		if (!remaining || list[remaining - 1].address != list[i].address)
			list[remaining++] = list[i];
	p->count = remaining;
}

void locations_init(struct locations *p, const struct profile *profile)
{
	memset(p, 0, sizeof(*p));
	if (profile->maps)
		read_mappings(p, profile->maps, profile->maps + profile->maps_size);
	collect(p, profile);
	objects_list(&p->objects);
	objects_name(&p->objects, (struct object_name *)p->list.data, p->count, &p->names);
	p->failed = p->mappings.failed || p->list.failed || p->names.failed;
}

void locations_release(struct locations *p)
{
	objects_release(&p->objects);
	text_release(&p->mappings);
	text_release(&p->list);
	text_release(&p->names);
}

struct mapping *locations_mapping(const struct locations *p, uint64_t address)
{
	struct mapping *m = (struct mapping *)p->mappings.data;
	size_t low = 0, high = p->mapping_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->mapping_count && m[low].start <= address ? &m[low] : NULL;
}

size_t locations_find(const struct locations *p, uint64_t pc)
{
	const struct object_name *list = (struct object_name *)p->list.data;
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].address < pc - 1)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *locations_name(const struct locations *p, size_t location, char *small, size_t room)
{
	const struct object_name *n = locations_at(p, location);
	const struct mapping *m = locations_mapping(p, n->address);
	uint64_t bias = 0;

	if (n->name)
		return p->names.data + n->name;
	for (size_t i = 0; i < p->objects.count; i++)
		if (n->address >= p->objects.objects[i].code_start &&
		    n->address < p->objects.objects[i].code_end)
			bias = p->objects.objects[i].bias;
	if (m) {
		const char *slash = memrchr(m->path, '/', m->path_size);
		size_t size = m->path_size - (size_t)(slash + 1 - m->path);

		snprintf(small, room, "[%.*s+0x%llx]", (int)(size < 100 ? size : 100), slash + 1,
			 (unsigned long long)(n->address - bias));
	} else {
		snprintf(small, room, "0x%llx", (unsigned long long)n->address);
	}
	return small;
}

bool locations_allocates(const struct locations *p, size_t location)
{
	static const char *const whole[] = { "malloc",	 "calloc",	   "realloc",
					     "memalign", "posix_memalign", "aligned_alloc",
					     "valloc",	 "pvalloc",	   "mallocx",
					     "rallocx",	 "malloc_default", "do_rallocx" };
	static const char *const beginnings[] = { "prof_", "imalloc", "_Znw", "_Zna" };
	uint32_t offset = locations_at(p, location)->name;
	const char *name = offset ? p->names.data + offset : "";

	if (!strncmp(name, "je_", 3))
		name += 3;
	else if (!strncmp(name, "_rjem_", 6))
		name += 6;
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++)
		if (!strcmp(name, whole[i]))
			return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	return strstr(name, "newImpl") != NULL;
}
