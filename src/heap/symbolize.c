/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Addresses to names.  See symbolize.h.
 *
 * What was read becomes a dump with a stack for each address, so that there is one way only from
 * addresses to names. */
#include "heap/symbolize.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/xalloc.h"
#include "heap/dump.h"

/* "0x7f00" alone in its line. */
static bool is_address(const char *line, size_t size)
{
	return size >= 3 && !memcmp(line, "0x", 2) &&
	       ALL(i, size - 2, isxdigit((unsigned char)line[2 + i]));
}

/* The dump: a stack for each address, then all other lines. */
static void put_dump(const struct buf *in, struct buf *out)
{
	auto_buf struct buf others = { 0 };
	const char *at = in->data, *end = in->data + in->size;

	buf_text(out, "heap_v2/1\n");
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((line ? line : end) - at);
		const char *next = at + size + (line != NULL);
		struct buf *to;

		while (size && isspace((unsigned char)at[size - 1]))
			size--;
		to = is_address(at, size) ? out : &others;
		if (to == out)
			buf_text(to, "@ ");
		buf_add(to, at, size);
		buf_char(to, '\n');
		at = next;
	}
	buf_text(out, "MAPPED_LIBRARIES:\n");
	if (others.size)
		buf_add(out, others.data, others.size);
}

static void put_name(struct buf *out, const struct heap_locations *p, uint32_t number, uint64_t pc)
{
	const struct heap_location *location = &p->locations[number];
	const struct heap_location_frame *f =
		&p->frames[location->frame + location->frame_count - 1];
	const char *name = strings_at(&p->texts, f->function);

	if (*name)
		buf_printable(out, name, strlen(name));
	else
		buf_printf(out, "0x%016" PRIx64, pc);
	buf_char(out, '\n');
}

int symbolize(const struct buf *in, const struct heap_locations_options *where, struct buf *out,
	      struct err *err)
{
	auto_free uint32_t *numbers = NULL;
	struct buf text = { 0 };
	auto_release(heap_locations_release) struct heap_locations locations = { 0 };
	auto_release(dump_release) struct dump d = { 0 };
	int error;

	put_dump(in, &text);
	error = dump_read(&d, text.data, text.size, err);
	buf_release(&text);
	heap_locations_init(&locations, where);
	numbers = xcalloc(d.pc_count + 1, sizeof(*numbers));
	for (size_t i = 0; i < d.pc_count && !error; i++)
		numbers[i] = heap_locations_add(&locations, &d, d.pcs[i], false);
	heap_locations_resolve(&locations);
	for (size_t i = 0; i < d.pc_count && !error; i++)
		put_name(out, &locations, numbers[i], d.pcs[i]);
	return error;
}
