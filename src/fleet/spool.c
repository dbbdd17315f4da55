/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The spool.  See spool.h.
 *
 * Files are <nanoseconds>-<parcel>.parcel, so that names are in order of age; `dropped` has the
 * number of parcels that were given up, `facts` what the fleet was like.  Who changes something
 * holds the lock on the folder; who sends holds another one, on `sending`, so that a parcel is not
 * sent by two at a time, and a long sending does not keep anybody from putting one. */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/order.h"
#include "base/read_file.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define NAME_SIZE 64
#define PARCEL_MAX ((size_t)1 << 30)
#define SUFFIX ".parcel"

struct waiting {
	char name[NAME_SIZE];
	uint64_t size;
};

struct waiting_list {
	struct waiting *rows;
	size_t count, room;
	uint64_t bytes;
};

/* Makes each folder of a path that is not there. */
static int make_folders(const char *path)
{
	auto_free char *copy = xstrdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(copy, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int spool_open(struct spool *s, const struct fleet_settings *settings, const struct fleet *f,
	       struct err *err)
{
	const char *home = getenv("XDG_STATE_HOME"), *user = getenv("HOME");
	auto_free char *base = *settings->spool ? xstrdup(settings->spool)
			       : home && *home	? xasprintf("%s/memoir/spool", home)
						: xasprintf("%s/.local/state/memoir/spool",
							    user ? user : "/nonexistent");
	auto_free char *path =
		xasprintf("%s/%016" PRIx64, base, (uint64_t)XXH3_64bits(f->name, strlen(f->name)));
	int error = make_folders(path);

	*s = (struct spool){ .dir = -1, .limit = settings->spool_size };
	if (!error)
		s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir >= 0)
		return 0;
	return err_set(err, error ? error : -errno, "the spool %.150s: %s", path,
		       strerror(error ? -error : errno));
}

void spool_close(struct spool *s)
{
	close_fd(&s->dir);
	s->dir = -1;
}

ORDER(compare_names, struct waiting, strcmp(x->name, y->name))

static void list_parcels(const struct spool *s, struct waiting_list *l)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	*l = (struct waiting_list){ 0 };
	while (dir && (e = readdir(dir))) {
		size_t n = strlen(e->d_name), end = strlen(SUFFIX);
		struct waiting *w;
		struct stat st;

		if (n <= end || n >= NAME_SIZE || strcmp(e->d_name + n - end, SUFFIX) != 0 ||
		    fstatat(s->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		w = xpush(l->rows, l->count, l->room);
		snprintf(w->name, sizeof(w->name), "%s", e->d_name);
		w->size = (uint64_t)st.st_size;
		l->bytes += w->size;
	}
	if (dir)
		closedir(dir);
	SORT(l->rows, l->count, compare_names);
}

static uint64_t read_number(const struct spool *s, const char *name)
{
	auto_close int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[32] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

/* In place: it has room on a full disk, once it was made. */
static void write_number(const struct spool *s, const char *name, uint64_t number)
{
	auto_close int fd = openat(s->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[32];
	int size = snprintf(text, sizeof(text), "%020" PRIu64 "\n", number);

	if (fd >= 0 && pwrite(fd, text, (size_t)size, 0) < 0)
		return; /* it is counted too low: there is no room for a number */
}

static void count_dropped(const struct spool *s, uint64_t more)
{
	if (more)
		write_number(s, "dropped", read_number(s, "dropped") + more);
}

static int write_file(const struct spool *s, const struct buf *content, const char *name)
{
	auto_close int fd = openat(s->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	char self[40];
	int error;

	if (fd < 0)
		return -errno;
	error = write_whole(fd, content->data, content->size);
	if (!error && fdatasync(fd) < 0)
		error = -errno;
	if (error)
		return error;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, self, s->dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static bool waits(const struct waiting_list *l, uint64_t name)
{
	char end[NAME_SIZE];
	size_t size = (size_t)snprintf(end, sizeof(end), "-%016" PRIx64 SUFFIX, name);

	for (size_t i = 0; i < l->count; i++) {
		size_t n = strlen(l->rows[i].name);

		if (n > size && !strcmp(l->rows[i].name + n - size, end))
			return true;
	}
	return false;
}

bool spool_has(const struct spool *s, uint64_t name)
{
	struct waiting_list l;
	bool found;

	list_parcels(s, &l);
	found = waits(&l, name);
	free(l.rows);
	return found;
}

/* The oldest go until there is room; also when the disk has less of it than the limit.  What waits
 * already is not put a second time: it would push out others. */
static int put_content(struct spool *s, const struct buf *content, const char *name,
		       const struct parcel *p, uint64_t *ret_dropped)
{
	struct waiting_list l;
	size_t gone = 0;
	int error;

	list_parcels(s, &l);
	error = waits(&l, parcel_name(p)) ? 0 : -ENOSPC;
	while (error == -ENOSPC || error == -EDQUOT || error == -EFBIG) {
		if (l.bytes + content->size <= s->limit) {
			error = write_file(s, content, name);
			if (!error)
				break;
		}
		if (gone == l.count || content->size > s->limit)
			break;
		unlinkat(s->dir, l.rows[gone].name, 0);
		l.bytes -= l.rows[gone++].size;
	}
	free(l.rows);
	*ret_dropped = gone;
	return error;
}

int spool_put(struct spool *s, const struct parcel *p, uint64_t *ret_dropped, struct err *err)
{
	auto_buf struct buf content = { 0 };
	char name[NAME_SIZE];
	struct timespec now;
	int error;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(name, sizeof(name), "%020" PRIu64 "-%016" PRIx64 SUFFIX,
		 (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, parcel_name(p));
	parcel_write(p, &content);
	flock(s->dir, LOCK_EX);
	error = put_content(s, &content, name, p, ret_dropped);
	*ret_dropped += error != 0;
	count_dropped(s, *ret_dropped);
	flock(s->dir, LOCK_UN);
	return error ? err_set(err, error, "the spool has no room for it: %s", strerror(-error))
		     : 0;
}

static int read_parcel(const struct spool *s, const char *name, struct parcel *p, struct err *err)
{
	auto_close int fd = openat(s->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	auto_buf struct buf content = { 0 };
	int error = fd < 0 ? -errno : read_to_end(fd, &content, PARCEL_MAX);

	if (error)
		return err_set(err, error, "%s", strerror(-error));
	return parcel_read(p, content.data, content.size, err);
}

/* -ECANCELED: it is gone, since it was damaged or another process dropped it.  What the server says
 * to one, or says no more, is no reason to give it up: somebody can mend that. */
static int send_one(struct spool *s, const struct fleet *f, const char *name, struct err *err)
{
	auto_release(parcel_release) struct parcel p = { 0 };
	struct parcel_sent sent;
	int error = read_parcel(s, name, &p, err), unsent;

	if (error == -ENOENT)
		return -ECANCELED;
	if (error && error != -EBADMSG)
		return error;
	unsent = error ? 0 : parcel_send(&p, f, &sent, err);
	if (unsent)
		return unsent;
	flock(s->dir, LOCK_EX);
	if (!unlinkat(s->dir, name, 0))
		count_dropped(s, error ? 1 : 0);
	flock(s->dir, LOCK_UN);
	return error ? -ECANCELED : 0;
}

int spool_drain(struct spool *s, const struct fleet *f, uint64_t *ret_sent, struct err *err)
{
	auto_close int lock = openat(s->dir, "sending", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct waiting_list l;
	int error = 0;

	*ret_sent = 0;
	if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) < 0)
		return 0; /* somebody is at it */
	list_parcels(s, &l);
	for (size_t i = 0; i < l.count && (!error || error == -EPROTO); i++) {
		int one = send_one(s, f, l.rows[i].name, err);

		*ret_sent += !one;
		/* One that is refused does not keep the others back. */
		if (one && one != -ECANCELED)
			error = one;
	}
	free(l.rows);
	return error;
}

void spool_look(const struct spool *s, struct spool_facts *ret)
{
	struct waiting_list l;

	list_parcels(s, &l);
	*ret = (struct spool_facts){ l.count, l.bytes, read_number(s, "dropped") };
	free(l.rows);
}

int spool_facts_read(const struct spool *s, struct fleet_facts *ret)
{
	uint64_t number = read_number(s, "facts");

	*ret = (struct fleet_facts){ .version = FLEET_VERSION, .step = (uint32_t)number };
	return number ? 0 : -ENOENT;
}

void spool_facts_write(const struct spool *s, const struct fleet_facts *facts)
{
	if (read_number(s, "facts") != facts->step)
		write_number(s, "facts", facts->step);
}
