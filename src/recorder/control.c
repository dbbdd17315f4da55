/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* On and off, and what else a program may ask for: include/memoir.h and the two signals.
 *
 * Recording is one word, rt_live.on, which the hooks test anyway.  While it is off, deallocations
 * are still recorded, since they may be of blocks that were; allocations are not.  Before it was
 * on for the first time nothing is. */
#include "recorder/hooks.h"
#include "recorder/ring.h"
#include "recorder/signal.h"
#include "recorder/sys.h"

#include <signal.h>

#define SIGUSR1_ENV "MEMORY_PROFILER_REGISTER_SIGUSR1"
#define SIGUSR2_ENV "MEMORY_PROFILER_REGISTER_SIGUSR2"
#define SYNC_LOOK_NS 100000000ull    /* without an answer: is the collector still there? */
#define SYNC_LIMIT_NS 30000000000ull /* a disk may be slow, but this is enough */

/* NULL where nothing is recorded, or never will be. */
static struct rt_thread *thread(void)
{
	struct rt_thread *t = rt_self;

	return t && atomic_load(&rt_live.on) ? t : hooks_enter_slow(NEED_ANY);
}

/* `wanted` turns the state as it is into the state as it is to be. */
static void change(uint32_t (*wanted)(uint32_t now))
{
	uint32_t now = atomic_load(&rt_live.on), next;

	for (;;) {
		enum shm_counter counter;

		next = now == MODE_NONE ? now : wanted(now);
		if (next == now)
			return;
		/* Before it is so: from then on there are ends of blocks that nobody knows. */
		counter = next == MODE_ON ? COUNTER_switched_on : COUNTER_switched_off;
		rt_count(counter, 1);
		if (atomic_compare_exchange_strong(&rt_live.on, &now, next)) {
			atomic_store(&rt.mode, next);
			return;
		}
		rt_count(counter, (uint64_t)-1);
	}
}

static uint32_t to_on(uint32_t now)
{
	(void)now;
	return MODE_ON;
}

static uint32_t to_off(uint32_t now)
{
	return now == MODE_ON ? MODE_OFF : now;
}

static uint32_t to_other(uint32_t now)
{
	return now == MODE_ON ? MODE_OFF : MODE_ON;
}

static void on_signal(int number);

static bool is_ours(int number)
{
	struct signal_action now = { 0 };

	return !SYS(SYS_rt_sigaction, number, 0, &now, SYS_SIGNALS_SIZE) &&
	       now.handler == on_signal;
}

static void set_default(int number)
{
	struct signal_action action = { .handler = SIG_DFL };

	SYS(SYS_rt_sigaction, number, &action, 0, SYS_SIGNALS_SIZE);
}

/* In a process that was forked by whatever means the signal does what it would do without us: the
 * mask that comes back with the return lets it through. */
static void on_signal(int number)
{
	if (SYS_ALLOWED(SYS_getpid) ? sys_getpid() != rt.pid : !atomic_load(&rt_live.here)) {
		set_default(number);
		SYS(SYS_tgkill, sys_getpid(), sys_gettid(), number);
		return;
	}
	change(to_other);
}

static void set_handler(int number)
{
	struct signal_action now = { 0 },
			     ours = { .handler = on_signal,
				      .flags = SA_RESTART | SA_ONSTACK | SIGNAL_RESTORER,
				      .restorer = signal_return };

	/* One that is ignored or handled already is somebody's. */
	if (!SYS(SYS_rt_sigaction, number, 0, &now, SYS_SIGNALS_SIZE) && now.handler == SIG_DFL)
		SYS(SYS_rt_sigaction, number, &ours, 0, SYS_SIGNALS_SIZE);
}

bool control_is_handler(void (*handler)(int))
{
	return handler == on_signal;
}

/* A program may expect to be ended by them: they are taken in the process that was asked for, and
 * elsewhere in the tree only where the environment itself says so. */
static bool is_wanted(bool option, const char *variable)
{
	const char *value;

	if (!option || rt.shm->family.first_pid == rt.pid)
		return option;
	value = rt_variable(variable);
	return value && options_is_true(value);
}

