/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet push: sends recordings, heap profiles and jemalloc's statistics to a fleet, from
 * files, or from running programs at intervals.  What is there already is not sent again; what
 * cannot be sent waits on the disk for the next push. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "answer/folder.h"
#include "answer/kind.h"
#include "base/buf_text.h"
#include "base/path.h"
#include "base/xalloc.h"
#include "cli/fleet/fleet_options.h"
#include "cli/fleet/sending.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/open.h"
#include "cli/say.h"
#include "cli/ticks.h"
#include "fleet/pack.h"
#include "jemalloc/snapshots.h"
#include "recording/reader.h"

#define NAME "memoir fleet push"
#define NS 1000000000u

static const char *every;
static uint64_t count;
static bool quiet;

static const struct command_option options[] = {
	FLEET_ROW,
	FLEET_SENDING_ROWS,
	VALUE("every", 0, "TIME", "of running programs: again and again: 30s, 1m", &every),
	VALUE("count", 'n', "N", "with --every: so many times", &count),
	FLAG("quiet", 'q', "say only what is wrong", &quiet),
	{ 0 },
};

/* What is known of a profile or of statistics besides themselves. */
struct origin_of_file {
	char host[256], id[40], file[PATH_MAX];
	char *service;
	struct pack_facts facts;
};

/* Where it is found from any folder; what is no file is called as it was. */
static void find_path(char ret_path[PATH_MAX], const char *path)
{
	if (!realpath(path, ret_path))
		snprintf(ret_path, PATH_MAX, "%s", path);
}

static void describe(struct origin_of_file *o, const struct sending *s, const char *program,
		     uint64_t number, uint64_t second, const char *path)
{
	gethostname(o->host, sizeof(o->host) - 1);
	o->host[sizeof(o->host) - 1] = 0;
	find_path(o->file, path);
	snprintf(o->id, sizeof(o->id), "%016llx%016llx", (unsigned long long)number, 0ull);
	o->facts = (struct pack_facts){
		.id = o->id,
		.service = *s->settings.service ? s->settings.service : path_base(program),
		.host = o->host,
		.release = s->settings.release,
		.command = program,
		.file = o->file,
		.settings = &s->settings,
		.started = second,
		.ended = second,
	};
}

/* What need not be read: a recording that is written yet is sent when it is whole, and what was
 * sent is not sent again. */
static bool is_done_with(struct sending *s, const char *path, bool member, int *ret_status)
{
	auto_release(reader_release) struct reader r = { .fd = -1 };
	struct err err;

	*ret_status = 0;
	if (reader_open(&r, path, &err))
		return false; /* who reads it says why */
	if (r.trailer || !reader_is_being_written(&r))
		return sending_knows(s, pack_number(r.header.id), path);
	if (!member)
		fprintf(stderr, NAME ": %s: still being written; it is sent once it is whole\n",
			path);
	else if (!s->quiet)
		printf("%s: still being written\n", path);
	*ret_status = member ? 0 : STATUS_FAILED;
	return true;
}

/* `member`: of a folder. */
static int push_recording(struct sending *s, char *path, bool member)
{
	auto_release(parcel_release) struct parcel p = { 0 };
	struct open_options how = { .quiet = true };
	struct snapshot *snapshot;
	struct held_view *held;
	char file[PATH_MAX];
	struct err err;
	int status, sent;

	if (is_done_with(s, path, member, &status))
		return status;
	snapshot = open_snapshot("fleet push", path, &how, &status);
	if (!snapshot)
		return status;
	locations_resolve_all(snapshot->locations);
	held = views_take(&snapshot->views, snapshot->model, snapshot->locations, NULL, &err);
	find_path(file, path);
	pack_recording(&p, held->view, file, &s->settings, s->facts.step);
	views_give(&snapshot->views, held);
	snapshot_drop(snapshot);
	sent = sending_parcel(s, &p, path);
	return sent ? sent : status;
}

/* A program that is asked at intervals: all its profiles are one recording. */
struct watched {
	int pid;
	uint64_t begun;	 /* second */
	uint32_t bucket; /* of the last one */
	uint64_t peak_bytes, peak_count;
};
#define BUCKETS_MISSED 30 /* at most, that the next profile stands for */

