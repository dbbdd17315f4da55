/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* memoir-replay: makes the calls of a plan (plan.h) with whatever allocator it was started with,
 * and says what that took.  Started by `memoir replay`, once for each allocator and run.
 *
 * What it needs itself is mapped, touched and counted before the first call: shared memory, which
 * the kernel counts apart from what the allocator takes.  Between the first call and the last it
 * allocates nothing, makes no system call but to wait for another thread, and writes to no memory
 * that two threads use unless a block goes from one to the other. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "replay/plan.h"
#include "wire/arch.h"

#define LINE 64
#define LOOKS 200	 /* at a word before sleeping on it */
#define FLUSH (64 << 10) /* bytes that a thread may be ahead of the common sum */
#define TRIMS_MAX 256	 /* of a run; in between are at least TRIM_OPS operations */
#define TRIM_OPS 4096
#define STACK_SIZE (2u << 20)
#define STACK_TOUCHED (32u << 10) /* more than any allocator takes of it */

/* What can be waited for: a number, and how many sleep on it. */
struct word {
	_Atomic uint32_t value, waiting;
};

struct runner_slot {
	void *block;
	uint64_t size;
	struct word turn;
	uint64_t pad;
};

struct worker {
	const struct plan_op *ops;
	uint64_t count;
	pthread_t thread;
	uint64_t allocations, reallocations, frees, failed;
	int64_t live, told; /* bytes; what the common sum knows of them */
	int64_t peak;
	uint64_t ended_ns;
	uint32_t passed; /* stretches that everybody is known to be through with */
} __attribute__((aligned(LINE)));

static const struct plan *plan;
static struct runner_slot *slots;
static struct word *stretches; /* threads that are still at it */
static struct worker *workers;
static enum plan_touch touch_how;
static void (*trim)(void); /* NULL: memory is not given back but by the allocator itself */
static struct word ready __attribute__((aligned(LINE)));
static struct word go __attribute__((aligned(LINE)));
static _Atomic int64_t live_bytes __attribute__((aligned(LINE)));
static _Atomic int64_t peak_bytes;

