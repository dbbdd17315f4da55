/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* gen_recording FILE [EVENTS [THREADS [SEED [KEEP [CODEC [STACKS [USUAL]]]]]]]: a recording of a
 * program that never was.
 *
 * For measuring how fast recordings load (20 million events by default) and for the fuzzer's
 * corpus.  It imitates what matters to a loader: an allocator that hands out the address freed last
 * in its class, sizes and lifetimes from a long-tailed mixture, stacks used very unequally, frees
 * by other threads, reallocs that grow, passes over rings with a horizon.  KEEP is the percentage
 * of blocks that are never freed (2; 0.1 is one in a thousand), CODEC raw, zstd or lz4 (zstd).
 * With STACKS there are so many, and every second allocation takes the next of them in turn;
 * without, or with 0, there are 40,000, most of which are used rarely.  USUAL is the percentage (0)
 * of stacks that follow on another as they always do, and of allocations that have their stack's
 * own size: programs repeat themselves, and their files are smaller therefore.  Prints what a
 * loader must find, as JSON. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "recording_writer.h"

#define CLASSES 64
#define STACKS_USUAL 40000u
#define STACKS_MAX 4000000u
#define THREADS_MAX 64
#define TICKS_PER_EVENT 250
#define START 1000000000000ull
#define MILLION 1000000u

static uint64_t random_state;
static uint32_t stacks = STACKS_USUAL;
static bool in_turn; /* stacks were asked for: all of them are used */
static uint32_t usual_percent;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1dull;
}

static uint32_t below(uint32_t n)
{
	return (uint32_t)(((next_random() >> 32) * n) >> 32);
}

/* Addresses: the last one freed of a class first, else new ones from the top. */
struct block {
	uint64_t address;
	uint32_t size;
	uint16_t class;
};

static struct {
	uint64_t *addresses;
	size_t count, room;
} free_lists[CLASSES];
static uint64_t top = 0x555555600000ull;

static unsigned class_of(uint32_t size)
{
	unsigned class = (size + 15) / 16;

	return class < 32 ? class : 32 + (unsigned)(31 - __builtin_clz(size)) - 8;
}

static uint64_t class_size(unsigned class)
{
	return class < 32 ? (class ? class : 1) * 16 + 16 : (2ull << (class - 32 + 8)) + 16;
}

static struct block allocate(uint32_t size)
{
	struct block b = { .size = size, .class = (uint16_t)class_of(size) };

	if (free_lists[b.class].count) {
		b.address = free_lists[b.class].addresses[--free_lists[b.class].count];
	} else {
		b.address = top + 16;
		top += class_size(b.class);
	}
	return b;
}

static void release(struct block b)
{
	free_lists[b.class].addresses =
		xgrow(free_lists[b.class].addresses, free_lists[b.class].count,
		      &free_lists[b.class].room, sizeof(uint64_t));
	free_lists[b.class].addresses[free_lists[b.class].count++] = b.address;
}

/* Live blocks of one thread: most die young, so the newest are chosen more often. */
struct live_set {
	struct block *blocks;
	size_t count, room;
};

static struct block take(struct live_set *s)
{
	size_t back = below(100) < 80 ? below(8) : below((uint32_t)s->count);
	size_t i = s->count - 1 - (back < s->count ? back : 0);
	struct block b = s->blocks[i];

	s->blocks[i] = s->blocks[--s->count];
	return b;
}

static void keep(struct live_set *s, struct block b)
{
	s->blocks = xgrow(s->blocks, s->count, &s->room, sizeof(*s->blocks));
	s->blocks[s->count++] = b;
}

static uint32_t random_size(void)
{
	uint32_t kind = below(100);

	if (kind < 70)
		return 8 + below(120);
	if (kind < 95)
		return 128 + below(900);
	return kind < 99 ? 1024 + below(16000) : 16384 + below(200000);
}

/* No more is drawn for whole percentages than there ever was, so that what one seed gives stays. */
static bool is_kept(uint32_t keep_of_million)
{
	uint32_t percent = below(100), whole = keep_of_million / (MILLION / 100),
		 rest = keep_of_million % (MILLION / 100);

	return percent < whole || (percent == whole && rest && below(MILLION / 100) < rest);
}

static uint32_t random_stack(void)
{
	uint32_t r = below(1000), span = r < 700 ? 60 : r < 950 ? 3000 : stacks;
	/* By threes a third of them comes up, where their number is a multiple of three. */
	uint32_t apart = usual_percent ? 7 : 3;

	return stacks / 4 + below(span) * apart % (stacks - stacks / 4);
}

/* What is usual after a stack, and its size: drawn once, with the stack's number as the seed. */
struct usual {
	uint32_t next, size;
};

