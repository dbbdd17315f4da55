/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The option table and its parser.  See options.h: freestanding, runs inside the target before
 * its constructors as well as in `memoir run`. */
#include "wire/options.h"

#include <stddef.h>

const struct option_row option_rows[] = {
#define OPTION(field, type, env, flag, initial, help)                                              \
	{ env, flag, initial, help, OPTION_##type, offsetof(struct options, field) },
#include "wire/options.def"
#undef OPTION
};
const unsigned option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

static const struct {
	const char *env;
	uint32_t offset;
} alias_rows[] = {
#define OPTION(field, type, env, flag, initial, help)
#define ALIAS(field, env) { env, offsetof(struct options, field) },
#include "wire/options.def"
#undef OPTION
};

static const char *const log_names[] = { "off", "error", "warn", "info", "debug", "trace", NULL };
static const char *const full_names[] = { "wait", "drop", NULL };
static const char *const binaries_names[] = { "none", "tables", "full", NULL };
static const char *const true_names[] = { "1", "true", "yes", "on", NULL };
static const char *const false_names[] = { "0", "false", "no", "off", "", NULL };

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static int find_name(const char *const *names, const char *value)
{
	for (int i = 0; names[i]; i++)
		if (same(names[i], value))
			return i;
	return -1;
}

static bool parse_uint(const char *s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (!*s)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9' || v > (UINT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	*ret_value = v;
	return true;
}

/* Copies a text that fits; nothing is changed else. */
static bool set_text(char *out, size_t room, const char *value)
{
	size_t n = 0;

	while (value[n])
		if (++n == room)
			return false;
	for (size_t i = 0; i <= n; i++)
		out[i] = value[i];
	return true;
}

/* What an address of IPv4 or IPv6 is made of; whether it is one is for who uses it. */
static bool looks_like_address(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!(*s >= '0' && *s <= '9') && !(*s >= 'a' && *s <= 'f') &&
		    !(*s >= 'A' && *s <= 'F') && *s != '.' && *s != ':')
			return false;
	return true;
}

bool options_is_true(const char *value)
{
	return find_name(true_names, value) >= 0;
}

bool options_set(struct options *o, const struct option_row *row, const char *value)
{
	void *field = (char *)o + row->offset;
	uint64_t number;
	int choice;

	switch (row->type) {
	case OPTION_STRING:
		return set_text(field, OPTIONS_STRING_SIZE, value);
	case OPTION_ADDRESS:
		return looks_like_address(value) && set_text(field, OPTIONS_ADDRESS_SIZE, value);
	case OPTION_BOOL:
		if (options_is_true(value))
			*(bool *)field = true;
		else if (find_name(false_names, value) >= 0)
			*(bool *)field = false;
		else
			return false;
		return true;
	case OPTION_UINT:
		if (!parse_uint(value, &number))
			return false;
		*(uint64_t *)field = number;
		return true;
	case OPTION_USER:
		number = OPTION_NOBODY;
		/* The greatest number means nobody to the kernel. */
		if (*value && (!parse_uint(value, &number) || number >= UINT32_MAX))
			return false;
		*(uint64_t *)field = number;
		return true;
	case OPTION_CHOICE_BINARIES:
		/* It was a switch, and other tools' settings have it as one. */
		choice = find_name(true_names, value) >= 0    ? BINARIES_TABLES
			 : find_name(false_names, value) >= 0 ? BINARIES_NONE
							      : find_name(binaries_names, value);
		if (choice < 0)
			return false;
		*(uint32_t *)field = (uint32_t)choice;
		return true;
	case OPTION_CHOICE_LOG:
	case OPTION_CHOICE_FULL:
		choice = find_name(row->type == OPTION_CHOICE_LOG ? log_names : full_names, value);
		if (choice < 0)
			return false;
		*(uint32_t *)field = (uint32_t)choice;
		return true;
	}
	return false;
}

const char *options_accepted(const struct option_row *row)
{
	switch (row->type) {
	case OPTION_STRING:
		return "a text of at most 4095 bytes";
	case OPTION_ADDRESS:
		return "an address in numbers, such as 127.0.0.1, 0.0.0.0 or ::1";
	case OPTION_BOOL:
		return "1, true, yes, on, 0, false, no, off";
	case OPTION_UINT:
		return "a whole number";
	case OPTION_USER:
		return "a user's number, or nothing";
	case OPTION_CHOICE_LOG:
		return "off, error, warn, info, debug, trace";
	case OPTION_CHOICE_FULL:
		return "wait, drop";
	case OPTION_CHOICE_BINARIES:
		return "tables (or 1, true, yes, on), full, none (or 0, false, no, off)";
	}
	return "";
}

void options_init(struct options *o)
{
	for (unsigned i = 0; i < option_row_count; i++)
		options_set(o, &option_rows[i], option_rows[i].initial);
}

/* The value of NAME=value in `entry`, or NULL if it is another variable's. */
static const char *value_of(const char *entry, const char *name)
{
	while (*name && *entry == *name)
		entry++, name++;
	return !*name && *entry == '=' ? entry + 1 : NULL;
}

static size_t append(char *line, size_t used, size_t size, const char *text)
{
	while (*text && used + 1 < size)
		line[used++] = *text++;
	line[used] = 0;
	return used;
}

static void warn_about(const struct option_row *row, const char *env, const char *value,
		       options_warn warn, void *context)
{
	char line[400];
	size_t n = append(line, 0, sizeof(line), env);

	n = append(line, n, sizeof(line), "=");
	n = append(line, n, 200, value);
	n = append(line, n, sizeof(line), " is not understood and ignored; accepted: ");
	append(line, n, sizeof(line), options_accepted(row));
	warn(context, line);
}

/* Sets a row from its variable, or from another name for it. */
static void from_variable(struct options *o, char *const *environment, const char *env,
			  const struct option_row *row, options_warn warn, void *context)
{
	for (; *environment; environment++) {
		const char *value = value_of(*environment, env);

		if (value && !options_set(o, row, value))
			warn_about(row, env, value, warn, context);
	}
}

void options_from_environment(struct options *o, char *const *environment, options_warn warn,
			      void *context)
{
	for (unsigned a = 0; a < sizeof(alias_rows) / sizeof(alias_rows[0]); a++)
		for (unsigned i = 0; i < option_row_count; i++)
			if (option_rows[i].offset == alias_rows[a].offset)
				from_variable(o, environment, alias_rows[a].env, &option_rows[i],
					      warn, context);
	for (unsigned i = 0; i < option_row_count; i++)
		from_variable(o, environment, option_rows[i].env, &option_rows[i], warn, context);
}
