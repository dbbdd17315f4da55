/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* Scripts: text in Lua 5.4 that asks about recordings.
 *
 * A state has the recordings that it was given, what a host lets it do, and limits; it runs one
 * chunk of text after the other, and what a chunk defined is there for the next.  The command line
 * makes one for a file of text or a prompt, a server one for a client's console.
 *
 * One thread at a time has a state; another one may set `*stop`, which ends what runs within 100
 * ms: loops of the script, matching of patterns, sorting.  A single scan of a recording's columns,
 * and a single answer, run to their end.
 *
 * docs/scripting.md has the vocabulary, made from the tables behind it. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct script;
struct ask;
struct snapshot;
struct stat;
struct view;

enum script_output {
	SCRIPT_TEXT,	/* as print() writes it, with the ends of lines */
	SCRIPT_TABLE,	/* show(rows): {"columns", "rows"} as JSON, if the host takes it */
	SCRIPT_LINKS,	/* lists in the text that comes next: [{"text", "filter"}]; likewise */
	SCRIPT_PICTURE, /* SVG, with the name that it was to be saved under */
};

enum script_rule_kind {
	RULE_LIMIT,	   /* text: a measure; amount */
	RULE_GROWTH,	   /* text: "+5% peak" */
	RULE_BASELINE,	   /* text: a path */
	RULE_IGNORE,	   /* text: an expression */
	RULE_SUPPRESSIONS, /* text: a path */
	RULE_EXPECT,	   /* text: what; holds; view: of what speaks against it, or NULL */
};

/* What a script requires of the recording, by a function of that name. */
struct script_rule {
	enum script_rule_kind kind;
	const char *text, *amount;
	bool holds;
	const struct view *view;
};

/* What a script may reach. */
struct script_host {
	/* 0, or -errno, which ends the script.  Where there are files a picture is written to its
	 * own, and does not come here. */
	int (*put)(void *context, enum script_output kind, const char *name, const void *bytes,
		   size_t size);
	bool takes_tables; /* and links; else show() writes text */
	/* load(path): a reference, or NULL with err; NULL: there is no load(). */
	struct snapshot *(*open)(void *context, const char *path, struct err *err);
	/* 0, or -errno with err; NULL: the script is no file of rules, and requires nothing. */
	int (*rule)(void *context, const struct script_rule *rule, struct err *err);
	/* As in answer/ask.h; NULL: no source file of the machine's is read. */
	int (*open_source)(struct ask *a, const char *path, struct stat *ret_st,
			   const char **ret_why);
	void *context;
};

/* 0: there is none. */
struct script_limits {
	uint64_t instructions; /* of Lua's machine, and steps of patterns */
	uint64_t time_ns;      /* for one chunk */
	size_t memory;	       /* bytes that the state's own values take */
};

struct script_options {
	struct script_host host;
	struct script_limits limits;
	/* No files, no programs, no environment, no other chunks from files: what a server runs for
	 * somebody else. */
	bool sandbox;
	bool rhai;		 /* every text is in Rhai, whatever its name */
	bool shows;		 /* what a text that is one expression is worth is shown */
	const atomic_bool *stop; /* may be NULL */
	/* argv() of the script. */
	int argc;
	char **argv;
};

struct script *script_new(const struct script_options *o);
struct script *script_free(struct script *s);
/* One more recording, which is held until the end; the first is what data() is. */
void script_add(struct script *s, struct snapshot *snapshot);

enum script_status {
	SCRIPT_DONE,
	SCRIPT_SYNTAX,	/* the text is no script */
	SCRIPT_FAILED,	/* an error that nobody caught */
	SCRIPT_STOPPED, /* by a limit, or by `stop` */
	SCRIPT_EXITED,	/* by exit(): `code` is what it said */
};

struct script_end {
	enum script_status status;
	int code;
	unsigned line;	 /* where it went wrong; 0: not known */
	char text[1000]; /* "report.lua:3: there is no …" */
};

/* What is wrong without its place before it, and the column, which only Rhai's reader tells; 0: it
 * is not known. */
const char *script_end_message(const struct script_end *end, unsigned *ret_column);

/* `name` is what errors call the text: a file's name, "-e".  A name that ends in .rhai makes it a
 * text in Rhai. */
void script_run(struct script *s, const char *name, const char *text, size_t size,
		struct script_end *ret_end);
/* The same for a line at a prompt: what an expression is worth is printed.  False: the text is a
 * beginning only, and more of it is needed; nothing was run. */
bool script_run_line(struct script *s, const char *text, size_t size, struct script_end *ret_end);
/* The same for a text that is worth a list of allocations: what chooses them is added to `out`, as
 * an expression, if it ends with SCRIPT_DONE.  Nothing: all are chosen. */
void script_run_filter(struct script *s, const char *name, const char *text, size_t size,
		       struct buf *out, struct script_end *ret_end);
/* Prints what is to be known of the last word of a line: "allocations():only_leaked". */
void script_explain(struct script *s, const char *text);
/* Adds all that there is to write scripts with, as JSON: words, and scripts to start from. */
void script_describe(struct buf *out);
/* Adds what may stand at the end of a text: words with the end of a line behind each. */
void script_complete(struct script *s, const char *text, struct buf *out);
