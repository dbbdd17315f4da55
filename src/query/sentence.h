/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What a recording says first: its figures as sentences, each with its evidence.
 *
 * A kind of sentence is a row of sentence_rules: what finds it in the figures, its words, and the
 * question that shows what it is about.  A rule speaks only where it is certain and where it
 * matters, and the rules about one thing exclude each other, so that no two sentences contradict.
 * At most SENTENCES_MAX are left, the most bytes at stake first: bytes of memory that were taken at
 * one moment, never what passed through it over time.
 *
 * Any thread; sentences are their caller's. */
#include <stdbool.h>
#include <stdint.h>

#include "base/xalloc.h"
#include "query/process_memory.h"
#include "query/verdict.h"
#include "query/view.h"

struct figures;
struct sentence_list;

#define SENTENCES_MAX 7

enum sentence_kind {
	SENTENCE_PEAK,	      /* the function that most of the peak is from */
	SENTENCE_GROWING,     /* a function whose memory grows */
	SENTENCE_GROWING_TOO, /* the other ones */
	SENTENCE_UNCLEAR,     /* functions of which nobody can tell */
	SENTENCE_LEFT,	      /* what was never freed, and whether anything grows */
	SENTENCE_HELD,	      /* a function that frees only when the program ends */
	SENTENCE_MAPPED,      /* what the program mapped itself */
	SENTENCE_RESIDENT,    /* resident memory that is neither blocks nor mapped */
	SENTENCE_SLACK,	      /* what the allocator gave beyond what was asked for */
	SENTENCE_THREAD,      /* the thread that most of the peak is from */
	SENTENCE_LARGE,	      /* large blocks that do not live long */
	SENTENCE_TEMPORARY,   /* blocks that their thread's next event frees */
	SENTENCE_ZERO,	      /* blocks of no bytes */
	SENTENCE_KINDS
};

/* A number or name in a sentence: who shows it may write it in another way. */
enum sentence_part_kind {
	PART_TEXT,
	PART_BYTES,
	PART_BYTES_PER_SECOND,
	PART_COUNT,
	PART_SHARE, /* of the sentence's other figures: as text only */
	PART_NS,
	PART_THREAD,
	PART_FUNCTION,
};

struct sentence_part {
	enum sentence_part_kind kind;
	uint64_t value;
	char *text;
};

struct sentence {
	enum sentence_kind kind;
	uint64_t bytes;	     /* at stake */
	uint64_t whole;	     /* that they are a part of; 0: of nothing */
	uint64_t count;	     /* blocks, calls or maps */
	uint64_t all_count;  /* that those are a part of; 0: of nothing */
	uint64_t part_bytes; /* that the named function has of `bytes` */
	uint64_t part_count; /* the same of `count` */
	uint64_t functions;  /* that it is about */
	uint64_t pool_bytes; /* of `bytes`: kept on purpose */
	uint64_t threads;    /* that have any of the whole */
	uint64_t at_ns;	     /* when that was; 0: at no one moment */
	uint64_t since_ns;   /* it has grown, or not grown */
	uint64_t bytes_per_second;
	uint64_t resident_bytes; /* of what is mapped, at most */
	uint64_t thread;	 /* its number, as the kernel has it; 0: about none */
	uint32_t stack; /* one of the named function's; `function` is its name, NULL: none */
	char *function;
	char *term; /* expression of what it is about, "": everything */
	struct sentence_part *parts;
	size_t part_total, part_room;
};

struct sentences {
	struct sentence rows[SENTENCES_MAX];
	uint32_t count;
};

/* What they are made from. */
struct sentence_sources {
	const struct view *view;
	const struct verdicts *verdicts;     /* with held ones; NULL: nothing is said of growth */
	const struct process_memory *memory; /* NULL: nothing is said of the whole process */
	bool open_end;			     /* the recording ends before the program did */
};

/* A kind, and where the evidence is: what `term` has to be added to as a filter. */
struct sentence_rule {
	const char *name;	/* "peak" */
	const char *question;	/* that shows it: "tree" */
	const char *parameters; /* that it is asked with, as in an address: "measure=peak" */
	const char *command;	/* the same on a command line: "tree -m peak" */
	const char *view;	/* the same on the page */
	void (*find)(struct sentence_list *to, const struct figures *f);
};
extern const struct sentence_rule sentence_rules[SENTENCE_KINDS];

void sentences_init(struct sentences *s, const struct sentence_sources *from);
void sentences_release(struct sentences *s);
