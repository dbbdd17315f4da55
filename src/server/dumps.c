/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profile dumps: told from other files, loaded, listed; GET /dumps/{id}/raw.  See
 * dumps.h.  src/heap reads and names; this keeps what it found. */
#include "server/dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/path.h"
#include "base/sink.h"
#include "base/unpack.h"
#include "base/xalloc.h"
#include "server/request.h"

#define DUMP_MAX (1ull << 30) /* bytes of a dump, unpacked */
#define READ_BYTES (1u << 18)
#define HEAD_BYTES 64 /* that tell a dump */

bool dumps_is(const struct kind_file *f, char ret_id[ID_SIZE])
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

static int read_all(struct buf *b, const char *path, struct err *err)
{
	return unpack_text(b, path, DUMP_MAX, "any heap profile", err);
}

static void dumps_release(struct snapshot *s)
{
	loaded_dump_free(s->heap);
}

void dumps_list(struct json *j, const struct snapshot *s)
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

static void dumps_warnings(struct json *j, const struct snapshot *s)
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

int dumps_load(struct snapshot *s, const struct loading *l, struct err *err)
{
	struct cache_options cache;
	struct heap_locations_options where = { .debug_paths = l->names.debug_paths,
						.debug_path_count = l->names.debug_path_count,
						.cache = &cache,
						.debuginfod = l->names.debuginfod };
	struct buf bytes = { 0 };
	int error = read_all(&bytes, l->path, err);

	/* Reading is the smaller part; names are the rest. */
	l->progress(l->context, 1, 4);
	if (!error)
		s->heap = loaded_dump_new(l->path, bytes.data, bytes.size, err);
	buf_release(&bytes);
	if (!s->heap)
		return error ? error : -EBADMSG;
	s->release = dumps_release;
	s->warn = dumps_warnings;
	l->progress(l->context, 1, 3);
	cache_options_init(&cache);
	error = loaded_dump_resolve(s->heap, &where, err);
	cache_options_release(&cache);
	return error;
}

/* Is it the file that was loaded? */
static int check_file(struct request *r, int fd)
{
	const struct snapshot *s = r->ask.snapshot;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return ask_fail(&r->ask, 404, NULL, "the file is gone");
	if ((uint64_t)st.st_size != s->file_size || st.st_mtime != s->changed_at)
		return ask_fail(&r->ask, 409, NULL,
				"the file has changed since it was read: try again");
	return 0;
}

static int open_file(const struct request *r)
{
	return open(r->ask.snapshot->heap->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int dumps_bytes(struct request *r, struct buf *b)
{
	auto_close int fd = open_file(r);
	struct err err = { .offset = ERR_NO_OFFSET };
	int error = check_file(r, fd);

	if (!error && read_all(b, r->ask.snapshot->heap->path, &err))
		error = ask_fail(&r->ask, 500, NULL, "%s", err.text);
	return error;
}

static int answer_raw(struct request *r, struct sink *out)
{
	const struct snapshot *s = r->ask.snapshot;
	auto_close int fd = open_file(r);
	auto_free char *chunk = xmalloc(READ_BYTES);
	int error = check_file(r, fd);

	if (error)
		return error;
	r->file_name = xstrdup(s->name);
	while (!error) {
		ssize_t n = read(fd, chunk, READ_BYTES);

		if (n < 0)
			return ask_fail(&r->ask, 500, NULL, "%s", strerror(errno));
		if (!n)
			break;
		buf_add(&out->buf, chunk, (size_t)n);
		error = sink_turn(out);
	}
	return error;
}

const struct route routes_dumps[] = {
	{ "/dumps/{id}/raw", METHOD_GET, "the file itself", .type = "application/octet-stream",
	  .kind = "heap", .way = ROUTE_STREAM, .answer = answer_raw },
	{ 0 },
};
