/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /debug/pprof/heap and /debug/pprof/allocs: a dump, or what changed between two, as a profile of
 * Go's pprof, which Parca and Pyroscope read too; below them the same as text (folded.h).
 *
 * Amounts are estimated for each line of the dump before anything is added up (profile.c).  Frames
 * of the allocator's own library are left out.  Addresses are those of calls: a return address is
 * behind its call, and may be another function's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/agent.h"
#include "agent/answer.h"
#include "agent/dump.h"
#include "agent/folded.h"
#include "agent/gzip.h"
#include "agent/jemalloc.h"
#include "agent/locations.h"
#include "agent/profile.h"

#define SECONDS_MAX 3600
#define WAITING_MAX 4u /* each keeps a dump in memory */

/* Allocators that are part of the program: their frames are in no library of their own. */
#define DROP_FRAMES                                                                                \
	"(je_|_rjem_)?(prof_.*|imalloc.*|malloc|calloc|realloc|aligned_alloc|memalign|"            \
	"posix_memalign|valloc|pvalloc|mallocx|rallocx|malloc_default|do_rallocx|.*newImpl.*)|"    \
	"operator new.*|_Zn[wa].*"

struct writer {
	struct text *out;
	struct text message; /* the one that is being made */
	struct locations locations;
	uint64_t strings; /* in the table so far */
};

static void varint(struct text *t, uint64_t v)
{
	char bytes[10];
	size_t n = 0;

	while (v >= 0x80) {
		bytes[n++] = (char)(v | 0x80);
		v >>= 7;
	}
	bytes[n++] = (char)v;
	text_add(t, bytes, n);
}

static void field(struct text *t, unsigned number, uint64_t v)
{
	varint(t, number << 3);
	varint(t, v);
}

static void bytes_field(struct text *t, unsigned number, const void *bytes, size_t size)
{
	varint(t, number << 3 | 2);
	varint(t, size);
	text_add(t, bytes, size);
}

/* The message that was made becomes a field of the profile. */
static void pprof_put_message(struct writer *w, unsigned number)
{
	if (w->message.failed)
		w->out->failed = true;
	bytes_field(w->out, number, w->message.data, w->message.size);
	w->message.size = 0;
}

static uint64_t string(struct writer *w, const char *text, size_t size)
{
	bytes_field(w->out, 6, text, size);
	return w->strings++;
}

static uint64_t word(struct writer *w, const char *text)
{
	return string(w, text, strlen(text));
}

static void value_type(struct writer *w, unsigned number, uint64_t type, uint64_t unit)
{
	field(&w->message, 1, type);
	field(&w->message, 2, unit);
	pprof_put_message(w, number);
}

