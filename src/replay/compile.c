/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The compiler of plans.  See compile.h. */
#include "replay/compile.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "query/calls.h"
#include "wire/event.h"

#define WINDOW_MIN 4096u
#define STRETCHES_MAX 256u
#define SLOT_RUN 64u   /* slots that a thread gets at a time: no line of memory has two owners */
#define SLOT_BYTES 40u /* of the helper's, and of ours */
#define THREAD_BYTES (48u << 10)
#define ALIGN_MIN 4u  /* logarithms: 16 … */
#define ALIGN_FEW 12u /* … a page, if there are too few blocks to know … */
#define ALIGN_MAX 21u /* … or a huge one */
#define FEW 8u

static bool has_alignment(unsigned call)
{
	switch (call) {
	case CALL_posix_memalign:
	case CALL_memalign:
	case CALL_aligned_alloc:
	case CALL_valloc:
	case CALL_pvalloc:
	case CALL__ZnwmSt11align_val_t:
	case CALL__ZnamSt11align_val_t:
	case CALL__ZnwmSt11align_val_tRKSt9nothrow_t:
	case CALL__ZnamSt11align_val_tRKSt9nothrow_t:
		return true;
	default:
		return false;
	}
}

static uint64_t alignment_key(const struct columns *c, uint32_t row)
{
	return (uint64_t)columns_stack(c, row) << 8 | tags_call(columns_tags(c, row));
}

/* Recordings do not hold the alignment that was asked for.  Every address is a multiple of it, so
 * of a stack's blocks the bits that are zero in all addresses say it: at most too much, and the
 * more blocks the less likely. */
static void learn_alignments(struct compile *p)
{
	const struct columns *c = &p->view->model->allocations;

	VIEW_EACH(p->view, 0, c->count, row)
	{
		uint64_t seen = 0, key = alignment_key(c, row);

		if (!has_alignment(tags_call(columns_tags(c, row))))
			continue;
		map_get(&p->alignments, key, &seen);
		if (seen >> 56 < FEW)
			seen += 1ull << 56;
		map_set(&p->alignments, key, seen | (columns_address(c, row) & EVENT_ADDRESS_MASK));
		p->guessed++;
	}
}

static unsigned alignment_of(const struct compile *p, uint32_t row)
{
	uint64_t seen = 0;
	unsigned bits, most;

	map_get(&p->alignments, alignment_key(&p->view->model->allocations, row), &seen);
	most = seen >> 56 < FEW ? ALIGN_FEW : ALIGN_MAX;
	seen &= EVENT_ADDRESS_MASK;
	bits = seen ? (unsigned)__builtin_ctzll(seen) : ALIGN_MIN;
	return bits < ALIGN_MIN ? ALIGN_MIN : bits > most ? most : bits;
}

/* Who ends a block.  Where that is not known, the thread that began it. */
static uint32_t ending_thread(const struct columns *c, uint32_t row)
{
	return tags_flags(columns_tags(c, row)) & TAG_FREE_LOST
		       ? tags_thread(columns_tags(c, row))
		       : tags_free_thread(columns_tags(c, row));
}

/* The recording's row of the thread that made a call. */
static uint32_t calling_thread(const struct columns *columns, const struct call *c)
{
	switch (c->kind) {
	case CALLS_ALLOC:
		return tags_thread(columns_tags(columns, c->row));
	case CALLS_FREE:
		return ending_thread(columns, c->row);
	default:
		return ending_thread(columns, c->old);
	}
}

static uint32_t position_of(struct compile *p, uint32_t row)
{
	if (p->one_thread)
		row = 0;
	if (p->thread_of[row] == PLAN_NONE)
		p->thread_of[row] = p->thread_count++;
	return p->thread_of[row];
}

/* The main thread is the first whoever calls first: some allocators treat it specially. */
static void find_main_thread(struct compile *p)
{
	const struct threads *threads = &p->view->model->tables.threads;
	uint64_t pid = model_info_number(p->view->model, "pid", 0);

	for (uint32_t i = 0; i < threads->count && pid && !p->one_thread; i++)
		if (threads->rows[i].tid == pid) {
			position_of(p, i);
			return;
		}
}

static void put_op(struct compile *p, uint32_t thread, struct plan_op op)
{
	struct compile_thread *t = &p->threads[thread];
	struct plan_thread *rows;

	if (!p->plan) {
		t->ops++;
		return;
	}
	rows = (struct plan_thread *)((char *)p->plan + p->plan->threads_at);
	p->ops[rows[thread].first + t->filled++] = op;
}

