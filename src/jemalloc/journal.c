/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Files of records.  See journal.h. */
#include "jemalloc/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/open_output.h"
#include "base/write_at.h"
#include "base/xalloc.h"

#define FILES_MAX 100000

static int failed(struct journal *j, struct err *err, const char *what)
{
	int e = errno;

	return err_set(err, -e, "%s: %s: %s", j->path, what, strerror(e));
}

static int open_file(struct journal *j, struct err *err)
{
	struct stat st;

	j->fd = open_output(j->path, O_WRONLY | O_CREAT | O_APPEND, 0600, OPEN_OUTPUT_WAIT_MS);
	if (j->fd < 0)
		return err_set(err, j->fd, "%s: cannot open it: %s", j->path,
			       open_output_error(j->fd));
	if (fstat(j->fd, &st))
		return failed(j, err, "cannot open it");
	j->size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
	if (!S_ISREG(st.st_mode))
		j->limit = 0;
	return 0;
}

int journal_open(struct journal *j, const char *path, uint64_t limit, unsigned keep,
		 struct err *err)
{
	*j = (struct journal){ .path = path, .limit = limit, .keep = keep, .fd = -1 };
	j->codec = sink_codec_of(path);
	if (strcmp(path, "-") != 0)
		return open_file(j, err);
	j->fd = dup(1);
	j->limit = 0;
	return j->fd < 0 ? failed(j, err, "cannot write") : 0;
}

static char *rotated(const struct journal *j, unsigned n)
{
	return n ? xasprintf("%s.%u", j->path, n) : xstrdup(j->path);
}

/* From the oldest on, so that nothing is ever replaced that is to be kept. */
int journal_rotate(struct journal *j, struct err *err)
{
	unsigned last = 1;

	for (;; last++) { /* the first number that is free, or too much */
		auto_free char *name = rotated(j, last);

		if (access(name, F_OK) || (j->keep && last >= j->keep))
			break;
		if (last == FILES_MAX)
			return err_set(err, -EMFILE, "%s: too many files", j->path);
	}
	for (; last > 0; last--) {
		auto_free char *from = rotated(j, last - 1), *to = rotated(j, last);

		if (rename(from, to))
			return failed(j, err, "cannot rename it");
	}
	close(j->fd);
	j->rotations++;
	return open_file(j, err);
}

static int write_record(struct journal *j, const struct buf *record, struct err *err)
{
	int e = write_whole(j->fd, record->data, record->size);

	if (!e) {
		j->size += record->size;
		return 0;
	}
	errno = -e;
	e = failed(j, err, "cannot write");
	/* Half a record is none; of a pipe nothing can be taken back. */
	(void)!ftruncate(j->fd, (off_t)j->size);
	return e;
}

int journal_add(struct journal *j, const struct buf *record, struct err *err)
{
	auto_buf struct buf packed = { 0 };
	struct sink sink;
	int e = 0;

	if (j->codec != SINK_PLAIN) {
		sink_to_buf(&sink, &packed, j->codec);
		buf_add(&sink.buf, record->data, record->size);
		e = sink_finish(&sink, err);
		record = &packed;
	}
	if (!e && j->limit && j->size && j->size + record->size > j->limit)
		e = journal_rotate(j, err);
	if (!e)
		e = write_record(j, record, err);
	return e;
}

int journal_close(struct journal *j, struct err *err)
{
	int fd = j->fd;

	j->fd = -1;
	return fd >= 0 && close(fd) ? failed(j, err, "cannot write") : 0;
}
