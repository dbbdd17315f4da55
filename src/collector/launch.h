/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Starting a program with the recorder in it, for `memoir run`.
 *
 * The program is forked first and waits, so that its pid can be part of the output's name and an
 * output that cannot be written is an error before anything runs. */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "wire/options.h"

struct launch {
	pid_t pid;
	int go_fd, result_fd;
};

/* Where libmemoir.so is: named by MEMOIR_LIBRARY, or beside this executable, or installed. */
bool launch_find_library(char *path, size_t size);
/* The same of libmemoir-jemalloc.so and MEMOIR_AGENT_LIBRARY. */
bool launch_find_agent(char *path, size_t size);
/* Is this libmemoir.so of our version?  NULL, or why not. */
const char *launch_library_differs(const char *path);
/* Puts a library before those that our own environment already has preloaded; `children`: it stays
 * there for the programs that the program starts. */
bool launch_preload(const char *library, bool children);
/* New shared memory with the options in it, and the pipe that collectors report to; a descriptor or
 * -errno. */
int launch_memory(const struct options *options, const char *session);
/* Puts what the recorder needs into our own environment, which the program inherits; and where
 * children are recorded, so do they. */
bool launch_environment(int shm_fd, const char *library, bool children);
/* Forks the program, which waits: 0 or -errno.  It has our signals and timers as they were; here
 * all signals are blocked afterwards, so that handlers can be set before any comes. */
int launch_fork(struct launch *l, const char *path, char **argv);
/* Lets it go.  0, or -errno of its exec. */
int launch_go(struct launch *l);
/* Ends a program that still waits. */
void launch_release(struct launch *l);
/* Ends this process as a program ended whose status waitpid gave; returns what to exit with. */
int launch_end_like(int status);
