/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Chunks into tables.  See tables.h.  A count that comes from a payload never sizes anything by
 * itself: arrays grow with the records that are really there. */
#include "model/tables.h"

#include <errno.h>
#include <string.h>

#include "base/xalloc.h"
#include "recording/payload.h"

#define MODULE_MAX 65535u /* a node has sixteen bits for it */
#define NAMES_MAX 1024u	  /* different keys or counters; they are searched one by one */

static bool add_info(struct tables *t, struct payload_reader *c)
{
	const void *key, *value;
	size_t key_size, value_size, i;
	char *name;

	if (!payload_get_counted(c, &key, &key_size) ||
	    !payload_get_counted(c, &value, &value_size))
		return false;
	name = xmemdup0(key, key_size);
	for (i = 0; i < t->info_count; i++)
		if (!strcmp(t->info[i].key, name))
			break;
	if (i == NAMES_MAX) {
		free(name);
		return false;
	}
	if (i == t->info_count) {
		t->info = xgrow(t->info, t->info_count++, &t->info_room, sizeof(*t->info));
	} else {
		free(t->info[i].key);
		free(t->info[i].value);
	}
	t->info[i] = (struct info_pair){ name, xmemdup0(value, value_size), value_size };
	return true;
}

static bool add_clock(struct tables *t, struct payload_reader *c)
{
	struct clock_reading r;

	if (c->end - c->p < (ptrdiff_t)sizeof(r))
		return false;
	memcpy(&r, c->p, sizeof(r));
	c->p += sizeof(r);
	if (!t->clock_count++)
		t->first_clock = r;
	t->last_clock = r;
	return true;
}

static size_t copy_build_id(uint8_t *to, size_t room, const uint8_t *bytes, size_t size)
{
	size_t n = size < room ? size : room;

	memcpy(to, bytes, n);
	return n;
}

static bool add_module(struct tables *t, struct payload_reader *c)
{
	const void *id, *path;
	size_t id_size, path_size;
	struct module m = { .known = true }, *row;
	uint64_t index;

	if (!payload_get(c, &index) || !payload_get(c, &m.bias) || !payload_get(c, &m.start) ||
	    !payload_get(c, &m.end) || !payload_get(c, &m.stamp) ||
	    !payload_get_counted(c, &id, &id_size) || !payload_get_counted(c, &path, &path_size) ||
	    !index || index > MODULE_MAX)
		return false;
	while (t->module_count <= index) {
		*xpush(t->modules, t->module_count, t->module_room) = (struct module){ 0 };
	}
	m.build_id_size = copy_build_id(m.build_id, sizeof(m.build_id), id, id_size);
	m.path = xmemdup0(path, path_size);
	row = &t->modules[index];
	free(row->path);
	*row = m;
	return true;
}

static void nodes_reserve(struct nodes *n, uint32_t count)
{
	uint32_t room = n->room ? n->room : 4096;

	if (count <= n->room)
		return;
	while (room < count)
		room = room > UINT32_MAX / 2 ? UINT32_MAX : room * 2;
	n->frame = pages_grow(n->frame, n->room * sizeof(*n->frame), room * sizeof(*n->frame));
	n->parent = pages_grow(n->parent, n->room * sizeof(*n->parent), room * sizeof(*n->parent));
	n->flags = pages_grow(n->flags, n->room, room);
	n->room = room;
}

static bool add_nodes(struct tables *t, struct payload_reader *c)
{
	struct nodes *n = &t->nodes;
	uint64_t first, count, address = 0;

	/* A node takes at least four bytes. */
	if (!payload_get(c, &first) || !payload_get(c, &count) ||
	    count > (uint64_t)(c->end - c->p) / 4 || !first ||
	    first > (uint64_t)n->count + NODE_GAP_MAX || first + count >= UINT32_MAX)
		return false;
	nodes_reserve(n, (uint32_t)(first + count));
	for (uint64_t id = first; id < first + count; id++) {
		uint64_t up, step, module, flags;

		if (!payload_get(c, &up) || !payload_get(c, &step) || !payload_get(c, &module) ||
		    !payload_get(c, &flags) || !up || up > id || module > MODULE_MAX)
			return false;
		address += unzigzag(step);
		n->known += !n->frame[id];
		n->frame[id] = (address & NODE_ADDRESS_MASK) | module << NODE_ADDRESS_BITS;
		n->parent[id] = (uint32_t)(id - up);
		n->flags[id] = (uint8_t)flags;
		if (id >= n->count)
			n->count = (uint32_t)id + 1;
	}
	return true;
}

static bool add_thread(struct tables *t, struct payload_reader *c)
{
	const void *name;
	size_t size;
	uint64_t tid;

	if (!payload_get(c, &tid) || !payload_get_counted(c, &name, &size))
		return false;
	threads_name(&t->threads, threads_row(&t->threads, tid), (const char *)name, size);
	return true;
}

static bool add_counter(struct tables *t, struct payload_reader *c)
{
	const void *name;
	size_t size, i;
	uint64_t value;

	if (!payload_get_counted(c, &name, &size) || !payload_get(c, &value))
		return false;
	for (i = 0; i < t->counter_count; i++)
		if (strlen(t->counters[i].name) == size && !memcmp(t->counters[i].name, name, size))
			break;
	if (i == NAMES_MAX)
		return false;
	if (i == t->counter_count) {
		t->counters = xgrow(t->counters, t->counter_count++, &t->counter_room,
				    sizeof(*t->counters));
		t->counters[i].name = xmemdup0(name, size);
	}
	t->counters[i].value = value;
	return true;
}

static struct embedded_file *file_of(struct tables *t, uint64_t number)
{
	uint64_t i;

	if (map_number(&t->files_by_number, number, &i))
		*xpush(t->files, t->file_count, t->file_room) =
			(struct embedded_file){ .number = number };
	return &t->files[i];
}

