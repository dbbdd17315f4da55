/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Commands that ask a question of src/answer.
 *
 * The question's parameters are the command's options (sort_by is --sort-by, or what its row says),
 * --json prints its answer, byte for byte what the server sends, and print() shows the same answer
 * as text.  So such a command's file has nothing but text in it. */
#include "answer/question.h"
#include "base/term.h"
#include "cli/command.h"

struct buf;

#define ANSWERING_WORDS 3

/* What print() gets besides the answer. */
struct printing {
	struct ask *ask;
	const char *path;	   /* of the file, as it was given */
	const struct model *model; /* of the ask's snapshot; NULL: it is no recording */
	struct term term;
	struct buf *out; /* flushed by answering_turn() and at the end */
	int status;	 /* what the command ends with if all goes well; may be changed */
};

struct answering {
	const struct question *question;
	/* What the words on the line are: names of parameters, and "FILE"; NULL: one file. */
	const char *const *words;
	/* What a table is asked with unless the options say otherwise: "count=20&order=dsc". */
	const char *defaults;
	/* The same where it depends on the terminal; NULL: it does not. */
	void (*fit)(const struct term *term, struct buf *defaults);
	/* Another question that an option of the command's own asks; NULL: none, or not now.  The
	 * options are this one's. */
	const struct answering *(*instead)(void);
	/* The file that the word on the line stands for, which is to be freed, or NULL with err.
	 * NULL: the word is a file. */
	char *(*find)(const char *word, struct err *err);
	/* Shows the answer itself, for as long as that takes: true, with the exit status.  `text`:
	 * neither JSON nor CSV was asked for.  NULL: it is printed. */
	bool (*show)(struct ask *a, const char *path, const char *color, bool text,
		     int *ret_status);
	/* It is about a fleet: no word on the line is a file (fleet/fleet_options.h). */
	bool fleet;
	/* Asked about a folder of recordings; NULL: it takes one of them. */
	const struct answering *of_folder;
	bool all_names; /* finds every name first, with a progress bar */
	/* Of the command's own options; false after saying what is wrong. */
	bool (*check)(const struct ask *a);
	/* NULL: there is no text, and JSON is printed without --json. */
	void (*print)(struct printing *p, const void *answer);
	void (*csv)(struct printing *p, const void *answer); /* NULL: there is no --csv */
	/* After any of them: may change p->status; NULL: does not. */
	void (*judge)(struct printing *p, const void *answer);
};

/* The options that a question makes; kept for the life of the program. */
const struct command_option *answering_options(const struct answering *a);
/* A row of a command's own table that stands for parameters: .context = "weight=count"; with an
 * argument, "at_a" is given that. */
const char *answering_set(const struct command_option *row, const char *value);
#define ANSWERING_FLAG(name, letter, parameters, help)                                             \
	CALL(name, letter, NULL, help, answering_set, parameters)
/* A command's own --full, into a static bool. */
#define ANSWERING_FULL(target) FLAG("full", 0, "show whole stacks", &(target))
int answering_run(const struct command *c, int argc, char **argv);
/* The same for another command, whose options these are. */
int answering_show(const struct command *c, char *path, bool json, const char *when_coloured);
/* What it is about, above everything else: the program and what was lost, or the fleet. */
void answering_about(struct printing *p);
/* "alive at the peak, 1.50 s after the start"; of a fleet "alive at 2026-05-04 12:00:00". */
void answering_measure(struct printing *p, const struct measuring *how);
/* Writes what has gathered once it is much; false if it cannot be written. */
bool answering_turn(struct printing *p);
/* "21 to 40 of 1,234 …": the line above a table of what skip and count chose. */
void answering_page(struct printing *p, const char *one, const char *many, uint32_t shown,
		    uint32_t total);
/* What whoever asks can read: ask.open_source of every command. */
int answering_open_source(struct ask *a, const char *path, struct stat *ret_st,
			  const char **ret_why);
