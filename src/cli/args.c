/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options from rows.  See args.h. */
#include "cli/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_text.h"
#include "base/buf_type.h"
#include "base/nearest.h"
#include "cli/answering.h"
#include "cli/filtering.h"

#define HELP_COLUMN 30
#define HELP_WIDTH 80
#define GROUP_COLUMN 46
#define WORD_MAX 64

static bool takes_filters(const struct command *c)
{
	return c->takes_filters || (c->answers && c->answers->question->filters);
}

const struct command_option *args_each_row(const struct command *c, bool shown,
					   bool (*visit)(const struct command_option *, void *),
					   void *context)
{
	const struct command_option *tables[] = {
		c->options,
		c->more_options ? c->more_options(c->shared) : NULL,
		c->answers ? answering_options(c->answers) : NULL,
		takes_filters(c) ? filtering_options() : NULL,
		takes_filters(c) && !shown ? filtering_rows() : NULL,
	};

	for (unsigned i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct command_option *row = tables[i]; row && row->name; row++)
			if (visit(row, context))
				return row;
	return NULL;
}

struct wanted {
	const char *name;
	size_t size;
	char letter;
};

static bool is_wanted(const struct command_option *row, void *context)
{
	const struct wanted *w = context;

	if (w->name)
		return strlen(row->name) == w->size && !memcmp(row->name, w->name, w->size);
	return row->letter == w->letter;
}

void args_suggest(const char *word, const char *list, struct buf *out)
{
	char room[WORD_MAX + 1];
	const char *nearest = nearest_in_list(word, list, room, sizeof(room));

	if (nearest)
		buf_printf(out, "; did you mean '%s'?", nearest);
}

/* Is it one of the words between commas and "or"? */
static bool is_word(const struct command_option *row, const char *value, struct buf *out)
{
	const char *words = row->words ? row->words : row->help;
	size_t size = strlen(value);

	for (const char *at = words; size && (at = strstr(at, value)); at += size)
		if ((at == words || at[-1] == ' ') && strchr(", ", at[size]) && strcmp(value, "or"))
			return true;
	buf_printf(out, "--%s is %s, not '%s'", row->name, words, value);
	args_suggest(value, words, out);
	return false;
}

static bool set(const struct command_option *row, const char *value, struct buf *out)
{
	const char *wrong, *digits = value ? value : "";
	char *end;

	switch (row->type) {
	case COMMAND_FLAG:
		*(bool *)row->target = true;
		return true;
	case COMMAND_TEXT:
		*(const char **)row->target = value;
		return true;
	case COMMAND_WORD:
		*(const char **)row->target = value;
		return is_word(row, value, out);
	case COMMAND_NUMBER:
		errno = 0;
		*(uint64_t *)row->target = strtoull(digits, &end, 10);
		if (*digits >= '0' && *digits <= '9' && !*end && !errno)
			return true;
		buf_printf(out, "--%s needs a number, not '%s'", row->name, digits);
		return false;
	case COMMAND_CALL:
		wrong = row->set(row, value);
		if (!wrong)
			return true;
		buf_printf(out, "--%s: %s", row->name, wrong);
		if (!strchr(wrong, '\n') && !strstr(wrong, "did you mean"))
			args_suggest(value, wrong, out);
		return false;
	}
	return false;
}

const char *args_nearest(const char *word, const char *const *words)
{
	struct nearest n = nearest_to(word);

	for (; *words; words++)
		nearest_consider(&n, *words);
	return nearest_found(&n);
}

static bool consider_row(const struct command_option *row, void *context)
{
	nearest_consider(context, row->name);
	return false;
}

static bool unknown(const struct command *c, const char *word, struct buf *out)
{
	struct nearest n = nearest_to(word + 2);
	char name[WORD_MAX + 1];
	size_t size = strcspn(word + 2, "=");

	if (size <= WORD_MAX) {
		memcpy(name, word + 2, size);
		name[size] = 0;
		n.word = name;
		args_each_row(c, false, consider_row, &n);
	}
	buf_printf(out, "there is no option %.*s", (int)(size + 2), word);
	if (nearest_found(&n))
		buf_printf(out, "; did you mean --%s?", n.best);
	return false;
}

struct words {
	int count;
	char **word;
};

