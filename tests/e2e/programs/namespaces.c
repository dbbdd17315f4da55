/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* namespaces PLUGIN: a library in a link-map namespace of its own, with its own libc and
 * allocator, and one that prefers its own symbols (RTLD_DEEPBIND). */
#include <dlfcn.h>

#include "say.h"

static void use(const char *title, void *library)
{
	void *(*make)(size_t);
	char *block;

	if (!library) {
		say("%s: cannot be loaded\n", title);
		return;
	}
	make = (void *(*)(size_t))dlsym(library, "plugin_a");
	block = make(1111);
	memset(block, 7, 1111);
	say("%s: %d\n", title, block[1110]);
	dlclose(library);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		fail("usage");
	for (int i = 0; i < 5; i++) {
		use("namespace", dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW));
		use("deepbind", dlopen(argv[1], RTLD_NOW | RTLD_DEEPBIND));
		free(HIDE(malloc(55)));
	}
	return 0;
}
