/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Reads /proc/PID/pagemap.  See pagemap.h. */
#include "collector/pagemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/order.h"
#include "base/xalloc.h"
#include "collector/collector.h"

bool pagemap_open(struct pagemap *p, const struct collector *c)
{
	char name[40];

	if (!p->entries)
		p->entries = xcalloc(PAGEMAP_AT_ONCE, sizeof(*p->entries));
	p->page_size = (size_t)sysconf(_SC_PAGESIZE);
	snprintf(name, sizeof(name), "/proc/%d/pagemap", (int)collector_in_proc(c));
	p->fd = open(name, O_RDONLY | O_CLOEXEC);
	return p->fd >= 0;
}

void pagemap_close(struct pagemap *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
}

bool pagemap_read(struct pagemap *p, uint64_t page, uint64_t end)
{
	size_t want = MIN(end - page, PAGEMAP_AT_ONCE);
	ssize_t n;

	do
		n = pread(p->fd, p->entries, want * sizeof(*p->entries),
			  (off_t)(page * sizeof(*p->entries)));
	while (n < 0 && errno == EINTR);
	p->count = n > 0 ? (size_t)n / sizeof(*p->entries) : 0;
	return p->count > 0;
}