static bool parse_long(const struct command *c, struct words *w, struct buf *out)
{
	const char *text = *w->word + 2, *equals = strchr(text, '=');
	struct wanted wanted = { .name = text,
				 .size = equals ? (size_t)(equals - text) : strlen(text) };
	const struct command_option *row = args_each_row(c, false, is_wanted, &wanted);

	if (!row)
		return unknown(c, *w->word, out);
	w->word++;
	w->count--;
	if (!row->argument) {
		if (!equals)
			return set(row, NULL, out);
		buf_printf(out, "--%s takes no value", row->name);
		return false;
	}
	if (equals)
		return set(row, equals + 1, out);
	if (!w->count) {
		buf_printf(out, "--%s needs a value: --%s %s", row->name, row->name, row->argument);
		return false;
	}
	w->count--;
	return set(row, *w->word++, out);
}

static bool parse_letters(const struct command *c, struct words *w, struct buf *out)
{
	const char *text = *w->word++ + 1;

	w->count--;
	for (; *text; text++) {
		struct wanted wanted = { .letter = *text };
		const struct command_option *row = args_each_row(c, false, is_wanted, &wanted);

		if (!row) {
			buf_printf(out, "there is no option -%c", *text);
			return false;
		}
		if (!row->argument) {
			if (!set(row, NULL, out))
				return false;
			continue;
		}
		if (text[1])
			return set(row, text + 1, out);
		if (!w->count) {
			buf_printf(out, "-%c needs a value: -%c %s", *text, *text, row->argument);
			return false;
		}
		w->count--;
		return set(row, *w->word++, out);
	}
	return true;
}

enum args_result args_parse(const struct command *c, int *argc, char ***argv, struct buf *out)
{
	struct words w = { *argc, *argv };
	char **left = *argv; /* words that are no options are moved to the front */
	int left_count = 0;

	while (w.count) {
		const char *word = *w.word;

		if (!strcmp(word, "--")) {
			w.word++;
			w.count--;
			break;
		}
		if (!strcmp(word, "--help") || !strcmp(word, "-h"))
			return ARGS_HELP;
		if (word[0] == '-' && word[1] == '-') {
			if (!parse_long(c, &w, out))
				return ARGS_WRONG;
		} else if (word[0] == '-' && word[1] &&
			   !(c->numbers_are_arguments && word[1] >= '0' && word[1] <= '9')) {
			if (!parse_letters(c, &w, out))
				return ARGS_WRONG;
		} else if (c->stops_at_first_argument ||
			   (c->begins_command && !left_count && c->begins_command(word))) {
			break;
		} else {
			left[left_count++] = *w.word++;
			w.count--;
		}
	}
	if (!left_count) { /* a command as it is, with the NULL behind it */
		*argv = w.word;
		*argc = w.count;
		return ARGS_RUN;
	}
	memmove(left + left_count, w.word, (size_t)w.count * sizeof(*left));
	*argc = left_count + w.count;
	return ARGS_RUN;
}

static bool help_row(const struct command_option *row, void *context)
{
	struct buf *out = context;
	size_t start = out->size;

	if (row->letter)
		buf_printf(out, "  -%c, --%s", row->letter, row->name);
	else
		buf_printf(out, "      --%s", row->name);
	if (row->argument)
		buf_printf(out, " %s", row->argument);
	text_column(out, start, HELP_COLUMN);
	text_wrap(out, row->help, HELP_COLUMN, HELP_WIDTH);
	return false;
}

static void help_members(const struct command *c, struct buf *out)
{
	buf_text(out, "Commands:\n");
	for (const struct command *const *m = c->members; *m; m++) {
		size_t start = out->size;

		buf_printf(out, "  %s %s", (*m)->name, (*m)->args);
		text_column(out, start, GROUP_COLUMN);
		buf_printf(out, "%s\n", (*m)->help);
	}
	buf_printf(out, "\nmemoir %s COMMAND --help says more.\n\nOptions:\n", c->name);
}

void args_help(const struct command *c, struct buf *out)
{
	buf_printf(out, "memoir %s%s %s\n\n%s\n\n", c->name,
		   c->options || c->more_options || c->answers || takes_filters(c) ? " [OPTION…]"
										   : "",
		   c->args, c->help);
	if (c->members)
		help_members(c, out);
	else
		buf_text(out, "Options:\n");
	args_each_row(c, true, help_row, out);
	help_row(&(struct command_option){ .name = "help",
					   .letter = 'h',
					   .help = "show this and leave" },
		 out);
	if (takes_filters(c))
		filtering_help(out);
	if (c->examples)
		buf_printf(out, "\nExamples:\n%s", c->examples);
}
