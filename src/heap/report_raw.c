/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A symbolized dump: the names of its addresses, and then the dump as it is, byte by byte.
 *
 * It can be read where none of the program's files are, by Memoir and by jeprof.  As jeprof has it,
 * names are those of the calls' addresses, and functions that are inlined into each other are
 * joined by "--", the outermost first. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

struct named {
	uint64_t address;
	uint32_t location;
};

ORDER(by_address, struct named, RISING(address))

/* An allocator's library is usually stripped.  jeprof knows what to cut off by names alone, so what
 * has none there gets one that it knows. */
static const char *name_of(const struct profile *p, const struct heap_location *location,
			   size_t frame)
{
	const char *name = strings_at(&p->locations.texts,
				      p->locations.frames[location->frame + frame].function);

	if (*name || location->module == HEAP_NO_MODULE ||
	    !p->locations.modules[location->module].allocator)
		return name;
	return "malloc";
}

/* Nothing is said of an address of which no name is known: readers then show it. */
static void put_names(const struct profile *p, const struct named *n, struct buf *out)
{
	const struct heap_location *location = &p->locations.locations[n->location];
	bool known = false;

	for (size_t k = 0; k < location->frame_count; k++)
		known |= *name_of(p, location, k) != 0;
	if (!known)
		return;
	buf_printf(out, "0x%016" PRIx64 " ", n->address);
	for (size_t k = location->frame_count; k-- > 0;) {
		const char *name = name_of(p, location, k);

		buf_printable(out, *name ? name : "??", *name ? strlen(name) : 2);
		buf_text(out, k ? "--" : "\n");
	}
}

/* The locations of a profile of one whole dump are in the order of the dump's addresses. */
static void put_symbols(const struct profile *p, const struct dump *d, struct sink *out)
{
	auto_free struct named *rows = xcalloc(d->pc_count + 1, sizeof(*rows));
	size_t count = 0;

	for (size_t i = 0; i < d->stack_count; i++)
		for (size_t k = 0; k < d->stacks[i].pc_count; k++) {
			size_t at = d->stacks[i].pc + k;
			uint64_t pc = d->pcs[at];

			rows[count++] = (struct named){ k && pc ? pc - 1 : pc, p->sites[at] };
		}
	SORT(rows, count, by_address);
	for (size_t i = 0; i < count && !sink_turn(out); i++)
		if (!i || rows[i].address != rows[i - 1].address)
			put_names(p, &rows[i], &out->buf);
}

static int write_raw(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err)
{
	uint32_t program = p->locations.main_module;
	auto_release(dump_release) struct dump d = { 0 };

	/* What a damaged dump has is written; the reader of it will say what is wrong. */
	if (o->dump)
		dump_read(&d, o->dump, o->dump_size, err);
	if (!o->dump || d.pc_count != p->site_count)
		return err_set(err, -EINVAL, "a symbolized dump is made of one whole dump");
	buf_text(&out->buf, "--- symbol\nbinary=");
	if (program != HEAP_NO_MODULE) {
		const char *path = p->locations.modules[program].path;

		buf_printable(&out->buf, path, strlen(path));
	} else if (d.binary) {
		buf_printable(&out->buf, d.binary, strlen(d.binary));
	}
	buf_char(&out->buf, '\n');
	put_symbols(p, &d, out);
	buf_printf(&out->buf, "---\n--- %s\n", d.growth ? "growth" : "heap");
	for (size_t at = d.body; at < o->dump_size && !sink_turn(out); at += SINK_BLOCK)
		buf_add(&out->buf, (const char *)o->dump + at,
			o->dump_size - at < SINK_BLOCK ? o->dump_size - at : SINK_BLOCK);
	return out->error;
}

const struct heap_report heap_report_raw = {
	.name = "raw",
	.help = "the dump with its names in it, for jeprof and elsewhere",
	.mime = "application/octet-stream",
	.extension = "heap",
	.whole = true,
	.write = write_raw,
};
