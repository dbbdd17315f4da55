/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Does what a file is written of still live?
 *
 * The writer of a recording holds a lock on the whole file (flock) until it has finished, and one
 * on its first byte only while the recorded program lives.  A reader so knows whether it is worth
 * to wait, whatever namespace, user or machine's number the program has.  The second lock belongs
 * to the open file (F_OFD_SETLK), like the first: it goes with its holder. */
#include <fcntl.h>
#include <stdbool.h>

static inline void lives_mark(int fd, bool lives)
{
	struct flock lock = { .l_type = lives ? F_WRLCK : F_UNLCK,
			      .l_whence = SEEK_SET,
			      .l_len = 1 };

	/* A file system without such locks: readers take the program for one that has ended. */
	fcntl(fd, F_OFD_SETLK, &lock);
}

static inline bool lives_look(int fd)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 1 };

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}
