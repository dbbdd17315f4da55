/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cli/args.c: options from rows. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf_type.h"
#include "cli/answering.h"
#include "cli/args.h"

/* None of the commands here asks a question. */
const struct command_option *answering_options(const struct answering *a)
{
	return NULL;
}

static bool flag, other;
static const char *text;
static uint64_t number;
static const char *called;

static const char *set_called(const struct command_option *row, const char *value)
{
	called = value;
	return strcmp(value, "bad") ? NULL : "not that one";
}

static const struct command_option rows[] = {
	{ "flag", 'f', NULL, "a flag", COMMAND_FLAG, &flag },
	{ "other", 'o', NULL, "another", COMMAND_FLAG, &other },
	{ "text", 't', "TEXT", "a text", COMMAND_TEXT, &text },
	{ "number", 'n', "N", "a number", COMMAND_NUMBER, &number },
	{ 0 },
};
static const struct command_option more[] = {
	{ "call", 0, "V", "a call", COMMAND_CALL, NULL, set_called },
	{ 0 },
};

static const struct command_option *more_rows(unsigned shared)
{
	return more;
}

static struct command command = {
	.name = "test", .args = "FILE", .help = "tests", .options = rows, .more_options = more_rows
};

static char *left[16];
static int left_count;
static struct buf said;

static enum args_result parse(const char *line)
{
	static char copy[256];
	static char *words[16];
	char **argv = words, *save = NULL;
	enum args_result result;
	int argc = 0;

	flag = other = false;
	text = called = NULL;
	number = 0;
	buf_clear(&said);
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
		words[argc++] = w;
	result = args_parse(&command, &argc, &argv, &said);
	left_count = argc;
	memcpy(left, argv, sizeof(left[0]) * (size_t)argc);
	return result;
}

static void good_lines(void **context)
{
	assert_int_equal(parse("-f --text hello file --number=12"), ARGS_RUN);
	assert_true(flag);
	assert_false(other);
	assert_string_equal(text, "hello");
	assert_int_equal(number, 12);
	assert_int_equal(left_count, 1);
	assert_string_equal(left[0], "file");

	assert_int_equal(parse("-fon7 -tword a b --call=x"), ARGS_RUN);
	assert_true(flag && other);
	assert_int_equal(number, 7);
	assert_string_equal(text, "word");
	assert_string_equal(called, "x");
	assert_int_equal(left_count, 2);

	assert_int_equal(parse("a -- -f b"), ARGS_RUN);
	assert_false(flag);
	assert_int_equal(left_count, 3);
	assert_string_equal(left[1], "-f");

	assert_int_equal(parse("-"), ARGS_RUN);
	assert_int_equal(left_count, 1);
	assert_int_equal(parse("x --help"), ARGS_HELP);
}

static void stops_at_the_program(void **context)
{
	command.stops_at_first_argument = true;
	assert_int_equal(parse("-f program -o --text"), ARGS_RUN);
	assert_true(flag);
	assert_false(other);
	assert_int_equal(left_count, 3);
	assert_string_equal(left[0], "program");
	assert_int_equal(parse("-f -- -program -o"), ARGS_RUN);
	assert_int_equal(left_count, 2);
	assert_string_equal(left[0], "-program");
	command.stops_at_first_argument = false;
}

static void bad_lines(void **context)
{
	assert_int_equal(parse("--flga"), ARGS_WRONG);
	assert_non_null(strstr(said.data, "--flag"));
	assert_int_equal(parse("--flag=1"), ARGS_WRONG);
	assert_int_equal(parse("--text"), ARGS_WRONG);
	assert_int_equal(parse("-t"), ARGS_WRONG);
	assert_int_equal(parse("-x"), ARGS_WRONG);
	assert_int_equal(parse("--number=-1"), ARGS_WRONG);
	assert_int_equal(parse("--number 12x"), ARGS_WRONG);
	assert_int_equal(parse("--number 99999999999999999999"), ARGS_WRONG);
	assert_int_equal(parse("--call bad"), ARGS_WRONG);
	assert_string_equal(said.data, "--call: not that one");
}

static void suggestions(void **context)
{
	static const char *const words[] = { "run", "info", "report", NULL };

	assert_string_equal(args_nearest("repotr", words), "report");
	assert_string_equal(args_nearest("inf", words), "info");
	assert_string_equal(args_nearest("rep", words), "report");
	assert_null(args_nearest("server", words));
	assert_null(args_nearest("", words));
	/* Two letters the wrong way round, not one too many. */
	assert_string_equal(args_nearest("tpo", (const char *const[]){ "to", "top", NULL }), "top");
	assert_string_equal(args_nearest("tpo", (const char *const[]){ "top", "to", NULL }), "top");
}

static void help_names_everything(void **context)
{
	struct buf out = { 0 };

	args_help(&command, &out);
	assert_non_null(strstr(out.data, "-t, --text TEXT"));
	assert_non_null(strstr(out.data, "--call V"));
	assert_non_null(strstr(out.data, "--help"));
	buf_release(&out);
}

UNIT(args)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_lines),
		cmocka_unit_test(stops_at_the_program),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(suggestions),
		cmocka_unit_test(help_names_everything),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	buf_release(&said);
	return failed;
}
