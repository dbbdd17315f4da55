/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls backtrace(3) between allocations; the depths must be the same as without the recorder. */
#include <execinfo.h>

#include "say.h"

static long total;

static NOINLINE void dive(int depth)
{
	void *frames[128], *p = HIDE(malloc(100));

	total += backtrace(frames, 128);
	if (depth)
		dive(depth - 1);
	free(p);
	total += backtrace(frames, 128);
	KEEP(p);
}

int main(void)
{
	void *frames[128];
	char **names;

	for (int i = 0; i < 20; i++)
		dive(i);
	names = backtrace_symbols(frames, backtrace(frames, 128));
	say("total %ld, symbols %d\n", total, names != NULL);
	free(names);
	return 0;
}
