/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The running agents that the server knows: those whose files are in the user's folder
 * (client/agents.h), looked for when somebody asks, and those whose address was given. */
#include "base/err.h"
#include "base/json.h"
#include "server/watch.h"

struct watches;
struct watches *watches_new(void);
/* Nothing is asked of any agent any more. */
bool watches_stop(struct watches *l, const struct timespec *deadline);
struct watches *watches_free(struct watches *l);

/* An address (http://HOST:PORT, unix:/SOCKET) or a process number; `token` may be NULL.  0, or
 * -errno with err. */
int watches_add(struct watches *l, const char *address, const char *token, struct err *err);
/* Does this look like an agent's address, rather than a file? */
bool watches_is_address(const char *text);

/* By id, which the caller drops; NULL: none. */
struct watch *watches_take(struct watches *l, const char *id);
/* All of them as an array. */
void watches_list(struct watches *l, struct json *j, const char *key);
