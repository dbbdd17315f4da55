/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opening for writing.  See open_output.h. */
#include "base/open_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"

#define LINKS_MAX 40
#define TURN_MS 20

/* Links of /proc/self/fd lead to what is open, not to what they say; they are this process's. */
static bool is_magic(int handle)
{
	struct statfs fs;

	return !fstatfs(handle, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

/* Where a link leads: 1 with *path replaced, 0 if it is none, or -errno. */
static int follow(char **path)
{
	auto_close int handle = open(*path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char target[PATH_MAX];
	const char *slash = strrchr(*path, '/');
	struct stat st;
	ssize_t n;
	char *next;

	if (handle < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(handle, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode) || is_magic(handle))
		return 0;
	if (st.st_uid && st.st_uid != geteuid())
		return -ELOOP;
	n = readlinkat(handle, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	next = *target == '/' || !slash ? xstrdup(target)
					: xasprintf("%.*s/%s", (int)(slash - *path), *path, target);
	free(*path);
	*path = next;
	return 1;
}

int open_output_resolve(const char *path, char **ret_path)
{
	char *at = xstrdup(path);
	int more = 1;

	for (int i = 0; more == 1; i++)
		more = i < LINKS_MAX ? follow(&at) : -ELOOP;
	if (more < 0)
		free(at);
	else
		*ret_path = at;
	return more;
}

static int open_pipe(const char *path, int wait_ms)
{
	for (int waited = 0;; waited += TURN_MS) {
		int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

		if (fd >= 0 || errno != ENXIO || waited >= wait_ms)
			return fd < 0 ? -errno : fd;
		nanosleep(&(struct timespec){ .tv_nsec = TURN_MS * 1000000 }, NULL);
	}
}

int open_output(const char *path, int flags, mode_t mode, int wait_ms)
{
	auto_free char *real = NULL;
	struct stat st;
	int error = open_output_resolve(path, &real), fd;

	if (error)
		return error;
	if (!stat(real, &st) && S_ISFIFO(st.st_mode))
		return open_pipe(real, wait_ms);
	/* What was a file a moment ago may have become a link; those of /proc stay what they are.
	 */
	if (lstat(real, &st) < 0 || !S_ISLNK(st.st_mode))
		flags |= O_NOFOLLOW;
	fd = open(real, flags | O_CLOEXEC | O_NOCTTY, mode);
	return fd < 0 ? -errno : fd;
}

const char *open_output_error(int error)
{
	switch (error < 0 ? -error : error) {
	case ELOOP:
		return "a symbolic link of another user is not followed";
	case ENXIO:
		return "nobody reads from this pipe";
	case ETIMEDOUT:
		return "the reader takes nothing";
	default:
		return strerror(error < 0 ? -error : error);
	}
}
