/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program and its libraries, embedded in the recording so that it can be read elsewhere: what
 * naming needs of them (reduce.h), or whole where that was asked for.
 *
 * Files are found by the module records and the memory maps, opened at once where possible (the
 * program may be gone or the file replaced a moment later), and written a small piece at a time
 * when the rings leave time for it.  Of tables, only those of files that a frame was found in are
 * written: the recorder makes a module record for no other.  Each build id is embedded once; see
 * embed.c for how it gets into the file. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "collector/clock.h"
#include "collector/elf.h"
#include "collector/embed.h"
#include "collector/log.h"

#define HEAD (64u << 10) /* where program headers and the note with the build id are looked for */
#define OPEN_AT_ONCE 64
#define INCLUDED_MAX                                                                               \
	512		  /* files that a pattern may match: each is kept open until it is written \
			   */
#define SPARE (64u << 20) /* kept free for events */
#define VDSO "[vdso]"
/* How long another collector may take to make what this one needs too, at the end. */
#define CLAIM_NS 2000000000ull
#define CLAIM_LOOK_NS 2000000

static struct collector_file *known_file(const struct collector *c, const char *path,
					 const uint8_t *id, size_t id_size)
{
	for (size_t i = 0; i < c->file_count; i++) {
		struct collector_file *f = &c->files[i];

		if (f->included)
			continue;
		if (id_size && f->build_id_size == id_size && !memcmp(f->build_id, id, id_size))
			return f;
		if (!strcmp(f->path, path) && (!id_size || !f->build_id_size))
			return f;
	}
	return NULL;
}

static int open_file(const struct collector *c, const struct collector_file *f)
{
	return maps_open(&(struct mapping){ .start = f->start, .end = f->end, .path = f->path },
			 collector_in_proc(c));
}

static struct collector_file *binaries_add_file(struct collector *c, const char *path)
{
	struct collector_file *f;

	if (c->file_count == c->file_room) {
		size_t room = c->file_room ? c->file_room * 2 : 64;
		void *grown = realloc(c->files, room * sizeof(*c->files));

		if (!grown)
			return NULL;
		c->files = grown;
		c->file_room = room;
	}
	f = &c->files[c->file_count];
	*f = (struct collector_file){ .source.fd = -1, .stored = -1, .path = strdup(path) };
	if (!f->path)
		return NULL;
	c->file_count++;
	return f;
}

static void forget_source(struct collector_file *f)
{
	if (f->source.fd >= 0)
		close(f->source.fd);
	f->source.fd = -1;
}

static void open_early(const struct collector *c, struct collector_file *f)
{
	size_t opened = 0;

	for (size_t i = 0; i < c->file_count; i++)
		opened += c->files[i].source.fd >= 0;
	if (opened < (f->wanted ? 2 : 1) * OPEN_AT_ONCE)
		f->source.fd = open_file(c, f);
}

/* A file may be mapped several times, and one that is open is not opened again for that. */
static bool mapping_tells_nothing(const struct collector_file *f, const struct mapping *m)
{
	return f->wanted || (f->inode == m->inode && (f->source.fd >= 0 || f->state == FILE_DONE));
}

void binaries_add(struct collector *c, const struct mapping *m)
{
	struct collector_file *f = known_file(c, m->path, NULL, 0);

	if (c->control->options.write_binaries == BINARIES_NONE ||
	    (!m->inode && strcmp(m->path, VDSO)) || (f && mapping_tells_nothing(f, m)))
		return;
	if (f)
		forget_source(f); /* another file has its name now */
	else
		f = binaries_add_file(c, m->path);
	if (!f)
		return;
	f->wanted = c->control->options.write_binaries == BINARIES_FULL;
	f->start = m->start;
	f->end = m->end;
	f->inode = m->inode;
	if (!m->inode) {
		f->source.memory = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
		f->source.size = m->end - m->start;
		return;
	}
	open_early(c, f);
	/* The path of a file that was replaced leads to another one. */
	f->state = f->source.fd < 0 && m->deleted ? FILE_DONE : FILE_NEW;
}

