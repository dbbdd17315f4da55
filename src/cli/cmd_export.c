/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir export: a recording in another tool's format. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answer/folder.h"
#include "base/buf.h"
#include "base/buf_text.h"
#include "base/human.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/progress.h"
#include "base/sink.h"
#include "base/term.h"
#include "cli/command.h"
#include "cli/filtering.h"
#include "cli/open.h"
#include "cli/processes.h"
#include "cli/shape.h"
#include "cli/waiting.h"
#include "export/export.h"
#include "export/merged_flame.h"

static struct shape_measure measure;
static const char *output, *color, *stacks;
static bool list, by_count, groups;

static const struct command_option options[] = {
	VALUE("output", 'o', "FILE", "write to this file (- or none: standard output)", &output),
	FLAG("list", 'l', "list the formats, and what opens them", &list),
	SHAPE_MEASURE_OPTIONS(measure),
	FLAG("count", 'c', "weigh by blocks, not by bytes", &by_count),
	FLAG("groups", 'g', "json and csv: one row a stack, not one an allocation", &groups),
	WORD("stacks", 0, "HOW",
	     "json: whole in every row (the default), or in a table of their own", &stacks,
	     .words = "whole or table"),
	WORD("color", 0, "WHEN", "auto, always or never", &color),
	WAITING_ROWS,
	{ 0 },
};

static int show_list(void)
{
	struct buf out = { 0 };
	struct term term;

	term_init(&term, 1, color);
	for (const struct exporter *const *e = exporters; *e; e++)
		term_printf(&term, &out, "{strong}%-12s{} %s\n%-12s {dim}%s{}\n", (*e)->name,
			    (*e)->help, "", (*e)->viewer);
	return buf_flush(&out, 1) ? 1 : 0;
}

static const struct exporter *find_exporter(const char *name)
{
	const struct exporter *found = exporter_find(name);
	struct nearest near = nearest_to(name);

	if (found)
		return found;
	for (const struct exporter *const *e = exporters; *e; e++)
		nearest_consider(&near, (*e)->name);
	fprintf(stderr, "memoir export: there is no format '%s'%s\n", name,
		nearest_hint(&near, "; memoir export --list shows them"));
	return NULL;
}

static int fail(const struct err *err)
{
	fprintf(stderr, "memoir export: %s%s%s\n", output ? output : "", output ? ": " : "",
		err->text);
	return 1;
}

/* Totals that are not those of `memoir info` are not to be wondered about. */
static void tell_removed(const struct exporter *e, const struct model *m)
{
	uint64_t count = m->totals.allocations - m->recorded.allocations;

	if (e->events_only && count)
		fprintf(stderr,
			"memoir export: %s allocations were removed from this recording; %s has "
			"events only, so it is without them\n",
			count_text(count), e->name);
}

/* What cannot be written is said, not died of. */
static int open_output(const struct exporter *e, struct sink *sink, struct err *err)
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (output)
		return sink_to_file(sink, output, exporter_codec(e, output), err);
	sink_to_fd(sink, 1, exporter_codec(e, NULL));
	return 0;
}

/* One process of a folder. */
static int add_member(const struct exporter *e, struct export *x, struct snapshot *s,
		      const struct filter *filter, struct merged_flame *m, struct sink *sink)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	struct view *v = view_new(s->model, s->locations, filter, &err);
	auto_buf struct buf label = { 0 };
	int error;

	if (!v) {
		fprintf(stderr, "memoir export: %s\n", err.text);
		return -EINVAL;
	}
	process_label(s->model, &label);
	buf_char(&label, 0);
	x->process = label.data;
	x->view = v;
	x->measuring = shape_measuring(s->model, &measure, MEASURE_ALLOCATED);
	error = e->add(x, m, sink);
	x->view = view_free(v);
	return error;
}

