/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Before a program is executed that we would go along with: can it be recorded?
 *
 * exec.c asks, on the program's own thread, perhaps between vfork and exec.  The file is found as
 * libc will find it and looked at (wire/loadable.h) with system calls alone; errno stays what it
 * was.  Where looking fails the answer is that it can: then all is as if nobody had looked. */
#include "recorder/exec.h"
#include "recorder/sys.h"
#include "wire/loadable.h"

#include <string.h>

#define PATH_ROOM 1024 /* on a stack that may be small; a longer path is not looked at */
#define EXECUTABLE 1   /* X_OK */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

extern char **environ;

static long open_file(const char *path)
{
	return SYS(SYS_openat, AT_FDCWD, path, OPEN_FLAGS, 0);
}

/* With calls that every loader makes: a filter that lets a program be executed lets them pass. */
static long open_executable(const char *path)
{
	long error = SYS_ACCESS(path, EXECUTABLE);

	return sys_failed(error) ? error : open_file(path);
}

static long read_file(long fd, uint64_t offset, void *to, size_t size)
{
	return SYS(SYS_pread64, fd, to, size, SYS_WIDE(offset));
}

static void close_file(long fd)
{
	SYS(SYS_close, fd);
}

static const char *search_path(void)
{
	for (char **e = environ; e && *e; e++)
		if (!strncmp(*e, "PATH=", 5))
			return *e + 5;
	return "/bin:/usr/bin";
}

/* The first file of that name that may be executed. */
static long open_in_path(const char *name)
{
	const char *at = search_path();
	size_t length = strlen(name);

	for (;; at++) {
		size_t n = strcspn(at, ":"), used = n;
		char path[PATH_ROOM];
		long fd;

		if (n + 1 + length < sizeof(path)) {
			memcpy(path, at, n);
			if (n)
				path[used++] = '/'; /* an empty part means here */
			memcpy(path + used, name, length + 1);
			fd = open_executable(path);
			if (!sys_failed(fd) &&
			    SYS(SYS_pread64, fd, path, 1, SYS_WIDE(0ull)) != -EISDIR)
				return fd;
			if (!sys_failed(fd))
				close_file(fd);
		}
		at += n;
		if (!*at)
			return -ENOENT;
	}
}

/* A descriptor, which is the caller's own where `ret_borrowed`. */
static long open_program(const struct exec_call *call, bool *ret_borrowed)
{
	const char *name = call->path ? call->path : "";
	bool searched = call->kind == EXECVPE || call->kind == SPAWNP;

	*ret_borrowed = call->kind == FEXECVE || (call->kind == EXECVEAT && !*name);
	if (*ret_borrowed)
		return call->fd;
	if (searched && *name && !strrchr(name, '/'))
		return open_in_path(name);
	return call->kind == EXECVEAT ? SYS(SYS_openat, call->fd, name, OPEN_FLAGS, 0)
				      : open_executable(name);
}

static void name_file(long fd, char *out, size_t size)
{
	char link[32] = "/proc/self/fd/";
	long n;

	text_number(link + strlen(link), (uint64_t)fd);
	n = SYS_READLINK(link, out, size - 1);
	out[sys_failed(n) ? 0 : n] = 0;
}

/* For who tells the user, once for each program. */
static void note_unrecorded(const struct loadable_look *look, const char *path)
{
	struct shm_family *family = &rt.shm->family;
	struct shm_unrecorded *slot;
	size_t n = strlen(path), most = sizeof(slot->path) - 1;
	uint32_t i;

	if (n > most)
		path += n - most;
	for (i = 0; i < SHM_UNRECORDED; i++) {
		slot = &family->unrecorded[i];
		if (atomic_load(&slot->answer) && !strcmp(slot->path, path))
			return;
	}
	i = atomic_fetch_add(&family->unrecorded_count, 1);
	if (i >= SHM_UNRECORDED)
		return;
	slot = &family->unrecorded[i];
	memcpy(slot->path, path, strlen(path) + 1);
	slot->machine = look->machine;
	slot->pid = sys_getpid();
	atomic_store(&slot->answer, look->answer);
}

bool exec_must_be_left_alone(const struct exec_call *call)
{
	static const struct loadable_files files = { open_file, read_file, close_file };
	struct loadable_look look;
	char path[PATH_ROOM] = "";
	bool borrowed;
	long fd = open_program(call, &borrowed);

	if (sys_failed(fd))
		return false;
	loadable_look(&files, fd, &look);
	if (loadable_refuses(look.answer)) {
		name_file(fd, path, sizeof(path));
		note_unrecorded(&look, path[0] || !call->path ? path : call->path);
	}
	if (!borrowed)
		close_file(fd);
	return loadable_refuses(look.answer);
}
