/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The end of a recorded process: it waits until its collector has what it published.
 *
 * A collector may end with the program: process 1 of a container takes everybody along, a service
 * manager kills what is left.  So a process that ends by itself (it returns from main, calls exit,
 * quick_exit or _exit) says so and waits until everything is in the file: a fraction of a
 * millisecond, as a rule.  Where the collector stays below this process (spawn.c) the wait is for
 * the whole file and for the collector's own end; there exec waits as well, since the next
 * program would have a child that it does not know.  A process that a signal kills waits for
 * nothing. The launcher as the collector outlives the program, and is waited for only where
 * libraries were opened while it ran: their files can be had as long as they are mapped.
 *
 * Every wait is bounded, and none is made for a collector that is dead or stopped.  Nothing here
 * takes a lock, so a handler may end the process anywhere.  The process that ends may be a child of
 * vfork that has our memory: only the recorded process itself touches it. */
#include "recorder/hooks.h"
#include "recorder/sys.h"

#define WRITE_LIMIT_NS 3000000000ull
#define CLOSE_LIMIT_NS 10000000000ull /* files are embedded, and clients of a stream served */
#define FIRST_LOOK_NS 2000000ull      /* without an answer: is the collector still there? */
#define LOOK_NS 50000000ull
#define LAST_NS 200000000ull

int on_exit(void (*function)(int, void *), void *argument);
int __cxa_at_quick_exit(void (*function)(void *), void *dso);
extern void *__dso_handle HIDDEN;

struct patience {
	uint64_t start, limit;
	unsigned polls; /* left, where a filter forbids to ask for the time */
};

static struct patience patience_of(uint64_t limit)
{
	return (struct patience){ sys_clock_ns(CLOCK_MONOTONIC), limit,
				  (unsigned)(limit / LOOK_NS) };
}

static bool time_is_left(struct patience *p)
{
	if (p->start)
		return sys_clock_ns(CLOCK_MONOTONIC) - p->start < p->limit;
	return p->polls && p->polls--;
}

/* False: it is not to be waited for any longer. */
static bool go_on_waiting(struct patience *p)
{
	uint64_t waited = sys_clock_ns(CLOCK_MONOTONIC) - p->start;

	return SYS_ALLOWED(SYS_futex) && time_is_left(p) &&
	       (waited < FIRST_LOOK_NS || ring_collector_works(waited));
}

/* Until the word is another one, or the collector is not to be waited for. */
static void wait_while(_Atomic uint32_t *word, uint32_t value, struct patience *p)
{
	uint64_t look = FIRST_LOOK_NS;

	while (atomic_load(word) == value && atomic_load(&rt.shm->state) == SHM_READY &&
	       !atomic_load(&rt.shm->gave_up) && go_on_waiting(p)) {
		sys_futex_wait(word, value, look);
		look = LOOK_NS;
	}
}

static void ask_collector(struct shm_control *shm, enum shm_ending what, int status)
{
	atomic_store(&shm->exit_status, status);
	atomic_store(&shm->ending, what);
	ring_doorbell(shm);
}

/* `status`: as waitpid has it, or -1. */
static bool wait_for_collector(int status)
{
	struct shm_control *shm = rt.shm;
	struct patience patience = patience_of(spawn_stays() ? CLOSE_LIMIT_NS : WRITE_LIMIT_NS);

	if (!spawn_stays()) {
		ask_collector(shm, ENDING_WRITE, status);
		/* Reading what a forked child inherited takes as long as the parent's recording is
		 * large; the collector outlives us here, and readers wait for it. */
		if (!atomic_load(&shm->family.inheriting))
			wait_while(&shm->written, 0, &patience);
		return false;
	}
	ask_collector(shm, ENDING_CLOSE, status);
	wait_while(&shm->state, SHM_READY, &patience);
	/* Once it has closed the file it ends, and so does one that was killed before; one that
	 * does not go on is given up. */
	patience = patience_of(atomic_load(&shm->state) == SHM_READY ? LAST_NS : CLOSE_LIMIT_NS);
	while (!spawn_ended(LOOK_NS) && time_is_left(&patience))
		;
	return true;
}

static bool is_recorded(void)
{
	return rt.shm && (rt.own_collector || modules_came_late()) && atomic_load(&rt_live.here) &&
	       sys_getpid() == rt.pid;
}

static void at_end(int status)
{
	int error = errno;

	if (is_recorded())
		wait_for_collector(status);
	errno = error;
}

static void at_exit(int status, void *unused)
{
	(void)unused;
	at_end((status & 0xff) << 8);
}

static void at_quick_exit(void *unused)
{
	(void)unused;
	at_end(-1);
}

/* Handlers run last to first, and no constructor is before ours: these are the last of all. */
void end_init(void)
{
	on_exit(at_exit, NULL);
	__cxa_at_quick_exit(at_quick_exit, &__dso_handle);
}

bool end_before_exec(void)
{
	return is_recorded() && spawn_stays() && wait_for_collector(-1);
}

static _Noreturn void leave_process(void (*function)(int), int status)
{
	at_end((status & 0xff) << 8);
	if (function)
		function(status);
	for (;;)
		SYS(SYS_exit_group, status);
}

void hook__exit(int status)
{
	leave_process(real._exit, status);
}

void hook__Exit(int status)
{
	leave_process(real._Exit, status);
}

#define HOOK(name, class)
#define PATCH(name, class)
#define HOOK_ENTRY(name, class)
#define HOOK_EXEC(name, class)
#define HOOK_MAP(name, class)
#define HOOK_END(name, class)                                                                      \
	extern __typeof(hook_##name) name##_exported __asm__(#name)                                \
		__attribute__((alias("hook_" #name), visibility("default")));
#include "wire/hooks.def"
#undef HOOK
