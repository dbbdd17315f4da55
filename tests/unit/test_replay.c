/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Plans for memoir replay: run here by a scheduler that goes from thread to thread at random, they
 * do to every block what the recording says, in that order, and never get stuck. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/calls.h"
#include "random_recording.h"
#include "recording_writer.h"
#include "replay/compile.h"
#include "wire/event.h"

#define ROUNDS 12

/* A view of most of the rows, so that many reallocs lose one half, or of all. */
static struct view random_view(const struct model *m, uint64_t *state, bool all)
{
	struct view v = { .model = m, .count = m->allocations.count };

	if (all)
		return v;
	v.count = 0;
	v.bits = calloc(m->allocations.count / 64 + 1, sizeof(*v.bits));
	for (uint32_t i = 0; i < m->allocations.count; i++)
		if (random_below(state, 4)) {
			v.bits[i / 64] |= 1ull << i % 64;
			v.count++;
		}
	return v;
}

/* A plan while it is run: what each slot holds, and where each thread is. */
struct machine {
	const struct plan *plan;
	const struct plan_op *ops;
	const struct plan_thread *threads;
	uint64_t *next; /* by thread */
	uint32_t *left; /* by stretch */
	struct {
		bool used;
		uint64_t size;
		uint32_t turn;
	} * slots;
	uint64_t allocations, reallocations, frees, bytes, peak, done;
};

static void machine_init(struct machine *k, const struct plan *plan)
{
	const char *base = (const char *)plan;

	memset(k, 0, sizeof(*k));
	k->plan = plan;
	k->ops = (const struct plan_op *)(base + plan->ops_at);
	k->threads = (const struct plan_thread *)(base + plan->threads_at);
	k->next = calloc(plan->thread_count + 1, sizeof(*k->next));
	k->left = calloc(plan->stretch_count + 1, sizeof(*k->left));
	memcpy(k->left, base + plan->stretches_at, plan->stretch_count * sizeof(*k->left));
	k->slots = calloc(plan->slot_count + 1, sizeof(*k->slots));
}

static void machine_release(struct machine *k)
{
	free(k->next);
	free(k->left);
	free(k->slots);
}

static bool passes(struct machine *k, const struct plan_op *op)
{
	for (uint32_t i = 0; op->turn != PLAN_NONE && i + 1 < op->turn; i++)
		if (k->left[i] && !(i == op->slot && k->left[i] == 1))
			return false;
	if (op->slot != PLAN_NONE)
		k->left[op->slot]--;
	return true;
}

static void perform(struct machine *k, const struct plan_op *op)
{
	unsigned kind = op->kind & PLAN_KIND_MASK;
	uint64_t *size = &k->slots[op->slot].size;

	assert_true(op->slot < k->plan->slot_count);
	assert_true(kind < PLAN_GATE);
	assert_int_equal(k->slots[op->slot].used, kind == PLAN_FREE || kind == PLAN_REALLOC);
	if (kind == PLAN_FREE || kind == PLAN_REALLOC)
		k->bytes -= *size;
	k->slots[op->slot].used = kind != PLAN_FREE;
	*size = op->size;
	k->bytes += op->size;
	k->peak = k->bytes > k->peak ? k->bytes : k->peak;
	k->frees += kind == PLAN_FREE;
	k->allocations += kind != PLAN_FREE;
	k->reallocations += kind == PLAN_REALLOC;
	if (op->kind & PLAN_PUBLISH)
		k->slots[op->slot].turn = op->turn + 1;
}

/* One operation of a thread, if it can go on. */
static bool step(struct machine *k, uint32_t thread)
{
	const struct plan_op *op = &k->ops[k->threads[thread].first + k->next[thread]];

	if (k->next[thread] == k->threads[thread].count)
		return false;
	if ((op->kind & PLAN_KIND_MASK) == PLAN_GATE) {
		if (!passes(k, op))
			return false;
	} else {
		if (op->kind & PLAN_WAIT && k->slots[op->slot].turn != op->turn)
			return false;
		perform(k, op);
	}
	k->next[thread]++;
	k->done++;
	return true;
}

static uint64_t all_ops(const struct machine *k)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < k->plan->thread_count; i++)
		sum += k->threads[i].count;
	return sum;
}

/* Threads run for a while each, as schedulers have it; a full round without a step is a deadlock.
 */
