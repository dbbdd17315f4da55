/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A request's address, taken apart: path and parameters, decoded, with nothing believed.
 *
 * What a parameter may be is a row of its route's table; /api is made of the same rows. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

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
	bool telling; /* that it is given says something, even if it is given its fallback */
};

struct param {
	char *name, *value;
	const struct param_row *row; /* NULL: a filter */
};

struct params {
	char *path; /* decoded */
	struct param *rows;
	size_t count, room;
};

/* Takes an address apart ("/data/x?a=b"): 0, or -EINVAL with err.  Released in either case. */
int params_decode(struct params *p, const char *address, struct err *err);
void params_release(struct params *p);

/* Can a value be read as its row says?  0, or -EINVAL with err. */
int param_check(const struct param_row *row, const char *value, struct err *err);
/* "choice": the type's name in /api. */
const char *param_type_name(enum param_type type);
/* Is `word` one of words with | between? */
bool param_is_word(const char *words, const char *word);
/* How many UTF-16 units the first `bytes` of a text are: what browsers count in. */
uint64_t param_position(const char *text, uint64_t bytes);
