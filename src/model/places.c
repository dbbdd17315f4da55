/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Places and their names.  See places.h.
 *
 * Frames lie in blocks that never move; a place's frame_count is stored last, with release, and is
 * what readers look at first. */
#include "model/places.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/parallel.h"
#include "base/xalloc.h"
#include "model/places_internal.h"
#include "model/stats.h"
#include "wire/shm.h"

#define WORK 32 /* places that a worker takes at a time */

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

void places_add_frames(struct places *p, struct place *place, const struct place_frame *frames,
		       uint32_t count)
{
	/* Beyond a thousand million frames all look like place 0. */
	if (p->frame_count <= (BLOCKS - 1) * BLOCK_SIZE - FRAMES_MAX)
		memcpy(room_for(p, count, &place->first_frame), frames, count * sizeof(*frames));
	else
		count = 1;
	__atomic_store_n(&place->frame_count, count, __ATOMIC_RELEASE);
}

static void add_symbol(struct places *p, struct place *place, const struct symbol *symbol)
{
	struct place_frame frames[FRAMES_MAX];
	uint32_t count = symbol->count < FRAMES_MAX ? symbol->count : FRAMES_MAX;

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
	places_add_frames(p, place, frames, count);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Looking is done without the lock, and perhaps twice. */
static void resolve(struct places *p, struct place *place)
{
	uint64_t started = now_ns();
	struct symbol symbol;

	symbols_resolve(p->symbols, place->module ? place->module : SIZE_MAX, place->address,
			&symbol);
	__atomic_add_fetch(&p->spent_ns, now_ns() - started, __ATOMIC_RELAXED);
	pthread_mutex_lock(&p->lock);
	if (!place->frame_count)
		add_symbol(p, place, &symbol);
	pthread_mutex_unlock(&p->lock);
	symbol_release(&symbol);
}

/* What the recording brings with it is not looked for anywhere else. */
static void take_known(struct places *p)
{
	const struct known *k = &p->model->tables.known;
	auto_free struct known_place *sorted = known_sorted(k);
	struct place_frame frames[SYMBOLS_FRAMES_MAX];

	for (uint32_t i = 0; i < p->count && k->place_count; i++) {
		struct place *place = &p->rows[i];
		const struct known_place *found =
			known_find(sorted, k->place_count, place->module, place->address);

		if (!found || place->frame_count)
			continue;
		for (uint32_t n = 0; n < found->count; n++) {
			const struct symbols_line *l = &k->lines[found->first + n];

			frames[n] = (struct place_frame){
				.function = strings_add(&p->strings, k->texts[l->function]),
				.raw_function = strings_add(&p->strings, k->texts[l->raw_function]),
				.file = strings_add(&p->strings, k->texts[l->file]),
				.line = l->line,
				.column = l->column,
				.inlined = l->inlined,
			};
		}
		places_add_frames(p, place, frames, found->count);
	}
}
_Static_assert(SYMBOLS_FRAMES_MAX <= FRAMES_MAX, "a block has room for them");

struct places *places_new(const struct model *m, const struct places_options *o)
{
	struct places *p = xcalloc(1, sizeof(*p));

	p->model = m;
	if (o)
		p->options = *o;
	pthread_mutex_init(&p->lock, NULL);
	take_modules(p);
	take_nodes(p);
	p->symbols = symbols_new(p->modules, p->module_count,
				 &(struct symbols_options){
					 .embedded = embedded,
					 .context = (void *)m,
					 .debug_paths = p->options.debug_paths,
					 .debug_path_count = p->options.debug_path_count,
					 .debuginfod = p->options.debuginfod,
				 });
	strings_init(&p->strings);
	p->blocks = xcalloc(BLOCKS, sizeof(*p->blocks));
	resolve(p, &p->rows[0]);
	take_known(p);
	p->calls = xcalloc(CALL_COUNT, sizeof(*p->calls));
	for (unsigned i = 0; i < CALL_COUNT; i++)
		p->calls[i] = demangle(call_names[i]);
	places_cache_load(p);
	return p;
}

struct places *places_free(struct places *p)
{
	if (!p)
		return NULL;
	places_cache_store(p);
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

/* Everything that is still to be resolved, in the order of modules and addresses: neighbours share
 * a unit, and a module that is done with can be closed. */
struct all {
	struct places *places;
	uint32_t *order;
	uint32_t *left; /* by module */
	uint64_t total, done;
	pthread_t caller;
};

static int compare_places(const void *a, const void *b, void *context)
{
	const struct place *x = (const struct place *)context + *(const uint32_t *)a;
	const struct place *y = (const struct place *)context + *(const uint32_t *)b;

	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void resolve_some(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct all *a = context;
	struct places *p = a->places;
	uint64_t done;

	for (uint64_t i = first; i < first + count; i++) {
		uint32_t module = p->rows[a->order[i]].module;

		places_at(p, a->order[i]);
		if (__atomic_sub_fetch(&a->left[module], 1, __ATOMIC_RELAXED) == 0)
			symbols_close(p->symbols, module);
	}
	done = __atomic_add_fetch(&a->done, count, __ATOMIC_RELAXED);
	if (p->options.progress && pthread_equal(a->caller, pthread_self()))
		p->options.progress(p->options.context, done, a->total);
}

void places_resolve_all(struct places *p)
{
	struct all a = { .places = p, .caller = pthread_self() };

	a.order = xcalloc(p->count, sizeof(*a.order));
	a.left = xcalloc(p->module_count + 1, sizeof(*a.left));
	for (uint32_t i = 0; i < p->count; i++) {
		if (__atomic_load_n(&p->rows[i].frame_count, __ATOMIC_ACQUIRE))
			continue;
		a.order[a.total++] = i;
		a.left[p->rows[i].module]++;
	}
	if (a.total)
		qsort_r(a.order, a.total, sizeof(*a.order), compare_places, p->rows);
	parallel_for(a.total, WORK, resolve_some, &a);
	free(a.left);
	free(a.order);
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

void frame_unnamed(const char *module_path, uint64_t address, struct buf *out)
{
	if (module_path && *module_path)
		buf_printf(out, "%s+", path_base(module_path));
	buf_printf(out, "0x%llx", (unsigned long long)address);
}

void places_unnamed(const struct places *p, uint32_t module, uint64_t address, struct buf *out)
{
	frame_unnamed(places_module_path(p, module), address, out);
}

const char *places_raw_call(unsigned call)
{
	return call < CALL_COUNT ? call_names[call] : "";
}

const char *places_call(const struct places *p, unsigned call)
{
	return call < CALL_COUNT ? p->calls[call] : "(unknown call)";
}

enum symbols_level places_level(struct places *p, uint32_t module)
{
	unsigned known = known_level(&p->model->tables.known, module);

	if (known)
		return known < SYMBOLS_LINES ? (enum symbols_level)known : SYMBOLS_LINES;
	return places_found(p, module)->level;
}

const struct symbols_found *places_found(struct places *p, uint32_t module)
{
	return symbols_found(p->symbols, module ? module : SIZE_MAX);
}
