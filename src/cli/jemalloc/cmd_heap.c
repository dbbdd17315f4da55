/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc heap: who holds the memory of a heap profile dump; what jeprof is asked for.
 *
 * Reports are rows of heap/report.h, each an option of its name. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/path.h"
#include "base/sink.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/say.h"
#include "heap/report.h"
#include "heap/symbolize.h"
#include "symbols/elf_file.h"

#define NAME "memoir jemalloc heap"
#define SOURCES_MAX 64

static bool by_files, by_addresses, by_functions, show_bytes, drop_negative, whole;
static const char *base_path, *thread_word, *output, *about_word, *retain_word, *exclude_word;
static uint64_t seconds, top_rows = UINT64_MAX, node_count = 80, max_degree = 8;
static double node_fraction = .005, edge_fraction = .001;
static const char *source_roots[SOURCES_MAX];
static size_t source_root_count;
static bool symbols;
static const struct heap_report *report, *form;

static const char *add_source_root(const struct command_option *row, const char *value)
{
	if (source_root_count == SOURCES_MAX)
		return "too many of them";
	source_roots[source_root_count++] = value;
	return NULL;
}

static const char *set_fraction(const struct command_option *row, const char *value)
{
	char *end;
	double given = strtod(value, &end);

	if (end == value || *end || !(given >= 0 && given <= 1))
		return "it is a number from 0 to 1";
	*(double *)row->target = given;
	return NULL;
}

static const char *set_report(const struct command_option *row, const char *value)
{
	const struct heap_report *given = row->context;
	const struct heap_report **to = given->form == HEAP_TEXT ? &report : &form;

	if (*to && *to != given)
		return "one report at a time";
	*to = given;
	if (to == &form)
		return NULL;
	about_word = value;
	return NULL;
}

static const struct command_option options[] = {
	FLAG("functions", 0, "a row for each function (this is what is done)", &by_functions),
	FLAG("files", 0, "a row for each source file", &by_files),
	FLAG("addresses", 0, "a row for each address", &by_addresses),
	FLAG("show_bytes", 0, "bytes instead of megabytes", &show_bytes),
	FLAG("whole", 0, "round each stack's estimate: sums are then those of go tool pprof",
	     &whole),
	VALUE("base", 0, "DUMP", "show what was added since this dump", &base_path),
	VALUE("seconds", 's', "N", "of an agent: show what was added in so many seconds", &seconds),
	FLAG("drop_negative", 0, "with --base: leave out what became less", &drop_negative),
	VALUE("thread", 0, "N", "only what this thread allocated", &thread_word),
	VALUE("retain", 0, "REGEX", "only such frames of each stack", &retain_word),
	VALUE("exclude", 0, "REGEX", "no such frames; stacks close up", &exclude_word),
	VALUE("nodecount", 0, "N", "functions of a graph at most (80)", &node_count),
	{ "nodefraction", 0, "F", "leave functions below this share out (.005)", COMMAND_CALL,
	  &node_fraction, set_fraction },
	{ "edgefraction", 0, "F", "leave calls below this share out (.001)", COMMAND_CALL,
	  &edge_fraction, set_fraction },
	VALUE("maxdegree", 0, "N", "calls of one function in a graph at most (8)", &max_degree),
	CALL("source", 0, "[FROM=]FOLDER", "where sources are; may be repeated", add_source_root),
	FLAG("symbols", 0, "no dump: name the addresses on standard input, which has maps, too",
	     &symbols),
	VALUE("top", 'n', "N", "rows at most", &top_rows),
	AGENT_TOKEN_ROWS,
	VALUE("output", 'o', "FILE", "write to this file (- or none: standard output)", &output),
	{ 0 },
};

/* Those that commands about dumps share, and a row for each report. */
static const struct command_option *more_options(unsigned shared)
{
	static struct command_option rows[64];
	size_t n = 0;

	for (const struct command_option *o = heap_options_rows(shared); o->name && n < 32; o++)
		rows[n++] = *o;
	for (const struct heap_report *const *r = heap_reports; *r && n + 1 < 64; r++)
		rows[n++] = (struct command_option){ .name = (*r)->name,
						     .argument = (*r)->argument,
						     .help = (*r)->help,
						     .type = COMMAND_CALL,
						     .set = set_report,
						     .context = *r };
	return rows;
}

/* What the user's words mean; false after saying what is wrong. */
struct heap_question {
	struct profile_options profile;
	struct heap_locations_options where;
	struct source_options sources;
	struct heap_report_options report;
};