static void machine_run(struct machine *k, uint64_t *state)
{
	while (k->done < all_ops(k)) {
		uint32_t first = random_below(state, k->plan->thread_count), tried = 0;
		uint32_t slice = 1 + random_below(state, random_below(state, 4) ? 5 : 100000);

		for (; tried < k->plan->thread_count; tried++)
			if (step(k, (first + tried) % k->plan->thread_count))
				break;
		assert_true(tried < k->plan->thread_count);
		while (slice-- && step(k, (first + tried) % k->plan->thread_count))
			;
	}
	for (uint32_t i = 0; i < k->plan->stretch_count; i++)
		assert_int_equal(k->left[i], 0);
}

/* What the rows say, without the walk in time. */
static void check_counts(const struct view *v, const struct machine *k)
{
	const struct columns *c = &v->model->allocations;
	uint64_t allocations = 0, frees = 0, reallocations = 0, bytes = 0;

	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t old = columns_previous(c, i);

		if (!view_has(v, i))
			continue;
		allocations++;
		frees += columns_freed_at(c, i) != NEVER;
		bytes += columns_freed_at(c, i) == NEVER ? columns_size(c, i) : 0;
		if (old != NO_ALLOCATION && view_has(v, old)) {
			reallocations++;
			frees--;
		}
	}
	assert_int_equal(k->allocations, allocations);
	assert_int_equal(k->reallocations, reallocations);
	assert_int_equal(k->frees, frees);
	assert_int_equal(k->bytes, bytes);
}

static void check_plan(const struct view *v, bool one_thread, uint64_t *state)
{
	struct compile c;
	struct machine k;
	struct err err;
	int fd;

	compile_start(&c, v, one_thread, NULL);
	fd = compile_finish(&c, &err);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), c.plan->size);
	machine_init(&k, c.plan);
	assert_int_equal(all_ops(&k), c.plan->op_count);
	machine_run(&k, state);
	check_counts(v, &k);
	assert_int_equal(k.allocations, c.plan->allocations);
	assert_int_equal(k.frees, c.plan->frees);
	assert_int_equal(k.bytes, c.bytes);
	if (one_thread) {
		assert_int_equal(c.plan->thread_count, v->count ? 1 : 0);
		assert_int_equal(k.peak, c.peak_bytes);
		if (!v->bits)
			assert_int_equal(k.peak, v->model->recorded.peak_bytes);
	}
	machine_release(&k);
	compile_release(&c);
	close(fd);
}

static void test_random(void **context)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct random_options o = { .seed = seed,
					    .events = seed % 4 ? 3000 : 60000,
					    .rich = seed % 2 };
		struct model *m = random_recording(&o);
		uint64_t state = seed * 77 + 1;

		for (unsigned i = 0; i < 4; i++) {
			struct view v = random_view(m, &state, i < 2);

			check_plan(&v, i % 2, &state);
			free(v.bits);
		}
		model_free(m);
	}
}

/* A recording of one block that goes through three threads' hands, and of two aligned ones. */
static struct model *small_recording(void)
{
	struct event main[] = {
		make_thread(900, 10, "main"),
		make_event(OP_ALLOC, CALL_malloc, 1000, 0x1000, 100, 1),
		make_event(OP_ALLOC, CALL_memalign, 1010, 0x7f0000001040, 5, 1),
		make_event(OP_ALLOC, CALL_memalign, 1020, 0x7f0000002080, 6, 1),
		make_event(OP_ALLOC, CALL_calloc, 1030, 0x5000, 7, 1),
		make_event(OP_ALLOC, CALL_realloc, 1040, 0x6000, 8, 1),
	};
	struct event second[] = {
		make_thread(910, 11, "second"),
		make_event(OP_REALLOC_FROM, CALL_realloc, 2000, 0x1000, 0, 1),
		make_event(OP_REALLOC_TO, CALL_realloc, 2010, 0x3000, 300, 1),
	};
	struct event third[] = {
		make_thread(920, 12, "third"),
		make_event(OP_FREE, CALL_free, 3000, 0x3000, 0, 1),
		make_event(OP_ALLOC, CALL_malloc, 3010, 0x8000, 0, 1),
	};
	struct writer w;
	struct model *m;
	struct err err;

	writer_init(&w, -1);
	writer_header(&w, FORMAT_VERSION);
	writer_info(&w, "pid", "11", 2); /* the second one is the main thread */
	writer_run(&w, 0, main, 6);
	writer_run(&w, 1, second, 3);
	writer_run(&w, 2, third, 3);
	writer_events(&w, UINT64_MAX);
	writer_end(&w, true);
	assert_int_equal(model_open_memory(&m, w.out.data, w.out.size, &err), 0);
	model_load(m, &(struct model_options){ 0 });
	model_finish(m);
	writer_release(&w);
	return m;
}

