/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Who may ask.
 *
 * Every user of a machine reaches its loopback address: so who asks is this user's own process, as
 * the kernel knows it (peer/peer.h), or has the token or the password.
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
	/* Is the other end this user's?  Called only where nothing else decides. */
	bool (*is_ours)(void *connection);
	void *connection;
};

/* May this be answered?  False with the fault. */
bool guard_allows(const struct server *s, const struct credentials *c, struct fault *ret_fault);
/* May this change programs of this user's?  Who is let in may, but for those whom only
 * --open-to-all let in. */
bool guard_may_change(const struct server *s, const struct credentials *c);
/* Is it the token?  For /?token=… */
bool guard_is_token(const struct server *s, const char *token);
/* Is a Host header one that this server has?  For tests. */
bool guard_is_our_host(const struct server *s, const char *host);

/* The cookie's name: browsers do not tell the servers of one host apart by their ports. */
#define GUARD_COOKIE_SIZE 32
void guard_cookie_name(const struct server *s, char ret_name[GUARD_COOKIE_SIZE]);
