/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The shared table of rules: open addressing, a power of two, at most half full.
 *
 * An entry is filled rule first, key last (release); a reader that sees the key (acquire) sees the
 * rule.  Growing makes a new table and leaves the old one to readers that still look at it: the
 * old ones together are no larger than the new one. */
#include "unwind/rules.h"

#include <stdatomic.h>
#include <stddef.h>

struct entry {
	_Atomic uint64_t key;
	_Atomic unwind_rule rule;
};

struct table {
	uint64_t mask;
	uint64_t count; /* under the lock */
	struct entry entries[];
};

#define FIRST_SIZE 4096
#define PREPARED_SIZE 32768

static struct rules_host host;
static _Atomic(struct table *) current;

static uint64_t hash_of_key(uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15ull) >> 20;
}

void rules_init(const struct rules_host *h)
{
	host = *h;
}

static struct table *table_new(uint64_t size)
{
	struct table *t = host.map(sizeof(*t) + size * sizeof(struct entry));

	if (t)
		t->mask = size - 1;
	return t;
}

static void table_put(struct table *t, uint64_t key, unwind_rule rule)
{
	uint64_t i = hash_of_key(key) & t->mask, k;

	while ((k = atomic_load_explicit(&t->entries[i].key, memory_order_relaxed)) && k != key)
		i = (i + 1) & t->mask;
	if (!k)
		t->count++;
	atomic_store_explicit(&t->entries[i].rule, rule, memory_order_relaxed);
	atomic_store_explicit(&t->entries[i].key, key, memory_order_release);
}

static struct table *grow_table(struct table *old)
{
	struct table *t = table_new(old ? (old->mask + 1) * 2 : FIRST_SIZE);

	if (!t)
		return NULL;
	for (uint64_t i = 0; old && i <= old->mask; i++) {
		uint64_t key = atomic_load_explicit(&old->entries[i].key, memory_order_relaxed);

		if (key)
			table_put(
				t, key,
				atomic_load_explicit(&old->entries[i].rule, memory_order_relaxed));
	}
	atomic_store_explicit(&current, t, memory_order_release);
	return t;
}

/* Decoded and remembered under one lock, which takes two system calls. */
static __attribute__((noinline)) unwind_rule learn(uint64_t key)
{
	struct table *t, *larger;
	unwind_rule rule;

	if (!host.lock())
		return rule_make(RULE_BROKEN, 0, 0);
	rule = host.decode(key);
	t = atomic_load_explicit(&current, memory_order_relaxed);
	if (!t || t->count * 2 >= t->mask) {
		larger = grow_table(t);
		/* Where there is no memory for it, it becomes fuller, and slower. */
		t = larger || !t || t->count >= t->mask - t->mask / 8 ? larger : t;
	}
	if (t)
		table_put(t, key, rule);
	host.unlock();
	return rule;
}

void rules_prepare(void)
{
	struct table *t = atomic_load_explicit(&current, memory_order_relaxed);

	while (!t || t->mask < PREPARED_SIZE)
		if (!(t = grow_table(t)))
			return;
}

void rules_forget(void)
{
	struct table *t = atomic_load_explicit(&current, memory_order_relaxed);

	for (uint64_t i = 0; t && i <= t->mask; i++)
		atomic_store_explicit(&t->entries[i].rule, 0, memory_order_relaxed);
}

unwind_rule rules_find(uint64_t key)
{
	struct table *t = atomic_load_explicit(&current, memory_order_acquire);
	unwind_rule rule = 0;

	if (t) {
		uint64_t i = hash_of_key(key) & t->mask, k;

		while ((k = atomic_load_explicit(&t->entries[i].key, memory_order_acquire))) {
			if (k == key) {
				rule = atomic_load_explicit(&t->entries[i].rule,
							    memory_order_relaxed);
				break;
			}
			i = (i + 1) & t->mask;
		}
	}
	return rule ? rule : learn(key);
}
