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

#define TOTALS (sizeof(totals) / sizeof(*totals))
#define ARENAS (sizeof(arenas) / sizeof(*arenas))
#define ARENAS_MAX 4096u /* as many as jemalloc has */

static struct jemalloc_number total_numbers[TOTALS], arena_numbers[ARENAS], initialized;

static void metrics_find_number(struct jemalloc_number *n, const char *prefix, const char *name)
{
	char full[sizeof(n->name)];
	const struct ctl_row *row;

	snprintf(full, sizeof(full), "%s%s", prefix, name);
	row = ctl_find(full);
	jemalloc_number_find(n, full, !row ? 0 : row->type == CTL_U32 ? 4 : 8);
}

static void find_all(void)
{
	if (initialized.name[0])
		return;
	for (size_t i = 0; i < TOTALS; i++)
		metrics_find_number(&total_numbers[i], "stats.", totals[i].name);
	for (size_t i = 0; i < ARENAS; i++)
		metrics_find_number(&arena_numbers[i], "stats.arenas.0.", arenas[i].name);
	jemalloc_number_find(&initialized, "arena.0.initialized", sizeof(bool));
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
	static bool there[ARENAS_MAX];
	uint64_t epoch = 1, v;
	uint32_t count = 0;

	if (!answer_needs_jemalloc(x))
		return;
	x->type = "text/plain; version=0.0.4; charset=utf-8";
	jemalloc_set("epoch", &epoch, sizeof(epoch));
	jemalloc_get("arenas.narenas", &count);
	if (count > ARENAS_MAX)
		count = ARENAS_MAX;
	find_all();
	for (uint32_t a = 0; a < count; a++)
		there[a] = initialized.size ? !jemalloc_number_read(&initialized, 1, a, &v) && v
					    : jemalloc_has_arena(a);
	text_printf(out,
		    "# HELP jemalloc_info the version\n# TYPE jemalloc_info gauge\n"
		    "jemalloc_info{version=\"%s\"} 1\n",
		    jemalloc.version);
	for (size_t i = 0; i < TOTALS; i++) {
		if (jemalloc_number_read(&total_numbers[i], 0, 0, &v))
			continue;
		head(out, &totals[i], "the process");
		text_printf(out, "jemalloc_%s", totals[i].metric);
		value(out, &totals[i], (long long)v);
	}
	for (size_t i = 0; i < ARENAS; i++) {
		bool begun = false;

		for (uint32_t a = 0; a < count; a++) {
			if (!there[a] || jemalloc_number_read(&arena_numbers[i], 2, a, &v))
				continue;
			if (!begun)
				head(out, &arenas[i], "an arena");
			begun = true;
			text_printf(out, "jemalloc_%s{arena=\"%u\"}", arenas[i].metric, a);
			value(out, &arenas[i], (long long)v);
		}
	}
}
