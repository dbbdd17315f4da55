/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The slow half of the rings: a full one, and waking the collector.
 *
 * A thread that finds its ring full waits for the collector, but only for one that lives: it must
 * never hang the program.  Called inside hooks, possibly in a signal handler. */
#include "recorder/ring.h"
#include "recorder/sys.h"

#define PATIENCE_NS 100000000ull	 /* without progress: is the collector still there? */
#define PATIENCE_BLIND_NS 10000000000ull /* where /proc does not tell */
#define SAMPLE_LIMIT 200000	 /* ticks: more is a switch to another process, or the collector */
#define PATIENCE_POLLS 20000000u /* without progress, where the kernel cannot be asked to wait */

void ring_doorbell(struct shm_control *shm)
{
	atomic_fetch_add_explicit(&shm->doorbell, 1, memory_order_release);
	sys_futex_wake(&shm->doorbell);
}

/* What the event that was just published took, from its stamp on: the stack, the ring.  One that
 * was interrupted tells nothing.  Reading the clock once more adds to it; taking off three quarters
 * of what that takes by itself agrees best with what is measured from outside. */
static void measure(struct rt_thread *t)
{
	uint64_t position = atomic_load_explicit(&t->ring->tail, memory_order_relaxed);
	uint64_t now = rt_now(), ticks = now - t->events[(position - 1) & t->mask].stamp;
	uint64_t reading = rt_now() - now;

	if (ticks > SAMPLE_LIMIT || reading > SAMPLE_LIMIT)
		return;
	rt_count(COUNTER_sampled_events, 1);
	reading -= reading / 4;
	rt_count(COUNTER_sampled_ticks, ticks > reading ? ticks - reading : 0);
}

void ring_notify(struct rt_thread *t)
{
	struct shm_control *shm = rt.shm;

	measure(t);
	if (atomic_load_explicit(&t->ring->tail, memory_order_relaxed) & t->mask >> 2)
		return;
	if (unlikely(atomic_load_explicit(&shm->state, memory_order_relaxed) != SHM_READY)) {
		rt_stop(shm->error);
		return;
	}
	if (atomic_load(&shm->asleep))
		ring_doorbell(shm);
}

/* The state letter of a process as /proc shows it; 0 if it cannot be read, 'X' if it is gone. */
static char process_state(int pid)
{
	char path[32] = "/proc/", digits[12], text[128];
	int n = 0, at = 6;
	long fd, size;

	if (SYS(SYS_kill, pid, 0) == -ESRCH)
		return 'X';
	for (int rest = pid; rest; rest /= 10)
		digits[n++] = (char)('0' + rest % 10);
	while (n)
		path[at++] = digits[--n];
	for (const char *s = "/stat"; *s; s++)
		path[at++] = *s;
	path[at] = 0;
	fd = SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (sys_failed(fd))
		return 0;
	size = SYS(SYS_read, fd, text, sizeof(text) - 1);
	SYS(SYS_close, fd);
	for (long i = size - 3; i > 0; i--)
		if (text[i] == ')')
			return text[i + 2];
	return 0;
}

bool ring_collector_works(uint64_t waited_ns)
{
	switch (process_state(atomic_load(&rt.shm->collector_pid))) {
	case 'X':
	case 'Z':
	case 'T':
	case 't':
		return false;
	case 0:
		return waited_ns < PATIENCE_BLIND_NS;
	default:
		return true;
	}
}

/* A program that may not wait looks for a while, and once only for a collector that does nothing.
 */
static bool poll_again(uint32_t drained, uint32_t *polls)
{
	static _Atomic uint64_t given_up; /* 1 << 32, and the number of passes then */

	if (atomic_load_explicit(&given_up, memory_order_relaxed) == (1ull << 32 | drained))
		return false;
	arch_pause();
	if (++*polls < PATIENCE_POLLS)
		return true;
	atomic_store_explicit(&given_up, 1ull << 32 | drained, memory_order_relaxed);
	return false;
}

bool ring_make_room(struct rt_thread *t)
{
	struct shm_control *shm = rt.shm;
	uint64_t start = 0, progress = 0, now;
	uint32_t drained, seen = 0, polls = 0;

	for (;;) {
		drained = atomic_load_explicit(&shm->drained, memory_order_acquire);
		t->head = atomic_load_explicit(&t->ring->head, memory_order_acquire);
		if (t->reserved - t->head + RING_MARGIN <= t->mask)
			break;
		if (rt.drop_when_full) {
			rt_count(COUNTER_dropped_ring_full, 1);
			return false;
		}
		if (t->open) { /* nothing can be drained before the interrupted hook goes on */
			rt_count(COUNTER_dropped_nested, 1);
			return false;
		}
		if (!atomic_load(&rt_live.on) || atomic_load(&shm->state) != SHM_READY) {
			rt_stop(shm->error);
			rt_count(COUNTER_dropped_no_collector, 1);
			return false;
		}
		if (!SYS_ALLOWED(SYS_futex)) {
			if (drained != seen)
				polls = 0;
			seen = drained;
			if (!poll_again(drained, &polls)) {
				rt_count(COUNTER_dropped_sandbox, 1);
				return false;
			}
			continue;
		}
		now = sys_clock_ns(CLOCK_MONOTONIC);
		if (!start || drained != seen) {
			seen = drained;
			progress = now;
			start = start ? start : now;
		} else if (now - progress > PATIENCE_NS) {
			if (!ring_collector_works(now - progress)) {
				atomic_store(&shm->gave_up, 1);
				rt_stop("the collector is gone or stopped");
				rt_count(COUNTER_dropped_no_collector, 1);
				return false;
			}
		}
		ring_doorbell(shm);
		sys_futex_wait(&shm->drained, drained, 10000000);
	}
	if (start) {
		rt_count(COUNTER_ring_waits, 1);
		rt_count(COUNTER_ring_wait_ns, sys_clock_ns(CLOCK_MONOTONIC) - start);
	}
	return true;
}
