/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /metrics: the process's and each arena's numbers as Prometheus reads them, all of one epoch.
 *
 * Names are those of `memoir jemalloc metrics`, which makes more of a whole snapshot. */
#include <stdio.h>
#include <string.h>

#include "agent/answer.h"
#include "agent/ctl.h"
#include "agent/jemalloc.h"

struct metric {
	const char *name; /* behind stats. or stats.arenas.#. */
	const char *metric;
	bool counter;
	unsigned divisor; /* into seconds; 0: none */
};

static const struct metric totals[] = {
	{ "allocated", "allocated_bytes", false, 0 },
	{ "active", "active_bytes", false, 0 },
	{ "metadata", "metadata_bytes", false, 0 },
	{ "metadata_thp", "metadata_thp", false, 0 },
	{ "resident", "resident_bytes", false, 0 },
	{ "mapped", "mapped_bytes", false, 0 },
	{ "retained", "retained_bytes", false, 0 },
	{ "zero_reallocs", "zero_reallocs_total", true, 0 },
	{ "background_thread.num_threads", "background_num_threads", false, 0 },
	{ "background_thread.num_runs", "background_num_runs_total", true, 0 },
	{ "background_thread.run_interval", "background_run_interval_seconds", false, 1000000000 },
};

static const struct metric arenas[] = {
	{ "nthreads", "arena_nthreads", false, 0 },
	{ "uptime", "arena_uptime_seconds", false, 1000000000 },
	{ "dirty_decay_ms", "arena_dirty_decay_seconds", false, 1000 },
	{ "muzzy_decay_ms", "arena_muzzy_decay_seconds", false, 1000 },
	{ "pactive", "arena_pactive", false, 0 },
	{ "pdirty", "arena_pdirty", false, 0 },
	{ "pmuzzy", "arena_pmuzzy", false, 0 },
	{ "dirty_npurge", "arena_dirty_npurge_total", true, 0 },
	{ "dirty_nmadvise", "arena_dirty_nmadvise_total", true, 0 },
	{ "dirty_purged", "arena_dirty_purged_total", true, 0 },
	{ "muzzy_npurge", "arena_muzzy_npurge_total", true, 0 },
	{ "muzzy_nmadvise", "arena_muzzy_nmadvise_total", true, 0 },
	{ "muzzy_purged", "arena_muzzy_purged_total", true, 0 },
	{ "small.allocated", "arena_small_allocated_bytes", false, 0 },
	{ "small.nmalloc", "arena_small_nmalloc_total", true, 0 },
	{ "small.ndalloc", "arena_small_ndalloc_total", true, 0 },
	{ "small.nrequests", "arena_small_nrequests_total", true, 0 },
	{ "large.allocated", "arena_large_allocated_bytes", false, 0 },
	{ "large.nmalloc", "arena_large_nmalloc_total", true, 0 },
	{ "large.ndalloc", "arena_large_ndalloc_total", true, 0 },
	{ "large.nrequests", "arena_large_nrequests_total", true, 0 },
	{ "mapped", "arena_mapped_bytes", false, 0 },
	{ "retained", "arena_retained_bytes", false, 0 },
	{ "base", "arena_base_bytes", false, 0 },
	{ "internal", "arena_internal_bytes", false, 0 },
	{ "tcache_bytes", "arena_tcache_bytes", false, 0 },
	{ "resident", "arena_resident_bytes", false, 0 },
};

static void head(struct text *out, const struct metric *m, const char *of)
{
	text_printf(out, "# HELP jemalloc_%s %s of %s\n# TYPE jemalloc_%s %s\n", m->metric, m->name,
		    of, m->metric, m->counter ? "counter" : "gauge");
}

/* The number behind a name; false: this jemalloc has none. */
static bool number(const char *name, long long *ret)
{
	const struct ctl_row *row = ctl_find(name);
	uint64_t wide = 0;
	uint32_t narrow = 0;
	int e = -1;

	if (row)
		e = row->type == CTL_U32 ? jemalloc_u32(name, &narrow) : jemalloc_u64(name, &wide);
	*ret = (long long)(row && row->type == CTL_U32 ? narrow : wide);
	return !e;
}

static void value(struct text *out, const struct metric *m, long long v)
{
	unsigned long long size = v < 0 ? 0ull - (unsigned long long)v : (unsigned long long)v;
	int digits = m->divisor == 1000 ? 3 : 9;

	if (!m->divisor)
		text_printf(out, " %lld\n", v);
	else
		text_printf(out, " %s%llu.%0*llu\n", v < 0 ? "-" : "", size / m->divisor, digits,
			    size % m->divisor);
}

void metrics_print(struct exchange *x)
{
	struct text *out = &x->out;
	uint64_t epoch = 1;
	uint32_t count = 0;
	char name[96];
	long long v;

	if (!answer_needs_jemalloc(x))
		return;
	x->type = "text/plain; version=0.0.4; charset=utf-8";
	jemalloc_set("epoch", &epoch, sizeof(epoch));
	jemalloc_u32("arenas.narenas", &count);
	text_printf(out,
		    "# HELP jemalloc_info the version\n# TYPE jemalloc_info gauge\n"
		    "jemalloc_info{version=\"%s\"} 1\n",
		    jemalloc.version);
	for (size_t i = 0; i < sizeof(totals) / sizeof(*totals); i++) {
		snprintf(name, sizeof(name), "stats.%s", totals[i].name);
		if (!number(name, &v))
			continue;
		head(out, &totals[i], "the process");
		text_printf(out, "jemalloc_%s", totals[i].metric);
		value(out, &totals[i], v);
	}
	for (size_t i = 0; i < sizeof(arenas) / sizeof(*arenas); i++) {
		bool begun = false;

		for (uint32_t a = 0; a < count; a++) {
			bool there = false;

			snprintf(name, sizeof(name), "arena.%u.initialized", a);
			if (jemalloc_bool(name, &there) || !there)
				continue;
			snprintf(name, sizeof(name), "stats.arenas.%u.%s", a, arenas[i].name);
			if (!number(name, &v))
				continue;
			if (!begun)
				head(out, &arenas[i], "an arena");
			begun = true;
			text_printf(out, "jemalloc_%s{arena=\"%u\"}", arenas[i].metric, a);
			value(out, &arenas[i], v);
		}
	}
}
