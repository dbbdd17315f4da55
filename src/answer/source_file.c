/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Source files.  See source_file.h. */
#include "answer/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "answer/ask.h"

int source_open_plain(int handle, struct stat *ret_st)
{
	char self[40];
	int fd;

	if (fstat(handle, ret_st) < 0)
		return -errno;
	if (!S_ISREG(ret_st->st_mode))
		return -EINVAL;
	if (ret_st->st_size > SOURCE_MAX)
		return -EFBIG;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", handle);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

const char *source_why_not(int error)
{
	switch (error) {
	case -EXDEV:
	case -ELOOP:
		return "a link leads out of the folders that may be shown";
	case -EINVAL:
		return "it is not a regular file";
	case -EFBIG:
		return "it is larger than 8 MiB";
	case -EACCES:
		return "it is in none of the folders that may be shown: memoir server "
		       "--source-root "
		       "DIR shows what is below DIR";
	default:
		return strerror(-error);
	}
}
