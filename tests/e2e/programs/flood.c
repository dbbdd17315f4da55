/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* flood PAIRS [THREADS [MICROSECONDS]]: malloc and free in pairs, then "done".  With a third
 * argument, sleeps that long between blocks of 1000 pairs. */
#include <pthread.h>

#include "say.h"

static unsigned long pairs, pause_us;

static void *run(void *argument)
{
	for (unsigned long i = 0; i < pairs; i++) {
		free(HIDE(malloc(i % 256 + 1)));
		if (pause_us && i % 1000 == 999)
			usleep((useconds_t)pause_us);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t ids[64];

	pairs = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	pause_us = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (threads == 1) {
		run(NULL);
	} else {
		for (int i = 0; i < threads && i < 64; i++)
			if (pthread_create(&ids[i], NULL, run, NULL))
				fail("pthread_create");
		for (int i = 0; i < threads && i < 64; i++)
			pthread_join(ids[i], NULL);
	}
	say("done\n");
	return 0;
}
