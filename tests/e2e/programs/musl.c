/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory, a thread and a status of its own, with musl: what cannot be recorded runs as it is. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static void *work(void *unused)
{
	for (int i = 1; i < 10000; i++)
		free(malloc(i % 500 + 1));
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	work(NULL);
	pthread_join(thread, NULL);
	puts("musl works");
	return 3;
}
