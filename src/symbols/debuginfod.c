/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The client library of debuginfod.  See debuginfod.h. */
#include "symbols/debuginfod.h"

#include <dlfcn.h>

#include "base/xalloc.h"

#define LIBRARY "libdebuginfod.so.1"

struct debuginfod {
	void *library, *client;
	void (*end)(void *client);
	int (*find)(void *client, const unsigned char *id, int size, char **path);
};

struct debuginfod *debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return NULL;
	if (d->client)
		d->end(d->client);
	/* The library stays: what it uses does not like to be unloaded. */
	free(d);
	return NULL;
}

const char *debuginfod_problem(void)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	void *library;

	if (!servers || !*servers)
		return "DEBUGINFOD_URLS is not set: it names the servers";
	library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return LIBRARY " is not installed (package libdebuginfod1)";
	return NULL;
}

struct debuginfod *debuginfod_new(void)
{
	struct debuginfod *d;
	void *(*begin)(void);

	if (debuginfod_problem())
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	*(void **)&begin = dlsym(d->library, "debuginfod_begin");
	*(void **)&d->end = dlsym(d->library, "debuginfod_end");
	*(void **)&d->find = dlsym(d->library, "debuginfod_find_debuginfo");
	d->client = begin && d->end && d->find ? begin() : NULL;
	return d->client ? d : debuginfod_free(d);
}

int debuginfod_find(struct debuginfod *d, const uint8_t *id, size_t size)
{
	int fd = d->find(d->client, id, (int)size, NULL);

	return fd >= 0 ? fd : -1;
}
