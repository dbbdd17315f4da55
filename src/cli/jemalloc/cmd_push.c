/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc push: heap profiles to Pyroscope, once or at intervals.
 *
 * Of a running process the agent's own profile is handed on, whose names were looked up in that
 * process; folded stacks, dumps in files and what is sent at intervals are named here.  A server or
 * a process that does not answer ends a single push, and is waited out where there are more to
 * come.
 *
 * Pyroscope adds up what it is sent.  What is alive is sent as it is; of what was ever allocated,
 * an interval has what came since the profile that was sent before, and the first one none. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/sink.h"
#include "base/xalloc.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/jemalloc/live.h"
#include "cli/say.h"
#include "cli/ticks.h"
#include "client/pyroscope.h"
#include "heap/report.h"

#define NAME "memoir jemalloc push"
#define TIMEOUT_MS 60000
#define SECOND INT64_C(1000000000)
#define SPAN 10 /* seconds that a single profile is said to be of */

static const char *to, *name, *format, *every;
static bool push_api;
static uint64_t count;
static struct pyroscope pyroscope;

static const char *add_label(const struct command_option *row, const char *value)
{
	static struct err err;

	return pyroscope_label(&pyroscope, value, &err) ? err.text : NULL;
}

static const struct command_option options[] = {
	VALUE("to", 0, "URL", "the server: http://HOST:PORT or https://HOST:PORT", &to),
	VALUE("name", 0, "APP", "what the profile is of (the program's name)", &name),
	CALL("label", 'l', "NAME=VALUE", "a label; may be repeated", add_label),
	WORD("format", 0, "WHAT", "pprof (this is what is done) or folded", &format,
	     .words = "pprof or folded"),
	FLAG("push-api", 0, "by POST /push.v1.PusherService/Push instead of /ingest", &push_api),
	VALUE("every", 0, "TIME", "again and again: 10s, 1m", &every),
	VALUE("count", 'n', "N", "with --every: so many times", &count),
	AGENT_TOKEN_ROWS,
	{ 0 },
};

struct push {
	const char *path; /* a dump, or NULL */
	struct agents_entry agent;
	struct buf profile;
	struct buf dump, before; /* the one that is sent, and the last one that was */
	int64_t until, from;	 /* seconds */
	uint64_t sent, failed, failed_now;
};

static void name_by_program(const struct profile *p)
{
	struct err err;
	uint32_t main = p->locations.main_module;

	if (!*pyroscope.name && main != HEAP_NO_MODULE)
		pyroscope_name(&pyroscope, path_base(p->locations.modules[main].path), &err);
	if (!*pyroscope.name)
		pyroscope_name(&pyroscope, "unknown", &err);
}

/* A dump as what is sent; 0, or 1 after saying what is wrong. */
static int convert(struct push *u, const char *path, const struct buf *dump)
{
	const struct heap_report *report =
		heap_report_find(pyroscope.format == PYROSCOPE_PPROF ? "pprof" : "collapsed");
	struct heap_locations_options where =
		heap_options_locations(NAME, heap_options.program, &u->path, u->path != NULL);
	struct profile_options how = { .thread = PROFILE_ALL_THREADS,
				       .by_thread = report->by_thread,
				       .whole = report->by_thread };
	struct heap_report_options o = { .measure = HEAP_INUSE_SPACE, .title = "" };
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_release(profile_release) struct profile p = { 0 };
	struct sink sink;
	size_t before;
	int status;

	profile_init(&p, &how, &where);
	/* Half a dump would be taken for memory that was freed. */
	status = every ? heap_options_take(&p, NAME, path, u->before.size ? &u->before : dump, 1)
		       : 0;
	before = p.sample_count;
	if (!status)
		status = heap_options_take(&p, NAME, path, dump, 1);
	if (!status && every)
		profile_keep_since(&p, before);
	if (!status && profile_finish(&p, &err))
		status = say_failed(NAME, NULL, &err);
	if (!status) {
		if (!u->sent)
			heap_options_warn(NAME, &p.locations);
		name_by_program(&p);
		sink_to_buf(&sink, &u->profile, report->gzip ? SINK_GZIP : SINK_PLAIN);
		report->write(&p, &o, &sink, &err);
		if (sink_finish(&sink, &err))
			status = say_failed(NAME, NULL, &err);
	}
	return status;
}

/* While one after the other fails, that is said once. */
static int say(const struct push *u, const char *path, const struct err *err)
{
	if (!u->failed_now)
		fprintf(stderr, NAME ": %s: %s\n", path, err->text);
	return 1;
}

