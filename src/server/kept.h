/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers that are kept: computed once however many ask, by a few workers, and held as long as
 * there is room, those first forgotten that nobody asked for for longest.
 *
 * A question that nobody waits for any more is dropped if nobody has begun with it.
 *
 * Some can wait: those of clients that say so, and those that somebody will ask (warm.h).  They
 * have workers of their own, which get the processor when nobody else wants it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/parallel.h"
#include "server/gate.h"
#include "server/request.h"
#include "server/waiter.h"

#define KEPT_ANSWER_MAX (64u << 20) /* bytes of one answer */
#define KEPT_QUEUE_MAX 1024	    /* questions that nobody has begun with */

enum kept_state { KEPT_WAITING, KEPT_COMPUTING, KEPT_DONE };

struct kept_answer {
	char *key;
	struct kept_answer *next, *before; /* by last use, the latest first */
	unsigned users;
	enum kept_state state;
	bool later; /* it can wait */
	bool warm;  /* and nobody has asked for it yet */
	double asked_ms;
	struct parallel_progress progress; /* while it is computed */
	struct waiter *waiters;
	struct request request; /* until it is done */
	/* Then: */
	struct fault fault;
	struct buf body;
	bool gzip;
	bool foreign;
	const char *type;
	char *file_name;
	double took_ms;
};

struct kept;
struct kept *kept_new(struct gate *gate, unsigned workers, uint64_t limit);
/* Everything that waits is answered with 503 from now on, and the workers end: true.  False: at the
 * deadline (see ending.h) some still computed; whoever waited for those has been woken. */
bool kept_stop(struct kept *k, const struct timespec *deadline);
struct kept *kept_free(struct kept *k);

/* Takes the request.  An answer that is done, or `w` sleeps and is woken when it is; NULL: there is
 * too much to do.  To be given back with the waiter.  `patient`: it can wait. */
struct kept_answer *kept_ask(struct kept *k, const char *key, struct request *r, bool gzip,
			     bool patient, struct waiter *w);
/* Takes the request: it will be asked, and is answered when there is nothing else to do. */
void kept_warm(struct kept *k, const char *key, struct request *r, bool gzip);
void kept_give(struct kept *k, struct kept_answer *a, struct waiter *w);
bool kept_is_done(struct kept *k, const struct kept_answer *a);
/* How far the answer to a question is. */
struct kept_progress {
	bool asked; /* somebody waits for it, and it is not there yet */
	bool computing;
	double ms;     /* since it was asked for */
	unsigned pass; /* over the recording, from 1; 0: none has begun */
	double done;   /* of that pass, 0 to 1 */
};
struct kept_progress kept_progress(struct kept *k, const char *key);
/* How many bytes are kept. */
uint64_t kept_bytes(struct kept *k);
