/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Names of threads.  The first name of a thread is in its ring; a program that renames it later
 * does so without us, so those that had events are looked up now and then. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/collector.h"

#define AT_ONCE 64 /* files opened in one go: draining must not wait for a thousand threads */
#define THREAD_BYTES (2 * VARINT_MAX + 16)

static bool read_name(pid_t pid, int32_t tid, char name[16])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	memset(name, 0, 16);
	n = read(fd, name, 16);
	close(fd);
	if (n <= 0)
		return false;
	name[n - 1] = 0; /* the newline */
	return true;
}

void threads_write(struct collector *c)
{
	unsigned looked = 0;

	c->payload.used = 0;
	for (uint32_t i = 0; i < c->ring_count && looked < AT_ONCE; i++) {
		struct collector_ring *r = &c->rings[c->name_cursor++ % c->ring_count];
		char name[16];
		int32_t tid;

		if (!r->ring || !r->active)
			continue;
		r->active = false;
		looked++;
		tid = (int32_t)atomic_load_explicit(&r->ring->owner_tid, memory_order_relaxed);
		if (tid <= 0 || !read_name(collector_in_proc(c), tid, name) ||
		    (tid == r->named_tid && !strcmp(name, r->name)))
			continue;
		r->named_tid = tid;
		memcpy(r->name, name, sizeof(r->name));
		if (!payload_fits(&c->payload, THREAD_BYTES))
			break;
		payload_number(&c->payload, (uint64_t)tid);
		payload_text(&c->payload, name);
	}
	if (c->payload.used)
		recording_write(&c->recording, CHUNK_THREADS, EFFORT_REST, c->payload.data,
				c->payload.used, 0);
}
