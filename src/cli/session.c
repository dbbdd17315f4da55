/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The recordings of one `memoir run`.  See session.h. */
#include "cli/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/human.h"
#include "base/order.h"
#include "base/read_file.h"
#include "base/xalloc.h"
#include "collector/program.h"

/* How long nothing may be reported at the end, by what is waited for. */
#define FINISHING_MS 60000  /* a collector that lives and writes: a disk may be slow */
#define SILENT_MS 2000	    /* one that is not there any more, or that cannot be seen from here */
#define RUNNING_MS 150	    /* programs that may be about to end: the rest of a pipe */
#define RUNNING_ALL_MS 1500 /* and others come and go */
#define SAY_AFTER_MS 1000
#define STEP_MS 10
#define PATIENT_STEP_MS 50
#define SHOWN 8 /* recordings that are listed one by one */

int session_open(struct session *s)
{
	int fds[2];

	memset(s, 0, sizeof(*s));
	s->read_fd = s->write_fd = -1;
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	s->read_fd = fds[0];
	s->write_fd = fds[1];
	snprintf(s->pipe_path, sizeof(s->pipe_path), "/proc/%d/fd/%d", (int)getpid(), s->write_fd);
	return 0;
}

static struct session_entry *find_entry(struct session *s, const char *path)
{
	for (size_t i = s->count; i-- > 0;)
		if (!strcmp(s->entries[i].path, path))
			return &s->entries[i];
	return NULL;
}

static char *field(char **rest)
{
	char *text = *rest ? strsep(rest, "\t") : NULL;

	return text ? text : (char *)"";
}

static void take_unrecorded(struct session *s, pid_t pid, char *rest)
{
	unsigned answer = (unsigned)atoi(field(&rest)), machine = (unsigned)atoi(field(&rest));

	*xpush(s->unrecorded, s->unrecorded_count, s->unrecorded_room) =
		(struct session_unrecorded){ pid, answer, machine, xstrdup(field(&rest)) };
}

static void take_line(struct session *s, char *line)
{
	char *kind = field(&line);
	pid_t pid = (pid_t)atoi(field(&line));
	struct session_entry *e;

	if (!strcmp(kind, "S")) {
		pid_t collector = (pid_t)atoi(field(&line));

		*xpush(s->entries, s->count, s->room) = (struct session_entry){
			.pid = pid, .collector = collector, .path = xstrdup(field(&line))
		};
	} else if (!strcmp(kind, "E")) {
		uint64_t events = strtoull(field(&line), NULL, 10);
		uint64_t bytes = strtoull(field(&line), NULL, 10);
		bool became = !strcmp(field(&line), "exec");

		e = find_entry(s, field(&line));
		if (!e)
			return;
		e->events = events;
		e->bytes = bytes;
		e->ended = true;
		if (became)
			e->became = xstrdup(field(&line));
	} else if (!strcmp(kind, "U")) {
		take_unrecorded(s, pid, line);
	}
}

void session_read(struct session *s)
{
	ssize_t n;

	while (s->read_fd >= 0 &&
	       (n = read(s->read_fd, s->line + s->used, sizeof(s->line) - 1 - s->used)) > 0) {
		char *start = s->line, *end;

		s->used += (size_t)n;
		s->line[s->used] = 0;
		for (; (end = strchr(start, '\n')); start = end + 1) {
			*end = 0;
			take_line(s, start);
		}
		s->used -= (size_t)(start - s->line);
		memmove(s->line, start, s->used + 1);
		if (s->used == sizeof(s->line) - 1)
			s->used = 0; /* no line is as long as that */
	}
}

void session_wake(const struct session *s)
{
	if (s->write_fd > 0 && write(s->write_fd, "\n", 1) < 0)
		return; /* full: then it wakes anyway */
}

/* Has it ended?  One that nobody has waited for yet has, too, unless it has other threads. */
static bool process_ended(pid_t pid)
{
	char path[32], text[512], *p;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (read_short_file(path, text, sizeof(text)) == -ENOENT)
		return true;
	p = strrchr(text, ')');
	return p && (!strncmp(p, ") Z", 3) || !strncmp(p, ") X", 3));
}

static bool became_unrecordable(const struct session *s, pid_t pid)
{
	return ANY(i, s->unrecorded_count, s->unrecorded[i].pid == pid);
}

enum awaited { NOTHING, RUNNING, SILENT, FINISHING };

/* What is still to come of a recording. */
static enum awaited awaited_of(const struct session *s, size_t i)
{
	const struct session_entry *e = &s->entries[i];
	bool later = false;

	for (size_t k = i + 1; k < s->count; k++)
		later |= s->entries[k].pid == e->pid; /* it is another program now */
	if (e->ended) {
		/* What it has become may be about to begin. */
		return !e->became || later || became_unrecordable(s, e->pid) ||
				       process_ended(e->pid)
			       ? NOTHING
			       : SILENT;
	}
	if (!later && !process_ended(e->pid))
		return RUNNING;
	return process_ended(e->collector) ? SILENT : FINISHING;
}

/* What takes longest, and how many recordings there are to wait for that reason. */
static enum awaited awaited(const struct session *s, size_t *ret_count)
{
	size_t counts[FINISHING + 1] = { 0 };
	enum awaited most = NOTHING;

	for (size_t i = 0; i < s->count; i++) {
		enum awaited a = awaited_of(s, i);

		most = a > most ? a : most;
		counts[a]++;
	}
	*ret_count = counts[most];
	return most;
}

