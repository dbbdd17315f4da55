/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* GET /dumps/{id}/raw: the file of a heap profile dump.  See dumps.h. */
#include "server/dumps.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "answer/kind.h"
#include "base/buf.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "heap/loaded_dump.h"
#include "server/request.h"

#define READ_BYTES (1u << 18)

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

	if (!error && kind_read_dump(b, r->ask.snapshot->heap->path, &err))
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
	{ "/dumps/{id}/raw", METHOD_GET, "the file itself", .type = "application/octet-stream",
	  .kind = "heap", .way = ROUTE_STREAM, .answer = answer_raw },
	{ 0 },
};
