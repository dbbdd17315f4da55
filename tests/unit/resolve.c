/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* resolve [-d PATH]… [-p PATH] [-r] [-t] FILE: reads addresses from stdin and prints what they are,
 * by the way that commands go: a recording with a stack node at each, its model, its locations.
 *
 * For tests/e2e and bench/.  Each address is followed by two lines a frame, innermost first: the
 * function (-r: the raw name) and file:line:column; unknown is "??".  -p is the path that the
 * recording says FILE was at, -t prints how long it took instead. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "model/locations.h"
#include "recording_writer.h"
#include "symbols/elf_file.h"
#include "wire/shm.h"

#define PATHS_MAX 16
#define NODES_AT_ONCE 10000

static const char *debug_paths[PATHS_MAX];
static size_t debug_path_count;
static const char *recorded_path;
static bool raw, timed, debuginfod;

static void write_nodes(struct writer *w)
{
	struct writer_node nodes[NODES_AT_ONCE];
	uint32_t first = 1, count = 0;
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		nodes[count++] = (struct writer_node){ 0, strtoull(line, NULL, 16), 1, NODE_EXACT };
		if (count < NODES_AT_ONCE)
			continue;
		writer_nodes(w, first, nodes, count);
		first += count;
		count = 0;
	}
	if (count)
		writer_nodes(w, first, nodes, count);
}

static void print_location(struct locations *p, uint32_t id)
{
	unsigned count;
	const struct location_frame *f = locations_frames(p, id, &count);

	printf("0x%016" PRIx64 "\n", locations_at(p, id)->address);
	for (unsigned i = 0; i < count; i++) {
		uint32_t name = raw ? f[i].raw_function : f[i].function;

		printf("%s\n%s:%u:%u\n", name ? locations_string(p, name) : "??",
		       f[i].file ? locations_string(p, f[i].file) : "??", f[i].line, f[i].column);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_times(struct locations *p, double seconds)
{
	struct rusage usage;
	uint32_t named = 0;

	getrusage(RUSAGE_SELF, &usage);
	for (uint32_t i = 1; i < locations_count(p); i++) {
		unsigned count;

		named += locations_frames(p, i, &count)->line != 0;
	}
	printf("{\"seconds\": %.3f, \"addresses\": %u, \"with_line\": %u, \"peak_kib\": %ld}\n",
	       seconds, locations_count(p) - 1, named, usage.ru_maxrss);
}

static int resolve(const struct writer *w)
{
	struct locations_options how = { .debug_paths = debug_paths,
					 .debug_path_count = debug_path_count,
					 .debuginfod = debuginfod };
	struct model_options options = { 0 };
	struct locations *p;
	struct model *m;
	struct err err;
	double started;

	if (model_open_memory(&m, w->out.data, w->out.size, &err)) {
		fprintf(stderr, "resolve: %s\n", err.text);
		return 1;
	}
	model_load(m, &options);
	model_finish(m);
	started = now();
	p = locations_new(m, &how);
	locations_resolve_all(p);
	if (timed)
		print_times(p, now() - started);
	for (uint32_t i = 1; i < m->tables.nodes.count && !timed; i++)
		print_location(p, locations_of_node(p, i));
	locations_free(p);
	model_free(m);
	return 0;
}

int main(int argc, char **argv)
{
	struct elf_file f;
	struct writer w;
	int option, status;

	while ((option = getopt(argc, argv, "d:p:rtD")) >= 0) {
		if (option == 'd' && debug_path_count < PATHS_MAX)
			debug_paths[debug_path_count++] = optarg;
		recorded_path = option == 'p' ? optarg : recorded_path;
		raw |= option == 'r';
		timed |= option == 't';
		debuginfod |= option == 'D';
	}
	if (optind + 1 != argc || !elf_file_open(&f, argv[optind])) {
		fprintf(stderr, "resolve: give an ELF file\n");
		return 2;
	}
	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_module(&w, 1, 0, 0, NODE_ADDRESS_MASK, f.build_id, f.build_id_size,
		      recorded_path ? recorded_path : argv[optind]);
	write_nodes(&w);
	writer_end(&w, true);
	elf_file_release(&f);
	status = resolve(&w);
	writer_release(&w);
	return status;
}
