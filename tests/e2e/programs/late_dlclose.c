/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A dlclose() that is held up after the library has gone and before its caller knows. */
#include <dlfcn.h>

void (*when_unloaded)(void);

int dlclose(void *handle)
{
	int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	int result = real(handle);

	if (when_unloaded)
		when_unloaded();
	return result;
}
