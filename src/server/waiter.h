/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Somebody who sleeps until an answer, or more of it, is there.
 *
 * Both are called with the lock held under which is decided whether there is anything to wait for.
 * wake() may be called by any thread, also when it does not sleep. */
struct waiter {
	void (*sleep)(struct waiter *w);
	void (*wake)(struct waiter *w);
	struct waiter *next; /* of the same answer */
};
