/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Locations and their names.  See locations.h.
 *
 * Frames lie in blocks that never move; a location's frame_count is stored last, with release, and
 * is what readers look at first. */
#include "model/locations.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/hold_lock.h"
#include "base/map.h"
#include "base/now.h"
#include "base/parallel.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "model/locations_internal.h"
#include "model/stats.h"
#include "symbols/starts.h"
#include "wire/shm.h"

#define WORK 32 /* locations that a worker takes at a time */

static const char *const call_names[] = {
#define HOOK(name, class) [CALL_##name] = #name,
#include "base/order.h"
#include "wire/hooks.def"
#undef HOOK
};

static bool embedded(void *context, const struct symbols_module *module, struct buf *out)
{
	return model_file(context, module->build_id, module->build_id_size, module->path, out,
			  NULL) == 0;
}

static void take_modules(struct locations *p)
{
	const struct tables *t = &p->model->tables;
	const char *executable = model_info(p->model, "executable");

	for (size_t i = 0; i < p->module_count; i++) {
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

static struct location location_of(const struct tables *t, uint32_t node)
{
	uint64_t frame = t->nodes.frame[node], address = frame & NODE_ADDRESS_MASK;
	uint32_t module = (uint32_t)(frame >> NODE_ADDRESS_BITS);

	/* A return address is behind the call: the byte before it belongs to the caller's line. */
	if (!(t->nodes.flags[node] & NODE_EXACT) && address)
		address--;
	if (!module || module >= t->module_count || !t->modules[module].known)
		return (struct location){ .address = address };
	return (struct location){ .address = address - t->modules[module].bias, .module = module };
}

static uint32_t add_location(struct locations *p, struct location location)
{
	*xpush(p->rows, p->count, p->room) = location;
	return p->count - 1;
}

/* Those that have no location yet. */
static void take_nodes(struct locations *p)
{
	const struct tables *t = &p->model->tables;
	auto_free struct map *seen = xcalloc(t->module_count + 1, sizeof(*seen));

	p->known_nodes = t->nodes.known;
	p->of_node = xreallocarray(p->of_node, t->nodes.count, sizeof(*p->of_node));
	memset(p->of_node + p->node_count, 0,
	       (t->nodes.count - p->node_count) * sizeof(*p->of_node));
	p->node_count = t->nodes.count;
	for (uint32_t i = 1; i < p->count; i++)
		map_set(&seen[p->rows[i].module], p->rows[i].address, i);
	for (uint32_t i = 0; i < t->nodes.count; i++) {
		struct location location;
		uint64_t id;

		if (p->of_node[i] || !node_is_known(&t->nodes, i))
			continue;
		location = location_of(t, i);
		if (!map_get(&seen[location.module], location.address, &id)) {
			id = add_location(p, location);
			map_set(&seen[location.module], location.address, id);
		}
		p->of_node[i] = (uint32_t)id;
	}
	for (size_t i = 0; i <= t->module_count; i++)
		map_release(&seen[i]);
}

uint32_t locations_of_node(const struct locations *p, uint32_t node)
{
	return node < p->node_count ? p->of_node[node] : 0;
}

uint32_t locations_count(const struct locations *p)
{
	return p->count;
}

/* Room for frames that lie together, in a block that has it. */
static struct location_frame *room_for(struct locations *p, uint32_t count, uint32_t *ret_first)
{
	uint32_t left = BLOCK_SIZE - (p->frame_count & (BLOCK_SIZE - 1));
	struct location_frame **block;

	if (left < count)
		p->frame_count += left;
	*ret_first = p->frame_count;
	block = &p->blocks[p->frame_count >> BLOCK_BITS];
	if (!*block)
		*block = xcalloc(BLOCK_SIZE, sizeof(**block));
	p->frame_count += count;
	return *block + (*ret_first & (BLOCK_SIZE - 1));
}

void locations_add_frames(struct locations *p, struct location *location,
			  const struct location_frame *frames, uint32_t count)
{
	/* Beyond a thousand million frames all look like location 0. */
	if (p->frame_count <= (BLOCKS - 1) * BLOCK_SIZE - FRAMES_MAX)
		memcpy(room_for(p, count, &location->first_frame), frames, count * sizeof(*frames));
	else
		count = 1;
	__atomic_store_n(&location->frame_count, count, __ATOMIC_RELEASE);
}

static void add_symbol(struct locations *p, struct location *location, const struct symbol *symbol)
{
	struct location_frame frames[FRAMES_MAX];
	uint32_t count = symbol->count < FRAMES_MAX ? symbol->count : FRAMES_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct symbol_frame *f = &symbol->frames[i];

		frames[i] = (struct location_frame){
			.function = strings_add(&p->strings, f->function),
			.raw_function = strings_add(&p->strings, f->raw_function),
			.file = strings_add(&p->strings, f->file),
			.line = f->line,
			.column = f->column,
			.inlined = f->inlined,
		};
	}
	locations_add_frames(p, location, frames, count);
}

/* Looking is done without the lock, and perhaps twice. */
static void resolve(struct locations *p, struct location *location)
{
	uint64_t started = now_ns();
	auto_release(symbol_release) struct symbol symbol = { 0 };

	symbols_resolve(p->symbols, location->module ? location->module : SIZE_MAX,
			location->address, &symbol);
	__atomic_add_fetch(&p->spent_ns, now_ns() - started, __ATOMIC_RELAXED);
	hold_lock(&p->lock);
	if (!location->frame_count)
		add_symbol(p, location, &symbol);
}

void locations_add_lines(struct locations *p, struct location *location,
			 const struct symbols_line *lines, uint32_t count, const char *const *texts)
{
	struct location_frame frames[SYMBOLS_FRAMES_MAX];

	for (uint32_t i = 0; i < count; i++)
		frames[i] = (struct location_frame){
			.function = strings_add(&p->strings, texts[lines[i].function]),
			.raw_function = strings_add(&p->strings, texts[lines[i].raw_function]),
			.file = strings_add(&p->strings, texts[lines[i].file]),
			.line = lines[i].line,
			.column = lines[i].column,
			.inlined = lines[i].inlined,
		};
	locations_add_frames(p, location, frames, count);
}

/* What the recording brings with it is not looked for anywhere else. */
static void take_known(struct locations *p)
{
	const struct known *k = &p->model->tables.known;
	auto_free struct known_location *sorted = known_sorted(k);

	for (uint32_t i = 0; i < p->count && k->location_count; i++) {
		struct location *location = &p->rows[i];
		const struct known_location *found =
			known_find(sorted, k->location_count, location->module, location->address);

		if (found && !location->frame_count)
			locations_add_lines(p, location, &k->lines[found->first], found->count,
					    (const char *const *)k->texts);
	}
}
_Static_assert(SYMBOLS_FRAMES_MAX <= FRAMES_MAX, "a block has room for them");

struct locations *locations_new(const struct model *m, const struct locations_options *o)
{
	struct locations *p = xcalloc(1, sizeof(*p));

	p->model = m;
	if (o)
		p->options = *o;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->deriving, NULL);
	p->module_count = m->tables.module_count;
	p->modules = xcalloc(p->module_count, sizeof(*p->modules));
	take_modules(p);
	add_location(p, (struct location){ 0 });
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
	locations_cache_load(p);
	return p;
}

