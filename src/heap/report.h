/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What can be made of a profile: one file report_<name>.c that ends in a const descriptor
 * `heap_report_<name>`, and the word <name> in this folder's meson.build.  The command's options,
 * and whoever else offers reports, come from the table. */
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/profile.h"
#include "heap/source.h"
#include "heap/top.h"

struct buf;
struct json;
struct sink;

/* How rows are written: as a person reads them, or for programs. */
enum heap_form { HEAP_TEXT, HEAP_JSON, HEAP_CSV };

struct heap_report_options {
	enum heap_measure measure;
	bool by_cum;	 /* order by cumulative amounts */
	bool show_bytes; /* not megabytes */
	uint64_t rows;	 /* of a table, at most */
	const char *title;
	const char *base;	     /* what was taken away, or NULL */
	const struct pattern *about; /* of reports that take a REGEX */
	enum heap_form form;	     /* one that the report has */
	/* Of a report of one whole dump: the dump itself, unpacked; and nothing of the profile's
	 * is left out. */
	const void *dump;
	size_t dump_size;
	/* Where sources are; NULL: none is read, for callers that show reports to others. */
	const struct source_options *sources;
	/* Of graphs: how much of the whole a node or an edge is at least, and how many there are.
	 */
	double node_fraction, edge_fraction;
	uint64_t node_count, max_degree;
};

struct heap_report {
	const char *name;     /* the option */
	const char *argument; /* "REGEX": it is about functions that match; NULL: takes none */
	const char *help;
	const char *mime;
	const char *extension; /* of its files: "txt" */
	bool binary;	       /* not for a terminal */
	bool gzip;	       /* compressed, whatever the file is called */
	bool by_thread;	       /* wants a sample for each thread of a stack */
	bool whole;	       /* is about one dump, and wants its bytes */
	bool has_forms;	       /* its rows can be written in every form */
	enum heap_form form;   /* of json and csv: beside a report that has forms, that one in it */
	int (*write)(const struct profile *p, const struct heap_report_options *o, struct sink *out,
		     struct err *err);
};

extern const struct heap_report *const heap_reports[]; /* NULL at the end */
/* By name, or NULL. */
const struct heap_report *heap_report_find(const char *name);

/* An amount as reports print it: whole bytes or objects (cut, not rounded, as those of jeprof), or
 * megabytes with one digit. */
struct heap_text {
	char text[32];
};
const char *heap_amount_text(struct heap_text *out, double value,
			     const struct heap_report_options *o);
bool heap_counts_objects(enum heap_measure m);
/* "B", "MB" or "objects" */
const char *heap_unit(const struct heap_report_options *o);
/* What is left of a difference of equal amounts that were added up in another order. */
bool heap_is_nothing(double value);
/* "Total: 38.5 MB", of all that is in the dumps, as jeprof has it; and how much of that is shown.
 */
void heap_put_total(struct buf *out, const struct profile *p, const struct heap_report_options *o);
/* Own and cumulative amount before a line of a source or of code, "." for nothing; and such a line,
 * its tabs as they are. */
void heap_put_pair(struct buf *out, const struct dump_amounts *flat, const struct dump_amounts *cum,
		   const struct heap_report_options *o);
void heap_put_source(struct buf *out, const char *line, size_t size);
/* The weight of a stack as a whole number, never less than 0. */
uint64_t heap_weight(const struct dump_amounts *a, enum heap_measure m);

const char *heap_measure_name(enum heap_measure m);
/* All four amounts: an object, or as many cells.  A JSON report begins with its measure, the
 * total, and an array of rows; a CSV one with names, and flat and cumulative amounts. */
void heap_json_amounts(struct json *j, const char *key, const struct dump_amounts *a);
void heap_json_begin(struct json *j, struct buf *out, const struct profile *p,
		     const struct heap_report_options *o, const char *rows);
void heap_json_end(struct json *j);
void heap_csv_amounts(struct buf *out, const struct dump_amounts *a);
void heap_csv_head(struct buf *out, const char *prefix);
void heap_csv_begin(struct buf *out, const char *names);
