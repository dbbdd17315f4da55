/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Questions of any bytes as SQL.  The first line is a filter, the second a name: whatever they
 * hold, the server reads one condition, and what was chosen elsewhere stays within its quotes. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "fleet/range.h"
#include "fleet/sql.h"
#include "fuzz.h"

/* Behind a literal or name that begins at `at`. */
static const char *skip_quoted(const char *at)
{
	char quote = *at++;

	for (; *at != quote; at++) {
		if (!*at || (unsigned char)*at < ' ')
			abort();
		if (*at == '\\' && !*++at)
			abort();
	}
	return at + 1;
}

/* As the server reads it: no statement ends, no comment begins, parentheses match. */
static void check_sql(const struct buf *sql)
{
	const char *at = sql->data;
	int depth = 0;

	if (strlen(at) != sql->size)
		abort();
	while (*at) {
		if (*at == '\'' || *at == '`') {
			at = skip_quoted(at);
			continue;
		}
		if (strchr(";\\\"#", *at) || (unsigned char)*at < ' ' || !strncmp(at, "/*", 2) ||
		    (!strncmp(at, "--", 2)))
			abort();
		depth += (*at == '(') - (*at == ')');
		if (depth < 0)
			abort();
		at++;
	}
	if (depth)
		abort();
}

static void check_filter(const char *text)
{
	struct filter *f = filter_new();
	struct err err = { .text = "" };
	struct buf sql = { 0 };

	if (!filter_parse(f, text, &err)) {
		if (!sql_condition(&sql, f, 60, &err))
			check_sql(&sql);
		else if (!*err.text)
			abort(); /* refused, and not said why */
		buf_clear(&sql);
		if (!sql_condition_of_curves(&sql, f, 60, &err))
			check_sql(&sql);
	}
	buf_release(&sql);
	filter_free(f);
}

static void check_name(const char *name)
{
	static const char *const words[] = { "service", "label", "day" };
	struct buf sql = { 0 };

	sql_text(&sql, name);
	check_sql(&sql);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		buf_clear(&sql);
		if (!fleet_key(&sql, words[i], name))
			abort();
		check_sql(&sql);
	}
	buf_release(&sql);
}

FUZZ(fleet_sql, data, size)
{
	char *text = xmemdup0(data, size), *second = strchr(text, '\n');

	setenv("TZ", "UTC", 1);
	if (second)
		*second++ = 0;
	check_filter(text);
	if (second)
		check_name(second);
	free(text);
	return 0;
}
