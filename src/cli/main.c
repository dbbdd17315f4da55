/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The memoir command: finds the sub-command, parses its options, runs it.
 *
 * The table of commands is made by meson.build from its list of words. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cli/args.h"
#include "cli/command.h"
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

static const struct command *find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
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
	buf_text(&out, "\nmemoir help COMMAND (or memoir COMMAND --help) says more;\n"
		       "memoir help filters explains how allocations are chosen.\n"
		       "memoir --version tells the version.\n");
	return show(&out, 0);
}

static int wrong_command(const char *name)
{
	const char *names[COMMANDS_MAX + 1] = { 0 };
	struct buf out = { 0 };
	const char *nearest;

	for (unsigned i = 0; i < COMMANDS_MAX && commands[i]; i++)
		names[i] = commands[i]->name;
	nearest = args_nearest(name, names);
	buf_printf(&out, "memoir: there is no command '%s'; ", name);
	if (nearest)
		buf_printf(&out, "did you mean '%s'?\n", nearest);
	else
		buf_text(&out, "memoir --help lists them\n");
	return show(&out, 2);
}

/* One line; what points at a place in an expression follows below it. */
static void say_wrong(const char *name, const char *text)
{
	size_t n = strcspn(text, "\n");

	fprintf(stderr, "memoir %s: %.*s (memoir help %s says more)%s\n", name, (int)n, text,
		text[n] ? "filters" : name, text + n);
}

static int run(const struct command *c, int argc, char **argv)
{
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
	return c->run(argc, argv);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct command *c;
	struct buf out = { 0 };

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
		c = find(argv[2]);
		if (!c)
			return wrong_command(argv[2]);
		args_help(c, &out);
		return show(&out, 0);
	}
	c = find(word);
	if (!c)
		return wrong_command(word);
	return run(c, argc - 2, argv + 2);
}
