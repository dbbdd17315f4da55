/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Limits of memory.  See memory.h.  A container sees its own group as the root, so the path that
 * /proc tells may lead nowhere: then the root is asked. */
#include "base/memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/xalloc.h"

static void take_limit(const char *base, const char *group, const char *file, uint64_t *limit)
{
	auto_free char *path = xasprintf("%s%s/%s", base, group, file);
	FILE *f = fopen(path, "re");
	unsigned long long value;

	if (f && fscanf(f, "%llu", &value) == 1 && value && value < *limit)
		*limit = value;
	if (f)
		fclose(f);
}

/* The group and those that it is in. */
static void take_limits(const char *base, char *group, const char *file, uint64_t *limit)
{
	for (char *slash; *group && (slash = strrchr(group, '/')); *slash = 0)
		take_limit(base, group, file, limit);
	take_limit(base, "", file, limit);
}

uint64_t memory_limit(void)
{
	uint64_t limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		char *group = strrchr(line, ':');

		if (!group++)
			continue;
		group[strcspn(group, "\n")] = 0;
		if (!strncmp(line, "0::", 3))
			take_limits("/sys/fs/cgroup", group, "memory.max", &limit);
		else if (strstr(line, ":memory:"))
			take_limits("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes",
				    &limit);
	}
	if (f)
		fclose(f);
	return limit;
}

uint64_t memory_available(void)
{
	uint64_t limit = memory_limit();
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && kib << 10 < limit)
			limit = kib << 10;
	if (f)
		fclose(f);
	return limit;
}
