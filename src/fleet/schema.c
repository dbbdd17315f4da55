/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The tables.  See schema.h.
 *
 * Each is MergeTree in partitions by day, so that a day is dropped at once.  The day is the
 * writer's, in UTC: a server's time zone does not cut a batch in two.  In a cluster a table is a
 * Distributed one over <name>_local of every shard; such a statement goes to one server at a time
 * (no coordinator is needed), so init is told all of them.
 *
 * A change to a table is a row of `changes` with the version that has it. */
#include "fleet/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf_text.h"
#include "base/xalloc.h"
#include "fleet/sql.h"

static const struct table {
	const char *name, *columns;
	const char *engine; /* without its arguments for replication */
	const char *argument;
	const char *partition, *order;
	const char *shard; /* which one a row goes to */
	unsigned since;
} tables[] = {
	{ "recordings",
	  "recording UInt64, id String, kind String, service String, host String, build String, "
	  "release String, command String, labels Array(String), started DateTime, ended DateTime, "
	  "day Date, pid UInt32, file String, allocated_bytes UInt64, allocated_count UInt64, "
	  "leaked_bytes UInt64, leaked_count UInt64, peak_bytes UInt64, peak_count UInt64, "
	  "pushed DateTime",
	  "ReplacingMergeTree", "pushed", "day", "(service, host, recording)", "recording", 1 },
	{ "stacks",
	  "hash FixedString(16), call String, functions Array(String), files Array(String), "
	  "modules Array(String), lines Array(UInt32), addresses Array(UInt64), "
	  "kinds Array(UInt8), depth UInt32, responsible String",
	  "ReplacingMergeTree", NULL, NULL, "hash", "cityHash64(hash)", 1 },
	{ "samples",
	  "day Date, bucket DateTime, recording UInt64, batch UInt64, stack FixedString(16), "
	  "size_class UInt8, allocated_bytes UInt64, allocated_count UInt64, freed_bytes UInt64, "
	  "freed_count UInt64, live_bytes UInt64, live_count UInt64, leaked_bytes UInt64, "
	  "leaked_count UInt64, peak_bytes UInt64, peak_count UInt64, temporary_bytes UInt64, "
	  "temporary_count UInt64",
	  "MergeTree", NULL, "day", "(bucket, recording, stack, size_class)", "recording", 1 },
	{ "curves",
	  "day Date, bucket DateTime, recording UInt64, batch UInt64, allocated_bytes UInt64, "
	  "allocated_count UInt64, freed_bytes UInt64, freed_count UInt64, live_bytes UInt64, "
	  "live_count UInt64",
	  "MergeTree", NULL, "day", "(bucket, recording)", "recording", 1 },
	/* What was sent as a whole: the last thing that is sent of it. */
	{ "parcels", "recording UInt64, day Date, at DateTime", "MergeTree", NULL, "day",
	  "(recording)", "recording", 1 },
	{ "jemalloc_stats",
	  "day Date, time DateTime, recording UInt64, batch UInt64, field String, arena String, "
	  "size_class UInt64, value Float64",
	  "MergeTree", NULL, "day", "(field, time, recording)", "recording", 2 },
	/* What `samples` comes to in a day: most questions know no time, and this has some
	 * thousandths of its rows.  The sender adds it up: a server that is killed between a block
	 * and a view that follows from it would have one of them. */
	{ "totals",
	  "day Date, recording UInt64, batch UInt64, stack FixedString(16), size_class UInt8, "
	  "first DateTime, last DateTime, allocated_bytes UInt64, allocated_count UInt64, "
	  "freed_bytes UInt64, freed_count UInt64, leaked_bytes UInt64, leaked_count UInt64, "
	  "peak_bytes UInt64, peak_count UInt64, temporary_bytes UInt64, temporary_count UInt64",
	  "MergeTree", NULL, "day", "(recording, stack, size_class)", "recording", 3 },
};
#define TABLES (sizeof(tables) / sizeof(*tables))

