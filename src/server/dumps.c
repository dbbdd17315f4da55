/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Heap profile dumps: told from other files, loaded, listed; GET /dumps/{id}/facts and /raw.  See
 * dumps.h.  src/heap reads and names; this keeps what it found. */
#include "server/dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cache_dir.h"
#include "base/map.h"
#include "base/unpack.h"
#include "base/xalloc.h"
#include "heap/profile.h"
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

/* All of a file, unpacked; 0, or -errno with err.  `l` may be NULL: nobody wants to know how far it
 * is. */
static int read_all(struct buf *b, const char *path, const struct loading *l, uint64_t file_size,
		    struct err *err)
{
	struct unpack u;
	ssize_t n = unpack_open(&u, path, err);

	if (n)
		return (int)n;
	for (;;) {
		buf_reserve(b, READ_BYTES);
		n = unpack_read(&u, b->data + b->size, READ_BYTES, err);
		if (n <= 0)
			break;
		b->size += (size_t)n;
		if (b->size > DUMP_MAX) {
			n = err_set(err, -EFBIG, "larger than any heap profile");
			break;
		}
		/* Reading is the smaller part; names are the rest. */
		if (l)
			l->progress(l->context, u.taken < file_size ? u.taken : file_size,
				    file_size * 4);
	}
	unpack_close(&u);
	return (int)n;
}

static void add_amounts(struct dump_amounts *to, const struct dump_amounts *a)
{
	to->objects += a->objects;
	to->bytes += a->bytes;
	to->all_objects += a->all_objects;
	to->all_bytes += a->all_bytes;
}

/* What each thread's lines are estimated to stand for, as --thread adds it up. */
static void sum_threads(struct loaded_dump *d)
{
	struct map index = { 0 };

	d->thread_count = d->dump.thread_count;
	d->threads = xcalloc(d->thread_count + 1, sizeof(*d->threads));
	for (size_t i = 0; i < d->thread_count; i++) {
		d->threads[i].uid = d->dump.threads[i].uid;
		d->threads[i].name = d->dump.threads[i].name;
		map_set(&index, d->threads[i].uid, i);
	}
	for (size_t i = 0; i < d->dump.share_count; i++) {
		struct dump_amounts a = dump_scale(&d->dump.shares[i].counts, d->dump.rate);
		uint64_t at;

		if (map_get(&index, d->dump.shares[i].thread, &at))
			add_amounts(&d->threads[at].amounts, &a);
	}
	map_release(&index);
}

/* Names all addresses, and keeps them. */
static int name_all(struct loaded_dump *d, const struct loading *l, struct err *err)
{
	struct profile_options options = { .thread = PROFILE_ALL_THREADS };
	auto_free char *folder = xmemdup0(l->path, (size_t)(path_base(l->path) - l->path));
	const char *beside[] = { *folder ? folder : "." };
	struct cache_options cache;
	struct heap_locations_options where = { .debug_paths = l->names.debug_paths,
						.debug_path_count = l->names.debug_path_count,
						.beside = beside,
						.beside_count = 1,
						.cache = &cache,
						.debuginfod = l->names.debuginfod };
	struct profile p;
	int error;

	cache_options_init(&cache);
	profile_init(&p, &options, &where);
	profile_add(&p, &d->dump, 1);
	error = profile_finish(&p, err);
	cache_options_release(&cache);
	d->total = p.total;
	d->locations = p.locations;
	d->locations.options =
		(struct heap_locations_options){ 0 }; /* it is over with what it points to */
	heap_locations_init(&p.locations, &d->locations.options);
	profile_release(&p);
	return error;
}

static void dumps_release(struct snapshot *s)
{
	struct loaded_dump *d = s->heap;

	if (!d)
		return;
	dump_release(&d->dump);
	heap_locations_release(&d->locations);
	free(d->threads);
	free(d->path);
	free(d);
}

const char *dumps_program(const struct loaded_dump *d)
{
	if (d->locations.main_module != HEAP_NO_MODULE)
		return d->locations.modules[d->locations.main_module].path;
	return d->dump.binary ? d->dump.binary : "";
}

