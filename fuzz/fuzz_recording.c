/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The format reader and everything behind it, on any bytes.
 *
 * Sums stop a fuzzer at once, so before the file is read every chunk in it gets the sum that its
 * bytes ask for; the file as it came is read too. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf_type.h"
#include "fuzz.h"
#include "mend.h"
#include "model/model.h"
#include "model/stats.h"

static void check_chain(const struct model *m, uint32_t row)
{
	const struct columns *c = &m->allocations;
	uint32_t id = columns_chain(c, row), before = columns_previous(c, row);

	if (id == NO_CHAIN) {
		if (before != NO_ALLOCATION)
			abort();
		return;
	}
	if (id >= m->chain_count || columns_position(c, row) >= m->chains[id].length ||
	    (columns_position(c, row) == 0) != (before == NO_ALLOCATION) ||
	    (before != NO_ALLOCATION &&
	     (columns_chain(c, before) != id ||
	      columns_position(c, before) + 1 != columns_position(c, row))))
		abort();
}

static void check(const struct model *m)
{
	const struct columns *c = &m->allocations;
	const struct totals *t = &m->recorded;
	uint64_t live = 0, bytes = 0, before = 0;

	if (c->count != t->allocations || t->live_bytes > t->peak_bytes ||
	    t->deallocations > t->allocations)
		abort();
	for (uint32_t i = 0; i < c->count; i++) {
		if (columns_allocated_at(c, i) < before ||
		    columns_freed_at(c, i) < columns_allocated_at(c, i))
			abort();
		before = columns_allocated_at(c, i);
		if (columns_previous(c, i) != NO_ALLOCATION && columns_previous(c, i) >= i)
			abort();
		check_chain(m, i);
		if (tags_thread(columns_tags(c, i)) >= m->tables.threads.count)
			abort();
		live += columns_freed_at(c, i) == NEVER;
		bytes += columns_freed_at(c, i) == NEVER ? columns_size(c, i) : 0;
	}
	if (live != t->live_count || bytes != t->live_bytes)
		abort();
}

/* Every location is found again, and its lines and texts are there. */
static void look_at_names(const struct known *k)
{
	struct known_location *sorted = known_sorted(k);
	size_t sum = 0;

	for (size_t i = 0; i < k->location_count; i++) {
		const struct known_location *found = known_find(
			sorted, k->location_count, k->locations[i].module, k->locations[i].address);

		if (!found || found->first + found->count > k->line_count)
			abort();
		for (uint32_t n = 0; n < found->count; n++)
			sum += strlen(k->texts[k->lines[found->first + n].function]);
	}
	free(sorted);
	if (sum == SIZE_MAX)
		abort();
}

/* Every map has its regions and what it used, in order. */
static void look_at_maps(const struct model *m)
{
	const struct map_history *h = model_maps(m);
	size_t sum = 0;

	for (uint32_t i = 0; i < h->count; i++) {
		const struct map_row *row = &h->rows[i];

		if (!row->region_count || row->ended < row->begun ||
		    row->first_region + row->region_count > h->region_count ||
		    row->first_usage + row->usage_count > h->usage_count ||
		    (row->call != NO_CALL && row->call >= h->calls.count))
			abort();
		sum += strlen(map_history_name(h, row));
		for (uint32_t k = 0; k < row->region_count; k++) {
			const struct map_region *r = &h->regions[row->first_region + k];

			if (r->map != i || !r->length || r->ended < r->begun ||
			    r->first_source + r->source_count > h->source_count)
				abort();
		}
	}
	if (sum == SIZE_MAX)
		abort();
}

static void read_recording(const uint8_t *data, size_t size)
{
	struct model_options options = { .workers = 0 };
	struct stack_counts counts;
	struct stack_sums sums;
	struct buf file = { 0 };
	struct model *m;
	struct err err;

	if (model_open_memory(&m, data, size, &err))
		return;
	model_load(m, &options);
	model_load(m, &options);
	model_finish(m);
	check(m);
	stats_count_stacks(m, &counts);
	stats_sum_stacks(m, &sums);
	for (unsigned order = 0; order < STACK_ORDERS; order++)
		stack_sums_top(&sums, (enum stack_order)order, 10);
	stack_sums_release(&sums);
	look_at_names(&m->tables.known);
	look_at_maps(m);
	model_runtime_ns(m);
	model_start_ns(m);
	for (size_t i = 0; i < m->tables.file_count && i < 4; i++) {
		const struct embedded_file *f = &m->tables.files[i];

		model_file(m, f->build_id, f->build_id_size, f->path, &file, &err);
	}
	buf_release(&file);
	model_free(m);
}

FUZZ(recording, data, size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	unsetenv("MEMOIR_PACK_EVENTS");
	read_recording(copy, size);
	mend_recording(copy, size);
	read_recording(copy, size);
	/* The same as packed rows, in groups of four. */
	setenv("MEMOIR_PACK_EVENTS", "0", 1);
	setenv("MEMOIR_PACK_BITS", "2", 1);
	read_recording(copy, size);
	free(copy);
	return 0;
}
