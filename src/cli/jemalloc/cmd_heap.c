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

#include "base/pattern.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/jemalloc/agent_token.h"
#include "cli/jemalloc/heap_input.h"
#include "cli/jemalloc/heap_naming.h"
#include "cli/jemalloc/heap_symbols.h"
#include "cli/text.h"
#include "heap/report.h"
#include "symbols/elf_file.h"

#define NAME "memoir jemalloc heap"
#define SOURCES_MAX 64

static bool by_lines, by_files, by_addresses, by_functions, by_cum, show_bytes;
static bool inuse_space, inuse_objects, alloc_space, alloc_objects, drop_negative, keep_allocator,
	whole;
static const char *base_path, *thread_word, *output, *about_word;
static const char *focus_word, *ignore_word, *retain_word, *exclude_word;
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
	{ "functions", 0, NULL, "a row for each function (this is what is done)", COMMAND_FLAG,
	  &by_functions },
	{ "lines", 0, NULL, "a row for each line of a source", COMMAND_FLAG, &by_lines },
	{ "files", 0, NULL, "a row for each source file", COMMAND_FLAG, &by_files },
	{ "addresses", 0, NULL, "a row for each address", COMMAND_FLAG, &by_addresses },
	{ "cum", 0, NULL, "sort by what a function and all it calls hold", COMMAND_FLAG, &by_cum },
	{ "inuse_space", 0, NULL, "bytes that are alive (this is what is done)", COMMAND_FLAG,
	  &inuse_space },
	{ "inuse_objects", 0, NULL, "objects that are alive", COMMAND_FLAG, &inuse_objects },
	{ "alloc_space", 0, NULL, "all bytes ever, with prof_accum", COMMAND_FLAG, &alloc_space },
	{ "alloc_objects", 0, NULL, "all objects ever, with prof_accum", COMMAND_FLAG,
	  &alloc_objects },
	{ "show_bytes", 0, NULL, "bytes instead of megabytes", COMMAND_FLAG, &show_bytes },
	{ "whole", 0, NULL, "round each stack's estimate: sums are then those of go tool pprof",
	  COMMAND_FLAG, &whole },
	{ "base", 0, "DUMP", "show what was added since this dump", COMMAND_TEXT, &base_path },
	{ "seconds", 's', "N", "of an agent: show what was added in so many seconds",
	  COMMAND_NUMBER, &seconds },
	{ "drop_negative", 0, NULL, "with --base: leave out what became less", COMMAND_FLAG,
	  &drop_negative },
	{ "thread", 0, "N", "only what this thread allocated", COMMAND_TEXT, &thread_word },
	{ "focus", 0, "REGEX", "only stacks through this function, source or address", COMMAND_TEXT,
	  &focus_word },
	{ "ignore", 0, "REGEX", "no stacks through it", COMMAND_TEXT, &ignore_word },
	{ "retain", 0, "REGEX", "only such frames of each stack", COMMAND_TEXT, &retain_word },
	{ "exclude", 0, "REGEX", "no such frames; stacks close up", COMMAND_TEXT, &exclude_word },
	{ "nodecount", 0, "N", "functions of a graph at most (80)", COMMAND_NUMBER, &node_count },
	{ "nodefraction", 0, "F", "leave functions below this share out (.005)", COMMAND_CALL,
	  &node_fraction, set_fraction },
	{ "edgefraction", 0, "F", "leave calls below this share out (.001)", COMMAND_CALL,
	  &edge_fraction, set_fraction },
	{ "maxdegree", 0, "N", "calls of one function in a graph at most (8)", COMMAND_NUMBER,
	  &max_degree },
	{ "allocator", 0, NULL, "keep the allocator's own frames", COMMAND_FLAG, &keep_allocator },
	HEAP_NAMING_ROWS,
	AGENT_TOKEN_ROWS,
	{ "source", 0, "[FROM=]FOLDER", "where sources are; may be repeated", COMMAND_CALL, NULL,
	  add_source_root },
	{ "symbols", 0, NULL, "no dump: name the addresses on standard input, which has maps, too",
	  COMMAND_FLAG, &symbols },
	{ "top", 'n', "N", "rows at most", COMMAND_NUMBER, &top_rows },
	{ "output", 'o', "FILE", "write to this file (- or none: standard output)", COMMAND_TEXT,
	  &output },
	{ 0 },
};