/* Looks a few times, then sleeps: the other thread may need this processor. */
static void wait_for(struct word *w, uint32_t value)
{
	uint32_t seen;

	for (unsigned i = 0; i < LOOKS; i++) {
		if (atomic_load_explicit(&w->value, memory_order_acquire) == value)
			return;
		arch_pause();
	}
	atomic_fetch_add(&w->waiting, 1);
	while ((seen = atomic_load(&w->value)) != value)
		syscall(SYS_futex, &w->value, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	atomic_fetch_sub(&w->waiting, 1);
}

static void wake(struct word *w)
{
	if (atomic_load(&w->waiting))
		syscall(SYS_futex, &w->value, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void publish(struct word *w, uint32_t value)
{
	atomic_store(&w->value, value);
	wake(w);
}

/* Was it the last one? */
static bool one_less(struct word *w)
{
	bool last = atomic_fetch_sub(&w->value, 1) == 1;

	if (last)
		wake(w);
	return last;
}

/* Waits for all stretches but the last one, the latest first: when that is over most others are,
 * and a thread that sleeps is not woken for each.  Who leaves a stretch last has the allocator give
 * memory back. */
static void pass_gate(struct worker *w, const struct plan_op *op)
{
	if (op->slot != PLAN_NONE && one_less(&stretches[op->slot]) && trim)
		trim();
	if (op->turn == PLAN_NONE || op->turn <= w->passed + 1)
		return;
	for (uint32_t i = op->turn - 1; i-- > w->passed;)
		wait_for(&stretches[i], 0);
	w->passed = op->turn - 1;
}

/* Writes to a block from byte `from` on, as the program would. */
static void touch(void *block, uint64_t from, uint64_t size)
{
	volatile char *p = block;

	if (touch_how == TOUCH_NONE || from >= size)
		return;
	if (touch_how == TOUCH_ALL) {
		memset((char *)block + from, 0x5a, size - from);
		return;
	}
	p[from] = 0x5a;
	for (uintptr_t at = ((uintptr_t)p + from) / arch_page() * arch_page() + arch_page();
	     at < (uintptr_t)p + size; at += arch_page())
		*(volatile char *)at = 0x5a;
}

/* The common sum is told now and then, so that it costs nothing; with one thread it is exact. */
static void changed(struct worker *w, int64_t by)
{
	int64_t sum, most;

	w->live += by;
	if (plan->thread_count == 1) {
		w->peak = w->live > w->peak ? w->live : w->peak;
		return;
	}
	if (w->live - w->told < FLUSH && w->told - w->live < FLUSH)
		return;
	sum = atomic_fetch_add(&live_bytes, w->live - w->told) + w->live - w->told;
	w->told = w->live;
	most = atomic_load_explicit(&peak_bytes, memory_order_relaxed);
	while (sum > most && !atomic_compare_exchange_weak(&peak_bytes, &most, sum))
		;
}

static void *allocate(const struct plan_op *op, struct runner_slot *s)
{
	void *block = NULL;

	switch (op->kind & PLAN_KIND_MASK) {
	case PLAN_MALLOC:
		return malloc(op->size);
	case PLAN_CALLOC:
		return calloc(1, op->size);
	case PLAN_ALIGNED:
		return posix_memalign(&block, (size_t)1 << op->align, op->size) ? NULL : block;
	case PLAN_REALLOC_NEW:
		return realloc(NULL, op->size);
	default:
		/* To nothing would be a free, with some allocators. */
		return realloc(s->block, op->size ? op->size : 1);
	}
}

static void make_block(struct worker *w, const struct plan_op *op, struct runner_slot *s)
{
	bool resizes = (op->kind & PLAN_KIND_MASK) == PLAN_REALLOC && s->block;
	void *block = allocate(op, s);

	if (!block) {
		w->failed++;
		if (!resizes)
			s->block = NULL, s->size = 0;
		return;
	}
	w->allocations++;
	w->reallocations += resizes;
	touch(block, resizes ? s->size : 0, op->size);
	changed(w, (int64_t)op->size - (resizes ? (int64_t)s->size : 0));
	s->block = block;
	s->size = op->size;
}

static void free_block(struct worker *w, struct runner_slot *s)
{
	if (!s->block)
		return;
	free(s->block);
	w->frees++;
	changed(w, -(int64_t)s->size);
	s->block = NULL;
	s->size = 0;
}

/* The stack that every call of the recording comes from. */
__attribute__((noinline)) void memoir_replay_calls(struct worker *w, uint64_t from, uint64_t to);
__attribute__((noinline)) void memoir_replay_calls(struct worker *w, uint64_t from, uint64_t to)
{
	const struct plan_op *end = w->ops + to;

	for (const struct plan_op *op = w->ops + from; op < end; op++) {
		unsigned kind = op->kind & PLAN_KIND_MASK;
		struct runner_slot *s = slots + op->slot;

		if (kind == PLAN_GATE) {
			pass_gate(w, op);
			continue;
		}
		if (op->kind & PLAN_WAIT)
			wait_for(&s->turn, op->turn);
		if (kind == PLAN_FREE)
			free_block(w, s);
		else
			make_block(w, op, s);
		if (op->kind & PLAN_PUBLISH)
			publish(&s->turn, op->turn + 1);
	}
}

/* All of a thread's calls.  One that is alone has no gates to give memory back at. */
static void make_calls(struct worker *w)
{
	uint64_t step = w->count;

	if (trim && plan->thread_count == 1)
		step = w->count / TRIMS_MAX < TRIM_OPS ? TRIM_OPS : w->count / TRIMS_MAX;
	for (uint64_t from = 0; from < w->count; from += step) {
		memoir_replay_calls(w, from, w->count - from < step ? w->count : from + step);
		if (step < w->count)
			trim();
	}
	w->ended_ns = now_on(CLOCK_MONOTONIC);
}

/* What a thread needs of its stack is there before the first call. */
static __attribute__((noinline)) void touch_stack(void)
{
	volatile char bytes[STACK_TOUCHED];

	for (size_t i = 0; i < sizeof(bytes); i += arch_page())
		bytes[i] = 0;
}

static void *thread_main(void *context)
{
	const struct worker *w = context;

	touch_stack();
	one_less(&ready);
	/* Who comes later than that waits there. */
	if (!w->count || w->ops->kind != PLAN_GATE || w->ops->turn < 2)
		wait_for(&go, 1);
	make_calls(context);
	return NULL;
}

static uint64_t field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* What the kernel says of this process's memory, in bytes. */
struct memory {
	uint64_t rss, anonymous, peak;
};

static struct memory look_at_memory(void)
{
	char text[8192];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return (struct memory){ .rss = field(text, "VmRSS:"),
				.anonymous = field(text, "RssAnon:"),
				.peak = field(text, "VmHWM:") };
}

/* From now on VmHWM is the most that there was from now on. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, "5", 1) != 1)
		errno = 0; /* then it is what it was, which is no more: all grew up to here */
	close(fd);
}

/* Tables of our own: all there, and shared, so that they are not counted as anonymous memory. */
static void *table(uint64_t size)
{
	void *p = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p != MAP_FAILED)
		memset(p, 0, size);
	return p == MAP_FAILED ? NULL : p;
}

static bool is_sound(uint64_t size)
{
	uint64_t end = plan->op_count * sizeof(struct plan_op);

	return plan->magic == PLAN_MAGIC && plan->size == size && plan->ops_at <= size &&
	       plan->op_count <= size / sizeof(struct plan_op) && size - plan->ops_at >= end &&
	       plan->threads_at + plan->thread_count * sizeof(struct plan_thread) <= size &&
	       plan->stretches_at + plan->stretch_count * sizeof(uint32_t) <= size;
}

static enum plan_failure prepare(int fd)
{
	const struct plan_thread *threads;
	const uint32_t *parts;
	struct stat st;

	if (fstat(fd, &st) || (size_t)st.st_size < sizeof(*plan))
		return PLAN_MALFORMED;
	plan = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (plan == MAP_FAILED)
		return PLAN_NO_MAPPING;
	if (!is_sound((uint64_t)st.st_size))
		return PLAN_MALFORMED;
	slots = table(plan->slot_count * sizeof(*slots));
	stretches = table(plan->stretch_count * sizeof(*stretches));
	workers = table((plan->thread_count + 1) * sizeof(*workers));
	if (!slots || !stretches || !workers)
		return PLAN_NO_MAPPING;
	parts = (const uint32_t *)((const char *)plan + plan->stretches_at);
	for (uint32_t i = 0; i < plan->stretch_count; i++)
		stretches[i].value = parts[i];
	threads = (const struct plan_thread *)((const char *)plan + plan->threads_at);
	for (uint32_t i = 0; i < plan->thread_count; i++) {
		workers[i].ops = (const struct plan_op *)((const char *)plan + plan->ops_at) +
				 threads[i].first;
		workers[i].count = threads[i].count;
	}
	return PLAN_DONE;
}

/* All but the first, which is this one; they wait for `go`.  Their stacks are tables too: there may
 * be thousands that were not alive at once in the recording. */
static int start_threads(void)
{
	uint64_t size = plan->thread_count * (uint64_t)STACK_SIZE;
	char *stacks = mmap(NULL, size ? size : 1, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attributes;
	int error = stacks == MAP_FAILED ? errno : 0;

	pthread_attr_init(&attributes);
	if (plan->thread_count)
		ready.value = plan->thread_count - 1;
	for (uint32_t i = 1; i < plan->thread_count && !error; i++) {
		pthread_attr_setstack(&attributes, stacks + i * (uint64_t)STACK_SIZE, STACK_SIZE);
		error = pthread_create(&workers[i].thread, &attributes, thread_main, &workers[i]);
	}
	if (!error)
		wait_for(&ready, 0);
	return error;
}

static uint64_t faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (uint64_t)r.ru_minflt + (uint64_t)r.ru_majflt;
}

static int (*jemalloc_control)(const char *, void *, size_t *, void *, size_t);
static void (*tcmalloc_release)(void);
static void (*mimalloc_collect)(bool);

static void trim_glibc(void)
{
	malloc_trim(0);
}

static void trim_jemalloc(void)
{
	/* 4096 stands for all arenas, since jemalloc 5. */
	jemalloc_control("thread.tcache.flush", NULL, NULL, NULL, 0);
	jemalloc_control("arena.4096.purge", NULL, NULL, NULL, 0);
}

static void trim_tcmalloc(void)
{
	tcmalloc_release();
}

static void trim_mimalloc(void)
{
	mimalloc_collect(true);
}

/* How this allocator is asked; `library` is the file that malloc is in. */
static bool find_trim(const char *library)
{
	const char *name = strrchr(library, '/');

	*(void **)&jemalloc_control = dlsym(RTLD_DEFAULT, "mallctl");
	*(void **)&tcmalloc_release = dlsym(RTLD_DEFAULT, "MallocExtension_ReleaseFreeMemory");
	*(void **)&mimalloc_collect = dlsym(RTLD_DEFAULT, "mi_collect");
	trim = jemalloc_control	  ? trim_jemalloc
	       : tcmalloc_release ? trim_tcmalloc
	       : mimalloc_collect ? trim_mimalloc
	       : !strncmp(name ? name + 1 : library, "libc.", 5) ? trim_glibc
								 : NULL;
	return trim;
}

static void replay(struct plan_result *r)
{
	struct memory before, after;
	uint64_t start_ns, cpu_ns, end_ns;

	forget_peak();
	before = look_at_memory();
	r->faults = faults();
	cpu_ns = now_on(CLOCK_PROCESS_CPUTIME_ID);
	end_ns = start_ns = now_on(CLOCK_MONOTONIC);
	publish(&go, 1);
	make_calls(&workers[0]);
	for (uint32_t i = 1; i < plan->thread_count; i++)
		pthread_join(workers[i].thread, NULL);
	if (trim)
		trim();
	r->cpu_ns = now_on(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	r->faults = faults() - r->faults;
	after = look_at_memory();
	r->end_rss = after.anonymous;
	r->peak_rss = after.peak - before.rss + before.anonymous;
	for (uint32_t i = 0; i < plan->thread_count; i++) {
		const struct worker *w = &workers[i];

		r->allocations += w->allocations;
		r->reallocations += w->reallocations;
		r->frees += w->frees;
		r->failed += w->failed;
		r->end_bytes += (uint64_t)w->live;
		end_ns = w->ended_ns > end_ns ? w->ended_ns : end_ns;
	}
	r->time_ns = end_ns - start_ns;
	r->peak_bytes = plan->thread_count == 1 ? (uint64_t)workers[0].peak : (uint64_t)peak_bytes;
	if (r->peak_bytes < r->end_bytes)
		r->peak_bytes = r->end_bytes;
}

int main(int argc, char **argv)
{
	struct plan_result r = { .magic = PLAN_MAGIC };
	Dl_info info;
	int plan_fd, result_fd;

	if (argc != 5)
		return 2; /* memoir replay is the way to start it */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	plan_fd = atoi(argv[1]);
	result_fd = atoi(argv[2]);
	touch_how = (enum plan_touch)atoi(argv[3]);
	if (dladdr(dlsym(RTLD_DEFAULT, "malloc"), &info) && info.dli_fname)
		strncpy(r.library, info.dli_fname, sizeof(r.library) - 1);
	r.failure = prepare(plan_fd);
	if (r.failure == PLAN_DONE && atoi(argv[4]) == TRIM_OFTEN && !find_trim(r.library))
		r.failure = PLAN_NO_TRIM;
	if (r.failure == PLAN_DONE) {
		r.error = start_threads();
		if (r.error)
			r.failure = PLAN_NO_THREADS;
		else
			replay(&r);
	}
	/* Nothing is torn down: that is not what was measured. */
	_exit(write(result_fd, &r, sizeof(r)) == (ssize_t)sizeof(r) ? 0 : 1);
}
