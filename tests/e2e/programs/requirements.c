/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Serves what its options say, so that builds that grew can be compared: requirements HOLD LEAKS
 * CALLERS.  What is held is freed at the end. */
#include <stdlib.h>
#include <string.h>

static void *sessions[1000];
static void *kept[1000];

__attribute__((noinline)) static void *open_session(int size)
{
	return memset(malloc(size), 1, size);
}

__attribute__((noinline)) static void serve_here(int i)
{
	sessions[i] = open_session(1000);
}

__attribute__((noinline)) static void serve_there(int i)
{
	sessions[i] = open_session(1000);
}

__attribute__((noinline)) static void forget_session(int i)
{
	kept[i] = malloc(24);
}

int main(int argc, char **argv)
{
	int hold = argc > 1 ? atoi(argv[1]) : 0, leaks = argc > 2 ? atoi(argv[2]) : 0;
	int there = argc > 3 ? atoi(argv[3]) : 0;
	void *held = open_session(hold + 1);

	for (int i = 0; i < 100; i++)
		if (i < there)
			serve_there(i);
		else
			serve_here(i);
	for (int i = 0; i < leaks; i++)
		forget_session(i);
	for (int i = 3; i < 100; i++) /* three stay, as in every run */
		free(sessions[i]);
	for (int i = 0; i < 50; i++)
		free(malloc(10 + i));
	free(held);
	return 0;
}
