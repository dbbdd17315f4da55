/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Output for programs whose every allocation counts: formats on the stack, writes with write(2),
 * never touches stdio's buffers. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, noipa))
#endif

/* After a call that must not become a jump; also makes a value look used. */
#define KEEP(value) __asm__ volatile("" : : "g"(value) : "memory")
/* Hides from the compiler where a value came from, so that no allocation is optimised away. */
#define HIDE(value)                                                                                \
	({                                                                                         \
		__typeof__(value) hidden_ = (value);                                               \
		__asm__ volatile("" : "+r"(hidden_) : : "memory");                                 \
		hidden_;                                                                           \
	})

static inline __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (int done = 0; done < length;) {
		ssize_t n = write(1, line + done, (size_t)(length - done));

		if (n <= 0)
			break;
		done += (int)n;
	}
}

static inline __attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...)
{
	char line[1024];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	line[length] = '\n';
	if (write(2, line, (size_t)length + 1) < 0)
		_exit(98);
	_exit(99);
}

/* A cheap generator, so that runs are the same with every libc. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 33);
}
