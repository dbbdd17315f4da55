/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Options about names.  See naming.h. */
#include "cli/naming.h"

#include <stdio.h>
#include <unistd.h>

#include "base/xalloc.h"

bool naming_debuginfod;
static const char **paths;
static size_t path_count, path_room;

const char *naming_set_path(const struct command_option *row, const char *value)
{
	if (access(value, R_OK) < 0)
		return "a file or folder that can be read";
	*xpush(paths, path_count, path_room) = value;
	return NULL;
}

struct locations_options naming_locations(void)
{
	const char *problem = naming_debuginfod ? symbols_debuginfod_problem() : NULL;

	if (problem) {
		fprintf(stderr, "memoir: --debuginfod: %s\n", problem);
		naming_debuginfod = false;
	}
	return (struct locations_options){ .debug_paths = paths,
					   .debug_path_count = path_count,
					   .debuginfod = naming_debuginfod };
}
