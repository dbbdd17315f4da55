/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#pragma once
/* What the question processes answers: the recordings of a folder as a tree, their sums, and what
 * they hold together. */
#include "answer/process_holders.h"
#include "answer/question.h"

#define PROCESS_NONE UINT32_MAX

struct process {
	size_t member;	       /* of the folder */
	char *title, *command; /* what it called itself at last; its arguments */
	char *executable, *origin, *end_reason;
	char id[ID_SIZE], parent_id[ID_SIZE];
	uint64_t pid, parent_pid, start_ns, runtime_ns, peak_rss, inherited_bytes;
	int64_t exit_status, exit_signal; /* -1: not known */
	struct totals totals;
	bool complete, running;
	bool became;	 /* the same process as its parent: another program before */
	uint32_t parent; /* a row; PROCESS_NONE: none that is here */
	uint32_t depth;
	bool shown; /* among those that were asked for, or above one */
};

struct process_sums {
	uint32_t recordings, processes, running;
	uint64_t events, allocations, allocated_bytes, leaked_bytes, leaked_count;
	uint64_t peak_bytes;	 /* each one's own, added up */
	uint64_t peak_rss;	 /* likewise */
	uint64_t together_bytes; /* most of these that ran at the same time: they had no more */
	uint64_t start_ns, end_ns;
};

struct answer_processes {
	struct process *rows; /* in the order of a walk: a parent, then its children by start */
	uint32_t count, shown;
	struct process_sums sums;
	uint32_t failed; /* files that could not be read: their err is in the folder's member */
	struct process_holders holders;
	enum measure measure; /* of these */
	uint32_t top;	      /* how many of them */
};

extern const struct question question_processes;

/* "postgres: checkpointer"; where it took no title, the program's name. */
void process_label(const struct model *m, struct buf *out);
/* The row of a folder's member. */
const struct process *process_of(const struct answer_processes *p, size_t member);
