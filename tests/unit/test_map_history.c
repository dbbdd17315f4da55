/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory maps: ranges, the text of smaps, and maps followed through a recording, against a table
 * that says for each page whose it is. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/buf_text.h"
#include "base/xalloc.h"
#include "collector/smaps.h"
#include "model/model.h"
#include "pairing/ranges.h"
#include "query/map_list.h"
#include "recording_writer.h"
#include "wire/varint.h"

#define PAGE 4096ull
#define PAGES 96u
#define BASE 0x7f0000000000ull

static uint64_t seed;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(seed >> 33) % n;
}

static void ranges_are_what_they_say(void **state)
{
	uint32_t truth[64] = { 0 };
	struct ranges r = { 0 };
	struct range found;

	seed = 1;
	for (unsigned round = 1; round < 20000; round++) {
		unsigned from = below(64), to = from + 1 + below(64 - from), at = 0;

		ranges_cut(&r, from, to);
		memset(truth + from, 0, (to - from) * sizeof(*truth));
		if (below(2)) {
			ranges_add(&r, from, to, round);
			for (unsigned i = from; i < to; i++)
				truth[i] = round;
		}
		while (ranges_from(&r, at, &found)) {
			assert_true(found.start >= at && found.start < found.end &&
				    found.end <= 64);
			for (; at < found.start; at++)
				assert_int_equal(truth[at], 0);
			for (; at < found.end; at++)
				assert_int_equal(truth[at], found.value);
		}
		for (; at < 64; at++)
			assert_int_equal(truth[at], 0);
	}
	ranges_remove(&r, 1000);
	ranges_release(&r);
	assert_false(ranges_from(&r, 0, &found));
}

static void text_of_smaps(void **state)
{
	static const char text[] =
		"55d0c8a00000-55d0c8a21000 rw-p 00000000 00:00 0                          [heap]\n"
		"Size:                132 kB\n"
		"Rss:                  12 kB\n"
		"Pss:                   9 kB\n"
		"Shared_Clean:          1 kB\n"
		"Shared_Dirty:          2 kB\n"
		"Private_Clean:         3 kB\n"
		"Private_Dirty:         6 kB\n"
		"Anonymous:             8 kB\n"
		"Swap:                  7 kB\n"
		"SwapPss:               5 kB\n"
		"VmFlags: rd wr mr mw me ac\n"
		"7f1200000000-7f1200002000 r-xs 00003000 fd:0a 4711     /tmp/a b (deleted)\n"
		"Rss:                   4 kB\n"
		"not a line of it\n"
		"Swap:  99999999999999999999999999 kB\n"
		"7f1200002000-7f1200001000 r-xs 00003000 fd:0a 4711     backwards\n"
		"Rss:                  77 kB\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]\n"
		"Rss:                  88 kB\n"
		"7f1200003000-7f1200004000 ---p 00000000 00:00 0 \n";
	const char *at = text, *end = text + sizeof(text) - 1;
	struct smaps_entry e;

	assert_true(smaps_next(&at, end, &e));
	assert_true(e.start == 0x55d0c8a00000 && e.end == 0x55d0c8a21000 && !e.inode);
	assert_int_equal(e.flags, MAP_CAN_READ | MAP_CAN_WRITE);
	assert_int_equal(e.name_size, 6);
	assert_memory_equal(e.name, "[heap]", 6);
	assert_true(e.usage.rss == 12 && e.usage.shared_clean == 1 && e.usage.shared_dirty == 2 &&
		    e.usage.private_clean == 3 && e.usage.private_dirty == 6 &&
		    e.usage.anonymous == 8 && e.usage.swap == 7);
	assert_true(smaps_next(&at, end, &e));
	assert_true(e.start == 0x7f1200000000 && e.offset == 0x3000 && e.inode == 4711);
	assert_true(e.major == 0xfd && e.minor == 10);
	assert_int_equal(e.flags, MAP_CAN_READ | MAP_CAN_EXECUTE | MAP_IS_SHARED);
	assert_int_equal(e.name_size, strlen("/tmp/a b (deleted)"));
	assert_true(e.usage.rss == 4 && !e.usage.swap);
	assert_true(smaps_next(&at, end, &e));
	assert_true(e.start == 0x7f1200003000 && !e.name_size && !e.flags && !e.usage.rss);
	assert_false(smaps_next(&at, end, &e));
	at = text;
	assert_false(smaps_next(&at, text + 20, &e));
}