static void raise_peak(struct watched *w, const struct dump_amounts *now, struct pack_facts *facts)
{
	if (now->bytes > (double)w->peak_bytes) {
		w->peak_bytes = (uint64_t)now->bytes;
		w->peak_count = (uint64_t)now->objects;
	}
	facts->started = w->begun;
	facts->peak_bytes = w->peak_bytes;
	facts->peak_count = w->peak_count;
}

/* The first bucket that a profile speaks for. */
static uint32_t next_bucket(struct watched *w, uint64_t bucket)
{
	uint32_t now = (uint32_t)bucket, last = w->bucket;

	w->bucket = now;
	return last && now > last && now - last <= BUCKETS_MISSED ? last + 1 : now;
}

/* `part` tells the profiles of one process apart; 0: it is a file's, and the only one, and nothing
 * is watched. */
static int push_profile(struct sending *s, const char *path, const struct buf *dump,
			const char *program, uint64_t number, uint64_t part, uint64_t second,
			struct watched *w)
{
	struct heap_locations_options where =
		heap_options_locations(NAME, heap_options.program, &path, part == 0);
	struct profile_options how = { .thread = PROFILE_ALL_THREADS };
	auto_release(profile_release) struct profile profile = { 0 };
	auto_release(parcel_release) struct parcel p = { .recording = number, .part = part };
	auto_free struct origin_of_file *o = xcalloc(1, sizeof(*o));
	struct err err = { .offset = ERR_NO_OFFSET };
	int status;

	profile_init(&profile, &how, &where);
	status = heap_options_take(&profile, NAME, path, dump, 1);
	if (!status && profile_finish(&profile, &err))
		status = say_failed(NAME, path, &err);
	if (status)
		return status;
	if (!program || !*program)
		program = profile.locations.main_module != HEAP_NO_MODULE
				  ? profile.locations.modules[profile.locations.main_module].path
				  : "unknown";
	describe(o, s, program, number, second, path);
	if (w)
		raise_peak(w, &profile.total, &o->facts);
	pack_heap(&p, &profile, &o->facts, w ? next_bucket(w, second / s->facts.step) : 0,
		  s->facts.step);
	return sending_parcel(s, &p, path);
}

static uint64_t number_of(const struct buf *content)
{
	return XXH3_64bits(content->data, content->size);
}

static uint64_t changed_at(const char *path)
{
	struct stat st;

	return stat(path, &st) ? (uint64_t)time(NULL) : (uint64_t)st.st_mtime;
}

static int push_dump(struct sending *s, char *path)
{
	auto_buf struct buf dump = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };

	if (heap_options_read(&dump, path, &err))
		return say_failed(NAME, path, &err);
	return push_profile(s, path, &dump, NULL, number_of(&dump), 0, changed_at(path), NULL);
}

/* All snapshots of a file, each at its own time; those that have none, at the file's. */
static int push_statistics(struct sending *s, char *path)
{
	auto_release(snapshots_close) struct snapshots r = { 0 };
	auto_release(parcel_release) struct parcel p = { 0 };
	auto_free struct origin_of_file *o = xcalloc(1, sizeof(*o));
	auto_buf struct buf content = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t otherwise = changed_at(path);

	if (heap_options_read(&content, path, &err) || snapshots_open(&r, path, &err))
		return say_failed(NAME, path, &err);
	p.recording = number_of(&content);
	describe(o, s, "jemalloc", p.recording, otherwise, path);
	o->facts.kind = "statistics";
	pack_facts(&p, &o->facts);
	while (snapshots_next(&r, &err) == 1)
		pack_statistics(&p, &r.stats,
				r.time_ns == WHEN_NONE ? otherwise : (uint64_t)(r.time_ns / NS));
	if (!r.documents)
		return say_failed(NAME, path, &err);
	return sending_parcel(s, &p, path);
}

static int push_file(struct sending *s, char *path, bool member);

static int push_folder(struct sending *s, const char *path)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct folder *f = folder_read(path, &err);
	int status = 0;

	if (!f)
		return say_failed(NAME, path, &err);
	for (size_t i = 0; i < f->count; i++) {
		auto_free char *member = folder_path(f, i);
		int one = push_file(s, member, true);

		status = status ? status : one;
	}
	folder_free(f);
	return status;
}

