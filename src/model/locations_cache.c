/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of a recording's locations in a file of their own, beside the cached recording.
 *
 *	head | a stamp for each module | location (address, module, frames) … | frames … |
 *	texts, each with its NUL
 *
 * The file's name holds the recording's id, this build, and which debug files were named; a module
 * whose files are not what they were (symbols_found.stamp) loses its names.  The whole is summed,
 * and everything in it is checked all the same before it is used. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "model/cache_format.h"
#include "model/locations_internal.h"

#define MAGIC 0x73656d616e6d656dull
#define VERSION 1u
#define WORTH_NS 30000000 /* what took less is not worth a file */
#define SIZE_MAX_BYTES (1ull << 31)

struct head {
	uint64_t magic;
	uint32_t version, modules, locations, frames, strings, reserved;
	uint64_t text_size;
	uint64_t sum; /* XXH3 of everything behind the head */
};

struct stored_location {
	uint64_t address;
	uint32_t module, first_frame, frame_count, reserved;
};

/* A file that was read, and its parts. */
struct content {
	struct head head;
	uint8_t *bytes;
	const uint64_t *stamps;
	const struct stored_location *locations;
	const struct location_frame *frames;
	const char *texts;
	uint32_t *strings; /* the numbers that the texts have here */
};

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
	snprintf(ret_name, CACHE_NAME_MAX, "%s-%016" PRIx64 ".places", text, hash);
}

static uint64_t size_of(const struct head *h)
{
	return sizeof(uint64_t) * h->modules +
	       sizeof(struct stored_location) * (uint64_t)h->locations +
	       sizeof(struct location_frame) * (uint64_t)h->frames + h->text_size;
}

static bool read_file(const struct locations *p, int fd, struct content *c)
{
	struct head *h = &c->head;
	struct stat st;
	uint64_t size;

	memset(c, 0, sizeof(*c));
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    !read_at(fd, h, sizeof(*h), 0) || h->magic != MAGIC || h->version != VERSION ||
	    h->modules != p->module_count || h->locations != p->count ||
	    h->text_size > SIZE_MAX_BYTES)
		return false;
	size = size_of(h);
	if (size > SIZE_MAX_BYTES || (uint64_t)st.st_size != sizeof(*h) + size)
		return false;
	c->bytes = xmalloc(size + 1);
	if (!read_at(fd, c->bytes, size, sizeof(*h)) || XXH3_64bits(c->bytes, size) != h->sum)
		return false;
	c->stamps = (const uint64_t *)c->bytes;
	c->locations = (const struct stored_location *)(c->stamps + h->modules);
	c->frames = (const struct location_frame *)(c->locations + h->locations);
	c->texts = (const char *)(c->frames + h->frames);
	return h->text_size && !c->texts[h->text_size - 1];
}

static bool take_strings(struct locations *p, struct content *c)
{
	const char *at = c->texts, *end = c->texts + c->head.text_size;

	if (c->head.strings > c->head.text_size)
		return false;
	c->strings = xcalloc(c->head.strings, sizeof(*c->strings));
	for (uint32_t i = 0; i < c->head.strings; i++) {
		if (at >= end)
			return false;
		c->strings[i] = strings_add(&p->strings, at);
		at += strlen(at) + 1;
	}
	return at == end;
}

static bool take_location(struct locations *p, const struct content *c, uint32_t id)
{
	const struct stored_location *from = &c->locations[id];
	struct location_frame frames[FRAMES_MAX];

	if (from->frame_count > FRAMES_MAX || from->frame_count > c->head.frames ||
	    from->first_frame > c->head.frames - from->frame_count)
		return false;
	for (uint32_t i = 0; i < from->frame_count; i++) {
		struct location_frame f = c->frames[from->first_frame + i];

		if (f.function >= c->head.strings || f.raw_function >= c->head.strings ||
		    f.file >= c->head.strings)
			return false;
		f.function = c->strings[f.function];
		f.raw_function = c->strings[f.raw_function];
		f.file = c->strings[f.file];
		frames[i] = f;
	}
	locations_add_frames(p, &p->rows[id], frames, from->frame_count);
	return true;
}

static void take_locations(struct locations *p, const struct content *c)
{
	enum { NOT_ASKED, SAME, CHANGED } *state = xcalloc(p->module_count + 1, sizeof(*state));

	for (uint32_t i = 1; i < p->count; i++) {
		const struct stored_location *from = &c->locations[i];
		uint32_t module = p->rows[i].module;

		if (!from->frame_count || from->address != p->rows[i].address ||
		    from->module != module)
			continue;
		if (state[module] == NOT_ASKED)
			state[module] =
				!module || c->stamps[module] == locations_found(p, module)->stamp
					? SAME
					: CHANGED;
		if (state[module] == SAME && take_location(p, c, i))
			p->cache->loaded++;
	}
	free(state);
}

void locations_cache_load(struct locations *p)
{
	const struct cache_options *o = p->options.cache;
	struct content c;
	int fd, dir;

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
	fd = cache_dir_find(dir, p->cache->name);
	if (fd < 0)
		return;
	if (read_file(p, fd, &c) && take_strings(p, &c))
		take_locations(p, &c);
	free(c.strings);
	free(c.bytes);
	close(fd);
}

static void pack(const struct locations *p, struct buf *out)
{
	struct head h = { .magic = MAGIC,
			  .version = VERSION,
			  .modules = (uint32_t)p->module_count,
			  .locations = p->count,
			  .strings = strings_count(&p->strings) };
	struct head *head;

	buf_add(out, &h, sizeof(h));
	for (size_t i = 0; i < p->module_count; i++) {
		uint64_t stamp = symbols_stamp(p->symbols, i);

		buf_add(out, &stamp, sizeof(stamp));
	}
	for (uint32_t i = 0; i < p->count; i++) {
		const struct location *from = &p->rows[i];
		struct stored_location to = { .address = from->address,
					      .module = from->module,
					      .first_frame = h.frames,
					      .frame_count = from->frame_count };

		h.frames += from->frame_count;
		buf_add(out, &to, sizeof(to));
	}
	for (uint32_t i = 0; i < p->count; i++) {
		uint32_t first = p->rows[i].first_frame;

		if (p->rows[i].frame_count)
			buf_add(out, &p->blocks[first >> BLOCK_BITS][first & (BLOCK_SIZE - 1)],
				p->rows[i].frame_count * sizeof(struct location_frame));
	}
	for (uint32_t i = 0; i < h.strings; i++) {
		const char *text = strings_at(&p->strings, i);

		buf_add(out, text, strlen(text) + 1);
		h.text_size += strlen(text) + 1;
	}
	h.sum = XXH3_64bits(out->data + sizeof(h), out->size - sizeof(h));
	head = (struct head *)out->data;
	*head = h;
}

static void write_file(struct locations *p)
{
	auto_buf struct buf out = { 0 };

	pack(p, &out);
	if (out.size <= SIZE_MAX_BYTES)
		cache_dir_put(p->cache->dir, p->cache->name, &out, p->cache->limit);
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
