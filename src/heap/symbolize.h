/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Names of addresses without a dump, as jeprof --symbols answers. */
#include "base/err.h"
#include "heap/heap_locations.h"

struct buf;

/* `in` has /proc/PID/maps and lines "0xADDRESS", in any order; adds a line for each address: the
 * function that its code is in, or the address.  0, or -EBADMSG with err. */
int symbolize(const struct buf *in, const struct heap_locations_options *where, struct buf *out,
	      struct err *err);
