/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whose process is at the other end of a connection from this machine.
 *
 * Every user of a machine reaches a port of its loopback address, so an address says nothing about
 * a person; the kernel knows the user of each socket.  For the server, the collector's stream, and
 * the agent, where it runs inside the target: kernel calls alone, no memory, nothing that waits. */
#include <stdbool.h>
#include <sys/types.h>

/* The user of the other end, in this user namespace.  0; -ENOENT: it is not on this machine, is in
 * another network namespace, or has closed its end; another -errno: the system does not tell. */
int peer_user(int fd, uid_t *ret_user);
/* The same through a socket of peer_open(), for a process that may not open one later; below 0: by
 * the tables alone. */
int peer_user_by(int asking, int fd, uid_t *ret_user);
/* A descriptor, or -errno. */
int peer_open(void);
/* Is it this process's user, or root?  False where that cannot be known. */
bool peer_is_ours(int fd);
bool peer_is_ours_by(int asking, int fd);
