/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Embedded files on disk.  See extract.h. */
#include "rewrite/extract.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/write_at.h"

#define NAME_ROOM (NAME_MAX + 1)
#define SUFFIX_ROOM 8 /* ".000" and more */
#define SAME_NAMES 10000

/* Who may read may look inside. */
static mode_t folder_mode(const struct extract *x)
{
	return 0300 | x->mode | (x->mode & 0444) >> 2;
}

int extract_open(struct extract *x, const struct model *m, const char *path, struct err *err)
{
	struct stat st;

	x->model = m;
	/* What nobody else may read in the recording, nobody else may read beside it. */
	x->mode = fstat(m->reader.fd, &st) ? 0600 : st.st_mode & 0666;
	if (mkdir(path, folder_mode(x)) < 0 && errno != EEXIST)
		return err_set(err, -errno, "cannot be made: %s", strerror(errno));
	x->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return x->folder < 0 ? err_set(err, -errno, "%s", strerror(errno)) : 0;
}

void extract_release(struct extract *x)
{
	if (x->folder >= 0)
		close(x->folder);
	x->folder = -1;
}

/* The next part of a path that means anything, made harmless; false at the end. */
static bool next_part(const char **path, char *part)
{
	size_t size, room = NAME_ROOM - SUFFIX_ROOM - 1;

	*path += strspn(*path, "/");
	size = strcspn(*path, "/");
	if (!size)
		return false;
	snprintf(part, NAME_ROOM, "%.*s", (int)(size < room ? size : room), *path);
	*path += size;
	/* The folder itself, and the one above it. */
	if (!strcmp(part, "."))
		strcpy(part, "_");
	if (!strcmp(part, ".."))
		strcpy(part, "__");
	return true;
}

static void number_name(char *name, const char *part, unsigned n)
{
	if (n)
		snprintf(name, NAME_ROOM + SUFFIX_ROOM, "%s.%03u", part, n - 1);
	else
		strcpy(name, part);
}

/* A folder of this name, made if need be; where something else has it, another name is taken.
 * Returns its descriptor. */
static int enter_folder(const struct extract *x, int at, const char *part, char *name)
{
	for (unsigned n = 0; n < SAME_NAMES; n++) {
		int fd;

		number_name(name, part, n);
		if (mkdirat(at, name, folder_mode(x)) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 || (errno != ENOTDIR && errno != ELOOP))
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int create(const struct extract *x, int at, const char *part, char *name)
{
	for (unsigned n = 0; n < SAME_NAMES; n++) {
		int fd;

		number_name(name, part, n);
		fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0200 | x->mode);
		if (fd >= 0 || errno != EEXIST)
			return fd >= 0 ? fd : -errno;
	}
	return -EEXIST;
}

static int write_pieces(const struct extract *x, const struct embedded_file *f, int fd,
			struct err *err)
{
	struct chunk c = { 0 };
	int error = 0;

	if (f->key) {
		struct buf bytes = { 0 };

		error = model_file_content(x->model, f, &bytes, err);
		if (!error) {
			error = write_at(fd, bytes.data, bytes.size, 0);
			if (error)
				err_set(err, error, "cannot be written: %s", strerror(-error));
		}
		buf_release(&bytes);
		return error;
	}
	for (size_t i = 0; !error && i < f->piece_count; i++) {
		const struct file_piece *p = &f->pieces[i];

		if (!reader_again(&x->model->reader, p->chunk_offset, &c, err) ||
		    c.payload_size < p->size) {
			error = -EIO;
			break;
		}
		error = write_at(fd, c.payload + c.payload_size - p->size, p->size, p->offset);
		if (error)
			err_set(err, error, "cannot be written: %s", strerror(-error));
	}
	chunk_release(&c);
	return error;
}

/* Down to the folder that the file is to be in, then the file; *ret_at is that folder. */
static int create_file(const struct extract *x, const char *path, struct buf *out, int *ret_at)
{
	char part[NAME_ROOM], next[NAME_ROOM], name[NAME_ROOM + SUFFIX_ROOM];
	int at = dup(x->folder), fd;

	*ret_at = at;
	if (at < 0)
		return -errno;
	if (!next_part(&path, part))
		strcpy(part, "unnamed");
	while (next_part(&path, next)) {
		fd = enter_folder(x, at, part, name);
		if (fd < 0)
			return fd;
		close(at);
		*ret_at = at = fd;
		buf_printf(out, "%s/", name);
		strcpy(part, next);
	}
	fd = create(x, at, part, name);
	buf_text(out, name);
	return fd;
}

int extract_file(struct extract *x, const struct embedded_file *f, struct buf *out, struct err *err)
{
	int at, fd, error;

	buf_clear(out);
	if (f->key && !model_has_file(x->model, f))
		return err_set(err, -ENOENT, "%s/%s%s beside the recording is missing",
			       FORMAT_SHARED_FOLDER, f->key, FORMAT_SHARED_SUFFIX);
	if (!f->key && f->held_size < f->total_size)
		return err_set(err, -ENODATA, "only %llu of its %llu bytes are in the recording",
			       (unsigned long long)f->held_size, (unsigned long long)f->total_size);
	fd = create_file(x, f->path, out, &at);
	if (fd < 0) {
		error = err_set(err, fd, "cannot be written: %s", strerror(-fd));
	} else {
		error = write_pieces(x, f, fd, err);
		close(fd);
		if (error)
			unlinkat(at,
				 strrchr(out->data, '/') ? strrchr(out->data, '/') + 1 : out->data,
				 0);
	}
	if (at >= 0)
		close(at);
	return error;
}
