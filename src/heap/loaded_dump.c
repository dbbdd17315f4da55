/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Dumps that are kept.  See loaded_dump.h. */
#include "heap/loaded_dump.h"

#include <math.h>

#include "base/map.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "heap/report.h"

/* What each thread's lines are estimated to stand for, as --thread adds it up. */
static void sum_threads(struct loaded_dump *d)
{
	auto_release(map_release) struct map index = { 0 };

	d->thread_count = d->dump.thread_count;
	d->threads = xcalloc(d->thread_count + 1, sizeof(*d->threads));
	for (size_t i = 0; i < d->thread_count; i++) {
		d->threads[i].uid = d->dump.threads[i].uid;
		d->threads[i].name = d->dump.threads[i].name;
		map_set(&index, d->threads[i].uid, i);
	}
	for (size_t i = 0; i < d->dump.share_count; i++) {
		struct dump_amounts a = dump_scale(&d->dump.shares[i].counts, d->dump.rate);
		uint64_t at;

		if (map_get(&index, d->dump.shares[i].thread, &at))
			dump_amounts_add(&d->threads[at].amounts, &a, 1);
	}
}

struct loaded_dump *loaded_dump_new(const char *path, const void *bytes, size_t size,
				    struct err *err)
{
	struct loaded_dump *d = xcalloc(1, sizeof(*d));

	d->path = xstrdup(path);
	heap_locations_init(&d->locations, &(struct heap_locations_options){ 0 });
	d->damaged = dump_read(&d->dump, bytes, size, &d->damage) != 0;
	if (d->damaged && !d->dump.stack_count) {
		*err = d->damage;
		loaded_dump_free(d);
		return NULL;
	}
	sum_threads(d);
	return d;
}

void loaded_dump_free(struct loaded_dump *d)
{
	if (!d)
		return;
	dump_release(&d->dump);
	heap_locations_release(&d->locations);
	free(d->threads);
	free(d->path);
	free(d);
}

int loaded_dump_resolve(struct loaded_dump *d, const struct heap_locations_options *where,
			struct err *err)
{
	struct profile_options options = { .thread = PROFILE_ALL_THREADS };
	auto_free char *folder = xmemdup0(d->path, (size_t)(path_base(d->path) - d->path));
	const char *beside[] = { *folder ? folder : "." };
	struct heap_locations_options all = *where, none = { 0 };
	auto_release(profile_release) struct profile p = { 0 };
	int error;

	all.beside = beside;
	all.beside_count = 1;
	profile_init(&p, &options, &all);
	profile_add(&p, &d->dump, 1);
	error = profile_finish(&p, err);
	heap_locations_release(&d->locations);
	d->total = p.total;
	d->locations = p.locations;
	d->locations.options = none; /* it is over with what it points to */
	heap_locations_init(&p.locations, &none);
	return error;
}

const char *loaded_dump_program(const struct loaded_dump *d)
{
	if (d->locations.main_module != HEAP_NO_MODULE)
		return d->locations.modules[d->locations.main_module].path;
	return d->dump.binary ? d->dump.binary : "";
}

int loaded_dump_profile(const struct loaded_dump *d, const struct loaded_dump *base,
			const struct profile_options *options, struct profile *p, struct err *err)
{
	const struct heap_locations *known[] = { &d->locations, base ? &base->locations : NULL };
	struct heap_locations_options where = { .known = known, .known_count = base ? 2 : 1 };
	int error;

	profile_init(p, options, &where);
	profile_add(p, &d->dump, 1);
	if (base)
		profile_add(p, &base->dump, -1);
	error = profile_finish(p, err);
	p->locations.options.known_count = 0; /* what it points to ends here */
	return error;
}

void loaded_dump_write_amount(struct json *j, const char *key, double value)
{
	value = trunc(value);
	json_real(j, key, value ? value : 0, 0); /* no -0 */
}

static void write_amounts(struct json *j, const struct dump_amounts *a)
{
	for (enum heap_measure m = HEAP_INUSE_SPACE; m <= HEAP_ALLOC_OBJECTS; m++)
		loaded_dump_write_amount(j, heap_measure_name(m), heap_amount(a, m));
}

void loaded_dump_write_summary(struct json *j, const struct loaded_dump *d)
{
	json_text(j, "program", loaded_dump_program(d));
	json_text(j, "shape", d->dump.kind == DUMP_THREADED ? "heap_v2" : "heap profile");
	JSON_MEMBERS(j, &d->dump, rate, growth);
	json_bool(j, "accumulated", d->total.all_objects > 0);
	write_amounts(j, &d->total);
	json_number(j, "stacks", d->dump.stack_count);
}

void loaded_dump_write_parts(struct json *j, const struct loaded_dump *d)
{
	JSON_ROWS(j, "threads", i, d->thread_count) {
		json_number(j, "thread", d->threads[i].uid);
		json_text(j, "name", d->threads[i].name);
		write_amounts(j, &d->threads[i].amounts);
	}
	JSON_ROWS(j, "modules", i, d->locations.module_count) {
		const struct heap_locations_module *m = &d->locations.modules[i];

		json_text(j, "path", m->path);
		json_bool(j, "found", m->file != NULL);
		json_bool(j, "allocator", m->allocator);
	}
}
