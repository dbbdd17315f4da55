/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places and their names.  See places.h.
 *
 * Frames lie in blocks that never move; a place's frame_count is stored last, with release, and is
 * what readers look at first. */
#include "model/places.h"

#include <pthread.h>
#include <string.h>

#include "base/map.h"
#include "base/strings.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "wire/shm.h"

#define BLOCK_BITS 12
#define BLOCK_SIZE (1u << BLOCK_BITS)
#define BLOCKS (1u << 18)
#define FRAMES_MAX 256 /* of one place */

struct places {
	const struct model *model;
	struct places_options options;
	struct symbols *symbols;
	struct symbols_module *modules;
	size_t module_count;
	char **calls;
	uint32_t *of_node;
	uint32_t node_count;
	struct place *rows;
	uint32_t count;
	pthread_mutex_t lock; /* around everything below, and `symbols` */
	struct strings strings;
	struct place_frame **blocks;
	uint32_t frame_count;
};

static const char *const call_names[] = {
#define HOOK(name, class) [CALL_##name] = #name,
#include "wire/hooks.def"
#undef HOOK
};

static bool embedded(void *context, const struct symbols_module *module, struct buf *out)
{
	return model_file(context, module->build_id, module->build_id_size, module->path, out,
			  NULL) == 0;
}

static void take_modules(struct places *p)
{
	const struct tables *t = &p->model->tables;
	const char *executable = model_info(p->model, "executable");

	p->module_count = t->module_count;
	p->modules = xcalloc(t->module_count, sizeof(*p->modules));
	for (size_t i = 0; i < t->module_count; i++) {
		const char *path = t->modules[i].path;

		p->modules[i] = (struct symbols_module){
			.path = path && *path ? path
				: executable  ? executable
					      : "",
			.build_id = t->modules[i].build_id,
			.build_id_size = t->modules[i].build_id_size,
		};
	}
}

static struct place place_of(const struct tables *t, uint32_t node)
{
	uint64_t frame = t->nodes.frame[node], address = frame & NODE_ADDRESS_MASK;
	uint32_t module = (uint32_t)(frame >> NODE_ADDRESS_BITS);

	/* A return address is behind the call: the byte before it belongs to the caller's line. */
	if (!(t->nodes.flags[node] & NODE_EXACT) && address)
		address--;
	if (!module || module >= t->module_count || !t->modules[module].known)
		return (struct place){ .address = address };
	return (struct place){ .address = address - t->modules[module].bias, .module = module };
}

static uint32_t add_place(struct places *p, size_t *room, struct place place)
{
	p->rows = xgrow(p->rows, p->count, room, sizeof(*p->rows));
	p->rows[p->count] = place;
	return p->count++;
}

static void take_nodes(struct places *p)
{
	const struct tables *t = &p->model->tables;
	struct map *seen = xcalloc(t->module_count + 1, sizeof(*seen));
	size_t room = 0;

	p->node_count = t->nodes.count;
	p->of_node = xcalloc(t->nodes.count, sizeof(*p->of_node));
	add_place(p, &room, (struct place){ 0 });
	for (uint32_t i = 0; i < t->nodes.count; i++) {
		struct place place;
		uint64_t id;

		if (!node_is_known(&t->nodes, i))
			continue;
		place = place_of(t, i);
		if (!map_get(&seen[place.module], place.address, &id)) {
			id = add_place(p, &room, place);
			map_set(&seen[place.module], place.address, id);
		}
		p->of_node[i] = (uint32_t)id;
	}
	for (size_t i = 0; i <= t->module_count; i++)
		map_release(&seen[i]);
	free(seen);
}

uint32_t places_of_node(const struct places *p, uint32_t node)
{
	return node < p->node_count ? p->of_node[node] : 0;
}

uint32_t places_count(const struct places *p)
{
	return p->count;
}

/* Room for frames that lie together, in a block that has it. */
static struct place_frame *room_for(struct places *p, uint32_t count, uint32_t *ret_first)
{
	uint32_t left = BLOCK_SIZE - (p->frame_count & (BLOCK_SIZE - 1));
	struct place_frame **block;

	if (left < count)
		p->frame_count += left;
	*ret_first = p->frame_count;
	block = &p->blocks[p->frame_count >> BLOCK_BITS];
	if (!*block)
		*block = xcalloc(BLOCK_SIZE, sizeof(**block));
	p->frame_count += count;
	return *block + (*ret_first & (BLOCK_SIZE - 1));
}

