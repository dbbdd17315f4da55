/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Two libraries that come to lie at the same address, one after the other: the stacks must name
 * the right one each time.  plugins_in_turn PLUGIN_A PLUGIN_B */
#include <dlfcn.h>

#include "say.h"

static NOINLINE void use(const char *path, const char *name, size_t size)
{
	void *library = dlopen(path, RTLD_NOW), *block;
	void *(*make)(size_t);

	if (!library)
		fail("%s", dlerror());
	make = (void *(*)(size_t))dlsym(library, name);
	block = make(size);
	KEEP(block);
	dlclose(library);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		fail("usage");
	for (int i = 0; i < 50; i++) {
		use(argv[1], "plugin_a", 1111);
		use(argv[2], "plugin_b", 2222);
	}
	return 0;
}
