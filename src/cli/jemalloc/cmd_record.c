/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc record: statistics of a running process at fixed intervals, into a file.
 *
 * Each answer is read before it is written: what is in the file is whole and can be read again.  In
 * front of each is a line with the time, which the readers take from there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/cache_dir.h"
#include "base/human.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/fleet/push_after.h"
#include "cli/jemalloc/live.h"
#include "cli/say.h"
#include "cli/ticks.h"
#include "jemalloc/journal.h"
#include "jemalloc/snapshots.h"

#define NAME "memoir jemalloc record"
#define FAILURES_MAX 3 /* in a row: nobody is there any more */

static const char *output, *interval_word = "1", *rotate_word, *fleet_url;
static uint64_t count, keep;
static bool quiet;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE", "write there (jemalloc-DATE.log); - is standard output",
	      &output),
	VALUE("interval", 'i', "TIME", "so often (1s): 0.5, 500ms, 10s, 5m", &interval_word),
	VALUE("count", 'n', "N", "end after so many", &count),
	VALUE("rotate", 0, "SIZE", "begin another file when this one is so large: 100M",
	      &rotate_word),
	VALUE("keep", 0, "N", "so many full files (all)", &keep),
	VALUE("fleet", 0, "URL", "memoir fleet push each file there once it is full, or ends",
	      &fleet_url),
	FLAG("quiet", 'q', "say nothing at the end", &quiet),
	LIVE_OPTIONS,
	{ 0 },
};

struct record_command {
	struct fetch fetch;
	struct journal journal;
	struct ticks clock;
	struct buf body, record;
	uint64_t taken, failures, in_a_row;
};

/* What is in an answer, in the words of a message; NULL: at least one snapshot, and all are whole.
 */
static const char *wrong(const struct buf *body, struct err *err)
{
	auto_release(snapshots_close) struct snapshots r = { 0 };
	const char *what = NULL;
	int n;

	snapshots_memory(&r, body->data, body->size);
	while ((n = snapshots_next(&r, err)) == 1)
		;
	if (n)
		what = err->text;
	else if (!r.documents)
		what = snapshots_guess(&r);
	return what;
}

/* Nobody waits for what is full to be sent. */
static void push_rotated(const struct record_command *r)
{
	auto_free char *path = xasprintf("%s.1", r->journal.path);

	push_after(fleet_url, path, true, false);
}

/* With a fleet, what was in the file before is another one, so that nothing is sent twice; who
 * wrote it may have been killed before it was sent. */
static int begin_anew(struct record_command *r, struct err *err)
{
	int error = journal_rotate(&r->journal, err);

	if (!error)
		push_rotated(r);
	r->journal.rotations = 0;
	return error;
}

/* 0, or the exit status when there is no point in going on. */
static int record_snapshot(struct record_command *r)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int64_t time = live_now();
	unsigned rotations = r->journal.rotations;
	const char *what;
	char text[40];

	what = fetch_once(&r->fetch, &r->body, &err) ? err.text : wrong(&r->body, &err);
	if (what) {
		fprintf(stderr, NAME ": %s: %s\n", r->fetch.name, what);
		r->failures++;
		return !r->taken || ++r->in_a_row == FAILURES_MAX;
	}
	r->in_a_row = 0;
	buf_clear(&r->record);
	buf_printf(&r->record, "--- %s %s\n", when_text(time, text), r->fetch.name);
	buf_add(&r->record, r->body.data, r->body.size);
	if (r->record.data[r->record.size - 1] != '\n')
		buf_char(&r->record, '\n');
	if (journal_add(&r->journal, &r->record, &err))
		return say_failed(NAME, NULL, &err);
	if (fleet_url && r->journal.rotations > rotations)
		push_rotated(r);
	r->taken++;
	return 0;
}

static void say_end(const struct record_command *r)
{
	if (quiet || !strcmp(r->journal.path, "-"))
		return;
	fprintf(stderr, NAME ": %s: %s snapshots", r->journal.path, count_text(r->taken));
	if (r->journal.rotations)
		fprintf(stderr, ", the older ones in %s.1 …", r->journal.path);
	if (r->clock.missed)
		fprintf(stderr, "; %s left out, since the answer took longer than the interval",
			count_text(r->clock.missed));
	fprintf(stderr, "\n  memoir jemalloc stats %s\n", r->journal.path);
}

static const char *wrong_usage(uint64_t *interval, uint64_t *limit)
{
	if (!ticks_interval(interval_word, interval))
		return "--interval is a time of 1 ms or more: 0.5, 500ms, 10s, 5m";
	if (rotate_word && (!cache_parse_size(rotate_word, limit) || !*limit))
		return "--rotate is a size: 100M, 1G";
	if (fleet_url && output && !strcmp(output, "-"))
		return "--fleet sends a file: -o FILE";
	if (keep && !rotate_word)
		return "--keep is for --rotate";
	return keep > 100000 ? "--keep is at most 100000" : NULL;
}

static int run_jemalloc_record(int argc, char **argv)
{
	uint64_t interval = 0, limit = 0;
	const char *what = wrong_usage(&interval, &limit);
	struct record_command r = { .taken = 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	char name[64];
	time_t now = time(NULL);
	int status;

	if (what)
		return say_wrong(NAME, "%s", what);
	status = live_fetch(&r.fetch, NAME, argc, argv);
	if (status)
		return status;
	strftime(name, sizeof(name), "jemalloc-%Y%m%d-%H%M%S.log", localtime(&now));
	if (ticks_init(&r.clock, interval, false, &err) ||
	    journal_open(&r.journal, output ? output : name, limit, (unsigned)keep, &err) ||
	    (fleet_url && r.journal.size && begin_anew(&r, &err)))
		return say_failed(NAME, NULL, &err);
	while (!status && !r.clock.stop && (!count || r.taken < count))
		if (ticks_wait(&r.clock, -1))
			status = record_snapshot(&r);
	if (journal_close(&r.journal, &err))
		status = say_failed(NAME, NULL, &err);
	if (r.taken)
		say_end(&r);
	else if (!output)
		unlink(name);
	if (fleet_url && r.taken)
		push_after(fleet_url, r.journal.path, quiet, true);
	ticks_release(&r.clock);
	buf_release(&r.body);
	buf_release(&r.record);
	return status || r.failures ? 1 : 0;
}

const struct command command_jemalloc_record = {
	.name = "jemalloc record",
	.args = "ADDRESS | COMMAND [ARGUMENT…]",
	.help = "a running process's statistics, at intervals",
	.examples = "  memoir jemalloc record -o app.log http://localhost:7000/stats\n"
		    "  memoir jemalloc record -i 10 --rotate 100M --keep 5 -o app.log --pid 1234\n"
		    "  memoir jemalloc record -i 600 -o app.log.zst -- curl -s http://host/stats\n",
	.options = options,
	.begins_command = live_begins_command,
	.run = run_jemalloc_record,
};
