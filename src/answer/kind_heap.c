/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of heap profile dumps: told from others and loaded.  See kind.h.  src/heap reads and
 * names; this keeps what it found. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <xxhash.h>

#include "answer/kind.h"
#include "base/buf_type.h"
#include "base/cache_dir.h"
#include "base/path.h"
#include "base/unpack.h"
#include "base/xalloc.h"
#include "heap/loaded_dump.h"

#define DUMP_MAX (1ull << 30) /* bytes of a dump, unpacked */
#define HEAD_BYTES 64	      /* that tell a dump */

static bool is_dump(const struct kind_file *f, char ret_id[ID_SIZE])
{
	char head[HEAD_BYTES];
	uint64_t key[3] = { f->device, f->inode, XXH3_64bits(f->head, f->size) };
	XXH128_hash_t hash;
	struct unpack u;
	struct err err;
	ssize_t n;

	unpack_memory(&u, f->head, f->size);
	n = unpack_read(&u, head, sizeof(head), &err);
	unpack_close(&u);
	if (n <= 0 || !dump_is(head, (size_t)n))
		return false;
	hash = XXH3_128bits(key, sizeof(key));
	snprintf(ret_id, ID_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
	return true;
}

int kind_read_dump(struct buf *b, const char *path, struct err *err)
{
	return unpack_text(b, path, DUMP_MAX, "any heap profile", err);
}

static void release_dump(struct snapshot *s)
{
	loaded_dump_free(s->heap);
}

static void summarize_dump(struct json *j, const struct snapshot *s)
{
	json_object(j, "heap");
	loaded_dump_write_summary(j, s->heap);
	json_number(j, "threads", s->heap->thread_count);
	json_end_object(j);
}

/* Modules without a file, of those that stacks go through. */
static void warn_modules(struct json *j, const struct loaded_dump *d)
{
	unsigned count = 0;

	for (size_t i = 0; i < d->locations.module_count; i++) {
		const struct heap_locations_module *m = &d->locations.modules[i];

		if (*m->path != '/' || m->file)
			continue;
		if (!count++) {
			json_object(j, NULL);
			json_text(j, "kind", "no_symbols");
			json_text(j, "text",
				  "There are files of the program that are not on this computer: "
				  "start the server with -d FILE or -d FOLDER.");
			json_array(j, "modules");
		}
		json_text(j, NULL, path_base(m->path));
	}
	if (count) {
		json_end_array(j);
		json_end_object(j);
	}
}

static void warn(struct json *j, const char *kind, const char *text)
{
	json_object(j, NULL);
	json_text(j, "kind", kind);
	json_text(j, "text", text);
	json_end_object(j);
}

static void warn_of_dump(struct json *j, const struct snapshot *s)
{
	const struct loaded_dump *d = s->heap;

	if (d->damaged) {
		auto_free char *text = xasprintf(
			"The file is damaged at byte %" PRIu64
			" (%s): everything before that is used.",
			d->damage.offset == ERR_NO_OFFSET ? 0 : d->damage.offset, d->damage.text);

		warn(j, "damaged", text);
	}
	if (!d->dump.name_count)
		warn_modules(j, d);
	for (size_t i = 0; i < d->locations.warning_count; i++)
		warn(j, "other_file", d->locations.warnings[i]);
}

static int load_dump(struct snapshot *s, const struct loading *l, struct err *err)
{
	struct cache_options cache;
	struct heap_locations_options where = { .debug_paths = l->names.debug_paths,
						.debug_path_count = l->names.debug_path_count,
						.cache = &cache,
						.debuginfod = l->names.debuginfod };
	struct buf bytes = { 0 };
	int error = kind_read_dump(&bytes, l->path, err);

	/* Reading is the smaller part; names are the rest. */
	l->progress(l->context, 1, 4);
	if (!error)
		s->heap = loaded_dump_new(l->path, bytes.data, bytes.size, err);
	buf_release(&bytes);
	if (!s->heap)
		return error ? error : -EBADMSG;
	s->release = release_dump;
	s->warn = warn_of_dump;
	l->progress(l->context, 1, 3);
	cache_options_init(&cache);
	error = loaded_dump_resolve(s->heap, &where, err);
	cache_options_release(&cache);
	return error;
}

const struct kind kind_heap = {
	.name = "heap",
	.is = is_dump,
	.load = load_dump,
	.summarize = summarize_dump,
};
