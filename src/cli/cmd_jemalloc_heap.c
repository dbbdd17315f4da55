/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc heap: who holds the memory of a heap profile dump; what jeprof is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "cli/command.h"
#include "heap/dump.h"
#include "heap/top.h"
#include "symbols/elf_file.h"

#define NAME "memoir jemalloc heap"
#define DUMP_MAX (4ull << 30)
#define PATHS_MAX 64

static bool by_lines, by_files, by_addresses, by_functions, by_cum, show_bytes;
static bool inuse_space, inuse_objects, alloc_space, alloc_objects, drop_negative, keep_allocator;
static const char *base_path, *sysroot, *thread_word;
static const char *focus_word, *ignore_word, *retain_word, *exclude_word;
static uint64_t top_rows = UINT64_MAX;
static const char *debug_paths[PATHS_MAX];
static size_t debug_path_count;

static const char *add_debug_path(const struct command_option *row, const char *value)
{
	if (debug_path_count == PATHS_MAX)
		return "too many of them";
	debug_paths[debug_path_count++] = value;
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
	{ "base", 0, "DUMP", "show what was added since this dump", COMMAND_TEXT, &base_path },
	{ "drop_negative", 0, NULL, "with --base: leave out what became less", COMMAND_FLAG,
	  &drop_negative },
	{ "thread", 0, "N", "only what this thread allocated", COMMAND_TEXT, &thread_word },
	{ "focus", 0, "REGEX", "only stacks through this function, source or address", COMMAND_TEXT,
	  &focus_word },
	{ "ignore", 0, "REGEX", "no stacks through it", COMMAND_TEXT, &ignore_word },
	{ "retain", 0, "REGEX", "only such frames of each stack", COMMAND_TEXT, &retain_word },
	{ "exclude", 0, "REGEX", "no such frames; stacks close up", COMMAND_TEXT, &exclude_word },
	{ "allocator", 0, NULL, "keep the allocator's own frames", COMMAND_FLAG, &keep_allocator },
	{ "debug", 'd', "PATH", "a file or a folder with symbols; may be repeated", COMMAND_CALL,
	  NULL, add_debug_path },
	{ "sysroot", 0, "FOLDER", "where the program's files are", COMMAND_TEXT, &sysroot },
	{ "top", 'n', "N", "rows at most", COMMAND_NUMBER, &top_rows },
	{ 0 },
};

static int say(const char *path, const struct err *err)
{
	if (err->offset == ERR_NO_OFFSET)
		fprintf(stderr, NAME ": %s: %s\n", path, err->text);
	else
		fprintf(stderr, NAME ": %s: at byte %llu: %s\n", path,
			(unsigned long long)err->offset, err->text);
	return 1;
}

static int read_file(struct buf *b, const char *path, struct err *err)
{
	auto_close int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC) : dup(0);

	if (fd < 0)
		return err_set(err, -errno, "%s", strerror(errno));
	for (;;) {
		ssize_t n;

		buf_reserve(b, 1 << 16);
		n = read(fd, b->data + b->size, 1 << 16);
		if (n < 0)
			return err_set(err, -errno, "%s", strerror(errno));
		if (!n)
			return 0;
		b->size += (size_t)n;
		if (b->size > DUMP_MAX)
			return err_set(err, -EFBIG, "larger than any heap profile");
	}
}

/* Reads one dump and adds it; what a damaged one has still counts, and the status says so. */
static int add_file(struct profile *p, const char *path, double sign)
{
	struct buf bytes = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct dump d;
	int error = read_file(&bytes, path, &err);

	if (error) {
		buf_release(&bytes);
		return say(path, &err);
	}
	error = dump_read(&d, bytes.data, bytes.size, &err);
	buf_release(&bytes);
	if (error)
		say(path, &err);
	profile_add(p, &d, sign);
	dump_release(&d);
	return error != 0;
}

static enum heap_measure measure(void)
{
	if (inuse_objects)
		return HEAP_INUSE_OBJECTS;
	if (alloc_space)
		return HEAP_ALLOC_SPACE;
	return alloc_objects ? HEAP_ALLOC_OBJECTS : HEAP_INUSE_SPACE;
}

static bool counts_objects(enum heap_measure m)
{
	return m == HEAP_INUSE_OBJECTS || m == HEAP_ALLOC_OBJECTS;
}