void dumps_amount(struct json *j, const char *key, double value)
{
	value = trunc(value);
	json_real(j, key, value ? value : 0, 0); /* no -0 */
}

static void write_amounts(struct json *j, const struct dump_amounts *a)
{
	dumps_amount(j, "inuse_space", a->bytes);
	dumps_amount(j, "inuse_objects", a->objects);
	dumps_amount(j, "alloc_space", a->all_bytes);
	dumps_amount(j, "alloc_objects", a->all_objects);
}

static void write_summary(struct json *j, const struct loaded_dump *d)
{
	json_text(j, "program", dumps_program(d));
	json_text(j, "shape", d->dump.kind == DUMP_THREADED ? "heap_v2" : "heap profile");
	json_number(j, "rate", d->dump.rate);
	json_bool(j, "growth", d->dump.growth);
	json_bool(j, "accumulated", d->total.all_objects > 0);
	write_amounts(j, &d->total);
	json_number(j, "stacks", d->dump.stack_count);
}

void dumps_list(struct json *j, const struct snapshot *s)
{
	json_object(j, "heap");
	write_summary(j, s->heap);
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
	struct buf bytes = { 0 };
	struct loaded_dump *d;
	int error = read_all(&bytes, l->path, l, s->file_size, err);

	if (error) {
		buf_release(&bytes);
		return error;
	}
	d = xcalloc(1, sizeof(*d));
	heap_locations_init(&d->locations, &(struct heap_locations_options){ 0 });
	s->heap = d;
	s->release = dumps_release;
	s->warn = dumps_warnings;
	d->path = xstrdup(l->path);
	error = dump_read(&d->dump, bytes.data, bytes.size, &d->damage);
	buf_release(&bytes);
	l->progress(l->context, 1, 3);
	if (error && !d->dump.stack_count) {
		*err = d->damage;
		return error;
	}
	d->damaged = error != 0;
	sum_threads(d);
	heap_locations_release(&d->locations);
	return name_all(d, l, err);
}

static int answer_facts(struct request *r, struct sink *out)
{
	const struct snapshot *s = r->ask.snapshot;
	const struct loaded_dump *d = s->heap;
	struct json j;

	request_json(&j, out);
	json_object(&j, NULL);
	json_text(&j, "id", s->id);
	json_text(&j, "name", s->name);
	json_number(&j, "version", s->version);
	json_number(&j, "file_size", s->file_size);
	json_number(&j, "changed_at", s->changed_at > 0 ? (uint64_t)s->changed_at : 0);
	write_summary(&j, d);
	json_array(&j, "threads");
	for (size_t i = 0; i < d->thread_count; i++) {
		json_object(&j, NULL);
		json_number(&j, "thread", d->threads[i].uid);
		if (d->threads[i].name)
			json_text(&j, "name", d->threads[i].name);
		else
			json_null(&j, "name");
		write_amounts(&j, &d->threads[i].amounts);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_array(&j, "modules");
	for (size_t i = 0; i < d->locations.module_count; i++) {
		const struct heap_locations_module *m = &d->locations.modules[i];

		json_object(&j, NULL);
		json_text(&j, "path", m->path);
		json_bool(&j, "found", m->file != NULL);
		json_bool(&j, "allocator", m->allocator);
		json_end_object(&j);
	}
	json_end_array(&j);
	snapshot_warnings(r->ask.snapshot, &j);
	json_end_object(&j);
	return 0;
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

	if (!error && read_all(b, r->ask.snapshot->heap->path, NULL, 0, &err))
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
	{ "/dumps/{id}/facts", METHOD_GET, "a heap profile: whose it is, and how much is in it",
	  .kind = "heap", .answer = answer_facts },
	{ "/dumps/{id}/raw", METHOD_GET, "the file itself", .type = "application/octet-stream",
	  .kind = "heap", .way = ROUTE_STREAM, .answer = answer_raw },
	{ 0 },
};
