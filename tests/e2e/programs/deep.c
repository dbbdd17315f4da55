/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* deep DEPTH: allocates 10 blocks at the bottom of a recursion, and 10 at the top. */
#include "say.h"

static void *kept[20];

static NOINLINE void dive(int depth)
{
	if (depth > 1)
		dive(depth - 1);
	else
		for (int i = 0; i < 10; i++)
			kept[i] = HIDE(malloc(5001));
	KEEP(depth);
}

int main(int argc, char **argv)
{
	dive(argc > 1 ? atoi(argv[1]) : 2000);
	for (int i = 10; i < 20; i++)
		kept[i] = HIDE(malloc(5002));
	say("done\n");
	return 0;
}