void binaries_add_module(struct collector *c, const char *path, const uint8_t *build_id,
			 size_t build_id_size)
{
	struct collector_file *f;

	if (c->control->options.write_binaries == BINARIES_NONE)
		return;
	f = known_file(c, path, build_id, build_id_size);
	if (!f && path[0] == '/')
		f = binaries_add_file(c, path);
	if (!f || f->wanted)
		return;
	f->wanted = true;
	f->build_id_size = (uint8_t)build_id_size;
	memcpy(f->build_id, build_id, build_id_size);
	if (f->source.fd < 0 && f->state == FILE_NEW)
		open_early(c, f);
}

void binaries_let_go(struct collector *c)
{
	for (size_t i = 0; i < c->file_count; i++) {
		struct collector_file *f = &c->files[i];
		const struct mapping *m = maps_find(&c->maps, f->start);

		if (!f->wanted && (!m || m->inode != f->inode))
			forget_source(f);
	}
}

static void include(struct collector *c, const char *name)
{
	char path[PATH_MAX];
	struct collector_file *f;
	size_t n = 0;

	if (name[0] != '/' && getcwd(path, sizeof(path) - 1)) {
		n = strlen(path);
		path[n++] = '/';
	}
	if (n + strlen(name) >= sizeof(path))
		return;
	memcpy(path + n, name, strlen(name) + 1);
	f = binaries_add_file(c, path);
	if (!f)
		return;
	f->included = f->wanted = true;
	f->source.fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f->source.fd < 0)
		log_line(LOG_WARN, "%s is not embedded: %s", path, strerror(errno));
}

void binaries_include(struct collector *c, const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found)) {
		snprintf(c->warning, sizeof(c->warning), "no file matches %.200s", pattern);
		log_line(LOG_WARN, "%s", c->warning);
		return;
	}
	for (size_t i = 0; i < found.gl_pathc && i < INCLUDED_MAX; i++)
		include(c, found.gl_pathv[i]);
	globfree(&found);
}

static size_t find_build_id(const struct collector_file *f, uint8_t *head, size_t head_size,
			    uint8_t out[BUILD_ID_MAX])
{
	struct elf_notes notes;

	for (unsigned n = 0; elf_notes(head, head_size, n, &notes); n++) {
		uint8_t bytes[4096];
		const uint8_t *id;
		size_t size;
		ssize_t got;

		got = reduce_source_read(&f->source, bytes,
					 notes.size < sizeof(bytes) ? notes.size : sizeof(bytes),
					 notes.offset);
		id = got > 0 ? elf_build_id(bytes, (size_t)got, &size) : NULL;
		if (id && size <= BUILD_ID_MAX) {
			memcpy(out, id, size);
			return size;
		}
	}
	return 0;
}

/* Would it leave room for events, on the disk and below the limit? */
static bool fits(const struct collector *c, uint64_t size)
{
	struct statvfs disk;
	struct rlimit limit;

	size += SPARE;
	if (!fstatvfs(c->recording.fd, &disk) && disk.f_blocks &&
	    disk.f_bavail < size / (disk.f_frsize ? disk.f_frsize : 1))
		return false;
	return getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
	       c->recording.size + size <= limit.rlim_cur;
}

/* Opens it, and finds its build id if it is an ELF file, or else says false. */
static bool look_into(struct collector *c, struct collector_file *f, struct stat *st,
		      uint8_t ret_id[BUILD_ID_MAX], size_t *ret_id_size)
{
	ssize_t head;

	if (!f->source.memory) {
		if (f->source.fd < 0)
			f->source.fd = open_file(c, f);
		if (f->source.fd < 0 || fstat(f->source.fd, st) || !S_ISREG(st->st_mode))
			return false;
		f->source.size = (uint64_t)st->st_size;
	}
	if (f->included)
		return true;
	head = reduce_source_read(&f->source, c->payload.data, HEAD, 0);
	if (head <= 0 || elf_kind_of(c->payload.data, (size_t)head) == ELF_NONE)
		return false;
	*ret_id_size = find_build_id(f, c->payload.data, (size_t)head, ret_id);
	return true;
}

static bool has_other_id(const struct collector_file *f, const uint8_t *id, size_t id_size)
{
	return f->build_id_size &&
	       (f->build_id_size != id_size || memcmp(id, f->build_id, id_size));
}

