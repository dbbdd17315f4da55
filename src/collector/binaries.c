/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The program and its libraries, embedded in the recording so that it can be read elsewhere.
 *
 * Files are found by the module records and the memory maps, opened at once where possible (the
 * program may be gone or the file replaced a moment later), and written a small piece at a time
 * when the rings leave time for it.  Each build id is embedded once. */
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
#include <unistd.h>

#include "collector/collector.h"
#include "collector/elf.h"
#include "collector/log.h"

#define PIECE (128u << 10)
#define HEAD (64u << 10) /* where program headers and the note with the build id are looked for */
#define BUILD_ID_MAX 31
#define OPEN_AT_ONCE 64
#define INCLUDED_MAX                                                                               \
	512		  /* files that a pattern may match: each is kept open until it is written \
			   */
#define SPARE (64u << 20) /* kept free for events */
#define VDSO "[vdso]"

struct collector_file {
	char *path;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_size; /* what it must be; once checked, what it is */
	bool checked, done;
	bool included;	       /* asked for: whatever it is, it is embedded */
	int fd;		       /* -1: not opened yet */
	const uint8_t *memory; /* the vdso: it is no file, and ours is the same */
	uint64_t size, offset;
	uint64_t start, end; /* a mapping of it, or 0 */
};

static bool known(const struct collector *c, const char *path, const uint8_t *id, size_t id_size)
{
	for (size_t i = 0; i < c->file_count; i++) {
		const struct collector_file *f = &c->files[i];

		if (f->included)
			continue;
		if (id_size && f->build_id_size == id_size && !memcmp(f->build_id, id, id_size))
			return true;
		if (!strcmp(f->path, path) && (!id_size || !f->build_id_size))
			return true;
	}
	return false;
}

static int open_file(const struct collector *c, const struct collector_file *f)
{
	return maps_open(&(struct mapping){ .start = f->start, .end = f->end, .path = f->path },
			 collector_in_proc(c));
}

static struct collector_file *add(struct collector *c, const char *path)
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
	*f = (struct collector_file){ .fd = -1, .path = strdup(path) };
	if (!f->path)
		return NULL;
	c->file_count++;
	return f;
}

static void open_early(const struct collector *c, struct collector_file *f)
{
	if (c->file_count - c->next_file <= OPEN_AT_ONCE)
		f->fd = open_file(c, f);
}

void binaries_add(struct collector *c, const struct mapping *m)
{
	struct collector_file *f;

	if (!c->control->options.write_binaries || (!m->inode && strcmp(m->path, VDSO)) ||
	    known(c, m->path, NULL, 0))
		return;
	f = add(c, m->path);
	if (!f)
		return;
	f->start = m->start;
	f->end = m->end;
	if (!m->inode) {
		f->memory = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
		f->size = m->end - m->start;
		return;
	}
	open_early(c, f);
	/* The path of a file that was replaced leads to another one. */
	if (f->fd < 0 && m->deleted)
		f->done = true;
}

void binaries_add_module(struct collector *c, const char *path, const uint8_t *build_id,
			 size_t build_id_size)
{
	struct collector_file *f;

	if (!c->control->options.write_binaries || path[0] != '/' ||
	    known(c, path, build_id, build_id_size))
		return;
	f = add(c, path);
	if (!f)
		return;
	f->build_id_size = (uint8_t)build_id_size;
	memcpy(f->build_id, build_id, build_id_size);
	open_early(c, f);
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
	f = add(c, path);
	if (!f)
		return;
	f->included = true;
	f->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (f->fd < 0)
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

static ssize_t read_at(const struct collector_file *f, void *out, size_t size, uint64_t offset)
{
	if (f->memory) {
		if (offset >= f->size)
			return 0;
		if (size > f->size - offset)
			size = f->size - offset;
		memcpy(out, f->memory + offset, size);
		return (ssize_t)size;
	}
	return pread(f->fd, out, size, (off_t)offset);
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

		got = read_at(f, bytes, notes.size < sizeof(bytes) ? notes.size : sizeof(bytes),
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

/* Is it an ELF file, the one that the module was, and not embedded yet? */
static bool check(struct collector *c, struct collector_file *f)
{
	uint8_t id[BUILD_ID_MAX];
	struct stat st;
	ssize_t head;
	size_t id_size;

	f->checked = true;
	if (!f->memory) {
		if (f->fd < 0)
			f->fd = open_file(c, f);
		if (f->fd < 0 || fstat(f->fd, &st) || !S_ISREG(st.st_mode))
			return false;
		f->size = (uint64_t)st.st_size;
	}
	if (f->included)
		return fits(c, f->size);
	head = read_at(f, c->payload.data, HEAD, 0);
	if (head <= 0 || elf_kind_of(c->payload.data, (size_t)head) == ELF_NONE)
		return false;
	if (!fits(c, f->size)) {
		log_line(LOG_WARN, "%s is not embedded: there is too little room", f->path);
		return false;
	}
	id_size = find_build_id(f, c->payload.data, (size_t)head, id);
	if (f->build_id_size && (f->build_id_size != id_size || memcmp(id, f->build_id, id_size))) {
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

static void finish(struct collector_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
	f->done = true;
}

bool binaries_step(struct collector *c)
{
	struct payload *p = &c->payload;
	struct collector_file *f;
	size_t path_size;
	ssize_t n;

	while (c->next_file < c->file_count && c->files[c->next_file].done)
		c->next_file++;
	if (c->next_file == c->file_count || c->recording.error)
		return false;
	f = &c->files[c->next_file];
	if (!f->checked && !check(c, f)) {
		f->build_id_size = 0; /* another file may still be the right one */
		finish(f);
		return true;
	}
	path_size = strlen(f->path);
	if (path_size > PATH_MAX)
		path_size = PATH_MAX;
	p->used = 0;
	payload_number(p, c->next_file);
	payload_number(p, f->size);
	payload_number(p, f->offset);
	payload_counted(p, f->build_id, f->build_id_size);
	payload_counted(p, f->path, path_size);
	n = read_at(f, p->data + p->used, PIECE, f->offset);
	if (n <= 0) {
		finish(f);
		return true;
	}
	p->used += (size_t)n;
	recording_write(&c->recording, CHUNK_FILE, EFFORT_REST, p->data, p->used, 0);
	f->offset += (uint64_t)n;
	if (f->offset >= f->size)
		finish(f);
	return true;
}

void binaries_release(struct collector *c)
{
	for (size_t i = 0; i < c->file_count; i++) {
		finish(&c->files[i]);
		free(c->files[i].path);
	}
	free(c->files);
	c->files = NULL;
	c->file_count = c->file_room = 0;
}
