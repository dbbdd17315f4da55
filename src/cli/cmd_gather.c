/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir gather: receives recordings from collectors that send them (memoir run --stream).
 *
 * Also all of memoir-gather, so nothing here may need more than base/ and stream/. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/json.h"
#include "base/now.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/fleet/push_after.h"
#include "cli/secrets.h"
#include "stream/gather.h"

#define REFRESH_NS 250000000ull
#define WAIT_MAX 1000000000ull
#define NAME_SHOWN 40

static const char *output, *token_file, *max_size, *fleet_url;
static uint64_t wait_s = 10, count, announce_port = STREAM_ANNOUNCE_PORT;
static bool quiet, as_json;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE",
	      "the file to write, or the folder (the recording's own name, here)", &output),
	VALUE("wait", 'w', "SECONDS", "seconds to wait for a sender (10)", &wait_s),
	VALUE("count", 'n', "N", "without HOST:PORT: leave after so many recordings", &count),
	VALUE("port", 'p', "PORT", "the UDP port to hear announcements on (43512)", &announce_port),
	VALUE("token-file", 0, "FILE",
	      "the token for senders of other users: its first line (MEMOIR_STREAM_TOKEN)",
	      &token_file),
	VALUE("max-size", 0, "SIZE",
	      "how much to keep at most: 500M, 4G (what leaves 5 % of the disk or 1 GiB free)",
	      &max_size),
	VALUE("fleet", 0, "URL", "memoir fleet push each whole recording there", &fleet_url),
	FLAG("json", 0, "print an object for each recording, one to a line", &as_json),
	FLAG("quiet", 'q', "say nothing but what went wrong", &quiet),
	{ 0 },
};

static volatile sig_atomic_t stop;

struct shown {
	struct buf line;
	uint64_t at_ns, size; /* of the last time */
	bool possible, there; /* on a terminal; a line is shown */
	bool failed;
};

static void on_signal(int number)
{
	stop = 1;
	signal(number, SIG_DFL); /* for the user who loses patience with that too */
}

/* Signals come while the loop waits, and at no other time. */
static void set_signals(sigset_t *waiting)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	sigset_t blocked;

	sigemptyset(&blocked);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction old, action = { .sa_handler = on_signal };

		/* Not where it is ignored, as under nohup. */
		if (sigaction(numbers[i], NULL, &old) || old.sa_handler == SIG_IGN)
			continue;
		sigaction(numbers[i], &action, NULL);
		sigaddset(&blocked, numbers[i]);
	}
	sigprocmask(SIG_BLOCK, &blocked, waiting);
	signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like a full disk */
}

static void clear_line(struct shown *s)
{
	if (s->there)
		(void)!write(STDERR_FILENO, "\r\033[K", 4);
	s->there = false;
}

/* A name from elsewhere: no more of it than fits a line. */
static void add_name(struct buf *b, struct stream_text name)
{
	buf_printable(b, name.data, name.size < NAME_SHOWN ? name.size : NAME_SHOWN);
	if (name.size > NAME_SHOWN)
		buf_text(b, "…");
}

static void add_program(struct buf *b, const struct stream_hello *h)
{
	struct stream_text name = stream_base_name(h->executable);

	if (name.size)
		add_name(b, name);
	else
		buf_text(b, "a program");
	buf_printf(b, " (process %u", h->pid);
	if (h->host.size) {
		buf_text(b, " on ");
		add_name(b, h->host);
	}
	buf_char(b, ')');
}

static void add_arguments(struct json *j, struct stream_text words)
{
	json_array(j, "arguments");
	while (words.size) {
		const char *nul = memchr(words.data, 0, words.size);
		size_t n = nul ? (size_t)(nul - words.data) : words.size;

		json_bytes(j, NULL, words.data, n);
		n += nul != NULL;
		words.data += n;
		words.size -= n;
	}
	json_end_array(j);
}

static void print_json(struct buf *b, const struct gather_result *r)
{
	static const char *const outcomes[] = { "whole", "unfinished", "stopped", "broken" };
	auto_buf struct buf id = { 0 };
	struct json j = { .out = b, .compact = true };

	json_object(&j, NULL);
	json_text(&j, "from", r->where);
	json_text(&j, "outcome", outcomes[r->outcome]);
	if (r->path)
		json_text(&j, "path", r->path);
	json_number(&j, "size", r->size);
	if (r->err.text[0])
		json_text(&j, "error", r->err.text);
	if (r->hello) {
		buf_hex(&id, r->hello->id, sizeof(r->hello->id));
		json_text(&j, "id", id.data);
		json_number(&j, "pid", r->hello->pid);
		json_bytes(&j, "executable", r->hello->executable.data, r->hello->executable.size);
		json_bytes(&j, "host", r->hello->host.data, r->hello->host.size);
		add_arguments(&j, r->hello->arguments);
	}
	json_end_object(&j);
}

/* The end of a line: how much of what there is in which file. */
static void add_kept(struct buf *b, const struct gather_result *r)
{
	if (!r->path)
		return;
	buf_printf(b, "; %s has %s of ", r->path, size_text(r->size));
	add_program(b, r->hello);
}

