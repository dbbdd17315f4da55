/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* An interpreter that is opened, used, and closed again while other threads allocate.
 *
 *   python_embedded LIBRARY */
#include <dlfcn.h>
#include <pthread.h>

#include "say.h"

static volatile int over;

static void *churn(void *argument)
{
	while (!over)
		free(HIDE(malloc(77)));
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 2)
		fail("python_embedded LIBRARY");
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);

		if (!library)
			fail("dlopen");
		((void (*)(int))dlsym(library, "Py_InitializeEx"))(0);
		((int (*)(const char *, void *))dlsym(library, "PyRun_SimpleStringFlags"))(
			"def inside():\n    return bytearray(100000)\nkeep = inside()\n", NULL);
		((int (*)(void))dlsym(library, "Py_FinalizeEx"))();
		dlclose(library);
		for (int k = 0; k < 100; k++)
			free(HIDE(malloc(1000)));
	}
	over = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
