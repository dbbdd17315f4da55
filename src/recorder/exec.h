/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A call of the exec family, or of posix_spawn: between exec.c and exec_look.c. */
#include <stdbool.h>
#include <sys/types.h>

#include "recorder/rt.h"

struct exec_call {
	enum { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP } kind;
	const char *path;
	char *const *argv;
	int fd, flags;
	pid_t *pid;
	const void *actions, *attributes;
};

/* Is this a program that would be harmed, or could not see us anyway?  Notes it for the user. */
bool exec_must_be_left_alone(const struct exec_call *call) HIDDEN;
