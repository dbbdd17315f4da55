/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* How much memory there is for this process. */
#include <stdint.h>

/* The machine's, or what the process's control group may have if that is less; in bytes. */
uint64_t memory_limit(void);
/* What of it can still be had without pushing others out. */
uint64_t memory_available(void);