static const char *amount_text(char *out, size_t size, double value, enum heap_measure m)
{
	/* Whole numbers are cut, not rounded, as those of jeprof. */
	if (counts_objects(m) || show_bytes)
		snprintf(out, size, "%.0f", trunc(value));
	else
		snprintf(out, size, "%.1f", value / 1048576);
	return out;
}

static double share(double part, double whole)
{
	return whole ? part * 100 / whole : 0;
}

/* The columns of jeprof --text: flat, its share, the shares so far, cumulative, its share, name. */
static void print_text(struct buf *out, const struct profile *p, const struct top *t,
		       enum heap_measure m)
{
	double total = heap_amount(&p->total, m), running = 0;
	char flat[32], cum[32];

	buf_printf(out, "Total: %s %s\n", amount_text(flat, sizeof(flat), total, m),
		   counts_objects(m) ? "objects"
		   : show_bytes	     ? "B"
				     : "MB");
	for (size_t i = 0; i < t->count && i < top_rows; i++) {
		const struct top_row *r = &t->rows[i];
		double f = heap_amount(&r->flat, m), c = heap_amount(&r->cum, m);

		running += f;
		buf_printf(out, "%8s %5.1f%% %5.1f%% %8s %5.1f%% ",
			   amount_text(flat, sizeof(flat), f, m), share(f, total),
			   share(running, total), amount_text(cum, sizeof(cum), c, m),
			   share(c, total));
		buf_printable(out, strings_at(&p->names, r->name),
			      strlen(strings_at(&p->names, r->name)));
		buf_char(out, '\n');
	}
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

static bool compile_all(struct profile_options *o)
{
	return compile("focus", focus_word, &o->focus) &&
	       compile("ignore", ignore_word, &o->ignore) &&
	       compile("retain", retain_word, &o->retain) &&
	       compile("exclude", exclude_word, &o->exclude);
}

static void free_all(const struct profile_options *o)
{
	pattern_free((struct pattern *)o->focus);
	pattern_free((struct pattern *)o->ignore);
	pattern_free((struct pattern *)o->retain);
	pattern_free((struct pattern *)o->exclude);
}

static int run(int argc, char **argv)
{
	struct profile_options wanted = {
		.detail = by_addresses ? PROFILE_ADDRESSES
			  : by_lines   ? PROFILE_LINES
			  : by_files   ? PROFILE_FILES
				       : PROFILE_FUNCTIONS,
		.thread = PROFILE_ALL_THREADS,
		.keep_allocator = keep_allocator,
		.drop_negative = drop_negative,
	};
	struct heap_places_options where = { .debug_paths = debug_paths,
					     .debug_path_count = debug_path_count,
					     .sysroot = sysroot };
	struct buf out = { 0 };
	struct profile p;
	struct err err;
	struct top t;
	int status = 0;

	if (thread_word && strcmp(thread_word, "*")) {
		char *end;

		wanted.thread = strtoull(thread_word, &end, 10);
		if (!*thread_word || *end) {
			fprintf(stderr, NAME ": --thread takes a number of the dump, or *\n");
			return 2;
		}
	}
	if (argc < 1) {
		fprintf(stderr, NAME ": no dump is named; see " NAME " --help\n");
		return 2;
	}
	/* As jeprof: the program may come first. */
	if (argc > 1) {
		struct elf_file elf;

		if (elf_file_open(&elf, argv[0])) {
			elf_file_release(&elf);
			where.program = *argv++;
			argc--;
		}
	}
	if (!compile_all(&wanted)) {
		free_all(&wanted);
		return 2;
	}
	profile_init(&p, &wanted, &where);
	for (int i = 0; i < argc; i++)
		status |= add_file(&p, argv[i], 1);
	if (base_path)
		status |= add_file(&p, base_path, -1);
	if (profile_finish(&p, &err)) {
		fprintf(stderr, NAME ": %s\n", err.text);
		status = 1;
	}
	top_make(&t, &p, measure(), by_cum);
	print_text(&out, &p, &t, measure());
	if (buf_flush(&out, 1))
		status = 1;
	buf_release(&out);
	top_release(&t);
	profile_release(&p);
	free_all(&wanted);
	return status;
}

const struct command command_jemalloc_heap = {
	.name = "jemalloc heap",
	.args = "[PROGRAM] DUMP…",
	.help = "who holds the memory of a heap profile dump, as jeprof",
	.examples = "  memoir jemalloc heap jeprof.12.0.i0.heap\n"
		    "  memoir jemalloc heap --cum --lines ./server out.heap\n"
		    "  memoir jemalloc heap --base first.heap second.heap\n",
	.options = options,
	.run = run,
};