/* A thread leaves the stretch that it is in, and enters the one that this call is in. */
static void pass_gate(struct compile *p, uint32_t thread, uint32_t stretch)
{
	struct compile_thread *t = &p->threads[thread];

	if (p->one_thread || t->stretch == stretch)
		return;
	put_op(p, thread,
	       (struct plan_op){ .kind = PLAN_GATE, .slot = t->stretch, .turn = stretch });
	t->stretch = stretch;
	if (!p->plan && stretch != PLAN_NONE)
		p->stretches[stretch]++;
}

static void count_call(struct compile *p, const struct call *c)
{
	const struct columns *columns = &p->view->model->allocations;
	uint64_t size = columns_size(columns, c->row);

	if (c->kind == CALLS_FREE) {
		p->frees++;
		p->live--;
		p->bytes -= size;
		return;
	}
	p->allocations++;
	p->bytes += size;
	if (c->kind == CALLS_REALLOC) {
		p->reallocations++;
		p->bytes -= columns_size(columns, c->old);
	} else if (++p->live > p->peak_live) {
		p->peak_live = p->live;
	}
	p->peak_bytes = p->bytes > p->peak_bytes ? p->bytes : p->peak_bytes;
}

static enum plan_kind kind_of(const struct columns *columns, const struct call *c)
{
	unsigned call = tags_call(columns_tags(columns, c->row));

	if (c->kind == CALLS_FREE)
		return PLAN_FREE;
	if (c->kind == CALLS_REALLOC)
		return PLAN_REALLOC;
	if (has_alignment(call))
		return PLAN_ALIGNED;
	if (call == CALL_calloc || tags_flags(columns_tags(columns, c->row)) & TAG_ZEROED)
		return PLAN_CALLOC;
	/* Half of a realloc that the filter cut in two is an allocation like any other. */
	if (call == CALL_realloc && columns_previous(columns, c->row) == NO_ALLOCATION)
		return PLAN_REALLOC_NEW;
	return PLAN_MALLOC;
}

static uint32_t slot_of(struct compile *p, const struct call *c, uint32_t thread)
{
	uint32_t slot;

	if (c->kind == CALLS_FREE)
		return slots_end(&p->slots, c->row, thread);
	if (c->kind == CALLS_REALLOC)
		return slots_move(&p->slots, c->old, c->row);
	slot = slots_begin(&p->slots, c->row, thread);
	if (slot >= p->turn_room) {
		uint64_t room = p->slots.next_room;

		p->turns = xreallocarray(p->turns, room, sizeof(*p->turns));
		memset(p->turns + p->turn_room, 0, (room - p->turn_room) * sizeof(*p->turns));
		p->turn_room = room;
	}
	return slot;
}

/* Does another thread end what this call made?  Then it has to be told when it is there. */
static bool is_handed_on(struct compile *p, const struct call *c, uint32_t thread)
{
	const struct columns *columns = &p->view->model->allocations;

	return c->kind != CALLS_FREE && columns_freed_at(columns, c->row) != NEVER &&
	       position_of(p, ending_thread(columns, c->row)) != thread;
}

/* Was what this call ends made by another thread? */
static bool is_taken_over(struct compile *p, const struct call *c, uint32_t thread)
{
	const struct columns *columns = &p->view->model->allocations;
	uint32_t row = c->kind == CALLS_REALLOC ? c->old : c->row, maker;

	if (c->kind == CALLS_ALLOC)
		return false;
	/* Who made it: malloc's caller, or the one of the realloc that it comes from. */
	maker = calls_has_old(p->view, row) ? ending_thread(columns, columns_previous(columns, row))
					    : tags_thread(columns_tags(columns, row));
	return position_of(p, maker) != thread;
}

static void put_call(struct compile *p, const struct call *c, uint32_t thread)
{
	const struct columns *columns = &p->view->model->allocations;
	struct plan_op op = { .kind = kind_of(columns, c) };

	op.slot = slot_of(p, c, thread);
	if (op.slot == SLOT_NONE)
		return;
	if (c->kind != CALLS_FREE)
		op.size = columns_size(columns, c->row);
	if (op.kind == PLAN_ALIGNED)
		op.align = alignment_of(p, c->row);
	op.turn = p->turns[op.slot];
	if (is_taken_over(p, c, thread))
		op.kind |= PLAN_WAIT;
	if (is_handed_on(p, c, thread)) {
		op.kind |= PLAN_PUBLISH;
		p->turns[op.slot]++;
	}
	put_op(p, thread, op);
}

