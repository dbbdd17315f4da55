/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Opening a source file that a question names, once its door has found that it may be shown.  Any
 * thread. */
#include <sys/stat.h>

/* The plain file behind an O_PATH descriptor, looked at before it is opened: a device may do
 * something when it is.  A descriptor, or -errno. */
int source_open_plain(int handle, struct stat *ret_st);
/* Why a file is not shown. */
const char *source_why_not(int error);
