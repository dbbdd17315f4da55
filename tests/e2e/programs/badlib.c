/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An allocator with a fault, for memoir replay: it aborts ($BAD=abort) or gives nothing ($BAD=none)
 * when it is asked for 4,242 bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);

void *malloc(size_t size)
{
	const char *bad = NULL;

	if (size == 4242)
		for (char **e = environ; *e; e++)
			if (!strncmp(*e, "BAD=", 4))
				bad = *e + 4;
	if (bad && !strcmp(bad, "abort"))
		abort();
	if (bad && !strcmp(bad, "none"))
		return errno = ENOMEM, NULL;
	return __libc_malloc(size);
}