/* To tables that are there already, in order. */
static const struct change {
	unsigned version;
	const char *table, *column, *type; /* that is added */
} changes[] = {
	/* Estimates from heap profiles are not exact: the variance of what was alive. */
	{ 2, "samples", "live_variance", "Float64" },
};

static int create_table(const struct fleet *f, const struct fleet_options *o, const struct table *t,
			struct err *err)
{
	auto_buf struct buf sql = { 0 };
	const char *local = o->cluster ? "_local" : "";
	int error;

	/* With what was added since: a replica's table is made as the others' are by then. */
	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s%s (%s", t->name, local, t->columns);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		if (!strcmp(changes[i].table, t->name))
			buf_printf(&sql, ", %s %s", changes[i].column, changes[i].type);
	buf_text(&sql, ") ENGINE = ");
	if (o->replicated) {
		auto_buf struct buf path = { 0 };

		buf_printf(&path, "%s/{shard}/%s", o->replicated, t->name);
		buf_printf(&sql, "Replicated%s(", t->engine);
		sql_text(&sql, path.data);
		buf_printf(&sql, ", '{replica}'%s%s)", t->argument ? ", " : "",
			   t->argument ? t->argument : "");
	} else {
		buf_printf(&sql, "%s(%s)", t->engine, t->argument ? t->argument : "");
	}
	if (t->partition)
		buf_printf(&sql, " PARTITION BY %s", t->partition);
	buf_printf(&sql, " ORDER BY %s", t->order);
	error = fleet_ask(f, sql.data, NULL, err);
	if (error || !o->cluster)
		return error;
	buf_clear(&sql);
	buf_printf(&sql, "CREATE TABLE IF NOT EXISTS %s AS %s_local ENGINE = Distributed(", t->name,
		   t->name);
	sql_name(&sql, o->cluster);
	buf_printf(&sql, ", %s, %s_local, %s)", f->database, t->name, t->shard);
	return fleet_ask(f, sql.data, NULL, err);
}

/* Adds a column unless it is there: an init that was interrupted is repeated. */
static int add_column(const struct fleet *f, const char *suffix, const struct change *c,
		      struct err *err)
{
	auto_free char *table = xasprintf("%s%s", c->table, suffix);
	auto_free char *alter =
		xasprintf("ALTER TABLE %s ADD COLUMN %s %s", table, c->column, c->type);
	auto_buf struct buf sql = { 0 };
	uint64_t there = 0;
	int error;

	buf_text(&sql, "SELECT count() FROM system.columns WHERE database = ");
	sql_text(&sql, f->database);
	buf_text(&sql, " AND table = ");
	sql_text(&sql, table);
	buf_text(&sql, " AND name = ");
	sql_text(&sql, c->column);
	error = fleet_ask_number(f, sql.data, &there, err);
	return error || there ? error : fleet_ask(f, alter, NULL, err);
}

static int change_table(const struct fleet *f, bool cluster, const struct change *c,
			struct err *err)
{
	int error = cluster ? add_column(f, "_local", c, err) : 0;