static int export_folder(const struct exporter *e, char *path)
{
	struct open_options how = { .quiet = true };
	struct err err = { .offset = ERR_NO_OFFSET };
	int status, error = 0;
	struct snapshot *folder = open_kind("export", path, "processes", &how, &status);
	struct filter *filter = filtering_take();
	struct export x = { .by_count = by_count, .title = path };
	struct merged_flame m;
	struct sink sink;

	if (!folder || open_output(e, &sink, &err)) {
		status = folder ? fail(&err) : status;
		filter_free(filter);
		snapshot_drop(folder);
		return status;
	}
	merged_flame_init(&m);
	for (size_t i = 0; i < folder->folder->count && !error; i++) {
		struct snapshot *s = folder_take(folder->folder, i, &err);

		if (s)
			error = add_member(e, &x, s, filter, &m, &sink);
		else
			status = STATUS_FAILED;
		snapshot_drop(s);
	}
	if (!error && e->finish)
		error = e->finish(&x, &m, &sink);
	merged_flame_release(&m);
	filter_free(filter);
	snapshot_drop(folder);
	if (error && !sink.error) {
		sink_cancel(&sink);
		return STATUS_FAILED;
	}
	return sink_finish(&sink, &err) ? fail(&err) : status;
}

static int write_out(const struct exporter *e, struct opened *o)
{
	const char *program = model_info(o->model, "executable");
	struct progress bar;
	struct export x = {
		.view = o->view,
		.measuring = shape_measuring(o->model, &measure, MEASURE_ALLOCATED),
		.by_count = by_count,
		.groups = groups,
		.stack_table = stacks && !strcmp(stacks, "table"),
		.title = program ? path_base(program) : "program",
		.progress = &bar,
	};
	struct err err = { .offset = ERR_NO_OFFSET };
	struct sink sink;
	int error;

	tell_removed(e, o->model);
	opened_names(o);
	if (open_output(e, &sink, &err))
		return fail(&err);
	progress_start(&bar, "writing");
	error = e->write(&x, &sink, &err);
	progress_end(&bar);
	/* What went wrong while writing is said by sink_finish(), whoever noticed it first. */
	if (error && !sink.error) {
		sink_cancel(&sink);
		return fail(&err);
	}
	return sink_finish(&sink, &err) ? fail(&err) : o->status;
}

static int run_export(int argc, char **argv)
{
	struct open_options how = { .quiet = true };
	const struct exporter *e;
	struct opened o;
	int status;

	if (list)
		return show_list();
	if (argc < 2) {
		fprintf(stderr, "memoir export: %s (memoir export --help says more)\n",
			argc ? "which recording?"
			     : "which format? memoir export --list shows them");
		return 2;
	}
	if (output && !strcmp(output, "-"))
		output = NULL;
	if (!(e = find_exporter(argv[0])) || !shape_measure_check("export", &measure))
		return 2;
	if (e->binary && !output && isatty(1)) {
		fprintf(stderr, "memoir export: %s is not for a terminal; give -o FILE.%s\n",
			e->name, e->extension);
		return 2;
	}
	if (argc == 2 && e->add && processes_is_folder(argv[1]))
		return export_folder(e, argv[1]);
	if (!open_view("export", argc - 1, argv + 1, &how, &o))
		return o.status;
	status = write_out(e, &o);
	opened_release(&o);
	return status;
}

static const char *format_at(unsigned i, const char **ret_help)
{
	if (!exporters[i])
		return NULL;
	*ret_help = exporters[i]->help;
	return exporters[i]->name;
}

const struct command command_export = {
	.argument_word = format_at,
	.name = "export",
	.args = "FORMAT FILE",
	.help = "write it for another tool: flame graphs, pprof, heaptrack …",
	.examples =
		"  memoir export --list\n"
		"  memoir export flamegraph app.dat -m leaked -o leaks.svg\n"
		"  memoir export flamegraph recordings/ -m peak -o all.svg   of all processes\n"
		"  memoir export html app.dat -o app.html       one page to attach to a bug\n"
		"  memoir export pprof app.dat -o app.pb.gz && go tool pprof -http : app.pb.gz\n"
		"  memoir export heaptrack app.dat -o app.zst && heaptrack_gui app.zst\n"
		"  memoir export massif app.dat -o app.massif && ms_print app.massif\n"
		"  memoir export firefox app.dat -o app.json.gz     # open it at "
		"profiler.firefox.com\n"
		"  memoir export collapsed app.dat -m peak --function-regex parse | "
		"flamegraph.pl\n",
	.options = options,
	.takes_filters = true,
	.run = run_export,
};
