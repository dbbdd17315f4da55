/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Opens ./libplug.so in the folder of the first argument, allocates in it, and ends at once.  Words
 * of the second argument: leave (the folder), close (the library), unlink (it), quick (_exit). */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	void *library, *(*allocate)(void), *p;

	if (chdir(argv[1]) || !(library = dlopen("./libplug.so", RTLD_NOW)))
		return 2;
	if (strstr(how, "unlink"))
		unlink("libplug.so");
	if (strstr(how, "leave") && chdir("/"))
		return 3;
	allocate = (void *(*)(void))dlsym(library, "plugin_allocates");
	p = allocate();
	if (strstr(how, "close"))
		dlclose(library);
	if (strstr(how, "quick"))
		_exit(0);
	return !p;
}
