/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Module records, and what the program's memory maps say about them.
 *
 * The recorder knows a module as the loader names it; the maps know the real path.  They are read
 * when a module comes up, and about once a second while there is traffic: a file that left the
 * address space makes what the recorder has cached about that range wrong, and it is told. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/order.h"
#include "collector/collector.h"
#include "collector/inplace.h"
#include "collector/log.h"
#include "collector/naming.h"

#define MODULE_BYTES (7 * VARINT_MAX + 32 + PATH_MAX)

static bool map_segment(struct collector *c)
{
	uint32_t i = c->module_segment_count;
	uint64_t offset = c->control->module_segment_offset[i];
	void *p = MAP_FAILED;

	if (offset % ARCH_PAGE_MAX == 0 && offset < SHM_FILE_SIZE - SHM_MODULE_SEGMENT_SIZE)
		p = mmap(NULL, SHM_MODULE_SEGMENT_SIZE, PROT_READ, MAP_SHARED, c->shm_fd,
			 (off_t)offset);
	if (p == MAP_FAILED) {
		log_line(LOG_ERROR, "modules from %u on cannot be mapped",
			 i * SHM_MODULES_PER_SEGMENT);
		return false;
	}
	c->module_segments[i] = p;
	c->module_segment_count++;
	return true;
}

static bool reserve(struct collector *c, uint32_t count)
{
	size_t room = c->module_room ? c->module_room : SHM_MODULES_PER_SEGMENT;
	void *grown;

	if (count <= c->module_room)
		return true;
	while (room < count)
		room *= 2;
	grown = realloc(c->modules, room * sizeof(*c->modules));
	if (!grown)
		return false;
	c->modules = grown;
	c->module_room = room;
	return true;
}

/* Is the file that is mapped now the library that the loader named?  It may have gone, and another
 * taken its place; but a name may be a link to one that differs after its ".so". */
static bool same_library(const struct shm_module *m, const struct mapping *found)
{
	size_t length = strnlen(m->name, sizeof(m->name));
	const char *name = memrchr(m->name, '/', length);
	const char *path = strrchr(found->path, '/'), *stem;

	if (!name || !path)
		return true;
	stem = memmem(name, (size_t)(m->name + length - name), ".so", 3);
	return !stem || !strncmp(name, path, (size_t)(stem - name));
}

/* The path that the kernel has for a module; else the recorder's; else the program's own. */
static const char *module_path(struct collector *c, const struct shm_module *m,
			       const struct mapping *found, char *buffer, size_t size)
{
	int length = (int)strnlen(m->name, sizeof(m->name));

	if (found && found->path[0])
		return found->path;
	if (!length)
		return c->executable;
	snprintf(buffer, size, "%.*s", length, m->name);
	return buffer;
}

static void put_module(struct collector *c, uint32_t index, const struct shm_module *m)
{
	const struct mapping *found = maps_find(&c->maps, m->start);
	size_t id_size = m->build_id_size;
	struct payload *p = &c->payload;
	char buffer[PATH_MAX];
	const char *path;

	if (found && !same_library(m, found))
		found = NULL;
	path = module_path(c, m, found, buffer, sizeof(buffer));
	if (id_size > sizeof(m->build_id))
		id_size = 0;
	payload_number(p, index);
	payload_number(p, m->bias);
	payload_number(p, m->start);
	payload_number(p, m->end);
	payload_number(p, m->stamp);
	payload_counted(p, m->build_id, id_size);
	payload_counted(p, path, strnlen(path, PATH_MAX));

	c->modules[index] = (struct collector_module){ .start = m->start, .end = m->end };
	if (found) {
		c->modules[index].device = found->device;
		c->modules[index].inode = found->inode;
	}
	binaries_add_module(c, path, m->build_id, id_size);
	naming_module(c->naming, path);
	log_line(LOG_DEBUG, "module %u: %.*s at %#" PRIx64 " to %#" PRIx64, index,
		 (int)strnlen(path, PATH_MAX), path, m->start, m->end);
}

bool collector_owns(const struct collector *c, const struct maps *maps)
{
	return ANY(i, maps->count,
		   maps->list[i].inode == c->shm_inode && maps->list[i].device == c->shm_device);
}

static void find_gone(struct collector *c)
{
	for (uint32_t i = 1; i < c->next_module; i++) {
		struct collector_module *m = &c->modules[i];
		const struct mapping *found;

		if (m->gone || !m->inode)
			continue;
		found = maps_find(&c->maps, m->start);
		if (found && found->inode == m->inode && found->device == m->device)
			continue;
		m->gone = true;
		log_line(LOG_DEBUG, "module %u left the address space", i);
		atomic_fetch_add(&c->control->module_generation, 1);
	}
}

/* What new maps tell: files that went away, files to embed. */
static void use_maps(struct collector *c)
{
	find_gone(c);
	for (size_t i = 0; i < c->maps.count; i++)
		if (c->maps.list[i].executable)
			binaries_add(c, &c->maps.list[i]);
	binaries_let_go(c);
	inplace_look_again(c);
}

void modules_write(struct collector *c)
{
	uint32_t count = atomic_load_explicit(&c->control->module_count, memory_order_acquire);
	uint32_t segments =
		atomic_load_explicit(&c->control->module_segment_count, memory_order_acquire);

	segments = MIN(segments, SHM_MAX_MODULE_SEGMENTS);
	while (c->module_segment_count < segments && map_segment(c))
		;
	count = MIN(count, c->module_segment_count * SHM_MODULES_PER_SEGMENT);
	if (c->next_module >= count || !reserve(c, count))
		return;
	/* For the paths.  A program that is gone has no maps, and the old ones serve; one that was
	 * replaced has another's. */
	if (!maps_read(&c->maps, collector_in_proc(c))) {
		if (collector_owns(c, &c->maps))
			use_maps(c);
		else
			c->maps.count = 0;
	}
	while (c->next_module < count && !c->recording.error) {
		c->payload.used = 0;
		for (; c->next_module < count && payload_fits(&c->payload, MODULE_BYTES);
		     c->next_module++) {
			uint32_t i = c->next_module;
			struct shm_module *m = &c->module_segments[i / SHM_MODULES_PER_SEGMENT]
								  [i % SHM_MODULES_PER_SEGMENT];

			if (m->end > m->start)
				put_module(c, i, m);
			else
				c->modules[i] = (struct collector_module){ .gone = true };
		}
		if (c->payload.used)
			recording_write(&c->recording, CHUNK_MODULES, EFFORT_REST, c->payload.data,
					c->payload.used, 0);
	}
}

bool modules_poll(struct collector *c)
{
	int error = maps_read(&c->maps, collector_in_proc(c));

	/* Not readable is no sign of an exec: a program may have made itself undumpable, and one
	 * whose first thread has left shows none. */
	if (error) {
		if (error != -ENODATA && error != -ESRCH)
			log_line(LOG_DEBUG, "the memory maps cannot be read: %s", strerror(-error));
		return false;
	}
	if (!collector_owns(c, &c->maps))
		return c->mapped; /* not that it is merely shown in a way that we do not know */
	c->mapped = true;
	use_maps(c);
	return false;
}