static bool understand(struct heap_question *q)
{
	bool patterns = heap_options_profile(NAME, &q->profile);

	if (by_addresses)
		q->profile.detail = PROFILE_ADDRESSES;
	else if (by_files && !heap_options.lines)
		q->profile.detail = PROFILE_FILES;
	q->profile.drop_negative = drop_negative;
	q->profile.by_thread = report->by_thread;
	q->profile.whole = whole || report->by_thread;
	q->sources =
		(struct source_options){ source_roots, source_root_count, heap_options.sysroot };
	q->report = (struct heap_report_options){ .measure = q->profile.measure,
						  .by_cum = heap_options.cum,
						  .show_bytes = show_bytes,
						  .rows = top_rows,
						  .form = form ? form->form : HEAP_TEXT,
						  .sources = &q->sources,
						  .node_fraction = node_fraction,
						  .edge_fraction = edge_fraction,
						  .node_count = node_count,
						  .max_degree = max_degree };
	if (thread_word && strcmp(thread_word, "*")) {
		char *end;

		q->profile.thread = strtoull(thread_word, &end, 10);
		if (!*thread_word || *end) {
			say_wrong(NAME, "--thread takes a number of the dump, or *");
			return false;
		}
	}
	return patterns && heap_options_pattern(NAME, "retain", retain_word, &q->profile.retain) &&
	       heap_options_pattern(NAME, "exclude", exclude_word, &q->profile.exclude) &&
	       heap_options_pattern(NAME, report->name, about_word, &q->report.about);
}

static int write_out(const struct profile *p, const struct heap_report_options *o)
{
	enum sink_codec codec = report->gzip ? SINK_GZIP : SINK_PLAIN;
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink sink;
	int error = 0;

	/* A report into `head` ends with it, silently; a file that cannot be written is told. */
	signal(SIGXFSZ, SIG_IGN);
	if (output)
		error = sink_to_file(&sink, output, codec, &err);
	else
		sink_to_fd(&sink, 1, codec);
	if (error)
		return say_failed(NAME, output, &err);
	error = report->write(p, o, &sink, &err);
	if (error && !sink.error) {
		sink_cancel(&sink);
		return say_failed(NAME, output, &err);
	}
	return sink_finish(&sink, &err) ? say_failed(NAME, output, &err) : 0;
}

static bool is_program(const char *path)
{
	struct elf_file elf;
	bool is = strcmp(path, "-") && elf_file_open(&elf, path);

	if (is)
		elf_file_release(&elf);
	return is;
}

/* One dump, of which the report wants the bytes. */
static int take_whole(struct profile *p, const char *path, struct buf *bytes)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!heap_options_read(bytes, path, &err))
		return heap_options_take(p, NAME, path, bytes, 1);
	err.offset = ERR_NO_OFFSET;
	buf_release(bytes);
	return say_failed(NAME, path, &err);
}

/* The exit status.  A sum without one of its dumps looks right and is not: *usable becomes false if
 * nothing could be read of it.  What a damaged one has is shown. */
static int add_dump(struct profile *p, const char *path, struct buf *bytes, bool *usable)
{
	size_t before = p->sample_count;
	int status =
		report->whole ? take_whole(p, path, bytes) : heap_options_add(p, NAME, path, 1);

	if (status && p->sample_count == before)
		*usable = false;
	return status;
}

/* "redis-server (1234)" of an agent, the name of a file. */
static const char *title_of(const char *word)
{
	static char title[400];
	struct agents_entry agent;

	if (!heap_options_is_agent(word))
		return path_base(word);
	if (agents_find(word, &agent, NULL) || !*agent.program)
		return word;
	snprintf(title, sizeof(title), "%s (%d)", path_base(agent.program), (int)agent.pid);
	return title;
}

