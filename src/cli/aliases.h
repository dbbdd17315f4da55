/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of commands that Bytehound has and Memoir has otherwise: one table. */

struct buf;

struct alias {
	const char *name;     /* "export-heaptrack" */
	const char *command;  /* "export" */
	const char *argument; /* its first: "heaptrack" */
};

/* NULL: it is none. */
const struct alias *alias_find(const char *name);
/* The i-th; NULL behind the last. */
const struct alias *alias_at(unsigned i);
/* A line for each, for memoir --help. */
void aliases_help(struct buf *out);
