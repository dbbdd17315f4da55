/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* HOST:PORT as a user writes it, and connecting to it without waiting. */
#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct stream_target {
	char *text; /* as it was written */
	struct addrinfo *addresses;
};

/* "host:8100", "[::1]:8100", ":8100", "8100", "host"; looks the name up.  0 or -errno: -EINVAL for
 * a text that makes no sense. */
int target_parse(struct stream_target *t, const char *text, struct err *err);
void target_release(struct stream_target *t);
/* A socket that is connecting to this address, or -errno. */
int target_connect(const struct addrinfo *address);
