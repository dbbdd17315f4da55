/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc log: which stacks allocate and free the most, and how long their blocks live;
 * from logs of jemalloc's profiler (prof.log_stop, experimental.prof_recent.alloc_dump).
 *
 * A log has addresses without maps, unless it came from our agent: --maps has them then. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/jemalloc/churn_print.h"
#include "cli/jemalloc/heap_input.h"
#include "cli/jemalloc/heap_naming.h"
#include "cli/shape.h"
#include "heap/churn.h"
#include "symbols/elf_file.h"

#define NAME "memoir jemalloc log"

static bool as_json, as_csv, keep_allocator, full;
static uint64_t top = 20;
static const char *maps_path, *focus_word, *ignore_word, *color;

static const struct command_option options[] = {
	{ "maps", 0, "FILE", "maps of the process: a heap dump, or a copy of /proc/PID/maps",
	  COMMAND_TEXT, &maps_path },
	{ "top", 'n', "N", "stacks at most (20)", COMMAND_NUMBER, &top },
	{ "full", 0, NULL, "every frame of a stack", COMMAND_FLAG, &full },
	{ "focus", 0, "REGEX", "only stacks through this function, source or address", COMMAND_TEXT,
	  &focus_word },
	{ "ignore", 0, "REGEX", "no stacks through it", COMMAND_TEXT, &ignore_word },
	{ "allocator", 0, NULL, "keep the allocator's own frames", COMMAND_FLAG, &keep_allocator },
	HEAP_NAMING_ROWS,
	{ "json", 0, NULL, "print JSON", COMMAND_FLAG, &as_json },
	{ "csv", 0, NULL, "print CSV: a row for each stack", COMMAND_FLAG, &as_csv },
	{ "color", 0, "WHEN", "auto, always or never", COMMAND_WORD, &color },
	{ 0 },
};

struct input {
	struct churn churn;
	struct churn_about *logs;
	size_t log_count;
	struct dump maps; /* of --maps, or of a program that is always loaded at one address */
	bool has_maps;
};

static int say(const char *path, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, NAME ": %s: %s\n", path, err->text);
	else
		fprintf(stderr, NAME ": %s: at byte %" PRIu64 ": %s\n", path, err->offset,
			err->text);
	return 1;
}

/* Maps alone are a dump without stacks. */
static int read_maps(struct dump *d, const char *maps, size_t size, struct err *err)
{
	struct buf whole = { 0 };
	int error;

	buf_text(&whole, "heap_v2/1\n\nMAPPED_LIBRARIES:\n");
	buf_add(&whole, maps, size);
	error = dump_read(d, whole.data, whole.size, err);
	buf_release(&whole);
	return error;
}

/* 0, or the exit status after saying what is wrong. */
static int take_maps(struct input *in)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf bytes = { 0 };
	int error = heap_input_read(&bytes, maps_path, &err);

	if (!error) {
		in->has_maps = true;
		error = dump_is(bytes.data, bytes.size)
				? dump_read(&in->maps, bytes.data, bytes.size, &err)
				: read_maps(&in->maps, bytes.data, bytes.size, &err);
		if (!error && !in->maps.map_count)
			error = err_set(&err, -EBADMSG, "there are no maps in it");
	}
	buf_release(&bytes);
	return error ? say(maps_path, &err) : 0;
}

/* A program that is always loaded at the same address needs no maps. */
static void take_program(struct input *in, const char *path)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf maps = { 0 };
	struct elf_file elf;
	Elf64_Ehdr head;
	Elf64_Phdr h;

	if (!elf_file_open(&elf, path))
		return;
	if (elf_file_read(&elf, 0, &head, sizeof(head)) && head.e_type == ET_EXEC &&
	    head.e_phentsize == sizeof(h))
		for (unsigned i = 0;
		     i < head.e_phnum &&
		     elf_file_read(&elf, head.e_phoff + i * sizeof(h), &h, sizeof(h));
		     i++)
			if (h.p_type == PT_LOAD && h.p_flags & PF_X)
				buf_printf(&maps, "%llx-%llx r-xp %llx 0:0 0 %s\n",
					   h.p_vaddr & ~0xfffull,
					   (h.p_vaddr + h.p_filesz + 0xfff) & ~0xfffull,
					   h.p_offset & ~0xfffull, path);
	elf_file_release(&elf);
	if (maps.size)
		in->has_maps = !read_maps(&in->maps, maps.data, maps.size, &err);
	buf_release(&maps);
}

