/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of static objects.  See statics.h.
 *
 * Compilers put all initialisers of a file's static objects into one function; a copy of it that
 * was split off for constant arguments has .constprop in its name. */
#include "query/statics.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/weigh.h"

#define INITIALISER "__static_initialization_and_destruction_0"
#define CONSTANT ".constprop"

/* The frame of a stack's initialiser; NULL: it has none of this kind. */
static const struct location_frame *find_static_frame(const struct model *m, struct locations *p,
						      uint32_t stack, bool constants)
{
	const struct nodes *nodes = &m->tables.nodes;

	for (uint32_t id = stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		unsigned count;
		const struct location_frame *f =
			locations_frames(p, locations_of_node(p, id), &count);

		for (unsigned i = 0; i < count; i++) {
			const char *name = locations_string(p, f[i].raw_function);

			if (strstr(name, INITIALISER))
				return !strstr(name, CONSTANT) == !constants ? &f[i] : NULL;
		}
	}
	return NULL;
}

/* Compilers that run elsewhere leave the path of their temporary folder: only what follows its
 * name stays. */
static const char *normal_path(const char *path)
{
	const char *at = strstr(path, "/distccd_");

	if (!at)
		return path;
	at = strchr(at + 1, '/');
	return at ? at : path;
}

ORDER(compare_lines, struct static_line, strcmp(x->file, y->file) ?: RISING(line))

void statics_init(struct statics *ret_statics, const struct view *v, bool constants)
{
	struct measuring how = measuring_of(v->model, MEASURE_LEAKED, 0);
	struct stack_weights w;
	struct statics built = { 0 }, *s = &built;
	size_t n = 0;

	weigh_stacks(&w, v, &how, false);
	for (uint32_t i = 0; i < w.count; i++) {
		const struct location_frame *f =
			find_static_frame(v->model, v->locations, w.rows[i].stack, constants);

		if (!f)
			continue;
		*xpush(s->rows, s->count, s->room) = (struct static_line){
			.file = f->file ? normal_path(locations_string(v->locations, f->file))
					: "?",
			.line = f->line,
			.weight = w.rows[i].weight,
		};
		s->total.bytes += w.rows[i].weight.bytes;
		s->total.count += w.rows[i].weight.count;
	}
	stack_weights_release(&w);
	SORT(s->rows, s->count, compare_lines);
	for (size_t i = 0; i < s->count; i++) {
		if (n && !compare_lines(&s->rows[n - 1], &s->rows[i])) {
			s->rows[n - 1].weight.bytes += s->rows[i].weight.bytes;
			s->rows[n - 1].weight.count += s->rows[i].weight.count;
		} else {
			s->rows[n++] = s->rows[i];
		}
	}
	s->count = n;
	*ret_statics = built;
}

void statics_release(struct statics *s)
{
	free(s->rows);
}

size_t statics_of_file(const struct statics *s, size_t first, struct weight *ret_sum)
{
	size_t end = first;

	*ret_sum = (struct weight){ 0 };
	for (; end < s->count && !strcmp(s->rows[end].file, s->rows[first].file); end++) {
		ret_sum->bytes += s->rows[end].weight.bytes;
		ret_sum->count += s->rows[end].weight.count;
	}
	return end - first;
}
