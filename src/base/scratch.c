/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arrays in files without names.  See scratch.h. */
#include "base/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/xalloc.h"

int scratch_open(void)
{
	const char *folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };

	for (unsigned i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		auto_free char *name = NULL;
		int fd;

		if (!folders[i] || folders[i][0] != '/')
			continue;
		fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (fd >= 0)
			return fd;
		name = xasprintf("%s/memoir-XXXXXX", folders[i]);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0) {
			unlink(name);
			return fd;
		}
	}
	return -1;
}

int scratch_reserve(int fd, uint64_t offset, uint64_t size)
{
	struct rlimit limit;
	int error;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    offset + size > limit.rlim_cur)
		return -EFBIG;
	do
		error = fallocate(fd, 0, (off_t)offset, (off_t)size) < 0 ? -errno : 0;
	while (error == -EINTR);
	return error;
}

static void drop(struct scratch *s)
{
	if (s->place == SCRATCH_HEAP)
		free(s->data);
	else
		pages_free(s->data, s->size);
	if (s->place == SCRATCH_MAPPED && s->fd >= 0)
		close(s->fd);
}

/* Puts what is there into another place, which is zeroed. */
static void move_to(struct scratch *s, void *data, size_t size, enum scratch_place place, int fd)
{
	if (s->size)
		memcpy(data, s->data, s->size);
	drop(s);
	*s = (struct scratch){ .data = data, .size = size, .place = place, .fd = fd };
}

static bool move_to_file(struct scratch *s, size_t size)
{
	int fd = scratch_open();
	void *data = MAP_FAILED;

	if (fd >= 0 && !scratch_reserve(fd, 0, size))
		data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (data == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	move_to(s, data, size, SCRATCH_MAPPED, fd);
	return true;
}

static bool grow_file(struct scratch *s, size_t size)
{
	void *data;

	if (s->fd < 0 || scratch_reserve(s->fd, s->size, size - s->size))
		return false;
	data = mremap(s->data, s->size, size, MREMAP_MAYMOVE);
	if (data == MAP_FAILED)
		return false;
	s->data = data;
	s->size = size;
	return true;
}

void *scratch_resize(struct scratch *s, size_t size)
{
	if (size <= s->size && s->data)
		return s->data;
	if (size < SCRATCH_FILE) {
		s->data = xrealloc(s->data, size);
		memset((char *)s->data + s->size, 0, size - s->size);
		s->size = size;
		return s->data;
	}
	if (s->place == SCRATCH_PAGES) {
		s->data = pages_grow(s->data, s->size, size);
		s->size = size;
	} else if (s->place != SCRATCH_MAPPED || !grow_file(s, size)) {
		if (!move_to_file(s, size))
			move_to(s, pages_grow(NULL, 0, size), size, SCRATCH_PAGES, -1);
	}
	return s->data;
}

void scratch_seal(struct scratch *s)
{
	if (s->place != SCRATCH_MAPPED || s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
}

void scratch_release(struct scratch *s)
{
	drop(s);
	memset(s, 0, sizeof(*s));
}
