/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs on disk.  See program.h. */
#include "collector/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collector/elf.h"

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static int usable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || access(path, X_OK) < 0)
		return -EACCES;
	return 0;
}

int program_find(const char *name, char *ret_path, size_t size)
{
	const char *path = getenv("PATH"), *end;
	int result = -ENOENT;

	if (strchr(name, '/')) {
		if (strlen(name) >= size)
			return -ENAMETOOLONG;
		strcpy(ret_path, name);
		return usable(name);
	}
	if (!*name)
		return -ENOENT;
	for (path = path ? path : DEFAULT_PATH;; path = end + 1) {
		char candidate[PATH_MAX];
		int error, n;

		end = strchrnul(path, ':');
		n = snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)(end - path),
			     end == path ? "." : path, name);
		if (end == path)
			n = snprintf(candidate, sizeof(candidate), "./%s", name);
		if (n > 0 && (size_t)n < sizeof(candidate) && (size_t)n < size) {
			error = usable(candidate);
			if (!error) {
				strcpy(ret_path, candidate);
				return 0;
			}
			if (error == -EACCES)
				result = error; /* unless there is a better one further on */
		}
		if (!*end)
			return result;
	}
}

static ssize_t read_head(const char *path, uint8_t *head, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, head, size);
	close(fd);
	return n;
}

/* "#! interpreter argument" */
static bool interpreter(const uint8_t *head, size_t size, char *ret_path, size_t room)
{
	const char *p = (const char *)head + 2, *end = (const char *)head + size, *start;

	if (size < 3 || head[0] != '#' || head[1] != '!')
		return false;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	for (start = p; p < end && *p != ' ' && *p != '\t' && *p != '\n'; p++)
		;
	if (p == start || (size_t)(p - start) >= room)
		return false;
	memcpy(ret_path, start, (size_t)(p - start));
	ret_path[p - start] = 0;
	return true;
}

const char *program_refuses(const char *path)
{
	static const char *const runtimes[] = { "libasan.so", "libtsan.so", "liblsan.so",
						"libhwasan.so" };
	const char *why = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size > 0) {
		bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		for (size_t i = 0;
		     bytes != MAP_FAILED && i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
			if (elf_needs(bytes, (size_t)st.st_size, runtimes[i]))
				why = "it is built with a sanitizer, whose runtime must be the "
				      "first "
				      "library and replaces the allocator itself";
		if (bytes != MAP_FAILED)
			munmap(bytes, (size_t)st.st_size);
	}
	close(fd);
	return why;
}

/* As the kernel decides it: other rights than one has count, on a file system where they may. */
const char *program_secure(const char *path)
{
	struct statvfs disk;
	struct stat st;

	if (stat(path, &st) < 0 || statvfs(path, &disk) < 0 || (disk.f_flag & ST_NOSUID))
		return NULL;
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()))
		return "it is set-user-id or set-group-id, and the loader then ignores LD_PRELOAD";
	if (getxattr(path, "security.capability", NULL, 0) > 0 && getuid())
		return "it has file capabilities, and the loader then ignores LD_PRELOAD";
	return NULL;
}

const char *program_obstacle(const char *path)
{
	uint8_t head[4096];
	char next[PATH_MAX];
	ssize_t n = read_head(path, head, sizeof(head));

	if (n <= 0)
		return NULL;
	if (interpreter(head, (size_t)n, next, sizeof(next))) {
		path = next;
		n = read_head(path, head, sizeof(head));
	}
	switch (n > 0 ? elf_kind_of(head, (size_t)n) : ELF_NONE) {
	case ELF_STATIC:
		return "it is statically linked, and nothing can be preloaded into it; "
		       "link it without -static (an allocator may stay inside)";
	case ELF_FOREIGN:
		return "it is not a 64-bit program of this machine";
	case ELF_NONE:
	case ELF_LIBRARY:
	case ELF_DYNAMIC:
		break;
	}
	return program_secure(path);
}