/* Fills u->profile and the times; 0, or 1 after saying what is wrong. */
static int fetch(struct push *u)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct stat st;
	int status;

	buf_clear(&u->profile);
	buf_clear(&u->dump);
	u->until = live_now() / SECOND;
	if (u->path) {
		if (strcmp(u->path, "-") != 0 && !stat(u->path, &st))
			u->until = st.st_mtime;
		status = heap_options_read(&u->dump, u->path, &err) ? say(u, u->path, &err)
								    : convert(u, u->path, &u->dump);
	} else if (pyroscope.format == PYROSCOPE_PPROF && !every) {
		status = agents_ask(&u->agent, "GET", "/debug/pprof/heap", TIMEOUT_MS, &u->profile,
				    &err)
				 ? say(u, u->agent.address, &err)
				 : 0;
	} else {
		status = heap_options_ask(&u->dump, &u->agent, &err)
				 ? say(u, u->agent.address, &err)
				 : convert(u, u->agent.address, &u->dump);
	}
	return status;
}

static int send_one(struct push *u)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = fetch(u);
	struct buf other;

	if (!status && pyroscope_send(&pyroscope, &u->profile, u->from ? u->from : u->until - SPAN,
				      u->until, TIMEOUT_MS, &err))
		status = say(u, to, &err);
	if (status) {
		u->failed++;
		u->failed_now++;
		return 1;
	}
	if (u->failed_now)
		fprintf(stderr, NAME ": it works again; %" PRIu64 " were lost\n", u->failed_now);
	u->failed_now = 0;
	u->sent++;
	u->from = u->until;
	other = u->before;
	u->before = u->dump;
	u->dump = other;
	return 0;
}

static int repeat(struct push *u, uint64_t interval_ns)
{
	struct ticks clock;
	struct err err;

	if (ticks_init(&clock, interval_ns, false, &err))
		return say_failed(NAME, NULL, &err);
	while (!clock.stop && (!count || u->sent + u->failed < count))
		if (ticks_wait(&clock, -1))
			send_one(u);
	ticks_release(&clock);
	printf("%" PRIu64 " profiles sent, %" PRIu64 " failed\n", u->sent, u->failed);
	return u->failed ? 1 : 0;
}

/* What was meant: a process, an address, or a file.  0, or the exit status. */
static int find_source(struct push *u, const char *word)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!heap_options_is_agent(word)) {
		u->path = word;
		return 0;
	}
	if (agents_find(word, &u->agent, &err))
		return say_failed(NAME, NULL, &err);
	if (!*pyroscope.name)
		pyroscope_name(&pyroscope,
			       *u->agent.program ? path_base(u->agent.program) : "unknown", &err);
	return 0;
}

static const char *wrong_usage(int argc, uint64_t *interval_ns, struct err *err)
{
	if (argc != 1)
		return "of what? A process with an agent, its address, or a dump";
	if (!to)
		return "--to says where";
	if (format && !strcmp(format, "folded"))
		pyroscope.format = PYROSCOPE_FOLDED;
	if (push_api && pyroscope.format == PYROSCOPE_FOLDED)
		return "--push-api takes pprof only";
	if (every && !ticks_interval(every, interval_ns))
		return "--every takes a time: 10s, 1m";
	if (count && !every)
		return "--count is for --every";
	pyroscope.push_api = push_api;
	if (pyroscope_server(&pyroscope, to, err) ||
	    (name && pyroscope_name(&pyroscope, name, err)))
		return err->text;
	return NULL;
}

static int run_jemalloc_push(int argc, char **argv)
{
	struct push u = { 0 };
	struct err err = { .text = "" };
	uint64_t interval_ns = 0;
	const char *what = wrong_usage(argc, &interval_ns, &err);
	int status;

	if (what)
		return say_wrong(NAME, "%s", what);
	status = find_source(&u, argv[0]);
	if (!status)
		status = every ? repeat(&u, interval_ns) : send_one(&u);
	buf_release(&u.profile);
	buf_release(&u.dump);
	buf_release(&u.before);
	return status;
}

const struct command command_jemalloc_push = {
	.name = "jemalloc push",
	.args = "PID | ADDRESS | DUMP",
	.help = "heap profiles to Pyroscope",
	.examples =
		"  memoir jemalloc push --to http://pyroscope:4040 --every 10s 1234\n"
		"  memoir jemalloc push --to http://pyroscope:4040 --name app -l zone=a out.heap\n"
		"  memoir jemalloc push --to http://pyroscope:4040 --push-api 1234\n",
	.options = options,
	.more_options = heap_options_rows,
	.shared = OF_PUSH,
	.run = run_jemalloc_push,
};
