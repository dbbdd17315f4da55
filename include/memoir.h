/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef MEMOIR_H
#define MEMOIR_H
/* What a program may ask of Memoir while it is being recorded.
 *
 * Nothing is linked: the functions are found when libmemoir.so is preloaded (`memoir run`), and
 * every call is safe, and does nothing, when it is not.  All may be called from any thread and any
 * signal handler; errno stays as it is.
 *
 *	#include <memoir.h>
 *
 *	memoir_set_marker_named(1, "startup done");
 *	memoir_start();               // with MEMORY_PROFILER_DISABLE_BY_DEFAULT=1
 *	handle_requests();
 *	memoir_stop();
 *	memoir_sync();                // the recording can be copied now
 *
 * With MEMOIR_FORMER_NAMES defined, memory_profiler_start() and so on are declared as well. */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where the library's function is, if it is.  Code that is compiled for a fixed address must ask
 * for it in this way: the linker would put a zero there, for good. */
#if defined(__x86_64__) && !defined(__PIC__)
#define MEMOIR_FIND_(prefix, name, parameters)                                                     \
	__asm__(".weak " #prefix #name "\n\tleaq " #prefix #name "@GOTPCREL(%%rip), %0"            \
		: "=r"(slot));                                                                     \
	found = *slot
#define MEMOIR_DECLARE_(result, prefix, name, parameters) result(**slot) parameters
#else
#define MEMOIR_FIND_(prefix, name, parameters) found = prefix##library_##name
#define MEMOIR_DECLARE_(result, prefix, name, parameters)                                          \
	extern result prefix##library_##name parameters __asm__(#prefix #name)                     \
		__attribute__((__weak__))
#endif

/* A function that does nothing where libmemoir.so is not loaded.  The linker knows it by another
 * name than the library's. */
#define MEMOIR_FUNCTION_(prefix, name, result, parameters, call, otherwise)                        \
	static __inline__ result prefix##name parameters __asm__(#prefix "header_" #name)          \
		__attribute__((__unused__));                                                       \
	static __inline__ result prefix##name parameters                                           \
	{                                                                                          \
		result(*found) parameters;                                                         \
		MEMOIR_DECLARE_(result, prefix, name, parameters);                                 \
		MEMOIR_FIND_(prefix, name, parameters);                                            \
		if (found)                                                                         \
			call;                                                                      \
		otherwise;                                                                         \
	}

/* void memoir_start(void)
 * Records from here on.  Blocks that were allocated before stay unknown, whatever becomes of them.
 */
MEMOIR_FUNCTION_(memoir_, start, void, (void), found(), (void)0)

/* void memoir_stop(void)
 * Records no allocation from here on.  Blocks that were recorded are still seen to be freed; one
 * that is handed to realloc meanwhile counts as freed. */
MEMOIR_FUNCTION_(memoir_, stop, void, (void), found(), (void)0)

/* int memoir_sync(void)
 * Returns 0 when everything recorded so far is in the file, on disk.  Returns -1 at once when
 * nothing is being recorded, soon when the collector is gone or stopped, and after 30 seconds in
 * any case. */
MEMOIR_FUNCTION_(memoir_, sync, int, (void), return found(), return -1)

/* void memoir_set_marker(uint32_t value)
 * Every allocation of the program, on any thread, carries this value from here on. */
MEMOIR_FUNCTION_(memoir_, set_marker, void, (uint32_t value), found(value), (void)0)

/* void memoir_set_marker_named(uint32_t value, const char *name)
 * The same, with a name to show: at most 255 bytes of it. */
MEMOIR_FUNCTION_(memoir_, set_marker_named, void, (uint32_t value, const char *name),
		 found(value, name), (void)0)

/* void memoir_override_next_timestamp(uint64_t microseconds)
 * The calling thread's next event gets this time of CLOCK_MONOTONIC: for programs that play a
 * recording again.  Times before the start of the program are all moved so that the first of them
 * is now.  Time never goes back: an event with an earlier time than the one before it is shown
 * right behind that. */
MEMOIR_FUNCTION_(memoir_, override_next_timestamp, void, (uint64_t microseconds),
		 found(microseconds), (void)0)

#ifdef MEMOIR_FORMER_NAMES
/* The same under the names that programs may know already.  Not declared without being asked for,
 * since such programs usually have declarations of their own, which work as they are. */
MEMOIR_FUNCTION_(memory_profiler_, start, void, (void), found(), (void)0)
MEMOIR_FUNCTION_(memory_profiler_, stop, void, (void), found(), (void)0)
MEMOIR_FUNCTION_(memory_profiler_, sync, void, (void), found(), (void)0)
MEMOIR_FUNCTION_(memory_profiler_, set_marker, void, (uint32_t value), found(value), (void)0)
MEMOIR_FUNCTION_(memory_profiler_, override_next_timestamp, void, (uint64_t microseconds),
		 found(microseconds), (void)0)
#endif

#undef MEMOIR_FUNCTION_
#undef MEMOIR_DECLARE_
#undef MEMOIR_FIND_

#ifdef __cplusplus
}
#endif
#endif