static void compile_calls(struct compile *p)
{
	const struct columns *columns = &p->view->model->allocations;
	struct calls calls = calls_of(p->view);
	uint64_t n = 0, total = 4ull * p->view->count;
	struct call c;

	for (uint32_t i = 0; i < p->view->model->tables.threads.count + 1; i++)
		p->threads[i].stretch = PLAN_NONE;
	while (calls_next(&calls, &c)) {
		uint32_t thread = position_of(p, calling_thread(columns, &c));

		pass_gate(p, thread, (uint32_t)(n++ / p->window));
		if (p->plan) {
			put_call(p, &c, thread);
		} else {
			count_call(p, &c);
			p->threads[thread].ops++;
		}
		if (!(n & 0xffff) && p->progress)
			progress_update(p->progress, n + (p->plan ? p->calls : 0), total);
	}
	for (uint32_t i = 0; i < p->thread_count; i++)
		pass_gate(p, i, PLAN_NONE);
	p->calls = n;
}

void compile_start(struct compile *p, const struct view *v, bool one_thread,
		   struct progress *progress)
{
	size_t threads = v->model->tables.threads.count + 1;

	memset(p, 0, sizeof(*p));
	p->view = v;
	p->progress = progress;
	p->one_thread = one_thread;
	p->window = 2ull * v->count / STRETCHES_MAX;
	if (p->window < WINDOW_MIN)
		p->window = WINDOW_MIN;
	p->stretch_count = (uint32_t)(2ull * v->count / p->window) + 1;
	p->stretches = xcalloc(p->stretch_count, sizeof(*p->stretches));
	p->threads = xcalloc(threads, sizeof(*p->threads));
	p->thread_of = xreallocarray(NULL, threads, sizeof(*p->thread_of));
	memset(p->thread_of, 0xff, threads * sizeof(*p->thread_of));
	find_main_thread(p);
	learn_alignments(p);
	compile_calls(p);
}

static uint64_t op_count(const struct compile *p)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->thread_count; i++)
		sum += p->threads[i].ops;
	return sum;
}

uint64_t compile_memory(const struct compile *p)
{
	uint64_t threads = (uint64_t)p->thread_count * THREAD_BYTES;

	if (p->plan)
		return threads + (uint64_t)p->plan->slot_count * SLOT_BYTES;
	return threads + sizeof(struct plan) + op_count(p) * sizeof(struct plan_op) +
	       p->peak_live * SLOT_BYTES;
}

static void lay_out(struct compile *p, struct plan *plan)
{
	uint64_t at = sizeof(*plan);

	plan->magic = PLAN_MAGIC;
	plan->thread_count = p->thread_count;
	plan->stretch_count = p->stretch_count;
	plan->op_count = op_count(p);
	plan->threads_at = at;
	at += p->thread_count * sizeof(struct plan_thread);
	plan->stretches_at = at;
	at += (p->stretch_count * sizeof(uint32_t) + 15) & ~15ull;
	plan->ops_at = at = (at + 63) & ~63ull;
	plan->size = at + plan->op_count * sizeof(struct plan_op);
	plan->allocations = p->allocations;
	plan->reallocations = p->reallocations;
	plan->frees = p->frees;
}

int compile_finish(struct compile *p, struct err *err)
{
	struct plan head = { 0 };
	struct plan_thread *threads;
	uint64_t first = 0;
	int fd;

	lay_out(p, &head);
	fd = memfd_create("memoir-replay", MFD_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "no file in memory: %s", strerror(errno));
	if (ftruncate(fd, (off_t)head.size) ||
	    (p->plan = mmap(NULL, head.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) ==
		    MAP_FAILED) {
		int error = -errno;

		p->plan = NULL;
		close(fd);
		return err_set(err, error, "no memory for the plan: %s", strerror(-error));
	}
	*p->plan = head;
	p->ops = (struct plan_op *)((char *)p->plan + head.ops_at);
	threads = (struct plan_thread *)((char *)p->plan + head.threads_at);
	for (uint32_t i = 0; i < p->thread_count; i++) {
		threads[i] = (struct plan_thread){ .first = first, .count = p->threads[i].ops };
		first += p->threads[i].ops;
	}
	memcpy((char *)p->plan + head.stretches_at, p->stretches,
	       p->stretch_count * sizeof(*p->stretches));
	slots_init(&p->slots, p->thread_count + 1, SLOT_RUN);
	compile_calls(p);
	for (uint32_t i = 0; i < p->thread_count; i++)
		threads[i].count = p->threads[i].filled;
	p->plan->slot_count = p->slots.count;
	return fd;
}

void compile_release(struct compile *p)
{
	if (p->plan)
		munmap(p->plan, p->plan->size);
	slots_release(&p->slots);
	map_release(&p->alignments);
	free(p->turns);
	free(p->threads);
	free(p->thread_of);
	free(p->stretches);
	memset(p, 0, sizeof(*p));
}
