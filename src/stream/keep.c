/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A received recording's file.  See keep.h. */
#include "stream/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/lives.h"
#include "base/open_output.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define NAME_SIZE 200 /* leaves room for a number and ".part" */
#define NAMES_TRIED 10000
#define CHECK_EVERY (16ull << 20) /* bytes between two looks at the disk */

static bool harmless(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       strchr("._-+@%,=", c);
}

char *keep_name(const struct stream_hello *hello)
{
	struct stream_text from = stream_base_name(hello->name);
	size_t n = from.size < NAME_SIZE ? from.size : NAME_SIZE;
	char *name;

	if (!n)
		return xasprintf("memory-profiling_%" PRIu32 ".dat", hello->pid);
	name = xmemdup0(from.data, n);
	for (size_t i = 0; i < n; i++)
		if (!name[i] || !harmless(name[i]))
			name[i] = '_';
	if (name[0] == '.' || name[0] == '-')
		name[0] = '_';
	return name;
}

static bool is_folder(const char *path)
{
	size_t n = strlen(path);
	struct stat st;

	return n && (path[n - 1] == '/' || (!stat(path, &st) && S_ISDIR(st.st_mode)));
}

/* May what the user named be replaced?  Not a device, and not a recording that is being written:
 * that may well be the one that is being received. */
static int check_output(const char *path, struct err *err)
{
	struct stat st;
	auto_close int fd = -1;
	auto_free char *real = NULL;
	int error = open_output_resolve(path, &real);

	if (error)
		return err_set(err, error, "%s: %s", path, open_output_error(error));
	if (stat(path, &st) < 0)
		return 0;
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL,
			       "%s: not a regular file: a recording is put in its place as a whole",
			       path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return err_set(err, -EBUSY, "%s: a recording is being written to it", path);
	return 0;
}

int keep_open(struct keep *k, const char *output, const struct stream_hello *hello, struct err *err)
{
	auto_free char *name = keep_name(hello);
	int error;

	*k = (struct keep){ .fd = -1, .replaces = output && !is_folder(output) };
	if (k->replaces && (error = check_output(output, err)))
		return error;
	if (k->replaces)
		k->path = realpath(output, NULL);
	if (k->replaces && !k->path)
		k->path = xstrdup(output);
	else if (!k->replaces)
		k->path = xasprintf("%s%s%s", output ? output : "",
				    output && output[strlen(output) - 1] != '/' ? "/" : "", name);
	for (unsigned n = 0; n < NAMES_TRIED; n++) {
		free(k->part);
		k->part = xasprintf("%s.%d.%u.part", k->path, (int)getpid(), n);
		k->fd = open(k->part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW,
			     0600);
		if (k->fd >= 0 || errno != EEXIST)
			break;
	}
	if (k->fd >= 0) {
		flock(k->fd, LOCK_EX | LOCK_NB);
		lives_mark(k->fd, true);
		return 0;
	}
	error = err_set(err, -errno, "%s: cannot be written: %s", k->path, strerror(errno));
	free(k->part);
	k->part = NULL;
	return error;
}

/* Has the disk room for more, and for what others need?  A file system that does not tell has. */
static int check_space(struct keep *k, struct err *err)
{
	struct statvfs fs;
	uint64_t all, left, spared;

	if (k->size < k->check_at || fstatvfs(k->fd, &fs) < 0 || !fs.f_blocks)
		return 0;
	all = (uint64_t)fs.f_blocks * fs.f_frsize;
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	spared = all / KEEP_SPARE_SHARE < KEEP_SPARE_MAX ? all / KEEP_SPARE_SHARE : KEEP_SPARE_MAX;
	if (left < spared)
		return err_set(err, -ENOSPC,
			       "only %" PRIu64
			       " MiB are left on the disk: --max-size SIZE takes more",
			       left >> 20);
	k->check_at = k->size + (left - spared < CHECK_EVERY ? CHECK_EVERY / 16 : CHECK_EVERY);
	return 0;
}

int keep_add(struct keep *k, const void *bytes, size_t size, bool spare, struct err *err)
{
	int error = spare ? check_space(k, err) : 0;

	if (error)
		return error;
	error = write_whole(k->fd, bytes, size);
	if (error)
		return err_set(err, error, "%s: cannot be written: %s", k->path, strerror(-error));
	k->size += size;
	return 0;
}

/* The nth name: a number before the suffix, as the collector does it. */
static char *numbered(const char *path, unsigned n)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	if (!n)
		return xstrdup(path);
	if (!dot || (slash && dot < slash))
		dot = path + strlen(path);
	return xasprintf("%.*s.%u%s", (int)(dot - path), path, n, dot);
}

int keep_finish(struct keep *k, struct err *err)
{
	int done = -1;

	if (k->replaces)
		done = rename(k->part, k->path);
	for (unsigned n = 0; !k->replaces && n < NAMES_TRIED; n++) {
		char *name = numbered(k->path, n);

		/* Neither replaces: link is for file systems that do not know the flag. */
		done = renameat2(AT_FDCWD, k->part, AT_FDCWD, name, RENAME_NOREPLACE);
		if (done && (errno == EINVAL || errno == ENOSYS)) {
			done = link(k->part, name);
			if (!done)
				unlink(k->part);
		}
		if (!done) {
			free(k->path);
			k->path = name;
			break;
		}
		free(name);
		if (errno != EEXIST)
			break;
	}
	if (done)
		return err_set(err, -errno, "%s: cannot be put in its place: %s", k->path,
			       strerror(errno));
	free(k->part);
	k->part = NULL;
	return 0;
}

void keep_release(struct keep *k)
{
	if (k->fd >= 0)
		close(k->fd);
	if (k->part)
		unlink(k->part);
	free(k->part);
	free(k->path);
	*k = (struct keep){ .fd = -1 };
}
