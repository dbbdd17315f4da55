/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Completion of command lines.  See completion.h. */
#include "cli/completion.h"

#include <string.h>

#include "base/buf_text.h"
#include "cli/args.h"

struct completing {
	const char *typed;
	struct buf *out;
};

static void offer_word(const struct completing *c, const char *prefix, const char *word,
		       size_t size)
{
	size_t before = strlen(prefix), typed = strlen(c->typed);

	if (typed > before + size ||
	    strncmp(c->typed, prefix, typed < before ? typed : before) != 0)
		return;
	if (typed > before && strncmp(c->typed + before, word, typed - before) != 0)
		return;
	buf_printf(c->out, "%s%.*s\n", prefix, (int)size, word);
}

static bool offer_option(const struct command_option *row, void *context)
{
	offer_word(context, "--", row->name, strlen(row->name));
	return false;
}

/* The words of "auto, always or never" and of "size|lifetime FILE". */
static void offer_list(const struct completing *c, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, ", |");

		if (n && !(n == 2 && !memcmp(list, "or", 2)))
			offer_word(c, "", list, n);
		list += n;
		list += strspn(list, ", |");
	}
}

/* Is it --name or -n of this row, which takes a value? */
static bool is_before_value(const struct command_option *row, void *context)
{
	const char *word = context;

	if (!row->argument || word[0] != '-')
		return false;
	return word[1] == '-' ? !strcmp(word + 2, row->name) : word[1] == row->letter && !word[2];
}

static const char *last_word(const struct command *c)
{
	const char *blank = strrchr(c->name, ' ');

	return blank ? blank + 1 : c->name;
}

void completion_list(const struct command *const *among, int argc, char **argv, struct buf *out)
{
	struct completing c = { argc ? argv[argc - 1] : "", out };
	const struct command *command = NULL;
	const struct command_option *option;
	int i = argc > 1 && !strcmp(argv[0], "help");

	for (; among && i < argc - 1; i++, among = command->members) {
		const struct command *const *m = among;

		while (*m && strcmp(last_word(*m), argv[i]) != 0)
			m++;
		if (!*m)
			return;
		command = *m;
	}
	for (; among && *among; among++)
		offer_word(&c, "", last_word(*among), strlen(last_word(*among)));
	if (!command || command->members)
		return;
	if (!strcmp(c.typed, "=")) /* bash takes --option=value apart */
		c.typed = "";
	else if (argc > 2 && !strcmp(argv[argc - 2], "="))
		argc--;
	option = argc > 1 ? args_each_row(command, false, is_before_value, argv[argc - 2]) : NULL;
	if (option && option->words)
		offer_list(&c, option->words);
	else if (option && option->type == COMMAND_WORD)
		offer_list(&c, option->help);
	else if (!option && c.typed[0] == '-')
		args_each_row(command, false, offer_option, &c);
	else if (!option && strchr(command->args, '|') && !strchr(command->args, '['))
		offer_list(&c, command->args);
}
