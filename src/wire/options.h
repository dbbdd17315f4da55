/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The options of a recording, read from the environment.
 *
 * Parsed by the recorder inside the target (plain LD_PRELOAD) or by `memoir run`, then handed on
 * through shared memory.  Freestanding: no libc calls, no allocation. */
#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_OFF, LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_TRACE };
enum when_full { FULL_WAIT, FULL_DROP };
/* What is kept of the program's files. */
enum write_binaries { BINARIES_NONE, BINARIES_TABLES, BINARIES_FULL };

#define OPTIONS_STRING_SIZE 4096
#define OPTIONS_ADDRESS_SIZE 64

#define OPTION_TYPE_STRING(name) char name[OPTIONS_STRING_SIZE]
#define OPTION_TYPE_ADDRESS(name) char name[OPTIONS_ADDRESS_SIZE]
#define OPTION_TYPE_BOOL(name) bool name
#define OPTION_TYPE_UINT(name) uint64_t name
#define OPTION_TYPE_USER(name) uint64_t name
#define OPTION_TYPE_CHOICE_LOG(name) uint32_t name
#define OPTION_TYPE_CHOICE_FULL(name) uint32_t name
#define OPTION_TYPE_CHOICE_BINARIES(name) uint32_t name

struct options {
#define OPTION(field, type, env, flag, initial, help) OPTION_TYPE_##type(field);
#include "wire/options.def"
#undef OPTION
};

enum option_type {
	OPTION_STRING,
	OPTION_ADDRESS,
	OPTION_BOOL,
	OPTION_UINT,
	OPTION_USER,
	OPTION_CHOICE_LOG,
	OPTION_CHOICE_FULL,
	OPTION_CHOICE_BINARIES
};

#define OPTION_NOBODY UINT64_MAX /* a USER that was not given */

struct option_row {
	const char *env, *flag, *initial, *help;
	enum option_type type;
	uint32_t offset; /* in struct options */
};

extern const struct option_row option_rows[];
extern const unsigned option_row_count;

/* Called with a whole line, without a newline, about a value that was not understood. */
typedef void (*options_warn)(void *context, const char *line);

void options_init(struct options *o);
/* Takes every known variable from an environment block; bad values keep the default and warn. */
void options_from_environment(struct options *o, char *const *environment, options_warn warn,
			      void *context);
/* Sets one row; false when the value cannot be understood (nothing is changed then). */
bool options_is_true(const char *value);
bool options_set(struct options *o, const struct option_row *row, const char *value);
/* "1, true, yes, on, 0, false, no, off" and the like, for messages. */
const char *options_accepted(const struct option_row *row);
