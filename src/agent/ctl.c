/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names, types and values.  See ctl.h. */
#include "agent/ctl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/jemalloc.h"

static const struct ctl_row rows[] = {
	{ "version", CTL_TEXT, CTL_READ },
	{ "epoch", CTL_U64, CTL_BOTH },
	{ "background_thread", CTL_BOOL, CTL_BOTH },
	{ "max_background_threads", CTL_SIZE, CTL_BOTH },

	{ "config.malloc_conf", CTL_TEXT, CTL_READ },
	{ "config.@", CTL_BOOL, CTL_READ },

	{ "opt.metadata_thp", CTL_TEXT, CTL_READ },
	{ "opt.dss", CTL_TEXT, CTL_READ },
	{ "opt.percpu_arena", CTL_TEXT, CTL_READ },
	{ "opt.junk", CTL_TEXT, CTL_READ },
	{ "opt.thp", CTL_TEXT, CTL_READ },
	{ "opt.stats_print_opts", CTL_TEXT, CTL_READ },
	{ "opt.stats_interval_opts", CTL_TEXT, CTL_READ },
	{ "opt.zero_realloc", CTL_TEXT, CTL_READ },
	{ "opt.prof_prefix", CTL_TEXT, CTL_READ },
	{ "opt.prof_time_resolution", CTL_TEXT, CTL_READ },
	{ "opt.narenas", CTL_U32, CTL_READ },
	{ "opt.stats_interval", CTL_I64, CTL_READ },
	{ "opt.mutex_max_spin", CTL_I64, CTL_READ },
	{ "opt.dirty_decay_ms", CTL_SSIZE, CTL_READ },
	{ "opt.muzzy_decay_ms", CTL_SSIZE, CTL_READ },
	{ "opt.lg_prof_interval", CTL_SSIZE, CTL_READ },
	{ "opt.prof_recent_alloc_max", CTL_SSIZE, CTL_READ },
	{ "opt.lg_prof_sample", CTL_SIZE, CTL_READ },
	{ "opt.lg_extent_max_active_fit", CTL_SIZE, CTL_READ },
	{ "opt.oversize_threshold", CTL_SIZE, CTL_READ },
	{ "opt.max_background_threads", CTL_SIZE, CTL_READ },
	{ "opt.tcache_max", CTL_SIZE, CTL_READ },
	{ "opt.tcache_gc_incr_bytes", CTL_SIZE, CTL_READ },
	{ "opt.tcache_gc_delay_bytes", CTL_SIZE, CTL_READ },
	{ "opt.lg_tcache_max", CTL_SSIZE, CTL_READ }, /* up to 5.2 */
	{ "opt.tcache_nslots_small_min", CTL_U32, CTL_READ },
	{ "opt.tcache_nslots_small_max", CTL_U32, CTL_READ },
	{ "opt.tcache_nslots_large", CTL_U32, CTL_READ },
	{ "opt.lg_tcache_nslots_mul", CTL_SSIZE, CTL_READ },
	{ "opt.lg_tcache_flush_small_div", CTL_U32, CTL_READ },
	{ "opt.lg_tcache_flush_large_div", CTL_U32, CTL_READ },
	{ "opt.hpa_slab_max_alloc", CTL_SIZE, CTL_READ },
	{ "opt.hpa_hugification_threshold", CTL_SIZE, CTL_READ },
	{ "opt.hpa_hugify_delay_ms", CTL_U64, CTL_READ },
	{ "opt.hpa_min_purge_interval_ms", CTL_U64, CTL_READ },
	{ "opt.hpa_dirty_mult", CTL_U32, CTL_READ }, /* in 65536ths */
	{ "opt.hpa_sec_nshards", CTL_SIZE, CTL_READ },
	{ "opt.hpa_sec_max_alloc", CTL_SIZE, CTL_READ },
	{ "opt.hpa_sec_max_bytes", CTL_SIZE, CTL_READ },
	{ "opt.hpa_sec_bytes_after_flush", CTL_SIZE, CTL_READ },
	{ "opt.hpa_sec_batch_fill_extra", CTL_SIZE, CTL_READ },
	{ "opt.@", CTL_BOOL, CTL_READ },

	{ "arenas.narenas", CTL_U32, CTL_READ },
	{ "arenas.dirty_decay_ms", CTL_SSIZE, CTL_BOTH },
	{ "arenas.muzzy_decay_ms", CTL_SSIZE, CTL_BOTH },
	{ "arenas.quantum", CTL_SIZE, CTL_READ },
	{ "arenas.page", CTL_SIZE, CTL_READ },
	{ "arenas.hugepage", CTL_SIZE, CTL_READ },
	{ "arenas.tcache_max", CTL_SIZE, CTL_READ },
	{ "arenas.nbins", CTL_U32, CTL_READ },
	{ "arenas.nhbins", CTL_U32, CTL_READ },
	{ "arenas.nlextents", CTL_U32, CTL_READ },
	{ "arenas.bin.#.size", CTL_SIZE, CTL_READ },
	{ "arenas.bin.#.nregs", CTL_U32, CTL_READ },
	{ "arenas.bin.#.slab_size", CTL_SIZE, CTL_READ },
	{ "arenas.bin.#.nshards", CTL_U32, CTL_READ },
	{ "arenas.lextent.#.size", CTL_SIZE, CTL_READ },

	{ "arena.#.initialized", CTL_BOOL, CTL_READ },
	{ "arena.#.purge", CTL_ACTION, CTL_WRITE },
	{ "arena.#.decay", CTL_ACTION, CTL_WRITE },
	{ "arena.#.dirty_decay_ms", CTL_SSIZE, CTL_BOTH },
	{ "arena.#.muzzy_decay_ms", CTL_SSIZE, CTL_BOTH },
	{ "arena.#.retain_grow_limit", CTL_SIZE, CTL_BOTH },

	{ "prof.active", CTL_BOOL, CTL_BOTH },
	{ "prof.thread_active_init", CTL_BOOL, CTL_BOTH },
	{ "prof.gdump", CTL_BOOL, CTL_BOTH },
	{ "prof.prefix", CTL_TEXT, CTL_WRITE },
	{ "prof.reset", CTL_SIZE, CTL_WRITE },
	{ "prof.lg_sample", CTL_SIZE, CTL_READ },
	{ "prof.interval", CTL_U64, CTL_READ },
	{ "experimental.prof_recent.alloc_max", CTL_SSIZE, CTL_BOTH },

	{ "stats.mutexes.reset", CTL_ACTION, CTL_WRITE },
	{ "stats.mutexes.@.max_num_thds", CTL_U32, CTL_READ },
	{ "stats.mutexes.@.@", CTL_U64, CTL_READ },
	{ "stats.background_thread.num_threads", CTL_SIZE, CTL_READ },
	{ "stats.background_thread.@", CTL_U64, CTL_READ },
	{ "stats.@", CTL_SIZE, CTL_READ },
	{ "approximate_stats.active", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.nthreads", CTL_U32, CTL_READ },
	{ "stats.arenas.#.uptime", CTL_U64, CTL_READ },
	{ "stats.arenas.#.dss", CTL_TEXT, CTL_READ },
	{ "stats.arenas.#.dirty_decay_ms", CTL_SSIZE, CTL_READ },
	{ "stats.arenas.#.muzzy_decay_ms", CTL_SSIZE, CTL_READ },
	{ "stats.arenas.#.dirty_npurge", CTL_U64, CTL_READ },
	{ "stats.arenas.#.dirty_nmadvise", CTL_U64, CTL_READ },
	{ "stats.arenas.#.dirty_purged", CTL_U64, CTL_READ },
	{ "stats.arenas.#.muzzy_npurge", CTL_U64, CTL_READ },
	{ "stats.arenas.#.muzzy_nmadvise", CTL_U64, CTL_READ },
	{ "stats.arenas.#.muzzy_purged", CTL_U64, CTL_READ },
	{ "stats.arenas.#.@", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.small.allocated", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.small.@", CTL_U64, CTL_READ },
	{ "stats.arenas.#.large.allocated", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.large.@", CTL_U64, CTL_READ },
	{ "stats.arenas.#.bins.#.curregs", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.bins.#.curslabs", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.bins.#.nonfull_slabs", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.bins.#.mutex.max_num_thds", CTL_U32, CTL_READ },
	{ "stats.arenas.#.bins.#.mutex.@", CTL_U64, CTL_READ },
	{ "stats.arenas.#.bins.#.@", CTL_U64, CTL_READ },
	{ "stats.arenas.#.lextents.#.curlextents", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.lextents.#.@", CTL_U64, CTL_READ },
	{ "stats.arenas.#.extents.#.@", CTL_SIZE, CTL_READ },
	{ "stats.arenas.#.mutexes.@.max_num_thds", CTL_U32, CTL_READ },
	{ "stats.arenas.#.mutexes.@.@", CTL_U64, CTL_READ },
};

static bool matches(const char *pattern, const char *name)
{
	for (; *pattern; pattern++) {
		size_t n;

		if (*pattern == '#')
			n = strspn(name, "0123456789");
		else if (*pattern == '@')
			n = strspn(name, "abcdefghijklmnopqrstuvwxyz_");
		else
			n = *pattern == *name;
		if (!n || n > 40)
			return false;
		name += n;
	}
	return !*name;
}

const struct ctl_row *ctl_find(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (matches(rows[i].name, name))
			return &rows[i];
	return NULL;
}

const char *ctl_type_name(enum ctl_type type)
{
	static const char *const names[] = { "bool",   "uint32",  "uint64", "int64",
					     "size_t", "ssize_t", "string", "void" };

	return names[type];
}

int ctl_print(const struct ctl_row *row, const char *name, struct text *out)
{
	union ctl_value v = { .u64 = 0 };
	int e = EPERM;

	switch (row->type) {
	case CTL_BOOL:
		e = jemalloc_get(name, &v.flag);
		if (!e)
			text_str(out, v.flag ? "true" : "false");
		break;
	case CTL_U32:
		e = jemalloc_get(name, &v.u32);
		if (!e)
			text_printf(out, "%u", v.u32);
		break;
	case CTL_U64:
	case CTL_SIZE:
		e = jemalloc_get(name, &v.u64);
		if (!e)
			text_printf(out, "%llu", (unsigned long long)v.u64);
		break;
	case CTL_I64:
	case CTL_SSIZE:
		e = jemalloc_get(name, &v.u64);
		if (!e)
			text_printf(out, "%lld", (long long)v.i64);
		break;
	case CTL_TEXT:
		e = jemalloc_get(name, &v.text);
		if (!e)
			text_json(out, v.text ? v.text : "");
		break;
	case CTL_ACTION:
		break;
	}
	return e;
}

static bool whole_number(const char *text, bool negative)
{
	if (*text == '-' && negative)
		text++;
	return *text >= '0' && *text <= '9' && !text[strspn(text, "0123456789")];
}

size_t ctl_parse(const struct ctl_row *row, const char *text, union ctl_value *ret)
{
	bool negative = row->type == CTL_SSIZE || row->type == CTL_I64;
	unsigned long long number = 0;

	switch (row->type) {
	case CTL_ACTION:
		return 0;
	case CTL_TEXT:
		ret->text = text;
		return sizeof(ret->text);
	case CTL_BOOL:
		ret->flag = !strcmp(text, "true") || !strcmp(text, "1");
		return ret->flag || !strcmp(text, "false") || !strcmp(text, "0") ? sizeof(ret->flag)
										 : 0;
	default:
		break;
	}
	if (!whole_number(text, negative))
		return 0;
	errno = 0;
	number = negative ? (unsigned long long)strtoll(text, NULL, 10) : strtoull(text, NULL, 10);
	if (errno || (row->type == CTL_U32 && number > UINT32_MAX))
		return 0;
	if (row->type == CTL_U32) {
		ret->u32 = (uint32_t)number;
		return sizeof(ret->u32);
	}
	ret->u64 = number;
	return sizeof(ret->u64);
}
