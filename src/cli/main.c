/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memoir command: finds the sub-command, parses its options, runs it.
 *
 * The table of commands is made by meson.build from its list of words. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/harmless.h"
#include "cli/aliases.h"
#include "cli/answering.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/filtering.h"

#define COMMAND(name) extern const struct command command_##name;
#include "cli/commands.inc"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/commands.inc"
#undef COMMAND
	NULL,
};

#define COMMANDS_MAX 64

/* The last word of its name; a member of a group has two. */
static const char *word_of(const struct command *c)
{
	const char *blank = strchr(c->name, ' ');

	return blank ? blank + 1 : c->name;
}

static const struct command *find_command(const struct command *const *among, const char *word)
{
	for (; *among; among++)
		if (!strcmp(word_of(*among), word))
			return *among;
	return NULL;
}

/* The command that a link to this program stands for. */
static const struct command *find_link(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL, *name = slash ? slash + 1 : path;

	for (const struct command *const *c = commands; name && *c; c++)
		for (const struct command *const *m = (*c)->members; m && *m; m++)
			if ((*m)->link && !strcmp((*m)->link, name))
				return *m;
	return NULL;
}

static int show(struct buf *out, int status)
{
	int error = buf_flush(out, status == 2 ? 2 : 1);

	buf_release(out);
	return error ? 1 : status;
}

static int help(void)
{
	struct buf out = { 0 };

	buf_text(&out, "memoir sees where a program's memory goes.\n\n"
		       "memoir COMMAND [OPTION…] …\n\n");
	for (const struct command *const *c = commands; *c; c++) {
		size_t start = out.size, used;

		buf_printf(&out, "  %s %s", (*c)->name, (*c)->args);
		used = text_columns(out.data + start);
		buf_repeat(&out, ' ', used < 32 ? 32 - used : 1);
		buf_printf(&out, "%s\n", (*c)->help);
	}
	buf_text(&out, "\nAs Bytehound names them:\n");
	aliases_help(&out);
	buf_text(&out, "\nmemoir help COMMAND (or memoir COMMAND --help) says more;\n"
		       "memoir help filters explains how allocations are chosen.\n"
		       "memoir --version tells the version.\n");
	return show(&out, 0);
}

/* `group`: NULL for the commands of memoir itself. */
static int wrong_command(const struct command *group, const char *name)
{
	const struct command *const *among = group ? group->members : commands;
	const char *names[COMMANDS_MAX + 1] = { 0 };
	struct buf out = { 0 };
	const char *nearest;

	for (unsigned i = 0; i < COMMANDS_MAX && among[i]; i++)
		names[i] = word_of(among[i]);
	nearest = args_nearest(name, names);
	buf_printf(&out, "memoir%s%s: there is no command '%s'; ", group ? " " : "",
		   group ? group->name : "", name);
	if (nearest)
		buf_printf(&out, "did you mean '%s'?\n", nearest);
	else
		buf_printf(&out, "memoir %s%s--help lists them\n", group ? group->name : "",
			   group ? " " : "");
	return show(&out, 2);
}

/* One line; what points at a place in an expression follows below it. */
static void say_wrong(const char *name, const char *text)
{
	size_t n = strcspn(text, "\n");

	fprintf(stderr, "memoir %s: %.*s (memoir help %s says more)%s\n", name, (int)n, text,
		text[n] ? "filters" : name, text + n);
}

static int run_command(const struct command *c, int argc, char **argv)
{
	const struct command *member;
	struct buf out = { 0 };

	switch (args_parse(c, &argc, &argv, &out)) {
	case ARGS_HELP:
		args_help(c, &out);
		return show(&out, 0);
	case ARGS_WRONG:
		say_wrong(c->name, out.data);
		buf_release(&out);
		return 2;
	case ARGS_RUN:
		break;
	}
	buf_release(&out);
	if (c->answers && !c->run)
		return answering_run(c, argc, argv);
	if (!c->members)
		return c->run(argc, argv);
	if (!argc) {
		fprintf(stderr,
			"memoir %s: what shall it do? memoir %s --help lists the commands\n",
			c->name, c->name);
		return 2;
	}
	member = find_command(c->members, argv[0]);
	return member ? run_command(member, argc - 1, argv + 1) : wrong_command(c, argv[0]);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *c;
	const struct alias *alias;
	struct buf out = { 0 };

	harmless_streams();
	c = find_link(argc ? argv[0] : NULL);
	if (c)
		return run_command(c, argc - 1, argv + 1);
	if (!word) {
		fprintf(stderr, "memoir: what shall it do? memoir --help lists the commands\n");
		return 2;
	}
	if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
		buf_text(&out, "memoir " MEMOIR_VERSION "\n");
		return show(&out, 0);
	}
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || (!strcmp(word, "help") && argc == 2))
		return help();
	if (!strcmp(word, "help") && !strcmp(argv[2], "filters")) {
		filtering_manual(&out);
		return show(&out, 0);
	}
	if (!strcmp(word, "help")) {
		alias = alias_find(argv[2]);
		c = find_command(commands, alias ? alias->command : argv[2]);
		if (!c)
			return wrong_command(NULL, argv[2]);
		if (c->members && argc > 3) {
			const struct command *member = find_command(c->members, argv[3]);

			if (!member)
				return wrong_command(c, argv[3]);
			c = member;
		}
		args_help(c, &out);
		return show(&out, 0);
	}
	if (!strcmp(word, "--complete")) {
		completion_list(commands, argc - 2, argv + 2, &out);
		return show(&out, 0);
	}
	alias = alias_find(word);
	if (alias) { /* its argument takes the place of the name */
		argv[1] = (char *)alias->argument;
		return run_command(find_command(commands, alias->command), argc - 1, argv + 1);
	}
	c = find_command(commands, word);
	if (!c)
		return wrong_command(NULL, word);
	return run_command(c, argc - 2, argv + 2);
}
