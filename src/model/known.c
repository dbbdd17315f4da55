/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names from the recording itself.  See known.h. */
#include "model/known.h"

#include <string.h>

#include "base/order.h"
#include "base/xalloc.h"

static void add_text(struct known *k, const char *text, size_t size)
{
	*xpush(k->texts, k->text_count, k->text_room) = xmemdup0(text, size);
}

static bool add_location(struct known *k, const uint8_t **p, const uint8_t *end, uint64_t *last)
{
	struct symbols_location location;

	if (!symbols_get_location(p, end, *last, &location))
		return false;
	*last = location.address;
	*xpush(k->locations, k->location_count, k->location_room) =
		(struct known_location){ location.address, location.module, (uint32_t)k->line_count,
					 location.count };
	for (uint32_t i = 0; i < location.count; i++) {
		k->lines = xgrow(k->lines, k->line_count, &k->line_room, sizeof(*k->lines));
		if (!symbols_get_line(p, end, (uint32_t)k->text_count, &k->lines[k->line_count])) {
			k->location_count--;
			return false;
		}
		k->line_count++;
	}
	return true;
}

static bool add_level(struct known *k, const uint8_t **p, const uint8_t *end)
{
	uint32_t module;
	unsigned level;

	if (!symbols_get_module(p, end, &module, &level))
		return false;
	if (!k->levels) {
		k->level_count = SYMBOLS_MODULE_MAX + 1;
		k->levels = xcalloc(k->level_count, sizeof(*k->levels));
	}
	k->levels[module] = (uint8_t)level;
	return true;
}

bool known_add(struct known *k, const uint8_t *payload, size_t size)
{
	const uint8_t *p = payload, *end = payload + size;
	uint64_t last = 0, kind;
	bool fine = true;

	if (!k->text_count)
		add_text(k, "", 0);
	while (fine && p < end) {
		const char *text;
		size_t text_size;

		/* Numbers of texts and lines have 32 bits. */
		if (!symbols_get_kind(&p, end, &kind) || k->text_count >= UINT32_MAX ||
		    k->line_count >= UINT32_MAX - SYMBOLS_FRAMES_MAX)
			return false;
		switch (kind) {
		case SYMBOLS_TEXT:
			fine = symbols_get_text(&p, end, &text, &text_size);
			if (fine)
				add_text(k, text, text_size);
			break;
		case SYMBOLS_LOCATION:
			fine = add_location(k, &p, end, &last);
			break;
		case SYMBOLS_MODULE:
			fine = add_level(k, &p, end);
			break;
		default:
			fine = false;
		}
	}
	return fine;
}

void known_release(struct known *k)
{
	for (size_t i = 0; i < k->text_count; i++)
		free(k->texts[i]);
	free(k->texts);
	free(k->locations);
	free(k->lines);
	free(k->levels);
	memset(k, 0, sizeof(*k));
}

unsigned known_level(const struct known *k, uint32_t module)
{
	return module < k->level_count ? k->levels[module] : 0;
}

ORDER(compare, struct known_location, RISING(module) ?: RISING(address))

struct known_location *known_sorted(const struct known *k)
{
	struct known_location *sorted = xcalloc(k->location_count + 1, sizeof(*sorted));

	if (k->location_count) {
		memcpy(sorted, k->locations, k->location_count * sizeof(*sorted));
		SORT(sorted, k->location_count, compare);
	}
	return sorted;
}

const struct known_location *known_find(const struct known_location *sorted, size_t count,
					uint32_t module, uint64_t address)
{
	struct known_location wanted = { .address = address, .module = module };

	return bsearch(&wanted, sorted, count, sizeof(*sorted), compare);
}