static const struct plan_op *ops_of(const struct compile *c, uint32_t thread)
{
	const struct plan_thread *t =
		(const struct plan_thread *)((const char *)c->plan + c->plan->threads_at);

	/* The first is the gate into the first stretch. */
	assert_int_equal(c->ops[t[thread].first].kind, PLAN_GATE);
	return &c->ops[t[thread].first + 1];
}

static void test_hand_over(void **context)
{
	struct model *m = small_recording();
	struct view v = { .model = m, .count = m->allocations.count };
	const struct plan_op *op;
	struct compile c;
	struct err err;
	int fd;

	compile_start(&c, &v, false, NULL);
	fd = compile_finish(&c, &err);
	assert_true(fd >= 0);
	assert_int_equal(c.plan->thread_count, 3);
	assert_int_equal(c.guessed, 2);
	assert_int_equal(c.peak_bytes, 326);

	op = ops_of(&c, 1);
	assert_int_equal(op[0].kind, PLAN_MALLOC | PLAN_PUBLISH);
	assert_int_equal(op[0].size, 100);
	assert_int_equal(op[0].turn, 0);
	/* 0x40 is all that both addresses have in common. */
	assert_int_equal(op[1].kind, PLAN_ALIGNED);
	assert_int_equal(op[1].align, 6);
	assert_int_equal(op[2].align, 6);
	assert_int_equal(op[2].size, 6);
	assert_int_equal(op[3].kind, PLAN_CALLOC);
	assert_int_equal(op[4].kind, PLAN_REALLOC_NEW);
	assert_int_equal(op[5].kind, PLAN_GATE);

	op = ops_of(&c, 0);
	assert_int_equal(op[0].kind, PLAN_REALLOC | PLAN_WAIT | PLAN_PUBLISH);
	assert_int_equal(op[0].size, 300);
	assert_int_equal(op[0].turn, 1);

	op = ops_of(&c, 2);
	assert_int_equal(op[0].kind, PLAN_FREE | PLAN_WAIT);
	assert_int_equal(op[0].turn, 2);
	/* What it freed it may use again, and needs to wait for nobody. */
	assert_int_equal(op[1].kind, PLAN_MALLOC);
	assert_int_equal(op[1].slot, op[0].slot);
	compile_release(&c);
	close(fd);
	model_free(m);
}

static void test_nothing(void **context)
{
	struct model *m = small_recording();
	uint64_t bits[1] = { 0 }, state = 1;
	struct view v = { .model = m, .bits = bits };

	check_plan(&v, false, &state);
	check_plan(&v, true, &state);
	model_free(m);
}

/* Slots against a plain array of who has which. */
static void test_slots(void **context)
{
	static uint32_t slot_of[5000], owner[5000 + 64 * 4];
	uint64_t state = 4711;
	uint32_t live = 0;
	struct slots s;

	slots_init(&s, 3, 64);
	memset(slot_of, 0xff, sizeof(slot_of));
	memset(owner, 0xff, sizeof(owner));
	for (uint32_t i = 0; i < 200000; i++) {
		uint32_t row = random_below(&state, 5000), other = random_below(&state, 5000);

		if (slot_of[row] == SLOT_NONE) {
			assert_int_equal(slots_end(&s, row, 0), SLOT_NONE);
			assert_int_equal(slots_move(&s, row, other), SLOT_NONE);
			slot_of[row] = slots_begin(&s, row, random_below(&state, 3));
			assert_true(slot_of[row] < s.count);
			assert_int_equal(owner[slot_of[row]], SLOT_NONE);
			owner[slot_of[row]] = row;
			live++;
		} else if (slot_of[other] == SLOT_NONE && random_below(&state, 2)) {
			assert_int_equal(slots_move(&s, row, other), slot_of[row]);
			slot_of[other] = slot_of[row];
			owner[slot_of[row]] = other;
			slot_of[row] = SLOT_NONE;
		} else {
			assert_int_equal(slots_end(&s, row, random_below(&state, 3)), slot_of[row]);
			owner[slot_of[row]] = SLOT_NONE;
			slot_of[row] = SLOT_NONE;
			live--;
		}
		assert_int_equal(s.live, live);
		assert_true(s.count <= 5000 + 64 * 3);
	}
	slots_release(&s);
}

UNIT(replay)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_hand_over),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
