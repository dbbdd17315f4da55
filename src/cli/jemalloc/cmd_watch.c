/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc watch: a running process's jemalloc on the screen, and what grows in it.
 *
 * One thread: it waits for the next tick, a key or a signal, whichever comes first.  Statistics
 * come from an agent, a command or a pid; or from a file that somebody else writes to, which is
 * followed.  The terminal is put back as it was however it ends. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/jemalloc/live.h"
#include "cli/jemalloc/stats_input.h"
#include "cli/jemalloc/watch_view.h"
#include "cli/say.h"
#include "cli/screen.h"
#include "cli/ticks.h"
#include "jemalloc/merge.h"
#include "jemalloc/snapshots.h"
#include "jemalloc/stats_write.h"

#define NAME "memoir jemalloc watch"
#define WINDOW 120  /* snapshots that growth is measured over */
#define SAMPLES 5   /* that --once waits for */
#define PATIENCE 60 /* ticks without a new snapshot until --once is content with what there is */
#define FAILURES_MAX 10
#define TIMEOUT_MS 5000 /* keys wait so long at most */

static bool once, as_json;
static const char *interval_word = "1", *sort_word, *color;
static uint64_t samples = SAMPLES;

static const struct command_option options[] = {
	VALUE("interval", 'i', "TIME", "so often (1s): 0.5, 500ms, 10s", &interval_word),
	WORD("sort", 's', "WHAT", "size, growth or free", &sort_word),
	FLAG("once", 0, "print one screen, after a few snapshots, and end", &once),
	VALUE("samples", 'n', "N", "so many snapshots for --once (5)", &samples),
	FLAG("json", 0, "with --once: print JSON", &as_json),
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	LIVE_OPTIONS,
	{ 0 },
};

struct watching {
	struct fetch fetch;
	const char *file; /* followed instead of asking */
	struct snapshots follow;
	bool following;
	ino_t inode;
	struct stats last;
	struct growth classes, arenas;
	struct watch_view view;
	struct ticks clock;
	struct term term;
	struct buf body;
	struct err err;
	unsigned failures; /* in a row */
};

static void add_snapshot(struct watching *w, struct snapshots *r, int64_t time_ns)
{
	stats_input_keep_last(&w->last, r);
	w->view.stats = &w->last;
	w->view.time_ns = time_ns;
	w->view.snapshots++;
	/* When an answer was made, the process's own age says better than when it was asked for. */
	if (!w->file && stats_uptime(&w->last) < STATS_NONE)
		time_ns = WHEN_NONE;
	growth_add(&w->classes, &w->last, stats_merge(&w->last), time_ns);
	growth_add_arenas(&w->arenas, &w->last, time_ns);
}

/* All snapshots of an answer.  True: there was one. */
static bool ask(struct watching *w)
{
	int64_t time = live_now();
	struct snapshots r;
	bool any = false;
	int n;

	if (fetch_once(&w->fetch, &w->body, &w->err))
		return false;
	snapshots_memory(&r, w->body.data, w->body.size);
	while ((n = snapshots_next(&r, &w->err)) == 1) {
		add_snapshot(w, &r, time);
		any = true;
	}
	if (!n && !any)
		err_set(&w->err, -ENODATA, "%s", snapshots_guess(&r));
	snapshots_close(&r);
	return any && !n;
}

/* A file that was cut or replaced begins anew. */
static bool reopen(struct watching *w)
{
	struct stat st;
	bool there = !stat(w->file, &st);

	if (w->following && there && st.st_ino == w->inode &&
	    (uint64_t)st.st_size >= w->follow.in.taken)
		return true;
	if (!there && w->following) /* between two names */
		return true;
	if (w->following)
		snapshots_close(&w->follow);
	w->following = !snapshots_open(&w->follow, w->file, &w->err);
	w->follow.follow = true;
	if (w->following && !fstat(w->follow.in.fd, &st))
		w->inode = st.st_ino;
	if (!w->following)
		snapshots_close(&w->follow);
	return w->following;
}

static bool read_on(struct watching *w)
{
	bool any = false;
	int n;

	if (!reopen(w))
		return false;
	while ((n = snapshots_next(&w->follow, &w->err)) == 1 || n == -EBADMSG)
		if (n == 1) {
			add_snapshot(w, &w->follow, w->follow.time_ns);
			any = true;
		}
	if (!n && !any)
		w->err.text[0] = 0; /* nothing new is nothing wrong */
	return any;
}

static void one_tick(struct watching *w)
{
	w->err.text[0] = 0;
	if (w->file ? read_on(w) : ask(w)) {
		w->failures = 0;
		w->view.wrong = NULL;
		return;
	}
	w->failures++;
	w->view.wrong = *w->err.text ? w->err.text : NULL;
}

static void draw(struct watching *w)
{
	auto_buf struct buf lines = { 0 };
	unsigned width, height;

	screen_size(&width, &height);
	watch_view_draw(&lines, &w->view, &w->term, width, height);
	w->clock.stop |= screen_show(&lines) != 0;
}

static void keys(struct watching *w)
{
	int typed[32];
	size_t n = screen_keys(typed, sizeof(typed) / sizeof(*typed));

	for (size_t i = 0; i < n; i++) {
		switch (typed[i]) {
		case 'q':
		case 'Q':
		case KEY_CONTROL('c'):
		case KEY_CONTROL('d'):
		case KEY_END_OF_INPUT:
			w->clock.stop = true;
			break;
		case KEY_CONTROL('z'):
			screen_suspend();
			break;
		case 's':
			w->view.sort = LIVE_BY_SIZE;
			break;
		case 'g':
			w->view.sort = LIVE_BY_GROWTH;
			break;
		case 'f':
			w->view.sort = LIVE_BY_FREE;
			break;
		case 'p':
		case ' ':
			w->view.paused = !w->view.paused;
			break;
		default:
			break;
		}
	}
}

