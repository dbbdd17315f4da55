/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Which Debian package a file is from, as dpkg's lists say; no program is run. */
#include <stddef.h>

/* Looks for all at once, since each list is read once; fills ret_packages[i] with the name of the
 * package that has paths[i], or NULL.  The names are the caller's. */
void packages_find(const char *const *paths, size_t count, char **ret_packages);
/* The package with the debug symbols of another. */
char *packages_debug(const char *package);
/* The distribution's debuginfod server. */
const char *packages_debuginfod(void);
