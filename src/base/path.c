/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Paths as texts.  See path.h. */
#include "base/path.h"

#include <string.h>

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}
