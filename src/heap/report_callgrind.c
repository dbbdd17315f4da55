/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Callgrind's format for KCachegrind and callgrind_annotate: own amounts by function and line, and
 * what passes from each caller's line to a callee.
 *
 * Works on locations, not on names, since it needs sources and lines whatever the profile shows. */
#include <inttypes.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/report.h"

#define UNKNOWN "(unknown)"

static void put_name(struct buf *out, const char *key, const char *name)
{
	buf_text(out, key);
	buf_printable(out, *name ? name : UNKNOWN, strlen(*name ? name : UNKNOWN));
	buf_char(out, '\n');
}

static void put_frame(struct sink *out, const struct profile *p,
		      const struct heap_location *location, const struct heap_location_frame *f,
		      const char *file_key, const char *name_key)
{
	auto_free char *other = NULL;
	const char *function = strings_at(&p->locations.texts, f->function);

	if (!*function) {
		other = profile_unnamed(p, location);
		function = other;
	}
	put_name(&out->buf, file_key, strings_at(&p->locations.texts, f->file));
	put_name(&out->buf, name_key, function);
}

static int write_callgrind(const struct profile *p, const struct heap_report_options *o,
			   struct sink *out, struct err *err)
{
	auto_release(profile_walk_release) struct profile_walk w = { 0 };

	buf_text(&out->buf, "# callgrind format\nversion: 1\ncreator: memoir\n");
	put_name(&out->buf, "cmd: ", o->title);
	buf_printf(&out->buf, "\npositions: line\nevents: %s\n",
		   heap_counts_objects(o->measure) ? "Objects" : "Bytes");
	for (size_t i = 0; i < p->sample_count && !sink_turn(out); i++) {
		uint64_t weight;

		if (!profile_walk(p, i, &w))
			continue;
		weight = heap_weight(&w.amounts, o->measure);
		if (!weight || !w.count)
			continue;
		for (size_t k = 0; k < w.count; k++) {
			const struct heap_location_frame *f = &p->locations.frames[w.frames[k]];

			buf_char(&out->buf, '\n');
			put_frame(out, p, w.locations[k], f, "fl=", "fn=");
			if (!k) {
				buf_printf(&out->buf, "%u %" PRIu64 "\n", f->line, weight);
				continue;
			}
			put_frame(out, p, w.locations[k - 1], &p->locations.frames[w.frames[k - 1]],
				  "cfi=", "cfn=");
			buf_printf(&out->buf, "calls=%" PRIu64 " %u\n%u %" PRIu64 "\n",
				   heap_weight(&w.amounts, o->measure <= HEAP_INUSE_OBJECTS
								   ? HEAP_INUSE_OBJECTS
								   : HEAP_ALLOC_OBJECTS),
				   p->locations.frames[w.frames[k - 1]].line, f->line, weight);
		}
	}
	return out->error;
}

const struct heap_report heap_report_callgrind = {
	.name = "callgrind",
	.help = "for KCachegrind and callgrind_annotate",
	.mime = "text/plain; charset=utf-8",
	.extension = "txt",
	.write = write_callgrind,
};
