/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of tree nodes.  See tree_names.h and tree.h. */
#include "query/tree_names.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "query/responsible.h"

const char *const tree_keys[TREE_KEYS] = { "function", "line", "module" };

void tree_names_init(struct tree_names *n, struct locations *p, const struct tree_options *o)
{
	memset(n, 0, sizeof(*n));
	n->locations = p;
	n->key = o->key;
	n->responsible = o->responsible;
	n->of_location = xcalloc(locations_count(p) + 1, sizeof(*n->of_location));
}

void tree_names_release(struct tree_names *n)
{
	for (unsigned i = 0; i < 3; i++)
		map_release(&n->pairs[i]);
	map_release(&n->addresses);
	free(n->of_location);
	free(n->flat);
}

static uint32_t add_row(struct tree_names *n, const struct tree_name *name)
{
	*xpush(n->rows, n->count, n->room) = *name;
	return (uint32_t)n->count - 1;
}

uint32_t tree_names_add(struct tree_names *n, enum tree_kind kind, uint32_t thread)
{
	return add_row(n, &(struct tree_name){ .kind = kind, .thread = thread });
}

/* A number for two numbers. */
static uint32_t pair(struct map *m, uint32_t a, uint32_t b)
{
	uint64_t key = (uint64_t)a << 32 | b, id;

	map_number(m, key, &id);
	return (uint32_t)id;
}

/* The row of what a map says, which is made if it is new. */
static uint32_t row_of(struct tree_names *n, struct map *m, uint64_t key,
		       const struct tree_name *name)
{
	uint64_t id;

	if (map_get(m, key, &id))
		return (uint32_t)id;
	id = add_row(n, name);
	map_set(m, key, id);
	return (uint32_t)id;
}

static uint32_t name_of(struct tree_names *n, const struct location *p,
			const struct location_frame *f)
{
	struct tree_name name = { .kind = TREE_FRAME, .module = p->module };
	uint32_t function, line = 0;

	if (n->key == TREE_BY_MODULE)
		return row_of(n, &n->pairs[2], p->module, &name);
	if (!f->function) {
		name.address = p->address;
		return row_of(n, &n->addresses, p->address | (uint64_t)p->module << 48, &name);
	}
	name.function = f->function;
	name.raw_function = f->raw_function;
	name.file = f->file;
	function = pair(&n->pairs[0], f->function, p->module);
	if (n->key == TREE_BY_LINE) {
		name.line = f->line;
		line = pair(&n->pairs[1], f->file, f->line);
	}
	return row_of(n, &n->pairs[2], (uint64_t)function << 32 | line, &name);
}

/* Notes whose a frame is with its name. */
static uint32_t judged(struct tree_names *n, uint32_t name, uint32_t location, unsigned index)
{
	enum frame_kind kind =
		n->responsible ? responsible_kind(n->responsible, location, index) : FRAME_PROGRAM;

	if (kind > n->rows[name].whose)
		n->rows[name].whose = kind;
	return name;
}

const uint32_t *tree_names_of(struct tree_names *n, uint32_t location, uint32_t *ret_count)
{
	if (!n->of_location[location].count) {
		const struct location *p = locations_at(n->locations, location);
		unsigned count;
		const struct location_frame *frames =
			locations_frames(n->locations, location, &count);

		n->of_location[location].first = (uint32_t)n->flat_count;
		if (n->key == TREE_BY_MODULE)
			count = 1;
		n->of_location[location].count = count;
		for (unsigned i = count; i-- > 0;) {
			*xpush(n->flat, n->flat_count, n->flat_room) =
				judged(n, name_of(n, p, &frames[i]), location, i);
		}
	}
	*ret_count = n->of_location[location].count;
	return &n->flat[n->of_location[location].first];
}

uint32_t tree_names_of_frame(const struct tree_names *n, uint32_t location, uint32_t index)
{
	uint32_t first = n->of_location[location].first, count = n->of_location[location].count;

	return n->flat[first + (index < count ? count - 1 - index : 0)];
}

static void frame_text(const struct tree *t, const struct tree_name *n, struct buf *out)
{
	const char *module = path_base(locations_module_path(t->locations, n->module));

	if (t->options.key == TREE_BY_MODULE) {
		buf_text(out, *module ? module : "(no module)");
		return;
	}
	if (!n->function) {
		locations_unnamed(t->locations, n->module, n->address, out);
		return;
	}
	buf_text(out, locations_string(t->locations, n->function));
	if (t->options.key == TREE_BY_LINE && n->file) {
		buf_printf(out, " at %s", path_base(locations_string(t->locations, n->file)));
		if (n->line)
			buf_printf(out, ":%u", n->line);
	}
}

void tree_name_text(const struct tree *t, uint32_t name, struct buf *out)
{
	const struct tree_name *n = &t->names[name];
	const struct threads *threads = &t->model->tables.threads;

	switch (n->kind) {
	case TREE_ROOT:
		buf_text(out, "all");
		break;
	case TREE_FRAME:
		frame_text(t, n, out);
		break;
	case TREE_THREAD:
		if (n->thread >= threads->count)
			buf_text(out, "(unknown thread)");
		else if (threads->rows[n->thread].name[0])
			buf_printf(out, "thread %s (%llu)", threads->rows[n->thread].name,
				   (unsigned long long)threads->rows[n->thread].tid);
		else
			buf_printf(out, "thread %llu",
				   (unsigned long long)threads->rows[n->thread].tid);
		break;
	case TREE_OTHERS:
		buf_text(out, "(others)");
		break;
	case TREE_NO_STACK:
		buf_text(out, "(no stack)");
		break;
	}
}