/* Is it an ELF file, the one that the module was, and not embedded yet? */
static bool binaries_check_file(struct collector *c, struct collector_file *f, struct stat *st)
{
	uint8_t id[BUILD_ID_MAX];
	size_t id_size = 0;

	f->checked = true;
	if (!look_into(c, f, st, id, &id_size))
		return false;
	if (f->included)
		return true;
	/* Another library may have come to its place between the look at the maps and the opening
	 * of what is mapped there: its name still leads to it. */
	if (f->start && has_other_id(f, id, id_size)) {
		forget_source(f);
		f->start = f->end = 0;
		if (!look_into(c, f, st, id, &id_size))
			return false;
	}
	if (has_other_id(f, id, id_size)) {
		log_line(LOG_WARN, "%s is not the file that was mapped: not embedded", f->path);
		return false;
	}
	for (struct collector_file *g = c->files; id_size && g < c->files + c->file_count; g++)
		if (g != f && g->checked && !g->included && g->build_id_size == id_size &&
		    !memcmp(g->build_id, id, id_size))
			return false;
	f->build_id_size = (uint8_t)id_size;
	memcpy(f->build_id, id, id_size);
	return true;
}

static struct binary_store *make_store(const struct collector *c)
{
	const struct options *o = &c->control->options;
	/* Not where somebody gets this file alone: a client, or another user. */
	bool shares = o->track_children && !o->stream && !c->recording.nameless &&
		      o->chown_output == OPTION_NOBODY;

	return binary_store_new(shares ? c->recording.path : NULL,
				o->write_binaries == BINARIES_TABLES);
}

static void begin_file(struct collector *c, struct collector_file *f)
{
	struct stat st;

	if (!c->store)
		c->store = make_store(c);
	if (!binaries_check_file(c, f, &st)) {
		f->build_id_size = 0; /* another file may still be the right one */
		embed_end(c, f);
		return;
	}
	if (!embed_plan(c, f, &st)) {
		log_line(LOG_WARN, "%s is not embedded: its headers make no sense", f->path);
		embed_end(c, f);
		return;
	}
	if (!fits(c, f->image.size)) {
		log_line(LOG_WARN, "%s is not embedded: there is too little room", f->path);
		embed_end(c, f);
		return;
	}
	if (!f->image.size) {
		embed_end(c, f);
		return;
	}
	embed_begin(c, f);
}

static struct collector_file *next_file(struct collector *c)
{
	struct collector_file *waiting = NULL;

	while (c->next_file < c->file_count && c->files[c->next_file].state == FILE_DONE)
		c->next_file++;
	for (size_t i = c->next_file; i < c->file_count; i++) {
		struct collector_file *f = &c->files[i];

		if (!f->wanted || f->state == FILE_DONE)
			continue;
		if (f->state != FILE_WAITING)
			return f;
		if (!waiting)
			waiting = f;
	}
	return waiting;
}

bool binaries_step(struct collector *c)
{
	struct collector_file *f = next_file(c);

	if (!f || c->recording.error)
		return false;
	switch (f->state) {
	case FILE_NEW:
		begin_file(c, f);
		break;
	case FILE_WAITING:
		embed_begin(c, f);
		return f->state != FILE_WAITING;
	case FILE_COPIED:
	case FILE_MADE:
		embed_piece(c, f);
		break;
	case FILE_DONE:
		break;
	}
	return true;
}

void binaries_finish(struct collector *c)
{
	uint64_t began = 0;

	for (;;) {
		while (binaries_step(c))
			;
		if (!next_file(c) || c->recording.error)
			return;
		/* What is left is being made by others. */
		if (!began)
			began = now_ns();
		c->impatient = now_ns() - began > CLAIM_NS;
		nanosleep(&(struct timespec){ .tv_nsec = CLAIM_LOOK_NS }, NULL);
	}
}

void binaries_release(struct collector *c)
{
	for (size_t i = 0; i < c->file_count; i++) {
		embed_end(c, &c->files[i]);
		free(c->files[i].path);
	}
	free(c->files);
	c->files = NULL;
	c->file_count = c->file_room = 0;
	c->store = binary_store_free(c->store);
	ZSTD_freeCCtx(c->compressor);
	c->compressor = NULL;
}
