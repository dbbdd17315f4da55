/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names into a recording.  See names.h.  A text is written when it is first needed, so what nothing
 * refers to is not in the file. */
#include "rewrite/names.h"

#include <string.h>

#include "base/buf.h"
#include "wire/symbols.h"

#define CHUNK_SIZE (4u << 20)

struct naming {
	struct output *output;
	struct locations *locations;
	struct anonymizer *anonymizer;
	struct buf chunk, text;
	struct strings texts; /* as they are written: their numbers are the file's */
	uint64_t last;	      /* address of the location before in the chunk */
};

static void flush(struct naming *n)
{
	if (n->chunk.size)
		output_chunk(n->output, CHUNK_SYMBOLS, n->chunk.data, n->chunk.size);
	buf_clear(&n->chunk);
	n->last = 0;
}

/* The number of the text that stands in n->text. */
static uint32_t number_of(struct naming *n)
{
	uint32_t before = strings_count(&n->texts), id;
	uint8_t head[SYMBOLS_HEAD_MAX];
	size_t size = n->text.size < SYMBOLS_TEXT_MAX ? n->text.size : SYMBOLS_TEXT_MAX;

	if (!size)
		return 0;
	n->text.data[size] = 0;
	id = strings_add(&n->texts, n->text.data);
	if (id == before) {
		buf_add(&n->chunk, head, (size_t)(symbols_put_text(head, size) - head));
		buf_add(&n->chunk, n->text.data, size);
	}
	return id;
}

static uint32_t function_of(struct naming *n, uint32_t id)
{
	const char *name = locations_string(n->locations, id);

	buf_clear(&n->text);
	if (*name)
		anonymize_function(n->anonymizer, name, &n->text);
	return number_of(n);
}

static uint32_t file_of(struct naming *n, uint32_t id)
{
	const char *path = locations_string(n->locations, id);

	buf_clear(&n->text);
	if (*path)
		anonymize_file(n->anonymizer, path, &n->text);
	return number_of(n);
}

/* Texts have to come before the location that uses them. */
static bool write_location(struct naming *n, uint32_t location)
{
	const struct location *at = locations_at(n->locations, location);
	struct symbols_line lines[SYMBOLS_FRAMES_MAX];
	uint8_t bytes[SYMBOLS_LINE_MAX > SYMBOLS_HEAD_MAX ? SYMBOLS_LINE_MAX : SYMBOLS_HEAD_MAX];
	struct symbols_location head = { .address = at->address, .module = at->module };
	const struct location_frame *frames;
	bool named = false;
	unsigned count;

	frames = locations_frames(n->locations, location, &count);
	head.count = count < SYMBOLS_FRAMES_MAX ? count : SYMBOLS_FRAMES_MAX;
	for (uint32_t i = 0; i < head.count; i++)
		named |= frames[i].function || frames[i].file;
	if (!named || !head.count)
		return false;
	for (uint32_t i = 0; i < head.count; i++) {
		const struct location_frame *f = &frames[i];
		bool raw = n->anonymizer->how != ANONYMIZE_FULL;

		lines[i] = (struct symbols_line){ function_of(n, f->function),
						  raw ? function_of(n, f->raw_function) : 0,
						  file_of(n, f->file),
						  f->line,
						  f->column,
						  f->inlined };
	}
	buf_add(&n->chunk, bytes, (size_t)(symbols_put_location(bytes, &head, n->last) - bytes));
	n->last = head.address;
	for (uint32_t i = 0; i < head.count; i++)
		buf_add(&n->chunk, bytes, (size_t)(symbols_put_line(bytes, &lines[i]) - bytes));
	if (n->chunk.size > CHUNK_SIZE)
		flush(n);
	return true;
}

static void write_levels(struct naming *n, const struct model *m)
{
	uint8_t bytes[SYMBOLS_HEAD_MAX];

	for (uint32_t i = 1; i < m->tables.module_count; i++)
		if (m->tables.modules[i].known)
			buf_add(&n->chunk, bytes,
				(size_t)(symbols_put_module(bytes, i,
							    locations_level(n->locations, i)) -
					 bytes));
}

uint32_t names_write(struct output *o, const struct model *m, struct locations *p,
		     struct anonymizer *a)
{
	struct naming n = { .output = o, .locations = p, .anonymizer = a };
	uint32_t named = 0;

	strings_init(&n.texts);
	write_levels(&n, m);
	for (uint32_t i = 0; i < locations_count(p) && !output_failed(o); i++)
		named += write_location(&n, i);
	flush(&n);
	strings_release(&n.texts);
	buf_release(&n.chunk);
	buf_release(&n.text);
	return named;
}
