/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that were looked up before.  See heap_known.h.
 *
 * heap_places_resolve() calls it first.  A place is the same where the file's path and the offset
 * in it are, and the dump gives it the same names.  What is known is only read, so many threads may
 * take from it at once. */
#include "heap/heap_known.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The module of `k` with the same path, and the same build where the dump says which, or
 * HEAP_NO_MODULE. */
static uint32_t module_in(const struct heap_places *k, const struct heap_places_module *m)
{
	for (size_t i = 0; i < k->module_count; i++)
		if (!strcmp(k->modules[i].path, m->path) &&
		    (!*m->build_id || !strcmp(k->modules[i].build_id, m->build_id)))
			return (uint32_t)i;
	return HEAP_NO_MODULE;
}

/* For each module of `p` the one of `k`. */
static uint32_t *match_modules(struct heap_places *p, const struct heap_places *k)
{
	uint32_t *same = xmalloc((p->module_count + 1) * sizeof(*same));

	for (size_t i = 0; i < p->module_count; i++) {
		struct heap_places_module *m = &p->modules[i];

		same[i] = module_in(k, m);
		if (same[i] == HEAP_NO_MODULE || m->file || !k->modules[same[i]].file)
			continue;
		m->file = xstrdup(k->modules[same[i]].file);
		m->build_id =
			strings_at(&p->texts, strings_add(&p->texts, k->modules[same[i]].build_id));
	}
	return same;
}

static uint32_t take_text(struct heap_places *p, const struct heap_places *k, uint32_t text)
{
	return text ? strings_add(&p->texts, strings_at(&k->texts, text)) : 0;
}

static void take_frames(struct heap_places *p, struct heap_place *place,
			const struct heap_places *k, const struct heap_place *from)
{
	place->address = from->address;
	place->frame = p->frame_count;
	place->frame_count = from->frame_count;
	for (size_t i = from->frame; i < from->frame + from->frame_count; i++) {
		struct heap_place_frame f = k->frames[i];

		f.function = take_text(p, k, f.function);
		f.file = take_text(p, k, f.file);
		p->frames = xgrow(p->frames, p->frame_count, &p->frame_room, sizeof(*p->frames));
		p->frames[p->frame_count++] = f;
	}
}

static void take_places(struct heap_places *p, const struct heap_places *k)
{
	auto_free uint32_t *same = match_modules(p, k);

	for (size_t i = 0; i < p->count; i++) {
		struct heap_place *place = &p->places[i];
		uint32_t module = HEAP_NO_MODULE, found;

		if (place->frame_count)
			continue;
		if (place->module != HEAP_NO_MODULE) {
			module = same[place->module];
			if (module == HEAP_NO_MODULE)
				continue;
		}
		if (heap_places_find(k, module, place->offset, &found) &&
		    k->places[found].frame_count &&
		    !strcmp(strings_at(&k->texts, k->places[found].given),
			    strings_at(&p->texts, place->given)))
			take_frames(p, place, k, &k->places[found]);
	}
}

size_t heap_known_take(struct heap_places *p)
{
	size_t count = 0;

	for (size_t i = 0; i < p->options.known_count; i++)
		take_places(p, p->options.known[i]);
	for (size_t i = 0; i < p->count; i++)
		count += p->places[i].frame_count > 0;
	return count;
}
