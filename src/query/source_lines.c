/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What source files and their lines weigh.  See source_lines.h. */
#include "query/source_lines.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/responsible.h"
#include "query/weigh.h"

static struct source_line *find_line(struct source_line **rows, size_t *count, size_t *room,
				     struct map *of, uint32_t file, uint32_t line)
{
	uint64_t key = (uint64_t)file << 32 | line, at;

	if (map_number(of, key, &at))
		*xpush(*rows, *count, *room) = (struct source_line){ .file = file, .line = line };
	return &(*rows)[at];
}

static void add_weight(struct source_line *l, const struct weight *w, uint32_t stack, bool self)
{
	if (l->seen != stack + 1) { /* once, however often the stack goes through it */
		l->seen = stack + 1;
		l->total.bytes += w->bytes;
		l->total.count += w->count;
	}
	if (self) {
		l->self.bytes += w->bytes;
		l->self.count += w->count;
	}
}

static void name_function(struct source_line *l, uint32_t function)
{
	for (size_t i = 0; i < l->function_count; i++)
		if (l->functions[i] == function)
			return;
	if (!function || l->function_count >= 16)
		return;
	*xpush(l->functions, l->function_count, l->function_room) = function;
}

static void add_stack(struct source_lines *l, const struct model *m, const struct stack_weight *w,
		      uint32_t number)
{
	const struct nodes *nodes = &m->tables.nodes;
	struct responsible_frame at = { 0 };

	responsible_find(l->responsible, w->stack, &at);
	for (uint32_t id = w->stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t location = locations_of_node(l->locations, id);
		unsigned count;
		const struct location_frame *f = locations_frames(l->locations, location, &count);

		for (unsigned i = 0; i < count; i++) {
			bool own = location == at.location && i == at.index;
			struct source_line *row;

			if (own)
				at.location = 0; /* recursion: the innermost alone is */
			if (!f[i].file)
				continue;
			add_weight(find_line(&l->files, &l->file_count, &l->file_room, &l->file_of,
					     f[i].file, 0),
				   &w->weight, number, own);
			if (f[i].file != l->only || !f[i].line)
				continue;
			row = find_line(&l->rows, &l->row_count, &l->row_room, &l->row_of,
					f[i].file, f[i].line);
			add_weight(row, &w->weight, number, own);
			name_function(row, f[i].function);
		}
	}
}

/* Numbers of texts follow from the order in which names were found, on several cores. */
ORDER_WITH(by_weight, struct source_line, struct locations,
	   FALLING(total.bytes)
		   ?: strcmp(locations_string(context, x->file),
			     locations_string(context, y->file)))

ORDER(by_line, struct source_line, RISING(line))

void source_lines_init(struct source_lines *l, const struct view *v, const struct measuring *how,
		       uint32_t only)
{
	struct stack_weights w;

	*l = (struct source_lines){ .locations = v->locations, .only = only };
	weigh_stacks(&w, v, how, false);
	locations_resolve_all(v->locations);
	l->responsible = responsible_of_view(v);
	for (uint32_t i = 0; i < w.count; i++)
		add_stack(l, v->model, &w.rows[i], i);
	stack_weights_release(&w);
	SORT_WITH(l->files, l->file_count, by_weight, v->locations);
	SORT(l->rows, l->row_count, by_line);
}

void source_lines_release(struct source_lines *l)
{
	for (size_t i = 0; i < l->row_count; i++)
		free(l->rows[i].functions);
	free(l->rows);
	free(l->files);
	map_release(&l->file_of);
	map_release(&l->row_of);
}

/* Is it the path, or its end from a slash on?  2, 1 or 0. */
static unsigned path_fits(const char *path, const char *wanted)
{
	size_t n = strlen(path), m = strlen(wanted);

	if (n < m || strcmp(path + n - m, wanted) != 0)
		return 0;
	return n == m ? 2 : path[n - m - 1] == '/';
}

uint32_t source_lines_file(struct locations *p, const char *path, bool *ret_several)
{
	uint32_t found = 0;

	*ret_several = false;
	for (uint32_t i = 0; i < locations_count(p); i++) {
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++) {
			uint32_t file = f[k].file;
			unsigned fits = file && file != found
						? path_fits(locations_string(p, file), path)
						: 0;

			if (fits == 2) {
				*ret_several = false;
				return file;
			}
			*ret_several = *ret_several || (fits && found);
			if (fits)
				found = file;
		}
	}
	return *ret_several ? 0 : found;
}