/* A sample of memory, as the collector writes it. */
struct map_sample_writer {
	struct buf bytes;
	uint64_t last;
};

static void put(struct map_sample_writer *l, uint64_t v)
{
	uint8_t bytes[VARINT_MAX];

	buf_add(&l->bytes, bytes, (size_t)(varint_put(bytes, v) - bytes));
}

static void put_head(struct map_sample_writer *l, uint64_t began, uint64_t took)
{
	buf_clear(&l->bytes);
	put(l, began);
	put(l, took);
}

static uint64_t put_region(struct map_sample_writer *l, uint64_t start, uint64_t length,
			   uint64_t kib, const char *name, unsigned flags)
{
	put(l, REGIONS_ADD);
	put(l, ++l->last);
	put(l, start);
	put(l, length);
	for (unsigned i = 0; i < 4; i++)
		put(l, 0);
	put(l, flags);
	put(l, strlen(name));
	buf_text(&l->bytes, name);
	put(l, REGIONS_USAGE);
	put(l, l->last);
	put(l, kib);
	for (unsigned i = 1; i < REGION_USAGE_COUNT; i++)
		put(l, i == 4 || i == 5 ? kib : 0);
	return l->last;
}

static void put_gone(struct map_sample_writer *l, uint64_t number)
{
	put(l, REGIONS_REMOVE);
	put(l, number);
}

#define RW (MAP_CAN_READ | MAP_CAN_WRITE)

/* Whose each page is: 0 nobody's, below 1000 the map of that call (plus one), above that a map that
 * nobody is known to have made. */
struct world {
	uint32_t owner[PAGES];
	/* Unmapped unseen: who maps there unseen too cannot be told from who was there. */
	bool barred[PAGES];
	uint64_t piece[PAGES]; /* number of the region that the last sample gave this page, and */
	uint32_t piece_owner[PAGES];
	uint32_t piece_first[PAGES], piece_end[PAGES];
	uint64_t now;
	uint32_t unseen;
	struct map_calls calls;
	struct regions regions;
	struct map_sample_writer sample;
};

static void call(struct world *w, unsigned from, unsigned count, bool unmaps)
{
	struct map_call c = { .at = ++w->now,
			      .address = BASE + from * PAGE,
			      .length = count * PAGE,
			      .call = unmaps ? CALL_munmap : CALL_mmap,
			      .given = 0x22 | 0x10 /* private, anonymous, fixed */,
			      .flags = RW | MAP_IS_ANONYMOUS,
			      .kind = unmaps ? MAP_CALL_UNMAPS : MAP_CALL_MAPS };

	map_calls_add(&w->calls, &c);
	for (unsigned i = from; i < from + count; i++)
		w->owner[i] = unmaps ? 0 : (uint32_t)w->calls.count;
}

