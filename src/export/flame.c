/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees for flame graphs.  See flame.h. */
#include "export/flame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "model/stats.h"
#include "query/weigh.h"

struct growing {
	struct flame *f;
	const struct nodes *stacks;
	uint32_t *node_of; /* by stack node: plus one */
	uint32_t *path;
	size_t path_room;
};

static uint32_t add_node(struct flame *f, uint32_t parent, uint32_t function)
{
	uint32_t depth = f->count ? f->nodes[parent].depth + 1 : 0;

	f->nodes = xgrow(f->nodes, f->count, &f->room, sizeof(*f->nodes));
	f->weights =
		xgrow(f->weights, f->count, &f->weight_room, f->measures * sizeof(*f->weights));
	f->nodes[f->count] = (struct flame_node){ parent, function, depth };
	memset(&f->weights[f->count * f->measures], 0, f->measures * sizeof(*f->weights));
	return (uint32_t)f->count++;
}

uint32_t flame_function(struct flame *f, const struct stack_frame *frame)
{
	size_t before = f->functions.count;
	uint32_t id = functions_id(&f->functions, frame);
	struct flame_lines *lines;

	if (f->functions.count > before) {
		f->lines = xgrow(f->lines, before, &f->lines_room, sizeof(*f->lines));
		f->lines[id] = (struct flame_lines){ frame->line, frame->line };
	}
	lines = &f->lines[id];
	if (frame->line && (!lines->first || frame->line < lines->first))
		lines->first = frame->line;
	if (frame->line > lines->last)
		lines->last = frame->line;
	return id;
}

static uint32_t child_of(struct flame *f, uint32_t parent, const struct stack_frame *frame)
{
	uint32_t function = flame_function(f, frame);
	uint64_t key = (uint64_t)parent << 32 | function, id;

	if (map_get(&f->children, key, &id))
		return (uint32_t)id;
	id = add_node(f, parent, function);
	map_set(&f->children, key, id);
	return (uint32_t)id;
}

/* The frames of one stack node, inlined ones too, below what its caller has. */
static uint32_t add_place(struct flame *f, uint32_t at, uint32_t place)
{
	const struct place *p = places_at(f->view->places, place);
	unsigned count;
	const struct place_frame *frames = places_frames(f->view->places, place, &count);

	for (unsigned i = count; i-- > 0;)
		at = child_of(f, at,
			      &(struct stack_frame){
				      .function = frames[i].function,
				      .file = frames[i].file,
				      .line = frames[i].line,
				      .module = p->module,
				      .address = p->address,
			      });
	return at;
}

/* Up to where the way is known, and down again. */
static uint32_t node_of_stack(struct growing *g, uint32_t stack)
{
	static const struct stack_frame none = { .address = UINT64_MAX };
	uint32_t at = FLAME_ROOT, id = stack;
	size_t depth = 0;

	if (!node_is_known(g->stacks, stack))
		return child_of(g->f, FLAME_ROOT, &none);
	for (; node_is_known(g->stacks, id); id = g->stacks->parent[id]) {
		if (g->node_of[id]) {
			at = g->node_of[id] - 1;
			break;
		}
		g->path = xgrow(g->path, depth, &g->path_room, sizeof(*g->path));
		g->path[depth++] = id;
	}
	while (depth--) {
		at = add_place(g->f, at, places_of_node(g->f->view->places, g->path[depth]));
		g->node_of[g->path[depth]] = at + 1;
	}
	return at;
}

