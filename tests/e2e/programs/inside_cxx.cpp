/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The operators of an allocator that is linked into the program, and one that throws: what comes
 * after an exception has left the allocator is recorded as what came before it. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

#define NOINLINE __attribute__((noinline))

static NOINLINE void keep(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

static NOINLINE void operators()
{
	for (int i = 0; i < 100; i++) {
		char *a = new char[1001];
		keep(a);
		auto *b = static_cast<char *>(::operator new(1002, std::nothrow));
		keep(b);
		auto *c = static_cast<char *>(::operator new(1003, std::align_val_t(64)));
		keep(c);
		int *d = new int;
		keep(d);
		delete[] a;
		::operator delete(b, std::nothrow);
		::operator delete(c, std::align_val_t(64));
		delete d;
	}
}

static NOINLINE int too_much()
{
	volatile size_t size = SIZE_MAX / 4;

	try {
		keep(::operator new(size));
	} catch (const std::bad_alloc &) {
		return 1;
	}
	return 0;
}

/* Deeper on the stack than the call that threw. */
static NOINLINE void afterwards(int depth)
{
	volatile char room[256];

	room[0] = (char)depth;
	if (depth) {
		afterwards(depth - 1);
	} else {
		void *p = malloc(2001);

		keep(p);
		free(p);
	}
	keep((void *)room);
}

int main()
{
	int caught = 0;

	operators();
	for (int i = 0; i < 50; i++) {
		caught += too_much();
		afterwards(20);
	}
	printf("caught %d\n", caught);
	return 0;
}
