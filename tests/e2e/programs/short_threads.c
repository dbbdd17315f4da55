/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* short_threads N: N threads, four at a time, each makes and frees ten blocks and ends.  Prints how
 * many kilobytes are mapped and resident in the end (Rss of smaps_rollup). */
#include <fcntl.h>
#include <pthread.h>

#include "say.h"

static NOINLINE void *short_work(void *argument)
{
	void *blocks[10];

	for (int i = 0; i < 10; i++)
		blocks[i] = HIDE(malloc((size_t)i * 100 + 1));
	for (int i = 0; i < 10; i++)
		free(blocks[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = atoi(argv[1]), fd;
	pthread_t threads[4];
	char text[2000] = "", *rss;

	for (int i = 0; i < count; i += 4) {
		for (int k = 0; k < 4; k++)
			if (pthread_create(&threads[k], NULL, short_work, NULL))
				return 1;
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
	fd = open("/proc/self/smaps_rollup", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return 2;
	rss = strstr(text, "Rss:");
	say("%ld\n", rss ? strtol(rss + 4, NULL, 10) : 0L);
	return 0;
}
