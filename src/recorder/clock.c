/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The clock where it is not just the processor's counter: CLOCK_MONOTONIC, no clock at all (a
 * sandbox), or a time that the program gave itself for its next event.
 *
 * The hooks look at one word, rt.use_ticks; everything here is behind it. */
#include "recorder/rt.h"
#include "recorder/sys.h"
#include "wire/wide.h"

#define MEASURED_NS 20000000ull /* what the counter's rate is measured over, at least */

static bool have_ticks;		   /* rt.use_ticks may be off only for a moment */
static _Atomic uint64_t last_time; /* of a program without clocks: it stands still, nearly */
static _Atomic uint32_t overrides; /* threads whose next event has a time of its own */
static _Atomic uint64_t shift_ns;  /* see override_ticks() */
static __thread uint64_t next_stamp __attribute__((tls_model("initial-exec")));

void clock_init(void)
{
	rt.use_ticks = have_ticks = arch_ticks_usable();
}

static uint64_t true_time(void)
{
	if (unlikely(atomic_load_explicit(&last_time, memory_order_relaxed)))
		return atomic_fetch_add(&last_time, 1);
	return have_ticks ? arch_ticks() : sys_clock_ns(CLOCK_MONOTONIC);
}

uint64_t rt_now_slow(void)
{
	uint64_t stamp = next_stamp;

	if (likely(!stamp))
		return true_time();
	next_stamp = 0;
	if (atomic_fetch_sub(&overrides, 1) == 1 && have_ticks)
		rt.use_ticks = true;
	return stamp;
}

uint64_t rt_now_first(void)
{
	return next_stamp ? next_stamp : rt_now();
}

void rt_lose_clock(void)
{
	atomic_store(&last_time, true_time());
	rt.use_ticks = have_ticks = false;
}

void rt_lose_clock_call(void)
{
	if (!have_ticks)
		rt_lose_clock();
}

/* Ticks in 2^20 ns. */
static uint64_t tick_rate(void)
{
	static _Atomic uint64_t known;
	uint64_t rate = atomic_load(&known), ns, ticks, before;

	if (rate)
		return rate;
	for (;;) {
		before = arch_ticks();
		ns = sys_clock_ns(CLOCK_MONOTONIC) - rt.shm->start_monotonic_ns;
		ticks = before + (arch_ticks() - before) / 2 - rt.shm->start_stamp;
		if (ns >= MEASURED_NS)
			break;
		/* Too early to tell: a nap, once in the life of a program that asks for this. */
		sys_futex_wait(&overrides, atomic_load(&overrides), MEASURED_NS - ns);
	}
	rate = wide_scale(ticks, 1 << 20, ns);
	atomic_store(&known, rate);
	return rate;
}

/* A time before the program's own start is one of another run that is played again: the first of
 * them becomes now, and those that follow keep their distance from it. */
static uint64_t override_ticks(uint64_t ns)
{
	uint64_t start = rt.shm->start_monotonic_ns, now = sys_clock_ns(CLOCK_MONOTONIC), none = 0;

	if (ns < start)
		atomic_compare_exchange_strong(&shift_ns, &none, now - ns);
	ns += atomic_load(&shift_ns);
	if (!have_ticks)
		return ns;
	ns = ns > start ? ns - start : 0;
	return rt.shm->start_stamp + wide_scale(ns, tick_rate(), 1 << 20);
}

void clock_override(uint64_t microseconds)
{
	uint64_t stamp;

	if (!SYS_ALLOWED(SYS_clock_gettime) || atomic_load(&last_time) ||
	    microseconds > UINT64_MAX / 1000)
		return;
	stamp = override_ticks(microseconds * 1000);
	if (!next_stamp)
		atomic_fetch_add(&overrides, 1);
	next_stamp = stamp ? stamp : 1;
	rt.use_ticks = false;
}
