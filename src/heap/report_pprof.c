/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto: objects and bytes, alive and ever; a sample for each stack and thread.
 *
 * A pprof location is one of ours, its inlined functions are lines of it; a mapping is a module.
 * Locations with the same offset in two modules stay two.  Numbers of locations, modules and
 * functions count from 1 without a gap, which Parca asks for.  Strings come last: readers take
 * fields in any order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "heap/report.h"

enum pprof_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD,
	PROFILE_DEFAULT_TYPE = 14,
};

struct writer {
	const struct profile *p;
	struct sink *out;
	struct strings strings; /* number 0 is "" here as there */
	struct buf message, part;
	uint32_t *numbers; /* of locations, from 1, in the order in which samples name them */
	size_t *locations; /* by number */
	uint32_t location_count;
	uint32_t *mappings;   /* numbers of modules, from 1 */
	bool ever;	      /* amounts of everything ever allocated are known */
	struct map functions; /* function << 32 | file of texts, to id */
	uint64_t function_count;
};

static uint64_t string(struct writer *w, const char *text)
{
	auto_free char *copy = utf8_copy(text);

	return strings_add(&w->strings, copy);
}

static void value_type(struct writer *w, unsigned field, const char *type, const char *unit)
{
	proto_number(&w->message, 1, string(w, type));
	proto_number(&w->message, 2, string(w, unit));
	proto_message(&w->out->buf, field, &w->message);
}

static void sample(struct writer *w, const struct profile_walk *walk)
{
	const double values[] = { walk->amounts.all_objects, walk->amounts.all_bytes,
				  walk->amounts.objects, walk->amounts.bytes };

	for (size_t k = 0; k < walk->count; k++) {
		size_t location = (size_t)(walk->locations[k] - w->p->locations.locations);

		if (k && walk->locations[k] == walk->locations[k - 1] &&
		    walk->frames[k] > walk->frames[k - 1])
			continue; /* another function of the same location */
		if (!w->numbers[location]) {
			w->locations[w->location_count++] = location;
			w->numbers[location] = w->location_count;
		}
		proto_varint(&w->part, w->numbers[location]);
	}
	proto_message(&w->message, 1, &w->part);
	for (unsigned i = w->ever ? 0 : 2; i < 4; i++)
		proto_varint(&w->part, (uint64_t)llround(fmax(fmin(values[i], 0x1p62), -0x1p62)));
	proto_message(&w->message, 2, &w->part);
	if (walk->thread) {
		proto_number(&w->part, 1, string(w, "thread"));
		proto_number(&w->part, 2, string(w, walk->thread));
		proto_message(&w->message, 3, &w->part);
	}
	proto_message(&w->out->buf, PROFILE_SAMPLE, &w->message);
}

static uint64_t function(struct writer *w, const struct heap_location *location,
			 const struct heap_location_frame *f)
{
	uint64_t key = (uint64_t)f->function << 32 | f->file, id;
	auto_free char *other = NULL;
	const char *name = strings_at(&w->p->locations.texts, f->function);

	if (*name && map_get(&w->functions, key, &id))
		return id;
	id = ++w->function_count;
	if (*name)
		map_set(&w->functions, key, id);
	else
		name = other = profile_unnamed(w->p, location);
	proto_number(&w->part, 1, id);
	proto_number(&w->part, 2, string(w, name));
	proto_number(&w->part, 3, string(w, name));
	proto_number(&w->part, 4, string(w, strings_at(&w->p->locations.texts, f->file)));
	proto_message(&w->out->buf, PROFILE_FUNCTION, &w->part);
	return id;
}

static void put_location(struct writer *w, size_t i)
{
	const struct heap_location *location = &w->p->locations.locations[i];
	struct buf line = { 0 };

	for (size_t k = location->frame; k < location->frame + location->frame_count; k++) {
		const struct heap_location_frame *f = &w->p->locations.frames[k];
		uint64_t id = function(w, location, f);

		proto_number(&line, 1, id);
		proto_number(&line, 2, f->line);
		proto_message(&w->message, 4, &line);
	}
	proto_number(&w->message, 1, w->numbers[i]);
	if (location->module != HEAP_NO_MODULE)
		proto_number(&w->message, 2, w->mappings[location->module]);
	proto_number(&w->message, 3, location->address);
	proto_message(&w->out->buf, PROFILE_LOCATION, &w->message);
	buf_release(&line);
}

