/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Whose maps.  See map_owner.h. */
#include "query/map_owner.h"

#include <string.h>

#include "query/allocator.h"

#define OUR_LIBRARY "libmemoir"

static const char *const allocators[] = { "jemalloc", "tcmalloc", "mimalloc" };

/* The allocator that is named in a text, or NULL. */
static const char *named_in(const char *text)
{
	for (size_t i = 0; text && i < sizeof(allocators) / sizeof(*allocators); i++)
		if (strstr(text, allocators[i]))
			return allocators[i];
	return NULL;
}

static const char *file_of(const struct model *m, uint32_t module)
{
	const char *path = module < m->tables.module_count ? m->tables.modules[module].path : NULL;
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

void map_owner_init(struct map_owner *o, const struct model *m)
{
	const char *allocator = model_info(m, "allocator"), *name = named_in(allocator);

	*o = (struct map_owner){ .model = m };
	o->underneath = name ? name : allocator_is_glibc(m) ? "glibc" : "allocator";
	for (uint32_t i = 1; i < m->tables.module_count && !o->our_module; i++) {
		const char *file = file_of(m, i);

		if (file && !strncmp(file, OUR_LIBRARY, strlen(OUR_LIBRARY)))
			o->our_module = i;
	}
}

static uint32_t module_of(const struct nodes *n, uint32_t node)
{
	return (uint32_t)(n->frame[node] >> NODE_ADDRESS_BITS);
}

const char *map_owner_of(const struct map_owner *o, const struct map_call *call)
{
	const struct nodes *n = &o->model->tables.nodes;
	const char *file = NULL, *name;
	bool within = call->flags & MAP_BY_ALLOCATOR;

	if (call->given & MAP_STACK_GIVEN)
		return NULL;
	if (call->stack && call->stack < n->count)
		file = file_of(o->model, module_of(n, call->stack));
	name = file && !strncmp(file, "lib", 3) ? named_in(file) : NULL;
	if (name)
		return name;
	for (uint32_t node = call->stack; node && node < n->count && o->our_module && !within;
	     node = n->parent[node])
		within = module_of(n, node) == o->our_module;
	if (!within)
		return NULL;
	return file && (!strncmp(file, "libc.", 5) || !strncmp(file, "libc-", 5)) ? "glibc"
										  : o->underneath;
}
