/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The parameters of a question: rows that say what there is, and what somebody gave.
 *
 * The same rows check a request's address, are the options of a command, and are listed by /api.
 * Nothing that was given is believed before param_check().  Any thread. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;

#define PARAMS_MAX 128 /* in one request */

enum param_type {
	PARAM_TEXT,
	PARAM_CHOICE,	/* one of `values`, with | between */
	PARAM_BOOL,	/* true or false */
	PARAM_COUNT,	/* a whole number, at most `max`; 10k too */
	PARAM_NUMBER,	/* a whole number */
	PARAM_REAL,	/* percent, with decimals */
	PARAM_TIME,	/* as in filters */
	PARAM_DURATION, /* as in filters */
	PARAM_RECORDING,
	PARAM_TYPES
};

struct param_row {
	const char *name;
	enum param_type type;
	const char *fallback; /* if it is not given; NULL: nothing */
	const char *help;
	const char *values; /* PARAM_CHOICE */
	uint64_t max;	    /* PARAM_COUNT; 0: no limit */
	bool required;
	const char *option; /* on the command line, if not called as here: "sort" for sort_by */
	char letter;	    /* there, too; 0: none */
	bool foreign;	    /* what other tools' pages send: no option of a command */
	bool telling;	    /* that it is given says something, even if it is given its fallback */
};

struct param {
	char *name, *value;
	const struct param_row *row; /* NULL: a filter */
	bool script;		     /* of which the value is to be known first: ask_script() */
};

struct params {
	char *path; /* decoded; NULL: there is none */
	struct param *rows;
	size_t count, room;
};

/* Takes an address apart ("/data/x?a=b"): 0, or -EINVAL with err.  Released in either case. */
int params_decode(struct params *p, const char *address, struct err *err);
void params_release(struct params *p);
/* One more, as it is: 0, or -EINVAL with err. */
int params_add(struct params *p, const char *name, const char *value, struct err *err);
/* More, written as in an address ("count=20&order=dsc"): 0, or -EINVAL with err. */
int params_decode_query(struct params *p, const char *query, struct err *err);

/* Can a value be read as its row says?  0, or -EINVAL with err. */
int param_check(const struct param_row *row, const char *value, struct err *err);
/* "choice": the type's name in /api. */
const char *param_type_name(enum param_type type);
/* "a, b or c" of words with | between. */
void param_words(struct buf *out, const char *words);
/* Is `word` one of words with | between? */
bool param_is_word(const char *words, const char *word);
/* The row of a name, or NULL. */
const struct param_row *param_row_find(const struct param_row *rows, const char *name);
/* How many UTF-16 units the first `bytes` of a text are: what browsers count in. */
uint64_t param_position(const char *text, uint64_t bytes);
