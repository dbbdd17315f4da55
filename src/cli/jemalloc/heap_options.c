/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options about dumps.  See heap_options.h. */
#include "cli/jemalloc/heap_options.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf_type.h"
#include "base/cache_dir.h"
#include "base/unpack.h"
#include "base/xalloc.h"
#include "cli/say.h"
#include "client/http.h"
#include "heap/dump.h"
#include "symbols/symbols.h"

#define TIMEOUT_MS 60000

struct heap_options heap_options;

struct words {
	const char **words;
	size_t count, room;
};
static struct words paths, prefixes, folders;
static struct cache_options cache;

static void add_word(struct words *w, const char *word)
{
	*xpush(w->words, w->count, w->room) = word;
}

static const char *add_path(const struct command_option *row, const char *value)
{
	if (access(value, R_OK) < 0)
		return "a file or folder that can be read";
	add_word(&paths, value);
	return NULL;
}

/* With commas between them, as jeprof takes them. */
static const char *add_prefixes(const struct command_option *row, const char *value)
{
	auto_free char *copy = xstrdup(value);
	char *at = copy, *word;

	while ((word = strsep(&at, ",")))
		if (*word)
			add_word(&prefixes, xstrdup(word));
	return NULL;
}

#define OF_RANKS (OF_HEAP | OF_GROWTH)
#define OF_ALL (OF_RANKS | OF_JOIN | OF_LOG | OF_PUSH)
#define OF_TABLES (OF_GROWTH | OF_JOIN | OF_LOG)

static const struct {
	unsigned of;
	struct command_option row;
} table[] = {
	{ OF_RANKS | OF_JOIN,
	  FLAG("lines", 0, "source lines instead of functions", &heap_options.lines) },
	{ OF_RANKS, FLAG("cum", 0, "by what a function and all it calls hold", &heap_options.cum) },
	{ OF_RANKS, FLAG("inuse_space", 0, "bytes that are alive (this is what is done)",
			 &heap_options.inuse_space) },
	{ OF_RANKS,
	  FLAG("inuse_objects", 0, "objects that are alive", &heap_options.inuse_objects) },
	{ OF_RANKS,
	  FLAG("alloc_space", 0, "all bytes ever, with prof_accum", &heap_options.alloc_space) },
	{ OF_RANKS, FLAG("alloc_objects", 0, "all objects ever, with prof_accum",
			 &heap_options.alloc_objects) },
	{ OF_RANKS | OF_LOG,
	  VALUE("focus", 0, "REGEX", "only stacks through this function, source or address",
		&heap_options.focus) },
	{ OF_RANKS | OF_LOG,
	  VALUE("ignore", 0, "REGEX", "no stacks through it", &heap_options.ignore) },
	{ OF_HEAP | OF_LOG,
	  FLAG("allocator", 0, "keep the allocator's own frames", &heap_options.allocator) },
	{ OF_GROWTH | OF_JOIN | OF_PUSH,
	  VALUE("program", 0, "FILE", "the program, where it is not where the dump says",
		&heap_options.program) },
	{ OF_ALL, CALL("debug", 'd', "PATH", "a file or a folder with symbols; may be repeated",
		       add_path) },
	{ OF_ALL,
	  VALUE("sysroot", 0, "FOLDER", "where the program's files are", &heap_options.sysroot) },
	{ OF_ALL,
	  CALL("lib_prefix", 0, "FOLDER[,FOLDER…]", "the same, looked at first", add_prefixes) },
	{ OF_ALL, FLAG("debuginfod", 0, "ask the servers of DEBUGINFOD_URLS for debug symbols",
		       &heap_options.debuginfod) },
	{ OF_TABLES,
	  FLAG("full", 0, "every frame of a stack, and whole names", &heap_options.full) },
	{ OF_TABLES, FLAG("json", 0, "print JSON", &heap_options.json) },
	{ OF_TABLES, FLAG("csv", 0, "print CSV", &heap_options.csv) },
	{ OF_TABLES, WORD("color", 0, "WHEN", "auto, always or never", &heap_options.color) },
};
#define TABLE_ROWS (sizeof(table) / sizeof(*table))

const struct command_option *heap_options_rows(unsigned shared)
{
	static struct command_option rows[TABLE_ROWS + 1];
	size_t count = 0;

	for (size_t i = 0; i < TABLE_ROWS; i++)
		if (table[i].of & shared)
			rows[count++] = table[i].row;
	rows[count] = (struct command_option){ 0 };
	return rows;
}

static enum heap_measure heap_options_measure(void)
{
	const struct heap_options *o = &heap_options;

