/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hash of names and rules.  See names_hash.h. */
#include "query/names_hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/xalloc.h"
#include "query/responsible.h"
#include "query/user_rules.h"

static uint64_t hash_name(const struct locations *p, uint32_t string, uint64_t seed)
{
	const char *name = locations_string(p, string);

	return XXH3_64bits_withSeed(name, strlen(name) + 1, seed);
}

uint64_t names_hash(const struct view *v)
{
	const struct responsible *r = responsible_of_view(v);
	struct locations *p = v->locations;
	auto_free char *own = user_rules_text(NULL);
	uint64_t hash = own ? XXH3_64bits(own, strlen(own) + 1) : 0;

	for (uint32_t i = 0; i < locations_count(p); i++) {
		unsigned count;
		const struct location_frame *f = locations_frames(p, i, &count);

		for (unsigned k = 0; k < count; k++) {
			const uint32_t rest[] = { f[k].line, f[k].column, f[k].inlined,
						  responsible_kind(r, i, k),
						  r->index_of_location[i] };

			hash = hash_name(p, f[k].function, hash);
			hash = hash_name(p, f[k].raw_function, hash);
			hash = hash_name(p, f[k].file, hash);
			hash = XXH3_64bits_withSeed(rest, sizeof(rest), hash);
		}
	}
	return XXH3_64bits_withSeed(r->location_of_node,
				    v->model->tables.nodes.count * sizeof(*r->location_of_node),
				    hash);
}
