/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How a collector that was started from inside a program leaves it alone: it inherited everything
 * and keeps nothing of it. */

/* Leaves the session, gives up all descriptors but one, puts signals in order, raises soft limits
 * to the hard ones.  `*fd` is the descriptor to keep; it may get another number. */
void daemonize(int *fd);
/* Raises soft limits that a recording may meet to the hard ones. */
void daemonize_raise_limits(void);
/* Makes the shared memory's file as large as it has to be, past a limit on file sizes if that may
 * be done.  0 or -errno; never a signal. */
int daemonize_size_memory(int fd);
/* Gives up the working directory, once the output is open. */
void daemonize_leave_directory(void);
