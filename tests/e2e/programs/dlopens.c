/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Several threads load, use and unload libraries without end, others allocate meanwhile.
 *   dlopens PLUGIN_A PLUGIN_B ROUNDS */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>

#include "say.h"

static char **plugins;
static int rounds;
static _Atomic int stop;
static _Atomic long used;

static void *loader(void *argument)
{
	uintptr_t number = (uintptr_t)argument;

	for (int i = 0; i < rounds; i++) {
		int which = (int)((number + (uintptr_t)i) & 1);
		void *library = dlopen(plugins[which], i % 2 ? RTLD_NOW : RTLD_LAZY);
		void *(*make)(size_t);

		if (!library)
			fail("%s", dlerror());
		make = (void *(*)(size_t))dlsym(library, which ? "plugin_b" : "plugin_a");
		if (!make)
			fail("%s", dlerror());
		free(make(which ? 2222 : 1111));
		used++;
		if (dlsym(library, "nothing_by_this_name"))
			fail("found what is not there");
		dlclose(library);
	}
	return NULL;
}

static void *churn(void *argument)
{
	while (!stop)
		free(HIDE(malloc(64)));
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t loaders[4], churners[2];

	if (argc < 4)
		fail("usage");
	plugins = argv + 1;
	rounds = atoi(argv[3]);
	for (uintptr_t i = 0; i < 2; i++)
		pthread_create(&churners[i], NULL, churn, NULL);
	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&loaders[i], NULL, loader, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(loaders[i], NULL);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(churners[i], NULL);
	say("used %ld\n", used);
	return 0;
}
