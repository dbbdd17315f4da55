/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of a recording's locations in a file of their own, beside the cached recording.
 *
 * The file's name holds the recording's id, this build, and which debug files were named; a module
 * whose files are not what they were (symbols_found.stamp) loses its names. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/xalloc.h"
#include "model/cache_format.h"
#include "model/locations_internal.h"
#include "symbols/names_file.h"

#define WORTH_NS 30000000 /* what took less is not worth a file */

_Static_assert(sizeof(struct location_frame) == sizeof(struct symbols_line), "frames are lines");

static void name_file(const struct locations *p, char *ret_name)
{
	const uint8_t *id = p->model->reader.header.id;
	uint64_t hash = cache_build() + p->options.debuginfod;
	char text[2 * sizeof(p->model->reader.header.id) + 1];

	for (size_t i = 0; i < p->options.debug_path_count; i++)
		hash = XXH3_64bits_withSeed(p->options.debug_paths[i],
					    strlen(p->options.debug_paths[i]) + 1, hash);
	for (unsigned i = 0; i < sizeof(p->model->reader.header.id); i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", id[i]);
	snprintf(ret_name, CACHE_NAME_MAX, "%s-%016" PRIx64 NAMES_FILE_SUFFIX, text, hash);
}

static void take_locations(struct locations *p, const struct names_file *f)
{
	enum { NOT_ASKED, SAME, CHANGED } *state = xcalloc(p->module_count + 1, sizeof(*state));

	for (uint32_t i = 1; i < p->count; i++) {
		const struct names_location *from = &f->locations[i];
		uint32_t module = p->rows[i].module;

		if (!from->count || from->address != p->rows[i].address || from->module != module)
			continue;
		if (state[module] == NOT_ASKED)
			state[module] =
				!module || f->stamps[module] == locations_found(p, module)->stamp
					? SAME
					: CHANGED;
		if (state[module] != SAME)
			continue;
		locations_add_lines(p, &p->rows[i], &f->lines[from->first], from->count, f->texts);
		p->cache->loaded++;
	}
	free(state);
}

void locations_cache_load(struct locations *p)
{
	const struct cache_options *o = p->options.cache;
	struct names_file f;
	int dir;

	p->options.cache = NULL;
	if (!o || !o->dir || p->model->reader.fd < 0)
		return;
	dir = cache_dir_open(o->dir, true);
	if (dir < 0)
		return;
	p->cache = xcalloc(1, sizeof(*p->cache));
	p->cache->dir = dir;
	p->cache->limit = o->limit;
	p->cache->worth_ns = o->least ? WORTH_NS : 0;
	name_file(p, p->cache->name);
	names_file_read(&f, dir, p->cache->name);
	if (f.stamp_count == p->module_count && f.location_count == p->count)
		take_locations(p, &f);
	names_file_release(&f);
}

static void write_file(struct locations *p)
{
	struct names_parts parts = { .texts = &p->strings };
	uint32_t lines = 0;

	for (size_t i = 0; i < p->module_count; i++) {
		uint64_t stamp = symbols_stamp(p->symbols, i);

		buf_add(&parts.stamps, &stamp, sizeof(stamp));
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct location *from = &p->rows[i];
		uint32_t first = from->first_frame;
		struct names_location to = { .address = from->address,
					     .module = from->module,
					     .first = lines,
					     .count = from->frame_count };

		buf_add(&parts.locations, &to, sizeof(to));
		if (to.count)
			buf_add(&parts.lines,
				&p->blocks[first >> BLOCK_BITS][first & (BLOCK_SIZE - 1)],
				to.count * sizeof(struct symbols_line));
		lines += to.count;
	}
	names_file_write(&parts, p->cache->dir, p->cache->name, p->cache->limit);
	buf_release(&parts.stamps);
	buf_release(&parts.locations);
	buf_release(&parts.lines);
}

void locations_cache_store(struct locations *p)
{
	uint32_t resolved = 0;

	if (!p->cache)
		return;
	for (uint32_t i = 1; i < p->count; i++)
		resolved += p->rows[i].frame_count != 0;
	if (p->spent_ns >= p->cache->worth_ns && resolved > p->cache->loaded)
		write_file(p);
	close(p->cache->dir);
	free(p->cache);
	p->cache = NULL;
}
