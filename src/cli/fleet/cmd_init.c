/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir fleet init: makes the tables of a fleet, or brings them to this version. */
#include <stdio.h>
#include <string.h>

#include "base/xalloc.h"
#include "cli/fleet/fleet_options.h"
#include "cli/say.h"
#include "fleet/schema.h"
#include "query/value.h"

#define NAME "memoir fleet init"
#define NS 1000000000ull
#define DAY 86400

static const char *cluster, *replicated;
static uint64_t keep_ns, step_ns;

static const char *set_duration(const struct command_option *row, const char *value)
{
	static struct err err;
	struct value v;

	if (value_parse(&v, ARG_DURATION, value, &err))
		return err.text;
	*(!strcmp(row->context, "keep") ? &keep_ns : &step_ns) = v.number;
	value_release(&v);
	if (keep_ns % (DAY * NS))
		return "it is a number of days: 30d";
	if (step_ns % NS || step_ns > DAY * NS || (step_ns && DAY * NS % step_ns))
		return "it is seconds that a day is a multiple of: 10s, 1m, 5m";
	return NULL;
}

static const struct command_option options[] = {
	FLEET_ROW,
	VALUE("cluster", 0, "NAME",
	      "tables over all shards of a cluster; give all servers' addresses", &cluster),
	VALUE("replicated", 0, "PATH",
	      "each shard's tables are replicated, with this path in ZooKeeper", &replicated),
	CALL("bucket", 0, "TIME", "how long a bucket of time is (1m)", set_duration,
	     .context = "bucket"),
	CALL("keep", 0, "TIME", "days that are kept: 30d (for ever)", set_duration,
	     .context = "keep"),
	{ 0 },
};

static int init_one(const struct fleet *f)
{
	const struct fleet_options o = { .cluster = cluster,
					 .replicated = replicated,
					 .step = (uint32_t)(step_ns / NS),
					 .keep_days = (uint32_t)(keep_ns / NS / DAY) };
	struct err err = { .offset = ERR_NO_OFFSET };
	struct fleet_facts facts;
	uint32_t before;

	if (fleet_init(f, &o, &before, &err) || fleet_facts(f, &facts, &err) ||
	    fleet_forget(f, &facts, &err))
		return say_failed(NAME, f->name, &err);
	if (before == FLEET_VERSION)
		printf("%s: its tables are of version %u already\n", f->name, before);
	else if (before)
		printf("%s: brought from version %u to %u\n", f->name, before, FLEET_VERSION);
	else
		printf("%s: made, version %u\n", f->name, FLEET_VERSION);
	return 0;
}

static int run_fleet_init(int argc, char **argv)
{
	auto_free struct fleet_settings *s = xcalloc(1, sizeof(*s));
	struct err err = { .offset = ERR_NO_OFFSET };
	struct fleet f;
	int status = 0;

	if (replicated && !cluster)
		return say_wrong(NAME, "--replicated is for --cluster NAME");
	if (!argc)
		status = fleet_options_open("fleet init", s, &f) ?: init_one(&f);
	else
		status = fleet_options_read("fleet init", s);
	for (int i = 0; i < argc && !status; i++)
		status = fleet_open(&f, s, argv[i], &err) ? say_wrong(NAME, "%s", err.text)
							  : init_one(&f);
	if (!status && cluster && !replicated)
		fprintf(stderr,
			NAME ": without --replicated there is one copy of each row: while a server "
			     "is away, so is its share\n");
	return status;
}

const struct command command_fleet_init = {
	.name = "fleet init",
	.args = "[URL…]",
	.help = "make a fleet's tables, or bring them to this version",
	.examples = "  memoir fleet init clickhouse://localhost:8123/memoir\n"
		    "  memoir fleet init --keep 30d --bucket 5m clickhouse://db:8123/memoir\n"
		    "  memoir fleet init --cluster main clickhouse://a:8123/memoir "
		    "clickhouse://b:8123/memoir\n",
	.options = options,
	.run = run_fleet_init,
};