static void finished(void *context, const struct gather_result *r)
{
	struct shown *s = context;
	auto_buf struct buf out = { 0 }, error = { 0 };

	clear_line(s);
	s->size = 0;
	if (r->outcome == GATHER_BROKEN || r->outcome == GATHER_UNFINISHED) {
		s->failed = true;
		buf_printf(&error, "memoir: %s: ", r->where);
		if (r->err.offset != ERR_NO_OFFSET && r->err.offset)
			buf_printf(&error, "at offset %llu: ", (unsigned long long)r->err.offset);
		buf_text(&error, r->err.text);
		add_kept(&error, r);
		buf_char(&error, '\n');
	}
	if (as_json) {
		print_json(&out, r);
	} else if (!quiet && r->outcome == GATHER_WHOLE) {
		buf_printf(&out, "%s: %s, the whole recording of ", r->path, size_text(r->size));
		add_program(&out, r->hello);
		buf_char(&out, '\n');
	} else if (!quiet && r->outcome == GATHER_STOPPED) {
		buf_printf(&out, "%s: stopped%s", r->where,
			   r->path ? "" : "; nothing was received");
		add_kept(&out, r);
		buf_char(&out, '\n');
	}
	if (out.size && buf_flush(&out, STDOUT_FILENO))
		s->failed = true;
	if (error.size)
		buf_flush(&error, STDERR_FILENO);
	/* In a process of its own: those who send wait for nobody else. */
	if (fleet_url && r->path && r->outcome == GATHER_WHOLE)
		s->failed |= push_after(fleet_url, r->path, true, false) != 0;
}

static void progress(void *context, const struct gather_progress *p)
{
	struct shown *s = context;
	uint64_t now, passed;

	if (!s->possible)
		return;
	now = now_ns();
	passed = now - s->at_ns;
	if (passed < REFRESH_NS)
		return;
	buf_clear(&s->line);
	buf_text(&s->line, "\r\033[K");
	if (!p->streams) {
		buf_text(&s->line, "waiting for a program that sends");
	} else {
		if (p->streams == 1)
			add_program(&s->line, p->hello);
		else
			buf_printf(&s->line, "%u programs", p->streams);
		buf_printf(&s->line, ": %s", size_text(p->size));
		if (s->at_ns && p->size > s->size)
			buf_printf(&s->line, ", %s/s",
				   size_text((uint64_t)((double)(p->size - s->size) * 1e9 /
							(double)passed)));
	}
	s->at_ns = now;
	s->size = p->size;
	s->there = true;
	buf_flush(&s->line, STDERR_FILENO);
}

static int wrong(const char *text)
{
	fprintf(stderr, "memoir gather: %s (memoir gather --help says more)\n", text);
	return 2;
}

/* "500M", "4GiB"; false: it is none. */
static bool parse_size(const char *text, uint64_t *ret)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	double value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtod(text, &end);
	unit = *end ? strchr(units, *end & ~32) : NULL;
	if (unit) {
		value *= (double)(1ull << (10 * (unit - units + 1)));
		end++;
	}
	if (!strcmp(end, "iB") || !strcmp(end, "B"))
		end += strlen(end);
	*ret = (uint64_t)value;
	return !*end && value >= 1 && value < 1e18;
}

static int run_gather(int argc, char **argv)
{
	auto_free struct stream_target *targets = xcalloc((size_t)argc + 1, sizeof(*targets));
	struct shown shown = { .possible = isatty(STDERR_FILENO) && !quiet };
	sigset_t waiting;
	struct gather_options o = {
		.output = output,
		.wait_s = wait_s < WAIT_MAX ? wait_s : WAIT_MAX,
		.announced = !argc,
		.announce_port = announce_port,
		.count = count,
		.stop = &stop,
		.waiting = &waiting,
		.finished = finished,
		.progress = progress,
		.context = &shown,
	};
	const struct secret_sources from = { token_file, "MEMOIR_STREAM_TOKEN" };
	char token[SECRET_SIZE];
	struct err err;
	int error = secret_choose("memoir gather", &from, token, &o.token);

	if (error)
		;
	else if (max_size && !parse_size(max_size, &o.max_size))
		error = wrong("--max-size is a size, such as 500M or 4GiB");
	else if (output && !*output)
		error = wrong("an empty name for the output");
	else if (argc && count)
		error = wrong("--count is for senders that announce themselves, not for HOST:PORT");
	for (int i = 0; i < argc && !error; i++) {
		error = target_parse(&targets[i], argv[i], &err);
		if (error == -EINVAL)
			error = wrong(err.text);
		else if (error)
			fprintf(stderr, "memoir: %s\n", err.text);
	}
	if (error) {
		for (int i = 0; i < argc; i++)
			target_release(&targets[i]);
		return error == 2 ? 2 : 1;
	}
	set_signals(&waiting);
	if (!argc && !quiet && !shown.possible)
		fprintf(stderr, "memoir: waiting for announcements on UDP port %llu\n",
			(unsigned long long)announce_port);
	error = gather_run(&o, targets, (size_t)argc, &err);
	clear_line(&shown);
	if (error)
		fprintf(stderr, "memoir: %s\n", err.text);
	buf_release(&shown.line);
	return error || shown.failed ? 1 : 0;
}

const struct command command_gather = {
	.name = "gather",
	.args = "[HOST:PORT…]",
	.help = "receive recordings from programs that run with --stream",
	.examples = "  memoir gather localhost:8100            from a program on this machine\n"
		    "  memoir gather -o web.dat web1:8100      under this name\n"
		    "  memoir gather -o recordings/            senders that announce themselves, "
		    "until ^C\n",
	.options = options,
	.run = run_gather,
};
