/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* cmocka, behind what it needs to have been included first, and what test_<name>.c has in place of
 * main(): a function that is called when <name> is the program's argument.  So all tests are one
 * program, which is linked once, and each still runs in a process of its own.
 *
 *	UNIT(pieces)
 *	{
 *		const struct CMUnitTest tests[] = { … };
 *
 *		return cmocka_run_group_tests(tests, NULL, NULL);
 *	} */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct unit {
	const char *name;
	int (*test)(void);
	struct unit *next;
};

void unit_register(struct unit *unit);

#define UNIT(word)                                                                                 \
	static int unit_##word(void);                                                              \
	__attribute__((constructor)) static void unit_register_##word(void)                        \
	{                                                                                          \
		static struct unit unit = { #word, unit_##word, NULL };                            \
                                                                                                   \
		unit_register(&unit);                                                              \
	}                                                                                          \
	static int unit_##word(void)
