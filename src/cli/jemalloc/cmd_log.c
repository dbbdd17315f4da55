/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc log: which stacks allocate and free the most, and how long their blocks live;
 * from logs of jemalloc's profiler (prof.log_stop, experimental.prof_recent.alloc_dump).
 *
 * A log has addresses without maps, unless it came from our agent: --maps has them then. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "cli/jemalloc/churn_print.h"
#include "cli/jemalloc/heap_options.h"
#include "cli/say.h"
#include "symbols/elf_file.h"

#define NAME "memoir jemalloc log"

static uint64_t top = 20;
static const char *maps_path;

static const struct command_option options[] = {
	VALUE("maps", 0, "FILE", "maps of the process: a heap dump, or a copy of /proc/PID/maps",
	      &maps_path),
	VALUE("top", 'n', "N", "stacks at most (20)", &top),
	{ 0 },
};

/* 0, or the exit status after saying what is wrong. */
static int read_maps(struct dump *maps)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_buf struct buf bytes = { 0 };
	int error = heap_options_read(&bytes, maps_path, &err);

	if (!error)
		error = (dump_is(bytes.data, bytes.size)
				 ? dump_read(maps, bytes.data, bytes.size, &err)
				 : dump_read_maps(maps, bytes.data, bytes.size, &err));
	if (!error && !maps->map_count)
		error = err_set(&err, -EBADMSG, "there are no maps in it");
	return error ? say_failed(NAME, maps_path, &err) : 0;
}

/* `maps` of --maps, or of a program that is always loaded at one address; NULL: none. */
static int add_log(struct churn *c, const char *path, const struct dump *maps)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct buf bytes = { 0 };
	auto_release(dump_release) struct dump own = { 0 };
	struct log l;
	int status = 0, error = heap_options_read(&bytes, path, &err);

	if (error) {
		buf_release(&bytes);
		return say_failed(NAME, path, &err);
	}
	if (log_read(&l, bytes.data, bytes.size, &err))
		status = say_failed(NAME, path, &err);
	buf_release(&bytes);
	if (l.maps && !maps_path)
		dump_read_maps(&own, l.maps, strlen(l.maps), &err);
	churn_add(c, path, &l, own.map_count ? &own : maps);
	log_release(&l);
	return status;
}

static int show(struct churn *c)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_buf struct buf out = { 0 };
	struct term t;
	struct json j = { .out = &out };

	if (churn_finish(c, &err))
		return say_failed(NAME, NULL, &err);
	heap_options_warn(NAME, &c->profile.locations);
	term_init(&t, 1, heap_options.color);
	if (heap_options.json) {
		churn_write_json(&j, c, top);
	} else if (heap_options.csv) {
		churn_write_csv(&out, c, top);
	} else {
		churn_print(&out, &t, c, top, heap_options.full);
	}
	return buf_flush(&out, 1) ? 1 : 0;
}

static int read_and_show(const struct profile_options *how, int argc, char **argv)
{
	struct heap_locations_options where;
	const char *program = NULL;
	auto_release(dump_release) struct dump maps = { 0 };
	struct elf_file elf;
	struct churn c;
	int status = 0;

	if (argc > 1 && elf_file_open(&elf, argv[0])) {
		elf_file_release(&elf);
		program = *argv++;
		argc--;
	}
	if (maps_path && read_maps(&maps))
		return 1;
	if (!maps_path && program)
		dump_read_program(&maps, program);
	where = heap_options_locations(NAME, program, (const char **)argv, (size_t)argc);
	churn_init(&c, how, &where);
	for (int i = 0; i < argc; i++)
		status |= add_log(&c, argv[i], maps.map_count ? &maps : NULL);
	if (c.log_count)
		status |= show(&c);
	churn_release(&c);
	return status;
}

static int run_jemalloc_log(int argc, char **argv)
{
	struct profile_options how;
	int status = 2;

	if (argc < 1)
		return say_wrong(NAME, "no log is named; see " NAME " --help");
	if (heap_options.json && heap_options.csv)
		return say_wrong(NAME, "either --json or --csv");
	if (heap_options_profile(NAME, &how))
		status = read_and_show(&how, argc, argv);
	heap_options_release(&how);
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
	.more_options = heap_options_rows,
	.shared = OF_LOG,
	.run = run_jemalloc_log,
};