/* In the order in which they are written: readers take the first for the program. */
static void number_mappings(struct writer *w)
{
	uint32_t main = w->p->locations.main_module, next = main != HEAP_NO_MODULE ? 2 : 1;

	w->mappings = xcalloc(w->p->locations.module_count + 1, sizeof(*w->mappings));
	for (size_t i = 0; i < w->p->locations.module_count; i++)
		w->mappings[i] = i == main ? 1 : next++;
}

static void mapping(struct writer *w, size_t i)
{
	const struct heap_locations_module *m = &w->p->locations.modules[i];

	proto_number(&w->message, 1, w->mappings[i]);
	/* Addresses are the file's own; a range that holds them all keeps readers from guessing. */
	proto_number(&w->message, 3, UINT64_MAX >> 1);
	proto_number(&w->message, 5, string(w, m->path));
	proto_number(&w->message, 6, string(w, m->build_id));
	if (m->file) {
		proto_number(&w->message, 7, 1);
		proto_number(&w->message, 8, 1);
		proto_number(&w->message, 9, 1);
		proto_number(&w->message, 10, 1);
	}
	proto_message(&w->out->buf, PROFILE_MAPPING, &w->message);
}

static int write_pprof(const struct profile *p, const struct heap_report_options *o,
		       struct sink *out, struct err *err)
{
	static const char *const defaults[] = { "inuse_space", "inuse_objects", "alloc_space",
						"alloc_objects" };
	struct writer w = { .p = p, .out = out };
	struct profile_walk walk = { 0 };

	strings_init(&w.strings);
	w.numbers = xcalloc(p->locations.count + 1, sizeof(*w.numbers));
	w.locations = xcalloc(p->locations.count + 1, sizeof(*w.locations));
	number_mappings(&w);
	for (size_t i = 0; i < p->sample_count; i++)
		w.ever |= profile_amounts_of(p, i)->all_objects != 0;
	if (w.ever) {
		value_type(&w, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
		value_type(&w, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	}
	value_type(&w, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	value_type(&w, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	value_type(&w, PROFILE_PERIOD_TYPE, "space", "bytes");
	proto_number(&out->buf, PROFILE_PERIOD, p->rate);
	proto_number(&out->buf, PROFILE_DEFAULT_TYPE,
		     string(&w, defaults[w.ever ? o->measure : o->measure & 1]));
	for (size_t i = 0; i < p->sample_count && !sink_turn(out); i++)
		if (profile_walk(p, i, &walk) && walk.count)
			sample(&w, &walk);
	profile_walk_release(&walk);
	if (p->locations.main_module != HEAP_NO_MODULE)
		mapping(&w, p->locations.main_module);
	for (size_t i = 0; i < p->locations.module_count; i++)
		if (i != p->locations.main_module)
			mapping(&w, i);
	for (uint32_t i = 0; i < w.location_count && !sink_turn(out); i++)
		put_location(&w, w.locations[i]);
	for (uint32_t i = 0; i < strings_count(&w.strings); i++) {
		const char *text = strings_at(&w.strings, i);

		proto_bytes(&out->buf, PROFILE_STRING, text, strlen(text));
	}
	strings_release(&w.strings);
	map_release(&w.functions);
	buf_release(&w.message);
	buf_release(&w.part);
	free(w.numbers);
	free(w.locations);
	free(w.mappings);
	return out->error;
}

const struct heap_report heap_report_pprof = {
	.name = "pprof",
	.help = "for go tool pprof, Parca and Pyroscope (gzip)",
	.mime = "application/octet-stream",
	.binary = true,
	.gzip = true,
	.by_thread = true,
	.write = write_pprof,
};
