/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options about names in dumps.  See heap_naming.h. */
#include "cli/jemalloc/heap_naming.h"

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cache_dir.h"
#include "base/xalloc.h"
#include "symbols/symbols.h"

const char *heap_naming_sysroot;
bool heap_naming_debuginfod;

struct words {
	const char **words;
	size_t count, room;
};
static struct words paths, prefixes, folders;
static struct cache_options cache;

static void add(struct words *w, const char *word)
{
	w->words = xgrow(w->words, w->count, &w->room, sizeof(*w->words));
	w->words[w->count++] = word;
}

const char *heap_naming_add_path(const struct command_option *row, const char *value)
{
	if (access(value, R_OK) < 0)
		return "a file or folder that can be read";
	add(&paths, value);
	return NULL;
}

/* With commas between them, as jeprof takes them. */
const char *heap_naming_add_prefixes(const struct command_option *row, const char *value)
{
	auto_free char *copy = xstrdup(value);
	char *at = copy, *word;

	while ((word = strsep(&at, ",")))
		if (*word)
			add(&prefixes, xstrdup(word));
	return NULL;
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
	add(&folders, xstrdup(folder));
}

struct heap_locations_options heap_naming_options(const char *command, const char *program,
						  char *const *dumps, int dump_count)
{
	const char *problem = heap_naming_debuginfod ? symbols_debuginfod_problem() : NULL;

	if (problem) {
		fprintf(stderr, "%s: --debuginfod: %s\n", command, problem);
		heap_naming_debuginfod = false;
	}
	for (int i = 0; i < dump_count; i++)
		add_folder(dumps[i]);
	cache_options_release(&cache);
	cache_options_init(&cache);
	return (struct heap_locations_options){ .program = program,
						.debug_paths = paths.words,
						.debug_path_count = paths.count,
						.sysroot = heap_naming_sysroot,
						.prefixes = prefixes.words,
						.prefix_count = prefixes.count,
						.beside = folders.words,
						.beside_count = folders.count,
						.cache = &cache,
						.debuginfod = heap_naming_debuginfod };
}

void heap_naming_warn(const char *command, const struct heap_locations *p)
{
	for (size_t i = 0; i < p->warning_count; i++)
		fprintf(stderr, "%s: %s\n", command, p->warnings[i]);
}
