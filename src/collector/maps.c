/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* /proc/PID/maps.  See maps.h. */
#include "collector/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int read_text(struct maps *m, pid_t pid)
{
	char name[40];
	int fd, error = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	m->size = 0;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (;;) {
		ssize_t n;

		if (m->room - m->size < 8192) {
			size_t room = m->room ? m->room * 2 : 65536;
			void *grown = realloc(m->text, room);

			if (!grown) {
				error = -ENOMEM;
				break;
			}
			m->text = grown;
			m->room = room;
		}
		n = read(fd, m->text + m->size, m->room - m->size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			error = -errno;
		if (n <= 0)
			break;
		m->size += (size_t)n;
	}
	close(fd);
	if (!error && !m->size)
		error = -ENODATA;
	return error;
}

static uint64_t hex(char **p)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		unsigned c = (unsigned char)**p, low = c | 32;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (low >= 'a' && low <= 'f')
			v = v << 4 | (low - 'a' + 10);
		else
			return v;
	}
}

/* start-end perms offset major:minor inode   path */
static bool parse_mapping(char *p, char *end, struct mapping *r)
{
	static const char deleted[] = " (deleted)";
	const size_t deleted_size = sizeof(deleted) - 1;
	unsigned major_number;

	r->start = hex(&p);
	p += *p == '-';
	r->end = hex(&p);
	p += *p == ' ';
	if (end - p < 5)
		return false;
	r->executable = p[2] == 'x';
	p += 5;
	r->offset = hex(&p);
	p += *p == ' ';
	major_number = (unsigned)hex(&p);
	p += *p == ':';
	r->device = makedev(major_number, (unsigned)hex(&p));
	r->inode = strtoull(p, &p, 10);
	p += strspn(p, " ");
	r->path = p;
	r->deleted = (size_t)(end - p) > deleted_size && !strcmp(end - deleted_size, deleted);
	if (r->deleted)
		*(end - deleted_size) = 0;
	return true;
}

int maps_read(struct maps *m, pid_t pid)
{
	int error = read_text(m, pid);
	char *line = m->text;

	if (error && !m->size)
		return error;
	m->count = 0;
	if (error)
		return error;
	for (char *end; (end = memchr(line, '\n', m->size - (size_t)(line - m->text)));
	     line = end + 1) {
		if (m->count == m->list_room) {
			size_t room = m->list_room ? m->list_room * 2 : 512;
			void *grown = realloc(m->list, room * sizeof(*m->list));

			if (!grown)
				return -ENOMEM;
			m->list = grown;
			m->list_room = room;
		}
		*end = 0;
		m->count += parse_mapping(line, end, &m->list[m->count]);
	}
	return 0;
}

const struct mapping *maps_find(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (address >= m->list[middle].end)
			low = middle + 1;
		else if (address < m->list[middle].start)
			high = middle;
		else
			return &m->list[middle];
	}
	return NULL;
}

int maps_open(const struct mapping *m, pid_t pid)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	char path[PATH_MAX + 64];
	int fd = -1;

	/* The mapping itself (needs privileges), its root, our root. */
	if (m->start) {
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
			 m->start, m->end);
		fd = open(path, flags);
	}
	if (fd < 0 && m->path[0] == '/') {
		snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, m->path);
		fd = open(path, flags);
	}
	if (fd < 0 && m->path[0] == '/')
		fd = open(m->path, flags);
	return fd;
}

void maps_release(struct maps *m)
{
	free(m->text);
	free(m->list);
	*m = (struct maps){ 0 };
}
