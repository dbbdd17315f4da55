/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files that are sent.  See upload.h.  On the thread that speaks HTTP, but for uploads_put(): the
 * lock is for the folder and the number of the next file in it. */
#include "server/upload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hold_lock.h"
#include "base/write_at.h"
#include "base/xalloc.h"
#include "server/library.h"
#include "server/server.h"

struct uploads {
	pthread_mutex_t lock;
	char *folder; /* made when it is first needed */
	unsigned running;
	unsigned long number;
};

struct upload {
	struct uploads *all;
	char *path; /* NULL: it was opened, and is the library's */
	int fd;
	uint64_t size, written;
};

struct uploads *uploads_new(void)
{
	struct uploads *u = xcalloc(1, sizeof(*u));

	pthread_mutex_init(&u->lock, NULL);
	return u;
}

struct uploads *uploads_free(struct uploads *u)
{
	if (!u)
		return NULL;
	if (u->folder)
		rmdir(u->folder); /* the library has removed what was in it */
	free(u->folder);
	pthread_mutex_destroy(&u->lock);
	free(u);
	return NULL;
}

/* A folder that is only ours. */
static bool make_folder(struct uploads *u)
{
	const char *where = getenv("TMPDIR");

	if (u->folder)
		return true;
	u->folder = xasprintf("%s/memoir-server.XXXXXX", where && *where ? where : "/var/tmp");
	if (mkdtemp(u->folder))
		return true;
	free(u->folder);
	u->folder = NULL;
	return false;
}

/* A new file of the folder: its descriptor, or -1 with errno. */
static int make_file(struct uploads *u, char **ret_path)
{
	hold_lock(&u->lock);
	*ret_path = NULL;
	if (!make_folder(u))
		return -1;
	*ret_path = xasprintf("%s/%lu", u->folder, u->number++);
	return open(*ret_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

struct upload *upload_new(struct request *r, uint64_t size)
{
	struct uploads *all = r->server->uploads;
	uint64_t limit = r->server->options.upload_limit;
	struct upload *u;

	if (size > limit) {
		ask_fail(&r->ask, 413, NULL, "at most %llu bytes", (unsigned long long)limit);
		return NULL;
	}
	if (all->running >= UPLOADS_MAX) {
		ask_fail(&r->ask, 503, NULL, "other files are being sent: try again");
		return NULL;
	}
	u = xcalloc(1, sizeof(*u));
	u->all = all;
	u->size = size;
	u->fd = make_file(all, &u->path);
	all->running++;
	if (u->fd >= 0)
		return u;
	ask_fail(&r->ask, 500, NULL, "cannot create a file: %s", strerror(errno));
	upload_free(u);
	return NULL;
}

int upload_write(struct upload *u, struct request *r, const char *bytes, size_t size)
{
	int error;

	u->written += size;
	if (u->written > u->size)
		return ask_fail(&r->ask, 413, NULL, "there is more than was said");
	error = write_whole(u->fd, bytes, size);
	if (error)
		return ask_fail(&r->ask, 507, NULL, "it cannot be written: %s", strerror(-error));
	return 0;
}

int upload_open(struct upload *u, struct request *r, char ret_id[ID_SIZE])
{
	const char *name = ask_text(&r->ask, "name");
	struct err err;

	if (u->written != u->size)
		return ask_fail(&r->ask, 400, NULL, "there is less than was said");
	if (library_upload(r->server->library, u->path, name, r->visitor.name, ret_id, &err))
		return ask_fail(&r->ask, 400, NULL, "%s", err.text);
	free(u->path);
	u->path = NULL;
	return 0;
}

void upload_free(struct upload *u)
{
	if (!u)
		return;
	if (u->fd >= 0)
		close(u->fd);
	if (u->path)
		unlink(u->path);
	u->all->running--;
	free(u->path);
	free(u);
}

int uploads_put(struct server *s, const void *bytes, size_t size, const char *name,
		char ret_id[ID_SIZE], struct err *err)
{
	auto_free char *path = NULL;
	auto_close int fd = make_file(s->uploads, &path);
	int error = fd < 0 ? -errno : write_whole(fd, bytes, size);

	if (error)
		err_set(err, error, "cannot create a file: %s", strerror(-error));
	else
		error = library_upload(s->library, path, name, "", ret_id, err);
	if (error && path)
		unlink(path);
	return error;
}
