/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a command of `memoir` is: one file cmd_<name>.c that ends in a const descriptor
 * `command_<name>`, and the word <name> in this folder's meson.build.
 *
 * A group (memoir jemalloc stats) is such a file too, with the members' words in meson.build; each
 * member is cmd_<group>_<word>.c with `command_<group>_<word>`.
 *
 * main.c finds the command, parses its options from the rows, answers --help from them, and calls
 * run() with what is left on the line. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct answering;

/* What a command ends with.  One that was asked to check something (--fail-if-…) says with 1 that
 * it does not hold, and with 2 that it could not be told: `command && deploy` and scripts need
 * both. */
enum command_status {
	STATUS_DONE = 0,
	STATUS_FAILED = 1, /* the work failed, or a part of the input could not be read */
	STATUS_DOES_NOT_HOLD = 1,
	STATUS_WRONG = 2, /* wrong usage */
	STATUS_CANNOT_TELL = 2,
};

enum command_option_type {
	COMMAND_FLAG,	/* bool *: set to true */
	COMMAND_TEXT,	/* const char **: the argument */
	COMMAND_WORD,	/* the same: one of the words that `words`, or else `help`, lists */
	COMMAND_NUMBER, /* uint64_t *: the argument */
	COMMAND_CALL,	/* set(): for rows that are made from another table, or repeat */
};

struct command_option {
	const char *name;     /* without the dashes */
	char letter;	      /* 0: none */
	const char *argument; /* its name in the help; NULL: takes none */
	const char *help;
	enum command_option_type type;
	void *target;
	/* COMMAND_CALL: returns NULL, or what is wrong with the value. */
	const char *(*set)(const struct command_option *row, const char *value);
	const void *context;
	/* What it may be: "whole or table", or with | between; COMMAND_CALL: for completion. */
	const char *words;
};

/* Rows by what an option does: it sets a bool; it has an argument, which is taken as the target's
 * type says, or is one of some words; set() is called.  `.words` and the like may follow. */
#define COMMAND_TYPE(target)                                                                       \
	_Generic((target), bool *                                                                  \
		 : COMMAND_FLAG, const char **                                                     \
		 : COMMAND_TEXT, uint64_t *                                                        \
		 : COMMAND_NUMBER)
#define FLAG(name, letter, help, target)                                                           \
	{                                                                                          \
		name, letter, NULL, help, COMMAND_TYPE(target), target                             \
	}
#define VALUE(name, letter, argument, help, target, ...)                                           \
	{                                                                                          \
		name, letter, argument, help, COMMAND_TYPE(target), target, ##__VA_ARGS__          \
	}
#define WORD(name, letter, argument, help, target, ...)                                            \
	{                                                                                          \
		name, letter, argument, help, COMMAND_WORD, target, ##__VA_ARGS__                  \
	}
#define CALL(name, letter, argument, help, set, ...)                                               \
	{                                                                                          \
		name, letter, argument, help, COMMAND_CALL, NULL, set, ##__VA_ARGS__               \
	}

struct command {
	const char *name;
	const char *args;		      /* "FILE", "PROGRAM [ARGUMENT…]" */
	const char *help;		      /* one line */
	const char *examples;		      /* lines for --help, or NULL */
	const struct command_option *options; /* ends with a row without a name; may be NULL */
	/* More rows, made at run time from another table (memoir run: the recorder's options), and
	 * what that is asked for where several commands share it. */
	const struct command_option *(*more_options)(unsigned shared);
	unsigned shared;
	bool takes_filters;	      /* has the options of filtering.h; opens with open_view() */
	bool stops_at_first_argument; /* options end at the first word that is none */
	/* The same if this says so of it: it is a command, whose options are its own.  Or NULL. */
	bool (*begins_command)(const char *word);
	bool numbers_are_arguments;	   /* -1 is a value, not an option */
	int (*run)(int argc, char **argv); /* argv[0] is the first word after the options */
	/* The question that it asks, which makes more options; run() is not called.  Or NULL. */
	const struct answering *answers;
	/* A group: commands of its own, NULL at the end, named "group word"; run() is not called.
	 */
	const struct command *const *members;
	/* What FORMAT or COMMAND in `args` may be, for completion: the i-th word with a line about
	 * it, or NULL behind the last.  May be NULL. */
	const char *(*argument_word)(unsigned i, const char **ret_help);
	const char *link; /* memoir started by this name is this command, or NULL */
};

extern const struct command *const commands[]; /* NULL at the end */
