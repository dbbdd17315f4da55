/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory order of the table of rules (unwind/rules.c): threads that look up random addresses while
 * the table grows under them. */
#include "order.h"

#include "unwind/rules.c"

#define KEYS 40000u
#define LOOKUPS 60000u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *map(size_t size)
{
	return calloc(1, size);
}

static bool take_lock(void)
{
	return !pthread_mutex_lock(&lock);
}

static void give_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static unwind_rule decode(uint64_t key)
{
	return rule_make(RULE_SP, (int64_t)(key % 1000), key % 77);
}

static void *look_up(void *argument)
{
	uint64_t state = (uintptr_t)argument;

	for (unsigned i = 0; i < LOOKUPS; i++) {
		/* More and more of them, so that old ones are found and new ones are learnt. */
		uint64_t key = 0x400000 + next_number(&state) % (1 + KEYS * (uint64_t)i / LOOKUPS);

		check(rules_find(key) == decode(key));
	}
	return ended();
}

static void look_on(void)
{
	static uint64_t state = 99;
	uint64_t key = 0x400000 + next_number(&state) % KEYS;

	check(rules_find(key) == decode(key));
}

int main(void)
{
	static const struct rules_host h = { map, take_lock, give_lock, decode };

	rules_init(&h);
	return run_threads(look_up, look_on);
}
