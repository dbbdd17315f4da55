/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Can the recorder be preloaded into the program that is in this file?
 *
 * LD_PRELOAD does harm where it cannot help: musl's loader ends a program that is given a library
 * of glibc's, a loader of 32 bits complains on stderr, AddressSanitizer refuses to be second.  So
 * those who are about to start a program look at its file first: `memoir run`, and the recorder
 * before an exec, between vfork and exec too.  Nothing here allocates or remembers; files are
 * reached through the functions that are given, and may hold anything. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loadable {
	LOADABLE_UNKNOWN, /* unreadable, or nothing that is known here: as if it could be */
	LOADABLE_YES,
	LOADABLE_STATIC,
	LOADABLE_MUSL,
	LOADABLE_OTHER_LIBC,
	LOADABLE_32_BIT,
	LOADABLE_OTHER_MACHINE,
	LOADABLE_SANITIZED,	 /* its runtime must be the first library */
	LOADABLE_NO_INTERPRETER, /* what its first line or its header names is not there */
};

struct loadable_files {
	/* A descriptor or -errno. */
	long (*open)(const char *path);
	/* Bytes read, fewer at the end of the file; or -errno. */
	long (*read)(long fd, uint64_t offset, void *to, size_t size);
	void (*close)(long fd);
};

struct loadable_look {
	enum loadable answer;
	uint16_t machine; /* as ELF numbers them */
	/* What its first line names, and then the answer is that program's; "": it is no script. */
	char interpreter[256];
	char loader[256]; /* what the program's header names; "": nothing, or not looked at */
};

/* The descriptor stays open, and its position what it was. */
void loadable_look(const struct loadable_files *files, long fd, struct loadable_look *ret);

/* Is this a program that must run without us? */
static inline bool loadable_refuses(enum loadable answer)
{
	return answer >= LOADABLE_STATIC && answer <= LOADABLE_SANITIZED;
}
