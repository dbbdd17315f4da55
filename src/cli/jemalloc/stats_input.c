/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Statistics on a command line.  See stats_input.h. */
#include "cli/jemalloc/stats_input.h"

#include <errno.h>
#include <stdio.h>

#include "base/xalloc.h"
#include "cli/say.h"

int stats_input(const char *command, const char *name, struct snapshots *r, stats_input_take take,
		void *context)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	int n, status = 0;

	while ((n = snapshots_next(r, &err)) == 1 || n == -EBADMSG) {
		if (n == 1)
			take(context, r);
		else
			status = say_failed(command, name, &err);
	}
	if (n)
		return say_failed(command, name, &err);
	if (!r->documents && !status) {
		fprintf(stderr, "%s: %s holds no jemalloc statistics: %s\n", command, name,
			snapshots_guess(r));
		status = 1;
	}
	return status;
}

int stats_input_file(const char *command, const char *path, stats_input_take take, void *context)
{
	struct err err = { .offset = ERR_NO_OFFSET };
	auto_release(snapshots_close) struct snapshots r = { 0 };
	int status = snapshots_open(&r, path, &err) ? say_failed(command, path, &err)
						    : stats_input(command, path, &r, take, context);

	return status;
}

void stats_input_keep_last(void *stats, struct snapshots *r)
{
	struct stats *last = stats, other = *last;

	*last = r->stats;
	r->stats = other;
}