static void take_sample(struct world *w)
{
	struct map_sample_writer *l = &w->sample;
	uint64_t began = ++w->now;

	put_head(l, began, 1);
	w->now++;
	/* What is as it was keeps its number. */
	for (unsigned i = 0; i < PAGES; i++) {
		bool same = true;

		if (!w->piece[i] || w->piece_first[i] != i)
			continue;
		for (unsigned k = i; k < w->piece_end[i]; k++)
			same = same && w->owner[k] == w->piece_owner[i];
		same = same && (!i || w->owner[i - 1] != w->owner[i]);
		same = same &&
		       (w->piece_end[i] == PAGES || w->owner[w->piece_end[i]] != w->owner[i]);
		if (same)
			continue;
		put_gone(l, w->piece[i]);
		for (unsigned k = i, end = w->piece_end[i]; k < end; k++)
			w->piece[k] = 0;
	}
	for (unsigned i = 0, end; i < PAGES; i = end) {
		uint64_t number;

		for (end = i + 1; end < PAGES && w->owner[end] == w->owner[i]; end++)
			;
		if (!w->owner[i] || w->piece[i])
			continue;
		number = put_region(l, BASE + i * PAGE, (end - i) * PAGE, (end - i) * 4, "", RW);
		for (unsigned k = i; k < end; k++) {
			w->piece[k] = number;
			w->piece_owner[k] = w->owner[i];
			w->piece_first[k] = i;
			w->piece_end[k] = end;
		}
	}
	assert_true(regions_add(&w->regions, (const uint8_t *)l->bytes.data, l->bytes.size));
}

/* At the end of it all, right after a sample. */
static void compare(const struct world *w)
{
	struct map_history *h = map_history_new(&w->calls, &w->regions);
	uint32_t seen[PAGES] = { 0 };

	for (uint32_t i = 0; i < h->count; i++) {
		const struct map_row *row = &h->rows[i];
		uint64_t alive = 0, before = 0;

		assert_true(i == 0 || row->begun >= h->rows[i - 1].begun);
		assert_true(row->region_count > 0 && row->usage_count > 0);
		for (uint32_t k = 0; k < row->region_count; k++) {
			const struct map_region *r = &h->regions[row->first_region + k];

			assert_int_equal(r->map, i);
			assert_true(r->begun <= r->ended && r->begun >= before);
			before = r->begun;
			for (uint32_t s = 0; s < r->source_count; s++) {
				const struct map_source *source = &h->sources[r->first_source + s];

				assert_true(source->address >= r->address &&
					    source->address + source->length <=
						    r->address + r->length);
				assert_true(h->calls.rows[source->call].at == r->ended);
			}
			if (r->ended != NEVER)
				continue;
			alive += r->length;
			for (uint64_t p = r->address; p < r->address + r->length; p += PAGE) {
				uint32_t *page = &seen[(p - BASE) / PAGE];

				assert_int_equal(*page, 0);
				*page = row->call == NO_CALL ? 1000 : row->call + 1;
			}
		}
		assert_int_equal(row->ended == NEVER, alive != 0);
		assert_int_equal(h->usages[row->first_usage + row->usage_count - 1].address_space,
				 alive);
		assert_int_equal(h->usages[row->first_usage + row->usage_count - 1].bytes.rss,
				 alive);
		assert_true(row->peak_rss <= row->size);
		for (uint32_t k = 1; k < row->usage_count; k++)
			assert_true(h->usages[row->first_usage + k].at >
				    h->usages[row->first_usage + k - 1].at);
	}
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(seen[i], w->owner[i] > 1000 ? 1000 : w->owner[i]);
	for (uint32_t i = 1; i < h->usage_count; i++)
		assert_true(h->usages[h->usage_order[i]].at >= h->usages[h->usage_order[i - 1]].at);
	map_history_free(h);
}

