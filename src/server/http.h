/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Between libmicrohttpd and requests: its callbacks, headers, and what is sent.  Everything here
 * runs on its one thread, but for waking. */
#include "server/server.h"

/* Begins to listen: 0, or -errno with err.  The socket becomes its own. */
int http_start(struct server *s, int socket, struct err *err);
/* No connection is accepted any more. */
void http_quiesce(struct server *s);
/* Ends all connections; no answer may be computed any more. */
void http_stop(struct server *s);
