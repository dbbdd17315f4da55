/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Known call chains, one size each:
 *   main > outer > middle > inner             malloc 1001, free too
 *   main > outer > inner                      malloc 1002
 *   main > recurse x 7 > inner                malloc 1003
 *   main > by_pointer > inner                 malloc 1004 (with a variable-length frame)
 *   main > realigned > inner                  malloc 1005 (a frame aligned to 64)
 *   main > many_arguments > inner             malloc 1006 (arguments on the stack)
 *   main > qsort > compare                    malloc 1007 (through libc)
 *   thread_main > outer > middle > inner      malloc 1008
 *   handler (SIGUSR1, from raise) > inner     malloc 1009 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>

#include "say.h"

static void *last;

static NOINLINE void inner(size_t size)
{
	last = HIDE(malloc(size));
	KEEP(last);
}

static NOINLINE void middle(size_t size)
{
	inner(size);
	KEEP(size);
}

static NOINLINE void outer(size_t size, int deep)
{
	if (deep)
		middle(size);
	else
		inner(size);
	KEEP(size);
}

static NOINLINE void recurse(size_t size, int depth)
{
	if (depth > 1)
		recurse(size, depth - 1);
	else
		inner(size);
	KEEP(size);
}

static NOINLINE void by_pointer(size_t size, void (*call)(size_t))
{
	char *room = alloca(HIDE(size) % 100 + 50);

	room[0] = 1;
	KEEP(room);
	call(size);
	KEEP(room[0]);
}

static NOINLINE void realigned(size_t size)
{
	_Alignas(64) char room[128];

	room[0] = (char)size;
	KEEP(&room);
	inner(size);
	KEEP(room[0]);
}

static NOINLINE void many_arguments(long a, long b, long c, long d, long e, long f, long g, long h,
				    size_t size)
{
	inner(size);
	KEEP(a + b + c + d + e + f + g + h);
	KEEP(size);
}

static int compare(const void *a, const void *b)
{
	static int once;

	if (!once++)
		inner(1007);
	return *(const int *)a - *(const int *)b;
}

static void *thread_main(void *argument)
{
	outer(1008, 1);
	return argument;
}

static void handler(int number)
{
	inner(1009);
	KEEP(number);
}

int main(void)
{
	int numbers[3] = { 3, 1, 2 };
	pthread_t thread;

	outer(1001, 1);
	free(last);
	outer(1002, 0);
	recurse(1003, 7);
	by_pointer(1004, inner);
	realigned(1005);
	many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 1006);
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	if (pthread_create(&thread, NULL, thread_main, NULL))
		fail("pthread_create");
	pthread_join(thread, NULL);
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	return numbers[0] - 1;
}
