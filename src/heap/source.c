/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Source files.  See source.h. */
#include "heap/source.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/strings.h"
#include "base/xalloc.h"

#define SOURCE_MAX (64u << 20)

struct sources {
	struct source_options options;
	struct strings paths;
	struct map known; /* path to file */
	struct source **files;
	size_t count, room;
};

struct sources *sources_new(const struct source_options *o)
{
	struct sources *s = xcalloc(1, sizeof(*s));

	s->options = *o;
	strings_init(&s->paths);
	return s;
}

struct sources *sources_free(struct sources *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->count; i++) {
		free(s->files[i]->text);
		free(s->files[i]->lines);
		free(s->files[i]->file);
		free(s->files[i]);
	}
	free(s->files);
	map_release(&s->known);
	strings_release(&s->paths);
	free(s);
	return NULL;
}

static void find_lines(struct source *f, size_t size)
{
	size_t room = 0;
	const char *at = f->text, *end = f->text + size;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));

		*xpush(f->lines, f->line_count, room) = at;
		at = line ? line + 1 : end;
	}
	f->lines = xgrow(f->lines, f->line_count, &room, sizeof(*f->lines));
	f->lines[f->line_count] = end;
}

/* A path comes from a file that anybody may have made: only plain files are read. */
static bool read_source(struct source *f, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	size_t size = 0;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > SOURCE_MAX)
		return false;
	f->text = xmalloc((size_t)st.st_size + 1);
	while (size < (size_t)st.st_size) {
		ssize_t n = read(fd, f->text + size, (size_t)st.st_size - size);

		if (n <= 0)
			break;
		size += (size_t)n;
	}
	f->text[size] = 0;
	find_lines(f, size);
	f->file = xstrdup(path);
	return true;
}

static bool read_below(struct source *f, const char *folder, const char *path)
{
	auto_free char *whole = xasprintf("%s/%s", folder, path);

	return read_source(f, whole);
}

/* FROM=TO: the path begins with FROM, which ends with a folder's name. */
static bool read_moved(struct source *f, const char *root, const char *path)
{
	const char *to = strchr(root, '=');
	size_t size = (size_t)(to - root);

	if (strncmp(path, root, size) ||
	    (size && root[size - 1] != '/' && path[size] && path[size] != '/'))
		return false;
	return read_below(f, to + 1, path + size);
}

static bool read_from_root(struct source *f, const char *root, const char *path)
{
	if (strchr(root, '='))
		return read_moved(f, root, path);
	while (path) {
		if (read_below(f, root, path))
			return true;
		path = strchr(path + 1, '/');
	}
	return false;
}

static void source_look(const struct sources *s, struct source *f, const char *path)
{
	const struct source_options *o = &s->options;

	for (size_t i = 0; i < o->root_count; i++)
		if (read_from_root(f, o->roots[i], path))
			return;
	if (o->sysroot && read_below(f, o->sysroot, path))
		return;
	read_source(f, path);
}

const struct source *sources_open(struct sources *s, const char *path)
{
	uint32_t id = strings_add(&s->paths, path);
	uint64_t at;

	if (map_number(&s->known, id, &at)) {
		*xpush(s->files, s->count, s->room) = xcalloc(1, sizeof(**s->files));
		source_look(s, s->files[at], path);
	}
	return s->files[at];
}

const char *source_line(const struct source *s, uint32_t line, size_t *ret_size)
{
	const char *start, *end;

	if (!line || line > s->line_count)
		return NULL;
	start = s->lines[line - 1];
	end = s->lines[line];
	while (end > start && (end[-1] == '\n' || end[-1] == '\r'))
		end--;
	*ret_size = (size_t)(end - start);
	return start;
}
