/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that were looked up before.  See heap_known.h.
 *
 * heap_locations_resolve() calls it first.  A location is the same where the file's path and the
 * offset in it are, and the dump gives it the same names.  What is known is only read, so many
 * threads may take from it at once. */
#include "heap/heap_known.h"

#include <string.h>

#include "base/xalloc.h"

/* The module of `k` with the same path, and the same build where the dump says which, or
 * HEAP_NO_MODULE. */
static uint32_t module_in(const struct heap_locations *k, const struct heap_locations_module *m)
{
	for (size_t i = 0; i < k->module_count; i++)
		if (!strcmp(k->modules[i].path, m->path) &&
		    (!*m->build_id || !strcmp(k->modules[i].build_id, m->build_id)))
			return (uint32_t)i;
	return HEAP_NO_MODULE;
}

/* For each module of `p` the one of `k`. */
static uint32_t *match_modules(struct heap_locations *p, const struct heap_locations *k)
{
	uint32_t *same = xmalloc((p->module_count + 1) * sizeof(*same));

	for (size_t i = 0; i < p->module_count; i++) {
		struct heap_locations_module *m = &p->modules[i];

		same[i] = module_in(k, m);
		if (same[i] == HEAP_NO_MODULE || m->file || !k->modules[same[i]].file)
			continue;
		m->file = xstrdup(k->modules[same[i]].file);
		m->build_id =
			strings_at(&p->texts, strings_add(&p->texts, k->modules[same[i]].build_id));
	}
	return same;
}

static uint32_t take_text(struct heap_locations *p, const struct heap_locations *k, uint32_t text)
{
	return text ? strings_add(&p->texts, strings_at(&k->texts, text)) : 0;
}

static void take_frames(struct heap_locations *p, struct heap_location *location,
			const struct heap_locations *k, const struct heap_location *from)
{
	location->address = from->address;
	location->frame = p->frame_count;
	location->frame_count = from->frame_count;
	for (size_t i = from->frame; i < from->frame + from->frame_count; i++) {
		struct heap_location_frame f = k->frames[i];

		f.function = take_text(p, k, f.function);
		f.file = take_text(p, k, f.file);
		*xpush(p->frames, p->frame_count, p->frame_room) = f;
	}
}

static void take_locations(struct heap_locations *p, const struct heap_locations *k)
{
	auto_free uint32_t *same = match_modules(p, k);

	for (size_t i = 0; i < p->count; i++) {
		struct heap_location *location = &p->locations[i];
		uint32_t module = HEAP_NO_MODULE, found;

		if (location->frame_count)
			continue;
		if (location->module != HEAP_NO_MODULE) {
			module = same[location->module];
			if (module == HEAP_NO_MODULE)
				continue;
		}
		if (heap_locations_find(k, module, location->offset, &found) &&
		    k->locations[found].frame_count &&
		    !strcmp(strings_at(&k->texts, k->locations[found].given),
			    strings_at(&p->texts, location->given)))
			take_frames(p, location, k, &k->locations[found]);
	}
}

size_t heap_known_take(struct heap_locations *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->options.known_count; i++)
		take_locations(p, p->options.known[i]);
	for (size_t i = 0; i < p->count; i++)
		count += p->locations[i].frame_count > 0;
	return count;
}