	return o->inuse_objects	  ? HEAP_INUSE_OBJECTS
	       : o->alloc_space	  ? HEAP_ALLOC_SPACE
	       : o->alloc_objects ? HEAP_ALLOC_OBJECTS
				  : HEAP_INUSE_SPACE;
}

bool heap_options_pattern(const char *command, const char *option, const char *word,
			  const struct pattern **ret)
{
	struct err err;

	if (!word)
		return true;
	*ret = pattern_new(word, &err);
	if (!*ret)
		say_wrong(command, "--%s: %s", option, err.text);
	return *ret;
}

bool heap_options_profile(const char *command, struct profile_options *ret)
{
	const struct heap_options *o = &heap_options;

	*ret = (struct profile_options){ .detail = o->lines ? PROFILE_LINES : PROFILE_FUNCTIONS,
					 .thread = PROFILE_ALL_THREADS,
					 .keep_allocator = o->allocator,
					 .measure = heap_options_measure() };
	return heap_options_pattern(command, "focus", o->focus, &ret->focus) &&
	       heap_options_pattern(command, "ignore", o->ignore, &ret->ignore);
}

void heap_options_release(struct profile_options *o)
{
	pattern_free((struct pattern *)o->focus);
	pattern_free((struct pattern *)o->ignore);
	pattern_free((struct pattern *)o->retain);
	pattern_free((struct pattern *)o->exclude);
}

static void add_folder(const char *dump)
{
	auto_free char *copy = xstrdup(dump);
	const char *folder = dirname(copy);

	if (!strcmp(dump, "-"))
		return;
	for (size_t i = 0; i < folders.count; i++)
		if (!strcmp(folders.words[i], folder))
			return;
	add_word(&folders, xstrdup(folder));
}

struct heap_locations_options heap_options_locations(const char *command, const char *program,
						     const char *const *dumps, size_t dump_count)
{
	const char *problem = heap_options.debuginfod ? symbols_debuginfod_problem() : NULL;

	if (problem) {
		say_wrong(command, "--debuginfod: %s", problem);
		heap_options.debuginfod = false;
	}
	for (size_t i = 0; i < dump_count; i++)
		add_folder(dumps[i]);
	cache_options_release(&cache);
	cache_options_init(&cache);
	return (struct heap_locations_options){ .program = program,
						.debug_paths = paths.words,
						.debug_path_count = paths.count,
						.sysroot = heap_options.sysroot,
						.prefixes = prefixes.words,
						.prefix_count = prefixes.count,
						.beside = folders.words,
						.beside_count = folders.count,
						.cache = &cache,
						.debuginfod = heap_options.debuginfod };
}

void heap_options_warn(const char *command, const struct heap_locations *p)
{
	for (size_t i = 0; i < p->warning_count; i++)
		fprintf(stderr, "%s: %s\n", command, p->warnings[i]);
}

bool heap_options_is_agent(const char *word)
{
	return http_is_address(word) ||
	       (*word && !word[strspn(word, "0123456789")] && access(word, F_OK));
}

int heap_options_ask(struct buf *b, const struct agents_entry *agent, struct err *err)
{
	/* A process of this machine has its files here, which know lines and inlined functions
	 * too. */
	return agents_ask(agent, "GET", agent->pid ? "/pprof/heap" : "/pprof/heap?symbols=1",
			  TIMEOUT_MS, b, err);
}

int heap_options_read(struct buf *b, const char *path, struct err *err)
{
	struct agents_entry agent;
	int error;

	if (heap_options_is_agent(path)) {
		error = agents_find(path, &agent, err);
		return error ? error : heap_options_ask(b, &agent, err);
	}
	return unpack_text(b, path, unpack_memory_limit(), "any heap profile", err);
}

static int add_dump(struct profile *p, const struct buf *bytes, double sign, struct err *err)
{
	auto_release(dump_release) struct dump d = { 0 };
	int error = dump_read(&d, bytes->data, bytes->size, err);

	profile_add(p, &d, sign);
	return error;
}

int heap_options_take(struct profile *p, const char *command, const char *path,
		      const struct buf *bytes, double sign)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	return add_dump(p, bytes, sign, &err) ? say_failed(command, path, &err) : 0;
}

int heap_options_add(struct profile *p, const char *command, const char *path, double sign)
{
	auto_buf struct buf bytes = { 0 };
	struct err err = { .offset = ERR_NO_OFFSET };
	int status = heap_options_read(&bytes, path, &err) ? say_failed(command, path, &err) : 0;

	/* Of a file that is cut, the cut is said and no second thing. */
	if (!status)
		status = heap_options_take(p, command, path, &bytes, sign);
	else if (bytes.size)
		add_dump(p, &bytes, sign, &err);
	return status;
}
