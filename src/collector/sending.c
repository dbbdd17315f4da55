/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The collector's side of a stream: who we are, when it begins, how far the file is, when it ended.
 * Everything else is done by stream/serve.c on its own thread, so nothing here ever waits for a
 * client but the end of a process 1, which takes everything along. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secret.h"
#include "base/xalloc.h"
#include "collector/collector.h"
#include "collector/log.h"
#include "recording/file_name.h"
#include "stream/serve.h"

#define ARGUMENTS_MAX STREAM_TEXT_MAX
#define LAST_NS 4000000000ull /* less than process 1 waits for its collector */

/* Read at the start, when relative paths are still the program's. */
static char stream_token[SECRET_SIZE];
static struct err token_error;

static struct stream_text text_of(const char *text)
{
	return (struct stream_text){ text, strlen(text) };
}

/* The command line, a NUL behind each word: from where the launcher has it, or the kernel. */
static size_t get_arguments(const struct collector *c, char *out, size_t room)
{
	char path[40];
	ssize_t got;
	size_t n = 0;
	int fd;

	for (const char *const *a = c->arguments; a && *a; a++) {
		size_t length = strlen(*a) + 1;

		if (length > room - n)
			break;
		memcpy(out + n, *a, length);
		n += length;
	}
	if (c->arguments)
		return n;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)collector_in_proc(c));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (n < room && (got = read(fd, out + n, room - n)) > 0)
		n += (size_t)got;
	close(fd);
	return n;
}

static size_t get_executable(const struct collector *c, char *out, size_t room)
{
	char path[40];
	ssize_t n;

	if (c->executable[0])
		return (size_t)snprintf(out, room, "%s", c->executable);
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)collector_in_proc(c));
	n = readlink(path, out, room);
	return n > 0 ? (size_t)n : 0;
}

/* What a receiver calls the file: as we do, or as we would. */
static struct stream_text get_name(const struct collector *c, struct stream_text executable,
				   char *out, size_t room)
{
	auto_free char *program = NULL;

	if (!c->recording.nameless)
		return stream_base_name(text_of(c->recording.path));
	executable = stream_base_name(executable);
	program = xmemdup0(executable.data, executable.size);
	if (!file_name_expand(out, room, "memory-profiling_%e_%t_%p.dat", c->target, program, 0))
		return text_of("");
	return text_of(out);
}

static int start_sending(struct collector *c, struct err *err)
{
	const struct options *o = &c->control->options;
	struct serve_options options = {
		.address = o->stream_address,
		.port = o->stream_port,
		.announce = o->announce,
		.announce_port = o->announce_port,
		.patience_s = o->stream_patience,
		.open_to_all = o->stream_open,
		.token = stream_token[0] ? stream_token : NULL,
	};
	struct stream_hello hello = { .pid = (uint32_t)c->target };
	char executable[4096], name[4200], host[256] = "", *arguments;
	struct stat st;
	int error;

	if (token_error.text[0])
		return err_set(err, -EACCES, "%s", token_error.text);
	if (fstat(c->recording.fd, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "the output is not a file");
	arguments = malloc(ARGUMENTS_MAX);
	if (!arguments)
		return err_set(err, -ENOMEM, "no memory");
	gethostname(host, sizeof(host) - 1);
	memcpy(hello.id, c->recording.id, sizeof(hello.id));
	hello.executable.data = executable;
	hello.executable.size = get_executable(c, executable, sizeof(executable));
	hello.name = get_name(c, hello.executable, name, sizeof(name));
	hello.host = text_of(host);
	hello.arguments.data = arguments;
	hello.arguments.size = get_arguments(c, arguments, ARGUMENTS_MAX);
	error = serve_start(&c->serve, c->recording.fd, &hello, &options, err);
	free(arguments);
	return error;
}

/* What could not be done is said where the launcher says such things, and in the log. */
static void begin_sending(struct collector *c)
{
	struct err err = { "" };
	int error = start_sending(c, &err);

	c->may_send = !error;
	if (!error) {
		serve_grow(c->serve, c->recording.size);
		log_line(LOG_INFO, "sending the recording on %s", serve_where(c->serve));
	}
	if (!err.text[0])
		return;
	log_line(LOG_ERROR, "%s%s", error ? "the recording is not sent: " : "", err.text);
	if (!c->warning[0])
		snprintf(c->warning, sizeof(c->warning), "%s%.200s",
			 error ? "the recording is not sent: " : "", err.text);
}

/* A recording that may never be switched on is not there for anybody before it is. */
void sending_start(struct collector *c)
{
	const struct options *o = &c->control->options;

	c->may_send = o->stream;
	if (c->may_send && o->stream_token_file[0]) {
		struct err err;

		if (secret_read(o->stream_token_file, stream_token, &err))
			token_error = err;
		else if (err.text[0])
			log_line(LOG_WARN, "%s", err.text);
	}
	if (c->may_send && !collector_never_on(c))
		begin_sending(c);
}

void sending_look(struct collector *c)
{
	if (c->serve)
		serve_grow(c->serve, c->recording.size);
	else if (c->may_send && !collector_never_on(c))
		begin_sending(c);
}

void sending_end(struct collector *c, bool whole)
{
	if (!c->serve)
		return;
	serve_end(c->serve, c->recording.size, whole);
	if (atomic_load(&c->control->ending) == ENDING_CLOSE)
		serve_wait(c->serve, LAST_NS);
}
