/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* pprof's profile.proto: objects and bytes, alive and ever; a sample for each stack and thread.
 *
 * A pprof location is one of ours, its inlined functions are lines of it; a mapping is a module.
 * Locations with the same offset in two modules stay two. */
#include <math.h>

#include "base/pprof.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

/* Readers take the first for the program; numbers have no gap, which Parca asks for. */
static uint32_t mapping_number(const struct heap_locations *l, uint32_t module)
{
	if (module == HEAP_NO_MODULE || module == l->main_module)
		return module != HEAP_NO_MODULE;
	return module + 1 + (l->main_module != HEAP_NO_MODULE && module < l->main_module);
}

static void put_sample(struct pprof *w, const struct profile *p, const struct profile_walk *walk)
{
	const double amounts[] = { walk->amounts.all_objects, walk->amounts.all_bytes,
				   walk->amounts.objects, walk->amounts.bytes };
	int64_t values[4];

	for (size_t k = 0; k < walk->count; k++)
		/* Not another function of the same location. */
		if (!k || walk->locations[k] != walk->locations[k - 1] ||
		    walk->frames[k] <= walk->frames[k - 1])
			pprof_frame(w, (size_t)(walk->locations[k] - p->locations.locations));
	for (unsigned i = 0; i < 4; i++)
		values[i] = llround(fmax(fmin(amounts[i], 0x1p62), -0x1p62));
	pprof_sample(w, values, pprof_string(w, walk->thread));
}

static void put_location(struct pprof *w, const struct profile *p, size_t i)
{
	const struct heap_location *location = &p->locations.locations[i];

	for (size_t k = location->frame; k < location->frame + location->frame_count; k++) {
		const struct heap_location_frame *f = &p->locations.frames[k];
		const char *name = strings_at(&p->locations.texts, f->function);
		auto_free char *other = *name ? NULL : profile_unnamed(p, location);

		pprof_line(w,
			   &(struct pprof_function){
				   .key = *name ? (uint64_t)f->function << 32 | f->file : 0,
				   .name = other ? other : name,
				   .file = strings_at(&p->locations.texts, f->file) },
			   f->line, 0);
	}
	pprof_location(w, i, mapping_number(&p->locations, location->module), location->address);
}

static void put_mapping(struct pprof *w, const struct heap_locations *l, uint32_t module)
{
	const struct heap_locations_module *m = &l->modules[module];

	/* Addresses are the file's own; a range that holds them all keeps readers from guessing. */
	pprof_mapping(w, &(struct pprof_mapping){ .number = mapping_number(l, module),
						  .end = UINT64_MAX >> 1,
						  .path = m->path,
						  .build_id = m->build_id,
						  .functions = m->file != NULL,
						  .lines = m->file != NULL });
}

static int write_pprof(const struct profile *p, const struct heap_report_options *o,
		       struct sink *out, struct err *err)
{
	static const char *const defaults[] = { "inuse_space", "inuse_objects", "alloc_space",
						"alloc_objects" };
	const struct heap_locations *l = &p->locations;
	struct profile_walk walk = { 0 };
	struct pprof w;
	bool ever = false;

	for (size_t i = 0; i < p->sample_count; i++)
		ever |= profile_amounts_of(p, i)->all_objects != 0;
	pprof_begin(&w, out, l->count, ever,
		    &(struct pprof_head){ .rate = p->rate,
					  .default_type =
						  defaults[ever ? o->measure : o->measure & 1] });
	for (size_t i = 0; i < p->sample_count && !sink_turn(out); i++)
		if (profile_walk(p, i, &walk) && walk.count)
			put_sample(&w, p, &walk);
	profile_walk_release(&walk);
	if (l->main_module != HEAP_NO_MODULE)
		put_mapping(&w, l, l->main_module);
	for (uint32_t i = 0; i < l->module_count; i++)
		if (i != l->main_module)
			put_mapping(&w, l, i);
	for (uint32_t i = 0; i < w.location_count && !sink_turn(out); i++)
		put_location(&w, p, w.locations[i]);
	pprof_end(&w);
	return out->error;
}

const struct heap_report heap_report_pprof = {
	.name = "pprof",
	.help = "for go tool pprof, Parca and Pyroscope (gzip)",
	.mime = "application/octet-stream",
	.extension = "pb.gz",
	.binary = true,
	.gzip = true,
	.by_thread = true,
	.write = write_pprof,
};