static bool add_file(struct tables *t, struct payload_reader *c, const struct chunk *chunk)
{
	struct embedded_file *f;
	struct file_piece piece = { .chunk_offset = chunk->offset };
	const void *id, *path;
	size_t id_size, path_size;
	uint64_t index, total;

	if (!payload_get(c, &index) || !payload_get(c, &total) || !payload_get(c, &piece.offset) ||
	    !payload_get_counted(c, &id, &id_size) || !payload_get_counted(c, &path, &path_size))
		return false;
	piece.size = (uint64_t)(c->end - c->p) + chunk->beyond;
	c->p = c->end;
	if (piece.offset > total || piece.size > total - piece.offset)
		return false;
	f = file_of(t, index);
	if (f->key)
		return false;
	if (!f->path) {
		f->total_size = total;
		f->build_id_size = copy_build_id(f->build_id, sizeof(f->build_id), id, id_size);
		f->path = xmemdup0(path, path_size);
	}
	if (f->total_size != total)
		return false;
	*xpush(f->pieces, f->piece_count, f->piece_room) = piece;
	f->held_size += piece.size;
	return true;
}

static bool add_shared_file(struct tables *t, struct payload_reader *c)
{
	const void *id, *path, *key;
	size_t id_size, path_size, key_size;
	struct embedded_file *f;
	uint64_t index, total;

	if (!payload_get(c, &index) || !payload_get(c, &total) ||
	    !payload_get_counted(c, &id, &id_size) || !payload_get_counted(c, &path, &path_size) ||
	    !payload_get_counted(c, &key, &key_size))
		return false;
	if (c->p < c->end) /* one in a chunk */
		return false;
	f = file_of(t, index);
	if (f->path) /* there is one of this number already */
		return false;
	f->total_size = total;
	f->build_id_size = copy_build_id(f->build_id, sizeof(f->build_id), id, id_size);
	f->path = xmemdup0(path, path_size);
	f->key = xmemdup0(key, key_size);
	return true;
}

bool tables_add(struct tables *t, const struct chunk *chunk, struct err *err)
{
	struct payload_reader c = { chunk->payload, chunk->payload + chunk->payload_size };
	bool fine = true;

	while (fine && c.p < c.end) {
		switch (chunk->head.type) {
		case CHUNK_INFO:
			fine = add_info(t, &c);
			break;
		case CHUNK_CLOCK:
			fine = add_clock(t, &c);
			break;
		case CHUNK_MODULES:
			fine = add_module(t, &c);
			break;
		case CHUNK_NODES:
			fine = add_nodes(t, &c);
			break;
		case CHUNK_THREADS:
			fine = add_thread(t, &c);
			break;
		case CHUNK_FILE:
			fine = add_file(t, &c, chunk);
			break;
		case CHUNK_SHARED_FILE:
			fine = add_shared_file(t, &c);
			break;
		case CHUNK_COUNTERS:
			fine = add_counter(t, &c);
			break;
		case CHUNK_SYMBOLS:
			fine = known_add(&t->known, c.p, (size_t)(c.end - c.p));
			c.p = c.end;
			break;
		case CHUNK_REGIONS:
			fine = regions_add(&t->regions, c.p, (size_t)(c.end - c.p));
			c.p = c.end;
			break;
		case CHUNK_PAGES:
			fine = regions_add_pages(&t->regions, c.p, (size_t)(c.end - c.p));
			c.p = c.end;
			break;
		case CHUNK_STATISTICS:
			fine = removed_add(&t->removed, &c.p, c.end);
			break;
		default: /* the end, the index, or a later invention */
			return true;
		}
	}
	if (!fine)
		err_at(err, -EINVAL, chunk->offset, "a chunk of type %u is malformed",
		       chunk->head.type);
	return fine;
}

uint64_t tables_counter(const struct tables *t, const char *name)
{
	for (size_t i = 0; i < t->counter_count; i++)
		if (!strcmp(t->counters[i].name, name))
			return t->counters[i].value;
	return 0;
}

size_t tables_head_size(const struct chunk *chunk)
{
	struct payload_reader c = { chunk->payload, chunk->payload + chunk->payload_size };
	const void *bytes;
	uint64_t value;
	size_t size;

	if (chunk->head.type == CHUNK_FILE && payload_get(&c, &value) && payload_get(&c, &value) &&
	    payload_get(&c, &value) && payload_get_counted(&c, &bytes, &size) &&
	    payload_get_counted(&c, &bytes, &size))
		return (size_t)(c.p - chunk->payload);
	return chunk->payload_size;
}

void tables_release(struct tables *t)
{
	for (size_t i = 0; i < t->info_count; i++) {
		free(t->info[i].key);
		free(t->info[i].value);
	}
	for (size_t i = 0; i < t->module_count; i++)
		free(t->modules[i].path);
	for (size_t i = 0; i < t->counter_count; i++)
		free(t->counters[i].name);
	for (size_t i = 0; i < t->file_count; i++) {
		free(t->files[i].path);
		free(t->files[i].key);
		free(t->files[i].pieces);
	}
	pages_free(t->nodes.frame, t->nodes.room * sizeof(*t->nodes.frame));
	pages_free(t->nodes.parent, t->nodes.room * sizeof(*t->nodes.parent));
	pages_free(t->nodes.flags, t->nodes.room);
	free(t->info);
	free(t->modules);
	free(t->counters);
	free(t->files);
	map_release(&t->files_by_number);
	threads_release(&t->threads);
	removed_release(&t->removed);
	known_release(&t->known);
	markers_release(&t->markers);
	map_calls_release(&t->map_calls);
	regions_release(&t->regions);
	memset(t, 0, sizeof(*t));
}
