/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A question that somebody asks: about which file, with which parameters and filters.
 *
 * A door (server, command line, script) fills in what was given and calls ask_check(); the question
 * reads it with the functions below.  One thread at a time. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "answer/param.h"
#include "answer/snapshot.h"
#include "base/json.h"
#include "query/measure.h"
#include "query/view.h"

/* Why there is no answer. */
struct fault {
	int status; /* as HTTP has them: 400 can be mended by the client; 0: there is none */
	char text[400];
	char parameter[64]; /* "": none */
	int64_t position;   /* in its value, in UTF-16 units; -1: none */
	unsigned methods;   /* 405 */
	double progress;    /* 503: of what is being loaded; below 0: not that */
};
#define FAULT_NONE ((struct fault){ .position = -1, .progress = -1 })

#define SOURCE_MAX (8u << 20) /* bytes of a source file that is shown */

struct ask {
	const struct param_row *rows; /* what can be given */
	bool filters;		      /* and filters, too */
	bool filters_repeat;	      /* any may be given again: all of them hold */
	bool takes_scripts;	      /* a custom_filter may be a script: see ask_script() */
	bool checks;		      /* an expression that cannot be read is noted in `checked` */
	struct params params;	      /* what was given */
	struct snapshot *snapshot;    /* the file that it is about; NULL: none */
	struct filter *filter;	      /* NULL: none, or taken by ask_view() */
	struct held_view *held;
	struct fault fault;
	struct fault checked;
	/* Another file, by what the door calls it: to be dropped, or NULL after ask_fail(). */
	struct snapshot *(*open)(struct ask *a, const char *parameter, const char *name);
	/* A source file that a recording names, where the door lets it be read: a descriptor;
	 * -ENOENT: it is not here; -errno with a sentence in *ret_why: it is not shown. */
	int (*open_source)(struct ask *a, const char *path, struct stat *ret_st,
			   const char **ret_why);
	void *door; /* the door's own */
};

/* Reads what was given as the rows say: true, or false with a->fault. */
bool ask_check(struct ask *a);
/* A custom_filter that is no expression, but a script that is worth a list of allocations; NULL:
 * there is none, or no more.  Whoever takes scripts runs it before anything is answered, and says
 * by ask_script_is() which expression it came to ("": everything): 0, or -EINVAL. */
struct param *ask_script(struct ask *a);
int ask_script_is(struct ask *a, struct param *p, const char *expression);
void ask_release(struct ask *a);

/* Notes what is wrong and returns -EINVAL.  `parameter` may be NULL. */
int ask_fail(struct ask *a, int status, const char *parameter, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* The same of an err of `parameter`'s value, with the position if there is one. */
int ask_fail_err(struct ask *a, const char *parameter, const struct err *err);

/* A parameter as it was given, else what its row says; NULL: neither. */
const char *ask_text(const struct ask *a, const char *name);
/* Was it given? */
bool ask_has(const struct ask *a, const char *name);
/* A number; "all" is UINT32_MAX, and so is more. */
uint32_t ask_count(const struct ask *a, const char *name);
bool ask_bool(const struct ask *a, const char *name);
double ask_real(const struct ask *a, const char *name);
/* Which of `words` it is; `count` if it is none of them. */
unsigned ask_choice(const struct ask *a, const char *name, const char *const *words,
		    unsigned count);
/* weight=count? */
bool ask_by_count(const struct ask *a);
/* order=dsc? */
bool ask_descending(const struct ask *a);
/* A moment in ns after the start; false if it was not given. */
bool ask_time(const struct ask *a, const char *name, const struct model *m, uint64_t *ret_ns);
/* The stamp of "at", the peak's if it was not given; in ns after the start too. */
uint64_t ask_moment(const struct ask *a, uint64_t *ret_ns);
/* A moment as text; false if it is none. */
bool ask_time_text(const char *text, const struct model *m, uint64_t *ret_ns);
/* What measure, at and below say: 0, or -EINVAL after ask_fail(). */
int ask_measuring(struct ask *a, const struct model *m, struct measuring *ret_measuring);
/* "measure", "at_ns". */
void ask_measuring_json(struct json *j, const struct model *m, const struct measuring *how);
/* The allocations that its filters choose; NULL after ask_fail(). */
const struct view *ask_view(struct ask *a);
/* Another recording (NULL: the same once more), with the same filters: the caller gives both back
 * with ask_give().  False after ask_fail(). */
struct other {
	struct snapshot *snapshot;
	struct held_view *held;
};
/* After an answer was computed: did what was asked for it arrive?  0, or -EINVAL after ask_fail().
 * `h` may be NULL. */
int ask_check_source(struct ask *a, const struct held_view *h);
/* Of a fleet: adds a parameter's value, an expression, to the filters that are given. */
int ask_narrow(struct ask *a, const char *parameter);
/* What the same filters choose of a recording, which is held too. */
bool ask_other_view(struct ask *a, struct snapshot *s, struct other *ret_other);
bool ask_other(struct ask *a, const char *parameter, const char *name, struct other *ret_other);
void ask_give(struct other *o);

/* Rows that many tables have. */
#define PARAM_MEASURES "leaked|peak|allocated|temporary|alive|alive_at|short_lived|pinned"
#define PARAMS_MEASURE(otherwise)                                                                  \
	{ "measure",	   PARAM_CHOICE, otherwise, "what is weighed", .values = PARAM_MEASURES,   \
	  .telling = true, .letter = 'm' },                                                        \
		{ "at", PARAM_TIME, NULL, "what was alive then: 1.5s after the start, 50%" },      \
	{                                                                                          \
		"below", PARAM_DURATION, NULL, "what lived less than that: 10ms"                   \
	}
#define PARAMS_PAGE(otherwise)                                                                     \
	{ "skip", PARAM_COUNT, "0", "rows that are left out" },                                    \
	{                                                                                          \
		"count", PARAM_COUNT, otherwise, "rows at most", .letter = 'n'                     \
	}
#define PARAM_WEIGHT                                                                               \
	{                                                                                          \
		"weight", PARAM_CHOICE, "bytes", "what orders, prunes and is drawn",               \
			.values = "bytes|count"                                                    \
	}
#define PARAM_ORDER(otherwise)                                                                     \
	{                                                                                          \
		"order", PARAM_CHOICE, otherwise, "asc or dsc", .values = "asc|dsc|desc"           \
	}
#define PARAM_STRIP                                                                                \
	{                                                                                          \
		"strip_template_args", PARAM_BOOL, "false",                                        \
			"template arguments of C++ become <...>"                                   \
	}