static bool say_awaited(enum awaited a, size_t n, bool for_running)
{
	if (a == FINISHING)
		fprintf(stderr, "memoir: %zu recording%s still being written\n", n,
			n == 1 ? " is" : "s are");
	else if (a == RUNNING && for_running)
		fprintf(stderr,
			"memoir: waiting for %zu process%s that still run%s; ^C ends that\n", n,
			n == 1 ? "" : "es", n == 1 ? "s" : "");
	return a == FINISHING || (a == RUNNING && for_running);
}

/* Only where somebody wants to wait for them: all of /proc is looked at. */
static bool silent_run(const struct session *s, const volatile sig_atomic_t *for_running,
		       size_t *ret_count)
{
	*ret_count = for_running && !*for_running && s->count_silent ? s->count_silent(s) : 0;
	return *ret_count;
}

void session_wait(struct session *s, const volatile sig_atomic_t *for_running)
{
	static const int limits[] = { 0, RUNNING_MS, SILENT_MS, FINISHING_MS };
	struct pollfd p = { .fd = s->read_fd, .events = POLLIN };
	int quiet = 0, running = 0, all = 0, step;
	bool said = false;
	enum awaited a;
	size_t n;

	for (session_read(s); (a = awaited(s, &n)) || silent_run(s, for_running, &n);
	     session_read(s)) {
		bool patient = a <= RUNNING && for_running && !*for_running;

		a = a ? a : RUNNING;

		if (!patient &&
		    (quiet >= limits[a] || (a == RUNNING && (running += STEP_MS) > RUNNING_ALL_MS)))
			return;
		if (all >= SAY_AFTER_MS && !said)
			said = say_awaited(a, n, for_running);
		step = patient ? PATIENT_STEP_MS : STEP_MS;
		quiet = poll(&p, 1, step) > 0 ? 0 : quiet + step;
		all += step;
	}
}

bool session_knows(const struct session *s, pid_t pid)
{
	return ANY(i, s->count, s->entries[i].pid == pid);
}

void session_drop(struct session *s, const char *path)
{
	struct session_entry *e = find_entry(s, path);

	if (!e)
		return;
	free(e->path);
	free(e->became);
	memmove(e, e + 1, (size_t)(s->entries + s->count - (e + 1)) * sizeof(*e));
	s->count--;
}

static size_t process_count(const struct session *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->count; i++) {
		size_t k = 0;

		while (s->entries[k].pid != s->entries[i].pid)
			k++;
		n += k == i;
	}
	return n;
}

/* The folder that all recordings are in; 0 if they are not in one. */
static int folder(const struct session *s)
{
	const char *first = s->entries[0].path, *slash = strrchr(first, '/');
	size_t n = slash ? (size_t)(slash - first) : 0;

	for (size_t i = 1; i < s->count; i++) {
		const char *path = s->entries[i].path;

		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) != n || strncmp(path, first, n))
			return 0;
	}
	return (int)n;
}

void session_conclude(const struct session *s, size_t silent)
{
	uint64_t events = 0, bytes = 0;
	size_t running = silent, processes = process_count(s);
	const char *going_on = s->entries[0].path;

	for (size_t i = 0; i < s->count; i++) {
		const struct session_entry *e = &s->entries[i];

		events += e->events;
		bytes += e->bytes;
		running += !e->ended;
		going_on = e->ended ? going_on : e->path;
		if (s->count <= SHOWN && e->ended)
			fprintf(stderr, "memoir: recorded %s events in %s (%s)\n",
				count_text(e->events), e->path, size_text(e->bytes));
	}
	if (s->count > SHOWN)
		fprintf(stderr, "memoir: recorded %zu programs in %zu process%s: %s events, %s\n",
			s->count, processes, processes == 1 ? "" : "es", count_text(events),
			size_text(bytes));
	if (running)
		fprintf(stderr, "memoir: %zu still run%s, and %s recorded on in %.*s\n", running,
			running == 1 ? "s" : "", running == 1 ? "is" : "are",
			folder(s) ? folder(s) : (int)strlen(going_on), going_on);
	if (processes + silent > 1 && folder(s))
		fprintf(stderr, "memoir: look at them with: memoir report %.*s\n", folder(s),
			s->entries[0].path);
	else
		fprintf(stderr, "memoir: look at the last with: memoir report %s\n",
			s->entries[s->count - 1].path);
}

void session_say_lost(const struct session *s)
{
	for (size_t i = 0; i < s->unrecorded_count; i++) {
		const struct session_unrecorded *u = &s->unrecorded[i];
		const char *why = program_refusal(u->answer, u->machine);
		size_t k = 0;

		while (strcmp(s->unrecorded[k].path, u->path))
			k++;
		if (k == i)
			fprintf(stderr, "memoir: %s %s: it runs, unrecorded\n", u->path,
				why ? why : "cannot be recorded");
	}
	for (size_t i = 0; i < s->count; i++) {
		const struct session_entry *e = &s->entries[i];
		char path[4096];
		const char *why = NULL;
		bool later = false;

		for (size_t k = i + 1; k < s->count; k++)
			later |= s->entries[k].pid == e->pid;
		if (later || !e->became || !e->became[0] || became_unrecordable(s, e->pid))
			continue;
		if (!program_find(e->became, path, sizeof(path)))
			why = program_obstacle(path);
		fprintf(stderr, "memoir: process %d became %s, which was not recorded%s%s\n",
			(int)e->pid, e->became, why ? ": it " : "", why ? why : "");
	}
}

void session_release(struct session *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->entries[i].path);
		free(s->entries[i].became);
	}
	free(s->entries);
	for (size_t i = 0; i < s->unrecorded_count; i++)
		free(s->unrecorded[i].path);
	free(s->unrecorded);
	if (s->read_fd >= 0)
		close(s->read_fd);
	if (s->write_fd >= 0)
		close(s->write_fd);
	memset(s, 0, sizeof(*s));
	s->read_fd = s->write_fd = -1;
}
