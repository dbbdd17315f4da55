/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The socket that a collector listens on, and the address of one. */
#include <stdint.h>

#include "base/err.h"

#define LISTEN_WHERE 64

/* Takes the first free one of `ports` ports from `port` on (0: any).  Gives a descriptor or -errno,
 * the port, and "ADDRESS:PORT" as a client on this machine would write it. */
int listen_open(const char *address, uint64_t port, unsigned ports, uint16_t *ret_port,
		char where[LISTEN_WHERE], struct err *err);
