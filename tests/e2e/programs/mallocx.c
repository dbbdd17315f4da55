/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Linked with jemalloc, and calls its own API. */
#include <jemalloc/jemalloc.h>
#include <stdlib.h>

__attribute__((noinline)) static void *make(size_t n)
{
	void *p = mallocx(n, MALLOCX_ALIGN(64));

	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

__attribute__((noinline)) static void *grow(void *p, size_t n)
{
	p = rallocx(p, n, 0);
	__asm__ volatile("" : : "r"(p) : "memory");
	return p;
}

int main(void)
{
	for (int i = 0; i < 100; i++) {
		void *p = make(1000);

		p = grow(p, 5000);
		if (i % 2)
			dallocx(p, 0);
		else
			sdallocx(p, 5000, 0);
	}
	free(malloc(77));
	return 0;
}
