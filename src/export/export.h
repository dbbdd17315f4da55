/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What an output format is: one file <name>.c that ends in a const descriptor `exporter_<name>`,
 * and the word <name> in this folder's meson.build.
 *
 * `memoir export`, the HTTP API and scripts all walk the table; nobody else knows a format.  An
 * exporter gets a view (filters are applied already) and a sink, and streams: it holds what is
 * proportional to stacks and names, never to allocations.  Any thread may call write(), and several
 * at the same time, each with an export and a sink of its own. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"
#include "query/measure.h"
#include "query/view.h"

struct buf;
struct sink;

struct export
{
	const struct view *view;
	struct measuring measuring; /* of formats with one weight (`one_measure`) */
	bool by_count;		    /* blocks instead of bytes, where one has to be chosen */
	bool groups;		    /* json, csv: one row a stack, not one an allocation */
	bool stack_table;	    /* json: stacks in a table of their own, rows have numbers */
	const char *title;	    /* for people: the program's name */
	const char *process;	    /* of several in one file: this one's name; else NULL */
	struct progress *progress;  /* may be NULL */
};

struct merged_flame;

struct exporter {
	const char *name;      /* "collapsed" */
	const char *extension; /* of a file name, without the dot */
	const char *mime;
	const char *viewer; /* what opens it */
	const char *help;   /* one line */
	bool binary;	    /* not for a terminal */
	bool gzip;	    /* compressed whatever the file is called */
	bool one_measure;   /* weighs by export.measuring */
	bool events_only;   /* cannot hold what was removed from a recording (model/removed.h) */
	/* 0, or -errno with err.  Names are resolved (locations_resolve_all) before it is called.
	 */
	int (*write)(const struct export *x, struct sink *out, struct err *err);
	/* Several processes in one file: add() for each, with x->process, then finish() without a
	 * view, which may be NULL.  NULL: the format is for one recording. */
	int (*add)(const struct export *x, struct merged_flame *m, struct sink *out);
	int (*finish)(const struct export *x, struct merged_flame *m, struct sink *out);
};

extern const struct exporter *const exporters[]; /* NULL at the end */
const struct exporter *exporter_find(const char *name);
/* How an output is packed: the exporter's way, else by the name of its file. */
enum sink_codec exporter_codec(const struct exporter *e, const char *path);

/* What was run: the command line with blanks, in one line, else the title. */
void export_command(const struct export *x, struct buf *out);

/* Tells the progress bar, if there is one. */
static inline void export_progress(const struct export *x, uint64_t done, uint64_t total)
{
	if (x->progress)
		progress_update(x->progress, done, total);
}
