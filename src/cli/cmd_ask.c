/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir ask: every question of src/answer as JSON, for scripts.  A group whose commands are made
 * from the list of questions, so that none is without a door here. */
#include "base/xalloc.h"
#include "cli/answering.h"

#define QUESTIONS_MAX 64

/* Filled before main(), since the names are made from the questions'. */
static const struct command *members[QUESTIONS_MAX + 1];

__attribute__((constructor)) static void make_members(void)
{
	static struct command rows[QUESTIONS_MAX];
	static struct answering asked[QUESTIONS_MAX];

	for (unsigned i = 0; i < QUESTIONS_MAX && questions[i]; i++) {
		asked[i].question = questions[i];
		rows[i] = (struct command){
			.name = xasprintf("ask %s", questions[i]->name),
			.args = "FILE",
			.help = questions[i]->help,
			.answers = &asked[i],
		};
		members[i] = &rows[i];
	}
}

const struct command command_ask = {
	.name = "ask",
	.args = "QUESTION …",
	.help = "any question of the HTTP API, answered with the same JSON",
	.examples = "  memoir ask histogram --of size app.dat\n"
		    "  memoir ask flame --measure peak --limit 1000 app.dat\n"
		    "  memoir ask groups --group-by module -F 'size >= 1M' app.dat\n",
	.stops_at_first_argument = true,
	.members = members,
};
