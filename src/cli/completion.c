/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Completion of command lines.  See completion.h. */
#include "cli/completion.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "answer/complete.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "cli/aliases.h"
#include "cli/answering.h"
#include "cli/args.h"
#include "cli/open.h"

#define MANY "\xe2\x80\xa6" /* … behind what may be repeated */
/* A recording that is larger is not read for the names in it: a key must not take seconds. */
#define READ_AT_MOST (32 << 20)

struct completing {
	const char *typed;  /* the last word of the line, or what is typed of its value */
	const char *before; /* what stands before that in the last word: "--measure=" */
	size_t before_size;
	struct buf *out;
	const struct command *command;
	int arguments;	/* words before it that are neither options nor their values */
	char *file;	/* the first of them that is a file, or NULL */
	int command_at; /* where a command of its own begins; -1: nowhere */
};

static void offer(const struct completing *c, const char *word, size_t size, const char *help)
{
	size_t typed = strlen(c->typed);

	if (typed > size || strncmp(c->typed, word, typed) != 0)
		return;
	buf_printf(c->out, "%.*s%.*s%s%s\n", (int)c->before_size, c->before, (int)size, word,
		   help ? "\t" : "", help ? help : "");
}

static bool offer_option(const struct command_option *row, void *context)
{
	const struct completing *c = context;
	auto_free char *name = xasprintf("--%s", row->name);

	offer(c, name, strlen(name), row->help);
	return false;
}

/* The words of "auto, always or never" and of "size|lifetime". */
static void offer_list(const struct completing *c, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, ", |");

		if (n && !(n == 2 && !memcmp(list, "or", 2)))
			offer(c, list, n, NULL);
		list += n;
		list += strspn(list, ", |");
	}
}

/* Is it --name or -n of this row, which takes a value? */
static bool is_before_value(const struct command_option *row, void *context)
{
	const char *word = context;
	size_t size = strcspn(word, "=");

	if (!row->argument || word[0] != '-')
		return false;
	if (word[1] != '-')
		return word[1] && word[1] == row->letter && !word[2];
	return strlen(row->name) == size - 2 && !memcmp(row->name, word + 2, size - 2);
}

/* What may stand in an expression, with names from the recording that is on the line. */
static void offer_expression(struct completing *c)
{
	auto_release(ask_release) struct ask a = { .rows = question_complete.params,
						   .fault = FAULT_NONE };
	struct open_options how = { .quiet = true };
	struct answer_complete answer = { 0 };
	struct stat st;
	struct err err;
	int status;

	params_add(&a.params, "text", c->typed, &err);
	params_add(&a.params, "count", "all", &err);
	if (c->file && !stat(c->file, &st) && st.st_size <= READ_AT_MOST)
		a.snapshot = open_snapshot("--complete", c->file, &how, &status);
	if (!question_complete.compute(&a, &answer))
		for (size_t i = 0; i < answer.count; i++) {
			auto_free char *whole = xasprintf("%.*s%s", (int)answer.cursor.from,
							  c->typed, answer.items[i].text);

			offer(c, whole, strlen(whole), answer.items[i].help);
		}
	question_complete.release(&answer);
}

static bool is_named(const char *name, size_t size, const char *expected)
{
	return strlen(expected) == size && !memcmp(name, expected, size);
}

static bool launches(const struct command *c)
{
	return c->stops_at_first_argument || c->begins_command;
}

/* What the name of an argument stands for: "FILE", "size", "DUMP". */
static void offer_argument(struct completing *c, const char *name, size_t size, bool option)
{
	static const struct {
		const char *name, *line;
	} kinds[] = {
		{ "A", ":files *.dat" },     { "B", ":files *.dat" },	 { "DIR", ":folders" },
		{ "DUMP", ":files *.heap" }, { "FILE", ":files" },	 { "FOLDER", ":folders" },
		{ "LIB", ":files *.so" },    { "OUT", ":files" },	 { "PATH", ":files" },
		{ "PROGRAM", ":files" },     { "STATISTICS", ":files" },
	};
	const struct command *command = c->command;
	const char *help, *word;

	if (islower((unsigned char)*name)) {
		offer(c, name, size, NULL);
		return;
	}
	if (!option && launches(command) &&
	    (is_named(name, size, "PROGRAM") || is_named(name, size, "COMMAND"))) {
		buf_text(c->out, ":programs\n");
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		bool recording = !option && !strcmp(kinds[i].name, "FILE") &&
				 strncmp(command->name, "jemalloc ", 9) != 0 &&
				 !(command->answers && command->answers->question->kind);

		if (is_named(name, size, kinds[i].name)) {
			buf_printf(c->out, "%s\n", recording ? ":files *.dat" : kinds[i].line);
			return;
		}
	}
	if (!option && command->argument_word &&
	    (is_named(name, size, "FORMAT") || is_named(name, size, "COMMAND")))
		for (unsigned i = 0; (word = command->argument_word(i, &help)); i++)
			offer(c, word, strlen(word), help);
}

/* All of "FILE|FOLDER". */
static void offer_choices(struct completing *c, const char *text, size_t size, bool option)
{
	while (size) {
		size_t n = 0;

		while (n < size && text[n] != '|')
			n++;
		if (n)
			offer_argument(c, text, n, option);
		text += n + (n < size);
		size -= n + (n < size);
	}
}

