/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Stacks that come with their names.  See named.h.
 *
 * Each different frame is a location of its own with one frame, so an inlined function is a node
 * like others here. */
#include "model/named.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/xalloc.h"
#include "model/locations_internal.h"

#define NODES_FIRST 4096u

void named_init(struct named *n)
{
	struct timespec now;

	*n = (struct named){ .model = xcalloc(1, sizeof(*n->model)) };
	n->model->reader.fd = -1;
	clock_gettime(CLOCK_REALTIME, &now);
	n->model->totals.last_at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	n->model->tables.nodes.count = 1;
	n->locations = locations_new(n->model, NULL);
	strings_init(&n->frames);
	strings_init(&n->modules);
	n->kinds = xcalloc(1, 1); /* of location 0 */
}

void named_release(struct named *n)
{
	locations_free(n->locations);
	model_free(n->model);
	strings_release(&n->frames);
	strings_release(&n->modules);
	map_release(&n->nodes);
	free(n->kinds);
	*n = (struct named){ 0 };
}

/* The number of a module; the path is the table's of strings. */
static uint32_t number_of_module(struct named *n, const char *path)
{
	struct locations *p = n->locations;
	uint32_t id = strings_add(&n->modules, path); /* 0 is "" */

	if (!id || id < p->module_count)
		return id;
	p->modules = xreallocarray(p->modules, (size_t)id + 1, sizeof(*p->modules));
	memset(p->modules + p->module_count, 0, (id + 1 - p->module_count) * sizeof(*p->modules));
	p->modules[id].path = strings_at(&n->modules, id);
	p->module_count = (size_t)id + 1;
	return id;
}

static uint32_t location_of_frame(struct named *n, const struct named_frame *f)
{
	struct locations *p = n->locations;
	auto_buf struct buf key = { 0 };
	struct location_frame frame = { .line = f->line };
	uint32_t id;

	buf_printf(&key, "%s\x1f%s\x1f%s\x1f%" PRIu32 "\x1f%" PRIx64 "\x1f%u", f->function, f->file,
		   f->module, f->line, *f->function ? 0 : f->address, f->kind);
	id = strings_add(&n->frames, key.data);
	if (id < p->count)
		return id;
	frame.function = strings_add(&p->strings, f->function);
	frame.raw_function = frame.function;
	frame.file = strings_add(&p->strings, f->file);
	*xpush(p->rows, p->count, p->room) =
		(struct location){ .address = *f->function ? 0 : f->address,
				   .module = number_of_module(n, f->module) };
	locations_add_frames(p, &p->rows[id], &frame, 1);
	n->kinds = xreallocarray(n->kinds, (size_t)id + 1, 1);
	n->kinds[id] = (uint8_t)f->kind;
	return id;
}

static void make_room_for_nodes(struct named *n)
{
	struct nodes *t = &n->model->tables.nodes;
	uint32_t room = t->room ? t->room * 2 : NODES_FIRST;

	t->frame = pages_grow(t->frame, t->room * sizeof(*t->frame), room * sizeof(*t->frame));
	t->parent = pages_grow(t->parent, t->room * sizeof(*t->parent), room * sizeof(*t->parent));
	t->flags = pages_grow(t->flags, t->room, room);
	n->locations->of_node =
		xreallocarray(n->locations->of_node, room, sizeof(*n->locations->of_node));
	if (!t->room)
		n->locations->of_node[0] = 0;
	t->room = room;
}

uint32_t named_add(struct named *n, uint32_t parent, const struct named_frame *frame)
{
	struct nodes *t = &n->model->tables.nodes;
	uint32_t location = location_of_frame(n, frame), id = t->count;
	uint64_t key = (uint64_t)parent << 32 | location, known;

	if (map_get(&n->nodes, key, &known))
		return (uint32_t)known;
	map_set(&n->nodes, key, id);
	if (id >= t->room)
		make_room_for_nodes(n);
	t->frame[id] = location;
	t->parent[id] = parent;
	t->flags[id] = 0;
	t->count++;
	t->known++;
	n->locations->of_node[id] = location;
	n->locations->node_count = t->count;
	return id;
}
