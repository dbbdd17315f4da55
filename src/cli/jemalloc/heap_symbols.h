/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of addresses that are asked for on standard input, as jeprof --symbols answers. */
#include "heap/heap_locations.h"

/* Reads /proc/PID/maps and lines "0xADDRESS", in any order; prints a line for each address: the
 * function that its code is in, or the address.  Returns the exit status. */
int heap_symbols(const char *command, const struct heap_locations_options *where);
