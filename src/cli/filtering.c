/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options that choose allocations.  See filtering.h. */
#include "cli/filtering.h"

#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "cli/naming.h"

#define HELP_COLUMN 30
#define HELP_WIDTH 80

static struct filter *filter;
static struct params given; /* the same, as it was given */
static bool no_cache;

/* What is wrong; when a position is known, the expression and a caret under it. */
static const char *complaint(const struct err *err, const char *expression)
{
	static struct buf text;
	auto_buf struct buf before = { 0 };

	buf_clear(&text);
	if (err->offset == ERR_NO_OFFSET || strchr(expression, '\n')) {
		buf_text(&text, err->text);
		return text.data;
	}
	buf_add(&before, expression, (size_t)err->offset);
	buf_printf(&text, "column %zu: %s\n  ", text_columns(before.data ? before.data : "") + 1,
		   err->text);
	buf_printable(&text, expression, strlen(expression));
	buf_text(&text, "\n  ");
	buf_repeat(&text, ' ', before.data ? text_columns(before.data) : 0);
	buf_char(&text, '^');
	return text.data;
}

static const char *set_filter(const struct command_option *row, const char *value)
{
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!filter)
		filter = filter_new();
	params_add(&given, "filter", value, &err);
	return filter_parse(filter, value, &err) ? complaint(&err, value) : NULL;
}

static const char *set_row(const struct command_option *option, const char *value)
{
	const struct filter_row *row = option->context;
	struct err err = { .offset = ERR_NO_OFFSET };

	if (!filter)
		filter = filter_new();
	params_add(&given, row->name, value ? value : "true", &err);
	return filter_add(filter, row->name, value, &err) ? complaint(&err, value) : NULL;
}

const struct command_option *filtering_options(void)
{
	static const struct command_option options[] = {
		CALL("filter", 'F', "EXPRESSION",
		     "only allocations that fulfil it; may be repeated", set_filter),
		NAMING_ROWS,
		FLAG("no-cache", 0, "neither use nor make a cache of the recording", &no_cache),
		{ 0 },
	};

	return options;
}

/* size_min as --size-min; kept for the life of the program. */
static const char *option_name(const char *name)
{
	char *copy = xstrdup(name);

	for (char *p = copy; *p; p++)
		if (*p == '_')
			*p = '-';
	return copy;
}

/* "all|only_leaked" of "all: ; only_leaked: leaked"; kept for the life of the program. */
static const char *choices_of(const struct filter_row *row)
{
	struct buf words = { 0 };

	if (row->type == ARG_YES_NO)
		return "yes|no";
	if (row->type != ARG_CHOICE)
		return NULL;
	for (const char *at = row->meaning; at; at = strchr(at, ';')) {
		at += strspn(at, "; ");
		buf_printf(&words, "%s%.*s", words.size ? "|" : "", (int)strcspn(at, ":"), at);
	}
	return words.data;
}

const struct command_option *filtering_rows(void)
{
	static struct command_option *options;
	size_t count = 0, n = 0;

	if (options)
		return options;
	while (filter_rows[count].name)
		count++;
	options = xcalloc(count + 1, sizeof(*options));
	for (const struct filter_row *row = filter_rows; row->name; row++)
		if (row->type != ARG_EXPRESSION || !*row->meaning)
			options[n++] = (struct command_option){
				.name = option_name(row->name),
				.argument = value_name(row->type),
				.help = row->help,
				.type = COMMAND_CALL,
				.set = set_row,
				.context = row,
				.words = choices_of(row),
			};
	return options;
}

void filtering_help(struct buf *out)
{
	buf_text(out,
		 "\nEvery filter is an option too, such as --size-min 1k, --lifetime only_leaked,\n"
		 "--function-regex '^std::' or --alive-at 50%; memoir help filters lists them.\n");
}

static void manual_line(struct buf *out, const char *name, const char *argument, const char *help)
{
	size_t start = out->size;

	buf_printf(out, "  %s%s%s", name, argument ? " " : "", argument ? argument : "");
	text_column(out, start, HELP_COLUMN);
	text_wrap(out, help, HELP_COLUMN, HELP_WIDTH);
}

/* The words of a row that has some. */
static void manual_choices(struct buf *out, const char *meaning)
{
	auto_buf struct buf line = { 0 };

	for (; meaning; meaning = strchr(meaning, ';')) {
		size_t n;

		meaning += strspn(meaning, "; ");
		n = strcspn(meaning, ":");
		if (line.size && HELP_COLUMN + line.size + n > 78) {
			buf_repeat(out, ' ', HELP_COLUMN);
			buf_printf(out, "%s\n", line.data);
			buf_clear(&line);
		}
		buf_printf(&line, "%s%.*s", line.size ? ", " : "", (int)n, meaning);
	}
	buf_repeat(out, ' ', HELP_COLUMN);
	buf_printf(out, "%s\n", line.data);
}

void filtering_manual(struct buf *out)
{
	static const enum filter_arg explained[] = { ARG_SIZE, ARG_COUNT,   ARG_DURATION,
						     ARG_TIME, ARG_ADDRESS, ARG_REGEX,
						     ARG_IDS,  ARG_THREAD };

	buf_text(out,
		 "Which allocations? Commands that take filters have --filter EXPRESSION\n"
		 "(-F), and one option for each filter; all that are given must hold.\n\n"
		 "  memoir groups -F 'size >= 1k and not function ~ \"^std::\"' app.dat\n"
		 "  memoir allocations --lifetime only_leaked --size-min 1M app.dat\n\n"
		 "An expression has and, or, not (&&, ||, !), parentheses, and comparisons of\n"
		 "fields: = != < <= > >=, and ~ !~ for regular expressions. frame(…) asks\n"
		 "for one frame that fulfils several conditions:\n"
		 "frame(function ~ \"alloc\" and source ~ \"pool\"). Every filter is also a\n"
		 "function: size_min(1k).\n\nFields\n");
	for (const struct filter_field *f = filter_fields; f->name; f++)
		manual_line(out, f->name, value_name(f->type), f->help);
	buf_text(out, "\nFilters (as options: --size-min SIZE)\n");
	for (const struct filter_row *row = filter_rows; row->name; row++) {
		manual_line(out, row->name, value_name(row->type), row->help);
		if (row->type == ARG_CHOICE)
			manual_choices(out, row->meaning);
	}
	buf_text(out, "\nValues\n");
	for (size_t i = 0; i < sizeof(explained) / sizeof(*explained); i++)
		manual_line(out, value_name(explained[i]), NULL, value_help(explained[i]));
}

struct filter *filtering_take(void)
{
	struct filter *taken = filter;

	filter = NULL;
	return taken;
}

struct params *filtering_params(void)
{
	return &given;
}

bool filtering_no_cache(void)
{
	return no_cache;
}