static const struct usual *usual_of(uint32_t stack)
{
	static struct usual *all;
	uint64_t saved = random_state;
	struct usual *u;

	if (!all)
		all = xcalloc(stacks + 1, sizeof(*all));
	u = &all[stack];
	if (!u->size) {
		random_state = (stack + 1) * 0x9e3779b97f4a7c15ull;
		next_random(); /* the first ones of seeds that are near are near */
		u->next = random_stack();
		u->size = random_size();
		random_state = saved;
	}
	return u;
}

static bool is_usual(void)
{
	return usual_percent && below(100) < usual_percent;
}

static uint32_t allocation_stack(uint32_t otherwise)
{
	static uint32_t turn;

	return in_turn && below(2) ? 1 + turn++ % stacks : otherwise;
}

struct ring_writer {
	struct event *events;
	uint32_t count;
	uint32_t stack; /* of the step before */
};

static struct {
	uint64_t allocations, deallocations, reallocations, allocated_bytes, live_bytes, live_count;
	uint64_t peak_bytes;
} expected;

static void count_allocation(uint32_t size)
{
	expected.allocations++;
	expected.allocated_bytes += size;
	expected.live_count++;
	expected.live_bytes += size;
	if (expected.live_bytes > expected.peak_bytes)
		expected.peak_bytes = expected.live_bytes;
}

static void count_end(uint32_t size)
{
	expected.live_count--;
	expected.live_bytes -= size;
}

static void put(struct ring_writer *r, struct event e, uint32_t slack)
{
	e.word3 |= (uint64_t)slack << 32;
	r->events[r->count++] = e;
}

/* One step of a thread: one event, or two for a realloc. */
static void step(struct ring_writer *r, struct live_set *own, struct live_set *other, uint64_t *now,
		 uint32_t keep_of_million, uint32_t target)
{
	uint32_t stack = random_stack(), size = random_size(), kind = below(100);
	struct live_set *victim = other->count && below(100) < 4 ? other : own;
	struct block b;

	if (is_usual())
		stack = usual_of(r->stack)->next;
	r->stack = stack;
	*now += TICKS_PER_EVENT / 2 + below(TICKS_PER_EVENT);
	if (!victim->count || (kind >= 50 && victim->count < target) || kind >= 97) {
		stack = allocation_stack(stack);
		if (is_usual())
			size = usual_of(stack)->size;
		b = allocate(size);
		put(r, make_event(OP_ALLOC, CALL_malloc, *now, b.address, size, stack), size % 16);
		count_allocation(size);
		if (!is_kept(keep_of_million))
			keep(own, b);
	} else if (kind < 3) {
		b = take(victim);
		put(r, make_event(OP_REALLOC_FROM, CALL_realloc, *now, b.address, 0, stack), 0);
		*now += 60;
		count_end(b.size);
		release(b);
		b = allocate(b.size * 2 < 1u << 20 ? b.size * 2 : b.size);
		put(r, make_event(OP_REALLOC_TO, CALL_realloc, *now, b.address, b.size, stack), 8);
		count_allocation(b.size);
		expected.reallocations++;
		keep(own, b);
	} else {
		b = take(victim);
		put(r, make_event(OP_FREE, CALL_free, *now, b.address, 0, stack), 0);
		count_end(b.size);
		expected.deallocations++;
		release(b);
	}
}

static void write_stacks(struct writer *w)
{
	struct writer_node *nodes = xcalloc(stacks, sizeof(*nodes));

	/* Id i + 1: mostly short steps back, so depths of some tens; of a million about a hundred,
	 * with longer steps. */
	for (uint32_t i = 1; i < stacks; i++) {
		uint32_t span = i < 2000 ? 40 : in_turn ? i / 8 : i / 30;

		nodes[i].parent = i - below(span < i ? span : i);
		nodes[i].address = 0x400000 + (uint64_t)below(1u << 22);
		nodes[i].module = 1;
	}
	nodes[0].address = 0x400100;
	nodes[0].module = 1;
	writer_nodes(w, 1, nodes, stacks);
	free(nodes);
}

/* A file in two pieces, as the collector embeds binaries. */
static void write_file(struct writer *w)
{
	static const char first[] = "\x01\x10\x00\x08\1\2\3\4\5\6\7\x08\x02/xnot an e";
	static const char second[] = "\x01\x10\x08\x08\1\2\3\4\5\6\7\x08\x02/xlf file.";

	writer_chunk(w, CHUNK_FILE, first, sizeof(first) - 1, 0);
	writer_chunk(w, CHUNK_FILE, second, sizeof(second) - 1, 0);
}

