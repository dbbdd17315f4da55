/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What can be asked about a file: one question, one file <word>.c of this folder that ends in
 * `const struct question question_<word>`, and the word in meson.build.
 *
 * Every door is made from these rows: the server's paths and /api, `memoir <command> --json` with
 * its options, scripts, completion, docs/http-api.md.  A door adds what it shows differently: the
 * command line a table in text, the page a view.  compute() fills a plain struct of `size` bytes,
 * which is zeroed before and which every door reads; write_members() writes it as JSON.
 *
 * Any thread may ask anything at any time: what an answer keeps for the next one is in the
 * snapshot, behind its locks. */
#include <stdbool.h>
#include <stddef.h>

#include "answer/ask.h"
#include "answer/param.h"
#include "base/json.h"

struct sink;

/* What the page asks when it is opened, so that a server may ask it first. */
struct prefetch {
	unsigned turn; /* the least first; 0 behind the last row */
	const char *query;
};

struct question {
	const char *name; /* "histogram": /data/{id}/histogram, question_histogram, a script's
			     function */
	/* Over HTTP, where <name> is something else there; NULL: <name>.  Behind /data/{id}/, or
	 * /dumps/{id}/ for kind "heap", /folders/{id}/ for "processes", /fleets/{id}/ for
	 * "fleet"; a {word} in it is the parameter of that name. */
	const char *path;
	const char *help;		/* one line */
	const char *kind;		/* of file that it is about; NULL: a recording */
	const struct param_row *params; /* ends with a row without a name; may be NULL */
	bool filters;			/* takes filter rows and expressions */
	bool fleets;			/* can be asked of a fleet, too (kind_fleet.h) */
	bool checks; /* an expression that cannot be read is no fault: see ask.checked */
	/* Is the answer so long that it is not kept, but written while it is read?  NULL: no. */
	bool (*is_long)(const struct ask *a);
	/* Do the parameters go together?  Asked before the file is read: 0, or -EINVAL after
	 * ask_fail().  NULL: always. */
	int (*check)(struct ask *a);
	const struct prefetch *prefetch; /* NULL: nothing of it */
	size_t size;			 /* of the struct that compute() fills */
	/* 0, or -errno; after ask_fail() where somebody can do something about it.  NULL: all that
	 * is written is in the snapshot. */
	int (*compute)(struct ask *a, void *answer);
	/* The members of the object that the answer is, or the values of the array, calling
	 * sink_turn(out) now and then where it is long. */
	bool is_array;
	void (*write_members)(struct ask *a, const void *answer, struct json *j, struct sink *out);
	void (*release)(
		void *answer); /* also of what compute() gave up on; NULL: nothing to free */
};

extern const struct question *const questions[]; /* NULL at the end */

/* By name, or NULL. */
const struct question *question_find(const char *name);
/* Computes what compute() does, and makes sure that it could: 0, or -errno. */
int question_compute(const struct question *q, struct ask *a, void *answer);
/* Writes what was computed as JSON: 0, or out->error. */
int question_write(const struct question *q, struct ask *a, const void *answer, struct sink *out);
/* Computes and writes: 0, or -errno. */
int question_answer(const struct question *q, struct ask *a, struct sink *out);
