/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How addresses of heap profile dumps get their names: the options that commands about dumps share,
 * and what is said about files that were not used. */
#include "cli/command.h"
#include "heap/heap_locations.h"

extern const char *heap_naming_sysroot;
extern bool heap_naming_debuginfod;
const char *heap_naming_add_path(const struct command_option *row, const char *value);
const char *heap_naming_add_prefixes(const struct command_option *row, const char *value);
#define HEAP_NAMING_ROWS                                                                           \
	{ "debug",                                                                                 \
	  'd',                                                                                     \
	  "PATH",                                                                                  \
	  "a file or a folder with symbols; may be repeated",                                      \
	  COMMAND_CALL,                                                                            \
	  NULL,                                                                                    \
	  heap_naming_add_path },                                                                  \
		{ "sysroot",	       0, "FOLDER", "where the program's files are", COMMAND_TEXT, \
		  &heap_naming_sysroot },                                                          \
		{ "lib_prefix", 0,    "FOLDER[,FOLDER…]",      "the same, looked at first",        \
		  COMMAND_CALL, NULL, heap_naming_add_prefixes },                                  \
	{                                                                                          \
		"debuginfod", 0, NULL, "ask the servers of DEBUGINFOD_URLS for debug symbols",     \
			COMMAND_FLAG, &heap_naming_debuginfod                                      \
	}

/* What the command line asked for; `program` may be NULL.  Folders of `dumps` are looked into as
 * well.  Says so, once, if servers cannot be asked. */
struct heap_locations_options heap_naming_options(const char *command, const char *program,
						  char *const *dumps, int dump_count);
/* Lines on stderr about files that look right and are not. */
void heap_naming_warn(const char *command, const struct heap_locations *p);