static void write_head(struct writer *w)
{
	static const char command[] = "imaginary\0--workload\0mixed";

	writer_header(w, FORMAT_VERSION);
	writer_info(w, "pid", "4242", 4);
	writer_info(w, "executable", "/opt/imaginary/bin/imaginary", 28);
	writer_info(w, "cmdline", command, sizeof(command));
	writer_info(w, "arch", "x86_64", 6);
	writer_info(w, "clock", "tsc", 3);
	writer_info(w, "start_stamp", "1000000000000", 13);
	writer_info(w, "start_monotonic_ns", "5000000000", 10);
	writer_info(w, "start_realtime_ns", "1760000000000000000", 19);
	writer_clock(w, START, 5000000000, 1760000000000000000);
	writer_module(w, 1, 0, 0x400000, 0x800000, "\1\2\3\4\5\6\7\10", 8,
		      "/opt/imaginary/bin/imaginary");
	write_stacks(w);
	write_file(w);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 2 ? strtoull(argv[2], NULL, 10) : 20000000, done = 0, now = START;
	uint32_t threads = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 4;
	uint32_t keep_of_million =
		(uint32_t)((argc > 5 ? strtod(argv[5], NULL) : 2) * (MILLION / 100) + 0.5);
	struct ring_writer rings[THREADS_MAX] = { 0 };
	struct live_set live[THREADS_MAX] = { 0 };
	struct writer w;
	int fd;

	if (argc > 7 && strcmp(argv[7], "0") != 0) {
		stacks = (uint32_t)strtoul(argv[7], NULL, 10);
		in_turn = true;
	}
	usual_percent = argc > 8 ? (uint32_t)strtoul(argv[8], NULL, 10) : 0;
	if (argc < 2 || !threads || threads > THREADS_MAX || stacks < 20 || stacks > STACKS_MAX) {
		fprintf(stderr, "gen_recording FILE [EVENTS [THREADS [SEED [KEEP [CODEC [STACKS "
				"[USUAL]]]]]]]\n");
		return 2;
	}
	random_state = (argc > 4 ? strtoull(argv[4], NULL, 10) : 1) * 0x9e3779b97f4a7c15ull + 1;
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	writer_init(&w, fd);
	w.codec = argc > 6 && !strcmp(argv[6], "raw")	? CODEC_RAW
		  : argc > 6 && !strcmp(argv[6], "lz4") ? CODEC_LZ4
							: CODEC_ZSTD;
	if (!in_turn && events / 8 + 20 < stacks)
		stacks = (uint32_t)events / 8 + 20;
	write_head(&w);
	for (uint32_t i = 0; i < threads; i++) {
		char name[16];

		snprintf(name, sizeof(name), "worker %" PRIu32, i);
		rings[i].events = xcalloc(CODEC_CHUNK_EVENTS, sizeof(struct event));
		rings[i].events[rings[i].count++] = make_thread(now++, 4242 + i, name);
		done++;
	}
	while (done < events) {
		uint64_t horizon = 0;
		uint32_t pass = 3000 + below(4000), ready = 0;

		/* Threads take turns for a while each: runs of tens of events, as under a scheduler
		 * with more work than locks.  The pass begins somewhat before its end. */
		for (uint32_t i = 0; i < pass && done < events;) {
			uint32_t t = below(threads), turn = 1 + below(60);

			for (; turn-- && done < events; i++) {
				uint32_t before = rings[t].count;

				step(&rings[t], &live[t], &live[below(threads)], &now,
				     keep_of_million, 100000 / threads);
				done += rings[t].count - before;
			}
			if (i < pass * 9 / 10)
				horizon = now;
		}
		for (uint32_t i = 0; i < threads; i++)
			ready += rings[i].count;
		if (ready < CODEC_CHUNK_EVENTS - 16384 && done < events)
			continue;
		for (uint32_t i = 0; i < threads; i++) {
			writer_run(&w, i, rings[i].events, rings[i].count);
			rings[i].count = 0;
		}
		writer_events(&w, horizon);
	}
	writer_clock(&w, now, 5000000000 + (now - START) / 3,
		     1760000000000000000 + (now - START) / 3);
	writer_thread(&w, 4242, "first worker");
	writer_counter(&w, "dropped_ring_full", 0);
	writer_counter(&w, "stacks_truncated", 0);
	writer_end(&w, true);
	printf("{\"events\": %" PRIu64 ", \"allocations\": %" PRIu64 ", \"deallocations\": %" PRIu64
	       ", \"reallocations\": %" PRIu64 ", \"allocated_bytes\": %" PRIu64
	       ", \"peak_bytes\": %" PRIu64 ", \"leaked_count\": %" PRIu64
	       ", \"leaked_bytes\": %" PRIu64 "}\n",
	       done, expected.allocations, expected.deallocations, expected.reallocations,
	       expected.allocated_bytes, expected.peak_bytes, expected.live_count,
	       expected.live_bytes);
	for (uint32_t i = 0; i < threads; i++) {
		free(rings[i].events);
		free(live[i].blocks);
	}
	for (unsigned i = 0; i < CLASSES; i++)
		free(free_lists[i].addresses);
	writer_release(&w);
	close(fd);
	return 0;
}
