/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Opening what is written to, under a name that somebody gave.
 *
 * In a folder that others can write to, a name may be a trap: a symbolic link of another user leads
 * to a file of ours that would be overwritten.  So the last part of a path is followed only where
 * the link is this user's or root's, whatever fs.protected_symlinks says.  A pipe that nobody reads
 * from is waited for, but not for ever. */
#include <sys/types.h>

#define OPEN_OUTPUT_WAIT_MS 10000
#define OPEN_OUTPUT_SOON_MS 1000 /* where a program waits for it */

/* The path behind links that may be followed, which need not exist; the caller frees it.  0, or
 * -errno: -ELOOP for a link of another user. */
int open_output_resolve(const char *path, char **ret_path);
/* As open(2), with O_CLOEXEC and O_NOCTTY; a pipe is opened for writing alone, and does not wait
 * (O_NONBLOCK) when it is written to; somebody has to read from it within `wait_ms`.  A descriptor
 * or -errno; -ENXIO: nobody reads from the pipe.
 */
int open_output(const char *path, int flags, mode_t mode, int wait_ms);
/* Why not, in words. */
const char *open_output_error(int error);
