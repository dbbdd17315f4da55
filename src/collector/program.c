/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Programs on disk.  See program.h. */
#include "collector/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

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

static long open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	return fd < 0 ? -errno : fd;
}

static long read_file(long fd, uint64_t offset, void *to, size_t size)
{
	ssize_t n = pread((int)fd, to, size, (off_t)offset);

	return n < 0 ? -errno : n;
}

static void close_file(long fd)
{
	close((int)fd);
}

void program_look(const char *path, struct loadable_look *ret)
{
	static const struct loadable_files files = { open_file, read_file, close_file };
	long fd = open_file(path);

	*ret = (struct loadable_look){ .answer = LOADABLE_UNKNOWN };
	if (fd < 0)
		return;
	loadable_look(&files, fd, ret);
	close_file(fd);
}

static const char *machine_name(unsigned machine)
{
	static const struct {
		unsigned machine;
		const char *name;
	} names[] = { { EM_386, "i386" },	 { EM_X86_64, "x86-64" }, { EM_ARM, "ARM" },
		      { EM_AARCH64, "AArch64" }, { EM_RISCV, "RISC-V" },  { EM_PPC64, "PowerPC" },
		      { EM_S390, "S/390" },	 { EM_MIPS, "MIPS" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "another machine";
}

const char *program_refusal(enum loadable answer, unsigned machine)
{
	static char text[60];

	switch (answer) {
	case LOADABLE_STATIC:
		return "is linked statically, so nothing can be preloaded into it";
	case LOADABLE_MUSL:
		return "is built for musl";
	case LOADABLE_OTHER_LIBC:
		return "is built for another C library than glibc";
	case LOADABLE_32_BIT:
		return "is a 32-bit program";
	case LOADABLE_OTHER_MACHINE:
		snprintf(text, sizeof(text), "is a program for %s", machine_name(machine));
		return text;
	case LOADABLE_SANITIZED:
		return "is built with a sanitizer, whose runtime must be the first library and "
		       "replaces the allocator itself";
	case LOADABLE_UNKNOWN:
	case LOADABLE_YES:
	case LOADABLE_NO_INTERPRETER:
		break;
	}
	return NULL;
}

/* Why a program whose loader will ignore us must be started without the recorder, as the kernel
 * decides it: other rights than one has count, on a file system where they may. */
static const char *program_secure(const char *path)
{
	struct statvfs disk;
	struct stat st;

	if (stat(path, &st) < 0 || statvfs(path, &disk) < 0 || (disk.f_flag & ST_NOSUID))
		return NULL;
	if (((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
	    ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid()))
		return "is set-user-id or set-group-id, and the loader then ignores LD_PRELOAD";
	if (getxattr(path, "security.capability", NULL, 0) > 0 && getuid())
		return "has file capabilities, and the loader then ignores LD_PRELOAD";
	return NULL;
}

const char *program_obstacle(const char *path)
{
	struct loadable_look look;
	const char *why;

	program_look(path, &look);
	why = program_refusal(look.answer, look.machine);
	return why ? why : program_secure(look.interpreter[0] ? look.interpreter : path);
}
