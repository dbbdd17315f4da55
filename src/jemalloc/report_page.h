/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The self-contained page of jemalloc's statistics, as web/build.py embeds it.  What it shows takes
 * the place of what is in its element <script type="application/json" id="data">. */
#include <stddef.h>

extern const char report_page[];
extern const size_t report_page_length;