/* What "[PROGRAM] DUMP… | PID" has at a position. */
static void offer_position(struct completing *c, const char *args)
{
	int least = 0, most = 0; /* where the next word may stand */

	while (*args) {
		size_t whole = strcspn(args, " "), size = strcspn(args, " ]");
		bool optional = *args == '[', many = false;
		const char *more = memmem(args, whole, MANY, strlen(MANY));

		if (whole == 1 && *args == '|') {
			least = most = 0;
		} else if (!strncmp(args, "--", 2)) {
			return;
		} else {
			many = more != NULL;
			if (more && more < args + size)
				size = (size_t)(more - args);
			if (least <= c->arguments && (c->arguments <= most || many))
				offer_choices(c, args + optional, size - optional, false);
			least += !optional;
			most++;
		}
		args += whole;
		args += strspn(args, " ");
	}
}

static void offer_value(struct completing *c, const struct command_option *option)
{
	if (option->words)
		offer_list(c, option->words);
	else if (option->type == COMMAND_WORD)
		offer_list(c, option->help);
	else if (!strcmp(option->argument, "EXPRESSION"))
		offer_expression(c);
	else
		offer_choices(c, option->argument, strlen(option->argument), true);
}

/* Goes through the words before the last: the option whose value that is, or NULL. */
static const struct command_option *read_words(struct completing *c, int argc, char **argv)
{
	bool options = true;
	struct stat st;

	for (int i = 0; i < argc - 1; i++) {
		const struct command_option *row;

		if (options && !strcmp(argv[i], "--")) {
			options = false;
			continue;
		}
		if (!options || argv[i][0] != '-' || !argv[i][1]) {
			if (!c->arguments &&
			    (c->command->stops_at_first_argument ||
			     (c->command->begins_command && c->command->begins_command(argv[i])))) {
				c->command_at = i;
				return NULL;
			}
			if (!c->file && !stat(argv[i], &st) && S_ISREG(st.st_mode))
				c->file = argv[i];
			c->arguments++;
			continue;
		}
		row = args_each_row(c->command, false, is_before_value, argv[i]);
		if (!row || strchr(argv[i], '='))
			continue;
		/* bash takes --option=value apart. */
		if (i + 1 < argc - 1 && !strcmp(argv[i + 1], "="))
			i++;
		if (++i >= argc - 1)
			return row;
	}
	if (!options)
		c->arguments += c->typed[0] == '-'; /* no option, nor any argument that is known */
	return NULL;
}

static const char *last_word(const struct command *c)
{
	const char *blank = strrchr(c->name, ' ');

	return blank ? blank + 1 : c->name;
}

static void offer_commands(const struct completing *c, const struct command *const *among, bool all,
			   bool help)
{
	const struct alias *alias;

	for (; *among; among++)
		offer(c, last_word(*among), strlen(last_word(*among)), (*among)->help);
	for (unsigned i = 0; all && (alias = alias_at(i)); i++)
		offer(c, alias->name, strlen(alias->name), NULL);
	if (all && help)
		offer(c, "filters", strlen("filters"), "how allocations are chosen");
	if (!all || help)
		return;
	offer(c, "help", strlen("help"), "what a command does, and its options");
	if (c->typed[0] == '-') {
		offer(c, "--help", strlen("--help"), "lists the commands");
		offer(c, "--version", strlen("--version"), "tells the version");
	}
}

/* The rest of a line whose command is known. */
static void complete_command(struct completing *c, int from, int argc, char **argv)
{
	static const struct command_option help = { .name = "help",
						    .help = "explains the command" };
	const struct command_option *option = read_words(c, argc - from, argv + from);

	if (c->command_at >= 0) {
		buf_printf(c->out, ":command %d\n", from + c->command_at + 1);
		return;
	}
	if (option) {
		if (!strcmp(c->typed, "=")) /* bash, again */
			c->typed = "";
		offer_value(c, option);
		return;
	}
	if (c->typed[0] != '-') {
		offer_position(c, c->command->args);
		return;
	}
	if (!strncmp(c->typed, "--", 2) && strchr(c->typed, '=')) {
		option = args_each_row(c->command, false, is_before_value, (void *)c->typed);
		c->before = c->typed;
		c->typed = strchr(c->typed, '=') + 1;
		c->before_size = (size_t)(c->typed - c->before);
		if (option)
			offer_value(c, option);
		return;
	}
	args_each_row(c->command, false, offer_option, c);
	offer_option(&help, c);
}

void completion_list(const struct command *const *among, int argc, char **argv, struct buf *out)
{
	struct completing c = { .typed = argc ? argv[argc - 1] : "", .out = out, .command_at = -1 };
	bool help = argc > 1 && !strcmp(argv[0], "help"), top = true;
	int i = help;

	for (; among && i < argc - 1; i++, top = false, among = c.command->members) {
		const struct alias *alias = top ? alias_find(argv[i]) : NULL;
		const char *name = alias ? alias->command : argv[i];

		while (*among && strcmp(last_word(*among), name) != 0)
			among++;
		if (!*among)
			return;
		c.command = *among;
		c.arguments = alias != NULL;
	}
	if (among)
		offer_commands(&c, among, top, help);
	else if (!help)
		complete_command(&c, i, argc, argv);
}