bool locations_grow(struct locations *p)
{
	const struct tables *t = &p->model->tables;

	if (t->module_count != p->module_count)
		return false;
	/* The table may have another copy of a path by now. */
	take_modules(p);
	if (t->nodes.known != p->known_nodes || t->nodes.count != p->node_count)
		take_nodes(p);
	return true;
}

struct locations *locations_free(struct locations *p)
{
	if (!p)
		return NULL;
	locations_cache_store(p);
	symbols_free(p->symbols);
	for (unsigned i = 0; i < CALL_COUNT; i++)
		free(p->calls[i]);
	for (unsigned i = 0; i < BLOCKS && p->blocks[i]; i++)
		free(p->blocks[i]);
	strings_release(&p->strings);
	if (p->derived)
		p->derived->release(p->derived);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->deriving);
	free(p->blocks);
	free(p->calls);
	free(p->rows);
	free(p->of_node);
	free(p->modules);
	free(p);
	return NULL;
}

uint32_t locations_frame_count(const struct locations *p)
{
	return p->frame_count;
}

struct locations_derived *locations_derived(struct locations *p,
					    struct locations_derived *(*make)(const struct model *m,
									      struct locations *p))
{
	parallel_whole(); /* it is kept, and made of all names */
	hold_lock(&p->deriving);
	if (!p->derived)
		p->derived = make(p->model, p);
	return p->derived;
}

const struct location *locations_at(struct locations *p, uint32_t location)
{
	struct location *at = &p->rows[location < p->count ? location : 0];

	if (!__atomic_load_n(&at->frame_count, __ATOMIC_ACQUIRE))
		resolve(p, at);
	return at;
}

const struct location_frame *locations_frames(struct locations *p, uint32_t location,
					      unsigned *ret_count)
{
	const struct location *at = locations_at(p, location);

	*ret_count = at->frame_count;
	return &p->blocks[at->first_frame >> BLOCK_BITS][at->first_frame & (BLOCK_SIZE - 1)];
}

/* Everything that is still to be resolved, in the order of modules and addresses: neighbours share
 * a unit, and a module that is done with can be closed. */
struct all {
	struct locations *locations;
	uint32_t *order;
	uint32_t *left; /* by module */
	uint64_t total, done;
	pthread_t caller;
};