	return error ? error : add_column(f, "", c, err);
}

/* Later than everything that was set before, be it in the same second. */
static int set_number(const struct fleet *f, const char *key, uint64_t value, struct err *err)
{
	auto_buf struct buf sql = { 0 };

	buf_text(&sql, "INSERT INTO settings (key, value, at) SELECT ");
	sql_text(&sql, key);
	buf_printf(&sql,
		   ", toUInt64(%" PRIu64 "), toDateTime(greatest(toUInt32(now()), "
		   "toUInt32(max(at)) + 1)) FROM settings",
		   value);
	return fleet_ask(f, sql.data, NULL, err);
}

static int read_facts(const struct fleet *f, struct fleet_facts *ret, struct err *err)
{
	static const char question[] =
		"SELECT key, argMax(value, version) FROM (SELECT key, value, at AS version FROM "
		"settings) GROUP BY key ORDER BY key FORMAT TabSeparated";
	auto_buf struct buf out = { 0 };
	int error = fleet_ask(f, question, &out, err);

	*ret = (struct fleet_facts){ .step = FLEET_STEP };
	for (char *line = out.data, *next; !error && line && *line; line = next) {
		char *tab = strchr(line, '\t');
		uint32_t value = tab ? (uint32_t)strtoul(tab + 1, NULL, 10) : 0;

		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (!strncmp(line, "version\t", 8))
			ret->version = value;
		else if (!strncmp(line, "step\t", 5) && value)
			ret->step = value;
		else if (!strncmp(line, "keep_days\t", 10))
			ret->keep_days = value;
		else if (!strncmp(line, "cluster\t", 8))
			ret->cluster = value;
	}
	return error;
}

int fleet_facts(const struct fleet *f, struct fleet_facts *ret, struct err *err)
{
	int error = read_facts(f, ret, err);

	if (error)
		return error;
	if (!ret->version)
		return err_set(err, -ENOENT, "there is no fleet: memoir fleet init makes it");
	if (ret->version < FLEET_VERSION)
		return err_set(err, -EPROTO,
			       "its tables are of version %u: memoir fleet init brings them to %u",
			       ret->version, FLEET_VERSION);
	if (ret->version > FLEET_VERSION)
		return err_set(err, -EPROTO,
			       "its tables are of version %u, and this memoir knows %u",
			       ret->version, FLEET_VERSION);
	return 0;
}

static int create_database(const struct fleet *f, struct err *err)
{
	auto_buf struct buf sql = { 0 };
	int error;

	buf_text(&sql, "CREATE DATABASE IF NOT EXISTS ");
	sql_name(&sql, f->database);
	error = fleet_ask_server(f, sql.data, NULL, err);
	if (error)
		return error;
	return fleet_ask(f,
			 "CREATE TABLE IF NOT EXISTS settings (key String, value UInt64, at "
			 "DateTime) ENGINE = ReplacingMergeTree(at) ORDER BY key",
			 NULL, err);
}

/* Is the cluster's name known to the server? */
static int check_cluster(const struct fleet *f, const char *cluster, struct err *err)
{
	auto_buf struct buf sql = { 0 };
	uint64_t shards = 0;
	int error;

	buf_text(&sql, "SELECT count() FROM system.clusters WHERE cluster = ");
	sql_text(&sql, cluster);
	error = fleet_ask_number(f, sql.data, &shards, err);
	if (!error && !shards)
		error = err_set(err, -ENOENT,
				"the server knows no cluster '%.60s': its remote_servers list it",
				cluster);
	return error;
}

/* Totals of what was sent before there were any; from the begin, since one that was interrupted is
 * repeated. */
static int fill_totals(const struct fleet *f, bool cluster, struct err *err)
{
	const char *local = cluster ? "_local" : "";
	auto_free char *empty = xasprintf("TRUNCATE TABLE totals%s", local);
	auto_buf struct buf sql = { 0 };
	int error;

	buf_printf(&sql,
		   "INSERT INTO totals%s SELECT day, recording, 0, stack, size_class, min(bucket), "
		   "max(bucket), sum(allocated_bytes), sum(allocated_count), sum(freed_bytes), "
		   "sum(freed_count), sum(leaked_bytes), sum(leaked_count), sum(peak_bytes), "
		   "sum(peak_count), sum(temporary_bytes), sum(temporary_count) FROM samples%s "
		   "WHERE recording GLOBAL IN (SELECT recording FROM parcels) "
		   "GROUP BY day, recording, stack, size_class",
		   local, local);
	error = fleet_ask(f, empty, NULL, err);
	return error ? error : fleet_ask(f, sql.data, NULL, err);
}

static int bring_to_version(const struct fleet *f, const struct fleet_options *o, unsigned from,
			    struct err *err)
{
	int error = 0;

