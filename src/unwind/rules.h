/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* The rules of all addresses met so far, shared by all threads of the target.
 *
 * A table that only grows: readers take no lock.  A key is the address that was looked up plus
 * one: for a return address that is the return address itself (the call is before it). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rule.h"

/* Set once, before the first lookup, by the recorder: how the table gets memory (zeroed; NULL when
 * there is none), how it is entered by one writer at a time, and how an address that is not in the
 * table is decoded, module index included.  `map` and `decode` are called under the lock. */
struct rules_host {
	void *(*map)(size_t size);
	bool (*lock)(void); /* false: not now */
	void (*unlock)(void);
	unwind_rule (*decode)(uint64_t key);
};

void rules_init(const struct rules_host *host);
/* Forgets everything, under the host's lock: a library left, its addresses may come to mean
 * something else. */
void rules_forget(void);
/* A larger table, under the host's lock, before memory cannot be had any more. */
void rules_prepare(void);
unwind_rule rules_find(uint64_t key);