/* A row for each report. */
static const struct command_option *report_options(void)
{
	static struct command_option rows[32];
	size_t n = 0;

	for (const struct heap_report *const *r = heap_reports; *r && n + 1 < 32; r++)
		rows[n++] = (struct command_option){ .name = (*r)->name,
						     .argument = (*r)->argument,
						     .help = (*r)->help,
						     .type = COMMAND_CALL,
						     .set = set_report,
						     .context = *r };
	return rows;
}

static enum heap_measure measure(void)
{
	if (inuse_objects)
		return HEAP_INUSE_OBJECTS;
	if (alloc_space)
		return HEAP_ALLOC_SPACE;
	return alloc_objects ? HEAP_ALLOC_OBJECTS : HEAP_INUSE_SPACE;
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
	q->profile = (struct profile_options){
		.detail = by_addresses ? PROFILE_ADDRESSES
			  : by_lines   ? PROFILE_LINES
			  : by_files   ? PROFILE_FILES
				       : PROFILE_FUNCTIONS,
		.thread = PROFILE_ALL_THREADS,
		.keep_allocator = keep_allocator,
		.drop_negative = drop_negative,
		.measure = measure(),
		.by_thread = report->by_thread,
		.whole = whole || report->by_thread,
	};
	q->sources =
		(struct source_options){ source_roots, source_root_count, heap_naming_sysroot };
	q->report = (struct heap_report_options){ .measure = measure(),
						  .by_cum = by_cum,
						  .show_bytes = show_bytes,
						  .rows = top_rows,
						  .title = "heap profile",
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
			fprintf(stderr, NAME ": --thread takes a number of the dump, or *\n");
			return false;
		}
	}
	return heap_input_pattern(NAME, "focus", focus_word, &q->profile.focus) &&
	       heap_input_pattern(NAME, "ignore", ignore_word, &q->profile.ignore) &&
	       heap_input_pattern(NAME, "retain", retain_word, &q->profile.retain) &&
	       heap_input_pattern(NAME, "exclude", exclude_word, &q->profile.exclude) &&
	       heap_input_pattern(NAME, report->name, about_word, &q->report.about);
}

static void forget(struct heap_question *q)
{
	pattern_free((struct pattern *)q->profile.focus);
	pattern_free((struct pattern *)q->profile.ignore);
	pattern_free((struct pattern *)q->profile.retain);
	pattern_free((struct pattern *)q->profile.exclude);
	pattern_free((struct pattern *)q->report.about);
}

static int fail(const struct err *err)
{
	fprintf(stderr, NAME ": %s%s%s\n", output ? output : "", output ? ": " : "", err->text);
	return 1;
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
		return fail(&err);
	error = report->write(p, o, &sink, &err);
	if (error && !sink.error) {
		sink_cancel(&sink);
		return fail(&err);
	}
	return sink_finish(&sink, &err) ? fail(&err) : 0;
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

	if (!heap_input_read(bytes, path, &err))
		return heap_input_take(p, NAME, path, bytes, 1);
	fprintf(stderr, NAME ": %s: %s\n", path, err.text);
	buf_release(bytes);
	return 1;
}

/* The exit status.  A sum without one of its dumps looks right and is not: *usable becomes false if
 * nothing could be read of it.  What a damaged one has is shown. */
static int add_dump(struct profile *p, const char *path, struct buf *bytes, bool *usable)
{
	size_t before = p->sample_count;
	int status = report->whole ? take_whole(p, path, bytes) : heap_input_add(p, NAME, path, 1);

	if (status && p->sample_count == before)
		*usable = false;
	return status;
}

/* "redis-server (1234)" of an agent, the name of a file. */
static const char *title_of(const char *word)
{
	static char title[400];
	struct agents_entry agent;

	if (!heap_input_is_agent(word))
		return text_base_name(word);
	if (agents_find(word, &agent, NULL) || !*agent.program)
		return word;
	snprintf(title, sizeof(title), "%s (%d)", text_base_name(agent.program), (int)agent.pid);
	return title;
}

