/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kind of program is in a file (wire/loadable.h) that may hold anything.  It is looked at
 * inside other people's processes, before an exec: it must end, after few reads, and read within
 * the file. The file is its own interpreter and loader, so that scripts and headers lead on. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wire/loadable.h"

#define READS_MAX 100000

static const uint8_t *bytes;
static size_t byte_count;
static unsigned opened, reads;

static long open_again(const char *path)
{
	if (!path[0] || strlen(path) > 255)
		return -ENOENT;
	return 3 + (long)opened++;
}

static long read_bytes(long fd, uint64_t offset, void *to, size_t size)
{
	if (++reads > READS_MAX)
		abort();
	if (offset >= byte_count)
		return 0;
	if (size > byte_count - offset)
		size = byte_count - offset;
	memcpy(to, bytes + offset, size);
	return (long)size;
}

static void close_one(long fd)
{
	if (!opened--)
		abort();
}

FUZZ(loadable, data, size)
{
	static const struct loadable_files files = { open_again, read_bytes, close_one };
	struct loadable_look look;

	bytes = data;
	byte_count = size;
	opened = reads = 0;
	loadable_look(&files, 2, &look);
	if (opened || look.answer > LOADABLE_NO_INTERPRETER ||
	    !memchr(look.interpreter, 0, sizeof(look.interpreter)) ||
	    !memchr(look.loader, 0, sizeof(look.loader)))
		abort();
	return 0;
}
