/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Blocks of libc and of a jemalloc whose names have a prefix: small ones, large ones, resized ones.
 */
#include <stdlib.h>

void *_rjem_malloc(size_t);
void *_rjem_calloc(size_t, size_t);
void *_rjem_realloc(void *, size_t);

#define NOINLINE __attribute__((noinline))

static void *volatile sink;

NOINLINE static void of_jemalloc(void)
{
	sink = _rjem_malloc(100);
	sink = _rjem_calloc(3, 1000);
	sink = _rjem_realloc(_rjem_malloc(50), 500000);
	sink = _rjem_malloc(1 << 20);
}

NOINLINE static void of_libc(void)
{
	sink = malloc(100);
	sink = calloc(3, 1000);
	sink = realloc(malloc(50), 500000);
	sink = malloc(1 << 20);
}

int main(void)
{
	of_jemalloc();
	of_libc();
	return 0;
}