static uint64_t rounded(double v)
{
	if (v > 9e18 || v < -9e18)
		return 0;
	return (uint64_t)(int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

static void put_samples(struct writer *w, const struct profile *p, uint64_t bytes_word)
{
	const uint64_t *pcs = (const uint64_t *)p->pcs.data;
	const struct profile_sample *samples = (const struct profile_sample *)p->samples.data;
	struct text packed = { 0 };

	for (size_t i = 0; i < p->sample_count; i++) {
		const struct profile_sample *s = &samples[i];
		uint64_t values[4];
		bool any = false;

		for (unsigned k = 0; k < 4; k++) {
			values[k] = rounded(s->value[k]);
			any = any || (values[k] && (k > 1 || p->accum));
		}
		if (!any)
			continue;
		packed.size = 0;
		for (size_t k = 0; k < s->pc_count; k++)
			varint(&packed, locations_find(&w->locations, pcs[s->pc + k]) + 1);
		bytes_field(&w->message, 1, packed.data, packed.size);
		packed.size = 0;
		for (unsigned k = p->accum ? 0 : 2; k < 4; k++)
			varint(&packed, values[k]);
		bytes_field(&w->message, 2, packed.data, packed.size);
		packed.size = 0;
		field(&packed, 1, bytes_word);
		field(&packed, 3, s->block);
		bytes_field(&w->message, 3, packed.data, packed.size);
		pprof_put_message(w, 2);
	}
	if (packed.failed)
		w->out->failed = true;
	text_release(&packed);
}

static void put_locations(struct writer *w)
{
	struct object_name *list = locations_at(&w->locations, 0);
	uint32_t functions = 0;
	unsigned used = 0;

	/* Mappings are numbered in their own order, so the program is the first. */
	for (size_t i = 0; i < w->locations.count; i++) {
		struct mapping *m = locations_mapping(&w->locations, list[i].address);

		if (m && !m->id)
			m->id = ++used;
	}
	for (size_t i = 0; i < w->locations.count; i++) {
		const struct mapping *m = locations_mapping(&w->locations, list[i].address);
		struct text line = { 0 };

		field(&w->message, 1, i + 1);
		if (m)
			field(&w->message, 2, m->id);
		field(&w->message, 3, list[i].address);
		if (list[i].name) {
			/* Locations of one function follow each other. */
			bool same = i && list[i - 1].name == list[i].name;

			list[i].function = same ? list[i - 1].function : ++functions;
			field(&line, 1, list[i].function);
			bytes_field(&w->message, 4, line.data, line.size);
			text_release(&line);
		}
		pprof_put_message(w, 4);
	}
	for (size_t i = 0; i < w->locations.count; i++) {
		uint64_t name;

		if (!list[i].name || (i && list[i - 1].name == list[i].name))
			continue;
		name = word(w, w->locations.names.data + list[i].name);
		field(&w->message, 1, list[i].function);
		field(&w->message, 2, name);
		field(&w->message, 3, name);
		pprof_put_message(w, 5);
	}
}

static void put_mappings(struct writer *w)
{
	const struct mapping *m = (const struct mapping *)w->locations.mappings.data;
	const struct objects *objects = &w->locations.objects;

	for (size_t i = 0; i < w->locations.mapping_count; i++) {
		const char *build_id = "";
		uint64_t path, build;

		if (!m[i].id)
			continue;
		for (size_t k = 0; k < objects->count; k++)
			if (objects->objects[k].code_start < m[i].end &&
			    objects->objects[k].code_end > m[i].start)
				build_id = objects->objects[k].build_id;
		path = string(w, m[i].path, m[i].path_size);
		build = word(w, build_id);
		field(&w->message, 1, m[i].id);
		field(&w->message, 2, m[i].start);
		field(&w->message, 3, m[i].end);
		field(&w->message, 4, m[i].offset);
		field(&w->message, 5, path);
		field(&w->message, 6, build);
		field(&w->message, 7, 1); /* functions, as far as symbols are there; no lines */
		pprof_put_message(w, 3);
	}
}

static uint64_t now_ns(void)
{
	struct timespec t = { 0, 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void write_profile(struct text *out, const struct profile *p, bool allocs, int64_t lasted_ms)
{
	struct writer w = { .out = out };
	uint64_t count, bytes, space, types[4];

	word(&w, "");
	count = word(&w, "count");
	bytes = word(&w, "bytes");
	space = word(&w, "space");
	types[0] = word(&w, "alloc_objects");
	types[1] = word(&w, "alloc_space");
	types[2] = word(&w, "inuse_objects");
	types[3] = word(&w, "inuse_space");
	for (unsigned i = p->accum ? 0 : 2; i < 4; i++)
		value_type(&w, 1, types[i], i % 2 ? bytes : count);
	locations_init(&w.locations, p);
	put_samples(&w, p, bytes);
	put_locations(&w);
	put_mappings(&w);
	field(out, 7, word(&w, DROP_FRAMES));
	field(out, 9, now_ns());
	if (lasted_ms)
		field(out, 10, (uint64_t)lasted_ms * 1000000);
	value_type(&w, 11, space, bytes);
	field(out, 12, p->rate ? p->rate : 1);
	field(out, 14, types[allocs && p->accum ? 1 : 3]);
	if (w.locations.failed)
		out->failed = true;
	locations_release(&w.locations);
	text_release(&w.message);
}

static void answer_profile(struct exchange *x, const struct profile *p, bool allocs)
{
	struct text plain = { 0 };

	x->type = "application/octet-stream";
	x->header = "Content-Disposition: attachment; filename=\"heap.pb.gz\"\r\n";
	write_profile(&plain, p, allocs, x->earlier.size ? x->wait_ms : 0);
	if (plain.failed)
		x->out.failed = true;
	else
		gzip_store(&x->out, plain.data, plain.size);
	text_release(&plain);
}

/* x->kept is the first dump of two, if that was asked for. */
static void pprof_answer(struct exchange *x)
{
	bool allocs = !strncmp(x->request.path, "/debug/pprof/allocs", 19);
	const char *ending = strrchr(x->request.path, '/');
	struct text dump = { 0 };
	struct profile now = { 0 }, before = { 0 };
	int e = dump_take(&dump);

	if (e) {
		answer_line(x, 500, "the dump failed: %s", strerror(e));
		text_release(&dump);
		return;
	}
	profile_read(&now, dump.data, dump.size, jemalloc.file[0] != 0);
	if (x->earlier.size) {
		profile_read(&before, x->earlier.data, x->earlier.size, jemalloc.file[0] != 0);
		profile_subtract(&now, &before);
	}
	if (now.failed || before.failed)
		x->out.failed = true;
	else if (!strcmp(ending, "/folded"))
		folded_answer(x, &now, allocs);
	else
		answer_profile(x, &now, allocs);
	profile_release(&now);
	profile_release(&before);
	text_release(&dump);
	text_release(&x->earlier);
}

void pprof_heap(struct exchange *x)
{
	char seconds[16], *end;
	int e;

	if (!answer_needs_prof(x))
		return;
	if (!answer_param(x, "seconds", seconds, sizeof(seconds), false)) {
		if (x->status == 200)
			pprof_answer(x);
		return;
	}
	x->wait_ms = (int64_t)strtoull(seconds, &end, 10) * 1000;
	if (*end || end == seconds || *seconds == '-' || x->wait_ms < 0 ||
	    x->wait_ms > SECONDS_MAX * 1000) {
		answer_line(x, 400, "seconds is a number up to %d", SECONDS_MAX);
		return;
	}
	if (!x->wait_ms) {
		pprof_answer(x);
		return;
	}
	if (serve_waiting() >= WAITING_MAX) {
		x->header = "Retry-After: 1\r\n";
		answer_line(x, 429, "%u others wait for such a profile already", WAITING_MAX);
		return;
	}
	e = dump_take(&x->earlier);
	if (e) {
		answer_line(x, 500, "the dump failed: %s", strerror(e));
		return;
	}
	x->again = pprof_answer;
}
