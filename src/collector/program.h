/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The program that `memoir run` is to start: where it is, and why it might not be recordable. */
#include <stddef.h>

/* Finds a program as execvp would.  0, or -ENOENT (nowhere), -EACCES (not executable), or another
 * -errno.  The path has a slash. */
int program_find(const char *name, char *ret_path, size_t size);
/* Why it must not be started with the recorder at all, as the end of a sentence; NULL: it may. */
const char *program_refuses(const char *path);
/* Why the loader will ignore us, as the end of a sentence; NULL: it will not. */
const char *program_secure(const char *path);
/* Why the recorder cannot be loaded into it, as the end of a sentence; NULL: no reason found. */
const char *program_obstacle(const char *path);