static void resolve_locked(struct places *p, struct place *place)
{
	const struct symbol *symbol = symbols_resolve(
		p->symbols, place->module ? place->module : SIZE_MAX, place->address);
	uint32_t count = symbol->count < FRAMES_MAX ? symbol->count : FRAMES_MAX;
	struct place_frame *frames;

	/* Beyond a thousand million frames all look like place 0. */
	if (p->frame_count > (BLOCKS - 1) * BLOCK_SIZE - FRAMES_MAX) {
		__atomic_store_n(&place->frame_count, 1, __ATOMIC_RELEASE);
		return;
	}
	frames = room_for(p, count, &place->first_frame);
	for (uint32_t i = 0; i < count; i++) {
		const struct symbol_frame *f = &symbol->frames[i];

		frames[i] = (struct place_frame){
			.function = strings_add(&p->strings, f->function),
			.raw_function = strings_add(&p->strings, f->raw_function),
			.file = strings_add(&p->strings, f->file),
			.line = f->line,
			.column = f->column,
			.inlined = f->inlined,
		};
	}
	__atomic_store_n(&place->frame_count, count, __ATOMIC_RELEASE);
}

struct places *places_new(const struct model *m, const struct places_options *o)
{
	struct places *p = xcalloc(1, sizeof(*p));

	p->model = m;
	if (o)
		p->options = *o;
	pthread_mutex_init(&p->lock, NULL);
	take_modules(p);
	take_nodes(p);
	p->symbols = symbols_new(p->modules, p->module_count, embedded, (void *)m);
	strings_init(&p->strings);
	p->blocks = xcalloc(BLOCKS, sizeof(*p->blocks));
	resolve_locked(p, &p->rows[0]);
	p->calls = xcalloc(CALL_COUNT, sizeof(*p->calls));
	for (unsigned i = 0; i < CALL_COUNT; i++)
		p->calls[i] = demangle(call_names[i]);
	return p;
}

struct places *places_free(struct places *p)
{
	if (!p)
		return NULL;
	symbols_free(p->symbols);
	for (unsigned i = 0; i < CALL_COUNT; i++)
		free(p->calls[i]);
	for (unsigned i = 0; i < BLOCKS && p->blocks[i]; i++)
		free(p->blocks[i]);
	strings_release(&p->strings);
	pthread_mutex_destroy(&p->lock);
	free(p->blocks);
	free(p->calls);
	free(p->rows);
	free(p->of_node);
	free(p->modules);
	free(p);
	return NULL;
}

static void resolve(struct places *p, struct place *place)
{
	pthread_mutex_lock(&p->lock);
	if (!place->frame_count)
		resolve_locked(p, place);
	pthread_mutex_unlock(&p->lock);
}

const struct place *places_at(struct places *p, uint32_t place)
{
	struct place *at = &p->rows[place < p->count ? place : 0];

	if (!__atomic_load_n(&at->frame_count, __ATOMIC_ACQUIRE))
		resolve(p, at);
	return at;
}

const struct place_frame *places_frames(struct places *p, uint32_t place, unsigned *ret_count)
{
	const struct place *at = places_at(p, place);

	*ret_count = at->frame_count;
	return &p->blocks[at->first_frame >> BLOCK_BITS][at->first_frame & (BLOCK_SIZE - 1)];
}

void places_resolve_all(struct places *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		places_at(p, i);
		if (p->options.progress && (i & 63) == 0)
			p->options.progress(p->options.context, i, p->count);
	}
}

const char *places_string(const struct places *p, uint32_t id)
{
	return id < strings_count(&p->strings) ? strings_at(&p->strings, id) : "";
}

uint32_t places_string_count(const struct places *p)
{
	return strings_count(&p->strings);
}

const char *places_module_path(const struct places *p, uint32_t module)
{
	return module && module < p->module_count ? p->modules[module].path : "";
}

const char *places_call(const struct places *p, unsigned call)
{
	return call < CALL_COUNT ? p->calls[call] : "(unknown call)";
}

enum symbols_level places_level(struct places *p, uint32_t module)
{
	enum symbols_level level;

	pthread_mutex_lock(&p->lock);
	level = symbols_level(p->symbols, module);
	pthread_mutex_unlock(&p->lock);
	return level;
}
