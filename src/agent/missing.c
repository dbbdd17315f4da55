/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names that this jemalloc does not have: since when there is one.  What control.c and log.c answer
 * where mallctl() knows no such name. */
#include <string.h>

#include "agent/answer.h"
#include "agent/jemalloc.h"

/* What older versions have not. */
static const struct {
	const char *name; /* how it begins, or a part behind an arena's number */
	unsigned release;
	const char *instead; /* of what can be done there, or NULL */
} since[] = {
	{ "background_thread", 50000, NULL },
	{ "max_background_threads", 50100, NULL },
	{ "stats.mutexes.", 50000, NULL },
	{ "muzzy_decay_ms", 50000, NULL },
	{ "dirty_decay_ms", 40100, "purge gives unused pages back" },
	{ "decay", 40100, "purge gives unused pages back" },
	{ "prof.thread_active_init", 40000, NULL },
	{ "prof.reset", 40000, NULL },
	{ "prof.lg_sample", 40000, NULL },
	{ "prof.gdump", 40000, NULL },
	{ "prof.log_", 50200, NULL },
	{ "prof.prefix", 50300, NULL },
	{ "experimental.prof_recent.", 50300, NULL },
};

/* Not the client's mistake: another version could. */
void answer_missing(struct exchange *x, const char *name)
{
	const char *part = strncmp(name, "arena", 5) ? name : strrchr(name, '.') + 1;

	for (size_t i = 0; i < sizeof(since) / sizeof(*since); i++)
		if (!strncmp(part, since[i].name, strlen(since[i].name)) &&
		    jemalloc.release < since[i].release) {
			answer_line(x, 501,
				    "%s: jemalloc %.20s cannot do this, which came with %u.%u%s%s",
				    name, jemalloc.version, since[i].release / 10000,
				    since[i].release / 100 % 100, since[i].instead ? "; " : "",
				    since[i].instead ? since[i].instead : "");
			return;
		}
	answer_line(x, 404, "%s: jemalloc %s has no such thing", name, jemalloc.version);
}
