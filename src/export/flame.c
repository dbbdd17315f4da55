/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trees of views.  See flame.h. */
#include "export/flame.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
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
	return flame_tree_child(&f->tree, parent, flame_function(f, frame));
}

/* The frames of one stack node, inlined ones too, below what its caller has. */
static uint32_t add_location(struct flame *f, uint32_t at, uint32_t location)
{
	const struct location *p = locations_at(f->view->locations, location);
	unsigned count;
	const struct location_frame *frames =
		locations_frames(f->view->locations, location, &count);

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
		*xpush(g->path, depth, g->path_room) = id;
	}
	while (depth--) {
		at = add_location(g->f, at,
				  locations_of_node(g->f->view->locations, g->path[depth]));
		g->node_of[g->path[depth]] = at + 1;
	}
	return at;
}

void flame_init(struct flame *f, const struct view *v, const struct measuring *how,
		unsigned measures)
{
	struct growing g = { .f = f, .stacks = &v->model->tables.nodes };

	*f = (struct flame){ .view = v };
	flame_tree_init(&f->tree, measures);
	g.node_of = xcalloc(g.stacks->count + 1, sizeof(*g.node_of));
	for (unsigned m = 0; m < measures; m++) {
		struct stack_weights weights;

		weigh_stacks(&weights, v, &how[m], false);
		for (uint32_t i = 0; i < weights.count; i++)
			flame_tree_add(&f->tree, node_of_stack(&g, weights.rows[i].stack), m,
				       weights.rows[i].weight.bytes, weights.rows[i].weight.count);
		stack_weights_release(&weights);
	}
	flame_tree_sum(&f->tree);
	free(g.node_of);
	free(g.path);
}

void flame_release(struct flame *f)
{
	flame_tree_release(&f->tree);
	free(f->lines);
	functions_release(&f->functions);
}

static void describe(const void *context, uint32_t function, struct buf *name,
		     struct flame_source *ret)
{
	const struct flame *f = context;
	const struct functions_row *row = &f->functions.rows[function];
	struct locations *locations = f->view->locations;
	const char *module = locations_module_path(locations, row->module);

	*ret = (struct flame_source){ .module = module,
				      .file = locations_string(locations, row->file),
				      .first = f->lines[function].first,
				      .last = f->lines[function].last };
	if (row->function)
		buf_text(name, locations_string(locations, row->function));
	else if (row->address == UINT64_MAX)
		buf_text(name, "(no stack)");
	else
		locations_unnamed(locations, row->module, row->address, name);
}

struct flame_names flame_names(const struct flame *f)
{
	return (struct flame_names){ f, (uint32_t)f->functions.count, describe };
}