void control_init(const struct options *options)
{
	if (is_wanted(options->sigusr1, SIGUSR1_ENV))
		set_handler(SIGUSR1);
	if (is_wanted(options->sigusr2, SIGUSR2_ENV))
		set_handler(SIGUSR2);
}

void control_in_child(bool recorded)
{
	const struct options *options = &rt.shm->options;

	if (is_ours(SIGUSR1) && !(recorded && is_wanted(options->sigusr1, SIGUSR1_ENV)))
		set_default(SIGUSR1);
	if (is_ours(SIGUSR2) && !(recorded && is_wanted(options->sigusr2, SIGUSR2_ENV)))
		set_default(SIGUSR2);
}

EXPORT void control_start(void) __asm__("memoir_start");
EXPORT void control_stop(void) __asm__("memoir_stop");
EXPORT int control_sync(void) __asm__("memoir_sync");
EXPORT void control_set_marker(uint32_t value) __asm__("memoir_set_marker");
EXPORT void control_set_marker_named(uint32_t value,
				     const char *name) __asm__("memoir_set_marker_named");
EXPORT void
control_override_next_timestamp(uint64_t microseconds) __asm__("memoir_override_next_timestamp");

void control_start(void)
{
	rt_start();
	change(to_on);
}

void control_stop(void)
{
	rt_start();
	change(to_off);
}

/* Everything that was published before the request is on disk when the collector answers. */
int control_sync(void)
{
	struct shm_control *shm = rt.shm;
	uint64_t start, waited = 0, looked = 0;
	uint32_t ticket, done;

	if (!shm || !atomic_load(&rt_live.on))
		return -1;
	ticket = atomic_fetch_add(&shm->flush_request, 1) + 1;
	start = sys_clock_ns(CLOCK_MONOTONIC);
	while ((int32_t)((done = atomic_load(&shm->flush_done)) - ticket) < 0) {
		if (atomic_load(&shm->state) != SHM_READY || !SYS_ALLOWED(SYS_futex))
			return -1;
		waited = sys_clock_ns(CLOCK_MONOTONIC) - start;
		if (waited > SYNC_LIMIT_NS)
			return -1;
		if (waited - looked > SYNC_LOOK_NS) {
			looked = waited;
			if (!ring_collector_works(waited))
				return -1;
		}
		ring_doorbell(shm);
		sys_futex_wait(&shm->flush_done, done, SYNC_LOOK_NS / 2);
	}
	return 0;
}

static unsigned name_size(const char *name)
{
	unsigned n = 0;

	while (name && name[n] && n < MARKER_NAME_MAX)
		n++;
	/* Not in the middle of a character. */
	while (n == MARKER_NAME_MAX && ((unsigned char)name[n] & 0xc0) == 0x80 && n--)
		;
	return n;
}

void control_set_marker_named(uint32_t value, const char *name)
{
	struct rt_thread *t = thread();
	unsigned size = name_size(name), piece = 0;
	struct sys_signals signals;
	uint64_t stamp;

	if (!t)
		return;
	/* The pieces stay together: a handler could set a marker too. */
	sys_block_signals(&signals);
	stamp = rt_now();
	do {
		uint64_t words[2] = { 0, 0 };

		for (unsigned i = 0; i < MARKER_PIECE && piece * MARKER_PIECE + i < size; i++)
			((char *)words)[i] = name[piece * MARKER_PIECE + i];
		if (!ring_has_room(t))
			break;
		ring_put(t, stamp, value | (uint64_t)piece << 32 | (uint64_t)OP_MARKER << 56,
			 words[0], words[1]);
	} while (++piece * MARKER_PIECE < size);
	sys_restore_signals(&signals);
}

void control_set_marker(uint32_t value)
{
	control_set_marker_named(value, NULL);
}

void control_override_next_timestamp(uint64_t microseconds)
{
	if (thread())
		clock_override(microseconds);
}

/* The names of the tools that came before. */
#define ALIAS(name)                                                                                \
	extern __typeof(control_##name) memory_profiler_##name                                     \
		__attribute__((alias("memoir_" #name), visibility("default")));
ALIAS(start)
ALIAS(stop)
ALIAS(sync)
ALIAS(set_marker)
ALIAS(override_next_timestamp)