static void maps_are_followed(void **state)
{
	for (unsigned round = 0; round < 300; round++) {
		struct world w = { .now = 1000 };

		seed = round;
		for (unsigned steps = 0; steps < 120 && w.calls.count < 900; steps++) {
			unsigned from = below(PAGES),
				 count = 1 + below(PAGES - from < 20 ? PAGES - from : 20);

			switch (below(8)) {
			case 0: /* somebody whom nobody sees */
				w.unseen++;
				for (unsigned i = from; i < from + count; i++)
					if (!w.owner[i] && !w.barred[i])
						w.owner[i] = 1000 + w.unseen;
				break;
			case 1:
				for (unsigned i = from; i < from + count && below(4) == 0; i++) {
					w.owner[i] = 0;
					w.barred[i] = true;
				}
				break;
			case 2:
				take_sample(&w);
				break;
			case 3:
			case 4:
				call(&w, from, count, true);
				break;
			default:
				call(&w, from, count, false);
				break;
			}
		}
		/* What was unmapped unseen before any sample had shown it takes two to be missed.
		 */
		take_sample(&w);
		w.now++;
		take_sample(&w);
		compare(&w);
		map_calls_release(&w.calls);
		regions_release(&w.regions);
		buf_release(&w.sample.bytes);
	}
}

