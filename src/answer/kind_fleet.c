/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Fleets.  See kind_fleet.h.  A fleet's snapshot has an empty recording, whose time begins in 1970,
 * so that moments are read as everywhere. */
#include "answer/kind_fleet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/xalloc.h"
#include "model/named.h"

const struct kind kind_fleet = { .name = "fleet" };

static void release_fleet(struct snapshot *s)
{
	free(s->fleet);
}

struct snapshot *kind_fleet_open(const struct fleet_settings *settings, const char *url,
				 struct err *err)
{
	struct opened_fleet *f = xcalloc(1, sizeof(*f));
	XXH128_hash_t hash;
	struct snapshot *s;
	struct named named;

	if (fleet_open(&f->fleet, settings, url, err) || fleet_facts(&f->fleet, &f->facts, err)) {
		free(f);
		return NULL;
	}
	s = snapshot_new();
	hash = XXH3_128bits(f->fleet.name, strlen(f->fleet.name));
	snprintf(s->id, sizeof(s->id), "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	s->name = xstrdup(f->fleet.name);
	s->version = 1;
	s->kind = &kind_fleet;
	s->fleet = f;
	s->release = release_fleet;
	named_init(&named);
	s->model = named.model;
	s->locations = named.locations;
	named.model = NULL;
	named.locations = NULL;
	named_release(&named);
	return s;
}
