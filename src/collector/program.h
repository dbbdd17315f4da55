/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The program that `memoir run` is to start: where it is, and why it might not be recordable. */
#include <stddef.h>

#include "wire/loadable.h"

/* Finds a program as execvp would.  0, or -ENOENT (nowhere), -EACCES (not executable), or another
 * -errno.  The path has a slash. */
int program_find(const char *name, char *ret_path, size_t size);
/* Looks at a program's file, and at the interpreter's that it names. */
void program_look(const char *path, struct loadable_look *ret);
/* Why it must be started without the recorder, or NULL: what follows "PROGRAM ".  Good until the
 * next call. */
const char *program_refusal(enum loadable answer, unsigned machine);
/* The first of both that is a reason. */
const char *program_obstacle(const char *path);
