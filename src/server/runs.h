/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Answers that take as long as their client wants: scripts.
 *
 * Each has a thread of its own, which gets the processor when nobody else wants it, and no place at
 * the gate, so that one that never ends is in nobody's way.  Only so many run at a time; one more
 * is refused, since the first may take a minute.  A client that goes sets r->stop. */
#include <stdbool.h>
#include <time.h>

#include "base/buf_type.h"
#include "server/request.h"
#include "server/waiter.h"

#define RUNS_MAX 4
#define RUN_BODY_MAX (256u << 10) /* bytes that a client sends */

struct runs;
struct runs *runs_new(void);
/* All are stopped, and their threads waited for. */
bool runs_stop(struct runs *l, const struct timespec *deadline);
struct runs *runs_free(struct runs *l);

struct run;
/* Takes the request; `w` sleeps, and is woken when the answer is there.  NULL: too many run, and
 * the request stays where it is. */
struct run *run_new(struct runs *l, struct request *r, bool gzip, struct waiter *w);
bool run_is_done(struct run *run);
/* Then: status 0, or why there is no answer. */
const struct fault *run_fault(const struct run *run);
const struct buf *run_body(const struct run *run);
bool run_is_gzip(const struct run *run);
/* Nobody waits for it any more. */
void run_drop(struct run *run);