static int add_log(struct input *in, const char *path)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct churn_about *a = &in->logs[in->log_count];
	struct buf bytes = { 0 };
	struct dump own = { 0 };
	struct log l;
	int error = heap_input_read(&bytes, path, &err);

	if (error) {
		buf_release(&bytes);
		return say(path, &err);
	}
	error = log_read(&l, bytes.data, bytes.size, &err);
	buf_release(&bytes);
	if (error)
		say(path, &err);
	if (l.maps && !maps_path)
		read_maps(&own, l.maps, strlen(l.maps), &err);
	*a = (struct churn_about){
		.path = path,
		.recent = l.recent,
		.named = own.map_count || in->has_maps,
		.rate = l.rate,
		.recent_max = l.recent_max,
		.pid = l.pid,
		.duration_ns = l.duration_ns,
		.threads = l.thread_count,
		.traces = l.trace_count,
		.objects = l.block_count,
		.version = xstrdup(strings_at(&l.texts, l.version)),
		.resolution = xstrdup(strings_at(&l.texts, l.resolution)),
	};
	in->log_count++;
	churn_add(&in->churn, &l, own.map_count ? &own : in->has_maps ? &in->maps : NULL);
	dump_release(&own);
	log_release(&l);
	return error != 0;
}

static bool compile(const char *option, const char *word, const struct pattern **ret)
{
	struct err err;

	if (!word)
		return true;
	*ret = pattern_new(word, &err);
	if (!*ret)
		fprintf(stderr, NAME ": --%s: %s\n", option, err.text);
	return *ret;
}

static int show(struct input *in, const struct term *t)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf out = { 0 };
	int error;

	if (churn_finish(&in->churn, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		return 1;
	}
	heap_naming_warn(NAME, &in->churn.profile.locations);
	if (as_json)
		churn_print_json(&out, &in->churn, in->logs, top);
	else if (as_csv)
		churn_print_csv(&out, &in->churn, top);
	else
		churn_print_text(&out, t, &in->churn, in->logs, top, full);
	error = buf_flush(&out, 1);
	buf_release(&out);
	return error ? 1 : 0;
}

static int run_with(struct profile_options *patterns, int argc, char **argv)
{
	struct input in = { 0 };
	const char *program = NULL;
	struct heap_locations_options where;
	struct elf_file elf;
	struct term t;
	int status = 0;

	if (!compile("focus", focus_word, &patterns->focus) ||
	    !compile("ignore", ignore_word, &patterns->ignore))
		return 2;
	term_init(&t, 1, color);
	if (argc > 1 && elf_file_open(&elf, argv[0])) {
		elf_file_release(&elf);
		program = *argv++;
		argc--;
	}
	if (maps_path && take_maps(&in)) {
		dump_release(&in.maps);
		return 1;
	}
	if (!maps_path && program)
		take_program(&in, program);
	in.logs = xcalloc((size_t)argc, sizeof(*in.logs));
	where = heap_naming_options(NAME, program, argv, argc);
	churn_init(&in.churn, patterns, &where);
	for (int i = 0; i < argc; i++)
		status |= add_log(&in, argv[i]);
	if (in.log_count)
		status |= show(&in, &t);
	for (size_t i = 0; i < in.log_count; i++) {
		free(in.logs[i].version);
		free(in.logs[i].resolution);
	}
	free(in.logs);
	churn_release(&in.churn);
	dump_release(&in.maps);
	return status;
}

static int run(int argc, char **argv)
{
	struct profile_options patterns = { .thread = PROFILE_ALL_THREADS,
					    .keep_allocator = keep_allocator };
	int status;

	if (argc < 1) {
		fprintf(stderr, NAME ": no log is named; see " NAME " --help\n");
		return 2;
	}
	if (as_json && as_csv) {
		fprintf(stderr, NAME ": either --json or --csv\n");
		return 2;
	}
	status = run_with(&patterns, argc, argv);
	pattern_free((struct pattern *)patterns.focus);
	pattern_free((struct pattern *)patterns.ignore);
	return status;
}

const struct command command_jemalloc_log = {
	.name = "jemalloc log",
	.args = "[PROGRAM] FILE…",
	.help = "who allocates and frees the most, and how long blocks live: prof_log, prof_recent",
	.examples = "  memoir jemalloc log prof_log.json\n"
		    "  memoir jemalloc log --maps out.heap --full prof_recent.json\n"
		    "  memoir jemalloc log --csv -n 1000 prof_log.json.gz\n",
	.options = options,
	.run = run,
};