	for (size_t i = 0; i < TABLES && !error; i++)
		error = create_table(f, o, &tables[i], err);
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes) && !error; i++)
		if (changes[i].version > from)
			error = change_table(f, o->cluster != NULL, &changes[i], err);
	if (!error && from && from < 3)
		error = fill_totals(f, o->cluster != NULL, err);
	return error;
}

int fleet_init(const struct fleet *f, const struct fleet_options *given, uint32_t *ret_before,
	       struct err *err)
{
	struct fleet_options o = *given;
	struct fleet_facts facts = { 0 };
	int error = create_database(f, err);

	if (!error && o.cluster)
		error = check_cluster(f, o.cluster, err);
	if (!error)
		error = read_facts(f, &facts, err);
	if (error)
		return error;
	*ret_before = facts.version;
	if (facts.version > FLEET_VERSION)
		return err_set(err, -EPROTO,
			       "its tables are of version %u, and this memoir knows %u",
			       facts.version, FLEET_VERSION);
	if (facts.version && o.step && o.step != facts.step)
		return err_set(err, -EEXIST, "its buckets are %u s long, and stay so", facts.step);
	if (facts.version && facts.cluster != (o.cluster != NULL))
		return err_set(err, -EEXIST,
			       facts.cluster ? "it is on a cluster: --cluster NAME"
					     : "its tables are there without one");
	error = bring_to_version(f, &o, facts.version, err);
	if (!error && !facts.version)
		error = set_number(f, "step", o.step ? o.step : FLEET_STEP, err);
	if (!error && !facts.version)
		error = set_number(f, "cluster", o.cluster != NULL, err);
	if (!error && o.keep_days)
		error = set_number(f, "keep_days", o.keep_days, err);
	if (!error && facts.version != FLEET_VERSION)
		error = set_number(f, "version", FLEET_VERSION, err);
	return error;
}

static int drop_days(const struct fleet *f, const char *table, const char *last, struct err *err)
{
	auto_buf struct buf sql = { 0 }, days = { 0 };
	int error;

	buf_text(&sql, "SELECT DISTINCT partition FROM system.parts WHERE active AND database = ");
	sql_text(&sql, f->database);
	buf_text(&sql, " AND table = ");
	sql_text(&sql, table);
	buf_text(&sql, " AND replaceAll(partition, '\\'', '') < ");
	sql_text(&sql, last);
	buf_text(&sql, " FORMAT TabSeparatedRaw");
	error = fleet_ask(f, sql.data, &days, err);
	for (char *day = days.data, *next; !error && day && *day; day = next) {
		auto_buf struct buf drop = { 0 };
		auto_free char *plain = NULL;

		next = day + strcspn(day, "\n");
		if (*next)
			*next++ = 0;
		plain = xmemdup0(day + (*day == '\''), strcspn(day + (*day == '\''), "'"));
		buf_printf(&drop, "ALTER TABLE %s DROP PARTITION ", table);
		sql_text(&drop, plain);
		error = fleet_ask(f, drop.data, NULL, err);
	}
	return error;
}

int fleet_forget(const struct fleet *f, const struct fleet_facts *facts, struct err *err)
{
	time_t then = time(NULL) - (time_t)facts->keep_days * 86400;
	char last[16] = "";
	struct tm day;
	int error = 0;

	if (!facts->keep_days)
		return 0;
	gmtime_r(&then, &day);
	strftime(last, sizeof(last), "%Y-%m-%d", &day);
	for (size_t i = 0; i < TABLES && !error; i++) {
		auto_free char *name =
			xasprintf("%s%s", tables[i].name, facts->cluster ? "_local" : "");

		if (tables[i].partition)
			error = drop_days(f, name, last, err);
	}
	return error;
}
