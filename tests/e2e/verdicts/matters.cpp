/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What is worth a verdict: matters MODE, for test_verdicts.py.
 *
 *	recursive	a leak in which every block has a stack of its own
 *	small		a large table from the start, and two hundred functions that leak a little
 *	beside		a function that fills a table first, and then leaks at another place
 *	interned	names that are kept on purpose: a few at the start
 *	interning	the same that never stop
 *	held		everything is freed, as the program ends */
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#define NOINLINE __attribute__((noinline))

static void *volatile sink;
static std::vector<void *> kept;

static void wait_a_little()
{
	std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

NOINLINE static void leak_deep(int depth)
{
	if (depth > 0)
		leak_deep(depth - 1);
	else
		sink = malloc(3000);
	asm volatile("" ::: "memory");
}

template <int N> NOINLINE static void leak_little()
{
	sink = malloc(100 + N);
	asm volatile("" ::: "memory");
}

template <int... N> static void leak_everywhere(std::integer_sequence<int, N...>)
{
	(leak_little<N>(), ...);
}

NOINLINE static void fill(bool first)
{
	if (first)
		for (int i = 0; i < 100; i++)
			sink = malloc(20000);
	else
		sink = malloc(5000);
	asm volatile("" ::: "memory");
}

NOINLINE static void intern_name(int size)
{
	sink = malloc(size);
	asm volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	std::string mode = argc > 1 ? argv[1] : "";
	int rounds = argc > 2 ? atoi(argv[2]) : 200;

	if (mode == "small")
		memset(sink = malloc(32 << 20), 1, 32 << 20);
	for (int i = 0; i < rounds; i++) {
		if (mode == "recursive")
			leak_deep(i % 300);
		else if (mode == "small")
			leak_everywhere(std::make_integer_sequence<int, 200>());
		else if (mode == "beside")
			fill(i == 0);
		else if (mode == "interning" || (mode == "interned" && i < 5))
			intern_name(2000);
		else if (mode == "held")
			kept.push_back(malloc(4000));
		free(malloc(10));
		wait_a_little();
	}
	for (void *p : kept)
		free(p);
	return 0;
}
