/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Whose process is at the other end of a connection from this computer.
 *
 * A port of the loopback address can be reached by every user, and the agents of a program obey
 * only those who can read a file of its user: the server must not lend that right to others. */
#include <stdbool.h>

/* Is it this user's, or root's?  True also where the system does not tell about anybody. */
bool peer_is_ours(int fd);
