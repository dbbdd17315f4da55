/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the program is called: as it was started.  /proc/self/exe has what a link leads to, so that
 * Debian's redis-server would be redis-check-rdb; the kernel keeps the path that was executed as
 * AT_EXECFN, behind the environment and out of the way of those who write over their words.
 *
 * Before the agent's thread listens; agent.program stays then. */
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/agent.h"

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void program_find(void)
{
	const char *started = (const char *)getauxval(AT_EXECFN);
	ssize_t n = readlink("/proc/self/exe", agent.program, sizeof(agent.program) - 1);

	agent.program[n > 0 ? n : 0] = 0;
	/* Of the two, the one that is a whole path if both have the same name; another agent's
	 * lines end where a line ends. */
	if (started && *started && !strchr(started, '\n') &&
	    strcmp(last_part(started), last_part(agent.program)) != 0)
		snprintf(agent.program, sizeof(agent.program), "%s", started);
}
