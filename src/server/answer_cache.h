/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* A cache of answers: a few workers compute each once, however many ask, and the cache holds it as
 * long as there is room.  The least recently used answer goes first.
 *
 * A question that nobody waits for any more is dropped if nobody has begun with it, and given up
 * otherwise: its loops are cut short (base/parallel.h), and nothing of it is kept.  That several
 * may wait for one answer is counted by `users`.  What was begun before anybody asked (prefetched)
 * goes to its end: nobody waited for it when it began.
 *
 * Some can wait: those of clients that say so, and those that somebody will ask (prefetch.h).  They
 * have workers of their own, which get the processor when nobody else wants it. */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf_type.h"
#include "base/parallel.h"
#include "server/gate.h"
#include "server/request.h"
#include "server/waiter.h"

#define ANSWER_MAX (64u << 20) /* bytes of one answer */
#define ANSWER_QUEUE_MAX 1024  /* questions that nobody has begun with */

enum answer_state { ANSWER_WAITING, ANSWER_COMPUTING, ANSWER_DONE };

struct cached_answer {
	char *key;
	struct cached_answer *next, *before; /* by last use, the latest first */
	unsigned users;
	enum answer_state state;
	bool later;	 /* it can wait */
	bool prefetched; /* and nobody has asked for it yet */
	/* While it is computed: all who had asked for it are gone.  Then nobody can ask for it any
	 * more, what is computed is stopped, and freed with whatever came of it. */
	atomic_bool given_up;
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

struct answer_cache;
struct answer_cache *answer_cache_new(struct gate *gate, unsigned workers, uint64_t limit);
/* Everything that waits is answered with 503 from now on, and the workers end: true.  False: at the
 * deadline (see ending.h) some still computed; those who waited for them have been woken. */
bool answer_cache_stop(struct answer_cache *cache, const struct timespec *deadline);
struct answer_cache *answer_cache_free(struct answer_cache *cache);

/* Takes the request.  An answer that is done, or `w` sleeps and is woken when it is; NULL: there is
 * too much to do.  To be given back with the waiter.  `patient`: it can wait. */
struct cached_answer *answer_cache_ask(struct answer_cache *cache, const char *key,
				       struct request *r, bool gzip, bool patient,
				       struct waiter *w);
/* Takes the request: it will be asked, and is answered when there is nothing else to do. */
void answer_cache_prefetch(struct answer_cache *cache, const char *key, struct request *r,
			   bool gzip);
/* An answer that is known already: a copy is made of it. */
void answer_cache_put(struct answer_cache *cache, const char *key, const void *body, size_t size,
		      bool gzip, const char *type);
/* NULL: it is not there, not yet, or none could be given.  To be given back without a waiter. */
struct cached_answer *answer_cache_find_done(struct answer_cache *cache, const char *key);
/* Once nobody waits and nothing is left to prefetch: `run` is called by a worker; or at the end of
 * the cache, with `idle` false. */
void answer_cache_when_idle(struct answer_cache *cache, void (*run)(void *context, bool idle),
			    void *context);
void answer_cache_release(struct answer_cache *cache, struct cached_answer *a, struct waiter *w);
bool answer_cache_is_done(struct answer_cache *cache, const struct cached_answer *a);
/* How far the answer to a question is. */
struct answer_cache_progress {
	bool asked; /* somebody waits for it, and it is not there yet */
	bool computing;
	double ms;     /* since it was asked for */
	unsigned pass; /* over the recording, from 1; 0: none has begun */
	double done;   /* of that pass, 0 to 1 */
};
struct answer_cache_progress answer_cache_progress(struct answer_cache *cache, const char *key);
/* How many bytes the cache holds. */
uint64_t answer_cache_bytes(struct answer_cache *cache);