static int push_file(struct sending *s, char *path, bool member)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const struct kind *kind;
	char id[ID_SIZE];
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return push_folder(s, path);
	kind = kind_of(path, true, id, &err);
	if (kind == &kind_heap)
		return push_dump(s, path);
	if (kind == &kind_statistics)
		return push_statistics(s, path);
	return push_recording(s, path, member); /* which says what is wrong, too */
}

/* A running program's heap profile now. */
static int push_agent(struct sending *s, const char *word, struct watched *w)
{
	auto_free struct agents_entry *agent = xcalloc(1, sizeof(*agent));
	auto_buf struct buf dump = { 0 }, key = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct timespec now;
	char host[256] = "";

	if (agents_find(word, agent, &err))
		return say_failed(NAME, word, &err);
	/* A bucket has one moment: two profiles in it would count twice. */
	clock_gettime(CLOCK_REALTIME, &now);
	if (w->pid == agent->pid && w->bucket == (uint64_t)now.tv_sec / s->facts.step)
		return 0;
	if (heap_options_ask(&dump, agent, &err))
		return say_failed(NAME, word, &err);
	gethostname(host, sizeof(host) - 1);
	if (w->pid != agent->pid)
		*w = (struct watched){ .pid = agent->pid, .begun = (uint64_t)now.tv_sec };
	buf_printf(&key, "%s %s %d %llu", host, agent->address, agent->pid,
		   (unsigned long long)w->begun);
	return push_profile(s, agent->address, &dump, agent->program, number_of(&key),
			    (uint64_t)now.tv_sec * NS + (uint64_t)now.tv_nsec, (uint64_t)now.tv_sec,
			    w);
}

static int push_all(struct sending *s, int argc, char **argv, struct watched *w)
{
	int status = 0;

	for (int i = 0; i < argc; i++) {
		int one = heap_options_is_agent(argv[i]) ? push_agent(s, argv[i], &w[i])
							 : push_file(s, argv[i], false);

		status = status ? status : one;
	}
	return status;
}

/* A program that does not answer, or a server, is asked again the next time. */
static int push_again(struct sending *s, uint64_t interval, int argc, char **argv,
		      struct watched *w)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	uint64_t done = 0;
	struct ticks clock;
	int status = 0;

	if (ticks_init(&clock, interval, false, &err))
		return say_failed(NAME, NULL, &err);
	while (!clock.stop && (!count || done < count))
		if (ticks_wait(&clock, -1)) {
			sending_again(s);
			status = push_all(s, argc, argv, w);
			sending_forget(s);
			done++;
		}
	ticks_release(&clock);
	return status;
}

static int run_fleet_push(int argc, char **argv)
{
	auto_free struct sending *s = xcalloc(1, sizeof(*s));
	auto_free struct watched *watched = xcalloc((size_t)argc + 1, sizeof(*watched));
	uint64_t interval = 0;
	int status, last;

	if (every && !ticks_interval(every, &interval))
		return say_wrong(NAME, "--every takes a time: 30s, 1m");
	if (count && !every)
		return say_wrong(NAME, "--count is for --every");
	for (int i = 0; every && i < argc; i++)
		if (!heap_options_is_agent(argv[i]))
			return say_wrong(NAME,
					 "--every is for running programs, which %s is none "
					 "of",
					 argv[i]);
	s->quiet = quiet;
	status = sending_open(s, "fleet push");
	if (status)
		return status;
	status = every ? push_again(s, interval, argc, argv, watched)
		       : push_all(s, argc, argv, watched);
	last = sending_close(s);
	return status ? status : last;
}

const struct command command_fleet_push = {
	.name = "fleet push",
	.args = "[FILE|FOLDER|AGENT…]",
	.help = "send recordings, heap profiles and jemalloc's statistics to a fleet",
	.examples =
		"  memoir fleet push --service shop --release 4.2 -l zone=eu app.dat\n"
		"  memoir fleet push --every 1m unix:/run/app.sock    heap profiles of a running\n"
		"                                                     program\n"
		"  memoir fleet push                                  only what waits on the "
		"disk\n",
	.options = options,
	.run = run_fleet_push,
};
