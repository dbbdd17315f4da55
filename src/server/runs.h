/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers that take as long as their client wants: scripts, and what scripts choose before a
 * question about it is answered.
 *
 * Each has a thread of its own, which gets the processor when nobody else wants it, and no place at
 * the gate, so that one that never ends is in nobody's way.  Only so many of a kind run at a time,
 * and half of them for one visitor; one more is refused, since the first may take a minute.  A
 * client that goes sets r->stop. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf_type.h"
#include "server/request.h"
#include "server/waiter.h"

#define RUNS_MAX 4
#define RUNS_CHOOSING_MAX 16	  /* a view of the page asks several questions with one filter */
#define RUN_BODY_MAX (256u << 10) /* bytes that a client sends */

struct runs;
struct runs *runs_new(void);
/* All are stopped, and their threads waited for. */
bool runs_stop(struct runs *l, const struct timespec *deadline);
struct runs *runs_free(struct runs *l);

enum run_kind { RUN_SCRIPT, RUN_CHOOSING };

struct run;
/* Takes the request, whose visitor is known; `w` sleeps, and is woken when the answer is there.
 * NULL: too many run, and the request stays where it is. */
struct run *run_new(struct runs *l, enum run_kind kind, struct request *r, bool gzip,
		    struct waiter *w);
/* Is it done; or, of one that streams, is there something to send? */
bool run_is_ready(struct run *run);
/* The bytes of one that streams, from `position` on; 0: none yet, and the waiter sleeps. */
#define RUN_END (-1)
#define RUN_BROKEN (-2)
ssize_t run_read(struct run *run, uint64_t position, char *to, size_t room, struct waiter *w);
bool run_streams(const struct run *run);
/* Once it is done: status 0, or why there is no answer. */
const struct fault *run_fault(const struct run *run);
const struct buf *run_body(const struct run *run);
bool run_is_gzip(const struct run *run);
/* Nobody waits for it any more. */
void run_drop(struct run *run);
