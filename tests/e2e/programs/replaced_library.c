/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A thread loads a library to where another was, before the thread that unloaded that one has
 * returned from dlclose().  Linked with late_dlclose.so.  replaced_library PLUGIN_A PLUGIN_B */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "say.h"

#define ROUNDS 20

extern void (*when_unloaded)(void);

static char **plugins;
static sem_t unloaded, used;
static void *place[2];
static int same;

static NOINLINE void *use(int which)
{
	void *library = dlopen(plugins[which], RTLD_NOW);
	void *(*make)(size_t);

	if (!library)
		fail("%s", dlerror());
	make = (void *(*)(size_t))dlsym(library, which ? "plugin_b" : "plugin_a");
	place[which] = (void *)make;
	free(make(which ? 2222 : 1111));
	return library;
}

static void *other(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *library;

		sem_wait(&unloaded);
		library = use(1);
		same += place[0] == place[1];
		sem_post(&used);
		sem_wait(&unloaded);
		dlclose(library);
		sem_post(&used);
	}
	return unused;
}

static void wait_for_other(void)
{
	sem_post(&unloaded);
	sem_wait(&used);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		fail("usage");
	plugins = argv + 1;
	pthread_create(&thread, NULL, other, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		when_unloaded = wait_for_other;
		dlclose(use(0));
		when_unloaded = NULL;
		wait_for_other();
	}
	pthread_join(thread, NULL);
	say("%s\n", same ? "at the same place" : "never at the same place");
	return 0;
}
