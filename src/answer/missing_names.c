/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The question missing_names: where functions have no names, and what would give them names.
 *
 * A module matters where one of its frames without a name is shown: it is taken for the program's
 * or leads its stack, and such stacks have a hundredth of the memory.  A library of three folded
 * frames does not. */
#include "answer/missing_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/human.h"
#include "base/order.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "model/stats.h"
#include "query/responsible.h"
#include "symbols/packages.h"
#include "symbols/symbols.h"

#define MATTERS 0.01
#define NAMED 2 /* modules of a line */

struct missing_search {
	const struct view *v;
	const struct responsible *r;
	struct missing_module *of_module;
	uint32_t *seen; /* by module: the last stack that shows it, plus one */
};

static bool lacks_name(const struct location_frame *f)
{
	return !f->function && !f->raw_function;
}

/* Adds a stack to each module that shows a frame without a name in it. */
static void look_at_stack(struct missing_search *s, const struct stack_sum *sum, uint32_t number)
{
	const struct nodes *nodes = &s->v->model->tables.nodes;
	struct locations *p = s->v->locations;
	struct responsible_frame lead;

	if (!responsible_find(s->r, sum->stack, &lead))
		return;
	for (uint32_t id = sum->stack; node_is_known(nodes, id); id = nodes->parent[id]) {
		uint32_t at = locations_of_node(p, id), module = locations_at(p, at)->module;
		struct missing_module *m = &s->of_module[module];
		unsigned count;
		const struct location_frame *f = locations_frames(p, at, &count);

		if (!module || s->seen[module] == number || !lacks_name(&f[0]) ||
		    (at != lead.location && responsible_kind(s->r, at, 0) != FRAME_PROGRAM))
			continue;
		s->seen[module] = number;
		m->module = module;
		m->stacks++;
		m->bytes += sum->bytes;
		m->peak += sum->peak_bytes;
	}
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static int compare_shares(const void *a, const void *b)
{
	const struct missing_module *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->module < y->module ? -1 : x->module > y->module;
}

static void find_packages(struct missing_names *n)
{
	auto_free const char **paths = xcalloc(n->matter + 1, sizeof(*paths));
	auto_free char **packages = xcalloc(n->matter + 1, sizeof(*packages));

	for (size_t i = 0; i < n->matter; i++)
		paths[i] = locations_module_path(n->locations, n->rows[i].module);
	if (n->matter)
		packages_find(paths, n->matter, packages);
	for (size_t i = 0; i < n->matter; i++) {
		n->rows[i].package = packages[i] ? packages_debug(packages[i]) : NULL;
		free(packages[i]);
	}
}

void missing_names_init(struct missing_names *n, const struct view *v)
{
	size_t modules = v->model->tables.module_count + 1;
	auto_free uint32_t *seen = xcalloc(modules, sizeof(*seen));
	struct missing_search s = { .v = v, .r = responsible_of_view(v), .seen = seen };
	struct stack_sums sums;
	uint64_t bytes = 0, peak = 0;

	s.of_module = xcalloc(modules, sizeof(*s.of_module));
	stats_sum_stacks(v->model, &sums);
	for (uint32_t i = 0; i < sums.count; i++) {
		bytes += sums.rows[i].bytes;
		peak += sums.rows[i].peak_bytes;
		look_at_stack(&s, &sums.rows[i], i + 1);
	}
	stack_sums_release(&sums);
	*n = (struct missing_names){ .locations = v->locations,
				     .rows = s.of_module,
				     .asked = locations_ask_servers(v->locations),
				     .problem = symbols_debuginfod_problem() };
	for (size_t i = 1; i < modules; i++) {
		struct missing_module *m = &n->rows[i];
		double allocated = share_of(m->bytes, bytes), alive = share_of(m->peak, peak);

		/* The kernel's own has no file. */
		if (!m->stacks || *locations_module_path(v->locations, m->module) != '/')
			continue;
		m->share = allocated > alive ? allocated : alive;
		m->matters = m->share >= MATTERS;
		n->matter += m->matters;
		n->rows[n->count++] = *m;
	}
	if (n->count)
		qsort(n->rows, n->count, sizeof(*n->rows), compare_shares);
	find_packages(n);
}

void missing_names_release(struct missing_names *n)
{
	for (size_t i = 0; i < n->matter; i++)
		free(n->rows[i].package);
	free(n->rows);
}

static const char *module_name(const struct missing_names *n, size_t i)
{
	return path_base(locations_module_path(n->locations, n->rows[i].module));
}

/* Is it the first row with its package? */
static bool is_new_package(const struct missing_names *n, size_t i)
{
	for (size_t k = 0; k < i && n->rows[i].package; k++)
		if (n->rows[k].package && !strcmp(n->rows[k].package, n->rows[i].package))
			return false;
	return n->rows[i].package != NULL;
}

static void write_packages(const struct missing_names *n, const char *before, struct buf *out)
{
	for (size_t i = 0; i < n->matter; i++)
		if (is_new_package(n, i)) {
			buf_printf(out, "%s%s", before, n->rows[i].package);
			before = " ";
		}
}

static bool has_packages(const struct missing_names *n)
{
	return ANY(i, n->matter, n->rows[i].package);
}

void missing_names_line(const struct missing_names *n, struct buf *out)
{
	if (!n->matter)
		return;
	buf_text(out, "Names are missing in ");
	for (size_t i = 0; i < n->matter && i < NAMED; i++) {
		buf_text(out, i ? ", " : "");
		buf_printable(out, module_name(n, i), strlen(module_name(n, i)));
		buf_printf(out, " (%s%s)", share_text((uint64_t)(n->rows[i].share * 10000), 10000),
			   i ? "" : " of the memory");
	}
	if (n->matter > NAMED)
		buf_printf(out, " and %zu more", n->matter - NAMED);
	if (has_packages(n)) {
		write_packages(n, ": install ", out);
		if (!n->asked)
			buf_text(out, ", or use --debuginfod");
	} else {
		buf_text(out, ": --debug-symbols PATH names files with symbols");
	}
}

static int missing_names_compute(struct ask *a, void *answer)
{
	const struct view *v = ask_view(a);

	if (!v)
		return -EINVAL;
	missing_names_init(answer, v);
	return 0;
}

static void write_optional(struct json *j, const char *key, const char *text)
{
	if (text)
		json_text(j, key, text);
	else
		json_null(j, key);
}

static void missing_names_json(struct ask *a, const void *answer, struct json *j, struct sink *out)
{
	static const char *const levels[] = {
		[SYMBOLS_NONE] = "none",
		[SYMBOLS_EXPORTED] = "exported",
		[SYMBOLS_NAMES] = "functions",
		[SYMBOLS_LINES] = "lines",
	};
	const struct missing_names *n = answer;
	auto_buf struct buf packages = { 0 };

	JSON_ROWS(j, "modules", i, n->count) {
		const struct missing_module *m = &n->rows[i];

		json_text(j, "name", module_name(n, i));
		json_text(j, "path", locations_module_path(n->locations, m->module));
		json_text(j, "symbols", levels[locations_level(n->locations, m->module)]);
		JSON_MEMBERS(j, m, stacks, bytes);
		json_real(j, "share", m->share, 4);
		json_bool(j, "matters", m->matters);
		write_optional(j, "package", m->package);
	}
	write_packages(n, "", &packages);
	write_optional(j, "packages", packages.size ? packages.data : NULL);
	json_object(j, "debuginfod");
	json_bool(j, "asked", n->asked);
	write_optional(j, "problem", n->problem);
	json_text(j, "suggested", packages_debuginfod());
	json_end_object(j);
}

static void missing_names_drop(void *answer)
{
	missing_names_release(answer);
}

const struct question question_missing_names = {
	.name = "missing_names",
	.help = "where functions have no names, whether that matters, and what would give them "
		"names",
	.prefetch = (const struct prefetch[]){ { 21, "" }, { 0 } },
	.size = sizeof(struct missing_names),
	.compute = missing_names_compute,
	.write_members = missing_names_json,
	.release = missing_names_drop,
};
