/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Which stacks and which of their frames are wanted.  See profile_filter.h.
 *
 * What is tested is what jeprof tests.  --retain and --exclude decide about an address with all
 * that is inlined there, by the name of the outermost function alone; the address itself is tested
 * only where there is no name.  --focus and --ignore come after them, see only what they left, and
 * know an address by every function that is inlined there, by source and line, and by the address.
 */
#include "heap/profile_filter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"

enum { MATCH_FOCUS = 1, MATCH_IGNORE = 2, MATCH_RETAIN = 4, MATCH_EXCLUDE = 8 };

void profile_unnamed_text(const struct profile *p, const struct heap_location *location,
			  char out[PROFILE_UNNAMED_MAX])
{
	if (location->module == HEAP_NO_MODULE)
		snprintf(out, PROFILE_UNNAMED_MAX, "0x%016" PRIx64, location->address);
	else
		snprintf(out, PROFILE_UNNAMED_MAX, "[%s+0x%" PRIx64 "]",
			 p->locations.modules[location->module].name, location->address);
}

char *profile_unnamed(const struct profile *p, const struct heap_location *location)
{
	char text[PROFILE_UNNAMED_MAX];

	profile_unnamed_text(p, location, text);
	return xstrdup(text);
}

/* A function's name without arguments and template arguments: work::Box<int>::fill(int) const is
 * work::Box::fill, as jeprof writes it.  A bracket without its other one stays. */
static char *bare_name(const char *name)
{
	char *out = xstrdup(name);
	size_t n = 0;

	for (const char *at = name; *at; at++) {
		out[n++] = *at;
		if (*at != ')' && *at != '>')
			continue;
		for (size_t k = n - 1; k-- > 0;)
			if (out[k] == (*at == ')' ? '(' : '<')) {
				n = k;
				break;
			}
		if (*at == ')' && !strncmp(at + 1, " const", 6))
			at += 6;
	}
	out[n] = 0;
	return out;
}

/* By the name as it is shown, or as jeprof has it: patterns written for jeprof go on to work. */
static int pattern_knows_name(const struct pattern *pattern, const char *name, struct err *err)
{
	int found = pattern_match(pattern, name, err);

	if (!found && strpbrk(name, "(<")) {
		auto_free char *bare = bare_name(name);

		found = pattern_match(pattern, bare, err);
	}
	return found;
}

int profile_knows(const struct profile *p, const struct pattern *pattern,
		  const struct heap_location *location, const struct heap_location_frame *f,
		  struct err *err)
{
	auto_free char *line =
		xasprintf("%s:%u", strings_at(&p->locations.texts, f->file), f->line);
	char other[PROFILE_UNNAMED_MAX];
	int found;

	profile_unnamed_text(p, location, other);
	found = pattern_knows_name(pattern, strings_at(&p->locations.texts, f->function), err);
	if (!found && f->file)
		found = pattern_match(pattern, line, err);
	return found ? found : pattern_match(pattern, other, err);
}

/* For --retain and --exclude. */
static int pattern_knows_location(const struct profile *p, const struct pattern *pattern,
				  const struct heap_location *location, struct err *err)
{
	const struct heap_location_frame *f = heap_location_outermost(&p->locations, location);
	char other[PROFILE_UNNAMED_MAX];

	if (f->function)
		return pattern_knows_name(pattern, strings_at(&p->locations.texts, f->function),
					  err);
	profile_unnamed_text(p, location, other);
	return pattern_match(pattern, other, err);
}

/* `bit` for each frame that the pattern knows; NULL: none was asked for. */
static int match_frames(struct profile *p, const struct pattern *pattern, uint8_t bit,
			struct err *err)
{
	for (size_t i = 0; pattern && i < p->locations.count; i++) {
		const struct heap_location *location = &p->locations.locations[i];

		for (size_t k = location->frame; k < location->frame + location->frame_count; k++) {
			int found =
				profile_knows(p, pattern, location, &p->locations.frames[k], err);

			if (found < 0)
				return found;
			if (found)
				p->matches[k] |= bit;
		}
	}
	return 0;
}

/* The same for locations; their outermost frame has the bit. */
static int match_locations(struct profile *p, const struct pattern *pattern, uint8_t bit,
			   struct err *err)
{
	for (size_t i = 0; pattern && i < p->locations.count; i++) {
		const struct heap_location *location = &p->locations.locations[i];
		int found = pattern_knows_location(p, pattern, location, err);

		if (found < 0)
			return found;
		if (found)
			p->matches[heap_location_outermost(&p->locations, location) -
				   p->locations.frames] |= bit;
	}
	return 0;
}

int profile_match(struct profile *p, struct err *err)
{
	int error;

	p->matches = xcalloc(p->locations.frame_count + 1, 1);
	error = match_frames(p, p->options.focus, MATCH_FOCUS, err);
	if (!error)
		error = match_frames(p, p->options.ignore, MATCH_IGNORE, err);
	if (!error)
		error = match_locations(p, p->options.retain, MATCH_RETAIN, err);
	return error ? error : match_locations(p, p->options.exclude, MATCH_EXCLUDE, err);
}

bool profile_location_wanted(const struct profile *p, const struct heap_location *location)
{
	uint8_t met =
		p->matches[heap_location_outermost(&p->locations, location) - p->locations.frames];

	return (!p->options.retain || met & MATCH_RETAIN) && !(met & MATCH_EXCLUDE);
}

bool profile_sites_wanted(const struct profile *p, const uint32_t *sites, size_t count)
{
	unsigned met = 0;

	for (size_t i = 0; i < count; i++) {
		const struct heap_location *location = &p->locations.locations[sites[i]];

		if (!profile_location_wanted(p, location))
			continue;
		for (size_t k = location->frame; k < location->frame + location->frame_count; k++)
			met |= p->matches[k];
	}
	return (!p->options.focus || met & MATCH_FOCUS) && !(met & MATCH_IGNORE);
}