static int full_screen(struct watching *w)
{
	bool lost = false;

	w->clock.stop |= screen_enter() != 0;
	draw(w);
	while (!w->clock.stop && !lost) {
		if (ticks_wait(&w->clock, 0)) {
			if (!w->view.paused)
				one_tick(w);
			lost = !w->file && w->failures >= FAILURES_MAX;
		} else if (w->clock.key) {
			keys(w);
		} else if (w->clock.suspend) {
			screen_suspend();
		} else if (w->clock.continued) {
			screen_retake();
		}
		draw(w);
	}
	screen_leave();
	if (lost)
		fprintf(stderr, NAME ": %s: %s\n", w->view.source, w->err.text);
	return lost;
}

static void print_json(struct watching *w, struct buf *out)
{
	struct json j = { .out = out };

	json_object(&j, NULL);
	JSON_MEMBERS(&j, &w->view, source, snapshots);
	growth_write(&j, "growth", &w->classes);
	growth_write(&j, "arena_growth", &w->arenas);
	stats_write(&j, "snapshot", &w->last,
		    &(struct stats_origin){ w->view.source, 0, w->view.time_ns });
	json_end_object(&j);
}

/* Enough to see what grows; of a file, what is there may be enough. */
static int print_once(struct watching *w)
{
	auto_buf struct buf out = { 0 };
	int status = 0;

	while (!w->clock.stop && w->classes.sample_count < samples) {
		if (!ticks_wait(&w->clock, -1))
			continue;
		one_tick(w);
		if (w->failures && (!w->file || *w->err.text) && !w->view.snapshots)
			break;
		if (w->failures >= (w->file ? PATIENCE : FAILURES_MAX))
			break;
	}
	if (!w->view.snapshots) {
		fprintf(stderr, NAME ": %s: %s\n", w->view.source,
			*w->err.text ? w->err.text : "no snapshot came");
		return 1;
	}
	if (w->view.wrong) {
		fprintf(stderr, NAME ": %s: %s\n", w->view.source, w->view.wrong);
		status = 1;
	}
	if (as_json)
		print_json(w, &out);
	else
		watch_view_draw(&out, &w->view, &w->term, w->term.wide, 0);
	if (!as_json)
		buf_char(&out, '\n');
	if (buf_flush(&out, 1))
		status = 1;
	return status;
}

static const char *wrong_usage(struct watching *w, uint64_t *interval)
{
	if (!ticks_interval(interval_word, interval))
		return "--interval is a time of 1 ms or more: 0.5, 500ms, 10s, 5m";
	if (as_json && !once)
		return "--json is for --once";
	if (samples < 1 || samples > WINDOW)
		return "--samples is 1 to 120";
	term_init(&w->term, 1, color);
	for (unsigned i = 0; sort_word && i < LIVE_SORT_COUNT; i++)
		if (!strcmp(sort_word, live_sorts[i]))
			w->view.sort = (enum live_sort)i;
	if (!once && (!isatty(1) || !isatty(0)))
		return "this needs a terminal; --once prints one screen without";
	return NULL;
}

static int run_jemalloc_watch(int argc, char **argv)
{
	struct watching w = { .view.time_ns = WHEN_NONE };
	uint64_t interval = 0;
	const char *what = wrong_usage(&w, &interval);
	int status = what ? say_wrong(NAME, "%s", what) : 0;

	if (!status && live_is_file(argc, argv))
		w.file = argv[0];
	else if (!status)
		status = live_fetch(&w.fetch, NAME, argc, argv);
	if (status)
		return status;
	w.fetch.timeout_ms = TIMEOUT_MS;
	w.view.source = w.file ? w.file : w.fetch.name;
	w.view.interval_ns = interval;
	w.view.classes = &w.classes;
	w.view.arenas = &w.arenas;
	w.classes.moving = w.arenas.moving = true;
	w.classes.limit = w.arenas.limit = WINDOW;
	if (w.file && access(w.file, R_OK)) {
		fprintf(stderr, NAME ": %s: %s\n", w.file, strerror(errno));
		return 1;
	}
	if (ticks_init(&w.clock, interval, !once, &w.err))
		return say_failed(NAME, NULL, &w.err);
	stats_init(&w.last);
	status = once ? print_once(&w) : full_screen(&w);
	if (w.following)
		snapshots_close(&w.follow);
	stats_release(&w.last);
	growth_release(&w.classes);
	growth_release(&w.arenas);
	ticks_release(&w.clock);
	buf_release(&w.body);
	return status;
}

const struct command command_jemalloc_watch = {
	.name = "jemalloc watch",
	.args = "ADDRESS | FILE | COMMAND ARGUMENT…",
	.help = "a running process on the screen; what grows",
	.examples = "  memoir jemalloc watch http://localhost:7000/stats\n"
		    "  memoir jemalloc watch --pid 1234\n"
		    "  memoir jemalloc watch app.log             a file that is being written\n"
		    "  memoir jemalloc watch --once --json app.log\n",
	.options = options,
	.begins_command = live_begins_command,
	.run = run_jemalloc_watch,
};