void flame_init(struct flame *f, const struct view *v, const struct measuring *how,
		unsigned measures)
{
	struct growing g = { .f = f, .stacks = &v->model->tables.nodes };

	*f = (struct flame){ .view = v, .measures = measures };
	g.node_of = xcalloc(g.stacks->count + 1, sizeof(*g.node_of));
	add_node(f, FLAME_ROOT, UINT32_MAX);
	for (unsigned m = 0; m < measures; m++) {
		struct stack_weights weights;

		weigh_stacks(&weights, v, &how[m], false);
		for (uint32_t i = 0; i < weights.count; i++) {
			uint32_t node = node_of_stack(&g, weights.rows[i].stack);
			struct weight *w = &f->weights[(size_t)node * measures + m];

			w->bytes += weights.rows[i].weight.bytes;
			w->count += weights.rows[i].weight.count;
		}
		stack_weights_release(&weights);
	}
	for (size_t i = f->count; --i > 0;)
		for (unsigned m = 0; m < measures; m++) {
			struct weight *to = &f->weights[f->nodes[i].parent * (size_t)measures + m];

			to->bytes += flame_weight(f, i, m)->bytes;
			to->count += flame_weight(f, i, m)->count;
		}
	free(g.node_of);
	free(g.path);
}

void flame_release(struct flame *f)
{
	free(f->nodes);
	free(f->weights);
	free(f->lines);
	functions_release(&f->functions);
	map_release(&f->children);
}

static double part(uint64_t of, uint64_t whole)
{
	return whole ? (double)of / (double)whole : 0;
}

double flame_share(const struct flame *f, size_t node)
{
	double most = 0;

	for (unsigned m = 0; m < f->measures; m++) {
		const struct weight *w = flame_weight(f, node, m), *all = flame_weight(f, 0, m);
		double bytes = part(w->bytes, all->bytes), count = part(w->count, all->count);

		most = bytes > most ? bytes : most;
		most = count > most ? count : most;
	}
	return most;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

double flame_cut(const struct flame *f, size_t limit)
{
	double *shares, cut = 0;

	if (f->count <= limit)
		return 0;
	shares = xcalloc(f->count, sizeof(*shares));
	for (size_t i = 0; i < f->count; i++)
		shares[i] = flame_share(f, i);
	qsort(shares, f->count, sizeof(*shares), by_size);
	cut = shares[limit];
	free(shares);
	return cut;
}

void flame_name(const struct flame *f, uint32_t function, struct buf *out)
{
	struct places *places = f->view->places;
	const struct functions_row *row;
	const char *module;

	if (function == UINT32_MAX) {
		buf_text(out, "all");
		return;
	}
	row = &f->functions.rows[function];
	module = path_base(places_module_path(places, row->module));
	if (row->function)
		buf_text(out, places_string(places, row->function));
	else if (row->address == UINT64_MAX)
		buf_text(out, "(no stack)");
	else
		buf_printf(out, "0x%" PRIx64 " [%s]", row->address, *module ? module : "?");
}

static bool is_system(const char *module, const char *function)
{
	static const char *const modules[] = { "libc.so",     "libc-",	     "libc.musl",
					       "ld-linux",    "ld-musl",     "libpthread",
					       "libjemalloc", "libtcmalloc", "libmimalloc" };
	static const char *const functions[] = { "operator new",  "malloc",	   "calloc",
						 "realloc",	  "reallocarray",  "memalign",
						 "aligned_alloc", "posix_memalign" };

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (!strncmp(module, modules[i], strlen(modules[i])))
			return true;
	if (!strncmp(function, functions[0], strlen(functions[0])))
		return true;
	for (size_t i = 1; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(function, functions[i]))
			return true;
	return false;
}

int flame_colour_of(const char *name, const char *module)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (const char *p = name; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 16777619u;
	hash ^= hash >> 15;
	return is_system(path_base(module), name) ? -1 - (int)(hash % FLAME_SHADES)
						  : (int)(hash % FLAME_COLOURS);
}

int flame_colour(const struct flame *f, uint32_t function)
{
	struct buf name = { 0 };
	int colour;

	if (function == UINT32_MAX)
		return -1;
	flame_name(f, function, &name);
	colour = flame_colour_of(
		name.data, places_module_path(f->view->places, f->functions.rows[function].module));
	buf_release(&name);
	return colour;
}
