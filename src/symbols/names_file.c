/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names in a file.  See names_file.h.
 *
 *	head | stamps … | locations … | lines … | texts, each with its NUL */
#include "symbols/names_file.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define MAGIC 0x73656d616e6d656dull
#define VERSION 2u
#define BYTES_MAX (1ull << 31)

struct head {
	uint64_t magic;
	uint32_t version, stamps, locations, lines, texts, reserved;
	uint64_t text_size;
	uint64_t sum; /* XXH3 of everything behind the head */
};

static bool take_texts(struct names_file *f, const char *at, uint64_t size)
{
	const char *end = at + size;

	if (!f->text_count || f->text_count > size || *at || end[-1])
		return false;
	f->texts = xcalloc(f->text_count, sizeof(*f->texts));
	for (uint32_t i = 0; i < f->text_count; i++) {
		if (at == end)
			return false;
		f->texts[i] = at;
		at += strlen(at) + 1;
	}
	return at == end;
}

static bool is_location(const struct names_file *f, const struct names_location *l)
{
	return l->count <= SYMBOLS_FRAMES_MAX && l->count <= f->line_count &&
	       l->first <= f->line_count - l->count;
}

static bool is_line(const struct names_file *f, const struct symbols_line *l)
{
	return l->function < f->text_count && l->raw_function < f->text_count &&
	       l->file < f->text_count;
}

static bool read_names(struct names_file *f, int fd)
{
	uint64_t size;
	struct stat st;
	struct head h;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) ||
	    !read_at(fd, &h, sizeof(h), 0) || h.magic != MAGIC || h.version != VERSION ||
	    h.text_size > BYTES_MAX)
		return false;
	size = h.stamps * sizeof(*f->stamps) + h.locations * sizeof(*f->locations) +
	       h.lines * sizeof(*f->lines) + h.text_size;
	if (size > BYTES_MAX || (uint64_t)st.st_size != sizeof(h) + size)
		return false;
	f->bytes = xmalloc(size + 1);
	if (!read_at(fd, f->bytes, size, sizeof(h)) || XXH3_64bits(f->bytes, size) != h.sum)
		return false;
	f->stamp_count = h.stamps;
	f->location_count = h.locations;
	f->line_count = h.lines;
	f->text_count = h.texts;
	f->stamps = f->bytes;
	f->locations = (const struct names_location *)(f->stamps + h.stamps);
	f->lines = (const struct symbols_line *)(f->locations + h.locations);
	return take_texts(f, (const char *)(f->lines + h.lines), h.text_size) &&
	       ALL(i, h.locations, is_location(f, &f->locations[i])) &&
	       ALL(i, h.lines, is_line(f, &f->lines[i]));
}

void names_file_read(struct names_file *f, int dir, const char *name)
{
	auto_close int fd = cache_dir_find(dir, name);

	*f = (struct names_file){ 0 };
	if (!read_names(f, fd))
		names_file_release(f);
}

void names_file_release(struct names_file *f)
{
	free(f->texts);
	free(f->bytes);
	*f = (struct names_file){ 0 };
}

void names_file_write(const struct names_parts *p, int dir, const char *name, uint64_t limit)
{
	struct head h = {
		.magic = MAGIC,
		.version = VERSION,
		.stamps = (uint32_t)(p->stamps.size / sizeof(uint64_t)),
		.locations = (uint32_t)(p->locations.size / sizeof(struct names_location)),
		.lines = (uint32_t)(p->lines.size / sizeof(struct symbols_line)),
		.texts = strings_count(p->texts),
	};
	auto_buf struct buf texts = { 0 };
	const struct buf *behind[] = { &p->stamps, &p->locations, &p->lines, &texts };
	struct iovec parts[5] = { { &h, sizeof(h) } };
	uint64_t size = 0;
	XXH3_state_t sum;

	for (uint32_t i = 0; i < h.texts; i++) {
		const char *text = strings_at(p->texts, i);

		buf_add(&texts, text, strlen(text) + 1);
	}
	XXH3_64bits_reset(&sum);
	for (unsigned i = 0; i < 4; i++) {
		parts[i + 1] = (struct iovec){ behind[i]->data, behind[i]->size };
		XXH3_64bits_update(&sum, behind[i]->data, behind[i]->size);
		size += behind[i]->size;
	}
	h.text_size = texts.size;
	h.sum = XXH3_64bits_digest(&sum);
	if (size <= BYTES_MAX)
		cache_dir_put(dir, name, parts, 5, limit);
}
