/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* wire/options.c: the recorder's options from an environment. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "wire/options.h"

static char warning[512];
static unsigned warnings;

static void warn(void *context, const char *line)
{
	warnings++;
	snprintf(warning, sizeof(warning), "%s", line);
}

static void read_environment(struct options *o, char *const *environment)
{
	warnings = 0;
	options_init(o);
	options_from_environment(o, environment, warn, NULL);
}

static void defaults_are_the_rows(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *none[] = { NULL };

	read_environment(o, none);
	assert_int_equal(warnings, 0);
	assert_true(o->stacks_on_free);
	assert_int_equal(o->stack_depth, 512);
	assert_int_equal(o->when_full, FULL_WAIT);
	assert_string_equal(o->output, "memory-profiling_%e_%t_%p.dat");
	free(o);
}

static void addresses_and_older_names(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *good[] = { (char *)"MEMOIR_SERVER_ADDRESS=fe80::1",
			 (char *)"MEMORY_PROFILER_ENABLE_BROADCASTS=1", NULL };
	char *bad[] = { (char *)"MEMOIR_SERVER_ADDRESS=localhost", NULL };
	char *empty[] = { (char *)"MEMOIR_SERVER_ADDRESS=", NULL };

	read_environment(o, good);
	assert_int_equal(warnings, 0);
	assert_string_equal(o->stream_address, "fe80::1");
	assert_true(o->announce);
	assert_false(o->stream);
	read_environment(o, bad);
	assert_int_equal(warnings, 1);
	assert_string_equal(o->stream_address, "127.0.0.1");
	assert_string_equal(warning,
			    "MEMOIR_SERVER_ADDRESS=localhost is not understood and ignored; "
			    "accepted: an address in numbers, such as 127.0.0.1, 0.0.0.0 "
			    "or ::1");
	read_environment(o, empty);
	assert_int_equal(warnings, 1);
	free(o);
}

static void values_are_taken(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *environment[] = { (char *)"HOME=/",
				(char *)"MEMORY_PROFILER_OUTPUT=/tmp/x",
				(char *)"MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE=0",
				(char *)"MEMOIR_STACK_DEPTH=7",
				(char *)"MEMOIR_WHEN_FULL=drop",
				NULL };

	read_environment(o, environment);
	assert_int_equal(warnings, 0);
	assert_string_equal(o->output, "/tmp/x");
	assert_false(o->stacks_on_free);
	assert_int_equal(o->stack_depth, 7);
	assert_int_equal(o->when_full, FULL_DROP);
	free(o);
}

static void bad_values_warn_and_keep_the_default(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *environment[] = { (char *)"MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE=maybe", NULL };

	read_environment(o, environment);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "MEMORY_PROFILER_GRAB_BACKTRACES_ON_FREE"));
	assert_true(o->stacks_on_free);
	environment[0] = (char *)"MEMOIR_WHEN_FULL=sometimes";
	read_environment(o, environment);
	assert_int_equal(warnings, 1);
	assert_int_equal(o->when_full, FULL_WAIT);
	free(o);
}

static void other_names_are_known(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *environment[] = { (char *)"MEMORY_PROFILER_BACKTRACE_CACHE_SIZE_LEVEL_2=5",
				(char *)"MEMORY_PROFILER_BACKTRACE_CACHE_SIZE=6", NULL };

	read_environment(o, environment);
	assert_int_equal(o->cache_level_2, 5);
	read_environment(o, environment + 1);
	assert_int_equal(warnings, 0);
	assert_int_equal(o->cache_level_2, 6);
	environment[1] = (char *)"MEMORY_PROFILER_BACKTRACE_CACHE_SIZE=many";
	read_environment(o, environment + 1);
	assert_int_equal(warnings, 1);
	assert_non_null(strstr(warning, "MEMORY_PROFILER_BACKTRACE_CACHE_SIZE=many"));
	free(o);
}

static void users_are_numbers(void **context)
{
	struct options *o = xcalloc(1, sizeof(*o));
	char *environment[] = { (char *)"MEMORY_PROFILER_CHOWN_OUTPUT_TO=", NULL };

	read_environment(o, environment);
	assert_int_equal(warnings, 0);
	assert_true(o->chown_output == OPTION_NOBODY);
	environment[0] = (char *)"MEMORY_PROFILER_CHOWN_OUTPUT_TO=0";
	read_environment(o, environment);
	assert_int_equal(o->chown_output, 0);
	environment[0] = (char *)"MEMORY_PROFILER_CHOWN_OUTPUT_TO=daemon";
	read_environment(o, environment);
	assert_int_equal(warnings, 1);
	environment[0] = (char *)"MEMORY_PROFILER_CHOWN_OUTPUT_TO=4294967295";
	read_environment(o, environment);
	assert_int_equal(warnings, 1);
	assert_true(o->chown_output == OPTION_NOBODY);
	free(o);
}

UNIT(options)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_rows),
		cmocka_unit_test(values_are_taken),
		cmocka_unit_test(addresses_and_older_names),
		cmocka_unit_test(bad_values_warn_and_keep_the_default),
		cmocka_unit_test(other_names_are_known),
		cmocka_unit_test(users_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
