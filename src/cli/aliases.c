/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Other names of commands.  See aliases.h. */
#include "cli/aliases.h"

#include <string.h>

#include "base/buf_text.h"
#include "base/order.h"

static const struct alias aliases[] = {
	{ "export-heaptrack", "export", "heaptrack" },
	{ "export-replay", "export", "replay" },
};

const struct alias *alias_find(const char *name)
{
	return FIND(it, aliases, sizeof(aliases) / sizeof(*aliases), !strcmp(it->name, name));
}

const struct alias *alias_at(unsigned i)
{
	return i < sizeof(aliases) / sizeof(*aliases) ? &aliases[i] : NULL;
}

void aliases_help(struct buf *out)
{
	for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
		buf_printf(out, "  %-30smemoir %s %s\n", aliases[i].name, aliases[i].command,
			   aliases[i].argument);
}
