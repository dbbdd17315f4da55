/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir processes: the recordings of a folder as a tree, with their sums. */
#include "cli/processes.h"

static const struct answering answering = {
	.question = &question_processes,
	.print = processes_print,
	.judge = processes_judge,
};

const struct command command_processes = {
	.name = "processes",
	.args = "FOLDER",
	.help = "the processes of memoir run --children as a tree, with their sums",
	.examples = "  memoir processes recordings/\n"
		    "  memoir processes --count 10 recordings/     those with the highest peaks\n"
		    "  memoir processes --json --top 5 recordings/ | jq .held\n",
	.answers = &answering,
};
