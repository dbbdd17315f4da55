/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Paths as texts. */

/* The last part of a path; "" stays "". */
const char *path_base(const char *path);