static int show(struct heap_question *q, int argc, char **argv)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	const char *program = NULL;
	struct buf bytes = { 0 };
	char before[40];
	bool usable = true;
	struct profile p;
	int status = 0;

	/* As jeprof: the program may come first. */
	if (is_program(argv[0])) {
		program = *argv++;
		argc--;
	}
	if (seconds && (argc > 1 || base_path || !heap_input_is_agent(argv[0]))) {
		fprintf(stderr, NAME ": --seconds is for one agent, without --base\n");
		return 2;
	}
	if (report->whole && (argc > 1 || base_path || seconds)) {
		fprintf(stderr, NAME ": --%s is made of one dump\n", report->name);
		return 2;
	}
	q->where = heap_naming_options(NAME, program, argv, argc);
	q->report.title = program ? text_base_name(program) : title_of(argv[0]);
	q->report.base = base_path ? text_base_name(base_path) : NULL;
	profile_init(&p, &q->profile, &q->where);
	if (seconds) {
		snprintf(before, sizeof(before), "%llu s before", (unsigned long long)seconds);
		q->report.base = before;
		status = heap_input_add(&p, NAME, argv[0], -1);
		usable = !status;
		if (usable)
			sleep(seconds < UINT_MAX ? (unsigned)seconds : UINT_MAX);
	}
	for (int i = 0; i < argc && usable; i++)
		status |= add_dump(&p, argv[i], &bytes, &usable);
	/* Against part of a base, what was there before would look new. */
	if (base_path && usable && heap_input_add(&p, NAME, base_path, -1)) {
		status = 1;
		usable = false;
	}
	q->report.dump = bytes.data;
	q->report.dump_size = bytes.size;
	if (!usable) {
		/* It has been said why. */
	} else if (profile_finish(&p, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		status = 1;
	} else {
		heap_naming_warn(NAME, &p.locations);
		status |= write_out(&p, &q->report);
	}
	profile_release(&p);
	buf_release(&bytes);
	return status;
}

static int run(int argc, char **argv)
{
	struct heap_question q = { 0 };
	int status = 2;

	if (symbols && argc <= 1 && (!argc || is_program(argv[0]))) {
		q.where = heap_naming_options(NAME, argc ? argv[0] : NULL, argv, 0);
		return heap_symbols(NAME, &q.where);
	}
	if (symbols || argc < 1 || (argc == 1 && is_program(argv[0]))) {
		fprintf(stderr, NAME ": %s; see " NAME " --help\n",
			symbols ? "--symbols takes a program and no dump" : "no dump is named");
		return 2;
	}
	if (!report)
		report = form ? form : heap_reports[0];
	if (form && report != form && !report->has_forms) {
		fprintf(stderr, NAME ": --%s cannot be had as --%s\n", report->name, form->name);
		return 2;
	}
	if (output && !strcmp(output, "-"))
		output = NULL;
	if (report->binary && !output && isatty(1)) {
		fprintf(stderr, NAME ": --%s is not for a terminal; give -o FILE\n", report->name);
		return 2;
	}
	if (report->whole &&
	    (focus_word || ignore_word || retain_word || exclude_word || thread_word)) {
		fprintf(stderr, NAME ": --%s is of all that is in the dump\n", report->name);
		return 2;
	}
	if (understand(&q))
		status = show(&q, argc, argv);
	forget(&q);
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
		"  memoir jemalloc heap --flamegraph -o now.svg 1234\n"
		"  memoir jemalloc heap --html -s 60 -o added.html http://localhost:7790\n"
		"  memoir jemalloc heap --pprof -o out.pb.gz out.heap\n"
		"  memoir jemalloc heap --svg -o calls.svg ./server out.heap\n"
		"  memoir jemalloc heap --list parse_ --source ~/src out.heap\n"
		"  memoir jemalloc heap --raw ./server out.heap > symbolized.heap\n"
		"  memoir jemalloc heap --json out.heap.gz | jq '.rows[0]'\n",
	.options = options,
	.more_options = report_options,
	.run = run,
};