/* The heap grows: it is one map with several regions. */
static void heap_grows(void **state)
{
	struct map_sample_writer l = { 0 };
	struct regions seen = { 0 };
	struct map_calls none = { 0 };
	struct map_history *h;
	uint64_t number;

	put_head(&l, 100, 10);
	number = put_region(&l, BASE, 4 * PAGE, 8, "[heap]", RW);
	put_region(&l, BASE + 64 * PAGE, PAGE, 4, "/lib/a", RW);
	assert_true(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	put_head(&l, 200, 10);
	put_gone(&l, number);
	number = put_region(&l, BASE, 9 * PAGE, 20, "[heap]", RW);
	assert_true(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	put_head(&l, 300, 10);
	put_gone(&l, number);
	put_region(&l, BASE, 9 * PAGE, 20, "[heap]", MAP_CAN_READ);
	assert_true(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	h = map_history_new(&none, &seen);
	assert_int_equal(h->count, 2);
	assert_string_equal(map_history_name(h, &h->rows[0]), "[heap]");
	assert_int_equal(h->rows[0].region_count, 3);
	assert_int_equal(h->rows[0].size, 9 * PAGE);
	assert_int_equal(h->rows[0].peak_rss, 20 * 1024);
	assert_int_equal(h->rows[0].begun, 110);
	assert_true(h->rows[0].ended == NEVER && h->rows[0].flags == MAP_CAN_READ);
	assert_int_equal(h->regions[h->rows[0].first_region].ended, 210);
	map_history_free(h);
	regions_release(&seen);
	buf_release(&l.bytes);
}

/* A sample that sees a map before the call that made it is stamped. */
static void call_comes_late(void **state)
{
	struct map_sample_writer l = { 0 };
	struct regions seen = { 0 };
	struct map_calls calls = { 0 };
	struct map_call c = { .at = 150,
			      .address = BASE,
			      .length = 4 * PAGE,
			      .call = CALL_mmap,
			      .given = 0x22,
			      .flags = RW | MAP_IS_ANONYMOUS };
	struct map_history *h;

	put_head(&l, 100, 10);
	put_region(&l, BASE, 4 * PAGE, 8, "", RW);
	assert_true(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	map_calls_add(&calls, &c);
	h = map_history_new(&calls, &seen);
	assert_int_equal(h->count, 1);
	assert_int_equal(h->rows[0].call, 0);
	assert_int_equal(h->region_count, 1);
	assert_string_equal(map_history_name(h, &h->rows[0]), "[anon:mmap]");
	map_history_free(h);
	map_calls_release(&calls);
	regions_release(&seen);
	buf_release(&l.bytes);
}

static void bad_looks(void **state)
{
	struct map_sample_writer l = { 0 };
	struct regions seen = { 0 };

	put_head(&l, 100, 10);
	put_region(&l, BASE, 4 * PAGE, 8, "name", RW);
	/* Cut anywhere but between two records, it is malformed. */
	for (size_t n = 0; n < l.bytes.size; n++) {
		bool good = regions_add(&seen, (const uint8_t *)l.bytes.data, n);

		regions_release(&seen);
		assert_int_equal(good, n == 2 || n == l.bytes.size - 9);
	}
	put_head(&l, 100, 10);
	put(&l, 9);
	put(&l, 1);
	assert_false(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	regions_release(&seen);
	put_head(&l, 100, 10);
	put_region(&l, BASE, 0, 8, "", RW);
	assert_false(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	regions_release(&seen);
	put_head(&l, UINT64_MAX - 1, 10);
	assert_false(regions_add(&seen, (const uint8_t *)l.bytes.data, l.bytes.size));
	regions_release(&seen);
	buf_release(&l.bytes);
}

static struct event map_event(enum event_op op, enum event_call call, uint64_t stamp, unsigned page,
			      unsigned pages, uint32_t stack)
{
	struct event e = make_event(op, call, stamp, BASE + page * PAGE, pages * PAGE, stack);

	if (op == OP_MAP && call != CALL_mremap)
		e.word2 |= (uint64_t)(RW | MAP_IS_ANONYMOUS) << 56;
	return e;
}

static uint32_t list_maps(const struct model *m, const struct map_filter *only, enum map_sort sort,
			  bool descending, uint32_t **ret_rows)
{
	struct err err;
	struct map_list *list = map_list_new(m, NULL, NULL, only, &err);
	uint32_t count = map_list_page(list, sort, descending, 0, 10, ret_rows);

	map_list_free(list);
	return count;
}

/* Late in the ring, early by its stamp: a map call keeps no order but that of its stamp, and takes
 * no part in that of allocations. */
static void recording_with_maps(void **state)
{
	struct model_options how = { .workers = 0 };
	struct event e[16];
	struct writer w;
	struct map_sample_writer l = { 0 };
	const struct map_history *h;
	struct map_filter only;
	struct map_list *list;
	struct filter *f = filter_new();
	struct model *m;
	uint32_t *rows, n = 0;
	struct err err;
	char holds[32];

	snprintf(holds, sizeof(holds), "0x%llx", (unsigned long long)(BASE + 25 * PAGE + 7));
	e[n++] = make_thread(1000, 77, "main");
	e[n++] = make_event(OP_ALLOC, CALL_malloc, 1010, 0x5000, 100, 0);
	e[n++] = map_event(OP_MAP, CALL_mmap, 1020, 0, 8, 0);
	e[n++] = make_event(OP_FREE, CALL_free, 1030, 0x5000, 0, 0);
	e[n++] = map_event(OP_MAP, CALL_mmap, 1100, 0, 4, 0); /* after the next one */
	e[n++] = map_event(OP_UNMAP, CALL_munmap, 1050, 0, 8, 0);
	e[n++] = map_event(OP_UNMAP, CALL_mremap, 1200, 0, 4, 0);
	e[n++] = map_event(OP_MAP, CALL_mremap, 1210, 20, 10, 0);
	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	put_head(&l, 1060, 20);
	put_region(&l, BASE + 50 * PAGE, PAGE, 4, "/bin/x", MAP_CAN_READ | MAP_CAN_EXECUTE);
	writer_chunk(&w, CHUNK_REGIONS, l.bytes.data, l.bytes.size, 0);
	writer_run(&w, 0, e, n);
	writer_events(&w, 2000);
	writer_end(&w, true);
	assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
	model_load(m, &how);
	model_finish(m);
	assert_int_equal(m->loss.kind, LOSS_NONE);
	assert_int_equal(m->totals.events, n);
	assert_int_equal(m->allocations.count, 1);
	assert_int_equal(m->totals.temporary, 1);
	assert_int_equal(columns_freed_at(&m->allocations, 0), 1030);
	h = model_maps(m);
	assert_int_equal(h->count, 4);
	assert_true(h->rows[0].begun == 1020 && h->rows[0].ended == 1050 &&
		    h->rows[0].size == 8 * PAGE);
	assert_int_equal(h->calls.rows[h->rows[0].end_call].call, CALL_munmap);
	assert_true(h->rows[1].call == NO_CALL && h->rows[1].begun == 1080);
	assert_true(h->rows[2].begun == 1100 && h->rows[2].ended == 1200);
	assert_int_equal(h->calls.rows[h->rows[2].end_call].call, CALL_mremap);
	assert_true(h->rows[3].begun == 1210 && h->rows[3].size == 10 * PAGE);
	assert_int_equal(h->rows[3].flags, RW | MAP_IS_ANONYMOUS);

	/* Filters of allocations, and those of maps. */
	map_filter_init(&only);
	assert_int_equal(filter_add(f, "size_min", "20000", &err), 0);
	assert_int_equal(map_filter_set(&only, "executable", "only_false", &err), 0);
	assert_int_equal(map_filter_set(&only, "no_such", "1", &err), -ENOENT);
	assert_int_equal(map_filter_set(&only, "readable", "perhaps", &err), -EINVAL);
	list = map_list_new(m, NULL, f, &only, &err);
	assert_int_equal(map_list_page(list, MAP_SORT_SIZE, true, 0, 10, &rows), 2);
	assert_true(rows[0] == 3 && rows[1] == 0);
	free(rows);
	map_list_free(list);
	map_filter_init(&only);
	assert_int_equal(map_filter_set(&only, "peak-rss-min", "4096", &err), 0);
	list = map_list_new(m, NULL, NULL, &only, &err);
	assert_int_equal(map_list_page(list, MAP_SORT_TIMESTAMP, false, 0, 10, &rows), 1);
	assert_int_equal(rows[0], 1);
	free(rows);
	map_list_free(list);
	/* By name, by an address within, and in the order of what is not in a row. */
	map_filter_init(&only);
	assert_int_equal(map_filter_set(&only, "name", "bin", &err), 0);
	assert_int_equal(list_maps(m, &only, MAP_SORT_NAME, false, &rows), 1);
	assert_int_equal(rows[0], 1);
	free(rows);
	map_filter_init(&only);
	assert_int_equal(map_filter_set(&only, "holds", "no address", &err), -EINVAL);
	assert_int_equal(map_filter_set(&only, "holds", holds, &err), 0);
	assert_int_equal(list_maps(m, &only, MAP_SORT_RSS, true, &rows), 1);
	assert_int_equal(rows[0], 3);
	free(rows);
	map_filter_init(&only);
	assert_int_equal(list_maps(m, &only, MAP_SORT_LIFETIME, false, &rows), 4);
	assert_true(rows[0] == 0 && rows[1] == 2); /* 30 and 100; the others stayed */
	free(rows);
	assert_int_equal(list_maps(m, &only, MAP_SORT_RSS, true, &rows), 4);
	assert_int_equal(rows[0], 1);
	free(rows);
	assert_int_equal(list_maps(m, &only, MAP_SORT_THREAD, false, &rows), 4);
	assert_int_equal(rows[0], 1); /* of no thread */
	free(rows);
	/* Somebody else just makes what is kept with the recording; maps have their own of it. */
	assert_int_equal(filter_add(f, "group_allocations_min", "1", &err), 0);
	assert_int_equal(filter_add(f, "group_max_total_usage_first_seen_max", "1000000000s", &err),
			 0);
	map_filter_init(&only);
	pthread_mutex_lock(&m->building_summary);
	pthread_mutex_lock(&m->building_free_order);
	list = map_list_new(m, NULL, f, &only, &err);
	pthread_mutex_unlock(&m->building_free_order);
	pthread_mutex_unlock(&m->building_summary);
	assert_int_equal(map_list_page(list, MAP_SORT_SIZE, true, 0, 10, &rows), 2);
	free(rows);
	map_list_free(list);
	filter_free(f);
	model_free(m);
	writer_release(&w);
	buf_release(&l.bytes);
}

static bool was_in(const struct model *m, uint32_t row, const struct map_row *map)
{
	const struct map_history *h = model_maps(m);
	const struct columns *c = &m->allocations;
	uint64_t from = columns_address(c, row), to = from + columns_size(c, row);

	for (uint32_t i = 0; i < map->region_count; i++) {
		const struct map_region *r = &h->regions[map->first_region + i];

		if (from < r->address + r->length && r->address < to &&
		    columns_allocated_at(c, row) < r->ended && r->begun < columns_freed_at(c, row))
			return true;
	}
	return false;
}

/* Allocations of a map, against a look at each. */
static void allocations_from_maps(void **state)
{
	struct model_options how = { .workers = 0 };
	struct event e[4000];
	uint64_t used[PAGES * 4] = { 0 };
	struct writer w;
	struct model *m;
	struct err err;
	uint32_t n = 0;

	seed = 99;
	e[n++] = make_thread(1000, 77, "main");
	for (uint64_t at = 1001; n < 4000; at += 1 + below(3)) {
		unsigned page = below(PAGES), place = below(PAGES * 4);

		if (below(20) == 0) {
			e[n++] = map_event(below(3) ? OP_MAP : OP_UNMAP, CALL_mmap, at, page,
					   1 + below(PAGES - page), 0);
		} else if (used[place]) {
			e[n++] = make_event(OP_FREE, CALL_free, at, used[place], 0, 0);
			used[place] = 0;
		} else {
			used[place] = BASE + place * PAGE / 4;
			e[n++] = make_event(OP_ALLOC, CALL_malloc, at, used[place],
					    1 + below(3 * PAGE), 0);
		}
	}
	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_run(&w, 0, e, n);
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
	model_load(m, &how);
	model_finish(m);
	assert_true(model_maps(m)->count > 50);
	for (uint32_t id = 0; id < model_maps(m)->count; id += 7) {
		struct filter *f = filter_new();
		struct view *v;
		char text[40];

		snprintf(text, sizeof(text), "%u,%u,99999", id, id / 2);
		assert_int_equal(filter_add(f, "from_map", text, &err), 0);
		v = view_new(m, NULL, f, &err);
		for (uint32_t row = 0; row < m->allocations.count; row++)
			assert_int_equal(view_has(v, row),
					 was_in(m, row, &model_maps(m)->rows[id]) ||
						 was_in(m, row, &model_maps(m)->rows[id / 2]));
		view_free(v);
		filter_free(f);
	}
	model_free(m);
	writer_release(&w);
}

/* What was recorded before there were maps. */
static void older_version(void **state)
{
	struct model_options how = { .workers = 0 };
	struct event e = make_event(OP_ALLOC, CALL_malloc, 1010, 0x5000, 100, 0);
	struct writer w;
	struct model *m;
	struct err err;

	for (uint32_t version = 1; version <= FORMAT_VERSION + 1; version++) {
		writer_init(&w, -1);
		writer_header(&w, version);
		writer_run(&w, 0, &e, 1);
		writer_events(&w, UINT64_MAX);
		writer_end(&w, true);
		if (version > FORMAT_VERSION) {
			assert_true(model_open_memory(&m, w.out.data, w.out.size, &err) < 0);
			assert_non_null(strstr(err.text, "version"));
		} else {
			assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
			model_load(m, &how);
			model_finish(m);
			assert_int_equal(m->loss.kind, LOSS_NONE);
			assert_int_equal(m->allocations.count, 1);
			assert_int_equal(model_maps(m)->count, 0);
			model_free(m);
		}
		writer_release(&w);
	}
}

UNIT(map_history)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_what_they_say),
		cmocka_unit_test(text_of_smaps),
		cmocka_unit_test(maps_are_followed),
		cmocka_unit_test(heap_grows),
		cmocka_unit_test(call_comes_late),
		cmocka_unit_test(bad_looks),
		cmocka_unit_test(recording_with_maps),
		cmocka_unit_test(allocations_from_maps),
		cmocka_unit_test(older_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
