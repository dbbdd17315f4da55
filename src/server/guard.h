/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who may ask.
 *
 * A page from elsewhere can make a browser send requests here, and by a name that it lets lead to
 * this computer it could even read the answers.  So the Host must be an address or a name of this
 * computer, and an Origin, where there is one, the same host.  A token or a password is compared in
 * a time that does not depend on how much of it is right. */
#include <stdbool.h>

#include "server/request.h"
#include "server/server.h"

struct credentials {
	const char *host, *origin, *site, *mode; /* headers; NULL: not there */
	const char *authorization, *cookie;
};

/* May this be answered?  False with the fault. */
bool guard_allows(const struct server *s, const struct credentials *c, struct fault *ret_fault);
/* Is it the token?  For /?token=… */
bool guard_is_token(const struct server *s, const char *token);
/* Is a Host header one that this server has?  For tests. */
bool guard_is_our_host(const struct server *s, const char *host);

#define GUARD_COOKIE "memoir_token"
