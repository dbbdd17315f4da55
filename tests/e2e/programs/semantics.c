/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every corner of the allocation functions, printed, so that a run with the recorder can be
 * compared with one without: failures, errno, zero sizes, usable sizes. */
#include <malloc.h>

#include "say.h"

static void usable(void)
{
	static const size_t sizes[] = { 0,    1,    8,	  24,	  25,	  40,	  100,
					1000, 1032, 5000, 131000, 140000, 1 << 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		void *p = HIDE(malloc(sizes[i]));

		say("usable(malloc %zu) = %zu\n", sizes[i], malloc_usable_size(p));
		p = HIDE(realloc(p, sizes[i] + 100));
		say("usable(realloc %zu) = %zu\n", sizes[i] + 100, malloc_usable_size(p));
		free(p);
	}
	say("usable(NULL) = %zu\n", malloc_usable_size(NULL));
}

static void failures(void)
{
	volatile size_t huge = SIZE_MAX / 2 - 5000, over = SIZE_MAX / 2;
	char *volatile p = HIDE(malloc(100)), *q;
	void *r;

	memset(p, 'a', 100);
	errno = 0;
	q = HIDE(realloc(p, huge));
	say("realloc(p, huge) %s errno %d, old block %c\n", q ? "worked" : "NULL", errno, p[99]);
	errno = 0;
	q = HIDE(reallocarray(p, over, 3));
	say("reallocarray(p, over) %s errno %d, old block %c\n", q ? "worked" : "NULL", errno,
	    p[99]);
	free(p);
	errno = 0;
	q = HIDE(malloc(huge));
	say("malloc(huge) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	q = HIDE(calloc(over, 3));
	say("calloc(over, 3) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	q = HIDE(calloc(huge, 1));
	say("calloc(huge, 1) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	r = &errno;
	say("posix_memalign(3) %d ", posix_memalign(&r, 3, 100));
	say("pointer %s, errno %d\n", r == &errno ? "kept" : "changed", errno);
	say("posix_memalign(0) %d\n", posix_memalign(&r, 0, 100));
	say("posix_memalign(8, huge) %d\n", posix_memalign(&r, 8, huge));
	errno = 0;
	q = HIDE(aligned_alloc(64, huge));
	say("aligned_alloc(huge) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	q = HIDE(memalign(64, huge));
	say("memalign(huge) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	q = HIDE(pvalloc(SIZE_MAX - 100));
	say("pvalloc(huge) %s errno %d\n", q ? "worked" : "NULL", errno);
	errno = 0;
	q = HIDE(valloc(huge));
	say("valloc(huge) %s errno %d\n", q ? "worked" : "NULL", errno);
}

static void zeros(void)
{
	void *p, *q;

	p = HIDE(malloc(0));
	q = HIDE(calloc(0, 8));
	say("malloc(0) %s calloc(0) %s\n", p ? "block" : "NULL", q ? "block" : "NULL");
	free(p);
	p = HIDE(realloc(q, 0));
	say("realloc(p, 0) %s\n", p ? "block" : "NULL");
	p = HIDE(realloc(NULL, 0));
	say("realloc(NULL, 0) %s\n", p ? "block" : "NULL");
	free(p);
	p = HIDE(reallocarray(malloc(50), 0, 10));
	say("reallocarray(p, 0, 10) %s\n", p ? "block" : "NULL");
	free(NULL);
}

static void contents(void)
{
	unsigned char *p = HIDE(malloc(1000)), sum = 0;

	for (int i = 0; i < 1000; i++)
		p[i] = (unsigned char)(i * 7);
	p = HIDE(realloc(p, 300000));
	for (int i = 0; i < 1000; i++)
		sum = (unsigned char)(sum + (p[i] ^ (i * 7)));
	say("realloc kept the bytes: %d\n", sum == 0);
	p = HIDE(realloc(p, 10));
	for (int i = 0; i < 10; i++)
		sum = (unsigned char)(sum + (p[i] ^ (i * 7)));
	say("and when shrinking: %d\n", sum == 0);
	free(p);
	for (int round = 0; round < 50; round++) {
		p = HIDE(malloc(400));
		memset(p, 0xee, 400);
		free(p);
		p = HIDE(calloc(20, 20));
		for (int i = 0; i < 400; i++)
			sum |= p[i];
		free(p);
	}
	say("calloc gives zeros: %d\n", sum == 0);
}

static void keeps_errno(void)
{
	void *p;

	errno = 77;
	p = HIDE(malloc(100));
	say("errno after malloc %d\n", errno);
	p = HIDE(realloc(p, 200000));
	say("errno after realloc %d\n", errno);
	free(p);
	say("errno after free %d\n", errno);
	p = HIDE(malloc(10 << 20)); /* a mapping of its own: munmap in free */
	free(p);
	say("errno after a large free %d\n", errno);
	for (int i = 0; i < 100000; i++) {
		p = HIDE(calloc(1, 24));
		if (errno != 77)
			break;
		free(p);
	}
	say("errno after 100000 pairs %d\n", errno);
}

int main(void)
{
	usable();
	failures();
	zeros();
	contents();
	keeps_errno();
	say("mallopt %d\n", mallopt(M_MMAP_THRESHOLD, 1 << 20));
	return 0;
}
