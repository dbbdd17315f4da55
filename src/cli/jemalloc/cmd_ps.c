/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir jemalloc ps: the processes of this user that have an agent, and where it listens. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/json.h"
#include "base/read_file.h"
#include "base/term.h"
#include "base/xalloc.h"
#include "cli/command.h"
#include "cli/say.h"
#include "cli/table.h"
#include "client/agents.h"

static bool as_json;

static const struct command_option options[] = {
	FLAG("json", 0, "as JSON", &as_json),
	{ 0 },
};

static const struct table_column columns[] = {
	{ "PID", false, STYLE_NUMBER, 0 },
	{ "address", true, STYLE_PLAIN, 0 },
	{ "command", true, STYLE_PLAIN, 0 },
	{ 0 },
};

/* Its command line with blanks between the words; the program's file where there is none. */
static void command_of(const struct agents_entry *a, struct buf *out)
{
	auto_free char *path = xasprintf("/proc/%d/cmdline", (int)a->pid);
	char bytes[1024];
	ssize_t n = read_short_file(path, bytes, sizeof(bytes));

	while (n > 0 && (!bytes[n - 1] || bytes[n - 1] == ' '))
		n--;
	for (ssize_t i = 0; i < n; i++)
		if (!bytes[i])
			bytes[i] = ' ';
	if (n > 0)
		buf_printable(out, bytes, (size_t)n);
	else
		buf_printable(out, a->program, strlen(a->program));
}

static void print_json(const struct agents_entry *agents, size_t count, struct buf *out)
{
	struct json j = { .out = out };

	JSON_EACH(&j, NULL, i, count) {
		struct buf command = { 0 };

		command_of(&agents[i], &command);
		json_object(&j, NULL);
		json_number(&j, "pid", (uint64_t)agents[i].pid);
		JSON_MEMBERS(&j, &agents[i], address, program);
		json_text(&j, "command", command.data);
		json_end_object(&j);
		buf_release(&command);
	}
}

static void print_table(const struct agents_entry *agents, size_t count, struct buf *out)
{
	auto_release(table_release) struct table t = { 0 };
	struct term term;

	term_init(&term, STDOUT_FILENO, NULL);
	table_init(&t, columns);
	for (size_t i = 0; i < count; i++) {
		struct buf command = { 0 };

		command_of(&agents[i], &command);
		table_cellf(&t, "%d", (int)agents[i].pid);
		table_cell(&t, agents[i].address);
		table_cell(&t, command.data);
		buf_release(&command);
	}
	table_print(&t, &term, !isatty(STDOUT_FILENO), out);
}

static int run_jemalloc_ps(int argc, char **argv)
{
	struct agents_entry *agents;
	auto_buf struct buf out = { 0 };
	size_t count;

	if (argc)
		return say_wrong("memoir jemalloc ps", "takes no argument");
	count = agents_list(&agents);
	if (as_json)
		print_json(agents, count, &out);
	else if (count)
		print_table(agents, count, &out);
	else
		fprintf(stderr, "memoir jemalloc ps: no process of yours has an agent; memoir run "
				"--agent PROGRAM starts one\n");
	free(agents);
	return buf_flush(&out, STDOUT_FILENO) ? 1 : 0;
}

const struct command command_jemalloc_ps = {
	.name = "jemalloc ps",
	.args = "",
	.help = "processes that have an agent, and its address",
	.examples = "  memoir run --agent ./server &\n"
		    "  memoir jemalloc ps\n",
	.options = options,
	.run = run_jemalloc_ps,
};