static int show(struct heap_question *q, int argc, char **argv)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *program = NULL;
	auto_buf struct buf bytes = { 0 };
	bool usable = true;
	char before[40];
	struct profile p;
	int status = 0;

	/* As jeprof: the program may come first. */
	if (is_program(argv[0])) {
		program = *argv++;
		argc--;
	}
	if (seconds && (argc > 1 || base_path || !heap_options_is_agent(argv[0])))
		return say_wrong(NAME, "--seconds is for one agent, without --base");
	if (report->whole && (argc > 1 || base_path || seconds))
		return say_wrong(NAME, "--%s is made of one dump", report->name);
	q->where = heap_options_locations(NAME, program, (const char **)argv, (size_t)argc);
	q->report.title = program ? path_base(program) : title_of(argv[0]);
	q->report.base = base_path ? path_base(base_path) : NULL;
	profile_init(&p, &q->profile, &q->where);
	if (seconds) {
		snprintf(before, sizeof(before), "%llu s before", (unsigned long long)seconds);
		q->report.base = before;
		status = heap_options_add(&p, NAME, argv[0], -1);
		usable = !status;
		if (usable)
			sleep(seconds < UINT_MAX ? (unsigned)seconds : UINT_MAX);
	}
	for (int i = 0; i < argc && usable; i++)
		status |= add_dump(&p, argv[i], &bytes, &usable);
	/* Against part of a base, what was there before would look new. */
	if (base_path && usable && heap_options_add(&p, NAME, base_path, -1)) {
		status = 1;
		usable = false;
	}
	q->report.dump = bytes.data;
	q->report.dump_size = bytes.size;
	if (!usable) {
		/* It has been said why. */
	} else if (profile_finish(&p, &err)) {
		status = say_failed(NAME, NULL, &err);
	} else {
		heap_options_warn(NAME, &p.locations);
		status |= write_out(&p, &q->report);
	}
	profile_release(&p);
	return status;
}

/* The addresses on standard input, by name. */
static int name_addresses(const char *program)
{
	struct heap_locations_options where = heap_options_locations(NAME, program, NULL, 0);
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_buf struct buf in = { 0 }, out = { 0 };
	int error = heap_options_read(&in, "-", &err);

	if (!error && in.size)
		error = symbolize(&in, &where, &out, &err);
	err.offset = ERR_NO_OFFSET; /* of what was made of it */
	if (error)
		say_failed(NAME, "standard input", &err);
	else
		error = buf_flush(&out, 1);
	return error != 0;
}

static int run_jemalloc_heap(int argc, char **argv)
{
	struct heap_question q = { 0 };
	int status = 2;

	if (symbols && argc <= 1 && (!argc || is_program(argv[0])))
		return name_addresses(argc ? argv[0] : NULL);
	if (symbols || argc < 1 || (argc == 1 && is_program(argv[0])))
		return say_wrong(NAME, "%s; see " NAME " --help",
				 symbols ? "--symbols takes a program and no dump"
					 : "no dump is named");
	if (!report)
		report = form ? form : heap_reports[0];
	if (form && report != form && !report->has_forms)
		return say_wrong(NAME, "--%s cannot be had as --%s", report->name, form->name);
	if (output && !strcmp(output, "-"))
		output = NULL;
	if (report->binary && !output && isatty(1))
		return say_wrong(NAME, "--%s is not for a terminal; give -o FILE", report->name);
	if (report->whole && (heap_options.focus || heap_options.ignore || retain_word ||
			      exclude_word || thread_word))
		return say_wrong(NAME, "--%s is of all that is in the dump", report->name);
	if (understand(&q))
		status = show(&q, argc, argv);
	heap_options_release(&q.profile);
	pattern_free((struct pattern *)q.report.about);
	return status;
}

const struct command command_jemalloc_heap = {
	.name = "jemalloc heap",
	.args = "[PROGRAM] DUMP… | PID | ADDRESS",
	.help = "who holds the memory of a heap profile dump, as jeprof",
	.examples =
		"  memoir jemalloc heap jeprof.12.0.i0.heap\n"
		"  memoir jemalloc heap --cum --lines ./server out.heap\n"
		"  memoir jemalloc heap -d /srv/builds --sysroot /srv/image --debuginfod out.heap\n"
		"  memoir jemalloc heap --base first.heap second.heap\n"
		"  memoir jemalloc heap --pprof -o out.pb.gz out.heap\n"
		"  memoir jemalloc heap --svg -o calls.svg ./server out.heap\n"
		"  memoir jemalloc heap --list parse_ --source ~/src out.heap\n"
		"  memoir jemalloc heap --raw ./server out.heap > symbolized.heap\n"
		"  memoir jemalloc heap --flamegraph -o now.svg 1234\n"
		"  memoir jemalloc heap --html -s 60 -o added.html http://localhost:7790\n"
		"  memoir jemalloc heap --json out.heap.gz | jq '.rows[0]'\n",
	.options = options,
	.more_options = more_options,
	.shared = OF_HEAP,
	.run = run_jemalloc_heap,
};