ORDER_WITH(compare_locations, uint32_t, struct location,
	   COMPARE(context[*x].module, context[*y].module)
		   ?: COMPARE(context[*x].address, context[*y].address))

static void resolve_some(void *context, unsigned worker, uint64_t first, uint64_t count)
{
	struct all *a = context;
	struct locations *p = a->locations;
	uint64_t done;

	for (uint64_t i = first; i < first + count; i++) {
		uint32_t module = p->rows[a->order[i]].module;

		locations_at(p, a->order[i]);
		if (__atomic_sub_fetch(&a->left[module], 1, __ATOMIC_RELAXED) == 0)
			symbols_close(p->symbols, module);
	}
	done = __atomic_add_fetch(&a->done, count, __ATOMIC_RELAXED);
	if (p->options.progress && pthread_equal(a->caller, pthread_self()))
		p->options.progress(p->options.context, done, a->total);
}

bool locations_ask_servers(const struct locations *p)
{
	return p->options.debuginfod;
}

void locations_on_progress(struct locations *p, model_progress progress, void *context)
{
	p->options.progress = progress;
	p->options.context = context;
}

void locations_resolve_all(struct locations *p)
{
	struct all a = { .locations = p, .caller = pthread_self() };

	parallel_whole(); /* what is left out would be looked up one by one */
	a.order = xcalloc(p->count, sizeof(*a.order));
	a.left = xcalloc(p->module_count + 1, sizeof(*a.left));
	for (uint32_t i = 0; i < p->count; i++) {
		if (__atomic_load_n(&p->rows[i].frame_count, __ATOMIC_ACQUIRE))
			continue;
		a.order[a.total++] = i;
		a.left[p->rows[i].module]++;
	}
	SORT_WITH(a.order, a.total, compare_locations, p->rows);
	parallel_for(a.total, WORK, resolve_some, &a);
	free(a.left);
	free(a.order);
}

static bool has_no_name(struct locations *p, uint32_t location)
{
	unsigned count;
	const struct location_frame *f = locations_frames(p, location, &count);

	return count == 1 && !f->function && !f->raw_function;
}

struct location_function *locations_functions(struct locations *p)
{
	struct location_function *functions = xcalloc((size_t)p->count + 1, sizeof(*functions));
	auto_free struct starts *starts = xcalloc(p->module_count + 1, sizeof(*starts));
	auto_free bool *looked_for = xcalloc(p->module_count + 1, sizeof(*looked_for));
	auto_free struct map *seen = xcalloc(p->module_count + 1, sizeof(*seen));

	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t module = p->rows[i].module;
		uint64_t start, next, found;

		functions[i] = (struct location_function){ i, UINT32_MAX };
		if (!module || !has_no_name(p, i))
			continue;
		if (!looked_for[module])
			symbols_starts(p->symbols, module, &starts[module]);
		looked_for[module] = true;
		start = starts_find(&starts[module], p->rows[i].address, &next);
		if (!start)
			continue;
		if (next - start < UINT32_MAX)
			functions[i].size = (uint32_t)(next - start);
		if (map_get(&seen[module], start, &found))
			functions[i].first = (uint32_t)found;
		else
			map_set(&seen[module], start, i);
	}
	for (size_t i = 0; i <= p->module_count; i++) {
		starts_release(&starts[i]);
		map_release(&seen[i]);
	}
	return functions;
}

const char *locations_string(const struct locations *p, uint32_t id)
{
	return id < strings_count(&p->strings) ? strings_at(&p->strings, id) : "";
}

uint32_t locations_string_count(const struct locations *p)
{
	return strings_count(&p->strings);
}

const char *locations_module_path(const struct locations *p, uint32_t module)
{
	return module && module < p->module_count ? p->modules[module].path : "";
}

void frame_unnamed(const char *module_path, uint64_t address, struct buf *out)
{
	if (module_path && *module_path)
		buf_printf(out, "%s+", path_base(module_path));
	buf_printf(out, "0x%llx", (unsigned long long)address);
}

void locations_unnamed(const struct locations *p, uint32_t module, uint64_t address,
		       struct buf *out)
{
	frame_unnamed(locations_module_path(p, module), address, out);
}

const char *locations_raw_call(unsigned call)
{
	return call < CALL_COUNT ? call_names[call] : "";
}

const char *locations_call(const struct locations *p, unsigned call)
{
	return call < CALL_COUNT ? p->calls[call] : "(unknown call)";
}

enum symbols_level locations_level(struct locations *p, uint32_t module)
{
	unsigned known = known_level(&p->model->tables.known, module);

	if (known)
		return known < SYMBOLS_LINES ? (enum symbols_level)known : SYMBOLS_LINES;
	return locations_found(p, module)->level;
}

const struct symbols_found *locations_found(struct locations *p, uint32_t module)
{
	return symbols_found(p->symbols, module ? module : SIZE_MAX);
}
