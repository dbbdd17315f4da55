/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The open connections, watched from beside: libmicrohttpd ends one that is silent, but not one
 * that sends a byte now and then for ever, and it does not look at those that wait for an answer.
 *
 * A thread ends connections that have not sent a whole request in time, those of them first that
 * are oldest when connections run short, and wakes those whose client is gone: what they have asked
 * for is then stopped unless others wait for it, too (runs.h, answer_cache.h, stream.h). */
#include <stdbool.h>
#include <stdint.h>

#include "server/waiter.h"

#define LINKS_MAX 1024	       /* connections */
#define LINKS_MAX_ADDRESS 768  /* of one address */
#define LINKS_MANY 640	       /* from here on the oldest without a request go */
#define LINK_HEAD_MS 20000     /* for a request's head */
#define LINK_HEAD_MANY_MS 2000 /* the same while there are many */

struct link {
	struct link *next, *before;
	int fd;
	uint64_t since_ns; /* when it last became idle */
	bool busy;	   /* a request is there */
	bool asleep;	   /* its client waits for `waiter` */
	bool gone;	   /* the client has closed it */
	bool half_closed;  /* it sends nothing more */
	struct waiter *waiter;
	/* The thread of HTTP's alone. */
	bool peer_known, peer_ours; /* was it asked whose end the other one is; is it this user's */
};

struct links;
struct links *links_new(void);
struct links *links_free(struct links *l);

struct link *link_new(struct links *l, int fd);
void link_free(struct links *l, struct link *k);
/* A request's head is there; it was answered. */
void link_busy(struct links *l, struct link *k, bool busy);
/* Waits for an answer, whose waiter is to be woken if the client goes; NULL: does not wait. */
void link_sleeps(struct links *l, struct link *k, struct waiter *w);
bool link_is_gone(struct links *l, const struct link *k);
