/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory whose flame graph is known.
 *
 *   painted           odd_0 … odd_5 keep 1,000 to 6,000 bytes each (the test gives them names that
 * are hard to write), deep keeps 500 bytes 300 calls deep, churn allocates 2,000 blocks of 64 bytes
 *                     for nothing, grow keeps 200 bytes every millisecond, 250 times
 *   painted wide      every one of 8 functions calls every one of them, 5 deep: 37,448 call paths
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
static void *volatile kept;

#define ODD(n)                                                                                     \
	NOINLINE void odd_##n##_which_stands_here_for_another_name(void)                           \
	{                                                                                          \
		kept = malloc(1000 * (n + 1));                                                     \
		__asm__ volatile("" ::: "memory");                                                 \
	}
ODD(0)
ODD(1)
ODD(2)
ODD(3)
ODD(4)

/* -DLONG_NAME=…: ten thousand letters, what a template may come to. */
NOINLINE void LONG_NAME(void)
{
	kept = malloc(6000);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void deep(int left)
{
	if (left)
		deep(left - 1);
	else
		kept = malloc(500);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void churn(void)
{
	for (int i = 0; i < 2000; i++) {
		void *volatile p = malloc(64);

		free(p);
	}
}

NOINLINE void grow(void)
{
	for (int i = 0; i < 250; i++) {
		kept = malloc(200);
		usleep(1000);
	}
}

static void (*const way[8])(int);
#define WIDE(n)                                                                                    \
	NOINLINE void wide_##n(int left)                                                           \
	{                                                                                          \
		if (!left)                                                                         \
			kept = malloc(16 + n);                                                     \
		for (int i = 0; left && i < 8; i++)                                                \
			way[i](left - 1);                                                          \
		__asm__ volatile("" ::: "memory");                                                 \
	}
WIDE(0)
WIDE(1)
WIDE(2)
WIDE(3)
WIDE(4)
WIDE(5)
WIDE(6)
WIDE(7)
static void (*const way[8])(int) = {
	wide_0, wide_1, wide_2, wide_3, wide_4, wide_5, wide_6, wide_7
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "wide")) {
		for (int i = 0; i < 8; i++)
			way[i](4);
		return 0;
	}
	odd_0_which_stands_here_for_another_name();
	odd_1_which_stands_here_for_another_name();
	odd_2_which_stands_here_for_another_name();
	odd_3_which_stands_here_for_another_name();
	odd_4_which_stands_here_for_another_name();
	LONG_NAME();
	deep(299);
	churn();
	grow();
	return 0;
}
