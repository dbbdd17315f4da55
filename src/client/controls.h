/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What can be changed in a program through its agent (src/agent/control.c), one row for each: for
 * memoir jemalloc ctl, which has a word for it, and for the server, which has its name. */
#include <stdbool.h>

enum control_type { CONTROL_TEXT, CONTROL_NUMBER, CONTROL_SWITCH };

struct control_param {
	const char *name; /* NULL: there is none */
	enum control_type type;
	bool required;
};

#define CONTROL_PARAMS 2

struct control {
	const char *name; /* behind /control/; NULL ends the table */
	const char *word; /* of the command */
	struct control_param params[CONTROL_PARAMS];
	const char *args, *help;
	bool file; /* the answer is one */
};

extern const struct control controls[];

/* By name, or NULL. */
const struct control *controls_find(const char *name);
/* "number": the name of a type in JSON. */
const char *controls_type_name(enum control_type type);
